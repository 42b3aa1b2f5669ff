"""Which figures of power and energy may be compared: those of meters that cover the same."""

from __future__ import annotations

from collections.abc import Iterable

from edgebench.fit.metrics import shown_in
from edgebench.fit.power_metrics import rail_value
from edgebench.fit.power_rails import scope_rank
from edgebench.fit.trial_summary import UNKNOWN_SCOPE, PowerFigure, TrialSummary
from edgebench.report import words
from edgebench.report.metric_text import metric_text


def scope_text(rail: PowerFigure) -> str:
    """What its meter covers: `board`, `scope unknown`."""
    return words.plain(rail.scope, 20) or UNKNOWN_SCOPE


def meter_text(rail: PowerFigure) -> str:
    """Meter and rail: `rapl package-0`."""
    return words.plain(f"{rail.meter.removesuffix(':')} {rail.channel}", 60)


def rail_text(rail: PowerFigure) -> str:
    """Meter, rail and what they cover: `rapl package-0, chip`."""
    return f"{meter_text(rail)}, {scope_text(rail)}"


def power_cells(rail: PowerFigure) -> list[str]:
    """Its figures in the columns of the tables of power."""
    return [metric_text(rail_value(rail, metric), shown.form) for metric, shown in shown_in("power")]


def declared_texts(summary: TrialSummary) -> list[str]:
    """What was declared of a trial's target, marked as such: power, boot time, temperatures."""
    texts = []
    figures = [
        f"{power.kind} {power.watts:g} W ({words.plain(power.source)})" for power in summary.declared_power
    ]
    if figures:
        texts.append(f"declared power, not measured: {', '.join(figures)}")
    if boot := summary.boot_s:
        source = words.plain(boot.source)
        texts.append(f"declared boot time, not measured: {boot.kind} {boot.seconds:g} s ({source})")
    if stated := summary.temperature_c:
        range_text = f"{stated.low_c:g} to {stated.high_c:g} °C ({words.plain(stated.source)})"
        texts.append(f"declared temperature range, not tested: {range_text}")
    return texts


def scopes_of(rails: Iterable[PowerFigure]) -> tuple[str, ...]:
    """Each scope of these rails once, in the order of SCOPES."""
    texts = {scope_text(rail): scope_rank(rail.scope) for rail in rails}
    return tuple(sorted(texts, key=lambda text: (texts[text], text)))


def scopes_note(rails: Iterable[PowerFigure]) -> str:
    """Why figures of these rails cannot all be compared; "" where one scope holds them all."""
    scopes = scopes_of(rails)
    if len(scopes) < 2:
        return ""
    return (
        f"Power and energy are of meters that cover different things ({', '.join(scopes)}): "
        "they are comparable within a scope, not across scopes."
    )
