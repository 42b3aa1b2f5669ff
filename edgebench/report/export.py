"""A report as a file, in the form that its name asks for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from edgebench.atomic import require_file_name, require_writable, unwritten, write_output
from edgebench.errors import UsageError
from edgebench.fit.judged_experiment import Judged
from edgebench.report.forms import FIGURES, STANDARD_OUTPUT, form_of


def require_output(path: Path, form: str | None = None) -> None:
    """Refuse a file before a report is made that could not be written, or in no form.

    Raises:
        UsageError: the file's name ends as no form does, its folder is not there, or it is no plain file; a
            form that no terminal shows was asked for on one.
        StoredResultError: its folder may not be written.
    """
    if path == STANDARD_OUTPUT:
        chosen = form_of(path, form)
        if not chosen.is_text and sys.stdout.isatty():
            raise UsageError(
                f"a terminal does not show {chosen.name}",
                fix=f"write it to a file, such as -o report{chosen.endings[0]}, or into a pipe",
            )
        return
    if path.is_dir():
        raise UsageError(f"-o {path} is a folder", fix=f"name a file in it, such as {path / 'report.html'}")
    form_of(path, form)
    require_file_name(path, "-o")
    try:
        require_writable(path.parent)
    except OSError as error:
        raise unwritten(path, error, "-o") from error


def export(judged: Judged, path: Path, form: str | None = None, figures: Path | None = None) -> Path:
    """Write the report to `path` in one step and return it; `form` is one of FORMS, else as its name ends.

    `figures` is the folder of the figures' files, which LaTeX finds from that of the report.

    Raises:
        UsageError, StoredResultError: as `require_output`, or it cannot be written.
    """
    require_output(path, form)
    folder = FIGURES if figures is None else os.path.relpath(figures, path.parent)
    content = form_of(path, form).write(judged, folder)
    write_output(path, content, "-o")
    return path
