"""Failures, memory, model size and deadlines of sessions; declared mass, size and boot time of a board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgebench.judge.metric import (
    BYTE_UNITS,
    DECLARED_SOURCE,
    SHARE_UNITS,
    TIME_UNITS,
    Metric,
    Option,
    Reading,
    Sampled,
    impossible_reason,
    once_per_session,
)
from edgebench.judge.trial import STATED, Conditions, Estimate, Trial, Values

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded
    from edgebench.records.target import DeclaredBoot, DeclaredPower

NOT_PACED = "the passes were not paced (--period)"


def _failed_sessions(recorded: Recorded, worker: int | None) -> Estimate:
    ended = [record for record in recorded.sessions if record.status != "interrupted"]
    if not ended:
        return Estimate(reason="no session has ended by itself")
    return _share_failed(sum(record.status != "ok" for record in ended), len(ended), STATED.interval)


def _share_failed(failed: int, sessions: int, confidence: float) -> Estimate:
    from edgebench.stats.compare import wilson

    low, high = wilson(failed, sessions, confidence)
    note = f"{failed} failed of {sessions} sessions"
    return Estimate(failed / sessions, low, high, n=sessions).with_notes(note)


def _failed_estimates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    stored, confidence = trial.estimate(metric.name), conditions.certainty.interval
    if stored.value is None or confidence <= STATED.interval:
        return (stored,)
    return (_share_failed(round(stored.value * stored.n), stored.n, confidence),)


def _memory(recorded: Recorded, worker: int | None) -> Values:
    if worker is None:
        peaks = (record.memory.get("peak_bytes") for record in recorded.ok)
        return once_per_session(int(peak) for peak in peaks if peak is not None)
    return once_per_session(recorded.worker_numbers(worker, "memory", "peak_bytes"))


def _artifact(recorded: Recorded, worker: int | None) -> Estimate:
    built = next((record.built for record in recorded.ok if record.built), None)
    size = built.bytes if built else recorded.trial.artifact_bytes
    if size is None:
        return Estimate(reason="the artifact's size was not recorded" if recorded.ok else "")
    return Estimate.exact(float(size))


def _late_s(recorded: Recorded) -> Values:
    is_paced = recorded.experiment.period_s is not None
    return tuple(session for session in recorded.steady().lateness_s if session and is_paced)


def _deadline_misses(recorded: Recorded, worker: int | None) -> Iterable[Reading]:
    late_s, image_s = _late_s(recorded), recorded.steady().image_s
    if not late_s:
        unpaced = NOT_PACED if image_s else "no finished session holds a paced pass"
        reason = recorded.untimed_reason or recorded.unpooled_reason or unpaced
        return [Reading(Estimate(reason=reason if recorded.ok else ""))]
    if impossible := impossible_reason(image_s, "image_s"):
        return [Reading(Estimate(reason=impossible, final=True), late_s)]
    estimate = share_missed(late_s, STATED.at_least(recorded.confidence).interval)
    return [Reading(estimate.with_notes(f"a scene every {recorded.experiment.period_s:g} s"), late_s)]


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


def _lateness(recorded: Recorded, worker: int | None) -> Iterable[Reading]:
    late_s = _late_s(recorded)
    if not late_s:
        return [Reading(Estimate(reason=NOT_PACED if recorded.ok else ""))]
    latest_s = max(map(max, late_s))
    return [Reading(Estimate(latest_s, latest_s, n=sum(map(len, late_s))), late_s)]


def declared_estimate(
    declared: DeclaredBoot | DeclaredPower, value: float, typical: str, doubt: str
) -> Estimate:
    """Estimate of a declared boot time or power.

    A maximum passes a limit that it does not exceed and fails none, since it may never be reached; a typical
    number above the limit fails it, and passes none.

    Args:
        declared: boot time or power.
        value: number of it.
        typical: reason why a typical one passes no limit.
        doubt: cause why it may be another machine's; empty without one.
    """
    if declared.kind == "maximum":
        reason = f"the {declared} may never be reached: it can pass this limit, never fail it"
        estimate = Estimate(value, high=value, basis="declared maximum", reason=reason, final=True)
    else:
        reason = f"the {declared} {typical}: it can fail this limit, never pass it"
        estimate = Estimate(value, value, basis="declared typical", reason=reason, final=True)
    return estimate.with_notes(str(declared), doubt)


def boot_estimate(boot: DeclaredBoot | None, doubt: str = "") -> Estimate:
    """Estimate of a declared boot time; `doubt` is why it may be another machine's."""
    if boot is None:
        return Estimate(reason="the target's description gives no boot time")
    return declared_estimate(boot, boot.seconds, "bounds no single boot", doubt)


def _boot(recorded: Recorded, worker: int | None) -> Estimate:
    boot = recorded.shown_target.boot_s if recorded.shown_target else None
    return boot_estimate(boot, recorded.board_doubts.get("boot_s", ""))


def _declared(recorded: Recorded, name: str, noun: str) -> Iterable[Reading]:
    """Declared mass, or the sides of the declared size, the longest first."""
    numbers = getattr(recorded.shown_target, name, None)
    if recorded.shown_target is None or numbers is None:
        return [Reading(Estimate(reason=f"the target's description gives no {noun}"))]
    notes = recorded.shown_target.declared_sources.get(name, ""), recorded.board_doubts.get(name, "")
    stages = ("longest", "middle", "shortest") if isinstance(numbers, tuple) else ("",)
    sides = sorted(numbers, reverse=True) if isinstance(numbers, tuple) else (numbers,)
    estimates = (Estimate.exact(float(side), basis="declared").with_notes(*notes) for side in sides)
    return [Reading(estimate, stage=stage) for stage, estimate in zip(stages, estimates, strict=True)]


def _declared_metric(name: str, sentence: str, units: Mapping[str, float], **fields: Any) -> Metric:
    """Metric of a number that the target's description declares."""
    common: dict[str, Any] = {
        "options": (Option(("--board", "NAME")),),
        "option_of": "fit",
        "compared": "",
        "belongs_to": "board",
    }
    return Metric(name, sentence, units, DECLARED_SOURCE, ("declared",), **common | fields)


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
        read=Sampled(
            "sessions", _memory, lambda recorded: "no finished session says how much memory it took"
        ),
        by_worker=True,
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
        compared="",
        belongs_to="pass",
    ),
    _declared_metric(
        "mass_g",
        "Declared mass.",
        {"g": 1.0, "kg": 1e3},
        read=lambda recorded, worker: _declared(recorded, "mass_g", "mass"),
        compared="exact",
    ),
    _declared_metric(
        "size_mm",
        "Declared outer dimensions.",
        {"mm": 1.0, "cm": 10.0},
        read=lambda recorded, worker: _declared(recorded, "size_mm", "size"),
    ),
    _declared_metric(
        "boot_s",
        "Declared time from power on until a program can be started: a maximum, which it never exceeds, or "
        "what is typical.",
        TIME_UNITS,
        read=_boot,
        label="Boot time",
        options=(Option(("--declared", "boot_s:SECONDS:maximum:SOURCE")),),
    ),
)
