"""Conditions of the measurements: host, targets, experiment, checks, and the telemetry of the sessions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import join
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from edgebench.judge.cautions import LIMIT_SENSOR, QUANTITIES, Observed, observe
from edgebench.judge.comparisons.pairing import leaves
from edgebench.judge.trial import PUBLISHED, Trial
from edgebench.records.stored import ExperimentRecord, GoldenCheck, SessionRecord
from edgebench.records.target import Target
from edgebench.report import words
from edgebench.report.renderers.blocks import Column, Table, facts, of_figures
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported
from edgebench.results.rows import Rows

_MAX_ROWS = 80
_MOST_DEPTH = 5
_MOST_MACHINES = 4  # that the first screen names
_UNKNOWN = "not known"
_OF_COMPILERS = ("compiler", "operations")


def gathered(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Rows with the names that have no value in one row at the end."""
    rows = list(rows)
    unknown = ", ".join(name for name, text in rows if text == _UNKNOWN)
    last = [(_UNKNOWN, unknown)] if unknown else []
    return (*((name, text) for name, text in rows if text != _UNKNOWN), *last)


_TARGET = TypeAdapter(Target)


def environment(results: StoredResults) -> list[Table]:
    """Facts of the experiment, the host, and each target with its board and runtime.

    Published numbers have the targets alone.
    """
    record, sessions = exported(results.experiment), _sessions_by_target(results)
    groups = [facts("Experiment", _experiment(record)), facts("Host", gathered(flat(record.host)))]
    if record.targets and all(target.device == PUBLISHED for target in record.targets):
        groups = []
    for target in record.targets:
        declared = _TARGET.dump_python(target, mode="json", exclude_defaults=True)
        values_by_fact = words.grouped(
            fact
            for session in sessions.get(target.name, ())
            for fact in (*flat(session.device, "device"), *flat(session.runtime, "runtime"))
            if fact[0] != "runtime.warnings"  # among the notes and warnings
        )
        seen = [(name, _several(values)) for name, values in values_by_fact.items()]
        rows = [*flat(declared, "declared"), *seen][: 2 * _MAX_ROWS]
        groups.append(facts(f"Target {words.plain(target.name, 80)}", gathered(rows)))
    compiled = (
        fact
        for trial in record.trials
        for fact in flat(
            {name: trial.provenance[name] for name in _OF_COMPILERS if name in trial.provenance},
            f"{trial.target} {trial.variant}",
        )
    )
    checks = (
        (words.plain(f"{finding.get('level', '')}: {subject}", 120), words.plain(words.advice(finding)))
        for subject, finding in zip(words.subjects(record.preflight), record.preflight, strict=True)
    )
    groups.append(facts("Compiled models", itertools.islice(compiled, _MAX_ROWS)))
    groups.append(facts("Checks before the start", checks))
    return [group for group in groups if group.rows]


def _sessions_by_target(results: StoredResults) -> dict[str, list[SessionRecord]]:
    return words.grouped(
        (trial.target, session)
        for trial in results.experiment.trials
        for session in results.session_records(trial.key)
    )


def machines(results: StoredResults, trials: Sequence[Trial]) -> list[str]:
    """Line per target: board, processor, runtime with version, threads, power mode and meter.

    Recorded by its finished sessions. Facts that the device does not state are left out.
    """
    targets, sessions = exported(results.experiment).targets, _sessions_by_target(results)
    lines: list[str] = []
    for target in targets[:_MOST_MACHINES]:
        finished = [session for session in sessions.get(target.name, ()) if session.status == "ok"]
        if not finished:
            continue
        facts_of_sessions = zip(*(_machine_facts(target, session) for session in finished), strict=True)
        rails = (rail for trial in trials if trial.target == target.name for rail in trial.rails)
        meters = dict.fromkeys(words.plain(rail.meter.removesuffix(":"), 60) for rail in rails)
        texts = [_several([words.plain(text, 80) for text in texts if text]) for texts in facts_of_sessions]
        texts.append(f"meter {words.listed(list(meters))}" if meters else "no meter")
        prefix = f"{words.plain(target.name, 60)}: " if len(targets) > 1 else ""
        lines.append(prefix + " · ".join(filter(None, texts)))
    rest = len(targets) - _MOST_MACHINES
    if lines and rest > 0:
        lines.append(f"{words.counted(rest, 'more target')}: see Environment")
    return lines


def _machine_facts(target: Target, session: SessionRecord) -> tuple[str, ...]:
    """Board, processor, runtime, threads and power mode; empty texts for what is not known."""
    device, runtime = session.device, session.runtime
    mode, threads = device.get("power_mode"), runtime.get("threads") or target.options.get("threads")
    return (
        " + ".join(board.title for board in target.boards) or str(device.get("board") or ""),
        str(device.get("cpu") or ""),
        " ".join(str(runtime[name]) for name in ("name", "version") if runtime.get(name)),
        words.counted(threads, "thread") if isinstance(threads, int) and threads else "",
        f"power mode {mode.get('name') or mode.get('id')}" if isinstance(mode, Mapping) else "",
    )


def golden(results: StoredResults, names: Mapping[str, str]) -> Table:
    """Largest distance of each trial's outputs from the golden scores, over its sessions."""
    checks_by_trial = words.grouped(
        (trial.key, session.golden)
        for trial in results.experiment.trials
        for session in results.session_records(trial.key)
        if session.golden is not None
    )
    rows = [
        (
            names.get(key, key),
            str(len(checks)),
            f"{max(check.max_abs_diff for check in checks):.3g}",
            f"{min(check.tolerance for check in checks):.3g}",
            f"{min(check.top1_equal for check in checks)}/{max(check.n for check in checks)}",
            words.plain(", ".join(sorted({_compared_with(check) for check in checks})), 200),
        )
        for key, checks in checks_by_trial.items()
    ]
    headings = ("sessions checked", "largest difference of a score", "accepted", "same class")
    return Table(
        "golden patches",
        (*of_figures("trial", *headings), Column("compared with", long=True)),
        tuple(rows),
        caption="before anything is timed, patches with known scores go through every session",
    )


def _compared_with(check: GoldenCheck) -> str:
    """Reference of a check, and the number of outputs without a single value in it."""
    if not check.reference:
        return "no reference: shape, finite scores, and the same scores twice"
    if not check.unchecked:
        return check.reference
    outputs = words.counted(check.unchecked, "output")
    return f"{check.reference}; of {outputs} only shape and finite values: two kernels differ there"


def flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts as `outer.inner` pairs; bytes in readable units; at most 80 pairs."""
    for count, (names, item) in enumerate(leaves(value, _MOST_DEPTH, *([prefix] if prefix else []))):
        if count == _MAX_ROWS:
            yield "...", "more is in the result's folder"
            return
        yield words.plain(".".join(names), 100), _text(names[-1], item)


def _text(name: str, fact: Any) -> str:
    if fact is None:
        return _UNKNOWN
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, int) and name.endswith("_bytes"):
        return words.size(fact)
    if isinstance(fact, list | tuple):
        between = "; " if any(isinstance(part, Mapping) for part in fact) else ", "
        return between.join(_part(part) for part in fact[:20]) or "none"
    return words.plain(fact, 300)


def _part(part: object) -> str:
    """Item of a list; fields as `name value` pairs."""
    if not isinstance(part, Mapping):
        return words.plain(part, 80)
    return words.plain(", ".join(f"{name} {value}" for name, value in part.items()), 160)


def _several(values: Sequence[str]) -> str:
    """Values of the sessions: up to three that differ, else their number."""
    values = list(dict.fromkeys(values))
    more = [*values[:2], f"... ({len(values)} different values)"]
    return " / ".join(values if len(values) <= 3 else more)


def _experiment(record: ExperimentRecord) -> list[tuple[str, str]]:
    scene, images = record.scene, record.images
    size = f", {scene.height} x {scene.width}, {scene.rows} x {scene.columns} patches"
    settings, absent = [], []
    for name, setting in itertools.islice(record.config.items(), _MAX_ROWS):
        value = setting.get("value")
        if value is None or value == []:
            absent.append(name)
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
            settings.append((name, f"{text} ({setting.get('origin', 'origin not kept')})"))
    labelled = "labelled" if images and images.labelled else "unlabelled"
    rows = [
        ("started", words.moment(record.created_utc)),
        ("EdgeBench", record.edgebench_version),
        ("sessions and passes", f"{most_sessions(record)} a trial, {steady_part(record)} a session"),
        ("seed", str(record.seed)),
        ("scene", scene.name + (size if scene.kind == "picture" else "")),
        ("scene SHA-256", scene.sha256),
        ("images", f"{images.name}, {images.n} {labelled}" if images else record.images_reason or "none"),
        ("images SHA-256", images.sha256 if images else ""),
        *settings,
        ("not given", ", ".join(absent)),
    ]
    return [(words.plain(name, 80), words.plain(text, 4000)) for name, text in rows if text]


def steady_part(record: ExperimentRecord) -> str:
    """Work of each session: `3 passes`, or its duration and period."""
    often = "" if record.period_s is None else f", one every {record.period_s:g} s"
    if record.sustained_s is not None:
        minutes = record.sustained_s / 60
        return f"{minutes:g} {'minute' if minutes == 1 else 'minutes'}{often}"
    counts = [
        words.counted(trial.passes or record.passes, "pass", "passes")
        if trial.patches is None
        else f"{words.counted(trial.passes or record.passes, 'pass or window', 'passes or windows')} over "
        f"{trial.patches} of {record.scene_of(trial).patches} patches"
        for trial in record.trials
    ]
    shown = dict.fromkeys(counts or [words.counted(record.passes, "pass", "passes")])
    return f"{' or '.join(shown)}{often}"


def most_sessions(record: ExperimentRecord) -> str:
    """Sessions of a trial: `5 sessions`, `at most 30 sessions` where a rule ends it."""
    bound = "at most " if record.target_ci is not None or record.decide else ""
    return f"{bound}{words.counted(record.sessions, 'session')}"


def command_line(command: Sequence[str]) -> str:
    """Command as a shell takes it; characters that cannot be shown are U+FFFD."""
    return words.plain(join(command), 4000)


# Telemetry of the sessions, one row per trial: clocks, temperature, load, memory, waiting.


_FIGURES = (
    "fastest clock, MHz", "hottest zone, °C", "load", "memory left", "involuntary context switches a second",
    "waiting for a core", "stolen",
)  # fmt: skip
_COLUMNS = (*of_figures("trial", *_FIGURES), Column("throttled", long=True))
SHOWN = QUANTITIES | {"load", "memory"}
"""Quantities of this table, whichever probe samples them."""


def telemetry(results: StoredResults, names: Mapping[str, str]) -> Table:
    """Lowest to highest over all sessions of a trial; the last four over their steady passes, the worst."""
    rows, samples = [], results.rows_of_trials("probes")
    for trial in results.experiment.trials:
        seen = samples(trial.key)
        seen = seen.take(seen.having("quantity", SHOWN.__contains__) & np.isfinite(seen.floats("value")))
        if seen.count:
            ok = [session for session in results.session_records(trial.key) if session.status == "ok"]
            rows.append((names.get(trial.key, trial.key), *_cells(seen, observe(ok, seen))))
    return Table(
        "telemetry",
        _COLUMNS,
        tuple(rows),
        caption="sampled at a low rate during every session; - where the board does not report it",
    )


def _cells(samples: Rows, seen: tuple[Observed, ...]) -> tuple[str, ...]:
    clocks, zones, loads, memory = (
        samples.take(samples.equal("quantity", name)) for name in ("clock", "temperature", "load", "memory")
    )
    left = memory.floats("value")
    rate, waiting, stolen = (
        max((value for session in seen if (value := getattr(session, name)) is not None), default=None)
        for name in ("involuntary_per_s", "waiting_share", "stolen_share")
    )
    throttling = dict.fromkeys(text for session in seen for text in session.throttled)
    watched = sum(session.watched for session in seen)
    not_throttled = "no" if watched == len(seen) else f"no, as far as {watched} of {len(seen)} sessions tell"
    return (
        words.span(_highest(clocks), 0),
        words.span(_highest(zones.take(~zones.having("channel", lambda name: LIMIT_SENSOR in name))), 1),
        words.span(loads.floats("value"), 2),
        words.size(int(left.min()) if len(left) else None),
        words.MISSING if rate is None else words.fixed(rate, 0),
        words.percent(waiting),
        words.percent(stolen),
        ", ".join(throttling) or (not_throttled if watched else words.MISSING),
    )


def _highest(samples: Rows) -> list[float]:
    """Highest value at each stamp over cores and zones, of the probe that has the highest."""
    rows = samples.ordered("probe", "session", "t_ns")
    values = rows.floats("value")
    by_probe: dict[str, list[float]] = {}
    for first, last in rows.spans("probe", "session", "t_ns"):
        by_probe.setdefault(rows.word("probe", first), []).append(float(values[first:last].max()))
    return max(by_probe.values(), key=max, default=[])
