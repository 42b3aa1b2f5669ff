"""Documents of a site on one result: one row per trial for the first view, and a file with the rest.

A site is read by `page/explore.js`. data.js has every trial, with one entry per trial in each column::

    {"schema": 1, "build": "16 hex digits, as in sessions.js", "made_utc", "version", "n": 9000,
     "labels": {"device": {"title": "Device", "differs": whether it says anything, "values": ["cpu", ...],
                           "codes": [0, 0, ...]}, ...},
     "metrics": [{"name", "title", "titled", "inside", "limit", "unit", "better", "log", "statistics",
                  "columns"}, ...],
     "figures": {"image_s": '{"value": [...], "low": [...] or null, "high": [...] or null,
                              "reasons": {"values", "codes"}}', ...},
     "profiles": [{"name", "title", "verdicts": {"values", "codes"},
                   "limits": [{"metric", "statistic", "title", "most" or "least"}, ...]}, ...],
     "without_sessions": number of results without a session, which have no trial here,
     "usual": {"x", "y", "metric", "columns": [...]}, the metrics where the address chooses none,
     "python": {"table", "rows"}, which are PYTHON_TABLE and PYTHON_ROWS,
     "left_out": [{"result", "why"}, ...],
     "target_names": true or absent, "refresh_s": seconds between looks at a watched site, or absent}

sessions.js has values by session and histories, of the trials in the same order::

    {"build": "...", "level": 0.95, "trials": [{"image_s": [one value per session], ...} or null, ...],
     "begun_utc": ["2025-03-01T12:00:00Z", ...],
     "history": {"image_s": [{"trials": [places, oldest first], "changes": [{"at", "ratio", "word"}],
                              "reason": "why no change was looked for"}, ...]}}

The figures of a metric are JSON in a text, so that a browser reads only those that it shows. Without "codes"
all trials have the first of "values". results/<id>.js has one result (`result_document`); its id stays as
sessions end. Numbers of data.js have 6 significant digits, those of the other files all. A missing value is
null. Every text of a result is one line without control characters; the page never takes it for markup.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edgebench.judge.cautions import REPLAY
from edgebench.judge.comparisons.history import (
    followed_metrics,
    followed_value,
    positive_sessions,
    series_key,
)
from edgebench.judge.comparisons.pairing import trial_identity
from edgebench.judge.judged import Judged
from edgebench.judge.metrics import METRICS, metrics_in
from edgebench.judge.power.trace import PowerTrace, power_traces
from edgebench.judge.published import judge_published, load_references, reference_folder
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.table import column_of, verdicts_by_trial
from edgebench.judge.trial import PUBLISHED, Estimate, Trial
from edgebench.judge.trials import trials_of
from edgebench.judge.verdicts.verdict import judge_all
from edgebench.records.stored import SceneRecord, SessionRecord
from edgebench.records.target import Target
from edgebench.report import words
from edgebench.report.environment import command_line, environment
from edgebench.report.matrix import cells_of
from edgebench.report.tables import estimate_text
from edgebench.results.archive import names_of
from edgebench.results.load import StoredResults
from edgebench.results.record_reading import read_experiment
from edgebench.results.redaction import exported
from edgebench.results.revisions import swept_name

MOST_POINTS = 2_000
"""Passes, or samples of power, of a session that are shown: the lowest and highest of each stretch."""

TITLES = {
    "kind": "Kind", "result": "Result", "date": "Date (UTC)", "device": "Device", "board": "Board",
    "target": "Target", "scene": "Scene", "model": "Model family", "variant": "Variant", "trial": "Trial",
    "depth_multiplier": "Depth multiplier", "precision": "Precision", "batch": "Batch",
    "power_mode": "Power mode", "scope": "Meter covers", "status": "Status", "source": "Source", "key": "Key",
    "id": "File", "history": "Series",
}  # fmt: skip
"""Titles of the labels of a trial, by name."""

_PARTS = {metric.part for metric in METRICS.values()}
USUAL = tuple(
    name for name, metric in METRICS.items() if {"matrix", "trials"} & {*metric.tables} and name not in _PARTS
)
"""Metrics of a report's first tables, which are shown where nothing is chosen, and offered first."""

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
"""Lines that give the page's table, in which it writes the chosen rows and columns."""


class TextRule(Protocol):
    """Rule that turns outside text into text that a page may show."""

    def __call__(self, text: object, limit: int = 400, /) -> str:
        """Return one line of at most `limit` characters."""


@dataclass(frozen=True)
class TrialRow:
    """Row of one trial in the first view.

    Attributes:
        labels: by name of TITLES, all but `result`, `target`, `id` and `history`.
        estimates: value with its ends, or the cause why it is missing, by metric.
        verdicts: words by profile.
        sessions: one value per session, above 0, by metric.
        series: identity of the series and value in it, by metric.
        identity: identity of the trial in any result, as in histories.
        target: name of the target, which is not shown.
        shown_target: name that may be shown; else empty.
    """

    labels: Mapping[str, str]
    estimates: Mapping[str, Estimate]
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
        name: shown name.
        begun_utc: start, ISO 8601; empty where it is not known.
        rows: rows of its trials; none before its first session.
        file: id of its file in `results/`.
    """

    name: str
    begun_utc: str
    rows: tuple[TrialRow, ...]
    file: str = ""


def read_result(
    folder: Path, begun_utc: str, profiles: Sequence[Profile], *, target_names: bool
) -> tuple[ShownResult, str]:
    """Read a result folder: the result as a site shows it, and the text of its file.

    Args:
        folder: folder of the result, whose name is the result's.
        begun_utc: start; empty where it is not known.
        profiles: profiles that judge its trials.
        target_names: whether the names that targets were given are shown.

    Raises:
        StoredResultError: the result, or a table of it, is damaged or of another version.
    """
    results = StoredResults(folder, read_experiment(folder))
    trials = trials_of(results)
    judged = Judged(results, tuple(profiles), trials, judge_all(trials, profiles))
    text = plain_text(results, target_names=target_names)
    record = results.experiment
    has_sessions = any(results.session_records(trial.key) for trial in record.trials)
    rows = tuple(_rows(judged, text, date=begun_utc[:10])) if has_sessions else ()
    file = record.id[:16]  # stays as sessions end, so that addresses of the page stay
    shown = ShownResult(text(folder.name), begun_utc, rows, file)
    return shown, script("edgebenchResult", result_document(judged, text), file)


def published_result(profiles: Sequence[Profile]) -> ShownResult:
    """Published numbers that come with EdgeBench; each trial names its sources."""
    sources = {
        entry.record.key: dict.fromkeys(
            reference.sources[published.source].title for published in entry.figures
        )
        for reference in load_references(reference_folder())
        for entry in reference.trials
    }
    shown = {key: "; ".join(map(words.plain, titles)) for key, titles in sources.items()}
    return ShownResult(PUBLISHED, "", tuple(_rows(judge_published(profiles), words.plain, sources=shown)))


def plain_text(results: StoredResults, *, target_names: bool) -> TextRule:
    """Text rule of a result: it leaves out the private names of `edgebench export`, and names of targets.

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


_LONGEST = 20_000  # characters of a text that are read


def _rows(
    judged: Judged, text: TextRule, date: str = "", sources: Mapping[str, str] | None = None
) -> Iterator[TrialRow]:
    results, record = judged.results, judged.results.experiment
    targets = {target.name: target for target in record.targets}
    names, cells = words.labels(judged.trials), cells_of(judged)
    for trial, planned in zip(judged.trials, record.trials, strict=True):
        target, scene = targets[trial.target], record.scene_of(planned)
        sessions = [session for session in results.session_records(trial.key) if session.status == "ok"]
        kind = PUBLISHED if trial.is_published else kind_of(target, sessions)
        facts = sessions[0].device if sessions and kind != REPLAY else {}
        labels = {
            "date": date,
            "kind": kind,
            "device": words.plain(target.name if trial.is_published else target.device),
            "board": text(_board(target, facts)),
            "scene": scene_words(scene),
            "model": words.families([trial]),
            "variant": words.plain(trial.variant),
            "trial": names[trial.key],
            "depth_multiplier": "" if trial.depth_multiplier is None else str(trial.depth_multiplier),
            "precision": words.plain(trial.precision, 16),
            "batch": str(trial.batch),
            "power_mode": text(_power_mode(target, facts)),
            "scope": trial.rails[0].scope if trial.rails else "",
            "status": trial.status,
            "key": trial.key,
            "source": (sources or {}).get(trial.key, ""),
        }
        planned_name = swept_name(target)
        by_metric = {name: positive_sessions(metric, trial) for name, metric in METRICS.items()}
        yield TrialRow(
            labels=labels,
            estimates=_shown_estimates(trial, text),
            verdicts={
                profile.name: words.screen_word(cells[trial.key, profile.name].word)
                for profile in judged.profiles
            },
            sessions={name: values for name, values in by_metric.items() if values},
            series={
                name: (series_key(METRICS[name], trial, planned_name, record, planned), ends[0])
                for name in (() if trial.is_published else followed_metrics())
                if (ends := followed_value(METRICS[name], trial)) is not None
            },
            identity=(
                trial_identity(trial, planned_name),
                scene.sha256,
                planned.patches,
                trial.is_published and trial.key,
            ),
            target=planned_name,
            shown_target=planned_name if text(planned_name) == words.plain(planned_name) else "",
        )


def kind_of(target: Target, sessions: Sequence[SessionRecord]) -> str:
    """Kind of a trial's numbers: measured, emulated or replay."""
    if target.device == REPLAY or any(session.own_time for session in sessions):
        return REPLAY
    return "emulated" if any(session.emulated for session in sessions) else "measured"


def scene_words(scene: SceneRecord) -> str:
    """Work of an image: its pixels, its patches and their size."""
    if scene.kind == "samples":
        return words.counted(scene.patches, "sample")
    size = f"{scene.patch_width or scene.patch} x {scene.patch}"
    return (
        f"{scene.width} x {scene.height} pixels, {words.counted(scene.patches, 'patch', 'patches')} of {size}"
    )


def _board(target: Target, facts: Mapping[str, Any]) -> str:
    """Declared boards of the target, else the board that its first session recorded."""
    if target.boards:
        return " + ".join(board.title for board in target.boards)
    return next((str(facts[name]) for name in ("board", "cpu") if isinstance(facts.get(name), str)), "")


def _power_mode(target: Target, facts: Mapping[str, Any]) -> str:
    """Requested power mode, else the one that its first session found."""
    mode = facts.get("power_mode")
    mode = mode.get("name") if isinstance(mode, Mapping) else mode
    return target.power_mode or (mode if isinstance(mode, str) else "")


def _own_estimates(trial: Trial) -> dict[str, Estimate]:
    """Estimates of the trial itself by metric, without stages, workers and other statistics."""
    estimates: dict[str, Estimate] = {}
    for key, estimate in trial.estimates.items():
        if key.worker is None and column_of(key) == key.metric:
            estimates.setdefault(key.metric, estimate)
    return estimates


def _shown_estimates(trial: Trial, text: TextRule) -> dict[str, Estimate]:
    """Estimates of the trial itself by metric: finite numbers, no ends of an exact one, shown reasons."""
    shown = {}
    for name, estimate in _own_estimates(trial).items():
        if estimate.value is not None and not math.isfinite(estimate.value):
            estimate = Estimate(reason="a recorded value is not finite")
        ends = (None, None) if estimate.is_exact else (_finite(estimate.low), _finite(estimate.high))
        reason = text(estimate.reason) if estimate.value is None else ""
        shown[name] = Estimate(estimate.value, *ends, reason=reason)
    return shown


# File of one result, with the page of each trial.


def result_document(judged: Judged, text: TextRule) -> dict[str, Any]:
    """Rest of a result, by trial.

    ::

        {"name", "begun_utc", "environment": [["Host", [["cpu", "..."], ...]], ...],
         "trials": {"<key>": {"title", "figures": [[label with its unit, text], ...],
                              "verdicts": [[profile, limit, word, reason], ...],
                              "phases": PHASES, "sessions": [...],
                              "stages": [[label, seconds a patch], ...], "cold": [[label, seconds], ...],
                              "warnings": [...], "repeat": "edgebench run ..."}}}
    """
    results, record = judged.results, judged.results.experiment
    names = words.labels(judged.trials)
    devices = {target.name: target.device for target in record.targets}
    titles = {profile.name: words.plain(profile.title or profile.name) for profile in judged.profiles}
    by_trial = verdicts_by_trial(judged.verdicts)
    command = text(command_line(exported(record).command), 4000)
    groups = [
        [text(table.title), [[text(cell) for cell in row] for row in table.rows if _EXECUTABLE not in row[0]]]
        for table in environment(results)
    ]
    trials = {
        trial.key: {
            "title": text(f"{devices[trial.target]}, {names[trial.key]}"),
            "figures": list(_texts(trial, text)),
            "verdicts": [
                [
                    titles[verdict.profile],
                    words.limit(verdict.requirement),
                    f"{words.SYMBOLS[verdict.word]} {words.screen_word(verdict.word)}",
                    text(verdict.reason),
                ]
                for verdict in by_trial.get(trial.key, ())
            ],
            "phases": list(PHASES),
            "sessions": list(_sessions(results, trial, text)),
            "stages": [
                [text(key.stage), _finite(estimate.value / 1e3)]
                for key, estimate in trial.estimates.items()
                if key.stage and key.worker is None and estimate.value and METRICS[key.metric].unit == "ms"
            ],
            "cold": [
                [metric.words, _finite(trial.estimate(metric.name).value)]
                for metric in metrics_in("start")
                if metric.unit == "s" and trial.estimate(metric.name).value is not None
            ],
            "warnings": [text(sentence) for sentence in (*trial.warnings, *trial.failures)],
            "repeat": command,
        }
        for trial in judged.trials
    }
    head = {"name": text(results.path.name), "begun_utc": text(record.created_utc)}
    return {**head, "environment": groups, "trials": trials}


_EXECUTABLE = "python_executable"  # a path of that machine

PHASES = ("first", "warmup", "steady", "outside", "")


def _texts(trial: Trial, text: TextRule) -> Iterator[list[str]]:
    """Heading and text of each estimate that has a value."""
    for name, estimate in _own_estimates(trial).items():
        heading = METRICS[name].heading or METRICS[name].titled
        if estimate.value is not None:
            yield [heading, text(estimate_text(estimate, METRICS[name], heading))]


def _sessions(results: StoredResults, trial: Trial, text: TextRule) -> Iterator[dict[str, Any]]:
    """Sessions with their passes, or windows, over time; the one that reports draw also with its power."""
    tables = {name: results.rows_of_trials(name)(trial.key) for name in ("passes", "windows")}
    traces = power_traces(results, trial)
    reason = trial.rails[0].reason if trial.rails else trial.estimate("power_mean_w").reason
    reason = reason or "the page shows the power of one session: the middle one by its mean"
    for record in results.session_records(trial.key):
        of_session = {name: rows.take(rows.whole("session") == record.n) for name, rows in tables.items()}
        unit = "passes" if of_session["passes"].count else "windows"
        rows = of_session[unit]
        starts, ends = rows.whole("start_ns"), rows.whole("end_ns")
        origin_ns = int(starts.min()) if rows.count else 0
        lasted = (ends - starts) / 1e9
        kept = thinned(lasted)
        phases = np.full(rows.count, len(PHASES) - 1)
        for place, phase in enumerate(PHASES):
            phases[rows.equal("phase", phase)] = place
        passes = {
            "of": unit,
            "n": rows.count,
            "start_s": _numbers((starts[kept] - origin_ns) / 1e9),
            "duration_s": lasted[kept].tolist(),
            "phase": phases[kept].tolist(),
        }
        trace = next((trace for trace in traces if trace.session == record.n), None)
        steady = starts[rows.equal("phase", "steady")]
        later_s = 0.0
        if trace is not None and len(trace.steady_s) and len(steady):
            # Times of the trace count from its first moment, all others from the first pass.
            later_s = (int(steady.min()) - origin_ns) / 1e9 - float(trace.steady_s[0, 0])
        yield {
            "n": record.n,
            "status": record.status,
            "emulated": record.emulated,
            "passes": passes,
            "power": _power(trace, later_s, text) if trace else None,
            "why_no_power": "" if trace else text(reason),
        }


def _power(trace: PowerTrace, later_s: float, text: TextRule) -> dict[str, Any]:
    """Power of the first rail of a trace, whose times are `later_s` after those of the passes."""
    rail = trace.rails[0]
    places = thinned(rail.watts)
    return {
        "rail": text(rail.rail.name),
        "scope": text(trace.scope),
        "n": len(rail.watts),
        "t_s": _numbers(rail.t_s[places] + later_s),
        "w": _numbers(rail.watts[places]),
        "steady_s": [_numbers(span + later_s) for span in trace.steady_s[:MOST_POINTS]],
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    """Seconds or watts to a millionth; None for one that is not finite."""
    return [value if math.isfinite(value) else None for value in np.round(values, 6).tolist()]


def thinned(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places of at most MOST_POINTS values, rising: the lowest and the highest of equal stretches."""
    if len(values) <= MOST_POINTS:
        return np.arange(len(values))
    low, high = (np.where(np.isnan(values), fill, values) for fill in (np.inf, -np.inf))
    stretches = np.array_split(np.arange(len(values)), MOST_POINTS // 2)
    lowest = [places[low[places].argmin()] for places in stretches]
    return np.unique([*lowest, *(places[high[places].argmax()] for places in stretches)])


# Scripts, the only files that a page from disk can load.


def compact(document: Any) -> str:
    """JSON in ASCII, without spaces.

    Raises:
        ValueError: a number is not finite.
    """
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def script(function: str, document: Any, *arguments: str) -> str:
    """Call of a function with a JSON document as an escaped text.

    Args:
        function: function of the page.
        document: plain data, as of `compact`.
        arguments: arguments in front of the document: letters, digits and hyphens.
    """
    data = compact(document)
    for character, escaped in (("\\", "\\\\"), ("'", "\\'"), ("<", "\\u003c"), (">", "\\u003e")):
        data = data.replace(character, escaped)
    before = "".join(f'"{argument}",' for argument in arguments)
    return f"{function}({before}JSON.parse('{data}'));\n"
