"""Requirement by requirement: pass, fail, inconclusive or unknown, with the margin and the reason.

A verdict comes from an interval: pass when all of it meets the limit, fail when all of it misses it,
inconclusive when the limit lies inside or there is no interval, unknown when there is no figure. A bound is
an interval with one end, which is open where it leaves its own number out (above 5 W).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from edgebench.errors import EXIT_NOT_MET, EXIT_OK, EXIT_TRIALS_FAILED, EXIT_UNDECIDED
from edgebench.judge.figure import STATED, Certainty, Figure, largest, over_percentile, over_sessions
from edgebench.judge.metric import Judge, Metric, Sampled, Stated
from edgebench.judge.metrics import METRICS, NO_BOOT
from edgebench.judge.mission import cycle_energy_figure, kept_up_figure, played_figure
from edgebench.judge.power_limits import energy_figure, mean_figure, peak_figure
from edgebench.judge.profile import Profile
from edgebench.judge.requirement import Requirement
from edgebench.judge.trial_summary import EMULATED, TrialSummary, Verdict
from edgebench.stats.compare import share_over_sessions, wilson
from edgebench.stats.intervals import CONFIDENCE, interval_reason

# What was declared of a target's boot, as it is judged against a limit.
#
# Nothing here measures it. A boot time that is declared as a maximum passes a limit that it does not
# exceed,
# and fails none, since it may never be reached; a typical one above the limit fails it, and passes none.


def boot_figure(summary: TrialSummary, asked: Requirement, certainty: Certainty) -> Figure:
    """The declared boot time, in s."""
    boot = summary.boot_s
    if boot is None:
        return Figure(reason=NO_BOOT)
    is_maximum = boot.kind == "maximum"
    return Figure(
        boot.seconds,
        low=None if is_maximum else boot.seconds,
        high=boot.seconds if is_maximum else None,
        reason=f"the {boot} may never be reached: it can pass this limit, never fail it"
        if is_maximum
        else f"the {boot} bounds no single boot: it can fail this limit, never pass it",
        what=f"the {boot}",
        note=summary.board_doubts.get("boot_s", ""),
        declared=boot.kind,
        lasting=True,
    )


# How long a new artifact takes to reach the device, over the link that a profile states.


BITS = 8


def update_figure(summary: TrialSummary, asked: Requirement, certainty: Certainty) -> Figure:
    """The artifact's bytes over the profile's uplink, in s, without whatever a protocol adds.

    A bound from below where files travel with it whose sizes are not recorded.
    """
    if asked.uplink_bps is None:
        return Figure(reason="the profile states no uplink: add uplink_bps, such as '9.6 kbit/s'")
    if summary.update_bytes is None:
        return Figure(reason="the artifact's size was not recorded")
    seconds = BITS * summary.update_bytes / asked.uplink_bps
    what = f"the artifact's {summary.update_bytes} bytes over {asked.uplink_bps:g} bit/s"
    if summary.update_companions:
        others = ", ".join(summary.update_companions)
        reason = f"with it travel files whose sizes were not recorded: {others}"
        return Figure(seconds, low=seconds, reason=reason, what=what, lasting=True)
    return Figure(seconds, exact=True, what=what)


# What published figures can say about a limit.
#
# | published | verdict |
# | --- | --- |
# | k of n | as of a measured share, by its Wilson interval |
# | a bound in words, such as "exceeds 5 W peak" | pass or fail where all of it meets or misses the limit |
# | a bound that leaves the limit open | inconclusive |
# | a number without an interval | inconclusive: how far it is off was not published |
# | infer_s above a limit of image_s, of which no number was published | fail: image_s is never shorter |
# | a picture, another statistic, nothing | unknown |
#
# A source that speaks of peak power without saying over what it is averaged is judged as it stands, with a
# note. Sources are not added up: infer_s below a limit of image_s leaves that open. Mass and size are those
# of
# the trial's boards.


def published_figure(summary: TrialSummary, asked: Requirement) -> Figure:
    """The figure that a requirement asks of a published trial, with its source; in its base unit."""
    known = {figure.quantity: figure for figure in summary.published}
    figure = known.get(asked.quantity)
    part = known.get("infer_s") if asked.quantity == "image_s" else None
    if part and not (figure and (figure.value or figure.bound)):
        least_s = part.low if part.value is None else part.value
        if least_s is not None and least_s > asked.base_limit:
            what = f"the published infer_s, which is a part of image_s and at least {least_s:.4g} s,"
            return Figure(low=least_s, bound="at least", what=what, note=part.quote)
    if figure is None:
        return Figure(reason=summary.unpublished(asked.quantity))
    if asked.statistic != figure.statistic:
        published = f"published is the {figure.statistic} of {figure.quantity}"
        return Figure(reason=f"{published}, and not its {asked.statistic}: {figure.quote}")
    if figure.value is None and not figure.bound:
        return Figure(reason=f"published as a picture, of which no number is read: {figure.quote}")
    notes = [f"it covers {figure.covers}"] if figure.covers else []
    if asked.averaging_s is not None:
        notes.append("over what time it is averaged was not published")
    unit = METRICS[figure.quantity].unit
    unit = "" if unit == "1" else f" {unit}"
    sourced = "; ".join([figure.quote, *notes])
    if not figure.bound and figure.k is None:
        scaled = f" (the published number times {figure.scaled:g})" if figure.scaled > 1 else ""
        reason = f"{figure.value:.4g}{unit}{scaled} was published without an interval: {sourced}"
        return Figure(figure.value, reason=reason)
    what = f"the whole Wilson interval of the published {figure.k} of {figure.n}"
    reason = f"the limit lies inside the Wilson interval of {figure.k} of {figure.n}; {sourced}"
    if figure.bound:
        end = figure.high if figure.low is None else figure.low
        what = f"the published bound, {figure.bound} {end:g}{unit},"
        reason = f"what was published leaves it open: {sourced}"
    return Figure(
        figure.value, figure.low, figure.high, bound=figure.bound, reason=reason, what=what, note=sourced
    )


# The figure that a requirement asks for, from a trial's summary, as the metric's entry says.


def figure_of(summary: TrialSummary, requirement: Requirement, certainty: Certainty = STATED) -> Figure:
    """The figure in its base unit, with its reason where it or a bound of it is missing.

    What follows from stamps that are too short is a lower bound alone: it fails a limit and passes none.
    """
    figure = _figure_of(summary, requirement, certainty)
    if not summary.stamp_doubt or not requirement.metric.of_stamps or figure.value is None:
        return figure
    reason = "; ".join(part for part in (summary.stamp_doubt, figure.reason) if part)
    return replace(figure, high=None, reason=reason, lasting=True)


def _figure_of(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    metric = requirement.metric
    judged = metric.judged
    is_stated = isinstance(judged, Stated)
    if summary.published and not (is_stated and metric.value(summary) is not None):
        return published_figure(summary, requirement)
    if summary.other_machine and metric.of_machine:
        return Figure(reason=summary.other_machine)
    if summary.unpooled and not (is_stated or metric.is_power or judged in _BOARD_WIDE):
        return Figure(reason=summary.unpooled)
    if isinstance(judged, str):
        return _RULES[judged](summary, requirement, certainty)
    assert judged is not None, f"{metric.name} has statistics and nothing that judges them"
    if callable(judged):
        return judged(summary, requirement, certainty)
    # Whatever the limit: it serves every profile.
    figure = summary.once(
        (metric.name, requirement.statistic, certainty),
        lambda: (
            _sampled(judged, summary, metric, requirement.statistic, certainty)
            if isinstance(judged, Sampled)
            else _stated(judged, summary, metric)
        ),
    )
    if metric.name == "image_s" and not summary.image_s_values:
        return _of_its_part(figure, summary, requirement, certainty)
    return figure


def _sampled(
    sampled: Sampled, summary: TrialSummary, metric: Metric, statistic: str, certainty: Certainty
) -> Figure:
    values = sampled.values(summary)
    if not values:
        return Figure(reason=metric.missing(summary) or sampled.absent)
    if impossible := _impossible(values, metric.name):
        return impossible
    if sampled.of == "sessions":
        return _of_values(values, "sessions", statistic, certainty)
    sure = certainty.at_least(summary.interval_confidence)
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
    return over_percentile(values, statistic, certainty)


def _of_its_part(
    image: Figure, summary: TrialSummary, requirement: Requirement, certainty: Certainty
) -> Figure:
    """Of an image_s that was not timed: above the limit where infer_s, which is a part of it, is already."""
    inference = requirement.model_copy(update={"quantity": "infer_s"})
    part = figure_of(summary, inference, certainty)
    if part.low is None or part.low <= requirement.base_limit:
        return image
    reason = f"; {image.reason}" if image.reason else ""
    return Figure(
        low=part.low,
        bound="above",
        what=f"infer_s {requirement.statistic}, which is a part of image_s and at least {part.low:.4g} s,",
        note=f"image_s itself is not known{reason}",
    )


def _stated(stated: Stated, summary: TrialSummary, metric: Metric) -> Figure:
    if (value := metric.value(summary)) is None:
        return Figure(reason=stated.absent)
    note = summary.board_doubts.get(metric.name, "") if stated.doubted else ""
    return Figure(
        value if isinstance(value, tuple) else float(value), exact=True, what=stated.what, note=note
    )


def _accuracy(summary: TrialSummary, asked: Requirement, certainty: Certainty) -> Figure:
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


def _accuracy_drop(summary: TrialSummary, asked: Requirement, certainty: Certainty) -> Figure:
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


def _failures(summary: TrialSummary, asked: Requirement, certainty: Certainty) -> Figure:
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


def _deadline_misses(summary: TrialSummary, asked: Requirement, certainty: Certainty) -> Figure:
    paced = summary.paced
    if paced is None or not paced.passes:
        timed = bool(summary.image_s_values)
        why = "the passes were not paced (--period)" if timed else "no finished session holds a paced pass"
        return Figure(reason=summary.untimed_reason or why)
    if impossible := _impossible(summary.image_s_values, "image_s"):
        return impossible  # the passes that were late or in time
    sure = certainty.at_least(summary.interval_confidence)
    low, high = share_over_sessions(paced.by_session, sure.interval) or (None, None)
    return Figure(
        paced.misses / paced.passes,
        low,
        high,
        reason=interval_reason(len(paced.by_session)),
        what=f"the whole 95 % interval of {paced.misses} misses in {paced.passes} passes",
        note=f"a scene every {paced.period_s:g} s",
    )


_BOARD_WIDE = ("failures", "boot", "update")
"""What is said of a board whose several workers have each their own figures."""

_RULES: Mapping[str, Judge] = {
    "accuracy": _accuracy,
    "boot": boot_figure,
    "update": update_figure,
    "cycle energy": cycle_energy_figure,
    "load": kept_up_figure,
    "mission": played_figure,
    "accuracy drop": _accuracy_drop,
    "failures": _failures,
    "deadlines": _deadline_misses,
    "peak power": lambda trial, asked, sure: peak_figure(trial, asked.base_limit, asked.averaging_s, sure),
    "mean power": lambda trial, asked, sure: mean_figure(trial, asked.base_limit, asked.averaging_s, sure),
    "energy": lambda trial, asked, sure: energy_figure(trial, asked.base_limit, sure),
}


Word = Literal["pass", "fail", "inconclusive", "unknown"]
WORDS: tuple[Word, ...] = ("fail", "unknown", "inconclusive", "pass")
"""The first of these that any requirement got is the whole profile's."""


@dataclass(frozen=True)
class Overall:
    """One trial against one profile as a whole."""

    trial: str
    profile: str
    verdict: Word
    verdicts: tuple[Verdict, ...]


def judge(summary: TrialSummary, profile: Profile) -> list[Verdict]:
    """One verdict a requirement, in the profile's order; one on its schedule where that is not kept for sure.

    Where the load is not known, or no interval of it reaches above 1, the other requirements decide.
    """
    return _judged(summary, profile, profile.implied)


def _judged(summary: TrialSummary, profile: Profile, implied: Requirement | None) -> list[Verdict]:
    verdicts = [judge_one(summary, profile.name, requirement) for requirement in profile.requirements]
    if implied is None:
        return verdicts
    kept = judge_one(summary, profile.name, implied)
    is_doubted = any(isinstance(end, float) and end > 1 for end in (kept.value, kept.low, kept.high))
    return [*verdicts, kept] if is_doubted else verdicts


def judge_all(summaries: Sequence[TrialSummary], profiles: Sequence[Profile]) -> list[Verdict]:
    """Every trial against every profile: by trial, then profile, then requirement."""
    asked = [(profile, profile.implied) for profile in profiles]
    return [
        verdict
        for summary in summaries
        for profile, implied in asked
        for verdict in _judged(summary, profile, implied)
    ]


def overall(verdicts: Sequence[Verdict]) -> list[Overall]:
    """The verdicts of each trial against each profile as one word, in the order given.

    fail if any requirement fails, else unknown if any is, else inconclusive if any is, else pass; what is
    wanted alone does not count.
    """
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.trial, verdict.profile), []).append(verdict)
    return [
        Overall(
            trial,
            profile,
            next((word for word in WORDS if word in _words(group)), "pass"),
            tuple(group),
        )
        for (trial, profile), group in groups.items()
    ]


def _words(verdicts: Sequence[Verdict]) -> set[Word]:
    """What was given, without what is wanted alone."""
    return {verdict.verdict for verdict in verdicts if not verdict.wanted}


def exit_code(verdicts: Sequence[Verdict], summaries: Sequence[TrialSummary], strict: bool) -> int:
    """The exit code that a judged experiment deserves: 5 before 3 before 4 before 0.

    5: a trial failed, or lacks sessions because some failed, or is of a variant that was asked for by name
    and that the device does not take; what the others came to stands, but the comparison that was asked
    for is not all there. 3: a requirement is not met. 4, only under `strict`: one is inconclusive or
    unknown. What is wanted alone does not count. A variant that nobody named and that the device does not
    take is no failure.
    """
    lacking = (
        summary.requested
        if summary.status == "unsupported"
        else summary.status == "failed" or (summary.status == "partial" and summary.failures)
        for summary in summaries
    )
    if any(lacking):
        return EXIT_TRIALS_FAILED
    words = _words(verdicts)
    if "fail" in words:
        return EXIT_NOT_MET
    if strict and words & {"inconclusive", "unknown"}:
        return EXIT_UNDECIDED
    return EXIT_OK


def is_settled(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> bool:
    """Whether further sessions of the same kind leave a verdict as it is, as surely as `certainty` says.

    Settled is a pass and a fail; what is unknown, because no session brings what is missing; and what is
    inconclusive for a reason that stays, such as a meter that sees part of the board, unless that meter
    may yet fail the limit. What declared power decides is settled where no meter can. What was published
    settles nothing: a session may show otherwise.
    """
    if summary.published:
        return False
    figure = figure_of(summary, requirement, certainty).in_unit(requirement.scale)
    if figure.declared:
        return figure.lasting
    if _word(figure, requirement, _margin(figure, requirement)) != "inconclusive" or figure.lasting:
        return True
    limit = math.inf if isinstance(requirement.limit, tuple) else requirement.limit
    return figure.ceiling is not None and figure.ceiling <= limit


def judge_one(summary: TrialSummary, profile: str, requirement: Requirement) -> Verdict:
    """One trial against one requirement of the profile of that name."""
    figure = _unmeasured(summary, requirement) or figure_of(summary, requirement).in_unit(requirement.scale)
    margin = _margin(figure, requirement)
    word = _word(figure, requirement, margin)
    return Verdict(
        trial=summary.key,
        profile=profile,
        requirement=requirement.name,
        quantity=requirement.quantity,
        statistic=requirement.statistic,
        limit=requirement.limit,
        unit=requirement.unit,
        value=figure.value,
        low=figure.low,
        high=figure.high,
        verdict=word,
        margin=margin,
        reason=_reason(word, figure, requirement),
        averaging_s=requirement.averaging_s,
        scope=figure.scope,
        declared=figure.declared,
        wanted=requirement.wanted,
        bound=figure.bound,
    )


_UNMEASURED = {
    "failed": "the trial failed",
    "unsupported": "the target does not support it",
    "not_run": "it was not measured",
}


def _unmeasured(summary: TrialSummary, requirement: Requirement) -> Figure | None:
    """Nothing can be said of a trial without a finished session, not even of its declared mass; but that its
    sessions failed.

    Nor of one that was emulated: no requirement is about an emulator.
    """
    if summary.emulated:
        return Figure(reason=EMULATED)
    why = _UNMEASURED.get(summary.status)
    if why is None or (requirement.metric.judged == "failures" and summary.failed_sessions):
        return None
    return Figure(reason=f"{why}: {summary.reason}" if summary.reason else why)


def _word(figure: Figure, requirement: Requirement, margin: float | None) -> Word:
    if figure.value is None and not figure.bound:
        return "inconclusive" if figure.undecided else "unknown"
    limit = requirement.limit
    if figure.exact or isinstance(limit, tuple):
        return "pass" if margin is not None and margin >= 0 else "fail"
    best, worst = (figure.high, figure.low) if requirement.at_least else (figure.low, figure.high)
    # An open bound leaves its own number out: what lies above 5 W misses a limit of 5 W.
    if best is not None and best == limit and figure.bound == ("below" if requirement.at_least else "above"):
        return "fail"
    misses = best is not None and (best < limit if requirement.at_least else best > limit)
    meets = worst is not None and (worst >= limit if requirement.at_least else worst <= limit)
    return "fail" if misses else "pass" if meets else "inconclusive"


def _margin(figure: Figure, requirement: Requirement) -> float | None:
    """What is left to the limit, negative where it is missed; of a body, the least over its sides.

    A body may be turned: its longest side is held against the longest that is allowed.
    """
    value, limit = figure.value, requirement.limit
    if value is None:
        return None
    if isinstance(value, tuple) and isinstance(limit, tuple):
        return min(allowed - side for allowed, side in zip(sorted(limit), sorted(value), strict=True))
    if isinstance(value, tuple) or isinstance(limit, tuple):
        return None
    return value - limit if requirement.at_least else limit - value


def _reason(word: Word, figure: Figure, requirement: Requirement) -> str:
    if word == "unknown" or (word == "inconclusive" and figure.reason):
        return figure.reason
    note = f"; {figure.note}" if figure.note else ""
    if word == "inconclusive":
        return f"the limit lies inside the 95 % interval{note}"
    verb = "meets" if word == "pass" else "misses"
    return f"{figure.what} {verb} the limit{note}"
