"""What a judged result says beyond its verdicts, in short paragraphs: terminal, page and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from edgebench.fit.answers import Answers
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import words
from edgebench.report.console import line
from edgebench.report.exclusion_text import exclusion_sentences
from edgebench.report.nearest_text import nearest_sentences
from edgebench.report.pareto_text import pareto_sentences
from edgebench.report.ranking_text import ranking_sentences

MOST_CHARACTERS = 4000
"""Of a sentence, whatever the names in it."""


def paragraphs(answers: Answers, summaries: Sequence[TrialSummary]) -> list[tuple[str, list[str]]]:
    """Heading and sentences of those that say something; `summaries` are the trials that were judged."""
    every = [
        ("What would pass", nearest_sentences(answers.nearest, summaries)),
        ("Pareto front", pareto_sentences(answers.pareto, summaries)),
        ("Ranking by weighted margins", ranking_sentences(answers.ranking, summaries)),
        ("What excludes targets", exclusion_sentences(answers.excluded_by)),
    ]
    return [
        (heading, [words.plain(sentence, MOST_CHARACTERS) for sentence in sentences])
        for heading, sentences in every
        if sentences
    ]


def print_answers(console: Console, answers: Answers, summaries: Sequence[TrialSummary]) -> None:
    """Print them."""
    for heading, sentences in paragraphs(answers, summaries):
        line(console, heading, "bold")
        for sentence in sentences:
            line(console, sentence, indent=2)
        console.print()
