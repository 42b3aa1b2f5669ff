"""What a site shows of one result: a row a trial for its first view, and a file with the rest.

A site is read by `page/explore.js`. data.js has every trial, one entry a trial in each column::

    {"schema": 1, "build": "16 hex digits, as in sessions.js", "made_utc", "version", "n": 9000,
     "labels": {"device": {"title": "Device", "differs": whether it says anything, "values": ["cpu", ...],
                           "codes": [0, 0, ...]}, ...},
     "metrics": [{"name", "title", "titled", "inside", "limit", "unit", "better", "log", "statistics",
                  "columns"}, ...],
     "figures": {"image_s": '{"value": [...], "low": [...] or null, "high": [...] or null,
                              "reasons": {"values", "codes"}}', ...},
     "profiles": [{"name", "title", "verdicts": {"values", "codes"},
                   "limits": [{"metric", "statistic", "title", "most" or "least"}, ...]}, ...],
     "without_sessions": how many results have no session, and no trial here,
     "usual": {"x", "y", "metric", "columns": [...]}, the metrics where the address chooses none,
     "python": {"table", "rows"}, which are PYTHON_TABLE and PYTHON_ROWS,
     "left_out": [{"result", "why"}, ...],
     "target_names": true or absent, "refresh_s": seconds between looks at a watched site, or absent}

sessions.js has what comparisons and histories take, of the trials in the same order::

    {"build": "...", "level": 0.95, "trials": [{"image_s": [a number a session], ...} or null, ...],
     "begun_utc": ["2025-03-01T12:00:00Z", ...],
     "history": {"image_s": [{"trials": [places, oldest first], "changes": [{"at", "ratio", "word"}],
                              "reason": "why no change was looked for"}, ...]}}

The figures of a metric are JSON in a text, so that a browser reads only those that it shows. Without "codes"
all trials have the first of "values". results/<id>.js has one result (`result_document`); its id stays as
sessions end. Numbers of data.js have 6 significant digits, those of the other files all. What is missing is
null. Every text of a result is one line without control characters, and data: the page never takes it for
markup.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edgebench.judge.cautions import REPLAY
from edgebench.judge.columns import csv_fields, missing_reasons
from edgebench.judge.comparison import figure_of, session_values
from edgebench.judge.core.published import judge_published
from edgebench.judge.history import NOTHING_REACHES, followed, followed_metrics
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.pairing import trial_identity
from edgebench.judge.power_trace import power_traces
from edgebench.judge.profile import Profile
from edgebench.judge.summarise import summarise
from edgebench.judge.trial_summary import PUBLISHED, TrialSummary, Verdict
from edgebench.judge.verdict import judge_all
from edgebench.records.stored import ExperimentRecord, SceneRecord, SessionRecord
from edgebench.records.target import Target
from edgebench.report import words
from edgebench.report.environment import command_line, environment
from edgebench.report.page import standings_of
from edgebench.report.tables import metric_text, scope_text, value_of
from edgebench.results.archive import names_of
from edgebench.results.load import StoredResults
from edgebench.results.record_reading import read_experiment
from edgebench.results.redaction import exported
from edgebench.results.revisions import swept_name

MOST_POINTS = 2_000
"""Of a session's passes, or of its power: of more, the lowest and highest of each stretch."""

TITLES = {
    "kind": "Kind", "result": "Result", "date": "Date (UTC)", "device": "Device", "board": "Board",
    "target": "Target", "scene": "Scene", "model": "Model family", "variant": "Variant", "trial": "Trial",
    "depth_multiplier": "Depth multiplier", "precision": "Precision", "batch": "Batch",
    "power_mode": "Power mode", "scope": "Meter covers", "status": "Status", "source": "Source", "key": "Key",
    "id": "File", "history": "Series",
}  # fmt: skip
"""The labels of a trial, by name."""

USUAL = ("image_s", "accuracy", "energy_j", "power_peak_w", "memory_bytes", "start_s")
"""The metrics that are shown where nothing is chosen, and offered first."""

PYTHON_ROWS = """\
rows = {rows}
trials = trials.set_index(["result", "key"]).loc[[tuple(row) for row in rows]].reset_index()"""
PYTHON_TABLE = """\
import edgebench
import pandas as pd

lab = edgebench.scan()  # name the folders that hold these results; published figures are in none
trials = lab.trials.reset_index()
{chosen}
names = list(trials["result"].unique()) or list(lab.results)[:1]  # columns come from a result
figures = pd.concat({name: edgebench.load(lab.results[name].path).summaries() for name in names})
figures = figures.reindex(columns={columns})
figures = figures.rename_axis(["result", "key"]).reset_index()
labels = ["result", "key", "device", "target", "variant", "batch", "status"]
table = trials[labels].merge(figures, on=["result", "key"], how="left")
{order}
print(table.to_string(index=False))
"""
"""The lines that give the page's table, in which it writes what is chosen."""


class TextRule(Protocol):
    """Makes of outside text what a page may show."""

    def __call__(self, text: object, limit: int = 400, /) -> str:
        """One line of at most `limit` characters."""


Ends = tuple[float | None, float | None, float | None]
"""A figure with the ends of its interval; None where they are missing."""


@dataclass(frozen=True)
class TrialRow:
    """One trial of the first view.

    Attributes:
        labels: by name of TITLES, all but `result`, `target`, `id` and `history`.
        figures: value, low and high by metric, for the metrics that have any of them.
        reasons: by metric why there is no value.
        verdicts: by profile.
        sessions: by metric one number a session, above 0.
        series: by metric what the results of a history share, and the figure in it.
        identity: of the trial in any result, as histories have it.
        target: its name, which stays here; `shown_target` may be shown, and is empty where it may not.
    """

    labels: Mapping[str, str]
    figures: Mapping[str, Ends]
    reasons: Mapping[str, str]
    verdicts: Mapping[str, str]
    sessions: Mapping[str, Sequence[float]]
    series: Mapping[str, tuple[Hashable, float]]
    identity: Hashable
    target: str
    shown_target: str


@dataclass(frozen=True)
class ShownResult:
    """One result of a site.

    Attributes:
        name: as it is shown.
        begun_utc: ISO 8601; empty where it is not known.
        rows: none where no session of it was begun.
        file: the id of its file in `results/`.
    """

    name: str
    begun_utc: str
    rows: tuple[TrialRow, ...]
    file: str = ""


@cache
def site_metrics() -> tuple[Metric, ...]:
    """The metrics that are one number a trial, whatever the profile."""
    of_profile = {"schedule", "uplink_bps"}
    return tuple(
        metric
        for metric in METRICS.values()
        if not (metric.is_size or metric.keyed or of_profile & {*metric.conditions})
    )


def summary_columns(metric: Metric) -> list[str]:
    """The columns of `Results.summaries()` with a metric: the value, of a share its k; then the ends; n."""
    headings = {part: heading for heading, part in csv_fields(metric).items()}
    values = [headings[part] for part in ("", "median", "points", "area", "k") if part in headings][:1]
    others = [headings[part] for part in ("low", "high", *metric.rail_bounds, "n") if part in headings]
    return values + (others if "k" in headings else others[:2])


def read_result(
    folder: Path, begun_utc: str, profiles: Sequence[Profile], *, target_names: bool
) -> tuple[ShownResult, str]:
    """A result folder as a site shows it, and the text of its file.

    Args:
        folder: of the result, whose name is the result's.
        begun_utc: when it began; empty where that is not known.
        profiles: that its trials are judged by.
        target_names: whether the names that targets were given are shown.

    Raises:
        StoredResultError: the result, or a table of it, is damaged or of another version.
    """
    results = StoredResults(folder, read_experiment(folder))
    summaries = summarise(results)
    verdicts = judge_all(summaries, profiles)
    text = plain_text(results, target_names=target_names)
    labels = {"date": begun_utc[:10], "source": ""}
    name, record = text(folder.name), results.experiment
    has_sessions = any(results.session_records(trial.key) for trial in record.trials)
    rows = tuple(_rows(results, summaries, verdicts, profiles, labels, text) if has_sessions else ())
    document = result_document(results, summaries, verdicts, profiles, text)
    file = record.id[:16]  # stays as sessions end, so that addresses of the page stay, too
    return ShownResult(name, begun_utc, rows, file), script("edgebenchResult", document, file)


def published_result(profiles: Sequence[Profile]) -> ShownResult:
    """The figures of others that come with EdgeBench; each trial names its sources."""
    judged = judge_published(profiles)
    sources = {
        summary.key: "; ".join(dict.fromkeys(words.plain(figure.source) for figure in summary.published))
        for summary in judged.summaries
    }
    labels = {"date": "", "source": ""}
    rows = _rows(judged.results, judged.summaries, judged.verdicts, profiles, labels, words.plain, sources)
    return ShownResult(PUBLISHED, "", tuple(rows))


def plain_text(results: StoredResults, *, target_names: bool) -> TextRule:
    """What a result's texts become: without what `edgebench export` takes out, and names of its targets.

    A target that is called as its device has no name of its own.
    """
    record = results.experiment
    sessions = [session for trial in record.trials for session in results.session_records(trial.key)]
    names = names_of(record, sessions)
    own = {name for target in record.targets if (name := swept_name(target)) != target.device}
    longest_first = sorted(() if target_names else own, key=len, reverse=True)
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, longest_first))})(?![^\W_])")

    def text(value: object, limit: int = 400) -> str:
        shown = names.text(str(value)[:_LONGEST])
        return words.plain(pattern.sub("(target)", shown) if longest_first else shown, limit)

    return text


_LONGEST = 20_000  # of a text, far beyond what is shown of it


def _rows(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile],
    of_result: Mapping[str, str],
    text: TextRule,
    sources: Mapping[str, str] | None = None,
) -> Iterator[TrialRow]:
    record = results.experiment
    targets = {target.name: target for target in record.targets}
    names = words.labels(summaries)
    standings = standings_of(summaries, verdicts)
    for summary, trial in zip(summaries, record.trials, strict=True):
        target = targets[summary.target]
        sessions = [each for each in results.session_records(trial.key) if each.status == "ok"]
        kind = PUBLISHED if summary.published else kind_of(target, sessions)
        facts = sessions[0].device if sessions and kind != REPLAY else {}
        rail = summary.primary_rail
        labels = {
            **of_result,
            "kind": kind,
            "device": words.plain(target.name if summary.published else target.device),
            "board": text(_board(target, facts)),
            "scene": scene_words(record.scene_of(trial)),
            "model": words.families([summary]),
            "variant": words.plain(summary.variant),
            "trial": names[summary.key],
            "depth_multiplier": "" if summary.depth_multiplier is None else str(summary.depth_multiplier),
            "precision": words.plain(summary.precision, 16),
            "batch": str(summary.batch),
            "power_mode": text(_power_mode(target, facts)),
            "scope": "" if rail is None else scope_text(rail),
            "status": summary.status,
            "key": summary.key,
        }
        labels |= {"source": (sources or {}).get(summary.key, "")}
        figures, reasons = _figures(summary)
        planned = swept_name(target)
        members = {
            name: member
            for name in (() if summary.published else followed_metrics())
            if (member := followed(METRICS[name], summary, record, trial)) is not None
        }
        identity = trial_identity(summary, planned)
        yield TrialRow(
            labels=labels,
            figures=figures,
            reasons={name: text(reason) for name, reason in reasons.items()},
            verdicts={
                profile.name: words.screen_word(standings[summary.key, profile.name].word)
                for profile in profiles
            },
            sessions={
                metric.name: values
                for metric in site_metrics()
                if (values := [float(value) for value in session_values(metric, summary)])
                and all(0 < value < NOTHING_REACHES for value in values)
            },
            series={name: ((identity, *each.of_what), each.value) for name, each in members.items()},
            identity=(
                identity,
                record.scene_of(trial).sha256,
                trial.patches,
                summary.published and summary.key,
            ),
            target=planned,
            shown_target=planned if text(planned) == words.plain(planned) else "",
        )


def kind_of(target: Target, sessions: Sequence[SessionRecord]) -> str:
    """The kind of figures that a trial's sessions have: measured, emulated or replay."""
    if target.device == REPLAY or any(session.own_time for session in sessions):
        return REPLAY
    return "emulated" if any(session.emulated for session in sessions) else "measured"


def scene_words(scene: SceneRecord) -> str:
    """The work of an image: its pixels, its patches, and what the model is given of each."""
    if scene.kind == "samples":
        return words.counted(scene.patches, "sample")
    size = f"{scene.patch_width or scene.patch} x {scene.patch}"
    return (
        f"{scene.width} x {scene.height} pixels, {words.counted(scene.patches, 'patch', 'patches')} of {size}"
    )


def _board(target: Target, facts: Mapping[str, Any]) -> str:
    """The boards that the target was declared to be, else what its first session says that it is."""
    if target.boards:
        return " + ".join(board.title for board in target.boards)
    return next((str(facts[name]) for name in ("board", "cpu") if isinstance(facts.get(name), str)), "")


def _power_mode(target: Target, facts: Mapping[str, Any]) -> str:
    """The mode that was asked for, else the one that its first session found."""
    found = facts.get("power_mode")
    found = found.get("name") if isinstance(found, Mapping) else found
    return target.power_mode or (found if isinstance(found, str) else "")


def _figures(summary: TrialSummary) -> tuple[dict[str, Ends], dict[str, str]]:
    """By metric value and ends, and why there is no value, in the base units of the catalogue."""
    stated, rail = missing_reasons(summary), summary.primary_rail
    published = {figure.quantity: figure for figure in summary.published}
    figures: dict[str, Ends] = {}
    reasons: dict[str, str] = {}
    for metric in site_metrics():
        value, measured = figure_of(metric, summary), value_of(metric, summary)
        quoted = published.get(metric.name)
        if value is None and quoted is not None:
            value, measured = quoted.value, quoted
        ends = (value, *(getattr(measured, end, None) for end in ("low", "high")))
        is_number = value is not None and math.isfinite(value)
        if is_number or any(end is not None for end in ends):
            figures[metric.name] = tuple(  # type: ignore[assignment]
                None if each is None or not math.isfinite(each) else float(each) for each in ends
            )
        if not is_number:
            of_rail = rail.reason if rail is not None and metric.rail else ""
            of_sharing = stated.get(f"sharing.{metric.name}") if metric.together else ""
            reason = of_sharing or stated.get(metric.json_place) or of_rail or metric.missing(summary)
            reasons[metric.name] = reason if value is None else "what was recorded is no finite number"
    return figures, reasons


# The file of one result: what a trial's own page shows.


def result_document(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile],
    text: TextRule,
) -> dict[str, Any]:
    """The rest of a result, by trial.

    ::

        {"name", "begun_utc", "environment": [["Host", [["cpu", "..."], ...]], ...],
         "trials": {"<key>": {"title", "figures": [[label with its unit, text], ...],
                              "verdicts": [[profile, limit, word, reason], ...],
                              "phases": ["first", "warmup", "steady"], "sessions": [...],
                              "stages": [[label, seconds a patch], ...], "cold": [[label, seconds], ...],
                              "warnings": [...], "repeat": "edgebench run ..."}}}
    """
    record = results.experiment
    names = words.labels(summaries)
    titles = {profile.name: words.plain(profile.title or profile.name) for profile in profiles}
    by_trial = words.grouped((verdict.trial, verdict) for verdict in verdicts)
    command = text(command_line(exported(record).command), 4000)
    groups = [
        [text(table.title), [[text(cell) for cell in row] for row in table.rows if _EXECUTABLE not in row[0]]]
        for table in environment(results)
    ]
    trials = {
        summary.key: {
            "title": text(f"{_device(record, summary)}, {names[summary.key]}"),
            "figures": [
                [_heading(metric), text(_text_of(metric, value))]
                for metric in site_metrics()
                if (value := value_of(metric, summary)) is not None
            ],
            "verdicts": [
                [
                    titles[each.profile],
                    words.limit(each),
                    f"{words.SYMBOLS[each.verdict]} {words.screen_word(each.verdict)}",
                    text(each.reason),
                ]
                for each in by_trial.get(summary.key, ())
            ],
            "phases": list(PHASES),
            "sessions": list(_sessions(results, summary, text)),
            "stages": [[text(stage), _finite(ms / 1e3)] for stage, ms in summary.stages_ms.items()],
            "cold": [[text(name), _finite(value)] for name, value in summary.cold.items()],
            "warnings": [text(each) for each in (*summary.warnings, *summary.failures)],
            "repeat": command,
        }
        for summary in summaries
    }
    about = {"name": text(results.path.name), "begun_utc": text(record.created_utc)}
    return {**about, "environment": groups, "trials": trials}


_EXECUTABLE = "python_executable"  # a path of that machine, which a page that is published does without

PHASES = ("first", "warmup", "steady", "outside", "")


def _device(record: ExperimentRecord, summary: TrialSummary) -> str:
    return next(target.device for target in record.targets if target.name == summary.target)


def _heading(metric: Metric) -> str:
    return metric.shown[0].heading.format(label=metric.titled) if metric.shown else metric.titled


def _text_of(metric: Metric, value: Any) -> str:
    return metric_text(value, metric.shown[0].form if metric.shown else "number")


def _sessions(results: StoredResults, summary: TrialSummary, text: TextRule) -> Iterator[dict[str, Any]]:
    """Each session with its passes, or windows, over time; the one that reports draw also with its power."""
    tables = {name: results.rows_of_trials(name)(summary.key) for name in ("passes", "windows")}
    traces = power_traces(results, summary)
    for record in results.session_records(summary.key):
        of = "passes" if (tables["passes"].whole("session") == record.n).any() else "windows"
        rows = tables[of]
        rows = rows.take(rows.whole("session") == record.n)
        starts, ends = rows.whole("start_ns"), rows.whole("end_ns")
        trace = next((each for each in traces if each.session == record.n), None)
        origin_ns = int(starts.min()) if rows.count else 0
        steady, later_s = starts[rows.equal("phase", "steady")], 0.0
        if trace is not None and len(trace.steady_s) and len(steady):
            # The trace counts from its own first moment, all here from the first pass.
            later_s = (int(steady.min()) - origin_ns) / 1e9 - float(trace.steady_s[0, 0])
        lasted = (ends - starts) / 1e9
        kept = thinned(lasted)
        phases = rows.words("phase") if rows.count else None
        passes = {
            "of": of,
            "n": rows.count,
            "start_s": _numbers((starts[kept] - origin_ns) / 1e9),
            "duration_s": lasted[kept].tolist(),
            "phase": [] if phases is None else [_phase(phases.words[code]) for code in phases.codes[kept]],
        }
        shown: dict[str, Any] = {
            "n": record.n,
            "status": record.status,
            "emulated": record.emulated,
            "passes": passes,
        }
        if trace is None:
            why = (
                summary.power_reason or "the page shows the power of one session: the middle one by its mean"
            )
            yield {**shown, "power": None, "why_no_power": text(why)}
            continue
        rail = trace.rails[0]
        places = thinned(rail.watts)
        power = {
            "rail": text(f"{rail.rail.meter} {rail.rail.channel}"),
            "scope": text(trace.scope),
            "n": len(rail.watts),
            "t_s": _numbers(rail.t_s[places] + later_s),
            "w": _numbers(rail.watts[places]),
            "steady_s": [_numbers(span + later_s) for span in trace.steady_s[:MOST_POINTS]],
        }
        yield {**shown, "power": power, "why_no_power": ""}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    """Seconds or watts to a millionth; None where one is not finite."""
    return [value if math.isfinite(value) else None for value in np.round(values, 6).tolist()]


def _phase(word: str) -> int:
    return PHASES.index(word) if word in PHASES else len(PHASES) - 1


def thinned(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places of at most MOST_POINTS values, rising: of equal stretches the lowest and the highest each."""
    if len(values) <= MOST_POINTS:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), MOST_POINTS // 2 + 1).astype(int)
    places = set()
    for first, end in itertools.pairwise(edges):
        stretch = values[first:end]
        for extreme in (
            np.where(np.isnan(stretch), np.inf, stretch).argmin,
            np.where(np.isnan(stretch), -np.inf, stretch).argmax,
        ):
            places.add(first + int(extreme()))
    return np.array(sorted(places), np.intp)


# Files of a site are scripts, since a browser that opens a page from disk lets it load nothing else.


def compact(document: Any) -> str:
    """JSON in ASCII, which escapes U+2028, too; ValueError for a number that is not finite."""
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def script(function: str, document: Any, *arguments: str) -> str:
    """A call of a function with a JSON document in a text, from which nothing can break out.

    Args:
        function: of the page.
        document: plain data, as of `compact`.
        arguments: in front of the document: letters, digits and hyphens.
    """
    data = compact(document)
    for character, escaped in (("\\", "\\\\"), ("'", "\\'"), ("<", "\\u003c"), (">", "\\u003e")):
        data = data.replace(character, escaped)
    before = "".join(f'"{argument}",' for argument in arguments)
    return f"{function}({before}JSON.parse('{data}'));\n"
