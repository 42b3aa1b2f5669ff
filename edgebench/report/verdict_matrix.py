"""Trials against the requirements of a profile: a row a trial, the best first, for every form of a report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console

from edgebench.judge.decision import Decision, settled_by
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.judge.verdict import WORDS, Overall, Word
from edgebench.report import answer, tables, words
from edgebench.report import notes as verdict_groups
from edgebench.report.console import cell, line, new_table

MOST_ROWS = 24
"""That are seen at once, some of every target; the others are folded away behind them."""


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
        unit: of the margin, with its space.
    """

    word: Word
    formula: str
    margin: str = ""
    ends: str = ""
    basis: str = ""
    by: str = ""
    reason: str = ""
    unit: str = ""

    @property
    def short(self) -> str:
        """`✓ +1.40`, for below the unit; without a margin the word."""
        return f"{words.SYMBOLS[self.word]} {self.margin.removesuffix(self.unit) or self.word}"

    @property
    def text(self) -> str:
        """`✓ +1.40 s (+1.38 to +1.42)`; without a margin the word."""
        behind = ", ".join(filter(None, (self.ends, self.basis)))
        figure = self.margin or self.word
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
        rows: as many as are seen at once, of every target its best ones.
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
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    decisions: Sequence[Decision] = (),
    names: Mapping[str, str] | None = None,
) -> dict[str, Matrix]:
    """By profile, as many as the verdicts are of; the trial that a decision names stands first.

    `names` are what the trials are called, by key. Default: `tables.trial_names`.
    """
    chosen = {decision.profile: decision.trial for decision in decisions}
    names = names or tables.trial_names(summaries)
    trials = {summary.key: summary for summary in summaries}
    by_profile: dict[str, list[Overall]] = {}
    for (trial, profile), whole in verdict_groups.wholes(verdicts).items():
        of_profile = by_profile.setdefault(profile, [])
        if trial in trials:
            of_profile.append(whole)
    return {
        profile: _matrix(profile, best_first(wholes, trials, chosen.get(profile)), trials, names)
        for profile, wholes in by_profile.items()
    }


def _matrix(
    profile: str, wholes: Sequence[Overall], trials: Mapping[str, TrialSummary], names: Mapping[str, str]
) -> Matrix:
    asked = verdict_groups.requirements([verdict for whole in wholes for verdict in whole.verdicts])
    rows = []
    rank: Counter[str] = Counter()
    places = []
    for place, whole in enumerate(wholes):
        trial = trials[whole.trial]
        cells = {verdict.requirement: cell_of(trial, verdict) for verdict in whole.verdicts}
        rows.append(Row(names[whole.trial], _whole_cell(trial, whole), tuple(map(cells.get, asked))))
        rank[trial.target] += 1
        places.append((rank[trial.target], place))
    seen = {place for _, place in sorted(places)[:MOST_ROWS]}
    return Matrix(
        f"{words.plain(profile, 80)}: trials and requirements",
        tuple(_column(verdict, [row.cells[at] for row in rows]) for at, verdict in enumerate(asked.values())),
        tuple(row for place, row in enumerate(rows) if place in seen),
        tuple(row for place, row in enumerate(rows) if place not in seen),
    )


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
        words.margin_unit(verdict),
    )


# The matrix on the terminal.


STYLES = {"✓": "green", "✕": "bold red", "≈": "yellow", "?": "magenta", "▲": "green", "▼": "bold red"}
"""Colours of verdicts and of comparisons, by the symbol before the word."""

_GAP = 3  # between two columns
_LONGEST_NAME = 28  # of a trial or target, in columns; a longer one folds


def print_verdicts(
    console: Console,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    decisions: Sequence[Decision] = (),
) -> None:
    """Print the answer to each profile, its matrix, and why whatever does not pass does not."""
    answers = {decision.profile: answer.answer_of(decision, summaries, verdicts) for decision in decisions}
    for profile, matrix in matrices(summaries, verdicts, decisions).items():
        line(console, f"Verdicts by {words.plain(profile, 80)}", "bold")
        for sentence in answers[profile].sentences if profile in answers else ():
            line(console, sentence)
        print_matrix(console, matrix)
    symbols = ", ".join(f"{symbol} {word}" for word, symbol in words.SYMBOLS.items())
    line(console, f"{symbols}; behind it the margin, in the limit's unit")
    for sentence in _sentences(summaries, verdicts):
        line(console, sentence, indent=2)
    console.print()


_TerminalColumn = tuple[str, Sequence[Cell | None]]


def print_matrix(console: Console, matrix: Matrix) -> None:
    """Print it; columns that have no room stand in blocks below each other.

    Every block begins with the trials' names, so that no cell is cut and none is read in another's row.
    """
    names = min(_LONGEST_NAME, max((cell_len(row.name) for row in matrix.rows), default=0))
    columns: list[_TerminalColumn] = [("all\ntogether", [row.whole for row in matrix.rows])]
    for at, column in enumerate(matrix.columns):
        heading = "\n".join([*column.quantity.split(" ", 1), column.bound.replace(" x ", "\nx ")])
        columns.append((heading, [row.cells[at] for row in matrix.rows]))
    for block in _blocks(columns, console.width - names):
        table = new_table(console, [("", False), *((heading, False) for heading, _ in block)])
        table.columns[0].width = table.columns[0].max_width = min(names, console.width // 2)
        for at, row in enumerate(matrix.rows):
            of_row = [cells[at] for _, cells in block]
            texts = (cell(console, each.short, STYLES[each.short[0]]) if each else "" for each in of_row)
            table.add_row(cell(console, row.name), *texts)
        console.print(table)
    if matrix.folded:
        line(console, f"{matrix.rest}.", indent=2)
    console.print()


def _blocks(columns: Sequence[_TerminalColumn], room: int) -> Iterator[list[_TerminalColumn]]:
    """As many columns a block as there is room for beside the names; one at least."""
    block: list[_TerminalColumn] = []
    taken = 0
    for heading, cells in columns:
        texts = [*heading.split("\n"), *(each.short for each in cells if each)]
        width = max(map(cell_len, texts)) + _GAP
        if block and taken + width > room:
            yield block
            block, taken = [], 0
        block.append((heading, cells))
        taken += width
    yield block


def _sentences(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> list[str]:
    """Why requirements are not passed, or that declared power passes them; what targets share, once."""
    groups = verdict_groups.by_target(summaries)
    targets = words.grouped(
        (shared.sentence(), words.plain(target, 60))
        for target, group in groups.items()
        for shared in verdict_groups.shared_verdicts(verdict_groups.of_measured(verdicts, group), group)
        if shared.word != "pass" or shared.declared
    )
    several = len(groups) > 1
    return [f"{words.listed(who)}: {text}" if several else text for text, who in targets.items()]
