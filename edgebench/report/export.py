"""A report in the form that its file's name asks for: HTML, Markdown, JSON or CSV."""

from __future__ import annotations

from pathlib import Path

from edgebench.atomic import require_folder, write_atomically
from edgebench.errors import StoredResultError, UsageError
from edgebench.fit.answers import answers
from edgebench.fit.judged_experiment import Judged
from edgebench.report import html
from edgebench.report.brief_missions import brief_missions
from edgebench.report.document import document
from edgebench.report.json_values import as_json
from edgebench.report.markdown import export_markdown
from edgebench.report.spreadsheet import export_csv

FORMS = (".html", ".json", ".md", ".csv")


def require_output(path: Path) -> None:
    """UsageError for a file whose name ends in none of FORMS, or whose folder is not there."""
    if path.suffix.lower() not in (*FORMS, ".htm"):
        raise UsageError(
            f"{path.name!r} does not say in which form to write the report",
            fix=f"end the file's name in one of {', '.join(FORMS)}",
        )
    require_folder(path.parent, "-o")


def export(judged: Judged, path: Path) -> Path:
    """Write the report to `path` in one step and return it.

    Raises:
        UsageError: the file's name ends in none of FORMS, or its folder is not there.
        StoredResultError: it cannot be written.
    """
    require_output(path)
    text = _text(judged, path)
    try:
        write_atomically(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise StoredResultError(
            f"{path} cannot be written",
            why=error.strerror or str(error),
            fix="choose another file with -o",
        ) from error
    return path


def _text(judged: Judged, path: Path) -> str:
    parts = (judged.results, judged.summaries, judged.verdicts)
    match path.suffix.lower():
        case ".json":
            beyond = answers(judged.summaries, judged.profiles, judged.verdicts)
            played = brief_missions(judged.results, judged.summaries, judged.profiles)
            return as_json(document(*parts, beyond, played))
        case ".md":
            return export_markdown(*parts, judged.profiles)
        case ".csv":
            return export_csv(judged.summaries, judged.verdicts)
    return html.render(*parts, judged.profiles)
