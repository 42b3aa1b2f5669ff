"""A result folder, summed up and judged: what `show`, `fit`, `report` and `run` all end with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.mission import DAY_S, Mission, mission_of
from edgebench.judge.profile import Profile
from edgebench.judge.schedule import Schedule
from edgebench.judge.summarise import summarise
from edgebench.judge.trial_summary import PUBLISHED, TrialSummary, Verdict
from edgebench.judge.verdict import judge_all, overall
from edgebench.records.stored import ExperimentRecord
from edgebench.records.target import BOARD_FIGURES, BoardFigure
from edgebench.results.load import StoredResults, load
from edgebench.results.revisions import planned_name, swept_name
from edgebench.suggest import choose, short

# What the targets of a stored result are made of, as said when they are judged and not when they ran.


FIGURES: tuple[BoardFigure, ...] = get_args(BoardFigure)


def with_boards(record: ExperimentRecord, texts: Sequence[str]) -> tuple[ExperimentRecord, tuple[str, ...]]:
    """The record whose targets are made of these boards, and notes for the reader.

    As in a run, a target's own figures beat those of its boards. Boards that it ran with are boards no more:
    these take their place, with a note.

    Args:
        record: as it was stored; it is left as it is.
        texts: `[TARGET=]NAME`, one for each board.

    Raises:
        UsageError: as `plan.board_declarations.declared_boards`, and for a board that there is not.
    """
    from edgebench.board_catalogue import body_of, declared_boards  # takes long to import

    boards = declared_boards(texts, target_aliases(record))
    targets = {target.name: target for target in record.targets}
    names: dict[str, list[str]] = {}  # of the targets of which a note is, those of a sweep together
    for before in (target for target in record.targets if target.name in boards):
        own = {str(name): getattr(before, name) for name in FIGURES if name not in before.from_boards}
        body: dict[str, Any] = {**dict.fromkeys(FIGURES), "declared_power": ()}
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
    """The names that each target answers to; a revision to its target's too."""
    return {target.name: (target.name, planned_name(target), swept_name(target)) for target in record.targets}


@dataclass(frozen=True)
class Judged:
    """The figures of a folder and the verdicts on them."""

    results: StoredResults
    profiles: tuple[Profile, ...]
    summaries: list[TrialSummary]
    verdicts: list[Verdict]
    notes: tuple[str, ...] = ()  # what was declared otherwise than by its run
    options: tuple[str, ...] = ()  # of `edgebench fit`, which judged it otherwise than its run


def judge_folder(
    path: Path,
    profiles: Sequence[Profile] | None = None,
    declared_power: Sequence[str] = (),
    boards: Sequence[str] = (),
    declared_conditions: Sequence[str] = (),
) -> Judged:
    """Read, sum up and judge; without `profiles` by those that the experiment was run with.

    `boards` (`[TARGET=]NAME`) and `declared_power` (`[TARGET=]WATTS:KIND:SOURCE`) of a target take the place
    of what its run declared, here and not on disk, and so do `declared_conditions`: boot time, mass and size.
    What is declared beats the boards'. Raises UsageError as `with_boards` and `with_declared`.
    """
    results, notes = with_declarations(load(path), declared_power, boards, declared_conditions)
    if profiles is None:
        profiles = run_profiles(results.experiment)
    summaries = summarise(results)
    return Judged(results, tuple(profiles), summaries, judge_all(summaries, profiles), notes)


def run_profiles(record: ExperimentRecord) -> list[Profile]:
    """Those that the experiment was run with."""
    return [Profile.from_record(profile) for profile in record.profiles]


def with_declarations(
    results: StoredResults,
    declared_power: Sequence[str] = (),
    boards: Sequence[str] = (),
    declared_conditions: Sequence[str] = (),
) -> tuple[StoredResults, tuple[str, ...]]:
    """The results with these declared, and notes of what their run had otherwise.

    The arguments and errors are those of `judge_folder`. Where nothing is declared the results come back as
    they are.
    """
    experiment, notes = with_boards(results.experiment, boards) if boards else (results.experiment, ())
    if declared_power or declared_conditions:
        from edgebench.board_catalogue import with_declared

        aliases = target_aliases(experiment)
        targets = with_declared(experiment.targets, declared_power, declared_conditions, aliases)
        experiment = experiment.model_copy(update={"targets": targets})
    is_same = experiment is results.experiment
    return results if is_same else StoredResults(results.path, experiment), notes


# The trials of a result under the schedules of profiles.


MOST_REASONS = 3
"""How many reasons of trials without a session are printed."""


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
        judged: a result and its summaries.
        profiles: whose schedules are played.
        chosen: the key, its beginning, the variant or a name of the trials that are meant; empty for all.
        days: of the mission, above 0.
        seed: of the draws.
        names: by key what reports call each trial, such as `0.5 fp32`.

    Raises:
        UsageError: no such trial, a profile without a schedule, or more images than are simulated.
        StoredResultError: no trial has a finished session.
    """
    schedules = [schedule_of(profile) for profile in profiles]
    trials = chosen_trials(judged.summaries, chosen, names or {})
    measured = [trial for trial in trials if trial.latency is not None]
    if not measured:
        reasons = sorted({reason for trial in trials if (reason := trial.reason or trial.untimed_reason)})
        more = len(reasons) - MOST_REASONS
        text = "; ".join(reasons[:MOST_REASONS]) + (
            f"; and {more} more (`edgebench show`)" if more > 0 else ""
        )
        raise StoredResultError(
            f"{judged.results.path} has no latency of a device to draw from",
            why=text,
            fix="measure it on a device: `edgebench run --resume` goes on with a run",
        )
    for trial in measured:
        for profile, schedule in zip(profiles, schedules, strict=True):
            cycles = math.ceil(days * DAY_S / schedule.cycle_s)
            yield mission_of(trial, profile.name, schedule, cycles=cycles, seed=seed)


def chosen_trials(
    trials: Sequence[TrialSummary], chosen: str, names: Mapping[str, Sequence[str]]
) -> list[TrialSummary]:
    """Those of that key, or a beginning of it, of that variant or name; UsageError without any.

    `names` are by key.
    """
    if not chosen:
        return list(trials)
    known = {trial.key: (*names.get(trial.key, ()), trial.variant, trial.key) for trial in trials}
    by_name = [trial for trial in trials if chosen in known[trial.key]]
    by_beginning = [trial for trial in trials if len(chosen) >= 4 and trial.key.startswith(chosen)]
    if not (by_name or by_beginning):
        choices = dict.fromkeys(name for of_trial in known.values() for name in of_trial)
        raise UsageError(f"there is no trial {short(chosen)} in the result", fix=choose(chosen, choices))
    return by_name or by_beginning


def schedule_of(profile: Profile) -> Schedule:
    """When its images come; UsageError where it does not say so."""
    if (schedule := profile.stated_schedule) is not None:
        return schedule
    raise UsageError(
        f"the profile {profile.name} says no time at which images come",
        why="it has no [schedule], and no budget that all its requirements share",
        fix='write a table [schedule] with cycle = "95.65 min" and images = 80',
    )


# How many trials of an experiment got which verdict of its profiles, for lists of results.


def verdict_counts(
    summaries: Sequence[TrialSummary], experiment: ExperimentRecord
) -> dict[str, dict[str, int]]:
    """By profile of the experiment's run, how many trials pass it as a whole, fail it, ...; no count is 0."""
    profiles = run_profiles(experiment)
    counts: dict[str, Counter[str]] = {profile.name: Counter() for profile in profiles}
    for whole in overall(judge_all(summaries, profiles)):
        counts[whole.profile][whole.verdict] += 1
    return {name: dict(counted) for name, counted in counts.items()}
