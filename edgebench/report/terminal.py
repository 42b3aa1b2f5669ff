"""The tables that a run ends with, made to read well at 80 columns and without colour."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import IO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from edgebench.fit.types import TrialSummary, Verdict
from edgebench.report import judged, words

STYLES = {"pass": "green", "fail": "bold red", "inconclusive": "yellow", "unknown": "magenta"}
_NARROW = 72  # columns below which a table of figures would have to cut them

_ASCII = str.maketrans(
    {"±": "+-", "≤": "<=", "≥": ">=", "…": "...", "·": "-", "×": "x", "–": "-", "\ufffd": "?"}
)


def make_console(file: IO[str] | None = None) -> Console:
    """A console on stdout that obeys NO_COLOR, TERM=dumb and COLUMNS, and reads no markup in its text."""
    return Console(file=file or sys.stdout, markup=False, emoji=False, highlight=False, soft_wrap=False)


def print_result(
    console: Console, summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict], *, figures: bool = True
) -> None:
    """Print the figures of every trial, then every profile's verdicts, grouped by target.

    Args:
        console: where to print; nothing is ever wider than it.
        summaries: the trials in the order in which they shall appear.
        verdicts: what they were judged to be; empty where no profile was asked for.
        figures: whether the table of figures is printed too, or the verdicts alone.
    """
    if not summaries:
        _line(console, "There are no trials in this result.")
        return
    names = words.labels(summaries)
    for target, group in by_target(summaries).items():
        if figures:
            _figures(console, target, group, names)
        if verdicts:
            _verdicts(console, target, group, verdicts, names)


def by_target(summaries: Iterable[TrialSummary]) -> dict[str, list[TrialSummary]]:
    """The trials of each target, in order."""
    found: dict[str, list[TrialSummary]] = {}
    for summary in summaries:
        found.setdefault(summary.target, []).append(summary)
    return found


def cell(console: Console, text: str, style: str = "") -> Text:
    """Text for this console: no markup, no control characters, plain ASCII where it takes nothing else."""
    cleaned = "\n".join(words.plain(line, 2000) for line in text.split("\n"))
    if console.options.ascii_only:
        cleaned = cleaned.translate(_ASCII).encode("ascii", "replace").decode("ascii")
    return Text(cleaned, style=style, overflow="fold")


def line(console: Console, text: str, style: str = "", indent: int = 0) -> None:
    """One paragraph, wrapped to the console, its continuation lines indented."""
    width = max(8, console.width - indent)
    wrapped = cell(console, text, style).wrap(console, width, overflow="fold")
    for number, part in enumerate(wrapped):
        part.rstrip()
        console.print(Text(" " * (indent if number else max(0, indent - 2))) + part)


_line = line


def new_table(console: Console, columns: Sequence[tuple[str, bool]]) -> Table:
    """A plain table; each column a heading and whether it holds figures (right-aligned, never folded)."""
    style = box.ASCII if console.options.ascii_only else box.SIMPLE_HEAD
    table = Table(box=style, pad_edge=False, show_edge=False, header_style="bold")
    for heading, is_figure in columns:
        table.add_column(
            cell(console, heading),
            justify="right" if is_figure else "left",
            no_wrap=is_figure,
            overflow="fold",
            vertical="top",
        )
    return table


def _figures(console: Console, target: str, group: Sequence[TrialSummary], names: dict[str, str]) -> None:
    line(console, f"{target}: {words.families(group)}", "bold")
    measured = [summary for summary in group if summary.image_s is not None or summary.infer_s is not None]
    if measured:
        headings = ("variant", "image_s [s]", "infer_s [s]", "right of n", "as fp32", "memory")
        rows = [
            (
                names[summary.key],
                words.interval(summary.image_s),
                words.interval(summary.infer_s),
                words.right_of(summary.accuracy),
                words.agreement(summary.agreement),
                words.size(summary.memory_bytes),
            )
            for summary in measured
        ]
        if console.width < _NARROW:
            for row in rows:
                console.print(cell(console, row[0], "bold"))
                for heading, text in zip(headings[1:], row[1:], strict=True):
                    line(console, f"{heading}: {text}", indent=4)
        else:
            table = new_table(console, [(heading, number > 0) for number, heading in enumerate(headings)])
            for row in rows:
                table.add_row(*(cell(console, text) for text in row))
            console.print(table)
    for note in _notes(group, names):
        line(console, note, indent=2)
    console.print()


def _notes(group: Sequence[TrialSummary], names: dict[str, str]) -> list[str]:
    """What the table of figures cannot say: why trials have none, and what is to be minded."""
    told: dict[str, list[str]] = {}
    for summary in group:
        label = names[summary.key]
        if summary.status != "done":
            told.setdefault(
                f"{summary.status.replace('_', ' ')}: {summary.reason or 'no reason was kept'}", []
            ).append(label)
        if summary.accuracy is None and summary.image_s is not None:
            told.setdefault(f"no accuracy: {summary.accuracy_reason}", []).append(label)
        if summary.image_s is not None and summary.image_s.low is None:
            told.setdefault(
                f"no interval from {words.counted(summary.image_s.sessions, 'session')}", []
            ).append(label)
        for warning in summary.warnings:
            told.setdefault(f"warning: {warning}", []).append(label)
    return [_note(text, who, len(group)) for text, who in told.items()]


def _note(text: str, who: Sequence[str], of: int) -> str:
    many = f"{who[0]} and {len(who) - 1} more" if len(who) > 4 else ", ".join(who)
    return f"{'all' if len(who) == of and of > 1 else many}: {text}"


def _verdicts(
    console: Console,
    target: str,
    group: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    names: dict[str, str],
) -> None:
    keys = {summary.key for summary in group}
    ours = [verdict for verdict in verdicts if verdict.trial in keys]
    found = judged.by_trial_and_profile(ours)
    profiles = judged.profiles(ours)
    latencies = {verdict.quantity for verdict in ours if verdict.quantity in judged.LATENCY}
    what = f"; below it {latencies.copy().pop()} alone, with its margin" if len(latencies) == 1 else ""
    line(console, f"{target}: verdicts on the whole profile{what}", "bold")
    room = max(1, (console.width - 14) // 22)
    for start in range(0, len(profiles), room):
        some = profiles[start : start + room]
        table = new_table(console, [("variant", False), *((profile, False) for profile in some)])
        for summary in group:
            cells = [cell(console, names[summary.key])]
            cells += [
                _verdict_cell(console, found.get((summary.key, profile), []), len(latencies) > 1)
                for profile in some
            ]
            table.add_row(*cells)
        console.print(table)
    for one in judged.shared(ours):
        if one.word != "pass":
            line(console, one.sentence(), indent=2)
    console.print()


def _verdict_cell(console: Console, verdicts: Sequence[Verdict], named: bool) -> Text:
    if not verdicts:
        return cell(console, words.MISSING)
    word = judged.overall(verdicts)
    text = cell(console, word, STYLES[word])
    for verdict in verdicts:
        if verdict.quantity in judged.LATENCY:
            text.append("\n")
            if named:
                text.append(cell(console, f"{verdict.quantity} "))
            text.append(cell(console, verdict.verdict, STYLES[verdict.verdict]))
            if verdict.margin is not None:
                text.append(cell(console, f" {words.margin(verdict)}"))
    return text
