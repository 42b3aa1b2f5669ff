"""What a judged result says beyond its verdicts, as short paragraphs below them on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from edgebench.fit.answers import Answers
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report.console import line
from edgebench.report.exclusion_text import exclusion_sentences
from edgebench.report.nearest_text import nearest_sentences
from edgebench.report.pareto_text import pareto_sentences
from edgebench.report.ranking_text import ranking_sentences


def print_answers(console: Console, answers: Answers, summaries: Sequence[TrialSummary]) -> None:
    """Print those that say something; `summaries` are the trials that were judged."""
    _print(console, "What would pass", nearest_sentences(answers.nearest, summaries))
    _print(console, "Pareto front", pareto_sentences(answers.pareto, summaries))
    _print(console, "Ranking by weighted margins", ranking_sentences(answers.ranking, summaries))
    _print(console, "What excludes targets", exclusion_sentences(answers.excluded_by))


def _print(console: Console, heading: str, sentences: Sequence[str]) -> None:
    if not sentences:
        return
    line(console, heading, "bold")
    for sentence in sentences:
        line(console, sentence, indent=2)
    console.print()
