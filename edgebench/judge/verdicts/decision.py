"""Decisions: the answer to each profile, with the trials that satisfy it, are open, or miss it by least."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from edgebench.judge.trial import Trial
from edgebench.judge.verdicts.next_steps import next_steps, passing_limit, relative_change, settling_steps
from edgebench.judge.verdicts.verdict import WORDS, NextStep, Overall, Verdict, Word
from edgebench.stats.interval import Count

Outcome = Literal["satisfied", "open", "missed", "unmeasured"]


@dataclass(frozen=True)
class Open:
    """A requirement that trials do not pass, with what would change that."""

    requirement: str
    """Name of the requirement. Source: profile."""
    metric: str
    """Metric that is limited, such as image_s. Source: profile."""
    statistic: str
    """Statistic that is limited. Source: profile."""
    verdict: Word
    """Verdict on the trials: fail, unknown or inconclusive. Source: fit."""
    trials: tuple[str, ...]
    """Keys of the trials. Source: fit."""
    next_steps: tuple[NextStep, ...]
    """Actions that would settle or change it, as alternatives; empty where none is known. Source: fit."""


@dataclass(frozen=True)
class Overload:
    """A trial that does not keep up with the profile's schedule."""

    trial: str
    """Key of the trial. Source: experiment.json."""
    load: float
    """Work that comes in a cycle as a share of the cycle, above 1; a lower bound where no more is known.
    Source: fit."""
    reason: str
    """Reason of the verdict. Source: fit."""


@dataclass(frozen=True)
class Decision:
    """The answer to one profile."""

    profile: str
    """Name of the profile. Source: profile."""
    outcome: Outcome
    """satisfied: some trial satisfies the profile; open: none does, and some misses no requirement; missed:
    every one misses one; unmeasured: none has a session. Source: fit."""
    passing: tuple[str, ...]
    """Keys of the trials that satisfy it. Source: fit."""
    failing: Count
    """Number of trials that miss a requirement. Source: fit."""
    trials: Count
    """Number of trials that were judged. Source: fit."""
    trial: str | None = None
    """Key of the quickest that satisfies it, of the open one that lacks least, or of the nearest miss; null
    where none was measured. Source: fit."""
    level: tuple[str, ...] = ()
    """The others that satisfy it and whose interval of the same latency reaches the quickest's. Source:
    fit."""
    lightest: tuple[str, ...] = ()
    """Keys of those that satisfy it and whose declared mass is the least; empty without a mass. Source: fit.
    """
    open: tuple[Open, ...] = ()
    """Requirements that keep trials from satisfying it: of those that miss nothing, or of the nearest miss.
    Source: fit."""
    overloaded: tuple[Overload, ...] = ()
    """The trials that are shown not to keep up with the profile's schedule, each a miss. Source: fit."""


def decisions(trials: Sequence[Trial], results: Sequence[Overall]) -> list[Decision]:
    """One decision a profile, in the order of the verdicts.

    Args:
        trials: trials that were judged.
        results: their verdicts by trial and profile, as `overall` gives them.
    """
    by_key = {trial.key: trial for trial in trials}
    by_profile: dict[str, list[Overall]] = {}
    for result in results:
        by_profile.setdefault(result.profile, []).append(result)
    return [
        _decision(profile, [result for result in group if result.trial in by_key], by_key)
        for profile, group in by_profile.items()
    ]


def _decision(profile: str, results: Sequence[Overall], trials: Mapping[str, Trial]) -> Decision:
    by_word = {word: [result.trial for result in results if result.verdict == word] for word in WORDS}
    passing, failing = tuple(by_word["pass"]), by_word["fail"]
    overloaded = _overloads(results)
    decision = Decision(profile, "unmeasured", passing, len(failing), len(results), overloaded=overloaded)
    if passing:
        first = min((trials[key] for key in passing), key=_slowness)
        level = tuple(key for key in passing if key != first.key and is_level(trials[key], first))
        masses = {key: mass_g for key in passing if (mass_g := trials[key].estimate("mass_g").value)}
        lightest = tuple(key for key, mass_g in masses.items() if mass_g == min(masses.values()))
        return replace(decision, outcome="satisfied", trial=first.key, level=level, lightest=lightest)
    missed = {result.trial: result.missed for result in results if trials[result.trial].has_estimates}
    if not missed:
        return decision
    if undecided := {key: verdicts for key, verdicts in missed.items() if key not in failing}:
        nearest = min(undecided, key=lambda key: (len(missed[key]), _slowness(trials[key])))
        return replace(decision, outcome="open", trial=nearest, open=_open(undecided, trials))
    nearest = min(missed, key=lambda key: _effort(trials[key], missed[key]))
    return replace(decision, outcome="missed", trial=nearest, open=_open({nearest: missed[nearest]}, trials))


def _overloads(results: Sequence[Overall]) -> tuple[Overload, ...]:
    overloads = {}  # by trial: it may have several limits of its load
    for verdict in (missed for result in results for missed in result.missed):
        estimate = verdict.estimate
        load = estimate.low if estimate.value is None else estimate.value
        if verdict.requirement.quantity == "load" and verdict.word == "fail" and load and load > 1:
            overloads[verdict.trial] = Overload(verdict.trial, load, verdict.reason)
    return tuple(overloads.values())


def _effort(trial: Trial, missed: Sequence[Verdict]) -> tuple[float, ...]:
    """Rank by effort: failed limits that no looser one helps, then the number and shares of looser ones."""
    limits = [(verdict, passing_limit(trial, verdict.requirement)) for verdict in missed]
    shares = [relative_change(verdict.requirement, to) for verdict, to in limits if to is not None]
    lacking = [verdict.word for verdict, to in limits if to is None]
    looser = (len(shares), max(shares, default=0.0), sum(shares))
    return (lacking.count("fail"), *looser, len(lacking), latency_s(trial))


def latency_s(trial: Trial) -> float:
    """Latency in s; infinite without one."""
    value = trial.latency.value if trial.latency else None
    return math.inf if value is None else value


def _slowness(trial: Trial) -> tuple[bool, float]:
    """Rank by latency; times of inference alone, which are another metric, come last."""
    return trial.latency_metric != "image_s", latency_s(trial)


def is_level(trial: Trial, first: Trial) -> bool:
    """Tell whether the intervals of both have a value in common, so that another run may reverse them."""
    mine, best = trial.latency, first.latency
    if mine is None or best is None or trial.latency_metric != first.latency_metric:
        return False
    return mine.low is None or best.high is None or mine.low <= best.high


def _open(missed: Mapping[str, Sequence[Verdict]], trials: Mapping[str, Trial]) -> tuple[Open, ...]:
    """Requirement by requirement, those trials together that the same steps would settle."""
    groups: dict[tuple[str, Word, tuple[NextStep, ...]], list[Verdict]] = {}
    for key, verdicts in missed.items():
        for verdict in verdicts:
            # Of several trials their own looser limits differ: the steps of a lone one have them.
            own_steps = (next_steps if len(missed) == 1 else settling_steps)(trials[key], verdict)
            steps = tuple(step.in_unit(verdict.requirement.scale) for step in own_steps)
            groups.setdefault((verdict.requirement.name, verdict.word, steps), []).append(verdict)
    return tuple(
        Open(
            name,
            group[0].requirement.quantity,
            group[0].requirement.statistic,
            word,
            tuple(verdict.trial for verdict in group),
            steps,
        )
        for (name, word, steps), group in groups.items()
    )
