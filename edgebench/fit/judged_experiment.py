"""A result folder, summed up and judged: what `show`, `fit`, `report` and `run` all end with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgebench.fit.profile import Profile
from edgebench.fit.summarise import summarise
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import judge_all
from edgebench.store.load import Results, load


@dataclass(frozen=True)
class Judged:
    """The figures of a folder and the verdicts on them."""

    results: Results
    profiles: tuple[Profile, ...]
    summaries: list[TrialSummary]
    verdicts: list[Verdict]


def judge_folder(path: Path, profiles: Sequence[Profile] | None = None) -> Judged:
    """Read, sum up and judge; without `profiles` by those that the experiment was run with."""
    results = load(path)
    if profiles is None:
        profiles = [Profile.from_record(record) for record in results.experiment.profiles]
    summaries = summarise(results)
    return Judged(results, tuple(profiles), summaries, judge_all(summaries, profiles))
