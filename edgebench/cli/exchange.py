"""`edgebench export`, `import` and `explore`: results as files for others and from others, and as a site."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from edgebench.cli.common import (
    LongOutputDirOption,
    OptionalResultsArgument,
    OutputDirOption,
    echo_path,
    option,
    output_dir_setting,
    results_folder,
    say,
    say_each,
    stderr,
)


class ExportForm(StrEnum):
    """Form of an exported result."""

    ARCHIVE = "archive"
    MLFLOW = "mlflow"


def export(
    results: OptionalResultsArgument = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="The archive. Default: RESULTS.zip in this folder"
        ),
    ] = None,
    output_dir: LongOutputDirOption = None,
    to: Annotated[
        ExportForm,
        typer.Option(
            "--to",
            metavar="archive|mlflow",
            help="A file that `edgebench import` takes, or a tracking store of MLflow.",
        ),
    ] = ExportForm.ARCHIVE,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="STORE",
            envvar="MLFLOW_TRACKING_URI",
            help="With --to mlflow: a folder, sqlite:///FILE.db, or the address of a server.",
        ),
    ] = None,
    experiment: Annotated[
        str, typer.Option("--experiment", metavar="NAME", help="With --to mlflow: experiment of the store.")
    ] = "edgebench",
) -> None:
    """Pack a result into one file with checksums, without the names of hosts, users and ports.

    The file has every sample: `edgebench import FILE` gives the same figures.
    With `--to mlflow` the result becomes a run of a tracking store, with one
    run per trial below it and the archive as artefact.
    """
    from edgebench.errors import UsageError
    from edgebench.files import require_file_name

    folder = results_folder(results, output_dir)
    if to is ExportForm.MLFLOW:
        if store is None or file is not None:
            raise UsageError(
                "--to mlflow takes --store and no -o",
                fix="edgebench export RESULTS --to mlflow --store mlruns (or sqlite:///FILE.db)",
            )
        typer.echo(_track(folder, store, experiment))
        return
    path = file or Path(f"{folder.resolve().name}.zip")
    require_file_name(path, "-o")
    _pack(folder, path)
    say("known names of hosts and users were removed: read its report before you publish it")
    echo_path(path)


def _pack(folder: Path, path: Path) -> str:
    """Write the archive, and say what is in it; returns its checksum."""
    from edgebench.report.words import counted
    from edgebench.results.archive import write_archive
    from edgebench.version import __version__

    with _progress("packing") as progress:
        packed = write_archive(folder, path, edgebench_version=__version__, progress=progress)
    say_each("note", packed.warnings)
    say(
        f"{counted(packed.trials, 'trial')}, {counted(packed.sessions, 'session')}, "
        f"{path.stat().st_size / 1e6:.1f} MB, sha256 {packed.sha256}"
    )
    return packed.sha256


def _track(folder: Path, store: str, experiment: str) -> str:
    """Put the result into a tracking store; returns the id of its run."""
    from edgebench.judge.judged import judge_folder
    from edgebench.report.mlflow import record_result, tracked_runs, tracking_uri
    from edgebench.report.renderers.forms import export as write_report
    from edgebench.results.listing import created_s

    tracking_uri(store)  # a store that is not there is told before anything is made
    judged = judge_folder(folder)
    name = folder.resolve().name
    with TemporaryDirectory(prefix="edgebench-export-") as scratch:
        archive, report = Path(scratch) / f"{name}.zip", Path(scratch) / "report.html"
        checksum = _pack(folder, archive)
        write_report(judged, report)
        record = judged.results.experiment
        return record_result(
            store,
            experiment,
            name,
            tracked_runs(judged.trials, judged.verdicts),
            {"edgebench.version": record.edgebench_version, "edgebench.scene": record.scene.name},
            (archive, report),
            checksum,
            created_s(record),
        )


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What `edgebench export` wrote.", show_default=False)
    ],
    output_dir: OutputDirOption = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Its folder's name. Default: that of the archive"),
    ] = None,
) -> None:
    """Check an exported result and unpack it.

    Each checksum and record is checked. An archive that is damaged, or no result, leaves nothing behind.
    """
    from edgebench.report.words import counted
    from edgebench.results.archive import unpack_archive
    from edgebench.suggest import printable

    with _progress("unpacking") as progress:
        unpacked = unpack_archive(file, output_dir_setting(output_dir), name, progress=progress)
    say(
        f"{counted(unpacked.trials, 'trial')}, {counted(unpacked.sessions, 'session')}, "
        f"packed by EdgeBench {printable(unpacked.edgebench_version, 40)}, sha256 {unpacked.sha256}"
    )
    echo_path(unpacked.path)


def explore(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FOLDER...]",
            help="Folders of results and archives, single results, or archives. Default: results",
            show_default=False,
        ),
    ] = None,
    site: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="The site's folder; made if missing.")
    ] = Path("site"),
    reference: Annotated[
        bool,
        typer.Option(
            "--reference", help="Also show published figures, which come with EdgeBench, marked as such."
        ),
    ] = False,
    profile: Annotated[
        list[str] | None,
        option(
            "profile",
            help_text="Also offer a profile: a name or a TOML file. Those of the results' runs are offered "
            "anyway. Repeatable.",
        ),
    ] = None,
    target_names: Annotated[
        bool,
        typer.Option("--target-names", help="Show the names of targets. Default: their device and a number"),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep the site up to date as sessions end, until Ctrl-C.")
    ] = False,
) -> None:
    """Make a static site of all results: choose, judge, compare and follow trials, from disk or any host.

    Open index.html in DIR, or put DIR on a static host. Results that are
    damaged or of another version are left out, and named on the page.
    """
    from edgebench.explore import site as sites
    from edgebench.interruption import pause
    from edgebench.report.words import counted

    made = sites.Site(
        site,
        folders or [output_dir_setting(None)],
        published=reference,
        profiles=profile or (),
        target_names=target_names,
        watched=watch,
    )
    with _progress("reading") as progress:
        made.update(progress)
    say_each("left out", (f"{each.result}: {each.reason}" for each in made.left_out))
    say(f"{counted(made.results, 'result')}, {counted(made.trials, 'trial')}")
    if made.without_sessions:
        say(f"{counted(made.without_sessions, 'run')} without any session: no trial of them is shown")
    echo_path(site / "index.html")
    if watch:
        say("waiting for sessions to end; Ctrl-C stops")
        try:
            sites.watch(made, say, pause)
        except KeyboardInterrupt:
            say("stopped: the site stays as it is")


@contextmanager
def _progress(doing: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, nothing elsewhere; it gets how much is done, and of how much."""
    from rich.progress import Progress

    console = stderr()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
