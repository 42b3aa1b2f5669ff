"""A result folder, summed up and judged: what `show`, `fit`, `report` and `run` all end with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgebench.fit.boards_of_targets import target_aliases, with_boards
from edgebench.fit.profile import Profile
from edgebench.fit.summarise import summarise
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import judge_all
from edgebench.plan.condition_declarations import declared_figures
from edgebench.store.load import StoredResults, load
from edgebench.store.records import ExperimentRecord


@dataclass(frozen=True)
class Judged:
    """The figures of a folder and the verdicts on them."""

    results: StoredResults
    profiles: tuple[Profile, ...]
    summaries: list[TrialSummary]
    verdicts: list[Verdict]
    notes: tuple[str, ...] = ()  # what was declared otherwise than by its run


def judge_folder(
    path: Path,
    profiles: Sequence[Profile] | None = None,
    declared_power: Sequence[str] = (),
    boards: Sequence[str] = (),
    declared_conditions: Sequence[str] = (),
) -> Judged:
    """Read, sum up and judge; without `profiles` by those that the experiment was run with.

    `boards` (`[TARGET=]NAME`) and `declared_power` (`[TARGET=]WATTS:KIND:SOURCE`) of a target take the place
    of what its run declared, here and not on disk, and so do `declared_conditions`, its boot time and
    temperatures; what is declared beats the boards'. UsageError as `fit.boards_of_targets.with_boards` and
    `plan.condition_declarations.declared_figures`.
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
    experiment = results.experiment
    notes: tuple[str, ...] = ()
    if boards:
        experiment, notes = with_boards(experiment, boards)
    if declared_power or declared_conditions:
        experiment = _with_declared(experiment, declared_power, declared_conditions)
    if experiment is results.experiment:
        return results, notes
    return StoredResults(results.path, experiment), notes


def _with_declared(
    record: ExperimentRecord, powers: Sequence[str], conditions: Sequence[str]
) -> ExperimentRecord:
    """The record whose targets have these figures; a revision answers to its target's names too."""
    declared = declared_figures(powers, conditions, target_aliases(record))
    targets = tuple(
        target.model_copy(
            update={
                **(figures := declared.get(target.name, {})),
                "from_boards": tuple(name for name in target.from_boards if name not in figures),
            }
        )
        for target in record.targets
    )
    return record.model_copy(update={"targets": targets})
