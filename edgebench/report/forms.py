"""The forms of a report: their names and endings, what writes each, and the JSON and CSV documents."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgebench.errors import UsageError
from edgebench.files import require_file_name, require_writable, unwritten, write_output
from edgebench.judge.answers import Answers
from edgebench.judge.columns import document_fields, missing_reasons, trial_columns
from edgebench.judge.judged import Judged
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import notes as verdict_groups
from edgebench.report import words
from edgebench.report.missions import SEED, BriefMissions, mission_entry
from edgebench.report.words import SCHEMA_VERSION, as_json, clean
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported, exported_path

STANDARD_OUTPUT = Path("-")
"""Means stdout in place of a file."""

DEFAULT_ON_STDOUT = "md"


@dataclass(frozen=True)
class Form:
    """One form.

    Attributes:
        name: as --format has it.
        endings: of a file's name, the usual one first.
        what: it is, for the help.
        write: the report in this form, as the file's bytes; the same for the same result, but a PDF's date.
        is_text: whether a terminal can show it.
    """

    name: str
    endings: tuple[str, ...]
    what: str
    write: Callable[[Judged], bytes]
    is_text: bool = True


def _html(judged: Judged) -> bytes:
    from edgebench.report.html import render

    return _utf8(render(judged))


def _markdown(judged: Judged) -> bytes:
    from edgebench.report.markdown import export_markdown

    return _utf8(export_markdown(judged))


def _json(judged: Judged) -> bytes:
    from edgebench.judge.answers import answers
    from edgebench.report.missions import brief_missions

    beyond = answers(judged.summaries, judged.profiles, judged.verdicts)
    played = brief_missions(judged.results, judged.summaries, judged.profiles)
    return _utf8(as_json(document(judged.results, judged.summaries, judged.verdicts, beyond, played)))


def _pdf(judged: Judged) -> bytes:
    from edgebench.report.pdf import render

    return render(_html(judged))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


FORMS: Mapping[str, Form] = {
    form.name: form
    for form in (
        Form("html", (".html", ".htm"), "a page", _html),
        Form("md", (".md",), "Markdown", _markdown),
        Form("json", (".json",), "the --json document", _json),
        Form(
            "csv",
            (".csv",),
            "one row per trial",
            lambda judged: _utf8(export_csv(judged.summaries, judged.verdicts)),
        ),
        Form("pdf", (".pdf",), "the page, printed by Chromium, Chrome or Edge", _pdf, is_text=False),
    )
}
"""Every form by name, in the order in which the help names them."""


def endings_text() -> str:
    """The usual endings: `.html, .md, .json or .csv`."""
    return _either(form.endings[0] for form in FORMS.values())


def forms_text() -> str:
    """The names, with what they are: `html (a page), md (Markdown) or csv (one row per trial)`."""
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


# A report as a file, in the form that its name asks for.


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


def export(judged: Judged, path: Path, form: str | None = None) -> Path:
    """Write the report to `path` in one step and return it; `form` is one of FORMS, else as its name ends.

    Raises:
        UsageError, StoredResultError: as `require_output`, or it cannot be written.
        UnavailableError: no browser printed the PDF.
    """
    require_output(path, form)
    write_output(path, form_of(path, form).write(judged), "-o")
    return path


# The trials as CSV: one row a trial, units in the headings, empty where a figure is missing.


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_csv(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> str:
    """One row a trial; full precision; for every profile its overall verdict, then each requirement's.

    Where declared power was judged, a column behind the requirement's says which kind; where a bound was, one
    says which; behind one that is wanted alone a column says so.
    """
    wholes = verdict_groups.wholes(verdicts)
    words_of: dict[str, dict[str, Any]] = {}  # by heading, then by trial
    for verdict in verdicts:
        heading = f"verdict:{verdict.profile}:{verdict.requirement}"
        cells = {
            f"verdict:{verdict.profile}": wholes[verdict.trial, verdict.profile].verdict,
            heading: verdict.verdict,
            f"{heading}:wanted": "wanted" if verdict.wanted else "",
            f"{heading}:declared": verdict.declared,
            f"{heading}:bound": _bound(verdict) if verdict.bound else "",
        }
        for name, text in cells.items():
            if text:
                words_of.setdefault(name, {})[verdict.trial] = text
    columns = trial_columns(summaries)
    keyed = _figures_of_profiles(verdicts) | words_of
    rows = [
        {column.heading: column.value(summary) for column in columns}
        | {heading: by_trial.get(summary.key) for heading, by_trial in keyed.items()}
        for summary in summaries
    ]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    headings = list(rows[0]) if rows else ["key"]
    writer.writerow([safe_cell(heading) for heading in headings])
    writer.writerows([[safe_cell(row[heading]) for heading in headings] for row in rows])
    return buffer.getvalue()


def _figures_of_profiles(verdicts: Sequence[Verdict]) -> dict[str, dict[str, Any]]:
    """Figures that a trial has under a profile alone, such as storage_bytes: by heading, then by trial.

    In the metric's base unit; `:low` and `:high` are the ends of a figure that has them.
    """
    figures: dict[str, dict[str, Any]] = {}
    for verdict in verdicts:
        metric = METRICS.get(verdict.quantity)
        if metric is None or not {"schedule", "uplink_bps"} & {*metric.conditions}:
            continue
        heading = f"{metric.name}:{verdict.profile}"
        for end, value in (("", verdict.value), (":low", verdict.low), (":high", verdict.high)):
            if isinstance(value, float | int):
                figures.setdefault(f"{heading}{end}", {})[verdict.trial] = value * metric.units[verdict.unit]
    return figures


def _bound(verdict: Verdict) -> str:
    """`above 5 W`, with every digit."""
    end = verdict.high if verdict.low is None else verdict.low
    return f"{verdict.bound} {end:.15g}{words.spaced(verdict.unit)}"


def safe_cell(value: Any) -> Any:
    """A value as a cell; text that a spreadsheet would run as a formula gets an apostrophe."""
    if not isinstance(value, str):
        return clean(value)
    text = words.plain(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


# The `--json` document, version 1: everything a program needs from an experiment, and nothing to parse.


def document(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    beyond: Answers | None = None,
    played: Sequence[BriefMissions] | None = None,
) -> dict[str, Any]:
    """The document that `--json` prints, as plain data that `json.dumps(allow_nan=False)` takes.

    Its fields are described in `result.schema.json`. A figure that is missing is null and `reasons` of
    its trial says why, under the figure's name. Decisions and missions are added where they are
    given.
    """
    plain: dict[str, Any] = clean(
        {
            "schema_version": SCHEMA_VERSION,
            "experiment": _experiment(results),
            "run": None if results.run is None else results.run.model_dump(mode="json"),
            "trials": [_trial(summary) for summary in summaries],
            "workers": worker_rows(summaries),
            "verdicts": verdicts,
            **({} if beyond is None else vars(beyond)),
            **({} if played is None else _missions(played)),
        }
    )
    return plain


def worker_rows(summaries: Sequence[TrialSummary]) -> list[dict[str, Any]]:
    """One row a worker of the trials with several (`WorkerSummary`)."""
    return [dict(worker) for summary in summaries if summary.sharing for worker in summary.workers]


def _missions(played: Sequence[BriefMissions]) -> dict[str, Any]:
    return {
        "missions": [
            {"days": brief.days, "seed": SEED, **mission_entry(mission)}
            for brief in played
            for mission in brief.missions
        ],
        "missions_reasons": {brief.profile: brief.reason for brief in played if brief.reason},
    }


def _experiment(results: StoredResults) -> dict[str, Any]:
    record = exported(results.experiment).model_dump(
        mode="json",
        exclude={"trials": True, "scene": {"labels"}, "targets": {"__all__": {"host", "port"}}},
    )
    return record | {"path": exported_path(results.path, results.experiment)}


def _trial(summary: TrialSummary) -> dict[str, Any]:
    return {
        **{name: getattr(summary, name) for name in IDENTITY},
        **document_fields(summary),
        **{name: getattr(summary, name) for name in CONDITIONS},
        "reasons": missing_reasons(summary),
    }


IDENTITY = (
    "key", "target", "variant", "depth_multiplier", "precision", "batch", "concurrency", "settings", "status",
)  # fmt: skip
"""The fields of a summary that say which trial it is; the metrics follow."""

CONDITIONS = (
    "power_reason", "workers", "sustained", "ended", "interval_confidence", "warnings", "failures", "timed",
    "mark", "measured_patches", "untimed_stages", "extrapolated", "emulated", "assumed", "state",
    "scene_covered", "built", "published",
)  # fmt: skip
"""The fields of a summary that say under what conditions its metrics hold."""
