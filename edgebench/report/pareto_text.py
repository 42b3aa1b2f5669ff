"""Pareto fronts in sentences, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.fit.pareto import Front
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import notes, words
from edgebench.report.notes import Trials
from edgebench.report.tables import trial_names


def pareto_sentences(fronts: Sequence[Front], summaries: Sequence[TrialSummary]) -> list[str]:
    """One sentence a front; profiles whose fronts are the same share it. None of a single trial.

    `disco-realtime over image_s median and accuracy: on the front 0.25 int8; dominated 0.25 fp32`.
    """
    trials = Trials.of(summaries, trial_names(summaries))
    profiles: dict[str, list[str]] = {}
    for front in fronts:
        if len(front.trials) + len({lack.trial for lack in front.lacking}) > 1:
            profiles.setdefault(_stands(front, trials), []).append(words.plain(front.profile, 80))
    return [
        f"{words.listed(names)} {text}" if any(names) else f"{text[0].upper()}{text[1:]}"
        for text, names in profiles.items()
    ]


def _stands(front: Front, trials: Trials) -> str:
    axes = [words.judged_quantity(axis.quantity, axis.statistic, axis.averaging_s) for axis in front.axes]
    parts = []
    by_standing: dict[str, list[str]] = {}
    overlaps: dict[str, None] = {}
    for trial in front.trials:
        by_standing.setdefault(trial.standing, []).append(trial.trial)
        overlaps |= dict.fromkeys(words.plain(quantity, 40) for quantity in trial.overlaps)
    if ahead := by_standing.get("front"):
        parts.append(f"on the front {trials.several(ahead)}")
    if behind := by_standing.get("overlapping"):
        parts.append(
            f"behind it by value, but with overlapping intervals of {words.listed(list(overlaps))}, "
            f"{trials.several(behind)}"
        )
    if dominated := by_standing.get("dominated"):
        parts.append(f"dominated {trials.several(dominated)}")
    lacks = [(lack.trial, f"no {words.plain(lack.quantity, 40)}: {lack.reason}") for lack in front.lacking]
    parts += [note.line for note in notes.shared(lacks, trials)]
    return f"over {words.listed(axes)}: {'; '.join(parts)}"
