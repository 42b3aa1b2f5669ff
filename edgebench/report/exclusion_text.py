"""Which requirements exclude targets, in sentences, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.fit.excluded_by import ExcludedBy
from edgebench.report import words


def exclusion_sentences(rows: Sequence[ExcludedBy]) -> list[str]:
    """One sentence a target that a requirement excludes; profiles for which it says the same share it.

    `nano is excluded from disco-realtime by peak power: all 9 trials fail it`.
    """
    excluding: dict[tuple[str, str, int], list[str]] = {}
    for row in rows:
        for entry in row.targets:
            if entry.excluded:
                about = (words.plain(entry.target, 60), words.plain(row.requirement, 64), entry.trials)
                excluding.setdefault(about, []).append(words.plain(row.profile, 80))
    return [
        f"{target} is excluded from {words.listed(profiles)} by {requirement}: "
        + {1: "its one trial fails it", 2: "both trials fail it"}.get(trials, f"all {trials} trials fail it")
        for (target, requirement, trials), profiles in excluding.items()
    ]
