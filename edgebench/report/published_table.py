"""Published figures on the terminal: a table a profile, then what every verdict rests on, with its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from edgebench.fit.decision import decisions
from edgebench.fit.judged_experiment import Judged
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.report import notes, verdict_groups, verdict_matrix, words
from edgebench.report.answer import answer_of
from edgebench.report.console import line


def print_published(console: Console, judged: Judged) -> None:
    """Print the verdicts on published figures, target by target; nothing is ever wider than the console."""
    names = _names(judged.summaries)
    decided = decisions(judged.summaries, judged.verdicts, [])  # nothing is proposed of what others measured
    line(console, "Published figures: none of them was measured here", "bold")
    for profile in verdict_groups.profiles(judged.verdicts):
        console.print()
        line(console, profile, "bold")
        verdicts = [verdict for verdict in judged.verdicts if verdict.profile == profile]
        for decision in decided:
            if decision.profile == profile:
                line(console, answer_of(decision, judged.summaries, verdicts).headline)
        _print_profile(console, judged.summaries, verdicts, names)
    console.print()
    line(console, "What the verdicts rest on", "bold")
    for reason in _reasons(judged, names):
        line(console, reason, indent=2)
    line(console, "Of all else that these profiles ask for nothing was published.", indent=2)
    if unasked := _unasked(judged):
        line(console, f"Published, and asked for by none of them: {unasked}.", indent=2)
    console.print()


def _names(summaries: Sequence[TrialSummary]) -> dict[str, str]:
    """What each trial is called: its target, with what tells it from the others of that."""
    names = {}
    for target, group in verdict_groups.by_target(summaries).items():
        labels = words.labels(group)
        name = words.plain(target, 60)
        for summary in group:
            names[summary.key] = name if len(group) == 1 else f"{name} {labels[summary.key]}"
    return names


def _print_profile(
    console: Console, summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict], names: dict[str, str]
) -> None:
    """One row a target, or a trial of one whose trials have different verdicts."""
    rows = []
    for target, group in verdict_groups.by_target(summaries).items():
        of_group = verdict_matrix.rows_of(group, verdicts, names)
        alike = all(row.cells == of_group[0].cells for row in of_group)
        rows += [replace(of_group[0], name=words.plain(target, 60))] if alike else of_group
    verdict_matrix.print_matrix(console, rows, verdicts)


def _reasons(judged: Judged, names: dict[str, str]) -> list[str]:
    """Each reason that a source stands behind, once, with its trials and what came of it."""
    published = {(each.key, figure.quantity) for each in judged.summaries for figure in each.published}
    statements = dict.fromkeys(
        (verdict.trial, f"{verdict.quantity} {verdict.verdict}: {verdict.reason}")
        for verdict in judged.verdicts
        if (verdict.trial, verdict.quantity) in published
    )
    trials = notes.Trials.of(judged.summaries, names)
    return [note.line for note in notes.shared(statements, trials)]


def _unasked(judged: Judged) -> str:
    """Which quantities were published that no requirement is about, each with its targets."""
    asked = {verdict.quantity for verdict in judged.verdicts}
    targets: dict[str, dict[str, None]] = {}
    for summary in judged.summaries:
        for figure in summary.published:
            if figure.quantity not in asked and figure.value is not None:
                targets.setdefault(figure.quantity, {})[words.plain(summary.target, 60)] = None
    return "; ".join(f"{quantity} of {words.listed(list(names))}" for quantity, names in targets.items())
