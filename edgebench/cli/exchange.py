"""`edgebench export` and `edgebench import`: a result as one file, for others and from others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from edgebench.cli.common import (
    OptionalResultsArgument,
    OutputDirOption,
    echo_path,
    output_dir_setting,
    results_folder,
    say,
    stderr,
)


def export(
    results: OptionalResultsArgument = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="The archive. Default: RESULTS.zip in this folder"
        ),
    ] = None,
    output_dir: Annotated[
        Path | None, typer.Option("--output-dir", metavar="DIR", help="Where results lie. Default: results")
    ] = None,
) -> None:
    """Pack a result into one file with checksums, without names of hosts and users or addresses of ports.

    It has every sample, so that who imports it gets the same figures: `edgebench import FILE`.
    """
    from edgebench.atomic import require_file_name
    from edgebench.report.words import counted
    from edgebench.store.archive_writing import write_archive
    from edgebench.version import __version__

    folder = results_folder("latest" if results is None else results, output_dir)
    path = file or Path(f"{folder.resolve().name}.zip")
    require_file_name(path, "-o")
    with _progress("packing") as progress:
        packed = write_archive(folder, path, edgebench_version=__version__, progress=progress)
    for warning in packed.warnings:
        say(f"note: {warning}")
    say(
        f"{counted(packed.trials, 'trial')}, {counted(packed.sessions, 'session')}, "
        f"{packed.size / 1e6:.1f} MB, "
        f"sha256 {packed.sha256}"
    )
    say("names of hosts and users that are known were taken out: read a report of it before you publish it")
    echo_path(path)


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
    """Unpack a result that somebody exported, after each checksum and record in it was checked.

    An archive that is damaged, or holds anything else than a result, leaves nothing behind.
    """
    from edgebench.printable import printable
    from edgebench.report.words import counted
    from edgebench.store.archive_reading import unpack_archive

    with _progress("unpacking") as progress:
        unpacked = unpack_archive(file, output_dir_setting(output_dir), name, progress=progress)
    say(
        f"{counted(unpacked.trials, 'trial')}, {counted(unpacked.sessions, 'session')}, "
        f"packed by EdgeBench {printable(unpacked.edgebench_version, 40)}, sha256 {unpacked.sha256}"
    )
    echo_path(unpacked.path)


@contextmanager
def _progress(doing: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, nothing elsewhere; it is told how much is done, and of how much."""
    from rich.progress import Progress

    console = stderr()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
