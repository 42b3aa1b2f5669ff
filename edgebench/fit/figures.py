"""The figure that a requirement asks for, from a trial's summary, as the metric's entry says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgebench.fit.declared_conditions import boot_figure, temperature_figure
from edgebench.fit.figure import STATED, Certainty, Figure, largest, over_sessions
from edgebench.fit.metric import Judge, Metric, Question, Sampled, Stated
from edgebench.fit.mission_limits import cycle_energy_figure, storage_figure
from edgebench.fit.power_limits import energy_figure, mean_figure, peak_figure
from edgebench.fit.published_figures import published_figure
from edgebench.fit.requirement import Requirement
from edgebench.fit.trial_summary import TrialSummary
from edgebench.fit.update_time import update_figure
from edgebench.stats.intervals import CONFIDENCE, interval_reason
from edgebench.stats.percentiles import percentile_over_sessions
from edgebench.stats.proportion import share_over_sessions, wilson

PERCENTILES: Mapping[str, float] = {"p90": 0.9, "p99": 0.99}


def figure_of(summary: TrialSummary, requirement: Requirement, certainty: Certainty = STATED) -> Figure:
    """The figure in its base unit, with its reason where it or a bound of it is missing."""
    metric, judged = requirement.metric, requirement.metric.judged
    if summary.published:
        return published_figure(summary, _question(requirement))
    board_wide = isinstance(judged, Stated) or metric.is_power or judged in _BOARD_WIDE
    if summary.unpooled and not board_wide:
        return Figure(reason=summary.unpooled)
    if isinstance(judged, Sampled | Stated):  # whatever the limit: it serves every profile
        known, about = summary.figures_of_values, (metric.name, requirement.statistic, certainty)
        if about not in known:
            known[about] = _of_trial(judged, summary, metric, requirement.statistic, certainty)
        figure: Figure = known[about]
        if metric.name == "image_s" and not summary.image_s_values:
            return _of_its_part(figure, summary, requirement, certainty)
        return figure
    question = _question(requirement)
    match judged:
        case str() as rule:
            return _RULES[rule](summary, question, certainty)
        case None:
            raise ValueError(f"{metric.name} has statistics and nothing that judges them")
        case judge:
            return judge(summary, question, certainty)


def _question(requirement: Requirement) -> Question:
    limit = requirement.limit
    return Question(
        requirement.quantity,
        requirement.statistic,
        math.inf if isinstance(limit, tuple) else limit * requirement.scale,
        requirement.averaging_s,
        requirement.uplink_bps,
        requirement.schedule,
    )


def _of_trial(
    judged: Sampled | Stated, summary: TrialSummary, metric: Metric, statistic: str, certainty: Certainty
) -> Figure:
    if isinstance(judged, Sampled):
        return _sampled(judged, summary, metric, statistic, certainty)
    return _stated(judged, metric.value(summary), summary.board_doubts.get(metric.name, ""))


def _sampled(
    sampled: Sampled, summary: TrialSummary, metric: Metric, statistic: str, certainty: Certainty
) -> Figure:
    values = sampled.values(summary)
    if not values:
        return Figure(reason=metric.missing(summary) or sampled.absent)
    if sampled.above_zero and (impossible := _impossible(values, metric.name)):
        return impossible
    if sampled.of == "sessions":
        return _of_values(values, "sessions", statistic, certainty)
    sure = replace(certainty, interval=max(certainty.interval, summary.interval_confidence))
    windows = sampled.of == "passes" and summary.has_windows
    of = "windows" if windows else sampled.of
    figure = _of_values(values, of, statistic, sure)
    lacks = summary.omission if metric.name == "image_s" else ""
    return replace(figure, note="; ".join(note for note in (figure.note, lacks, summary.reason) if note))


def _impossible(values: Sequence[Sequence[float]], quantity: str) -> Figure | None:
    """No figure where one of these cannot have been measured: nothing takes no time and no memory."""
    least = min((min(session) for session in values if session), default=math.inf)
    return Figure(reason=f"a session says {quantity} {least:g}: it is above 0") if least <= 0 else None


def _of_values(values: Sequence[Sequence[float]], of: str, statistic: str, certainty: Certainty) -> Figure:
    if statistic == "median":
        return over_sessions(values, certainty)
    if statistic == "max":
        return largest(values, of, certainty)
    percentile = percentile_over_sessions(values, PERCENTILES[statistic], certainty.bound)
    if percentile.value is None:
        return Figure(undecided=True, reason=percentile.reason)
    # Passes of one session share its luck: bounds from too few sessions would be too narrow.
    if few := interval_reason(len(values)):
        return Figure(percentile.value, reason=few)
    return Figure(percentile.value, percentile.low, percentile.high)


def _of_its_part(
    image: Figure, summary: TrialSummary, requirement: Requirement, certainty: Certainty
) -> Figure:
    """Of an image_s that was not timed: above the limit where infer_s, which is a part of it, is already."""
    inference = requirement.model_copy(update={"quantity": "infer_s"})
    part = figure_of(summary, inference, certainty)
    limit = requirement.limit
    if part.low is None or isinstance(limit, tuple) or part.low <= limit * requirement.scale:
        return image
    reason = f"; {image.reason}" if image.reason else ""
    return Figure(
        low=part.low,
        bound="above",
        what=f"infer_s {requirement.statistic}, which is a part of image_s and at least {part.low:.4g} s,",
        note=f"image_s itself is not known{reason}",
    )


def _stated(stated: Stated, value: float | tuple[float, ...] | None, doubt: str) -> Figure:
    if value is None:
        return Figure(reason=stated.absent)
    number = value if isinstance(value, tuple) else float(value)
    return Figure(number, exact=True, what=stated.what, note=doubt if stated.doubted else "")


def _accuracy(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    accuracy = summary.accuracy
    if accuracy is None:
        return Figure(reason=summary.accuracy_reason or "accuracy was not taken")
    notes = ["overlapping crops make it a little too narrow"] if accuracy.overlapping else []
    notes += [f"assumed of the input: {assumption}" for assumption in summary.assumed]
    return Figure(
        accuracy.k / accuracy.n,
        accuracy.low,
        accuracy.high,
        what=f"the whole Wilson interval of {accuracy.k} of {accuracy.n}",
        note="; ".join(notes),
        lasting=True,  # taken once a trial
    )


def _accuracy_drop(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    drop = summary.accuracy_drop
    if drop is None:
        return Figure(reason=summary.accuracy_drop_reason or "there is no fp32 variant to compare with")
    if summary.precision == "fp32":
        return Figure(0.0, 0.0, 0.0, what="this is the fp32 variant, which", lasting=True)
    overlapping = summary.accuracy is not None and summary.accuracy.overlapping
    only = f"{drop.only_fp32_right} right with fp32 alone and {drop.only_this_right} with this alone"
    return Figure(
        drop.points,
        drop.low,
        drop.high,
        what=f"the whole paired interval of {drop.n} images ({only})",
        note="overlapping crops make it a little too narrow" if overlapping else "",
        lasting=True,  # taken once a trial
    )


def _failures(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    failed = summary.failed_sessions
    if failed is None:
        return Figure(reason="no session has come to an end by itself")
    low, high = wilson(failed.k, failed.n, max(certainty.interval, CONFIDENCE))
    return Figure(
        failed.k / failed.n,
        low,
        high,
        what=f"the whole Wilson interval of {failed.k} failed of {failed.n} sessions",
    )


def _deadline_misses(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    paced = summary.paced
    if paced is None or not paced.passes:
        timed = bool(summary.image_s_values)
        why = "the passes were not paced (--period)" if timed else "no finished session holds a paced pass"
        return Figure(reason=summary.untimed_reason or why)
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


def _power_peak(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    return peak_figure(summary, question.limit, question.averaging_s, certainty)


def _power_mean(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    return mean_figure(summary, question.limit, question.averaging_s, certainty)


def _energy(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    return energy_figure(summary, question.limit, certainty)


_BOARD_WIDE = ("failures", "boot", "temperature", "update")
"""What is said of a board whose several workers have each their own figures."""

_RULES: Mapping[str, Judge] = {
    "accuracy": _accuracy,
    "boot": boot_figure,
    "temperature": temperature_figure,
    "update": update_figure,
    "cycle energy": cycle_energy_figure,
    "storage": storage_figure,
    "accuracy drop": _accuracy_drop,
    "failures": _failures,
    "deadlines": _deadline_misses,
    "peak power": _power_peak,
    "mean power": _power_mean,
    "energy": _energy,
}
