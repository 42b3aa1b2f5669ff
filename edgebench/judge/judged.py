"""Result folders, judged: the end of `show`, `fit`, `report` and `run`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.requirements.schedule import Schedule
from edgebench.judge.trial import PUBLISHED, Trial
from edgebench.judge.trials import trials_of
from edgebench.judge.verdicts.decision import Decision, decisions
from edgebench.judge.verdicts.verdict import Overall, Verdict, judge_all, overall
from edgebench.records.stored import ExperimentRecord
from edgebench.records.target import BOARD_FIGURES
from edgebench.results.load import StoredResults, load
from edgebench.results.revisions import planned_name, swept_name
from edgebench.suggest import choose, short
from edgebench.texts import joined

if TYPE_CHECKING:
    from edgebench.judge.mission import Mission


# Boards and numbers of the targets of a stored result, as declared when they are judged.


def with_boards(record: ExperimentRecord, texts: Sequence[str]) -> tuple[ExperimentRecord, tuple[str, ...]]:
    """Record whose targets are made of these boards, and notes for the reader.

    As in a run, a target's own figures beat those of its boards. Boards that it ran with are boards no more:
    these take their place, with a note.

    Args:
        record: as it was stored; it is left as it is.
        texts: `[TARGET=]NAME`, one for each board.

    Raises:
        UsageError: as `declared_boards`, and for a board that there is not.
    """
    from edgebench.board_catalogue import body_of, declared_boards  # takes long to import

    boards = declared_boards(texts, target_aliases(record))
    targets = {target.name: target for target in record.targets}
    names: dict[str, list[str]] = {}  # of targets by note, those of a sweep together
    for before in (target for target in record.targets if target.name in boards):
        own = {str(name): getattr(before, name) for name in BOARD_FIGURES if name not in before.from_boards}
        body: dict[str, Any] = {**dict.fromkeys(BOARD_FIGURES), "declared_power": ()}
        after = targets[before.name] = replace(before, **body | body_of(boards[before.name], own))
        taken = " and ".join(BOARD_FIGURES[name] for name in after.from_boards) or "no figure"
        names.setdefault(f"{taken} of {after.body}", []).append(after.name)
        if before.body and before.device != PUBLISHED:
            ran_with = " + ".join(board.title for board in before.boards) or "its boards"
            note = f"in place of what it ran with, {ran_with}; the result's folder is left as it is"
            names.setdefault(note, []).append(after.name)
    notes = tuple(f"{', '.join(of_targets)}: {text}" for text, of_targets in names.items())
    return record.model_copy(update={"targets": tuple(targets.values())}), notes


def target_aliases(record: ExperimentRecord) -> dict[str, tuple[str, ...]]:
    """Names that each target answers to; a revision also to those of its target."""
    return {target.name: (target.name, planned_name(target), swept_name(target)) for target in record.targets}


@dataclass(frozen=True)
class Judged:
    """Trials of a folder and the verdicts on them.

    Attributes:
        notes: declarations that differ from those of its run.
        options: options of `edgebench fit`, which judged it otherwise than its run.
    """

    results: StoredResults
    profiles: tuple[Profile, ...]
    trials: list[Trial]
    verdicts: list[Verdict]
    notes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @cached_property
    def wholes(self) -> list[Overall]:
        """Verdict on each trial against each profile as a whole."""
        return overall(self.verdicts)

    @cached_property
    def decisions(self) -> list[Decision]:
        """Decision on each profile."""
        return decisions(self.trials, self.wholes)


def judge_folder(
    path: Path,
    profiles: Sequence[Profile] | None = None,
    declared_power: Sequence[str] = (),
    boards: Sequence[str] = (),
    declared_conditions: Sequence[str] = (),
) -> Judged:
    """Read and judge a folder.

    `boards` (`[TARGET=]NAME`) and `declared_power` (`[TARGET=]WATTS:KIND:SOURCE`) of a target take the place
    of those of its run, here and not on disk, and so do `declared_conditions`: boot time, mass and size. A
    declared number takes the place of a board's.

    Args:
        path: result folder.
        profiles: profiles to judge by; None for those of its run.
        declared_power: declared power of targets.
        boards: boards of targets.
        declared_conditions: other declared numbers of targets.

    Raises:
        UsageError: as `with_boards` and `with_declared`.
        StoredResultError: as `load` and `trials_of`.
    """
    results, notes = with_declarations(load(path), declared_power, boards, declared_conditions)
    profiles = run_profiles(results.experiment) if profiles is None else profiles
    trials = trials_of(results)
    return Judged(results, tuple(profiles), trials, judge_all(trials, profiles), notes)


def run_profiles(record: ExperimentRecord) -> list[Profile]:
    """Profiles that the experiment was run with."""
    return [Profile.from_record(profile) for profile in record.profiles]


def with_declarations(
    results: StoredResults,
    declared_power: Sequence[str] = (),
    boards: Sequence[str] = (),
    declared_conditions: Sequence[str] = (),
) -> tuple[StoredResults, tuple[str, ...]]:
    """Results with these declarations, and notes of those that their run had otherwise.

    Arguments and errors are those of `judge_folder`. Without a declaration the results come back unchanged.
    """
    experiment, notes = with_boards(results.experiment, boards) if boards else (results.experiment, ())
    if declared_power or declared_conditions:
        from edgebench.board_catalogue import with_declared

        aliases = target_aliases(experiment)
        targets = with_declared(experiment.targets, declared_power, declared_conditions, aliases)
        experiment = experiment.model_copy(update={"targets": targets})
    is_same = experiment is results.experiment
    return results if is_same else StoredResults(results.path, experiment), notes


# Trials of a result under the schedules of profiles.


MOST_REASONS = 3
"""Reasons of trials without a session that are printed."""


def missions(
    judged: Judged,
    profiles: Sequence[Profile],
    chosen: str = "",
    *,
    days: float,
    seed: int,
    names: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Mission]:
    """Each trial that has sessions under each profile's schedule, by trial, then profile.

    Args:
        judged: a result and its trials.
        profiles: profiles with schedules.
        chosen: key, its beginning, variant or name of the trials; empty for all.
        days: length of the mission, above 0.
        seed: seed of the draws.
        names: by key the names of each trial in reports, such as `0.5 fp32`.

    Raises:
        UsageError: no such trial, a profile without a schedule, or more images than are simulated.
        StoredResultError: no trial has a finished session.
    """
    from edgebench.judge.mission import DAY_S, mission_of

    schedules = [schedule_of(profile) for profile in profiles]
    trials = chosen_trials(judged.trials, chosen, names or {})
    measured = [trial for trial in trials if trial.latency is not None]
    if not measured:
        reasons = sorted({trial.reason or trial.estimate("image_s").reason for trial in trials})
        more = len(reasons) - MOST_REASONS
        rest = f"and {more} more (`edgebench show`)" if more > 0 else ""
        raise StoredResultError(
            f"{judged.results.path} has no latency of a device to draw from",
            why=joined(*reasons[:MOST_REASONS], rest),
            fix="measure it on a device: `edgebench run --resume` goes on with a run",
        )
    for trial in measured:
        for profile, schedule in zip(profiles, schedules, strict=True):
            cycles = math.ceil(days * DAY_S / schedule.cycle_s)
            yield mission_of(trial, profile.name, schedule, cycles=cycles, seed=seed)


def chosen_trials(trials: Sequence[Trial], chosen: str, names: Mapping[str, Sequence[str]]) -> list[Trial]:
    """Trials of a key or its beginning, a variant or a name; `names` are by key.

    Raises:
        UsageError: there is none.
    """
    if not chosen:
        return list(trials)
    names_of = {trial.key: (*names.get(trial.key, ()), trial.variant, trial.key) for trial in trials}
    by_name = [trial for trial in trials if chosen in names_of[trial.key]]
    by_beginning = [trial for trial in trials if len(chosen) >= 4 and trial.key.startswith(chosen)]
    if not (by_name or by_beginning):
        choices = dict.fromkeys(name for of_trial in names_of.values() for name in of_trial)
        raise UsageError(f"there is no trial {short(chosen)} in the result", fix=choose(chosen, choices))
    return by_name or by_beginning


def schedule_of(profile: Profile) -> Schedule:
    """Schedule of a profile.

    Raises:
        UsageError: it has none.
    """
    if (schedule := profile.stated_schedule) is not None:
        return schedule
    raise UsageError(
        f"the profile {profile.name} says no time at which images come",
        why="it has no [schedule], and no budget that all its requirements share",
        fix='write a table [schedule] with cycle = "95.65 min" and images = 80',
    )


def verdict_counts(trials: Sequence[Trial], experiment: ExperimentRecord) -> dict[str, dict[str, int]]:
    """Number of trials by profile of the experiment's run and by their worst verdict; no number is 0."""
    profiles = run_profiles(experiment)
    results = overall(judge_all(trials, profiles))
    return {
        profile.name: dict(Counter(result.verdict for result in results if result.profile == profile.name))
        for profile in profiles
    }
