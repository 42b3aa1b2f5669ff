"""Whether a trial has been measured enough, from its sessions and from how the last run ended."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.store.records import RunRecord, SessionStatus


def is_done(
    key: str, statuses: Sequence[SessionStatus], run: RunRecord | None, *, least: int | None, most: int
) -> bool:
    """Whether the trial has all its sessions, or was ended by a rule, or by the time with an interval there.

    Args:
        key: of the trial.
        statuses: of all its sessions, by number.
        run: how the last run of its experiment ended, where that is known.
        least: sessions before which no rule ends a trial; None where no rule was asked for.
        most: sessions at which every trial ends.
    """
    ok = statuses.count("ok")
    if ok >= most:
        return True
    if least is None or run is None:
        return False
    in_time = run.ended == "time" and ok >= least and not is_given_up(statuses)
    return in_time or ended_by_rule(key, statuses, run, least=least)


def ended_by_rule(key: str, statuses: Sequence[SessionStatus], run: RunRecord | None, *, least: int) -> bool:
    """Whether a rule that was asked for ended the trial; the arguments are those of is_done."""
    if run is None:
        return False
    if run.settled is not None:
        return key in run.settled
    # Earlier versions did not record it: a trial has fewer sessions than the most after a run that went to
    # its end because a rule ended it, or because sessions of it failed.
    none_failed = all(status in ("ok", "interrupted") for status in statuses)
    return run.ended == "complete" and none_failed and statuses.count("ok") >= least


def is_given_up(statuses: Sequence[SessionStatus]) -> bool:
    """Whether the last sessions failed again and again, or gave other outputs."""
    last = [status for status in statuses if status != "interrupted"][-2:]
    return last[-1:] == ["golden_mismatch"] or (len(last) == 2 and "ok" not in last)
