"""Failures, memory, model size and deadlines of sessions; declared mass, size and boot time of a board."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from edgebench.judge.metric import (
    BYTE_UNITS,
    DECLARED_SOURCE,
    LENGTH_UNITS,
    MASS_UNITS,
    SHARE_UNITS,
    TIME_UNITS,
    Metric,
    Option,
    Reading,
    Sampled,
    impossible_reason,
)
from edgebench.judge.trial import STATED, Conditions, Estimate, Trial, Values

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded
    from edgebench.records.target import DeclaredBoot

NOT_PACED = "the passes were not paced (--period)"
NO_MEMORY = "no finished session says how much memory it took"
SIDES = ("longest", "middle", "shortest")


def _failed_sessions(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    ended = [record for record in recorded.sessions if record.status != "interrupted"]
    if not ended:
        yield metric.missing("no session has ended by itself")
        return
    failed = sum(record.status != "ok" for record in ended)
    yield Reading(metric.key(), _share_failed(failed, len(ended), STATED.interval))


def _share_failed(failed: int, sessions: int, confidence: float) -> Estimate:
    from edgebench.stats.compare import wilson

    low, high = wilson(failed, sessions, confidence)
    return Estimate(failed / sessions, low, high, n=sessions).with_notes(
        f"{failed} failed of {sessions} sessions"
    )


def _failed_estimates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    stored = trial.estimate(metric.name)
    confidence = conditions.certainty.interval
    if stored.value is None or confidence <= STATED.interval:
        return (stored,)
    return (_share_failed(round(stored.value * stored.n), stored.n, confidence),)


def _memory(recorded: Recorded, worker: int | None) -> Values:
    from edgebench.judge.recorded import once_per_session

    if worker is None:
        return once_per_session(recorded.memory_bytes)
    return once_per_session(recorded.worker_numbers(worker, "memory", "peak_bytes"))


_memory_bytes = Sampled("sessions", _memory, lambda recorded: NO_MEMORY)


def _artifact(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    built = next((record.built for record in recorded.ok if record.built), None)
    size = built.bytes if built else recorded.trial.artifact_bytes
    if size is None:
        yield metric.missing("the artifact's size was not recorded" if recorded.ok else "")
    else:
        yield Reading(metric.key(), Estimate.exact(float(size)))


def _deadline_misses(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    late_s = tuple(session for session in recorded.steady().lateness_s if session)
    period_s = recorded.experiment.period_s
    if period_s is None or not late_s:
        reason = recorded.untimed_reason or recorded.unpooled_reason
        is_timed = bool(recorded.steady().image_s)
        unpaced = NOT_PACED if is_timed else "no finished session holds a paced pass"
        yield metric.missing(reason or unpaced if recorded.ok else "")
        return
    estimate = share_missed(late_s, STATED.at_least(recorded.confidence).interval)
    impossible = impossible_reason(recorded.steady().image_s, "image_s")
    every = f"a scene every {period_s:g} s"
    estimate = Estimate(reason=impossible, final=True) if impossible else estimate.with_notes(every)
    yield Reading(metric.key(), estimate, late_s)


def share_missed(late_s: Values, confidence: float) -> Estimate:
    """Share of paced passes that ended after their deadline, from lateness in s by session."""
    from edgebench.stats.compare import share_over_sessions
    from edgebench.stats.intervals import interval_reason
    from edgebench.stats.percentiles import misses

    by_session = tuple((misses(session), len(session)) for session in late_s)
    missed, passes = (sum(counts) for counts in zip(*by_session, strict=True))
    low, high = share_over_sessions(by_session, confidence) or (None, None)
    reason, shares = interval_reason(len(by_session)), tuple(k / n for k, n in by_session)
    estimate = Estimate(missed / passes, low, high, sessions=shares, n=passes, reason=reason)
    return estimate.with_notes(f"{missed} misses in {passes} passes")


def _missed_estimates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    stored, late_s = trial.estimate(metric.name), trial.values_of(metric.name)
    if stored.value is None or not late_s:
        return (stored,)
    estimate = share_missed(late_s, conditions.certainty.at_least(trial.confidence).interval)
    return (replace(estimate, notes=stored.notes),)


def _lateness(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    late_s = tuple(session for session in recorded.steady().lateness_s if session)
    if recorded.experiment.period_s is None or not late_s:
        yield metric.missing(NOT_PACED if recorded.ok else "")
    else:
        latest_s = max(max(session) for session in late_s)
        yield Reading(metric.key(), Estimate(latest_s, latest_s, n=sum(map(len, late_s))), late_s)


def _mass(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    target = recorded.shown_target
    if target is None or target.mass_g is None:
        yield metric.missing("the target's description gives no mass")
    else:
        yield Reading(metric.key(), _declared(recorded, metric, target.mass_g))


def _size(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    target = recorded.shown_target
    if target is None or target.size_mm is None:
        yield metric.missing("the target's description gives no size")
        return
    for stage, side in zip(SIDES, sorted(target.size_mm, reverse=True), strict=True):
        yield Reading(metric.key(stage=stage), _declared(recorded, metric, side))


def _declared(recorded: Recorded, metric: Metric, value: float) -> Estimate:
    target = recorded.shown_target
    source = target.declared_sources.get(metric.name, "") if target else ""
    notes = source, recorded.board_doubts.get(metric.name, "")
    return Estimate.exact(float(value), basis="declared").with_notes(*notes)


def _size_estimates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    """Sides of the body, the longest first."""
    return tuple(estimate for _, estimate in trial.estimates_of(metric.name))


def boot_estimate(boot: DeclaredBoot | None, doubt: str = "") -> Estimate:
    """Estimate of a declared boot time; `doubt` is why it may be another machine's.

    A maximum passes a limit that it does not exceed and fails none, since it may never be reached; a typical
    time above the limit fails it, and passes none.
    """
    if boot is None:
        return Estimate(reason="the target's description gives no boot time")
    if boot.kind == "maximum":
        reason = f"the {boot} may never be reached: it can pass this limit, never fail it"
        estimate = Estimate(boot.seconds, high=boot.seconds, basis="declared maximum", reason=reason)
    else:
        reason = f"the {boot} bounds no single boot: it can fail this limit, never pass it"
        estimate = Estimate(boot.seconds, boot.seconds, basis="declared typical", reason=reason)
    return replace(estimate, final=True).with_notes(str(boot), doubt)


def _boot(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    boot = recorded.shown_target.boot_s if recorded.shown_target else None
    yield Reading(metric.key(), boot_estimate(boot, recorded.board_doubts.get("boot_s", "")))


METRICS = (
    Metric(
        "failed_sessions",
        "Share of the sessions that failed: that crashed, hung, computed something else or lost their "
        "connection. Interrupted ones are not counted, neither as failed nor as sound.",
        SHARE_UNITS,
        source="sessions",
        statistics=("share",),
        read=_failed_sessions,
        estimates=_failed_estimates,
        label="Failed sessions",
        options=(Option(("--sessions", "N")),),
        tables=("start",),
        compared="counts",
        belongs_to="board",
        share_of="session",
    ),
    Metric(
        "memory_bytes",
        "Peak resident memory of the worker, mean over sessions.",
        BYTE_UNITS,
        source="session.json",
        statistics=("median", "max"),
        read=_memory_bytes.read,
        estimates=_memory_bytes.estimates,
        label="Peak memory",
        options=(Option(("--sessions", "N"), "on a device that tells its memory"),),
        tables=("trials", "start"),
    ),
    Metric(
        "artifact_bytes",
        "Size of the file that the runtime loads: of what was built on the board, where it builds.",
        BYTE_UNITS,
        source="experiment.json",
        statistics=("recorded",),
        read=_artifact,
        label="Model size",
        options=(Option(("--sessions", "N"), "the first session of a run records it"),),
        tables=("start",),
        compared="exact",
        belongs_to="board",
    ),
    Metric(
        "deadline_misses",
        "Share of the paced passes that were not done at the due time of the next.",
        SHARE_UNITS,
        source="passes.parquet",
        statistics=("share",),
        read=_deadline_misses,
        estimates=_missed_estimates,
        label="Missed deadlines",
        options=(Option(("--period", "S")),),
        tables=("latency",),
        heading="Missed deadlines, %",
        where_present=True,
        compared="",
        belongs_to="pass",
        share_of="paced pass",
    ),
    Metric(
        "lateness_s",
        "Greatest end of a paced pass against the moment at which the next had to start; below 0 where every "
        "pass was in time.",
        TIME_UNITS,
        source="passes.parquet",
        statistics=("max",),
        read=_lateness,
        label="Worst lateness",
        required=False,
        compared="",
        belongs_to="pass",
    ),
    Metric(
        "mass_g",
        "Declared mass.",
        MASS_UNITS,
        source=DECLARED_SOURCE,
        statistics=("declared",),
        read=_mass,
        label="Mass",
        options=(Option(("--board", "NAME")),),
        option_of="fit",
        compared="exact",
        belongs_to="board",
    ),
    Metric(
        "size_mm",
        "Declared outer dimensions.",
        LENGTH_UNITS,
        source=DECLARED_SOURCE,
        statistics=("declared",),
        read=_size,
        estimates=_size_estimates,
        label="Size",
        options=(Option(("--board", "NAME")),),
        option_of="fit",
        compared="",
        belongs_to="board",
    ),
    Metric(
        "boot_s",
        "Declared time from power on until a program can be started: a maximum, which it never exceeds, or "
        "what is typical.",
        TIME_UNITS,
        source=DECLARED_SOURCE,
        statistics=("declared",),
        read=_boot,
        label="Boot time",
        options=(Option(("--declared", "boot_s:SECONDS:maximum:SOURCE")),),
        option_of="fit",
        compared="",
        belongs_to="board",
    ),
)
