"""The verdicts on the terminal: trials against requirements, profile by profile, and what they rest on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from edgebench.judge.decision import Decision, settled_by
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.judge.verdict import WORDS, Overall, Word
from edgebench.report import answer, tables, words
from edgebench.report import notes as verdict_groups
from edgebench.report.console import cell, line, new_table

# Trials against the requirements of a profile: a row a trial, the best first, for the page and Markdown.


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


_STYLES = {"pass": "green", "fail": "bold red", "inconclusive": "yellow", "unknown": "magenta"}
_WHOLE = "all together"
_GAP = 3  # between two columns
MOST_MATRIX_ROWS = 27
"""Trials of a matrix; of more, those of each target that do not stand first are counted in a row."""

_LEAST_OF_TARGET = 4
"""Rows of a target, where some of its trials are left out."""

_LONGEST_NAME = 28  # of a trial or target, in columns; a longer one folds


@dataclass(frozen=True)
class _Column:
    """One requirement, or the whole: its heading and the width of its widest line."""

    name: str
    heading: str
    width: int


@dataclass(frozen=True)
class MatrixRow:
    """One line of a matrix: (text, verdict's word) by heading; a target's own line has none."""

    name: str
    cells: Mapping[str, tuple[str, str]]


def print_verdicts(
    console: Console,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    decisions: Sequence[Decision] = (),
) -> None:
    """Print the answer to each profile, its matrix, and why whatever does not pass does not."""
    for profile in verdict_groups.profiles(verdicts):
        ours = [verdict for verdict in verdicts if verdict.profile == profile]
        decided = next((decision for decision in decisions if decision.profile == profile), None)
        line(console, f"Verdicts by {words.plain(profile, 80)}", "bold")
        if decided is not None:
            for sentence in answer.answer_of(decided, summaries, ours).sentences:
                line(console, sentence)
        rows = rows_of(summaries, ours, words.labels(summaries), decided.trial if decided else None)
        print_matrix(console, rows, ours)
    line(console, _legend())
    for sentence in _sentences(summaries, verdicts):
        line(console, sentence, indent=2)
    console.print()


def rows_of(
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    names: Mapping[str, str],
    first: str | None = None,
) -> list[MatrixRow]:
    """A row a trial of one profile, the best first; where there are several targets, below the target's name.

    Targets stand in the order of their best trials, `first` before all. Of more than MOST_ROWS trials each
    target shows as many as have room, and what its others come to; many targets show their best trial alone.
    """
    trials = {summary.key: summary for summary in summaries}
    wholes = [whole for whole in verdict_groups.wholes(verdicts).values() if whole.trial in trials]
    groups: dict[str, list[Overall]] = {}
    for whole in best_first(wholes, trials, first):
        groups.setdefault(trials[whole.trial].target, []).append(whole)
    room = MOST_MATRIX_ROWS if len(wholes) <= MOST_MATRIX_ROWS else MOST_MATRIX_ROWS // len(groups)
    if room < _LEAST_OF_TARGET and len(groups) < len(wholes):
        best = [group[0] for group in groups.values()][:MOST_MATRIX_ROWS]
        shown = {whole.trial for whole in best}
        rest = [whole for whole in wholes if whole.trial not in shown]
        named = [
            _trial_row(f"{words.plain(trials[whole.trial].target, 60)} {names[whole.trial]}", whole)
            for whole in best
        ]
        return [*named, _rest_row(rest, "")]
    rows = []
    for target, group in groups.items():
        if len(groups) > 1:
            rows.append(MatrixRow(words.plain(target, 60), {}))
        indent = " " if len(groups) > 1 else ""
        for whole in group[:room]:
            rows.append(_trial_row(f"{indent}{names[whole.trial]}", whole))
        if others := group[room:]:
            rows.append(_rest_row(others, indent))
    return rows


def _trial_row(name: str, whole: Overall) -> MatrixRow:
    cells = {_WHOLE: (_with_word(whole.verdict), str(whole.verdict))}
    return MatrixRow(
        name, cells | {each.requirement: (_cell_text(each), each.verdict) for each in whole.verdicts}
    )


def _rest_row(wholes: Sequence[Overall], indent: str) -> MatrixRow:
    """How many more there are, and the best that each column comes to."""
    cells = {_WHOLE: _best_word([whole.verdict for whole in wholes])}
    by_requirement: dict[str, list[str]] = {}
    for whole in wholes:
        for verdict in whole.verdicts:
            by_requirement.setdefault(verdict.requirement, []).append(verdict.verdict)
    cells |= {requirement: _best_word(verdict_words) for requirement, verdict_words in by_requirement.items()}
    return MatrixRow(f"{indent}{len(wholes)} more", cells)


def _best_word(verdict_words: Sequence[str]) -> tuple[str, str]:
    """`8 ✕`, or `6 ✓ of 8`: the best verdict and how many have it."""
    best = next(word for word in reversed(WORDS) if word in verdict_words)
    count = verdict_words.count(best)
    of_all = "" if count == len(verdict_words) else f" of {len(verdict_words)}"
    return f"{count} {words.SYMBOLS[best]}{of_all}", best


def print_matrix(console: Console, rows: Sequence[MatrixRow], verdicts: Sequence[Verdict]) -> None:
    """Print the rows of one profile; columns that have no room stand in blocks below each other.

    Every block begins with the trials' names, so that no cell is cut and none is read in another's row.
    """
    names = min(_LONGEST_NAME, max(cell_len(row.name) for row in rows))
    for block in _blocks(_columns(rows, verdicts), console.width - names):
        table = new_table(console, [("", False), *((column.heading, False) for column in block)])
        table.columns[0].width = table.columns[0].max_width = min(names, console.width // 2)
        for row in rows:
            texts = [row.cells.get(column.name, ("", "")) for column in block]
            first = cell(console, row.name, "" if row.cells else "bold")
            table.add_row(first, *(_styled(console, *text) for text in texts))
        console.print(table)
    console.print()


def _columns(rows: Sequence[MatrixRow], verdicts: Sequence[Verdict]) -> list[_Column]:
    headings = {_WHOLE: "all\ntogether"}
    for name, verdict in verdict_groups.requirements(verdicts).items():
        quantity, bound = words.required(replace(verdict, wanted=False))
        parts = [*quantity.split(" ", 1), *bound.rsplit(" x ", 1)]
        if " x " in bound:  # the sides of a body
            parts[-1] = f"x {parts[-1]}"
        headings[name] = "\n".join([*parts, *(["wanted"] if verdict.wanted else [])])
    return [
        _Column(name, heading, max(map(cell_len, [*heading.split("\n"), *_texts(rows, name)])))
        for name, heading in headings.items()
    ]


def _texts(rows: Sequence[MatrixRow], name: str) -> list[str]:
    return [row.cells[name][0] for row in rows if name in row.cells]


def _blocks(columns: Sequence[_Column], room: int) -> Iterator[list[_Column]]:
    """As many columns a block as there is room for beside the names; one at least."""
    block: list[_Column] = []
    for column in columns:
        if block and sum(each.width + _GAP for each in [*block, column]) > room:
            yield block
            block = []
        block.append(column)
    if block:
        yield block


def _styled(console: Console, text: str, word: str) -> Text:
    return cell(console, text, _STYLES.get(word, ""))


def _with_word(word: str) -> str:
    return f"{words.SYMBOLS[word]} {word}"


def _cell_text(verdict: Verdict) -> str:
    """The symbol and the margin, in the unit of the limit above it; else the bound, else the word."""
    if verdict.margin is None:
        end = verdict.high if verdict.low is None else verdict.low
        if verdict.bound and end is not None:
            return f"{words.SYMBOLS[verdict.verdict]} {verdict.bound} {words.number(end)}"
        return _with_word(verdict.verdict)
    return f"{words.SYMBOLS[verdict.verdict]} {words.signed(verdict.margin)}"


def _legend() -> str:
    symbols = ", ".join(_with_word(word) for word in words.SYMBOLS)
    return f"{symbols}; behind it the margin, in the limit's unit"


def _sentences(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> list[str]:
    """Why requirements are not passed, or that declared power passes them; what targets share, once."""
    targets: dict[str, list[str]] = {}
    groups = verdict_groups.by_target(summaries)
    for target, group in groups.items():
        keys = {summary.key for summary in group}
        ours = [verdict for verdict in verdicts if verdict.trial in keys]
        for shared in verdict_groups.shared_verdicts(verdict_groups.of_measured(ours, group), group):
            if shared.word != "pass" or shared.declared:
                targets.setdefault(shared.sentence(), []).append(words.plain(target, 60))
    several = len(groups) > 1
    return [f"{words.listed(who)}: {text}" if several else text for text, who in targets.items()]
