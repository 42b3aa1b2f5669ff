"""Why no further session of a trial was measured, in words, from what is on disk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from edgebench.fit.settled import Rule, Standing, standing
from edgebench.fit.trial_summary import Ended, EndedBy, TrialStatus, TrialSummary
from edgebench.plan.amounts import duration_text, share_text
from edgebench.stats.spending import SPENDING_NAME
from edgebench.store.completion import ended_by_rule, is_done, is_given_up
from edgebench.store.records import RunRecord, SessionRecord, SessionStatus

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
    ok = sum(record.status == "ok" for record in records)
    far = standing(summary, ok, rule)
    statuses = [record.status for record in records]
    by = _ending(summary.key, far, statuses, rule, run)
    ended = Ended(by, ok, far.half_width, far.unsettled, _end_text(by, far, ok, rule, run))
    status: TrialStatus = summary.status
    # The time that was given is as good a reason to stop as any, once an interval is there.
    least = rule.least if rule.asked else None
    if by == "rule" or is_done(summary.key, statuses, run, least=least, most=rule.most):
        status = "done"
    reason = "" if status == "done" else summary.reason
    if (status == "partial" and rule.asked) or (status in ("partial", "not_run") and by == "time"):
        reason = f"{ended.text}{_failed_text(records)}"
    return replace(summary, status=status, reason=reason, ended=ended)


def _ending(
    key: str, far: Standing, statuses: Sequence[SessionStatus], rule: Rule, run: RunRecord | None
) -> EndedBy:
    if rule.asked and far.reached:
        return "rule"
    if statuses.count("ok") >= rule.most:
        return "most" if rule.asked else "sessions"
    if rule.asked and ended_by_rule(key, statuses, run, least=rule.least):
        return "rule"
    if is_given_up(statuses) or (run is not None and run.ended == "complete"):
        return "failures"
    return "time" if run is not None and run.ended == "time" else "interrupted"


def _failed_text(records: Sequence[SessionRecord]) -> str:
    count = sum(record.status not in ("ok", "interrupted") for record in records)
    return f", {count} failed" if count else ""


def _end_text(by: EndedBy, far: Standing, ok: int, rule: Rule, run: RunRecord | None) -> str:
    sessions = "1 session" if ok == 1 else f"{ok} sessions"
    most = f"{ok} of {'at most ' if rule.asked else ''}{rule.most} sessions"
    if by == "sessions":
        return f"{sessions}, as planned"
    if by == "rule":
        return _reached_text(far, sessions, rule)
    shortfall = _shortfall_text(far, rule)
    if by == "most":
        return f"{sessions}, the most allowed, {shortfall}"
    if by == "failures":
        return f"given up after sessions that failed, with {most}"
    if by == "time":
        limit = duration_text(run.max_time_s) if run is not None and run.max_time_s else "given"
        return ", ".join(part for part in (f"time of {limit} over after {most}", shortfall) if part)
    return f"stopped after {most}"


def _reached_text(far: Standing, sessions: str, rule: Rule) -> str:
    reasons = []
    if far.narrow and rule.target_ci is not None and far.half_width is not None:
        asked = share_text(rule.target_ci)
        reasons.append(f"half-width {_rounded_up(far.half_width)}{_quantity_suffix(far)} of {asked} asked")
    if far.decided:
        reasons.append("every verdict that can be settled is settled")
    how = f" ({SPENDING_NAME})" if far.decided else ""
    # The run found its rule reached, and today's figures do not.
    return f"{' and '.join(reasons) or 'ended by its rule'}, after {sessions}{how}"


def _shortfall_text(far: Standing, rule: Rule) -> str:
    """What was asked for and is not there."""
    shortfalls = []
    if rule.target_ci is not None:
        now = "no interval yet" if far.half_width is None else f"now {_rounded_up(far.half_width)}"
        shortfalls.append(f"without reaching {share_text(rule.target_ci)}{_quantity_suffix(far)}: {now}")
    if far.unsettled:
        count = len(far.unsettled)
        named = ", ".join(far.unsettled[:_NAMES]) + (f" and {count - _NAMES} more" if count > _NAMES else "")
        shortfalls.append(f"not settled: {named}")
    return "; ".join(shortfalls)


def _quantity_suffix(far: Standing) -> str:
    """Of which time the half-width is, where it is not image_s."""
    return "" if far.quantity == "image_s" else f" ({far.quantity})"


def _rounded_up(share: float) -> str:
    """A half-width in percent with two digits, never shown narrower than it is."""
    percent = 100 * share
    if percent <= 0:
        return "0 %"
    places = max(0, 1 - math.floor(math.log10(percent)))
    step = 10.0**-places
    rounded = math.ceil(percent / step - 1e-9) * step
    return f"{rounded:.0f} %" if rounded >= 10 else f"{rounded:.2g} %"
