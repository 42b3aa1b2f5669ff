"""The file of a new profile, with comments, from what a user says of it; as it is written, it is taken."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgebench.errors import UsageError
from edgebench.fit.metric import Metric
from edgebench.fit.metrics import required_metrics
from edgebench.fit.profile import parse_profile
from edgebench.fit.units import fitting_units
from edgebench.suggest import choose, short

ASKED: Mapping[str, str] = {
    "image_s": "4.42 s",
    "power_peak_w": "5 W",
    "accuracy": "90 %",
    "memory_bytes": "512 MB",
    "mass_g": "150 g",
    "size_mm": "65 x 30 x 8 mm",
}
"""The quantities that a user is asked about, each with an example of a limit."""

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class Limit:
    """A limit as a user types it.

    Attributes:
        quantity: one of the catalogue's.
        statistic: one of the quantity's.
        text: a number with its unit, a number alone, or nothing: a latency's of the schedule.
    """

    quantity: str
    statistic: str
    text: str


@dataclass(frozen=True)
class Draft:
    """What a new profile says. Empty texts are not said."""

    name: str
    title: str = ""
    extends: str = ""
    cycle: str = ""
    images: int | None = None
    burst: str = ""
    deadline: str = ""
    limits: tuple[Limit, ...] = ()


def limit_of(text: str) -> Limit:
    """The limit in `QUANTITY[:STATISTIC]=LIMIT`; UsageError for a quantity or statistic that is none."""
    about, equals, limit = text.partition("=")
    quantity, _, statistic = about.strip().partition(":")
    metric = required_metrics().get(quantity)
    if not equals or not limit.strip():
        raise UsageError(f"--limit {short(text)} says no limit", fix="write --limit power_peak_w='5 W'")
    if metric is None:
        raise UsageError(
            f"--limit: unknown quantity {short(quantity)}", fix=choose(quantity, required_metrics())
        )
    if statistic and statistic not in metric.statistics:
        raise UsageError(
            f"--limit: unknown statistic {short(statistic)} of {quantity}",
            fix=choose(statistic, metric.statistics),
        )
    if metric.ends and not statistic:
        raise UsageError(
            f"--limit {short(text)} says no statistic",
            fix=f"write {quantity}:{metric.ends[0]}={limit.strip()}, or {quantity}:{metric.ends[1]}",
        )
    return Limit(quantity, statistic or metric.statistics[0], limit.strip())


def profile_text(draft: Draft, folder: Path = Path()) -> str:
    """The file's text, to lie in a folder; UsageError, as of a file of that text, for what is no profile."""
    limits = draft.limits
    has_schedule = any((draft.cycle, draft.images is not None, draft.burst, draft.deadline))
    if has_schedule and not draft.extends and not any(limit.quantity == "image_s" for limit in limits):
        limits = (Limit("image_s", "median", ""), *limits)
    if not limits and not draft.extends:
        raise UsageError(
            "a profile takes a limit",
            fix="add --limit image_s='4.42 s', or --cycle and --images, or --extends",
        )
    blocks = [_head(draft), *([_schedule(draft)] if has_schedule else [])]
    blocks += [_requirement(limit) for limit in limits]
    text = "\n".join(blocks)
    parse_profile(text.encode(), draft.name, folder)
    return text


def _head(draft: Draft) -> str:
    return _lines(
        "# What a target has to meet. `edgebench profiles check FILE` says what is wrong with this file, and",
        "# `edgebench fit latest --profile FILE` judges by it. docs/profiles.md describes every field.",
        "schema_version = 1",
        f"name = {_quoted(draft.name)}",
        f"title = {_quoted(draft.title)}" if draft.title else '# title = "One line for the heads of reports"',
        '# description = "What it is for."',
        '# source = "Where the limits come from."',
        f"extends = {_quoted(draft.extends)}  # whose schedule and requirements it takes"
        if draft.extends
        else '# extends = "disco-realtime"  # would take the schedule and requirements of that profile',
    )


def _schedule(draft: Draft) -> str:
    return _lines(
        "[schedule]  # when images come; a latency's limit without a number is what it allows an image",
        f"cycle = {_quoted(draft.cycle)}" if draft.cycle else "",
        "" if draft.images is None else f"images = {draft.images}  # of a cycle, evenly unless said:",
        f"burst = {_quoted(draft.burst)}  # over so long from the cycle's start"
        if draft.burst
        else '# burst = "6 min"  # over so long from the cycle\'s start',
        f"deadline = {_quoted(draft.deadline)}  # after which an image's result is worth nothing"
        if draft.deadline
        else '# deadline = "1 h"  # after which an image\'s result is worth nothing',
    )


def _requirement(limit: Limit) -> str:
    metric = required_metrics()[limit.quantity]
    bare = _NUMBER.fullmatch(limit.text)
    is_first = limit.statistic == metric.statistics[0]
    return _lines(
        f"# {metric.sentence}",
        "[[requirements]]",
        f"name = {_quoted(limit.quantity if is_first else f'{limit.quantity} {limit.statistic}')}",
        f"quantity = {_quoted(limit.quantity)}",
        f"statistic = {_quoted(limit.statistic)}{_others(metric)}",
        _limit_line(limit, metric),
        f"unit = {_quoted(metric.unit)}" if bare else "",
        "# averaging_s = 1.0  # the time over which the limit means the average" if metric.is_power else "",
        "# wanted = true  # a wish: missed, it is shown and spoils nothing",
        "# weight = 2.0  # how much it counts where targets are ranked; 1.0 unless said",
    )


def _others(metric: Metric) -> str:
    others = metric.statistics[1:]
    return f"  # or {', '.join(others)}" if others else ""


def _limit_line(limit: Limit, metric: Metric) -> str:
    bound = "at least" if metric.at_least(limit.statistic) else "at most"
    if not limit.text:
        return f'# limit = "{ASKED[limit.quantity]}"  # {bound}; the schedule\'s unless said'
    value = limit.text if _NUMBER.fullmatch(limit.text) else _quoted(limit.text)
    return f"limit = {value}  # {bound}; in {', '.join(fitting_units(metric.units))}"


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines if line)


def _quoted(text: str) -> str:
    """A TOML string; JSON escapes as TOML does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
