"""A comparison of results: the document of `edgebench compare --json`, and its tables in each form."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

from rich.console import Console

from edgebench.errors import UsageError
from edgebench.files import require_file_name, write_output
from edgebench.judge.comparison import MetricComparison, Threshold, Word
from edgebench.judge.metric import (
    BYTE_UNITS,
    ENERGY_UNITS,
    MASS_UNITS,
    MILLISECOND_UNITS,
    POWER_UNITS,
    SHARE_UNITS,
    TIME_UNITS,
)
from edgebench.judge.metrics import METRICS
from edgebench.judge.result_comparison import (
    ComparedPair,
    ComparedResult,
    Difference,
    ResultsComparison,
    Unpaired,
)
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import words
from edgebench.report.blocks import Block, Fold, Heading, Notes, Text
from edgebench.report.console import line
from edgebench.report.forms import safe_cell
from edgebench.report.markdown import blocks_text, escape
from edgebench.report.tables import Column, Table, trial_names
from edgebench.report.terminal import print_blocks
from edgebench.report.words import SCHEMA_VERSION, as_json, clean
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported_path
from edgebench.stats.interval import Interval

# Comparisons in words: `1.93 ±0.03 times faster`, `4.1 % slower (2.0 to 6.2 %)`, `same within 3 %`.


SYMBOLS: Mapping[Word, str] = {
    "better": "▲",
    "worse": "▼",
    "same": "=",
    "undecided": "?",
    "not compared": "·",
}
"""Before a word, so that its colour is never all that tells it."""

NO_DIFFERENCE = "Nothing else differs: models, pictures, boards, versions and settings are the same."
"""In place of the table of what differs beside the figures."""

_TIMES_FROM = 1.5
"""From this factor on a ratio is said as times, and not in per cent."""

_MOST_NAMES = 8
"""Trials that are named in one sentence; the JSON document names all."""

_LESS_AND_MORE = (
    (TIME_UNITS, "faster", "slower"),
    (MILLISECOND_UNITS, "faster", "slower"),
    (POWER_UNITS, "less power", "more power"),
    (ENERGY_UNITS, "less energy", "more energy"),
    (BYTE_UNITS, "smaller", "larger"),
    (MASS_UNITS, "lighter", "heavier"),
)


def with_symbol(word: Word) -> str:
    """`▲ better`."""
    return f"{SYMBOLS[word]} {word}"


def change_at_row(item: MetricComparison, threshold: Threshold) -> str:
    """The difference in words, and what disturbed which side in short: `B: interference`."""
    short = [": ".join(warning.split(": ")[:2]) for warning in item.warnings]
    return "; ".join([change(item, threshold), *short])


def verdict(item: MetricComparison) -> str:
    """What a row comes to: `▼ worse`, and whether a gate decides nothing by it."""
    return with_symbol(item.word) + (", gate undecided" if item.gate and item.word != "undecided" else "")


def figure(item: MetricComparison, value: float | None) -> str:
    """A side's figure: seconds, `95.4 %` of a share, `1.05 MB`."""
    if value is None:
        return words.MISSING
    units = METRICS[item.metric].units
    if units is SHARE_UNITS:
        return words.percent(value)
    if units is BYTE_UNITS:
        return words.size(round(value))
    return words.count(value) if "instruction" in units else words.number(value)


def heading(name: str) -> str:
    """What a table of a metric is headed by: `image_s [s], lower is better`."""
    metric = METRICS[name]
    unit = "" if metric.units in (SHARE_UNITS, BYTE_UNITS) else f" [{metric.unit}]"
    return f"{name}{unit}, {metric.better} is better"


def change(item: MetricComparison, threshold: Threshold) -> str:
    """The difference in words: `1.93 ±0.03 times faster`; the sign where there is none."""
    if item.difference is None:
        return words.MISSING
    if item.identical:
        return "the very same sessions"
    if item.scale == "points":
        return _points(item, threshold)
    if item.low is None or item.high is None:
        return f"{_signed(item.difference)} %, no interval"
    less, more = _less_and_more(item.metric)
    if item.low == item.high:
        return "equal" if math.isclose(item.difference, 1) else _factor_or_percent(item, less, more)
    if item.word == "same":
        return f"same within {100 * threshold.minimum_effect:g} % ({_signed_span(item)} %)"
    if item.low < 1 < item.high:
        return f"{_signed(item.difference)} % ({_signed_span(item)} %)"
    return _factor_or_percent(item, less, more)


def _less_and_more(metric: str) -> tuple[str, str]:
    units = METRICS[metric].units
    return next(((less, more) for of, less, more in _LESS_AND_MORE if of is units), ("fewer", "more"))


def _factor_or_percent(item: MetricComparison, less: str, more: str) -> str:
    assert item.difference is not None and item.low is not None and item.high is not None
    ratio, low, high = item.difference, item.low, item.high
    word = more if ratio > 1 else less
    if max(ratio, 1 / ratio) >= _TIMES_FROM:
        factor = (ratio, low, high) if ratio > 1 else (1 / ratio, 1 / high, 1 / low)
        if factor[1] == factor[2]:
            return f"{words.number(factor[0])} times {word}"
        return f"{words.interval(Interval(*factor, sessions=0, n=0))} times {word}"
    share, nearer, farther = (ratio - 1, low - 1, high - 1) if ratio > 1 else (1 - ratio, 1 - high, 1 - low)
    if nearer == farther:
        return f"{100 * share:.1f} % {word}"
    places = _places(farther - nearer)
    return (
        f"{100 * share:.{places}f} % {word} ({_down(100 * nearer, places)} to {_up(100 * farther, places)} %)"
    )


def _points(item: MetricComparison, threshold: Threshold) -> str:
    assert item.difference is not None and item.low is not None and item.high is not None
    if item.low == item.high:
        return "equal" if item.difference == 0 else f"{item.difference:+.2f} points"
    places = 1 if item.high - item.low >= 1 else 2
    low, high = _down(item.low, places, sign="+"), _up(item.high, places, sign="+")
    if item.word == "same":
        return f"same within {_in_points(threshold)} ({low} to {high})"
    return f"{item.difference:+.{places}f} points ({low} to {high})"


def _in_points(threshold: Threshold) -> str:
    return f"{threshold.minimum_points:g} point{'' if threshold.minimum_points == 1 else 's'}"


def _signed(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f}"


def _signed_span(item: MetricComparison) -> str:
    assert item.low is not None and item.high is not None
    places = _places(item.high - item.low)
    low, high = 100 * (item.low - 1), 100 * (item.high - 1)
    return f"{_down(low, places, sign='+')} to {_up(high, places, sign='+')}"


def _places(width: float) -> int:
    """Decimals of per cents that show an interval of that width, a share."""
    return 1 if width >= 0.005 else 2


def _down(value: float, places: int, sign: str = "") -> str:
    """Rounded so that no interval looks narrower than it is."""
    return f"{math.floor(value * 10**places + 1e-9) / 10**places:{sign}.{places}f}"


def _up(value: float, places: int, sign: str = "") -> str:
    return f"{math.ceil(value * 10**places - 1e-9) / 10**places:{sign}.{places}f}"


def pair_names(pairs: Sequence[ComparedPair]) -> list[str]:
    """A short name of each pair, as of the baseline's trial."""
    names = trial_names([pair.a for pair in pairs])
    return [names[pair.a.key] for pair in pairs]


def remarks(result: ComparedResult) -> list[str]:
    """What the tables of a result cannot say: why something is open, what would decide it, notes."""
    names = pair_names(result.pairs)
    by_text: dict[str, list[str]] = {}
    for name, pair in zip(names, result.pairs, strict=True):
        for item in pair.comparisons:
            if item.word in ("undecided", "not compared") and item.reason:
                by_text.setdefault(f"{item.metric} {item.word}: {item.reason}{_would_do(item)}", []).append(
                    name
                )
            if item.gate and item.word != "undecided":
                by_text.setdefault(f"{item.metric} undecided by the gate: {item.gate}", []).append(name)
            for warning in item.warnings:
                by_text.setdefault(f"{item.metric}, {warning}", []).append(name)
            if item.note and item.word != "same" and (item.test, item.word) != ("McNemar", "undecided"):
                by_text.setdefault(f"{item.metric}: {item.note}", []).append(name)
        if pair.a.mark != pair.b.mark:
            marks = [f"{side} {trial.mark}" for side, trial in (("A", pair.a), ("B", pair.b)) if trial.mark]
            by_text.setdefault(f"not alike: {', '.join(marks)}", []).append(name)
    return [
        f"{'all trials' if len(who) == len(names) > 1 else _some(who)}: {words.plain(text)}"
        for text, who in by_text.items()
    ]


def _some(names: Sequence[str]) -> str:
    """All of a few names, the first of many."""
    if len(names) <= _MOST_NAMES:
        return words.listed(names)
    return f"{', '.join(names[: _MOST_NAMES - 1])} and {len(names) - _MOST_NAMES + 1} more"


def _would_do(item: MetricComparison) -> str:
    if item.sessions_needed is None or item.low is None:
        return ""
    return f"; some {item.sessions_needed} sessions a side would, were they to differ as these do"


def unpaired(result: ComparedResult) -> list[str]:
    """Trials without a partner, by side and reason."""
    lines = []
    for side, left_over in (("A", result.only_baseline), ("B", result.only_this)):
        names = trial_names([each.trial for each in left_over])
        by_reason: dict[str, list[str]] = {}
        for each in left_over:
            by_reason.setdefault(each.reason, []).append(names[each.trial.key])
        several = len({each.trial.target for each in left_over}) > 1
        for reason, who in by_reason.items():
            target = "" if several else f"{words.plain(left_over[0].trial.target, 60)}: "
            lines.append(f"only in {side}, {target}{_some(who)}: {reason}")
    return lines


def titles(comparison: ResultsComparison, result: ComparedResult) -> list[str]:
    """Which is A and which is B, and which of their targets are compared whose names differ."""
    lines = [
        f"A: {words.plain(comparison.baseline, 100)}, measured {_measured(comparison.baseline_results)}",
        f"B: {words.plain(result.name, 100)}, measured {_measured(result.results)}",
    ]
    lines += [
        f"{words.plain(a, 60)} of A is compared with {words.plain(b, 60)} of B" for a, b in result.across
    ]
    return lines


def _measured(results: StoredResults) -> str:
    return (
        words.plain(results.experiment.created_utc.replace("T", " ").removesuffix("Z"), 30)
        or "at an unknown time"
    )


def summary(comparison: ResultsComparison) -> list[str]:
    """What it comes to in sentences: how many of each word, what is worst, and what counts as different."""
    counts = [(word, comparison.count(word)) for word in SYMBOLS]
    counted = ", ".join(
        f"{count} {'the ' if word == 'same' else ''}{word}" for word, count in counts if count
    )
    total = words.counted(len(comparison.comparisons), "comparison")
    lines = [f"{total}: {counted}."]
    for result in comparison.results:
        worst = _worst(result, comparison.threshold)
        if worst:
            of = f" of {words.plain(result.name, 60)}" if len(comparison.results) > 1 else ""
            lines.append(f"Worst{of}: {worst}.")
    if warning := gate_warning(comparison):
        lines.append(f"{warning}.")
    left_over = sum(len(result.only_baseline) for result in comparison.results)
    if left_over:
        lines.append(f"{words.counted(left_over, 'trial')} of the baseline {_has(left_over)} no partner.")
    return lines


def gate_warning(comparison: ResultsComparison) -> str:
    """By how many comparisons a gate decides nothing, and why; empty where it decides by all."""
    reasons = [item.gate for item in comparison.comparisons if item.gate]
    if not reasons:
        return ""
    why = words.listed(list(dict.fromkeys(reasons)))
    total = words.counted(len(comparison.comparisons), "comparison")
    return f"--fail-on regression decides nothing by {len(reasons)} of {total}: {why}"


def _has(count: int) -> str:
    return "has" if count == 1 else "have"


def rules(comparison: ResultsComparison) -> str:
    """What counts as different, as a caption."""
    threshold = comparison.threshold
    tested = (
        f"; p by Holm over {comparison.tests} tests, so that among results that are alike any is called "
        f"better or worse in at most {100 * threshold.alpha:g} % of calls"
        if comparison.tests > 1
        else ""
    )
    return (
        f"Better or worse is what is significant and at least {100 * threshold.minimum_effect:g} % "
        f"(of shares: {_in_points(threshold)}) apart; the same is what lies within that by its "
        f"whole {100 * (1 - threshold.alpha):g} % interval{tested}. Times are compared as times: 10 % slower "
        "takes 1.1 times as long."
    )


def _worst(result: ComparedResult, threshold: Threshold) -> str:
    """The largest regression of a result."""
    names = pair_names(result.pairs)
    worse = [
        (abs(math.log(item.difference)) if item.scale == "ratio" else abs(item.difference) / 100, name, item)
        for name, pair in zip(names, result.pairs, strict=True)
        for item in pair.comparisons
        if item.word == "worse" and item.difference is not None
    ]
    if not worse:
        return ""
    _, name, item = max(worse, key=lambda entry: entry[0])
    return f"{name}, {item.metric} {change(item, threshold)}"


@dataclass(frozen=True)
class ComparedTrial:
    """Which trial it is."""

    key: str
    """Key of the trial. Source: experiment.json."""
    target: str
    """Its target. Source: experiment.json."""
    variant: str
    """Its variant. Source: experiment.json."""
    batch: int
    """Images in one inference. Source: experiment.json."""
    concurrency: int
    """Inferences that the device has in flight. Source: experiment.json."""
    settings: dict[str, Any]
    """Those in which its target differs within a sweep. Source: experiment.json."""
    mark: str
    """What has to stand beside its figures. Source: fit."""


@dataclass(frozen=True)
class PartnerlessTrial(ComparedTrial):
    """One without a partner."""

    reason: str
    """Why it has no partner. Source: fit."""


@dataclass(frozen=True)
class Compared(MetricComparison):
    """One metric of a pair, in words too."""

    in_words: str = ""
    """The difference in words. Source: fit."""


@dataclass(frozen=True)
class Pair:
    """Two trials."""

    a: ComparedTrial
    """The baseline's trial. Source: experiment.json."""
    b: ComparedTrial
    """Its counterpart. Source: experiment.json."""
    comparisons: tuple[Compared, ...]
    """One entry a metric. Source: fit."""


@dataclass(frozen=True)
class ResultName:
    """A result, and when it was measured with what."""

    name: str
    """What it is called here: its folder's name. Source: command line."""
    path: str
    """The result folder. Source: command line."""
    created_utc: str
    """When it was begun, ISO 8601. Source: experiment.json."""
    edgebench_version: str
    """Version of EdgeBench that measured it. Source: experiment.json."""


@dataclass(frozen=True)
class Against(ResultName):
    """A result against the baseline."""

    across: dict[str, str]
    """By target of the baseline the target that it is compared with, where their names differ. Source:
    command line."""
    differences: tuple[Difference, ...]
    """What differs beside the figures. Source: fit."""
    pairs: tuple[Pair, ...]
    """The trials that both have. Source: fit."""
    only_baseline: tuple[PartnerlessTrial, ...]
    """Trials of the baseline without a partner. Source: fit."""
    only_this: tuple[PartnerlessTrial, ...]
    """Its own trials without a partner. Source: fit."""


@dataclass(frozen=True)
class Counts:
    """How many comparisons come to each word."""

    better: int
    """Better than the baseline. Source: fit."""
    worse: int
    """Worse. Source: fit."""
    same: int
    """The same. Source: fit."""
    undecided: int
    """Undecided. Source: fit."""
    not_compared: int
    """Without a figure on a side, or of different things. Source: fit."""


@dataclass(frozen=True)
class ComparisonDocument:
    """The whole of it, without the version of its layout."""

    baseline: ResultName
    """What the others are compared with, A. Source: command line."""
    metrics: tuple[str, ...]
    """Those that are compared of any pair. Source: command line."""
    threshold: Threshold
    """What counts as different. Source: command line."""
    tests: int
    """Comparisons that were tested, for which p is adjusted. Source: fit."""
    counts: Counts
    """How many comparisons come to each word. Source: fit."""
    regressed: bool
    """Whether anything by which a gate decides is worse: what --fail-on regression asks. Source: fit."""
    undecided: bool
    """Whether anything of the baseline is undecided, by itself or by a gate, is not compared though the
    baseline has a figure, or has no partner: what --strict asks. Source: fit."""
    results: tuple[Against, ...]
    """The results that are compared with the baseline, each as B. Source: fit."""


def comparison_document(comparison: ResultsComparison) -> dict[str, Any]:
    """The comparison as plain data, as `comparison.schema.json` describes it."""
    document = ComparisonDocument(
        baseline=ResultName(**_name(comparison.baseline, comparison.baseline_results)),
        metrics=comparison.metrics,
        threshold=comparison.threshold,
        tests=comparison.tests,
        counts=Counts(*(comparison.count(word) for word in get_args(Word))),
        regressed=comparison.regressed,
        undecided=comparison.undecided,
        results=tuple(_against(result, comparison.threshold) for result in comparison.results),
    )
    plain: dict[str, Any] = clean({"schema_version": SCHEMA_VERSION, **asdict(document)})
    return plain


def _against(result: ComparedResult, threshold: Threshold) -> Against:
    return Against(
        **_name(result.name, result.results),
        across=dict(result.across),
        differences=result.differences,
        pairs=tuple(
            Pair(
                ComparedTrial(**_trial(pair.a)),
                ComparedTrial(**_trial(pair.b)),
                tuple(
                    Compared(**asdict(item), in_words=change(item, threshold)) for item in pair.comparisons
                ),
            )
            for pair in result.pairs
        ),
        only_baseline=_partnerless(result.only_baseline),
        only_this=_partnerless(result.only_this),
    )


def _name(name: str, results: StoredResults) -> dict[str, str]:
    record = results.experiment
    return {
        "name": name,
        "path": exported_path(Path(results.path), record),
        "created_utc": record.created_utc,
        "edgebench_version": record.edgebench_version,
    }


def _partnerless(trials: Sequence[Unpaired]) -> tuple[PartnerlessTrial, ...]:
    return tuple(PartnerlessTrial(**_trial(each.trial), reason=each.reason) for each in trials)


def _trial(trial: TrialSummary) -> dict[str, Any]:
    return {field.name: getattr(trial, field.name) for field in fields(ComparedTrial)}


# A comparison as tables of text: what differs, and a table a metric.


def differences_table(result: ComparedResult) -> Table:
    """What the two results differ in beside their figures."""
    rows = tuple(
        (
            words.plain(f"{difference.subject}: {difference.fact}", 80),
            words.plain(difference.a, 200) or words.MISSING,
            words.plain(difference.b, 200) or words.MISSING,
        )
        for difference in result.differences
    )
    return Table("what differs", (Column("fact"), Column("A", long=True), Column("B", long=True)), rows)


def metric_tables(comparison: ResultsComparison, result: ComparedResult) -> list[Table]:
    """A table a metric: the pairs, their figures, the difference in words and its word."""
    names = pair_names(result.pairs)
    tables = []
    for metric in comparison.metrics:
        rows = tuple(
            (
                name,
                figure(item, item.a),
                figure(item, item.b),
                change_at_row(item, comparison.threshold),
                verdict(item),
            )
            for name, pair in zip(names, result.pairs, strict=True)
            for item in pair.comparisons
            if item.metric == metric
        )
        if rows:
            columns = (Column("trial"), Column("A", figures=True), Column("B", figures=True))
            tables.append(
                Table(
                    heading(metric),
                    (*columns, Column("B against A", long=True), Column("B is", verdict=True)),
                    rows,
                )
            )
    return tables


# A comparison as blocks, for the terminal and for a pull request: what differs, a table a metric, remarks.


MOST_DIFFERENCES = 24
"""Rows of what differs; a longer list hides what it is about."""


def _blocks(comparison: ResultsComparison) -> Iterator[Block]:
    for result in comparison.results:
        yield Heading(f"{words.plain(result.name, 100)} against {words.plain(comparison.baseline, 100)}")
        yield Notes.of(titles(comparison, result))
        table = differences_table(result)
        more = replace(table, rows=table.rows[MOST_DIFFERENCES:])
        yield Heading("What differs beside the figures")
        yield (replace(table, rows=table.rows[:MOST_DIFFERENCES]) if table.rows else Text(NO_DIFFERENCE))
        if more.rows:
            yield Fold(f"and {len(more.rows)} more: --json has all", [more])
        for of_metric in metric_tables(comparison, result):
            yield Heading(of_metric.title)
            yield of_metric
        yield Notes.of([*remarks(result), *unpaired(result)])


def print_comparison(console: Console, comparison: ResultsComparison) -> None:
    """Print each result against the baseline, and last what it comes to."""
    print_blocks(console, _blocks(comparison))
    for sentence in summary(comparison):
        line(console, sentence, "bold")
    line(console, rules(comparison), "dim")


# A comparison as Markdown for a pull request, as CSV with a row a comparison, or as the JSON document.


FORMS = ("md", "json", "csv")


def require_output(path: Path) -> str:
    """The form that a file's ending says; UsageError for another ending, or a folder that is not there."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise UsageError(
            f"{path.name!r} does not say in which form to write the comparison",
            fix=f"end the file's name in one of {', '.join(f'.{form}' for form in FORMS)}",
        )
    require_file_name(path, "-o")
    return form


def write_comparison(comparison: ResultsComparison, path: Path) -> Path:
    """Write it in one step, in the form of the file's ending, and return the path.

    Raises UsageError as `require_output`, StoredResultError where it cannot be written.
    """
    text = as_text(comparison, require_output(path))
    write_output(path, text.encode("utf-8", "replace"), "-o")
    return path


def as_text(comparison: ResultsComparison, form: str) -> str:
    """The comparison in one of FORMS; UsageError for another."""
    match form:
        case "md":
            return _markdown(comparison)
        case "csv":
            return _csv(comparison)
        case "json":
            return as_json(comparison_document(comparison))
    raise UsageError(f"--format {form[:20]!r} is no form", fix=f"known: {', '.join(FORMS)}")


def _markdown(comparison: ResultsComparison) -> str:
    sentences = [f"**{escape(text)}**" for text in summary(comparison)]
    parts = ["# Comparison", *sentences, blocks_text(_blocks(comparison)), escape(rules(comparison))]
    return "\n\n".join(parts) + "\n"


def _csv(comparison: ResultsComparison) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    rows = comparison_rows(comparison)
    headings = list(rows[0]) if rows else []
    writer.writerow(headings)
    writer.writerows([safe_cell(row[heading]) for heading in headings] for row in rows)
    return file.getvalue()


def comparison_rows(comparison: ResultsComparison) -> list[dict[str, Any]]:
    """One row a comparison, by result, then pair, then metric: which trials, and what it comes to."""
    return [
        {
            "baseline": comparison.baseline,
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
            "in_words": change(item, comparison.threshold),
        }
        for result in comparison.results
        for pair in result.pairs
        for item in pair.comparisons
    ]
