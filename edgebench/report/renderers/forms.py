"""Forms of a report: their names, their endings and their writers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edgebench.errors import UsageError
from edgebench.files import require_file_name, require_writable, unwritten, write_output
from edgebench.texts import listed

if TYPE_CHECKING:
    from edgebench.judge.judged import Judged

STANDARD_OUTPUT = Path("-")
"""Means stdout in place of a file."""

DEFAULT_ON_STDOUT = "md"


@dataclass(frozen=True)
class Form:
    """One form.

    Attributes:
        name: as --format has it.
        endings: of a file's name, the usual one first.
        description: noun for the help.
    """

    name: str
    endings: tuple[str, ...]
    description: str

    def write(self, judged: Judged) -> bytes:
        """Bytes of the report's file; the same for the same result, except for the date of a PDF."""
        from edgebench.report import documents, words
        from edgebench.report.renderers import markdown

        if self.name == "json":
            text = words.as_json(documents.document(judged))
        elif self.name == "csv":
            text = documents.export_csv(judged.trials, judged.verdicts)
        elif self.name == "md":
            text = markdown.export_markdown(judged)
        else:
            from edgebench.report.renderers import html, pdf

            page = html.render(judged).encode("utf-8", "replace")
            return pdf.render(page) if self.name == "pdf" else page
        return text.encode("utf-8", "replace")


FORMS: Mapping[str, Form] = {
    form.name: form
    for form in (
        Form("html", (".html", ".htm"), "a page"),
        Form("md", (".md",), "Markdown"),
        Form("json", (".json",), "the --json document"),
        Form("csv", (".csv",), "one row per trial"),
        Form("pdf", (".pdf",), "the page, printed by Chromium, Chrome or Edge"),
    )
}
"""Every form by name, in the order in which the help names them."""


def endings_text() -> str:
    """The usual endings: `.html, .md, .json or .csv`."""
    return listed([form.endings[0] for form in FORMS.values()], "or")


def forms_text() -> str:
    """The names, with what they are: `html (a page), md (Markdown) or csv (one row per trial)`."""
    return listed([f"{form.name} ({form.description})" for form in FORMS.values()], "or")


def form_of(path: Path, name: str | None = None) -> Form:
    """The form that a file's ending, or a name in FORMS, chooses.

    UsageError for a name or an ending of none, and for an ending of another form than `name`.
    """
    if name is not None and name not in FORMS:
        raise UsageError(f"there is no form {name!r}", fix=f"--format takes {forms_text()}")
    chosen = FORMS.get(name or "")
    if path == STANDARD_OUTPUT:
        return chosen or FORMS[DEFAULT_ON_STDOUT]
    ending = path.suffix.lower()
    by_ending = next((form for form in FORMS.values() if ending in form.endings), chosen)
    if by_ending is None:
        raise UsageError(
            f"{path.name!r} does not say in which form to write the report",
            fix=f"end the file's name in {endings_text()}, or name the form with --format",
        )
    if chosen not in (None, by_ending):
        raise UsageError(
            f"{path.name!r} does not end as --format {name} does",
            fix=f"end the file's name in {FORMS[name or ''].endings[0]}, or leave --format out",
        )
    return by_ending


# Report as a file, in the form that its name chooses.


def require_output(path: Path, form: str | None = None) -> None:
    """Refuse a file before a report is made that could not be written, or in no form.

    Raises:
        UsageError: the file's name ends as no form does, its folder is not there, or it is no plain file; a
            form that no terminal shows was asked for on one.
        StoredResultError: its folder may not be written.
    """
    if path == STANDARD_OUTPUT:
        chosen = form_of(path, form)
        if chosen.name == "pdf" and sys.stdout.isatty():
            raise UsageError(
                "a terminal does not show pdf",
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


def export(judged: Judged, path: Path, form: str | None = None) -> Path:
    """Write the report to `path` in one step and return it; `form` is one of FORMS, else as its name ends.

    Raises:
        UsageError, StoredResultError: as `require_output`, or it cannot be written.
        UnavailableError: no browser printed the PDF.
    """
    require_output(path, form)
    write_output(path, form_of(path, form).write(judged), "-o")
    return path
