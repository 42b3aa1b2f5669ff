"""End of a trial's measuring: an interval is narrow enough, or the verdicts are settled.

Looking after every session spends error, so a verdict is settled at the confidence that an alpha-spending
rule leaves to that look (edgebench.stats.intervals), which is above the 95 % of reports: there, too, a
settled verdict is a pass or a fail. Where sessions scatter normally, each verdict is wrong in at most 0.5 %
of trials.

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

from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Certainty, Ended, EndedBy, Trial
from edgebench.judge.verdicts.verdict import is_settled
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

_NAMES = 3
"""Requirements that are named; further ones are counted."""


@dataclass(frozen=True)
class Rule:
    """Conditions that end a trial of an experiment before it has all its sessions; either suffices.

    Attributes:
        target_ci: half-width of the latency's interval as a share; None where none is wanted.
        profiles: profiles whose verdicts are to be settled; None where none are wanted.
        least: sessions before which nothing ends a trial, at least MIN_SESSIONS.
        most: sessions at which every trial ends.
    """

    target_ci: float | None
    profiles: tuple[Profile, ...] | None
    least: int
    most: int

    @property
    def confidence(self) -> float:
        """Confidence of intervals of image_s and infer_s: higher where their own sessions end the trial."""
        return STOPPING_CONFIDENCE if self.is_adaptive else CONFIDENCE

    @property
    def is_adaptive(self) -> bool:
        """Tell whether anything but the number of sessions ends a trial."""
        return self.target_ci is not None or self.profiles is not None

    def certainty(self, sessions: int) -> Certainty:
        """Certainty of a verdict after so many sessions.

        Every number of sessions from MIN_SESSIONS on is a look, even one at which nothing may end.
        """
        looks = max(1, self.most - MIN_SESSIONS + 1)
        look = min(max(1, sessions - MIN_SESSIONS + 1), looks)
        return Certainty.of_look(look_confidence(look, looks))

    def unsettled(self, trial: Trial, sessions: int) -> tuple[str, ...]:
        """Requirements whose verdict is open after so many finished sessions, as `profile: name`.

        All verdicts on an emulated trial are open: no session of it settles one.
        """
        certainty = self.certainty(sessions)
        margin = EARLY_MARGIN if sessions < SHAPE_SESSIONS else 0.0
        return tuple(
            f"{profile.name}: {requirement.name}"
            for profile in self.profiles or ()
            for requirement in profile.judged
            if not requirement.wanted
            and (trial.is_emulated or not is_settled(trial, requirement, certainty, margin))
        )

    def is_narrow(self, trial: Trial, sessions: int) -> bool:
        """Tell whether the latency's interval is as narrow as wanted, of enough sessions."""
        half_width = half_width_of(trial)
        is_reached = self.target_ci is not None and half_width is not None and half_width <= self.target_ci
        return is_reached and sessions >= max(self.least, SHAPE_SESSIONS)

    def is_decided(self, trial: Trial, sessions: int, unsettled: Sequence[str]) -> bool:
        """Tell whether there are verdicts to settle, and none is open after enough sessions."""
        is_due = self.profiles is not None and sessions >= self.least
        return is_due and not unsettled and not trial.is_emulated


def half_width_of(trial: Trial) -> float | None:
    """Half-width of the latency's interval as a share of its value; None where it is missing."""
    return trial.latency.half_width if trial.latency else None


def rule_of(experiment: ExperimentRecord) -> Rule:
    """Rule that an experiment was planned with.

    Raises:
        StoredResultError: a stored profile is damaged.
    """
    return Rule(
        target_ci=experiment.target_ci,
        profiles=tuple(Profile.from_record(record) for record in experiment.profiles)
        if experiment.decide
        else None,
        least=max(MIN_SESSIONS, experiment.min_sessions),
        most=experiment.sessions,
    )


def with_end(trial: Trial, records: Sequence[SessionRecord], rule: Rule, run: RunRecord | None) -> Trial:
    """Trial with the end of its measuring, and with the status that this gives it.

    Args:
        trial: with the status that the number of sessions gives it.
        records: all sessions of the trial, failed ones too.
        rule: rule of its experiment.
        run: record of the experiment's last run; None where that is not known.
    """
    if trial.status == "unsupported" or (trial.status == "failed" and not records):
        return trial  # nothing was begun
    statuses = [record.status for record in records]
    sessions = statuses.count("ok")
    unsettled = rule.unsettled(trial, sessions)
    is_narrow = rule.is_narrow(trial, sessions)
    is_decided = rule.is_decided(trial, sessions, unsettled)
    ended_by = _ending(trial.key, is_narrow or is_decided, statuses, rule, run)
    text = _end_text(ended_by, trial, (is_narrow, is_decided), unsettled, sessions, rule, run)
    ended = Ended(ended_by, sessions, half_width_of(trial), unsettled, text)
    status: TrialStatus = trial.status
    # A run that ended by its time counts as done once there is an interval.
    least = rule.least if rule.is_adaptive else None
    if ended_by == "rule" or is_done(trial.key, statuses, run, least=least, most=rule.most):
        status = "done"
    reason = "" if status == "done" else trial.reason
    if (status == "partial" and rule.is_adaptive) or (
        status in ("partial", "not_run") and ended_by == "time"
    ):
        failed = sum(status not in ("ok", "interrupted") for status in statuses)
        reason = text + (f", {failed} failed" if failed else "")
    return replace(trial, status=status, reason=reason, ended=ended)


def _ending(
    key: str, is_reached: bool, statuses: Sequence[SessionStatus], rule: Rule, run: RunRecord | None
) -> EndedBy:
    ended = None if run is None else run.ended
    endings: tuple[tuple[bool, EndedBy], ...] = (
        (rule.is_adaptive and is_reached, "rule"),
        (statuses.count("ok") >= rule.most, "most" if rule.is_adaptive else "sessions"),
        (rule.is_adaptive and ended_by_rule(key, run), "rule"),
        (is_given_up(statuses) or ended == "complete", "failures"),
        (ended == "time", "time"),
    )
    return next((ended_by for holds, ended_by in endings if holds), "interrupted")


def _end_text(
    ended_by: EndedBy,
    trial: Trial,
    reached: tuple[bool, bool],
    unsettled: Sequence[str],
    count: int,
    rule: Rule,
    run: RunRecord | None,
) -> str:
    """Ending in words; `reached` says whether the interval is narrow and whether the verdicts are settled."""
    is_narrow, is_decided = reached
    sessions = "1 session" if count == 1 else f"{count} sessions"
    progress = f"{count} of {'at most ' if rule.is_adaptive else ''}{rule.most} sessions"
    if ended_by == "sessions":
        return f"{sessions}, as planned"
    if ended_by == "failures":
        return f"given up after sessions that failed, with {progress}"
    if ended_by == "interrupted":
        return f"stopped after {progress}"
    half_width, target = half_width_of(trial), rule.target_ci
    time = f" ({trial.latency_metric})" if trial.latency_metric == "infer_s" else ""
    half = "" if half_width is None else _rounded_up(half_width)
    wanted = share_text(target or 0.0)
    if ended_by == "rule":
        # The run may have found its rule reached where today's estimates do not.
        met = (
            f"half-width {half}{time} of {wanted} asked" if is_narrow else "",
            "every verdict that can be settled is settled" if is_decided else "",
        )
        text = f"{' and '.join(filter(None, met)) or 'ended by its rule'}, after {sessions}"
        return text + (f" ({SPENDING_NAME})" if is_decided else "")
    shortfalls = []
    if target is not None and half_width is not None and half_width <= target:
        shortfalls.append(f"now {half}{time}, but {wanted} ends a trial from {SHAPE_SESSIONS} sessions on")
    elif target is not None:
        now = f"now {half}" if half else "no interval yet"
        shortfalls.append(f"without reaching {wanted}{time}: {now}")
    if unsettled:
        more = len(unsettled) - _NAMES
        named = ", ".join(unsettled[:_NAMES]) + (f" and {more} more" if more > 0 else "")
        shortfalls.append(f"not settled: {named}")
    shortfall = "; ".join(shortfalls)
    if ended_by == "most":
        return f"{sessions}, the most allowed, {shortfall}"
    limit = duration_text(run.max_time_s) if run is not None and run.max_time_s else "given"
    return f"time of {limit} over after {progress}" + (f", {shortfall}" if shortfall else "")


def _rounded_up(share: float) -> str:
    """Half-width in percent with two digits, never shown narrower than it is."""
    if share <= 0:
        return "0 %"
    step = 10.0 ** (math.floor(math.log10(100 * share)) - 1)
    return f"{math.ceil(100 * share / step - 1e-9) * step:.9g} %"
