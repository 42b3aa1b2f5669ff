"""Figures and sentences as text: the one place where numbers are rounded and outside text is cleaned."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, takewhile
from itertools import count as count_from
from typing import TYPE_CHECKING, Any, TypeVar

from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import FULLY_COVERED, UNKNOWN_SCOPE
from edgebench.suggest import printable
from edgebench.texts import listed as listed

if TYPE_CHECKING:
    from edgebench.judge.requirements.requirement import Requirement
    from edgebench.judge.trial import Estimate, Trial
    from edgebench.judge.verdicts.verdict import NextStep, Verdict
    from edgebench.records.model import State
    from edgebench.records.stored import ImagesRecord


K = TypeVar("K")
V = TypeVar("V")

MISSING = "-"
LARGE = 1e15
"""From here on figures have an exponent."""

LOPSIDED = 0.2
UNEQUAL = 1.25
"""From this half-width on the sides of an interval differ by so much that ± would say something else."""

MEDIAN = "median: the mean over the sessions of each session's median"
"""What a trial's median is, of an image as of its stages."""

OVERLAP_NOTE = "Some of the images are crops that share pixels, so these intervals are a little too narrow."


def plain(text: object, limit: int = 400) -> str:
    """Outside text on one line: control and direction characters shown as U+FFFD, bounded in length."""
    return printable(text, limit)


def reading(images: ImagesRecord) -> str:
    """Sentence on how the pictures of a set were read and resized; "" for a set of no picture files."""
    resizing = images.reading
    if resizing is None:
        return ""
    share = f" (share {percent(resizing.crop_share)})" if resizing.crop_share else ""
    how = {"stretch": "stretched", "crop": f"cropped{share}", "pad": "padded with black"}[resizing.mode]
    parts = (
        f"{how} to {resizing.width} x {resizing.height} pixels",
        f"{resizing.filter}{' with antialiasing' if resizing.is_antialiased else ''}",
        "grey" if resizing.channels == 1 else "",
        "turned upright by EXIF" if resizing.is_upright else "",
        f"Pillow {plain(resizing.pillow, 40)}",
        f"{images.unreadable} more could not be read" if images.unreadable else "",
    )
    return f"Pictures: {'; '.join(filter(None, parts))}."


def moment(utc: str) -> str:
    """A stored time, such as `2025-03-01T12:00:00Z`, as `2025-03-01 12:00:00 UTC`."""
    return plain(utc.replace("T", " ").removesuffix("Z") + " UTC" if utc else "", 40)


def decimals(value: float, digits: int = 3) -> int:
    """Decimal places that show at least `digits` digits of a value; none below what nine places can show."""
    if abs(value) < 0.5e-9 or not math.isfinite(value):
        return 0
    return min(9, max(0, digits - 1 - math.floor(math.log10(abs(value)))))


def fixed(value: float, places: int, sign: str = "-") -> str:
    """With `places` decimal places; with three digits and an exponent from 1e15 on."""
    if not math.isfinite(value):
        return MISSING
    return f"{value:{sign}.2e}" if abs(value) >= LARGE else f"{value:{sign}.{places}f}"


def number(value: float | None, digits: int = 3) -> str:
    """A figure with at least three significant digits, never in exponent form below 1e15."""
    return MISSING if value is None else fixed(value, decimals(value, digits))


def span(values: Iterable[float], places: int | None = None) -> str:
    """Lowest to highest value: `0.883 to 17.8`. Decimal places: `places`, else those of three digits."""
    ordered = sorted(values)
    ends = [number(end) if places is None else fixed(end, places) for end in (*ordered[:1], *ordered[-1:])]
    return " to ".join(dict.fromkeys(ends)) or MISSING


def signed(value: float) -> str:
    """A margin: `+4.19`, `-0.210`, `+269.77`; decimals are kept, since a margin is a difference."""
    return fixed(value, max(2 if abs(value) < 1e4 else 0, decimals(value)), "+")


def outward(value: float, places: int, *, up: bool) -> str:
    """A value rounded up or down, so that an interval never looks narrower than it is."""
    places = 2 - math.floor(math.log10(abs(value))) if abs(value) >= LARGE else places
    steps = value * 10.0**places
    rounded = math.ceil(steps - 1e-9) if up else math.floor(steps + 1e-9)
    return fixed(rounded / 10.0**places, places)


def estimate(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
) -> str:
    """A figure with its interval: `0.231 ±0.004 s`, the figure or the ends alone, or the sign for neither.

    Every output writes it so. Behind ± stands the interval's longer side. One that is wide has sides that
    differ, and is shown by its ends: `0.920 (0.100 to 8.700)`; what has one end: `3.20 W, from 3.18`, unless
    that reads as the figure does. `unit` has its space.
    """
    value, low, high = (
        part if part is not None and math.isfinite(part) else None for part in (value, low, high)
    )
    if low == high == value:  # exact, or all missing
        return number(value) + (unit if value is not None else "")
    shown = [part for part in ((low, high) if value is None else (value,)) if part is not None]
    places = max(map(decimals, shown))
    is_wide, half = True, 0.0
    if value is not None and low is not None and high is not None:
        half = max(high - value, value - low)
        is_wide = half > LOPSIDED * abs(value) or half > UNEQUAL * min(high - value, value - low)
        finest = abs(low) if is_wide else half
        if half > 0:
            places = max(places, min(decimals(finest, 1), decimals(value, 5)))
    least = [] if low is None else [outward(low, places, up=False)]
    upper = [] if high is None else [outward(high, places, up=True)]
    ends = " to ".join(least + upper)
    if value is not None and least and upper:
        ends = f" ({ends})" if is_wide else f" ±{outward(half, places, up=True)}"
        return f"{fixed(value, places)}{ends}{unit}"
    if len(least + upper) == 1:
        ends = f"{'from' if least else 'up to'} {ends}"
    if value is None:
        return f"{ends}{unit}"
    text = fixed(value, places)
    return f"{text}{unit}, {ends}" if ends and text not in least + upper else f"{text}{unit}"


def interval(shown: Estimate, scale: float = 1.0) -> str:
    """An estimate with its interval, without its unit, which is `scale` base units."""
    ends = (shown.value, shown.low, shown.high)
    value, low, high = (None if part is None else part / scale for part in ends)
    return estimate(value, low, high)


def size(count: int | None) -> str:
    """Bytes in the decimal units of data sheets: `812 kB`, `3.46 MB`."""
    if count is None:
        return MISSING
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{number(count / scale)} {unit}"
    return f"{count} B"


def percent(part: float | None, digits: int = 1) -> str:
    """A share of one as `95.4 %`; the sign for a missing one."""
    return MISSING if part is None else f"{100 * part:.{digits}f} %"


def timed(trials: Sequence[Trial]) -> list[Trial]:
    """Trials whose pass needs an explanation: it differs between them, or is not the whole scene."""
    distinct = [trial for trial in trials if trial.scene.text]
    is_whole = all((trial.scene.covered or 0.0) >= FULLY_COVERED for trial in distinct)
    return [] if is_whole and len({trial.scene.text for trial in distinct}) < 2 else distinct


LATENCIES = ("image_s", "infer_s")


def latency_names(trials: Sequence[Trial]) -> str:
    """Metrics that are the latency of some trials: `image_s`, `infer_s`, or `image_s or infer_s`."""
    names = {trial.latency_metric for trial in trials}
    return " or ".join(name for name in LATENCIES if name in names) or LATENCIES[0]


def latency_words(trials: Sequence[Trial]) -> str:
    """Their names within a sentence: `latency per image`, `latency or inference time per image`."""
    names = map(judged_quantity, latency_names(trials).split(" or "))
    return " or ".join(names).replace(" per image or ", " or ")


def alike_timed(trials: Sequence[Trial]) -> list[Trial]:
    """Trials that one plot can hold: those with image_s, else those that have infer_s alone."""
    groups = [[trial for trial in trials if trial.latency_metric == name] for name in LATENCIES]
    return groups[0] or groups[1]


def right_of(share: Estimate) -> str:
    """A share as `954/1000`."""
    return MISSING if share.value is None or not share.n else f"{round(share.value * share.n)}/{share.n}"


def assumed(trial: Trial) -> str:
    """Assumptions on the input of a trial's model, or nothing."""
    return f"assumed of its input: {'; '.join(trial.assumed)}" if trial.assumed else ""


STATES: Mapping[State, str] = {
    "none": "",
    "reset": "its state is reset before each inference",
    "kept": "its state is kept from sample to sample (--keep-state)",
    "partly": "its variable tensors are reset before each inference, its resource variables (VAR_HANDLE) are "
    "not",
    "resources": "it keeps its state from sample to sample: resource variables (VAR_HANDLE) are not reset",
}
"""Sentences on a model's state; empty for a model without one."""


_POWER_OF = {
    "usb": "power through USB",
    "wall": "power at the wall",
    UNKNOWN_SCOPE: "power of an unknown part",
}


def power_of(scope: str) -> str:
    """Power that a meter of this scope sees: `power of the board`."""
    return _POWER_OF.get(scope, f"power of the {plain(scope, 20)}")


def series(trials: Sequence[Trial]) -> dict[str, str]:
    """Series of each trial by key: `int8`, with batch and requests in flight where they differ."""
    texts = {trial.key: plain(trial.precision, 16) for trial in trials}
    for name, form in (("batch", "b{}"), ("concurrency", "{} in flight")):
        if len({getattr(trial, name) for trial in trials}) > 1:
            for trial in trials:
                texts[trial.key] += f" {form.format(getattr(trial, name))}"
    return texts


def labels(trials: Sequence[Trial]) -> dict[str, str]:
    """Short name of every trial by key: `0.25 int8`, with family or batch added where they differ.

    Marks of a trial end its name: `0.25 int8 on the CPU`.
    """
    families = {_family(trial) for trial in trials}
    runs = series(trials)
    names: dict[str, str] = {}
    for trial in trials:
        has_depth = trial.depth_multiplier is not None
        parts = (
            plain(_family(trial), 40) if len(families) > 1 or not has_depth else "",
            depth(trial.depth_multiplier) if has_depth else "",
            runs[trial.key],
            plain(" ".join(trial.marks), 40),
        )
        names[trial.key] = " ".join(filter(None, parts))
    for alike in grouped(((trial.target, names[trial.key]), trial) for trial in trials).values():
        if len(alike) > 1:  # the key alone tells them apart
            names.update({trial.key: f"{names[trial.key]} {trial.key[:6]}" for trial in alike})
    return names


def _family(trial: Trial) -> str:
    """A variant's name without depth multiplier and precision; a file's name may have hyphens."""
    model = trial.variant.removesuffix(f"-{trial.precision}")
    if trial.depth_multiplier is None:
        return model
    return model.rpartition("-")[0] or model


def model(trial: Trial) -> str:
    """A variant's name without its precision: `mobilenet_v1-0.25`, `tower-1a2b3c4d`."""
    return plain(trial.variant.removesuffix(f"-{trial.precision}"), 120)


def depth(multiplier: float | None) -> str:
    """A depth multiplier as it is written everywhere: `0.25`, `0.5`, `1.0`; the sign for a model without."""
    if multiplier is None:
        return MISSING
    return f"{multiplier:.1f}" if multiplier % 1 == 0 else f"{multiplier:g}"


def families(trials: Sequence[Trial]) -> str:
    """Model families, for a heading: `mobilenet_v1`."""
    return ", ".join(sorted({plain(_family(trial), 40) for trial in trials}))


def spaced(unit: str) -> str:
    """A unit with its space, or nothing for a pure number."""
    return f" {plain(unit, 16)}" if unit not in ("", "1") else ""


def quantity(value: float | Sequence[float] | None) -> str:
    """One number, or the numbers of a body: `10 x 70 x 80`."""
    if isinstance(value, Sequence):
        return " x ".join(f"{part:g}" for part in value)
    return number(value)


def limit(requirement: Requirement) -> str:
    """A requirement as a formula: `latency per image ≤ 4.42 s`; a wish: `mass ≤ 50 g, wanted`."""
    formula = f"{subject(requirement)} {bound(requirement.limit, requirement.unit, requirement.at_least)}"
    return f"{formula}{', wanted' if requirement.wanted else ''}"


def bound(limit: float | Sequence[float], unit: str, at_least: bool) -> str:
    """A limit: `≤ 4.42 s`."""
    sides = limit if isinstance(limit, Sequence) else [limit]
    text = " x ".join(f"{side:.0f}" if side >= 1e6 else f"{side:g}" for side in sides)
    return f"{'≥' if at_least else '≤'} {text}{spaced(unit)}"


def subject(requirement: Requirement) -> str:
    """Metric that a requirement limits: `peak power over 1 s`, `latency per image (p99)`."""
    return judged_quantity(requirement.quantity, requirement.statistic, requirement.averaging_s)


def judged_quantity(name: str, statistic: str = "", averaging_s: float | None = None) -> str:
    """A metric within a sentence, with a statistic that is not its default: `latency per image (p99)`."""
    metric = METRICS[name]
    text = metric.inside
    if statistic not in ("", metric.statistics[0]):
        text += f" ({plain(statistic, 16)})"
    return text if averaging_s is None else f"{text} over {averaging_s:g} s"


def next_step(step: NextStep) -> str:
    """Action as text: `--meter KIND that sees all of the board`, `some 9 sessions (--sessions 9)`."""
    options = " ".join(step.arguments)
    if step.reason and step.kind in ("more sessions", "more images"):
        return plain(f"{step.reason} ({options})" if options else step.reason)
    return plain(" ".join(filter(None, (options, step.reason))))


def distance(verdict: Verdict) -> str:
    """Amount by which a limit is missed: `0.824 s over`, `3.20 points below`; "" where it is not known."""
    if verdict.margin is None:
        return ""
    missed = -verdict.margin / verdict.requirement.scale
    away = "below" if verdict.requirement.at_least else "over"
    return f"{number(missed)}{margin_unit(verdict)} {away}"


SYMBOLS = {"pass": "✓", "fail": "✕", "inconclusive": "≈", "unknown": "?"}
"""Symbols of verdicts, so that colour is never the only difference."""

STANDINGS = {"pass": "✓", "so far": "○", "inconclusive": "≈", "unknown": "?", "fail": "✕"}
"""Symbols of a trial against a whole profile, the best first: `so far` is for screens alone."""


def screen_word(word: str) -> str:
    """A verdict as people read it."""
    return "undecided" if word == "inconclusive" else word


def judged(verdict: Verdict) -> str:
    """The estimate that was judged, with its interval and unit: `above 5.00 W` where it is a bound alone."""
    shown, unit = verdict.estimate, spaced(verdict.requirement.unit)
    if shown.objection and not verdict.requirement.at_least:
        shown = replace(shown, high=None)  # an end that passes no limit
    ends = [end for end in (shown.low, shown.high) if end is not None]
    if shown.value is None and len(ends) == 1:
        strictly, loosely = ("above", "at least") if shown.high is None else ("below", "at most")
        end = ends[0] / verdict.requirement.scale
        side = strictly if shown.strict else loosely
        return f"{side} {number(end)}{unit}" if math.isfinite(end) else "without end"
    text = interval(shown, verdict.requirement.scale)
    return text if text == MISSING else f"{text}{unit}"


def value(verdict: Verdict) -> str:
    """The estimate that was judged, with its basis: `4.25 ±0.03 W (board)`."""
    text, basis = judged(verdict), verdict.estimate.basis
    has_basis = text != MISSING and basis not in ("", "declared", "published")
    return f"{text} ({plain(basis, 20)})" if has_basis else text


def margin(verdict: Verdict) -> str:
    """Distance to the limit, signed: `+4.19 s`, `-3.20 points`."""
    if verdict.margin is None:
        return MISSING
    return f"{signed(verdict.margin / verdict.requirement.scale)}{margin_unit(verdict)}"


def margin_unit(verdict: Verdict) -> str:
    """Unit of the margin with its space: the difference of two percentages is in points."""
    unit = verdict.requirement.unit
    return " points" if unit == "%" else spaced(unit)


def counted(n: int, noun: str, plural: str = "") -> str:
    """`1 variant`, `9 variants`."""
    return f"{n} {noun}" if n == 1 else f"{n} {plural or f'{noun}s'}"


NAMED = 3  # that a sentence names one by one


def several(names: Sequence[str]) -> str:
    """`a, b, c and 6 more`: of more than four names three."""
    more = len(names) - NAMED
    return listed(list(names) if more <= 1 else [*names[:NAMED], f"{more} more"])


def together(names: Sequence[str]) -> str:
    """`Mission number 1, 2, 3 and 6 more`: the words that all names begin with once."""
    parts = [name.split(" ") for name in names]
    alike = takewhile(lambda column: len(set(column)) == 1, zip(*(part[:-1] for part in parts), strict=False))
    shared = len(list(alike))
    return several([*names[:1], *(" ".join(part[shared:]) for part in parts[1:])])


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key, in the order in which they come."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def unused(name: str, taken: Container[str]) -> str:
    """Name, or `NAME (2)` and so on where it is taken."""
    names = chain([name], (f"{name} ({number})" for number in count_from(2)))
    return next(free for free in names if free not in taken)


def advice(finding: Mapping[str, object]) -> str:
    """Finding of doctor, followed by its fix."""
    return "; ".join(str(finding[name]) for name in ("message", "fix") if finding.get(name))


def subjects(findings: Sequence[Mapping[str, object]]) -> list[str]:
    """Subjects of doctor's findings, with their targets where these differ."""
    several = len({finding.get("target") for finding in findings}) > 1
    names = ("target", "subject") if several else ("subject",)
    return [": ".join(str(finding[name]) for name in names if finding.get(name)) for finding in findings]


def count(value: float) -> str:
    """A large count to the nearest whole number: `341,066,722`."""
    return fixed(value, 0, ",")


# Text of a JSON document.


SCHEMA_VERSION = 1


def as_json(document: Mapping[str, Any]) -> str:
    """The document as text, ending with a newline; characters outside ASCII are escaped."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


# Numbers by which tables sort.


_NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_OF_N = re.compile(r"(\d+)/(\d+)")


def sort_value(text: str) -> str:
    """Number by which a table sorts a cell: `k/n` as a share, else the first number, or nothing."""
    share = _OF_N.match(text)
    if share and int(share[2]):
        return repr(int(share[1]) / int(share[2]))
    match = _NUMBER.search(text)
    return match[0].replace(",", "").removeprefix("+") if match else ""
