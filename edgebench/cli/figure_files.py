"""A figure in a file that a user names, in the form that its ending says. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_ENDINGS = (".png", ".svg", ".pdf")


def require_figure(path: Path | None) -> None:
    """Before anything is computed: UsageError for another ending, or a folder that is not there."""
    from edgebench.files import require_file_name

    if path is not None:
        require_file_name(path, "--figure", FIGURE_ENDINGS)


def write_figure(path: Path, draw: Callable[[Figure], object]) -> None:
    """The file of what is drawn, whole or not at all; StoredResultError where it cannot be written."""
    from edgebench.files import write_output
    from edgebench.report.plots.drawing import as_bytes, blank

    figure = blank()
    draw(figure)
    write_output(path, as_bytes(figure, path.suffix.lower().removeprefix(".")), "--figure")
