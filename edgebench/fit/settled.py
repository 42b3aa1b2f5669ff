"""When a trial has been measured enough: its interval is narrow enough, or its verdicts are settled.

Looking after every session spends error, so a verdict is settled at the confidence that an alpha-spending
rule leaves to that look (edgebench.stats.spending), which is above the 95 % that reports show: what is
settled is a pass or a fail there, too. Each verdict is wrong in at most 1 % of trials.

Sessions that end their own measuring do so where they happen to lie close together, or far from a limit: at
95 % their interval would cover less than it claims, so that it is taken at STOPPING_CONFIDENCE, to end by its
width and to show.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgebench.fit.figure import Certainty
from edgebench.fit.profile import Profile
from edgebench.fit.trial_summary import TrialSummary
from edgebench.fit.verdict import is_settled
from edgebench.stats.intervals import CONFIDENCE, MIN_SESSIONS
from edgebench.stats.spending import STOPPING_CONFIDENCE, look_confidence
from edgebench.store.records import ExperimentRecord


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
        """Of the intervals of image_s and infer_s: one whose own sessions end the trial has to be wider."""
        return STOPPING_CONFIDENCE if self.asked else CONFIDENCE

    @property
    def asked(self) -> bool:
        """Whether anything but the number of sessions ends a trial."""
        return self.target_ci is not None or self.profiles is not None


@dataclass(frozen=True)
class Standing:
    """How far a trial is from what its rule asks.

    Attributes:
        half_width: of the latency's interval (see Interval.half_width); None where there is none.
        narrow: whether that is what was asked for.
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
    """How far a trial is, from what its `sessions` finished sessions came to."""
    half = summary.latency.half_width if summary.latency is not None else None
    enough = sessions >= rule.least
    narrow = enough and rule.target_ci is not None and half is not None and half <= rule.target_ci
    names = unsettled(summary, sessions, rule)
    decided = enough and rule.profiles is not None and not names and not summary.emulated
    return Standing(half, narrow, names, decided, summary.latency_quantity or "image_s")


def unsettled(summary: TrialSummary, sessions: int, rule: Rule) -> tuple[str, ...]:
    """The requirements whose verdict further sessions may still change, as `profile: name`; no wish is one.

    Of an emulated trial all are open: no session of it settles a verdict.
    """
    if rule.profiles is None:
        return ()
    # Every number of sessions from MIN_SESSIONS on is a look, whether or not anything may end there.
    looks = max(1, rule.most - MIN_SESSIONS + 1)
    look = min(max(1, sessions - MIN_SESSIONS + 1), looks)
    certainty = Certainty.of_look(look_confidence(look, looks))
    return tuple(
        f"{profile.name}: {requirement.name}"
        for profile in rule.profiles
        for requirement in profile.requirements
        if not requirement.wanted
        if summary.emulated or not is_settled(summary, requirement, certainty)
    )
