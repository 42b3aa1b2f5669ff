"""Comparison of results in each form: terminal, Markdown, CSV, JSON and notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from edgebench.files import write_output
from edgebench.judge.comparisons.comparison import (
    ComparedResult,
    Difference,
    MetricComparison,
    NamedResult,
    Pair,
    ResultsComparison,
    Threshold,
    Word,
)
from edgebench.judge.comparisons.pairing import ComparedTrial
from edgebench.judge.document import plain
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import Estimate
from edgebench.report import notes, words
from edgebench.report.documents import csv_text
from edgebench.report.notes import Trials, shared
from edgebench.report.renderers.blocks import (
    Block,
    Column,
    Fold,
    Heading,
    Note,
    Notes,
    Table,
    Text,
    of_figures,
)
from edgebench.report.renderers.markdown import blocks_text, escape
from edgebench.report.renderers.terminal import line, print_blocks
from edgebench.report.tables import estimate_text, trial_names, value_heading
from edgebench.report.words import SCHEMA_VERSION, as_json
from edgebench.stats.warnings import DISTURBANCES, Flag

# Differences in words: `1.93 ±0.03 times faster`, `4.1 % slower (2.0 to 6.2)`, `same within 3 %`.


SYMBOLS: Mapping[Word, str] = {
    "better": "▲",
    "worse": "▼",
    "same": "=",
    "undecided": "?",
    "not compared": "·",
}
"""Symbol of each word, for readers who see no colour."""

_TIMES_FROM = 1.5
"""Least factor that is shown as times instead of per cent."""

_LESS_AND_MORE = {
    "s": ("faster", "slower"),
    "ms": ("faster", "slower"),
    "W": ("less power", "more power"),
    "J": ("less energy", "more energy"),
    "bytes": ("smaller", "larger"),
    "g": ("lighter", "heavier"),
}
"""Words for less and more, by base unit."""


def in_words(item: MetricComparison, threshold: Threshold) -> str:
    """Difference in words: `1.93 ±0.03 times faster`; a sign for a missing one."""
    if item.difference is None:
        return words.MISSING
    if item.identical:
        return "the very same sessions"
    is_ratio = item.scale == "ratio"
    value = 100 * (item.difference - 1) if is_ratio else item.difference
    if item.low is None or item.high is None:
        return f"{value:+.1f} %, no interval"
    low, high = (100 * (end - 1) if is_ratio else end for end in (item.low, item.high))
    is_exact = low == high
    if is_exact and abs(value) < 1e-7:
        return "equal"
    places = 1 if is_exact or high - low >= 0.5 else 2
    span = "" if is_exact else f" ({_span(low, high, places, '+')})"
    if item.word == "same" and not is_exact:
        within = f"{100 * threshold.minimum_effect:g} %" if is_ratio else _in_points(threshold)
        return f"same within {within}{span}"
    if not is_ratio or low < 0 < high:
        return f"{value:+.{places}f} {'%' if is_ratio else 'points'}{span}"
    less, more = _LESS_AND_MORE.get(METRICS[item.metric].unit, ("fewer", "more"))
    verb = more if value > 0 else less
    factor, low_factor, high_factor = item.difference, item.low, item.high
    if value < 0:
        factor, low_factor, high_factor = 1 / factor, 1 / high_factor, 1 / low_factor
    if factor >= _TIMES_FROM:
        ends = (None, None) if is_exact else (low_factor, high_factor)
        return f"{words.estimate(factor, *ends)} times {verb}"
    nearer, farther = sorted((abs(low), abs(high)))
    span = "" if is_exact else f" ({_span(nearer, farther, places)})"
    return f"{abs(value):.{places}f} % {verb}{span}"


def _span(low: float, high: float, places: int, sign: str = "") -> str:
    """Interval, rounded outward."""
    step = 10.0**-places
    ends = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return " to ".join(f"{end:{sign}.{places}f}" for end in ends)


def _in_points(threshold: Threshold) -> str:
    return f"{threshold.minimum_points:g} point{'' if threshold.minimum_points == 1 else 's'}"


# Notes, in sentences.


def _notes(result: ComparedResult, gate: bool) -> list[Note]:
    """Notes: reasons of open comparisons, next steps, and trials without a partner.

    `gate` adds why a comparison decides no gate.
    """
    trials_a, trials_b = ([getattr(pair, side) for pair in result.pairs] for side in ("a", "b"))
    remarks = ((pair.a.key, text) for pair in result.pairs for text in _remarks(pair, gate))
    texts = shared(remarks, _trials(trials_a))
    for side, both, left_over in (("A", trials_a, result.only_baseline), ("B", trials_b, result.only_this)):
        reasons = [(trial.key, f"only in {side}: {trial.reason}") for trial in left_over]
        texts += shared(reasons, _trials([*both, *left_over]))
    return texts


def _cautions(result: ComparedResult) -> list[str]:
    """Notes on the trials of both sides: messages of their devices, and disturbed sessions."""
    sides: dict[str, list[str]] = {}
    for side in ("A", "B"):
        trials = [getattr(pair, side.lower()) for pair in result.pairs]
        cautions = notes.cautions(
            [trial.trial for trial in trials], _trials(trials), (Flag.SAID, *DISTURBANCES)
        )
        for note in cautions:
            sides.setdefault(note.line, []).append(side)
    return [f"{' and '.join(named)}: {line}" for line, named in sides.items()]


def _trials(trials: Sequence[ComparedTrial]) -> Trials:
    return Trials.of([trial.trial for trial in trials])


def _remarks(pair: Pair, gate: bool) -> Iterator[str]:
    for item in pair.comparisons:
        if item.word in ("undecided", "not compared") and item.reason:
            is_known = item.sessions_needed is not None and item.low is not None
            needed = f"; about {item.sessions_needed} sessions a side would decide it" if is_known else ""
            yield f"{item.metric} {item.word}: {item.reason}{needed}"
        if gate and item.gate and item.word != "undecided":
            yield f"{item.metric} undecided by the gate: {item.gate}"
        if item.note and item.word != "same" and (item.test, item.word) != ("McNemar", "undecided"):
            yield f"{item.metric}: {item.note}"
    if pair.a.marks != pair.b.marks:
        sides = (("A", pair.a), ("B", pair.b))
        marks = [f"{side} {' '.join(trial.marks)}" for side, trial in sides if trial.marks]
        yield f"not alike: {', '.join(marks)}"


def _title(side: str, result: NamedResult) -> str:
    measured = words.moment(result.created_utc)
    return f"{side}: {words.plain(result.name, 100)}, measured {measured or 'at an unknown time'}"


def summary(comparison: ResultsComparison, *, gate: bool = False) -> list[str]:
    """Outcome in sentences: counts of words, the worst comparison, and trials without a partner.

    `gate` adds how many comparisons decide no gate.
    """
    counts = [(word, comparison.counts[word.replace(" ", "_")]) for word in SYMBOLS]
    counted = [f"{count} {'the ' if word == 'same' else ''}{word}" for word, count in counts if count]
    total = words.counted(len(comparison.comparisons), "comparison")
    lines = [f"{total}: {', '.join(counted)}."]
    for result in comparison.results:
        if worst := _worst(result, comparison.threshold):
            name = f" of {words.plain(result.name, 60)}" if len(comparison.results) > 1 else ""
            lines.append(f"Worst{name}: {worst}.")
    if gate and (warning := gate_warning(comparison)):
        lines.append(f"{warning}.")
    if left_over := sum(len(result.only_baseline) for result in comparison.results):
        verb = "has" if left_over == 1 else "have"
        lines.append(f"{words.counted(left_over, 'trial')} of the baseline {verb} no partner.")
    return lines


def gate_warning(comparison: ResultsComparison) -> str:
    """Number of comparisons that decide nothing at a gate, and why; empty if all decide."""
    reasons = [item.gate for item in comparison.comparisons if item.gate]
    if not reasons:
        return ""
    why = words.listed(list(dict.fromkeys(reasons)))
    total = words.counted(len(comparison.comparisons), "comparison")
    return f"--fail-on regression decides nothing by {len(reasons)} of {total}: {why}"


def rules(comparison: ResultsComparison) -> str:
    """Caption: the rules by which results count as different."""
    threshold = comparison.threshold
    tested = (
        f"If nothing changed, at most 1 comparison in {1 / threshold.alpha:g} reports a difference (Holm). "
        if comparison.tests > 1
        else ""
    )
    return (
        f"Better or worse: significant, and at least {100 * threshold.minimum_effect:g} % apart "
        f"(shares: {_in_points(threshold)}). Same: the whole {100 * (1 - threshold.alpha):g} % interval is "
        f"within that. {tested}10 % slower means 1.1 times as long."
    )


def _worst(result: ComparedResult, threshold: Threshold) -> str:
    """Largest regression of a result, in words."""
    worse = {
        abs(math.log(item.difference) if item.scale == "ratio" else item.difference / 100): (name, item)
        for name, items in named_comparisons(result)
        for item in items
        if item.word == "worse" and item.difference is not None
    }
    if not worse:
        return ""
    name, item = worse[max(worse)]
    return f"{name}, {item.metric} {in_words(item, threshold)}"


def named_comparisons(result: ComparedResult) -> list[tuple[str, tuple[MetricComparison, ...]]]:
    """Short name of the baseline's trial and comparisons, by pair."""
    names = trial_names([pair.a.trial for pair in result.pairs])
    return [(names[pair.a.key], pair.comparisons) for pair in result.pairs]


# Blocks for the terminal, a pull request and a notebook.


MOST_DIFFERENCES = 24
"""Rows of the table of differences."""


def blocks(comparison: ResultsComparison, *, gate: bool = False) -> Iterator[Block]:
    """Blocks of each result: differences, one table per metric, remarks; `gate` as in `_notes`."""
    for result in comparison.results:
        yield Heading(f"{words.plain(result.name, 100)} against {words.plain(comparison.baseline.name, 100)}")
        yield Notes.of(
            [
                _title("A", comparison.baseline),
                _title("B", result),
                *_cautions(result),
                *(
                    f"{words.plain(a, 60)} of A is compared with {words.plain(b, 60)} of B"
                    for a, b in result.across.items()
                ),
            ]
        )
        yield Heading("What differs besides the figures")
        if not result.differences:
            yield Text("Nothing else differs: models, pictures, boards, versions and settings are the same.")
        else:
            yield _differences(result.differences[:MOST_DIFFERENCES])
        if more := result.differences[MOST_DIFFERENCES:]:
            yield Fold(f"and {len(more)} more: --json has all", [_differences(more)])
        for metric in comparison.metrics:
            if (values := _metric_table(comparison, result, METRICS[metric], gate)).rows:
                yield Heading(values.title)
                yield values
        yield Notes(_notes(result, gate))


def _differences(differences: Sequence[Difference]) -> Table:
    """Table of recorded facts in which two results differ."""
    rows = tuple(
        (
            words.plain(f"{difference.subject}: {difference.fact}", 80),
            *(words.plain(text, 200) or words.MISSING for text in (difference.a, difference.b)),
        )
        for difference in differences
    )
    return Table("what differs", (Column("fact"), Column("A", long=True), Column("B", long=True)), rows)


def _metric_table(comparison: ResultsComparison, result: ComparedResult, metric: Metric, gate: bool) -> Table:
    """Table of the pairs: both values, their difference in words, and the word."""
    heading = value_heading(metric)
    columns = (
        *of_figures("trial", "A", "B"),
        Column("B against A", long=True),
        Column("B is", verdict=True),
    )
    rows = tuple(
        (
            name,
            *(estimate_text(Estimate(value), metric, heading) for value in (item.a, item.b)),
            in_words(item, comparison.threshold),
            f"{SYMBOLS[item.word]} {item.word}"
            + (", gate undecided" if gate and item.gate and item.word != "undecided" else ""),
        )
        for name, items in named_comparisons(result)
        for item in items
        if item.metric == metric.name
    )
    return Table(f"{heading}, {metric.better} is better", columns, rows)


def print_comparison(console: Console, comparison: ResultsComparison, *, gate: bool = False) -> None:
    """Print the outcome, then the blocks of each result; `gate` as in `_notes`."""
    for sentence in summary(comparison, gate=gate):
        line(console, sentence, "bold")
    console.print()
    print_blocks(console, blocks(comparison, gate=gate))
    console.print()
    line(console, rules(comparison), "dim")


# Files: Markdown for a pull request, CSV with one row per comparison, and the JSON document.


FORMS = (".md", ".json", ".csv")
"""Endings of a file's name."""


def write_comparison(comparison: ResultsComparison, path: Path, *, gate: bool = False) -> None:
    """Write the comparison in the form of the file's ending; `gate` as in `_notes`.

    Raises:
        StoredResultError: the file cannot be written.
    """
    text = as_text(comparison, path.suffix.lower().removeprefix("."), gate=gate)
    write_output(path, text.encode("utf-8", "replace"), "-o")


def as_text(comparison: ResultsComparison, form: str, *, gate: bool = False) -> str:
    """Comparison as one of FORMS, named without its point; `gate` as in `_notes`, of Markdown."""
    if form == "json":
        return as_json(comparison_document(comparison))
    if form == "csv":
        rows = comparison_rows(comparison)
        return csv_text(list(rows[0]) if rows else [], rows)
    sentences = [f"**{escape(text)}**" for text in summary(comparison, gate=gate)]
    shown = blocks_text(blocks(comparison, gate=gate))
    return "\n\n".join(["# Comparison", *sentences, shown, escape(rules(comparison))]) + "\n"


def comparison_document(comparison: ResultsComparison) -> dict[str, Any]:
    """Comparison as plain data, as `comparison.schema.json` describes it."""
    document: dict[str, Any] = plain({"schema_version": SCHEMA_VERSION, **vars(comparison)})
    pairs = (pair for result in document["results"] for pair in result["pairs"])
    items = [item for pair in pairs for item in pair["comparisons"]]
    for item, compared in zip(items, comparison.comparisons, strict=True):
        item["in_words"] = in_words(compared, comparison.threshold)
    return document


def comparison_rows(comparison: ResultsComparison) -> list[dict[str, Any]]:
    """One row per comparison, by result, pair and metric: the trials and the outcome."""
    return [
        {
            "baseline": comparison.baseline.name,
            "result": result.name,
            "target_a": pair.a.target,
            "target_b": pair.b.target,
            "variant": pair.a.variant,
            "batch": pair.a.batch,
            "concurrency": pair.a.concurrency,
            "trial_a": pair.a.key,
            "trial_b": pair.b.key,
            **asdict(item),
            "warnings": "; ".join(item.warnings),
            "in_words": in_words(item, comparison.threshold),
        }
        for result in comparison.results
        for pair in result.pairs
        for item in pair.comparisons
    ]
