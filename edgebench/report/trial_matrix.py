"""Trials against the requirements of a profile: a row a trial, the best first, for the page and Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgebench.fit.decision import Decision
from edgebench.fit.settling import settled_by
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import WORDS, Overall, Word
from edgebench.report import tables, verdict_groups, words

MOST_ROWS = 16
"""That are seen at once; the others are folded away behind them."""


@dataclass(frozen=True)
class Cell:
    """One requirement of one trial, or all of them together.

    Attributes:
        margin: what is left to the limit, or the bound that alone is known; empty where there is neither.
        ends: of the margin's interval; empty without one.
        basis: of power and energy what the meter covers, or what was declared.
        by: what would settle it; empty where it is settled, or nothing is known to.
        reason: why it is so, behind the figure.
        formula: the requirement.
    """

    word: Word
    formula: str
    margin: str = ""
    ends: str = ""
    basis: str = ""
    by: str = ""
    reason: str = ""

    @property
    def text(self) -> str:
        """`✓ +1.40 s (+1.38 to +1.42)`; without a margin the word."""
        figure = self.margin or self.word
        behind = ", ".join(filter(None, (self.ends, self.basis)))
        return f"{words.SYMBOLS[self.word]} {figure}" + (f" ({behind})" if behind else "")

    @property
    def hint(self) -> str:
        """Why it is so, and what would settle it."""
        return f"{self.reason}; to settle: {self.by}" if self.by else self.reason


@dataclass(frozen=True)
class Row:
    """A trial; None of a requirement that it was not judged by."""

    name: str
    whole: Cell
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Column:
    """A requirement: `image_s median`, `≤ 4.42 s`, and what would settle it wherever it is open.

    `by` is empty where it differs between trials, and where it is open of fewer than two of them.
    """

    quantity: str
    bound: str
    by: str
    formula: str


@dataclass(frozen=True)
class Matrix:
    """The trials of one profile, best first.

    Attributes:
        columns: the requirements, in the profile's order.
        rows: the first MOST_ROWS.
        folded: the others.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    folded: tuple[Row, ...]

    @property
    def rest(self) -> str:
        """`The other 92 trials: 90 fail, 2 unknown`."""
        counts = {word: sum(row.whole.word == word for row in self.folded) for word in reversed(WORDS)}
        each = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        return f"The other {words.counted(len(self.folded), 'trial')}: {each}"


def matrices(
    summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict], decisions: Sequence[Decision] = ()
) -> dict[str, Matrix]:
    """By profile, as many as the verdicts are of; the trial that a decision names stands first."""
    chosen = {decision.profile: decision.trial for decision in decisions}
    names = tables.trial_names(summaries)
    trials = {summary.key: summary for summary in summaries}
    by_profile: dict[str, list[Overall]] = {}
    for (trial, profile), whole in verdict_groups.wholes(verdicts).items():
        of_profile = by_profile.setdefault(profile, [])
        if trial in trials:
            of_profile.append(whole)
    matrix_of = {}
    for profile, wholes in by_profile.items():
        asked = verdict_groups.requirements([each for whole in wholes for each in whole.verdicts])
        rows = [
            _row(whole, trials[whole.trial], list(asked), names)
            for whole in best_first(wholes, trials, chosen.get(profile))
        ]
        matrix_of[profile] = Matrix(
            f"{words.plain(profile, 80)}: trials and requirements",
            tuple(
                _column(verdict, [row.cells[at] for row in rows]) for at, verdict in enumerate(asked.values())
            ),
            tuple(rows[:MOST_ROWS]),
            tuple(rows[MOST_ROWS:]),
        )
    return matrix_of


def _column(verdict: Verdict, cells: Sequence[Cell | None]) -> Column:
    ways = [cell.by for cell in cells if cell and cell.by]
    shared = ways[0] if len(ways) > 1 and len(set(ways)) == 1 else ""
    return Column(*words.required(verdict), shared, words.limit(verdict))


def best_first(
    wholes: Sequence[Overall], trials: Mapping[str, TrialSummary], first: str | None = None
) -> list[Overall]:
    """Those that pass, then what is open, then what fails: by how many requirements, by how much, how quick.

    The trial of the key `first` goes before all, and what was not measured comes last.
    """

    def standing(whole: Overall) -> tuple[float, ...]:
        trial = trials[whole.trial]
        required = [verdict for verdict in whole.verdicts if not verdict.wanted]
        failed = [verdict for verdict in required if verdict.verdict == "fail"]
        is_open = sum(verdict.verdict in ("unknown", "inconclusive") for verdict in required)
        missed_by = max((_missed_by(verdict) for verdict in failed), default=0.0)
        return (
            whole.trial != first,
            trial.status not in ("done", "partial"),
            len(failed),
            missed_by,
            is_open,
            math.inf if trial.latency is None else trial.latency.median,
        )

    return sorted(wholes, key=standing)


def _missed_by(verdict: Verdict) -> float:
    """A miss as a multiple of the limit; of a bound, whose figure nobody knows, the most."""
    if verdict.margin is None or isinstance(verdict.limit, Sequence):
        return math.inf if verdict.margin is None else -verdict.margin
    return -verdict.margin / (abs(verdict.limit) or 1.0)


def _row(whole: Overall, trial: TrialSummary, asked: Sequence[str], names: Mapping[str, str]) -> Row:
    cells = {verdict.requirement: cell_of(trial, verdict) for verdict in whole.verdicts}
    return Row(
        names[whole.trial],
        _whole_cell(trial, whole),
        tuple(cells.get(requirement) for requirement in asked),
    )


def _whole_cell(trial: TrialSummary, whole: Overall) -> Cell:
    """All requirements; of a trial without a session why it has none, which holds for each of them."""
    first = whole.verdicts[0]
    if trial.status in ("done", "partial"):
        return Cell(whole.verdict, "all together")
    by, reason = settled_by(trial, first), words.plain(first.reason)
    return Cell(whole.verdict, "all together", by=by, reason=reason)


def cell_of(trial: TrialSummary, verdict: Verdict) -> Cell:
    """One verdict."""
    margin, ends = words.margin(verdict), words.margin_ends(verdict)
    if verdict.margin is None:
        margin = words.span(verdict) if verdict.bound else ""
    value = words.value(verdict)
    figure = "" if value == words.MISSING else f"{value}: "
    return Cell(
        verdict.verdict,
        words.limit(verdict),
        margin,
        ends,
        words.basis(verdict) if margin else "",
        settled_by(trial, verdict) if trial.status in ("done", "partial") else "",
        f"{figure}{words.plain(verdict.reason)}",
    )
