"""The forms of a report: what each is called, which endings of a file's name choose it, what writes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from edgebench.errors import UnavailableError, UsageError

if TYPE_CHECKING:  # the writers take long to import, and a command's help names the forms
    from edgebench.fit.judged_experiment import Judged

STANDARD_OUTPUT = Path("-")
"""Stands for stdout where a file is asked for."""

DEFAULT_ON_STDOUT = "md"

FIGURES = "figures"
"""The folder in which LaTeX looks for figures, unless --figures says another."""


class Write(Protocol):
    """What writes a form."""

    def __call__(self, judged: Judged, figures: str = FIGURES, /) -> bytes:
        """The report's bytes."""


@dataclass(frozen=True)
class Form:
    """One form.

    Attributes:
        name: as --format has it.
        endings: of a file's name, the usual one first.
        what: it is, for the help.
        write: the report in this form, as the file's bytes; the same for the same result. Its second argument
            is the folder of the figures' files, which LaTeX alone reads.
        is_text: whether a terminal can show it.
    """

    name: str
    endings: tuple[str, ...]
    what: str
    write: Write
    is_text: bool = True


def _html(judged: Judged, _figures: str = FIGURES, /) -> bytes:
    from edgebench.report.html import render

    return _utf8(render(judged.results, judged.summaries, judged.verdicts, judged.profiles))


def _markdown(judged: Judged, _figures: str = FIGURES, /) -> bytes:
    from edgebench.report.markdown import export_markdown

    return _utf8(export_markdown(judged.results, judged.summaries, judged.verdicts, judged.profiles))


def _json(judged: Judged, _figures: str = FIGURES, /) -> bytes:
    from edgebench.fit.answers import answers
    from edgebench.report.brief_missions import brief_missions
    from edgebench.report.document import document
    from edgebench.report.json_values import as_json

    beyond = answers(judged.summaries, judged.profiles, judged.verdicts)
    played = brief_missions(judged.results, judged.summaries, judged.profiles)
    return _utf8(as_json(document(judged.results, judged.summaries, judged.verdicts, beyond, played)))


def _csv(judged: Judged, _figures: str = FIGURES, /) -> bytes:
    from edgebench.report.spreadsheet import export_csv

    return _utf8(export_csv(judged.summaries, judged.verdicts))


def _pdf(judged: Judged, _figures: str = FIGURES, /) -> bytes:
    try:
        from edgebench.report.pdf import render
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "reportlab":
            raise
        raise UnavailableError(
            "a PDF takes reportlab, which is not installed", fix="pip install 'edgebench[pdf]'"
        ) from error
    from edgebench.report.printed import printed

    return render(printed(judged))


def _tex(judged: Judged, figures: str = FIGURES, /) -> bytes:
    from edgebench.report.printed import printed
    from edgebench.report.tex import render

    return _utf8(render(printed(judged), figures))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


FORMS: Mapping[str, Form] = {
    form.name: form
    for form in (
        Form("html", (".html", ".htm"), "a page", _html),
        Form("md", (".md",), "Markdown", _markdown),
        Form("json", (".json",), "the --json document", _json),
        Form("csv", (".csv",), "a row a trial", _csv),
        Form("pdf", (".pdf",), "pages", _pdf, is_text=False),
        Form("tex", (".tex",), "LaTeX", _tex),
    )
}
"""Every form by name, in the order in which the help names them."""


def endings_text() -> str:
    """The usual endings: `.html, .md, .json or .csv`."""
    return _either(form.endings[0] for form in FORMS.values())


def forms_text() -> str:
    """The names, with what they are: `html (a page), md (Markdown) or csv (a row a trial)`."""
    return _either(f"{form.name} ({form.what})" for form in FORMS.values())


def _either(texts: Iterable[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} or {last}"


def form_of(path: Path, name: str | None = None) -> Form:
    """The form that a file's ending, or a name in FORMS, chooses.

    UsageError for a name or an ending of none, and for an ending of another form than `name`.
    """
    if name is not None and name not in FORMS:
        raise UsageError(f"there is no form {name!r}", fix=f"--format takes {forms_text()}")
    asked = None if name is None else FORMS[name]
    if path == STANDARD_OUTPUT:
        return asked or FORMS[DEFAULT_ON_STDOUT]
    ending = path.suffix.lower()
    by_ending = next((form for form in FORMS.values() if ending in form.endings), None)
    if asked is not None and by_ending is not None and asked is not by_ending:
        raise UsageError(
            f"{path.name!r} does not end as --format {asked.name} does",
            fix=f"end the file's name in {asked.endings[0]}, or leave --format out",
        )
    if asked is None and by_ending is None:
        raise UsageError(
            f"{path.name!r} does not say in which form to write the report",
            fix=f"end the file's name in {endings_text()}, or name the form with --format",
        )
    return asked or by_ending or FORMS[DEFAULT_ON_STDOUT]
