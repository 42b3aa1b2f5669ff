"""Conditions of the measurements: host, targets, experiment, checks, and the telemetry of the sessions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import join
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from edgebench.judge.cautions import LIMIT_SENSOR, QUANTITIES, Observed, observe
from edgebench.judge.pairing import leaves
from edgebench.judge.trial import PUBLISHED, Trial
from edgebench.records.stored import ExperimentRecord, GoldenCheck, SessionRecord, TrialRecord
from edgebench.records.target import Target
from edgebench.report import words
from edgebench.report.blocks import Column, Table, facts, of_figures
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
    record = exported(results.experiment)
    groups = [facts("Experiment", _experiment(record)), facts("Host", gathered(flat(record.host)))]
    if record.targets and all(target.device == PUBLISHED for target in record.targets):
        groups = []
    for target in record.targets:
        declared = _TARGET.dump_python(target, mode="json", exclude_defaults=True)
        values_by_fact = words.grouped(
            fact
            for trial in record.trials
            if trial.target == target.name
            for session in results.session_records(trial.key)
            for fact in (*flat(session.device, "device"), *flat(session.runtime, "runtime"))
            if fact[0] != "runtime.warnings"  # among the notes and warnings
        )
        seen = [(name, _several(list(dict.fromkeys(values)))) for name, values in values_by_fact.items()]
        rows = [*flat(declared, "declared"), *seen][: 2 * _MAX_ROWS]
        groups.append(facts(f"Target {words.plain(target.name, 80)}", gathered(rows)))
    checks = (
        (words.plain(f"{finding.get('level', '')}: {subject}", 120), words.plain(words.advice(finding)))
        for subject, finding in zip(words.subjects(record.preflight), record.preflight, strict=True)
    )
    groups.append(facts("Compiled models", itertools.islice(_compiled(record), _MAX_ROWS)))
    groups.append(facts("Checks before the start", checks))
    return [group for group in groups if group.rows]


def machines(results: StoredResults, trials: Sequence[Trial]) -> list[str]:
    """Line per target: board, processor, runtime with version, threads, power mode and meter.

    Recorded by its finished sessions. Facts that the device does not state are left out.
    """
    record = exported(results.experiment)
    lines: list[str] = []
    for target in record.targets[:_MOST_MACHINES]:
        facts_by_name: dict[str, dict[str, None]] = {}
        rails = (rail for trial in trials if trial.target == target.name for rail in trial.rails)
        meters = dict.fromkeys(words.plain(rail.meter.removesuffix(":"), 60) for rail in rails)
        for planned in record.trials:
            for session in results.session_records(planned.key) if planned.target == target.name else ():
                if session.status == "ok":
                    for name, text in _machine_facts(target, session):
                        facts_by_name.setdefault(name, {}).setdefault(text)
        texts = [
            _several([words.plain(text, 80) for text in texts if text]) for texts in facts_by_name.values()
        ]
        texts.append(f"meter {words.listed(list(meters))}" if meters else "no meter")
        if facts_by_name:
            prefix = f"{words.plain(target.name, 60)}: " if len(record.targets) > 1 else ""
            lines.append(prefix + " · ".join(filter(None, texts)))
    rest = len(record.targets) - _MOST_MACHINES
    return [
        *lines,
        *([f"{words.counted(rest, 'more target')}: see Environment"] if lines and rest > 0 else []),
    ]


def _machine_facts(target: Target, session: SessionRecord) -> Iterator[tuple[str, str]]:
    device, runtime = session.device, session.runtime
    mode = device.get("power_mode")
    yield "board", " + ".join(board.title for board in target.boards) or str(device.get("board") or "")
    yield "processor", str(device.get("cpu") or "")
    yield "runtime", " ".join(str(runtime[name]) for name in ("name", "version") if runtime.get(name))
    threads = runtime.get("threads") or target.options.get("threads")
    yield "threads", words.counted(threads, "thread") if isinstance(threads, int) and threads else ""
    yield "mode", f"power mode {mode.get('name') or mode.get('id')}" if isinstance(mode, Mapping) else ""


def _compiled(record: ExperimentRecord) -> Iterator[tuple[str, str]]:
    """Messages of a device's own compiler by model; nothing for models without one."""
    for trial in record.trials:
        compiler_facts = {name: trial.provenance[name] for name in _OF_COMPILERS if name in trial.provenance}
        yield from flat(compiler_facts, f"{trial.target} {trial.variant}")


def golden(results: StoredResults, names: Mapping[str, str]) -> Table:
    """Largest distance of each trial's outputs from the golden scores, over its sessions."""
    checks_of = {
        trial.key: [
            session.golden for session in results.session_records(trial.key) if session.golden is not None
        ]
        for trial in results.experiment.trials
    }
    rows = [
        (
            names.get(key, key),
            str(len(checks)),
            f"{max(check.max_abs_diff for check in checks):.3g}",
            f"{min(check.tolerance for check in checks):.3g}",
            f"{min(check.top1_equal for check in checks)}/{max(check.n for check in checks)}",
            words.plain(", ".join(sorted({_compared_with(check) for check in checks})), 200),
        )
        for key, checks in checks_of.items()
        if checks
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
    outputs = "1 output" if check.unchecked == 1 else f"{check.unchecked} outputs"
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
    """Values of the sessions: up to three of them, else their number."""
    if len(values) <= 3:
        return " / ".join(values)
    return f"{values[0]} / {values[1]} / ... ({len(values)} different values)"


def _experiment(record: ExperimentRecord) -> list[tuple[str, str]]:
    scene, images = record.scene, record.images
    size = f", {scene.height} x {scene.width}, {scene.rows} x {scene.columns} patches"
    settings = list(record.config.items())[:_MAX_ROWS]
    absent = ", ".join(words.plain(name, 80) for name, setting in settings if _absent(setting))
    rows = [
        ("started", words.moment(record.created_utc)),
        ("EdgeBench", record.edgebench_version),
        ("sessions and passes", f"{most_sessions(record)} a trial, {steady_part(record)} a session"),
        ("seed", str(record.seed)),
        ("scene", scene.name + (size if scene.kind == "picture" else "")),
        ("scene SHA-256", scene.sha256),
        (
            "images",
            f"{images.name}, {images.n} {'labelled' if images.labelled else 'unlabelled'}"
            if images
            else record.images_reason or "none",
        ),
        *([("images SHA-256", images.sha256)] if images else []),
        *(
            (
                name,
                f"{', '.join(map(str, value)) if isinstance(value, list | tuple) else value} "
                f"({setting.get('origin', 'origin not kept')})",
            )
            for name, setting in settings
            if not _absent(setting)
            for value in [setting["value"]]
        ),
    ]
    shown = [(words.plain(name, 80), words.plain(text)) for name, text in rows]
    return [*shown, *([("not given", absent)] if absent else [])]


def _absent(setting: Mapping[str, Any]) -> bool:
    """True without a value and a default."""
    return setting.get("value") is None or setting["value"] == []


def steady_part(record: ExperimentRecord) -> str:
    """Work of each session: `3 passes`, or its duration and period."""
    often = "" if record.period_s is None else f", one every {record.period_s:g} s"
    if record.sustained_s is not None:
        minutes = record.sustained_s / 60
        return f"{minutes:g} {'minute' if minutes == 1 else 'minutes'}{often}"
    counts = [_steady_count(record, trial) for trial in record.trials] or [_passes(record.passes)]
    return f"{' or '.join(dict.fromkeys(counts))}{often}"


def _steady_count(record: ExperimentRecord, trial: TrialRecord) -> str:
    """Passes or windows per session, with the patches if they are not the whole scene."""
    passes = trial.passes or record.passes
    if trial.patches is None:
        return _passes(passes)
    noun = "pass or window" if passes == 1 else "passes or windows"
    return f"{passes} {noun} over {trial.patches} of {record.scene_of(trial).patches} patches"


def _passes(passes: int) -> str:
    return "1 pass" if passes == 1 else f"{passes} passes"


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
    rows = []
    if not results.experiment.trials:
        return Table("telemetry", _COLUMNS, ())
    samples = results.rows_of_trials("probes")
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
    def sampled(quantity: str) -> Rows:
        return samples.take(samples.equal("quantity", quantity))

    left, zones = sampled("memory").floats("value"), sampled("temperature")
    rate, waiting, stolen = (
        max((value for session in seen if (value := getattr(session, name)) is not None), default=None)
        for name in ("involuntary_per_s", "waiting_share", "stolen_share")
    )
    throttling = dict.fromkeys(text for session in seen for text in session.throttled)
    watched = sum(session.watched for session in seen)
    not_throttled = "no" if watched == len(seen) else f"no, as far as {watched} of {len(seen)} sessions tell"
    return (
        _range(_highest(sampled("clock")), 0),
        _range(_highest(zones.take(~zones.having("channel", lambda name: LIMIT_SENSOR in name))), 1),
        _range(sampled("load").floats("value"), 2),
        words.size(int(left.min())) if len(left) else words.MISSING,
        words.MISSING if rate is None else words.fixed(rate, 0),
        words.MISSING if waiting is None else words.percent(waiting),
        words.MISSING if stolen is None else words.percent(stolen),
        ", ".join(throttling) or (not_throttled if watched else words.MISSING),
    )


def _highest(samples: Rows) -> NDArray[np.float64]:
    """Highest value at each stamp over cores and zones, of the probe that has the highest."""
    rows = samples.ordered("probe", "session", "t_ns")
    values = rows.floats("value")
    by_probe: dict[str, list[float]] = {}
    for first, last in rows.spans("probe", "session", "t_ns"):
        by_probe.setdefault(rows.word("probe", first), []).append(float(values[first:last].max()))
    return np.array(max(by_probe.values(), key=max, default=[]))


def _range(values: NDArray[np.float64], places: int) -> str:
    if not len(values):
        return words.MISSING
    low, high = (words.fixed(end, places) for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"
