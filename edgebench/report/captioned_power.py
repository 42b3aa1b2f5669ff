"""The figures of power and energy with their captions; none of them without a meter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.fit.power_metrics import rail_interval
from edgebench.fit.power_trace import PowerTrace
from edgebench.fit.profile import Profile
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.metric_text import metric_text
from edgebench.report.picture import Picture, embedded_picture
from edgebench.report.plots.energy import energy, energy_panels
from edgebench.report.plots.idle_power import idle_panels, idle_power
from edgebench.report.plots.power_over_time import (
    MAX_RAILS,
    drawn_traces,
    lines_of_limits,
    power_limits,
    power_over_time,
    rail_words,
)
from edgebench.store.load import StoredResults


def power_over_time_picture(
    results: StoredResults, summaries: Sequence[TrialSummary], profiles: Sequence[Profile]
) -> Picture | None:
    """Power over the time of one session a trial; None without a meter."""
    metered = [summary for summary in summaries if summary.power]
    if not metered:
        return None
    traces = drawn_traces(results, summaries)
    if not traces:
        return Picture(
            "", "", "There is no figure of power over time: no meter gave a sample in these sessions."
        )
    limits = power_limits(profiles)
    names = tables.trial_names(summaries)
    caption = (
        "Power over the time of a session: of each trial the one in the middle by mean power, with its "
        "steady passes and idle windows shaded. Panels of one scope have one scale. Where samples are closer "
        "than pixels the line spans the lowest to the highest; where it is broken the meter gave no reading."
    )
    if any(summary.paced for summary in metered):
        caption += " With --period the pauses are part of the steady time."
    far = [name for line in lines_of_limits(traces, limits) if line.side == "above" for name in line.names]
    if far:
        caption += f" Dotted, at the upper edge: limits above the axis, {words.listed(far)}."
    undrawn = len(metered) - len({trace.trial for trace in traces})
    if undrawn:
        why = (
            "the figure is full" if len(traces) >= drawing.MAX_PANELS else "no reading came in these sessions"
        )
        caption += f" Not drawn: {words.counted(undrawn, 'trial')}; {why}."
    hidden = sum(max(0, len(trace.rails) - MAX_RAILS) for trace in traces)
    if hidden:
        caption += f" A panel holds {MAX_RAILS} rails at most: {hidden} are in the table alone."
    figure = drawing.blank()
    power_over_time(traces, names, limits, ax=figure)
    return embedded_picture(figure, _power_over_time_words(traces, names), caption, len(traces))


def _power_over_time_words(traces: Sequence[PowerTrace], names: Mapping[str, str]) -> str:
    """The figure for those who cannot see it."""
    return "Power over the time of a session: " + "; ".join(
        f"{names[trace.trial]}, session {trace.session:03}: "
        + ", ".join(rail_words(rail) for rail in trace.rails[:MAX_RAILS])
        for trace in traces
    )


def energy_picture(summaries: Sequence[TrialSummary]) -> Picture | None:
    """Accuracy against energy an image; None without a meter."""
    metered = [summary for summary in summaries if summary.power]
    if not metered:
        return None
    panels = energy_panels(summaries)
    if not panels:
        return Picture("", "", "There is no figure of accuracy against energy: no trial has both.")
    points = [point for group in panels.values() for point in group]
    names = tables.trial_names(summaries)
    alt = "Accuracy against energy an image: " + "; ".join(
        f"{names[point.summary.key]} {words.right_of(point.summary.accuracy)} "
        f"at {words.interval(point.cost)} J, {scope}"
        for scope, group in panels.items()
        for point in group
    )
    caption = (
        "Top-1 on the images against energy an image, as the primary meter and rail of each trial see it; "
        "beside the points stand depth multipliers or models. Upright bars are Wilson intervals, level ones "
        "those of the energy over sessions and samples, both 95 %."
    )
    if any(point.net is not None for point in points):
        caption += " Hollow: the energy above that of the idle device, where it is a tenth or more."
    if any(summary.paced for summary in metered):
        caption += " With --period it is the energy of the whole period, pauses included."
    if len(panels) == 1:
        caption += f" All meters see the {next(iter(panels))}."
    else:
        caption += " Meters of different scopes have a panel each: their figures do not compare."
    undrawn = len(metered) - len(points)
    if undrawn:
        caption += f" Not drawn: {words.counted(undrawn, 'trial')} without energy or accuracy."
    figure = drawing.blank()
    energy(summaries, ax=figure)
    return embedded_picture(figure, alt, caption, len(panels), "scope")


def idle_picture(summaries: Sequence[TrialSummary]) -> Picture | None:
    """Idle against active power; None without a meter."""
    metered = [summary for summary in summaries if summary.power]
    if not metered:
        return None
    panels = idle_panels(summaries)
    if not panels:
        return Picture("", "", "There is no figure of idle against active power: no trial has a mean power.")
    names = tables.trial_names(summaries)
    drawn = [(seen, summary) for (_, seen), group in panels.items() for summary in group]
    alt = "Idle against active power: " + "; ".join(
        f"{names[summary.key]} idle {metric_text(rail.idle_w, 'number')} W, "
        f"active {words.interval(rail_interval(rail, 'power_mean_w'))} W, {seen}"
        for seen, summary in drawn[:30]
        if (rail := summary.primary_rail) is not None
    )
    caption = (
        "Mean power of the idle windows and within the steady passes, of each trial as its primary meter and "
        "rail see it; thin bars are 95 % intervals over sessions and samples. Panels of one scope have one "
        "scale; meters of different scopes do not compare."
    )
    without_idle = sum(
        summary.primary_rail is None or summary.primary_rail.idle_w is None for _, summary in drawn
    )
    if without_idle:
        caption += f" Without an idle power: {words.counted(without_idle, 'trial')}."
    figure = drawing.blank()
    idle_power(summaries, ax=figure)
    return embedded_picture(figure, alt, caption, len(panels), "panel")
