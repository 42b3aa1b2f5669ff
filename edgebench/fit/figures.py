"""The figure that a requirement asks for, looked up in a trial's summary."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from edgebench.fit.figure import STATED, Certainty, Figure, largest, over_sessions
from edgebench.fit.power_limits import energy_figure, mean_figure, peak_figure
from edgebench.fit.quantities import PERCENTILES
from edgebench.fit.requirement import Requirement
from edgebench.fit.trial_summary import TrialSummary
from edgebench.stats.intervals import interval_reason
from edgebench.stats.percentiles import percentile_over_sessions
from edgebench.stats.proportion import share_over_sessions


def figure_of(summary: TrialSummary, requirement: Requirement, certainty: Certainty = STATED) -> Figure:
    """The figure in its base unit, with its reason where it or a bound of it is missing."""
    return _FIGURES[requirement.quantity](summary, requirement, certainty)


def _latency(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    values = summary.image_s_values if requirement.quantity == "image_s" else summary.infer_s_values
    if not values:
        what = "steady pass" if requirement.quantity == "image_s" else "time of a stage called infer"
        return Figure(reason=f"no finished session holds a {what}")
    if impossible := _impossible(values, requirement.quantity):
        return impossible
    sure = replace(certainty, interval=max(certainty.interval, summary.interval_confidence))
    figure = _of_passes(values, requirement.statistic, sure)
    return replace(figure, note="; ".join(note for note in (figure.note, summary.reason) if note))


def _impossible(values: Sequence[Sequence[float]], quantity: str) -> Figure | None:
    """No figure where one of these cannot have been measured: nothing takes no time and no memory."""
    least = min((value for session in values for value in session), default=math.inf)
    return Figure(reason=f"a session says {quantity} {least:g}: it is above 0") if least <= 0 else None


def _of_passes(values: Sequence[Sequence[float]], statistic: str, certainty: Certainty) -> Figure:
    if statistic == "median":
        return over_sessions(values, certainty)
    if statistic == "max":
        return largest(values, "passes", certainty)
    found = percentile_over_sessions(values, PERCENTILES[statistic], certainty.bound)
    if found.value is None:
        return Figure(undecided=True, reason=found.reason)
    # Passes of one session share its luck: bounds from too few sessions would be too narrow.
    if few := interval_reason(len(values)):
        return Figure(found.value, reason=few)
    return Figure(found.value, found.low, found.high)


def _by_session(values: Sequence[float], requirement: Requirement, what: str, certainty: Certainty) -> Figure:
    if not values:
        return Figure(reason=f"no finished session says {what}")
    by_session = [[value] for value in values]
    if impossible := _impossible(by_session, requirement.quantity):
        return impossible
    return (
        largest(by_session, "sessions", certainty)
        if requirement.statistic == "max"
        else over_sessions(by_session, certainty)
    )


def _load(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    return _by_session(summary.load_s_values, requirement, "how long loading took", certainty)


def _memory(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    values = [float(value) for value in summary.memory_bytes_values]
    return _by_session(values, requirement, "how much memory it took", certainty)


def _accuracy(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    found = summary.accuracy
    if found is None:
        return Figure(reason=summary.accuracy_reason or "accuracy was not taken")
    notes = ["overlapping crops make it a little too narrow"] if found.overlapping else []
    notes += [f"assumed of the input: {assumption}" for assumption in summary.assumed]
    return Figure(
        found.k / found.n,
        found.low,
        found.high,
        what=f"the whole Wilson interval of {found.k} of {found.n}",
        note="; ".join(notes),
        lasting=True,  # taken once a trial
    )


def _deadline_misses(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    paced = summary.paced
    if paced is None or not paced.passes:
        timed = bool(summary.image_s_values)
        why = "the passes were not paced (--period)" if timed else "no finished session holds a paced pass"
        return Figure(reason=why)
    if impossible := _impossible(summary.image_s_values, "image_s"):
        return impossible  # the passes that were late or in time
    confidence = max(certainty.interval, summary.interval_confidence)
    bounds = share_over_sessions(paced.by_session, confidence)
    low, high = bounds or (None, None)
    return Figure(
        paced.misses / paced.passes,
        low,
        high,
        reason=interval_reason(len(paced.by_session)),
        what=f"the whole 95 % interval of {paced.misses} misses in {paced.passes} passes",
        note=f"a scene every {paced.period_s:g} s",
    )


def _limit(requirement: Requirement) -> float:
    """The limit in the base unit; of a body, which has three, nothing."""
    return float("inf") if isinstance(requirement.limit, tuple) else requirement.limit * requirement.scale


def _power_peak(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    return peak_figure(summary, _limit(requirement), requirement.averaging_s, certainty)


def _power_mean(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    return mean_figure(summary, _limit(requirement), requirement.averaging_s, certainty)


def _energy(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    return energy_figure(summary, _limit(requirement), certainty)


def _artifact(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    if summary.artifact_bytes is None:
        return Figure(reason="the artifact's size was not recorded")
    return Figure(float(summary.artifact_bytes), exact=True, what="the artifact's size")


def _mass(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    if summary.mass_g is None:
        return Figure(reason="the target's description gives no mass")
    doubt = summary.board_doubts.get("mass_g", "")
    return Figure(summary.mass_g, exact=True, what="the declared mass", note=doubt)


def _size(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    if summary.size_mm is None:
        return Figure(reason="the target's description gives no size")
    doubt = summary.board_doubts.get("size_mm", "")
    return Figure(summary.size_mm, exact=True, what="the declared size, turned to fit,", note=doubt)


_FIGURES: Mapping[str, Callable[[TrialSummary, Requirement, Certainty], Figure]] = {
    "image_s": _latency,
    "infer_s": _latency,
    "load_s": _load,
    "memory_bytes": _memory,
    "accuracy": _accuracy,
    "deadline_misses": _deadline_misses,
    "power_peak_w": _power_peak,
    "power_mean_w": _power_mean,
    "energy_j": _energy,
    "artifact_bytes": _artifact,
    "mass_g": _mass,
    "size_mm": _size,
}
