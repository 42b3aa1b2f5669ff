"""When a trial has been measured enough: its interval is narrow enough, or its verdicts are settled.

Looking after every session spends error, so a verdict is settled at the confidence that an alpha-spending
rule leaves to that look (edgebench.stats.intervals), which is above the 95 % that reports show: what is
settled is a pass or a fail there, too. Where sessions scatter normally, each verdict is wrong in at most
0.5 % of trials.

Few sessions do not show how they scatter: all of them may be in one of two modes. Before SHAPE_SESSIONS no
trial ends by the width of its interval, and a verdict is settled only with a margin above EARLY_MARGIN.

Sessions that end their own measuring do so where they happen to be close together, or far from a limit: at
95 % their interval would cover less than it claims, so that it is taken at STOPPING_CONFIDENCE, to end by its
width and to show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgebench.judge.figure import Certainty
from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import Ended, EndedBy, TrialSummary
from edgebench.judge.verdict import is_settled
from edgebench.records.stored import ExperimentRecord, RunRecord, SessionRecord, SessionStatus, TrialStatus
from edgebench.results.listing import ended_by_rule, is_done, is_given_up
from edgebench.stats.intervals import (
    CONFIDENCE,
    EARLY_MARGIN,
    MIN_SESSIONS,
    SHAPE_SESSIONS,
    SPENDING_NAME,
    STOPPING_CONFIDENCE,
    look_confidence,
)
from edgebench.texts import duration_text, share_text


@dataclass(frozen=True)
class Rule:
    """What ends the trials of an experiment before they have all their sessions; either part suffices.

    Attributes:
        target_ci: half-width of the latency's interval (see Interval.half_width); None where not asked for.
        profiles: whose verdicts are to be settled; None where that is not asked for.
        least: sessions before which nothing ends a trial, at least MIN_SESSIONS.
        most: sessions at which every trial ends.
    """

    target_ci: float | None
    profiles: tuple[Profile, ...] | None
    least: int
    most: int

    @property
    def confidence(self) -> float:
        """That of the intervals of image_s and infer_s: wider where their own sessions end the trial."""
        return STOPPING_CONFIDENCE if self.asked else CONFIDENCE

    @property
    def asked(self) -> bool:
        """Whether anything but the number of sessions ends a trial."""
        return self.target_ci is not None or self.profiles is not None


@dataclass(frozen=True)
class Standing:
    """How far a trial is from what its rule asks.

    Attributes:
        half_width: of the latency's interval (see Interval.half_width); None where it is missing.
        narrow: whether that is what was asked for, of enough sessions.
        unsettled: the requirements whose verdict is open, as `profile: name`.
        decided: whether there was something to settle, and nothing is open.
        quantity: the latency: `infer_s` where there is no `image_s`.
    """

    half_width: float | None
    narrow: bool
    unsettled: tuple[str, ...]
    decided: bool
    quantity: str = "image_s"

    @property
    def reached(self) -> bool:
        """Whether the trial has been measured enough."""
        return self.narrow or self.decided


def rule_of(experiment: ExperimentRecord) -> Rule:
    """The rule that an experiment was planned with; UsageError where a stored profile is damaged."""
    return Rule(
        target_ci=experiment.target_ci,
        profiles=tuple(Profile.from_record(record) for record in experiment.profiles)
        if experiment.decide
        else None,
        least=max(MIN_SESSIONS, experiment.min_sessions),
        most=experiment.sessions,
    )


def standing(summary: TrialSummary, sessions: int, rule: Rule) -> Standing:
    """How far a trial is, from what its `sessions` finished sessions came to.

    Of an emulated trial all verdicts are open: no session of it settles one.
    """
    half = summary.latency.half_width if summary.latency is not None else None
    enough, is_early = sessions >= rule.least, sessions < SHAPE_SESSIONS
    is_narrow = rule.target_ci is not None and half is not None and half <= rule.target_ci
    # Every number of sessions from MIN_SESSIONS on is a look, whether or not anything may end there.
    looks = max(1, rule.most - MIN_SESSIONS + 1)
    look = min(max(1, sessions - MIN_SESSIONS + 1), looks)
    certainty = Certainty.of_look(look_confidence(look, looks))
    unsettled = tuple(
        f"{profile.name}: {requirement.name}"
        for profile in rule.profiles or ()
        for requirement in profile.judged
        if not requirement.wanted
        if summary.emulated
        or not is_settled(summary, requirement, certainty, EARLY_MARGIN if is_early else 0.0)
    )
    decided = enough and rule.profiles is not None and not unsettled and not summary.emulated
    narrow = enough and not is_early and is_narrow
    return Standing(half, narrow, unsettled, decided, summary.latency_quantity or "image_s")


# Why no further session of a trial was measured, in words, from what is on disk.


_NAMES = 3  # requirements that are named; of more, the number is said


def with_end(
    summary: TrialSummary, records: Sequence[SessionRecord], rule: Rule, run: RunRecord | None
) -> TrialSummary:
    """The summary with why its measuring ended, and with the status that this gives it.

    Args:
        summary: with the status that the mere number of sessions gives it.
        records: all sessions of the trial, failed ones too.
        rule: what its experiment was planned with.
        run: how the last run of the experiment ended, where that is known.
    """
    if summary.status == "unsupported" or (summary.status == "failed" and not records):
        return summary  # nothing was begun
    statuses = [record.status for record in records]
    ok = statuses.count("ok")
    far = standing(summary, ok, rule)
    by = _ending(summary.key, far, statuses, rule, run)
    ended = Ended(by, ok, far.half_width, far.unsettled, _end_text(by, far, ok, rule, run))
    status: TrialStatus = summary.status
    # The time that was given is as good a reason to stop as any, once an interval is there.
    least = rule.least if rule.asked else None
    if by == "rule" or is_done(summary.key, statuses, run, least=least, most=rule.most):
        status = "done"
    reason = "" if status == "done" else summary.reason
    if (status == "partial" and rule.asked) or (status in ("partial", "not_run") and by == "time"):
        failed = sum(status not in ("ok", "interrupted") for status in statuses)
        reason = ended.text + (f", {failed} failed" if failed else "")
    return replace(summary, status=status, reason=reason, ended=ended)


def _ending(
    key: str, far: Standing, statuses: Sequence[SessionStatus], rule: Rule, run: RunRecord | None
) -> EndedBy:
    ended = None if run is None else run.ended
    ways: tuple[tuple[bool, EndedBy], ...] = (
        (rule.asked and far.reached, "rule"),
        (statuses.count("ok") >= rule.most, "most" if rule.asked else "sessions"),
        (rule.asked and ended_by_rule(key, run), "rule"),
        (is_given_up(statuses) or ended == "complete", "failures"),
        (ended == "time", "time"),
    )
    return next((by for holds, by in ways if holds), "interrupted")


def _end_text(by: EndedBy, far: Standing, ok: int, rule: Rule, run: RunRecord | None) -> str:
    sessions = "1 session" if ok == 1 else f"{ok} sessions"
    most = f"{ok} of {'at most ' if rule.asked else ''}{rule.most} sessions"
    limit = duration_text(run.max_time_s) if run is not None and run.max_time_s else "given"
    of = "" if far.quantity == "image_s" else f" ({far.quantity})"  # which time the half-width is of
    half = "" if far.half_width is None else _rounded_up(far.half_width)
    asked, now = share_text(rule.target_ci or 0.0), f"now {half}" if half else "no interval yet"
    more = len(far.unsettled) - _NAMES
    named = ", ".join(far.unsettled[:_NAMES]) + (f" and {more} more" if more > 0 else "")
    reached = (
        f"half-width {half}{of} of {asked} asked" if far.narrow else "",
        "every verdict that can be settled is settled" if far.decided else "",
    )
    target = rule.target_ci
    is_few = target is not None and far.half_width is not None and far.half_width <= target
    shortfalls = (
        f"{now}{of}, but {asked} ends a trial from {SHAPE_SESSIONS} sessions on"
        if is_few
        else f"without reaching {asked}{of}: {now}"
        if target is not None
        else "",
        f"not settled: {named}" if named else "",
    )
    shortfall = "; ".join(filter(None, shortfalls))
    # The run may have found its rule reached where today's figures do not.
    rule_text = f"{' and '.join(filter(None, reached)) or 'ended by its rule'}, after {sessions}"
    return {
        "sessions": f"{sessions}, as planned",
        "rule": rule_text + (f" ({SPENDING_NAME})" if far.decided else ""),
        "most": f"{sessions}, the most allowed, {shortfall}",
        "failures": f"given up after sessions that failed, with {most}",
        "time": f"time of {limit} over after {most}" + (f", {shortfall}" if shortfall else ""),
        "interrupted": f"stopped after {most}",
    }[by]


def _rounded_up(share: float) -> str:
    """A half-width in percent with two digits, never shown narrower than it is."""
    percent = 100 * share
    if percent <= 0:
        return "0 %"
    places = max(0, 1 - math.floor(math.log10(percent)))
    step = 10.0**-places
    rounded = math.ceil(percent / step - 1e-9) * step
    return f"{rounded:.0f} %" if rounded >= 10 else f"{rounded:.2g} %"
