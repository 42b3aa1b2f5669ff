"""What commands share: consoles, option types, completion. Imports nothing heavy."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from edgebench.cli.completions import is_completed
from edgebench.cli.setting_options import option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from edgebench.fit.judged_experiment import Judged
    from edgebench.fit.profile import Profile
    from edgebench.fit.requirement import Requirement


def complete_results(ctx: typer.Context, incomplete: str) -> list[str]:
    """`latest` and the results' names for the shell, newest first; below a folder that is typed, its own."""
    from edgebench.errors import EdgeBenchError

    typed, slash, start = incomplete.rpartition("/")
    try:
        folder = Path(typed + slash) if slash else output_dir_setting(ctx.params.get("output_dir"))
        entries = [entry for entry in sorted(folder.iterdir()) if is_completed(entry.name)]
        # A folder that may not be read, such as a disk's lost+found, is none of them.
        results = [entry for entry in entries if os.path.isfile(entry / "experiment.json")]  # noqa: PTH113
        results.sort(key=lambda entry: (entry / "experiment.json").stat().st_mtime, reverse=True)
        # On the way to another folder, the folders there; they come after the results.
        ways = [entry for entry in entries if entry.is_dir() and entry not in results]
    except (OSError, EdgeBenchError):
        return []
    names = [entry.name for entry in results if entry.name.startswith(start)]
    names = [*(["latest"] if results and "latest".startswith(start) else []), *names]
    if not slash:
        return names
    shown = [entry.name for entry in ways if entry.name.startswith(start or "") and entry.name[0] != "."]
    return [f"{typed}{slash}{name}" for name in names] + [f"{typed}{slash}{name}/" for name in shown]


DeviceOption = Annotated[list[str] | None, option("device")]
TargetOption = Annotated[list[str] | None, option("target")]
TargetsFileOption = Annotated[Path | None, option("targets_file")]
HostOption = Annotated[str | None, option("host")]
PortOption = Annotated[str | None, option("port")]
PythonOption = Annotated[str | None, option("python")]
SetOption = Annotated[list[str] | None, option("set")]
PowerModeOption = Annotated[list[str] | None, option("power_mode")]
SetPowerModeOption = Annotated[bool | None, option("set_power_mode")]
MeterOption = Annotated[
    list[str] | None,
    option("meter", help_text="Check this meter, KIND[:ADDRESS], step by step. Repeatable."),
]
ArtifactOption = Annotated[Path | None, option("artifact")]
DeclaredPowerOption = Annotated[
    list[str] | None,
    option(
        "declared_power",
        help_text="What a target draws as a whole by a data sheet or label, judged where no meter decides: "
        "[TARGET=]WATTS:KIND:SOURCE, such as nano=9.5:maximum:'its label'. A maximum can pass a limit, a "
        "typical power fail one. Repeatable.",
    ),
]
DeclaredOption = Annotated[
    list[str] | None,
    option(
        "declared",
        help_text="A target's boot time or temperatures by a source: [TARGET=]boot_s:SECONDS:KIND:SOURCE, "
        "such as nano=boot_s:25:typical:'stop watch', or temperature_c:LOW..HIGH:SOURCE. Repeatable.",
    ),
]
BoardOption = Annotated[
    list[str] | None,
    option(
        "board",
        help_text="What a target is made of, [TARGET=]NAME, such as coral=coral-usb: mass, size and power by "
        "`edgebench boards`, in place of those of the boards that it ran with. Repeatable.",
    ),
]
ProfileOption = Annotated[list[str] | None, option("profile")]
OutputDirOption = Annotated[
    Path | None, option("output_dir", help_text="Where results lie. Default: results")
]
LongOutputDirOption = Annotated[
    Path | None, typer.Option("--output-dir", metavar="DIR", help="Where results lie. Default: results")
]
"""Of the commands whose -o names the file that they write."""
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document (schema version 1).")]
ReferenceOption = Annotated[
    bool,
    typer.Option(
        "--reference",
        help="Judge published figures, which come with EdgeBench, instead of RESULTS; by default against the "
        "shipped profiles. Each verdict quotes its source.",
    ),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with 4 where a verdict is undecided.")]
ResultsArgument = Annotated[
    str,
    typer.Argument(
        metavar="RESULTS",
        autocompletion=complete_results,
        help="A result folder, or `latest`.",
        show_default=False,
    ),
]
OptionalResultsArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="RESULTS",
        autocompletion=complete_results,
        help="A result folder, or `latest`, which is the default.",
        show_default=False,
    ),
]


def stdout() -> Console:
    """The console for data; NO_COLOR, TERM=dumb and COLUMNS are honoured."""
    from edgebench.report.console import make_console

    return make_console()


def stderr() -> Console:
    """The console for progress and messages; nothing moves on it unless it is a terminal.

    FORCE_COLOR brings colour into a file or a pipe, and nothing else: rich would take it for a terminal, and
    draw progress bars and move the cursor there.
    """
    from rich.console import Console

    if sys.stderr.isatty():
        return Console(stderr=True, highlight=False)
    colours: Literal["standard", "auto"] = "standard" if os.environ.get("FORCE_COLOR") else "auto"
    return Console(stderr=True, highlight=False, force_terminal=False, color_system=colours)


@contextlib.contextmanager
def busy(text: str) -> Iterator[None]:
    """Say on a terminal what takes a moment, while it does; nothing of it stays, nor goes anywhere else."""
    console = stderr()
    if not console.is_terminal or console.is_dumb_terminal:
        yield
        return
    # The usual spinner cannot be written where the terminal takes ASCII alone.
    with console.status(text, spinner="line" if console.options.ascii_only else "dots"):
        yield


def say(text: str) -> None:
    """One message on stderr, on one line; what stands in it from outside does not steer the terminal."""
    from edgebench.printable import printable

    stderr().print(printable(text), markup=False, soft_wrap=True)


def echo_path(path: Path) -> None:
    """A path alone on a line of stdout, for people and scripts; what cannot be shown in it is replaced."""
    from edgebench.printable import printable

    typer.echo(printable(path))


def targets_file_setting(flag: Path | None) -> Path | None:
    """The targets file of the flag, else of the environment or a configuration file; None: the default."""
    from edgebench.plan.config import resolve_one

    return resolve_one("targets_file", flag).targets_file


def read_profiles(names: Sequence[str]) -> tuple[Profile, ...]:
    """The profiles of those names or files, each once; UsageError for two that share a name."""
    from edgebench.fit.profile import load_profiles

    return load_profiles(names)


def require_alone(results: str | None, output_dir: Path | None, *declared: Sequence[str] | None) -> None:
    """UsageError where --reference is given what belongs to a result: they are never judged together."""
    from edgebench.errors import UsageError

    if results is not None or output_dir is not None or any(declared):
        raise UsageError(
            "--reference judges published figures, and nothing that was measured",
            why="RESULTS, --output-dir, --board, --declared-power, --declared and --pareto are of a result",
            fix="leave them out, or judge the result in a command of its own",
        )


def results_folder(text: str, output_dir: Path | None = None) -> Path:
    """The folder that RESULTS stands for."""
    from edgebench.store.result_folder import resolve_results

    return resolve_results(text, output_dir_setting(output_dir))


def output_dir_setting(flag: Path | None) -> Path:
    """Where results lie, as for a run: the flag, the environment, a configuration file, else `results`."""
    from edgebench.plan.config import resolve_one

    return resolve_one("output_dir", flag).output_dir


def print_json(judged: Judged, axes: Sequence[Requirement] = ()) -> None:
    """The documented result document on stdout; `axes` as of `answers`."""
    from edgebench.fit.answers import answers
    from edgebench.report.brief_missions import brief_missions
    from edgebench.report.document import document
    from edgebench.report.json_values import as_json

    beyond = answers(judged.summaries, judged.profiles, judged.verdicts, axes)
    played = brief_missions(judged.results, judged.summaries, judged.profiles)
    printed = document(judged.results, judged.summaries, judged.verdicts, beyond, played)
    typer.echo(as_json(printed), nl=False)
