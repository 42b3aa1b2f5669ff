"""The verdicts on the terminal: trials against requirements, profile by profile, and what they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from edgebench.fit.decision import Decision
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import WORDS, Overall
from edgebench.report import answer, verdict_groups, words
from edgebench.report.console import cell, line, new_table
from edgebench.report.trial_matrix import best_first

_STYLES = {"pass": "green", "fail": "bold red", "inconclusive": "yellow", "unknown": "magenta"}
_WHOLE = "all together"
_GAP = 3  # between two columns
MOST_ROWS = 27
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
class Row:
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
) -> list[Row]:
    """A row a trial of one profile, the best first; where there are several targets, below the target's name.

    Targets stand in the order of their best trials, `first` before all. Of more than MOST_ROWS trials each
    target shows as many as have room, and what its others come to; many targets show their best trial alone.
    """
    trials = {summary.key: summary for summary in summaries}
    wholes = [whole for whole in verdict_groups.wholes(verdicts).values() if whole.trial in trials]
    groups: dict[str, list[Overall]] = {}
    for whole in best_first(wholes, trials, first):
        groups.setdefault(trials[whole.trial].target, []).append(whole)
    room = MOST_ROWS if len(wholes) <= MOST_ROWS else MOST_ROWS // len(groups)
    if room < _LEAST_OF_TARGET and len(groups) < len(wholes):
        best = [group[0] for group in groups.values()][:MOST_ROWS]
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
            rows.append(Row(words.plain(target, 60), {}))
        indent = " " if len(groups) > 1 else ""
        for whole in group[:room]:
            rows.append(_trial_row(f"{indent}{names[whole.trial]}", whole))
        if others := group[room:]:
            rows.append(_rest_row(others, indent))
    return rows


def _trial_row(name: str, whole: Overall) -> Row:
    cells = {_WHOLE: (_with_word(whole.verdict), str(whole.verdict))}
    return Row(name, cells | {each.requirement: (_cell_text(each), each.verdict) for each in whole.verdicts})


def _rest_row(wholes: Sequence[Overall], indent: str) -> Row:
    """How many more there are, and the best that each column comes to."""
    cells = {_WHOLE: _best_word([whole.verdict for whole in wholes])}
    by_requirement: dict[str, list[str]] = {}
    for whole in wholes:
        for verdict in whole.verdicts:
            by_requirement.setdefault(verdict.requirement, []).append(verdict.verdict)
    cells |= {requirement: _best_word(verdict_words) for requirement, verdict_words in by_requirement.items()}
    return Row(f"{indent}{len(wholes)} more", cells)


def _best_word(verdict_words: Sequence[str]) -> tuple[str, str]:
    """`8 ✕`, or `6 ✓ of 8`: the best verdict and how many have it."""
    best = next(word for word in reversed(WORDS) if word in verdict_words)
    count = verdict_words.count(best)
    of_all = "" if count == len(verdict_words) else f" of {len(verdict_words)}"
    return f"{count} {words.SYMBOLS[best]}{of_all}", best


def print_matrix(console: Console, rows: Sequence[Row], verdicts: Sequence[Verdict]) -> None:
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


def _columns(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> list[_Column]:
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


def _texts(rows: Sequence[Row], name: str) -> list[str]:
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
        for shared in verdict_groups.shared(verdict_groups.of_measured(ours, group), group):
            if shared.word != "pass" or shared.declared:
                targets.setdefault(shared.sentence(), []).append(words.plain(target, 60))
    several = len(groups) > 1
    return [f"{words.listed(who)}: {text}" if several else text for text, who in targets.items()]
