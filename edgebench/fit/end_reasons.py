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
    by = _by(summary.key, far, statuses, rule, run)
    ended = Ended(by, ok, far.half_width, far.unsettled, _text(by, far, ok, rule, run))
    status: TrialStatus = summary.status
    # The time that was given is as good a reason to stop as any, once an interval is there.
    least = rule.least if rule.asked else None
    if by == "rule" or is_done(summary.key, statuses, run, least=least, most=rule.most):
        status = "done"
    reason = "" if status == "done" else summary.reason
    if (status == "partial" and rule.asked) or (status in ("partial", "not_run") and by == "time"):
        reason = f"{ended.text}{_failed(records)}"
    return replace(summary, status=status, reason=reason, ended=ended)


def _by(
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


def _failed(records: Sequence[SessionRecord]) -> str:
    count = sum(record.status not in ("ok", "interrupted") for record in records)
    return f", {count} failed" if count else ""


def _text(by: EndedBy, far: Standing, ok: int, rule: Rule, run: RunRecord | None) -> str:
    sessions = "1 session" if ok == 1 else f"{ok} sessions"
    most = f"{ok} of {'at most ' if rule.asked else ''}{rule.most} sessions"
    if by == "sessions":
        return f"{sessions}, as planned"
    if by == "rule":
        return _reached(far, sessions, rule)
    open_ = _open(far, rule)
    if by == "most":
        return f"{sessions}, the most allowed, {open_}"
    if by == "failures":
        return f"given up after sessions that failed, with {most}"
    if by == "time":
        given = duration_text(run.max_time_s) if run is not None and run.max_time_s else "given"
        return ", ".join(part for part in (f"time of {given} over after {most}", open_) if part)
    return f"stopped after {most}"


def _reached(far: Standing, sessions: str, rule: Rule) -> str:
    said = []
    if far.narrow and rule.target_ci is not None and far.half_width is not None:
        asked = share_text(rule.target_ci)
        said.append(f"half-width {_rounded_up(far.half_width)}{_of(far)} of {asked} asked")
    if far.decided:
        said.append("every verdict that can be settled is settled")
    how = f" ({SPENDING_NAME})" if far.decided else ""
    # The run found its rule reached, and today's figures do not.
    return f"{' and '.join(said) or 'ended by its rule'}, after {sessions}{how}"


def _open(far: Standing, rule: Rule) -> str:
    """What was asked for and is not there."""
    said = []
    if rule.target_ci is not None:
        now = "no interval yet" if far.half_width is None else f"now {_rounded_up(far.half_width)}"
        said.append(f"without reaching {share_text(rule.target_ci)}{_of(far)}: {now}")
    if far.unsettled:
        count = len(far.unsettled)
        named = ", ".join(far.unsettled[:_NAMES]) + (f" and {count - _NAMES} more" if count > _NAMES else "")
        said.append(f"not settled: {named}")
    return "; ".join(said)


def _of(far: Standing) -> str:
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
