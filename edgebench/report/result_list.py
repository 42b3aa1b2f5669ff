"""What `edgebench results` prints: a line a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from edgebench.report import words
from edgebench.report.console import cell, line, new_table
from edgebench.report.results_document import VERDICT_WORDS
from edgebench.store.result_listing import UnreadableResult
from edgebench.store.result_overview import ResultOverview

_STYLES = {"pass": "green", "fail": "bold red", "inconclusive": "yellow", "unknown": ""}
_ENDS = {"time": "time was over", "interrupted": "interrupted", "error": "ended by an error"}
_TARGETS = 3  # named in a cell


def print_results(
    console: Console, rows: Sequence[ResultOverview], unreadable: Sequence[UnreadableResult], output_dir: Path
) -> None:
    """Print the results newest first; below them what the signs mean and what cannot be read."""
    if rows:
        table = new_table(
            console,
            [
                ("result", False),
                ("begun (UTC)", True),
                ("targets", False),
                ("trials", True),
                ("verdicts", True),
            ],
        )
        for row in rows:
            name = f"{row.path.name} (latest)" if row.latest else row.path.name
            table.add_row(
                cell(console, name, "bold" if row.latest else ""),
                cell(console, row.begun_utc[:16].replace("T", " ") or words.MISSING),
                cell(console, _targets(row)),
                cell(console, _trials(row)),
                _verdicts(console, row),
            )
        console.print(table)
        for note in _notes(rows):
            line(console, note, indent=2)
    else:
        line(console, f"There is no result in {output_dir}.")
        line(console, "Measure first: edgebench run --device cpu --profile disco-realtime --quick", indent=2)
    for each in unreadable:
        line(console, f"{each.path.name}: {each.reason}", "yellow", indent=2)


def _targets(row: ResultOverview) -> str:
    named = ", ".join(row.targets[:_TARGETS])
    more = len(row.targets) - _TARGETS
    return f"{named} and {more} more" if more > 0 else named


def _trials(row: ResultOverview) -> str:
    counts = str(row.trials) if row.measured == row.trials else f"{row.measured} of {row.trials}"
    return f"{counts}\n{_ENDS[row.ended]}" if row.ended in _ENDS else counts


def _verdicts(console: Console, row: ResultOverview) -> Text:
    """A line a profile: its name and how many trials got which verdict."""
    if not row.profiles:
        return cell(console, words.MISSING)
    if row.verdicts is None:
        return cell(console, "not recorded")
    lines = []
    for name, counts in row.verdicts.items():
        text = cell(console, words.plain(name, 30))
        for word in VERDICT_WORDS:
            if counts.get(word):
                text += cell(console, f"  {words.SYMBOLS[word]} {counts[word]}", _STYLES[word])
        lines.append(text)
    return Text("\n").join(lines)


def _notes(rows: Sequence[ResultOverview]) -> list[str]:
    notes = []
    shown_words = {
        word
        for row in rows
        for counts in _counts(row.verdicts)
        for word, count in counts.items()
        if count and word in VERDICT_WORDS
    }
    if shown_words:
        signs = ", ".join(f"{words.SYMBOLS[word]} {word}" for word in VERDICT_WORDS if word in shown_words)
        notes.append(f"Verdicts: how many trials came to which, by profile, as the run ended with: {signs}.")
    unrecorded = [row for row in rows if row.profiles and row.verdicts is None]
    if unrecorded:
        notes.append(
            "Not recorded: the run is going on, was killed, or is of an earlier version; judge it with "
            f"edgebench fit {words.plain(unrecorded[0].path.name, 80)}"
        )
    return notes


def _counts(verdicts: Mapping[str, Mapping[str, int]] | None) -> list[Mapping[str, int]]:
    return [] if verdicts is None else list(verdicts.values())
