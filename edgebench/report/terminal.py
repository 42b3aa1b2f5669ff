"""The tables that a run ends with, made to read well at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from edgebench.judge.decision import Decision, decisions
from edgebench.judge.judged import Judged
from edgebench.judge.metric import Metric, Shown
from edgebench.judge.metrics import shown_in
from edgebench.judge.power import headline_rails
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import notes, tables, verdict_matrix, words
from edgebench.report.answer import answer_of
from edgebench.report.console import cell, fits, line, make_console, new_table
from edgebench.report.metric_text import (
    declared_texts,
    meter_text,
    metric_text,
    power_cells,
    rail_text,
    scopes_note,
)
from edgebench.report.notes import Trials
from edgebench.report.run_tables import unseen_modes
from edgebench.report.verdict_matrix import print_verdicts

__all__ = ["cell", "line", "make_console", "new_table", "print_result"]

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
    measured = [summary for summary in group if summary.latency is not None or summary.emulated]
    if measured:
        columns = shown_in("terminal", measured)
        headings = ("variant", *(shown.heading for _, shown in columns))
        rows = [
            (names[summary.key], *(_text(summary, metric, shown) for metric, shown in columns))
            for summary in measured
        ]
        _print_figures(console, headings, rows)
    _power(console, group, names)
    for note in _notes(group, names):
        line(console, note, indent=2)
    console.print()


def _power(console: Console, group: Sequence[TrialSummary], names: dict[str, str]) -> None:
    """A table of power and energy for the headline rail of each meter; nothing without a meter."""
    by_rail: dict[str, list[tuple[str, ...]]] = {}
    for summary in group:
        for rail in headline_rails(summary.power or ()):
            by_rail.setdefault(rail_text(rail), []).append((names[summary.key], *power_cells(rail)))
    headings = ("variant", *(shown.heading for _, shown in shown_in("power")))
    for name, rows in by_rail.items():
        console.print()
        line(console, f"power and energy an image by {name}")
        _print_figures(console, headings, rows)


def _print_figures(console: Console, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """One row a trial; where that is too wide, the ends of intervals on a second line, or a block a trial.

    A figure is never cut: what is left of 0.307 would be read as another one.
    """
    folded_headings = [heading.replace(" ", "\n", 1) for heading in headings]
    for folds in FOLDS:
        folded = [[_folded(text, folds) for text in row] for row in rows]
        table = _figures_table(console, folded_headings if folds else headings, folded)
        if fits(console, table):
            console.print(table)
            return
    for row in rows:
        console.print(cell(console, row[0], "bold"))
        for heading, text in zip(headings[1:], row[1:], strict=True):
            line(console, f"{heading}: {text}", indent=4)


def _folded(text: str, folds: Sequence[str]) -> str:
    for sign in folds:
        text = text.replace(f" {sign}", f"\n{sign}")
    return text


def _figures_table(console: Console, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = new_table(console, [(heading, number > 0) for number, heading in enumerate(headings)])
    for row in rows:
        table.add_row(*(cell(console, text) for text in row))
    return table


def _text(summary: TrialSummary, metric: Metric, shown: Shown) -> str:
    """A metric as its entry says; `24/120 *` where a note below says what was assumed of the input."""
    value = metric.value(summary)
    star = " *" if shown.form == "right of n" and value is not None and summary.assumed else ""
    return f"{metric_text(value, shown.form)}{star}"


def _notes(group: Sequence[TrialSummary], names: dict[str, str]) -> list[str]:
    """What the table of figures cannot say: why trials have none, and what is to be minded."""
    trials = Trials.of(group, names)
    measured = [summary for summary in group if summary.latency is not None or summary.emulated]
    statements = [(summary.key, f"timed with {summary.timed}") for summary in words.timed(measured)]
    statements += [
        (summary.key, f"up to {summary.concurrency} requests in flight at once: infer_s is a throughput")
        for summary in measured
        if summary.concurrency > 1
    ]
    for summary in group:
        key = summary.key
        if summary.status != "done":
            statements.append(
                (key, f"{summary.status.replace('_', ' ')}: {summary.reason or 'no reason was kept'}")
            )
        else:
            statements += [(key, f"a failed session was repeated: {failure}") for failure in summary.failures]
        if summary.ended is not None and summary.status == "done" and summary.ended.by != "sessions":
            statements.append((key, f"ended: {summary.ended.text}"))
        if assumed := words.assumed(summary):
            statements.append((key, f"* {assumed}"))
        if summary.accuracy is None and (summary.latency is not None or summary.emulated):
            statements.append((key, f"no accuracy: {summary.accuracy_reason}"))
        if untimed := summary.untimed_reason:
            statements.append((key, f"no image_s: {untimed}"))
        if summary.instructions_reason:
            statements.append((key, f"no instructions: {summary.instructions_reason}"))
        statements += [(key, text) for text in declared_texts(summary)]
        for rail in headline_rails(summary.power or ()):
            if rail.reason:
                statements.append((key, f"power by {meter_text(rail)}: {rail.reason}"))
        latency = summary.latency
        if latency is not None and latency.low is None and not summary.cautions:
            statements.append((key, f"no interval from {words.counted(latency.sessions, 'session')}"))
    warnings = notes.cautions(group, trials)
    return [note.line for note in notes.shared(statements, trials)] + [
        f"{note.who}: warning: {note.text}" for note in warnings
    ]


# Published figures on the terminal: a table a profile, then what every verdict rests on, with its source.


def print_published(console: Console, judged: Judged) -> None:
    """Print the verdicts on published figures, target by target; nothing is ever wider than the console."""
    names, shown = _published_rows(judged)
    decided = decisions(judged.summaries, judged.verdicts, [])  # nothing is proposed of what others measured
    matrices = verdict_matrix.matrices(shown, judged.verdicts, names=names)
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
    by_trial: dict[str, list[tuple[object, ...]]] = {}
    for each in judged.verdicts:
        alike = (each.profile, each.requirement, each.verdict, each.margin, each.low, each.high)
        by_trial.setdefault(each.trial, []).append(alike)
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
    targets: dict[str, dict[str, None]] = {}
    for summary in judged.summaries:
        for figure in summary.published:
            if figure.quantity not in asked and figure.value is not None:
                targets.setdefault(figure.quantity, {})[words.plain(summary.target, 60)] = None
    return "; ".join(f"{quantity} of {words.listed(list(names))}" for quantity, names in targets.items())
