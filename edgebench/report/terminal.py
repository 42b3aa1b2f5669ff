"""The tables that a run ends with, made to read well at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

from edgebench.judge.decision import Decision, decisions
from edgebench.judge.judged import Judged
from edgebench.judge.power import headline_rails
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import notes, tables, verdict_matrix, words
from edgebench.report.answer import answer_of
from edgebench.report.blocks import Block, Command, Fold, Heading, Notes, Text
from edgebench.report.console import cell, fits, line, make_console, new_table
from edgebench.report.metric_text import declared_texts, meter_text, scopes_note
from edgebench.report.notes import Trials
from edgebench.report.run_tables import unseen_modes
from edgebench.report.tables import Table
from edgebench.report.verdict_matrix import STYLES, Matrix, print_verdicts

__all__ = ["cell", "line", "make_console", "new_table", "print_result"]


def print_blocks(console: Console, blocks: Iterable[Block]) -> None:
    """Print blocks below each other; nothing is wider than the console."""
    for block in blocks:
        match block:
            case Heading(text):
                console.print()
                line(console, text, "bold")
            case Text(text) | Command(text) | Fold(text):
                line(console, text, indent=2)
            case Notes(sentences):
                for note in sentences:
                    line(console, note.line, indent=2)
            case Matrix():
                verdict_matrix.print_matrix(console, block)
            case Table():
                print_table(console, block)
    console.print()


def print_table(console: Console, table: Table) -> None:
    """Print a table with its columns as they are; verdicts in their colours, never folded."""
    shown = new_table(console, [(column.heading, column.figures) for column in table.columns])
    for place, column in enumerate(table.columns):
        shown.columns[place].no_wrap = column.figures or column.verdict
    for row in table.rows:
        styles = (
            STYLES.get(text[:1], "") if column.verdict else ""
            for column, text in zip(table.columns, row, strict=True)
        )
        shown.add_row(*(cell(console, text, style) for text, style in zip(row, styles, strict=True)))
    console.print(shown)


# What a second line of a figure begins with, the roomiest layout first.
FOLDS: tuple[tuple[str, ...], ...] = ((), ("(",), ("(", "±"))


def print_result(
    console: Console,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    decisions: Sequence[Decision] = (),
    *,
    figures: bool = True,
) -> None:
    """Print the figures of every trial, target by target, then the verdicts, profile by profile.

    Args:
        console: where to print; nothing is ever wider than it.
        summaries: the trials in the order in which they shall appear.
        verdicts: what they were judged to be; empty where no profile was asked for.
        decisions: what the verdicts of each profile come to.
        figures: whether the table of figures is printed too, or the verdicts alone.
    """
    if not summaries:
        line(console, "There are no trials in this result.")
        return
    names = words.labels(summaries)
    if figures:
        for target, group in notes.by_target(summaries).items():
            _figures(console, target, group, names)
    if verdicts:
        print_verdicts(console, summaries, verdicts, decisions)
    if not figures:
        for note in _notes(summaries, tables.trial_names(summaries)):
            line(console, note, indent=2)
        return
    rails = [rail for summary in summaries for rail in headline_rails(summary.power or ())]
    for note in (unseen_modes(summaries), scopes_note(rails)):
        if note:
            line(console, note)
            console.print()


def _figures(console: Console, target: str, group: Sequence[TrialSummary], names: dict[str, str]) -> None:
    line(console, f"{target}: {words.families(group)}", "bold")
    measured = [summary for summary in group if _has_figures(summary)]
    if measured:
        _print_figures(console, tables.metric_table("terminal", measured, names=names))
    for table in tables.power_tables(group, names, headline=True):
        console.print()
        line(console, f"power and energy an image by {table.title}")
        _print_figures(console, table)
    for note in _notes(group, names):
        line(console, note, indent=2)
    console.print()


def _print_figures(console: Console, table: Table) -> None:
    """One row a trial; where that is too wide, the ends of intervals on a second line, or a block a trial.

    A figure is never cut: what is left of 0.307 would be read as another one.
    """
    headings = ["variant", *(column.heading for column in table.columns[1:])]
    for folds in FOLDS:
        shown = [heading.replace(" ", "\n", 1) for heading in headings] if folds else headings
        printed = new_table(console, [(heading, number > 0) for number, heading in enumerate(shown)])
        for row in table.rows:
            for sign in folds:
                row = tuple(text.replace(f" {sign}", f"\n{sign}") for text in row)
            printed.add_row(*(cell(console, text) for text in row))
        if fits(console, printed):
            console.print(printed)
            return
    for row in table.rows:
        console.print(cell(console, row[0], "bold"))
        for heading, text in zip(headings[1:], row[1:], strict=True):
            line(console, f"{heading}: {text}", indent=4)


def _notes(group: Sequence[TrialSummary], names: dict[str, str]) -> list[str]:
    """What the table of figures cannot say: why trials have none, and what is to be minded."""
    trials = Trials.of(group, names)
    timed = {summary.key for summary in words.timed([each for each in group if _has_figures(each)])}
    statements = [
        (summary.key, text) for summary in group for text in _said(summary, is_timed=summary.key in timed)
    ]
    shared = [note.line for note in notes.shared(statements, trials)]
    return [*shared, *(f"{note.who}: warning: {note.text}" for note in notes.cautions(group, trials))]


def _has_figures(summary: TrialSummary) -> bool:
    return summary.latency is not None or summary.emulated


def _said(summary: TrialSummary, is_timed: bool) -> list[str]:
    """What is to be said of one trial; empty sentences are of nothing."""
    is_done, latency, ended = summary.status == "done", summary.latency, summary.ended
    has_figures, rails = _has_figures(summary), headline_rails(summary.power or ())
    in_flight = f"up to {summary.concurrency} requests in flight at once: infer_s is a throughput"
    no_interval = latency is not None and latency.low is None and not summary.cautions
    return [
        f"timed with {summary.timed}" if is_timed else "",
        in_flight if has_figures and summary.concurrency > 1 else "",
        "" if is_done else f"{summary.status.replace('_', ' ')}: {summary.reason or 'no reason was kept'}",
        *(f"a failed session was repeated: {failure}" for failure in summary.failures if is_done),
        f"ended: {ended.text}" if ended is not None and is_done and ended.by != "sessions" else "",
        f"* {words.assumed(summary)}" if summary.assumed else "",
        f"no accuracy: {summary.accuracy_reason}" if summary.accuracy is None and has_figures else "",
        f"no image_s: {summary.untimed_reason}" if summary.untimed_reason else "",
        f"no instructions: {summary.instructions_reason}" if summary.instructions_reason else "",
        *declared_texts(summary),
        *(f"power by {meter_text(rail)}: {rail.reason}" for rail in rails if rail.reason),
        f"no interval from {words.counted(latency.sessions, 'session')}" if latency and no_interval else "",
    ]


# Published figures on the terminal: a table a profile, then what every verdict rests on, with its source.


def print_published(console: Console, judged: Judged) -> None:
    """Print the verdicts on published figures, target by target; nothing is ever wider than the console."""
    names, shown = _published_rows(judged)
    decided = decisions(judged.summaries, judged.verdicts, [])  # nothing is proposed of what others measured
    matrices = verdict_matrix.matrices(shown, judged.verdicts, names=names)
    line(console, "Published figures: none of them was measured here", "bold")
    for decision in decided:
        console.print()
        line(console, words.plain(decision.profile, 80), "bold")
        line(console, answer_of(decision, judged.summaries, judged.verdicts).headline)
        verdict_matrix.print_matrix(console, matrices[decision.profile])
    console.print()
    line(console, "What the verdicts rest on", "bold")
    for reason in _reasons(judged, names):
        line(console, reason, indent=2)
    line(console, "Of all else that these profiles ask for nothing was published.", indent=2)
    if unasked := _unasked(judged):
        line(console, f"Published, and asked for by none of them: {unasked}.", indent=2)
    console.print()


def _published_rows(judged: Judged) -> tuple[dict[str, str], list[TrialSummary]]:
    """What each trial is called, and the trials with a row: of a target whose verdicts are alike one."""
    targets = notes.by_target(judged.summaries)
    names = {
        key: f"{words.plain(target, 60)} {label}"
        for target, group in targets.items()
        for key, label in words.labels(group).items()
    }
    by_trial = words.grouped(
        (each.trial, (each.profile, each.requirement, each.verdict, each.margin, each.low, each.high))
        for each in judged.verdicts
    )
    rows = []
    for target, group in targets.items():
        first = group[0]
        if all(by_trial[summary.key] == by_trial[first.key] for summary in group):
            names[first.key] = words.plain(target, 60)
            group = [first]
        rows += group
    return names, rows


def _reasons(judged: Judged, names: dict[str, str]) -> list[str]:
    """Each reason that a source or a board gives, once, with its trials and what came of it."""
    published = {(each.key, figure.quantity) for each in judged.summaries for figure in each.published}
    statements = dict.fromkeys(
        (verdict.trial, f"{verdict.quantity} {verdict.verdict}: {verdict.reason}")
        for verdict in judged.verdicts
        if verdict.verdict != "unknown" or (verdict.trial, verdict.quantity) in published
    )
    trials = notes.Trials.of(judged.summaries, names)
    return [note.line for note in notes.shared(statements, trials)]


def _unasked(judged: Judged) -> str:
    """Which quantities were published that no requirement is about, each with its targets."""
    asked = {verdict.quantity for verdict in judged.verdicts}
    targets = words.grouped(
        (figure.quantity, words.plain(summary.target, 60))
        for summary in judged.summaries
        for figure in summary.published
        if figure.quantity not in asked and figure.value is not None
    )
    return "; ".join(
        f"{quantity} of {words.listed(list(dict.fromkeys(names)))}" for quantity, names in targets.items()
    )
