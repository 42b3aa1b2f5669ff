"""`edgebench report`: the report of a result in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgebench.cli import streams
from edgebench.cli.common import (
    BoardOption,
    DeclaredOption,
    DeclaredPowerOption,
    LongOutputDirOption,
    OptionalResultsArgument,
    ProfileOption,
    ReferenceOption,
    echo_path,
    judged_by,
    read_profiles,
    require_alone,
    results_folder,
    say,
    say_each,
)
from edgebench.report.renderers.forms import (
    DEFAULT_ON_STDOUT,
    FORMS,
    STANDARD_OUTPUT,
    endings_text,
    form_of,
    forms_text,
)

if TYPE_CHECKING:
    from edgebench.judge.judged import Judged


def _complete_form(incomplete: str) -> list[str]:
    """The forms whose names begin as what was typed."""
    return [name for name in FORMS if name.startswith(incomplete)]


def report(
    results: OptionalResultsArgument = None,
    reference: ReferenceOption = False,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help=f"File to write; its ending is the form: {endings_text()}; - is stdout. Default: "
            "report.html in the result's folder; with --reference reference.html here",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORM",
            autocompletion=_complete_form,
            help=f"Form, if no ending gives it: {forms_text()}. Without -o it goes to stdout. Default on "
            f"stdout: {DEFAULT_ON_STDOUT}",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            metavar="DIR",
            help="Also write each figure to this folder, as SVG, PNG and PDF: latency.svg, ...",
        ),
    ] = None,
    profile: ProfileOption = None,
    board: BoardOption = None,
    declared_power: DeclaredPowerOption = None,
    declared: DeclaredOption = None,
    output_dir: LongOutputDirOption = None,
) -> None:
    """Write the report of a result, or of published figures."""
    from edgebench.judge.judged import judge_folder
    from edgebench.judge.published import judge_published
    from edgebench.report.plots.pictures import require_figures_folder
    from edgebench.report.renderers.forms import require_output

    if file is None and form is not None:
        file = STANDARD_OUTPUT
    if figures is not None:
        require_figures_folder(figures)
    if reference:
        require_alone(results, output_dir, declared_power, declared)
        file = file or Path("reference.html")
        require_output(file, form)
        profiles = read_profiles(profile) if profile else None
        _write(judge_published(profiles, boards=board or ()), file, form, figures)
        return
    folder = results_folder(results, output_dir)
    file = file or folder / "report.html"
    require_output(file, form)
    judged = judge_folder(
        folder, read_profiles(profile) if profile else None, declared_power or (), board or (), declared or ()
    )
    # A report is passed on: an absolute path would name the machine's folders.
    named = [Path(entry).name if Path(entry).is_absolute() else entry for entry in profile or ()]
    judged = replace(judged, options=judged_by(named, board, declared_power, declared))
    say_each("note", judged.notes)
    if not any(trial.was_measured for trial in judged.trials):
        say(
            "note: no session of this result has finished, so that its report has no figures; "
            "edgebench run ... --resume measures what is planned"
        )
    _write(judged, file, form, figures)


def _write(judged: Judged, file: Path, form: str | None, figures: Path | None) -> None:
    """The report where it was asked for, of a file its path on stdout; and its figures."""
    from edgebench.report.page import first_screen
    from edgebench.report.plots.pictures import FIGURE_FORMS, write_figures
    from edgebench.report.renderers.forms import FORMS, export
    from edgebench.report.renderers.pdf import runs_as_root
    from edgebench.report.words import counted

    if file == STANDARD_OUTPUT:
        streams.write_bytes(form_of(file, form).write(judged))
    else:
        for answer in first_screen(judged).answers:
            say(f"{answer.title}: {answer.text()}")
        echo_path(export(judged, file, form))
        if form_of(file, form) is FORMS["pdf"] and runs_as_root():
            say("note: the browser printed without its sandbox, which it has for users other than root only")
    if figures is not None:
        count = len(write_figures(judged, figures)) // len(FIGURE_FORMS)
        written = f"{counted(count, 'figure')} as SVG, PNG and PDF: {figures}"
        say(written if count else "note: there is no figure to write: no trial has one")
