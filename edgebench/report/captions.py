"""The report's figures with their captions and the words for those who cannot see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from edgebench.errors import EdgeBenchError
from edgebench.judge.metrics import METRICS
from edgebench.judge.power_metrics import rail_interval
from edgebench.judge.power_trace import PowerTrace
from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import drawing, tables, words
from edgebench.report import notes as verdict_groups
from edgebench.report.metric_text import metric_text
from edgebench.report.plots.accuracy import accuracy, energy, energy_panels
from edgebench.report.plots.latency import (
    MAX_ROWS,
    STACKED_STAGES,
    By,
    latency,
    level_axis,
    quickest_first,
    ratios_to_quickest,
    stages,
    targets,
)
from edgebench.report.plots.limits import LimitLine, is_known, limit_lines, limits, multiple_of
from edgebench.report.plots.power import (
    MAX_RAILS,
    drawn_traces,
    idle_panels,
    idle_power,
    lines_of_limits,
    power_limits,
    power_over_time,
    rail_words,
)
from edgebench.report.plots.scene import disagreements, scene
from edgebench.report.plots.sessions import (
    LEAST_FOR_P90,
    drawn_trials,
    is_hot,
    is_thinned,
    memory,
    sessions,
    sustained,
    with_memory,
)
from edgebench.results.load import StoredResults
from edgebench.stats.intervals import session_medians

# A figure as a page shows it, with its caption and the words for those who cannot see it.


@dataclass(frozen=True)
class Picture:
    """A figure as a page shows it: drawn, or a photograph; where it is neither, the caption says why.

    Attributes:
        src: a photograph as a `data:` address; empty where there is none.
        alt: the words for those who cannot see it.
        caption: what stands below it.
        figure: what is drawn; None of a photograph, and where nothing is.
        photograph: the figure that holds a photograph.
    """

    src: str
    alt: str
    caption: str
    figure: Figure | None = None
    photograph: Figure | None = None


def embedded_picture(figure: Figure, alt: str, caption: str, panels: int, noun: str = "target") -> Picture:
    """The figure with its words; where it has more panels than are drawn, the caption says so."""
    if panels > drawing.MAX_PANELS:
        caption += f" The first {drawing.MAX_PANELS} of {panels} {noun}s are drawn; the tables hold all."
    return Picture("", alt, caption, figure)


def limits_note(lines: Sequence[LimitLine]) -> str:
    """What the lines of a figure's limits are; those beyond its axis by name and value."""
    note = " Dashed: the profiles' limits." if any(line.side == "inside" for line in lines) else ""
    far = [
        f"{words.plain(', '.join(line.names), 120)} ({line.value:g} s)"
        for line in lines
        if line.side != "inside"
    ]
    return note + (f" Dotted, at the edge: limits beyond the axis, of {words.listed(far)}." if far else "")


# The figures of power and energy with their captions; none of them without a meter.


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


# The figures that hold trials against each other, and each against itself over time, with their captions.


def targets_picture(summaries: Sequence[TrialSummary], limits: Mapping[str, float]) -> Picture:
    """All targets on one axis, with the ratio to the quickest.

    `limits` are of the time that is drawn, in seconds, by profile.
    """
    rows = quickest_first(summaries)
    if not rows:
        return Picture("", "", "There is no figure of all targets on one axis: no trial has a time.")
    names, ratio_of = tables.trial_names(rows), ratios_to_quickest(rows)
    timed = words.alike_timed(summaries)
    caption = f"Median {words.latency_names(rows)} of each trial, the quickest on top, and its ratio to that"
    if any(ratio.low is not None for ratio in ratio_of.values()):
        caption += " with its 95 % interval over both trials' session medians (Welch, on the logarithm)"
    caption += "."
    if any(ratio.low is None for ratio in ratio_of.values()):
        caption += " A ratio without an interval: published, or too few sessions."
    figures = [summary.latency.median for summary in rows if summary.latency is not None]
    caption += limits_note(limit_lines(limits, figures))
    if len(rows) < len(timed):
        kept = "the quickest of each target" + (f", the first {MAX_ROWS}" if len(rows) == MAX_ROWS else "")
        caption += f" Drawn of {words.counted(len(timed), 'trial')}: {kept}."
    alt = f"{words.latency_names(rows)} from the quickest to the slowest: " + "; ".join(
        f"{names[summary.key]} {words.interval(summary.latency)} s"
        + (f", {ratio_of[summary.key].text} times the quickest" if summary.key in ratio_of else "")
        for summary in rows
    )
    figure = drawing.blank()
    targets(summaries, limits, ax=figure)
    return embedded_picture(figure, alt, caption, 1)


def sessions_picture(summaries: Sequence[TrialSummary]) -> Picture:
    """Sessions and passes in time order."""
    shown = drawn_trials(summaries)
    if not shown:
        return Picture("", "", "There is no figure of sessions and passes: no trial has passes.")
    names = tables.trial_names(shown)
    quantity = words.latency_names(shown)
    caption = (
        f"Every session's steady passes in time order, {quantity} as a share of the trial's median, "
        f"with each session's minimum and median, and its p90 from {LEAST_FOR_P90} passes. A strip that "
        "rises became slower while it ran; triangles at the upper edge stand for passes above the axis."
    )
    hot = [names[summary.key] for summary in shown if is_hot(summary)]
    if hot:
        caption += f" Throttling is suspected of {words.listed(hot)}."
    if is_thinned(shown):
        caption += " Of long sessions the lowest and the highest pass of each part are drawn."
    able = len([summary for summary in words.alike_timed(summaries) if any(map(len, summary.latency_values))])
    if able > len(shown):
        caption += f" {len(shown)} of {words.counted(able, 'trial')} are drawn, some of every target."
    alt = f"{quantity} of the sessions, lowest and highest median: " + "; ".join(
        f"{names[summary.key]} {_medians(summary)}" for summary in shown[:30]
    )
    figure = drawing.blank()
    sessions(summaries, ax=figure)
    return embedded_picture(figure, alt, caption, 1)


def _medians(summary: TrialSummary) -> str:
    medians_s = session_medians(summary.latency_values)
    if len(medians_s) == 1:
        return f"{words.number(medians_s[0])} s in one session"
    return (
        f"{words.number(min(medians_s))} to {words.number(max(medians_s))} s "
        f"in {words.counted(len(medians_s), 'session')}"
    )


def memory_picture(summaries: Sequence[TrialSummary]) -> Picture | None:
    """Memory by variant; None where no trial has a peak."""
    shown = with_memory(summaries)
    if not any(summary.memory_bytes for summary in shown):
        return None
    names = tables.trial_names(shown)
    caption = (
        "Peak memory while each trial ran, mean over the sessions, and the size of what its runtime loads"
    )
    if any(len(summary.memory_bytes_values) > 1 for summary in shown):
        caption += "; thin bars reach from the lowest to the highest session"
    without = sum(summary.memory_bytes is None for summary in shown)
    caption += "." + (f" Without a peak: {words.counted(without, 'trial')}." if without else "")
    alt = "Memory: " + "; ".join(
        f"{names[summary.key]} peak {words.size(summary.memory_bytes)}, "
        f"file {words.size(summary.artifact_bytes)}"
        for summary in shown[:30]
    )
    figure = drawing.blank()
    memory(summaries, ax=figure)
    return embedded_picture(figure, alt, caption, len({summary.target for summary in shown}))


# Which class each trial predicted for each patch of its scene.


def scene_predictions(results: StoredResults) -> dict[str, list[int]]:
    """By key of a trial one class index a patch, row by row: the first set that is whole.

    Sets are those of a session's workers, session after session. A trial without a whole one is left out.
    """
    experiment = results.experiment
    patches = {trial.key: experiment.scene_of(trial).patches for trial in experiment.trials}
    frame = results.table("predictions", ["worker", "set", "index", "predicted"])
    frame = frame[frame["set"] == "scene"]
    predictions: dict[str, list[int]] = {}
    for (trial, _session, _worker), rows in frame.groupby(
        ["trial", "session", "worker"], sort=True, observed=True
    ):
        key, ordered = str(trial), rows.sort_values("index")
        if key not in predictions and ordered["index"].tolist() == list(range(patches[key])):
            predictions[key] = [int(item) for item in ordered["predicted"]]
    return predictions


def latency_limits(verdicts: Sequence[Verdict], quantity: str) -> dict[str, float]:
    """Profile -> limit of image_s, or infer_s, in seconds, where the profile limits its median.

    Of a wish and a requirement it is the requirement's.
    """
    return {
        verdict.profile: verdict.limit * METRICS[quantity].units[verdict.unit]
        for verdict in sorted(verdicts, key=lambda verdict: not verdict.wanted)
        if verdict.quantity == quantity
        and verdict.statistic == "median"
        and isinstance(verdict.limit, float | int)
    }


def depth_picture(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> Picture:
    """Latency by depth multiplier and precision, for trials of one family; else by model and precision.

    It is image_s; infer_s where no trial has that.
    """
    measured = words.alike_timed(summaries)
    if not measured:
        return Picture("", "", "There is no figure of image_s: no trial has a time.")
    picture = _latency_picture(measured, verdicts, level_axis(measured))
    return replace(picture, caption=picture.caption + _undrawn_note(summaries, measured))


def _undrawn_note(summaries: Sequence[TrialSummary], shown: Sequence[TrialSummary]) -> str:
    """How many trials have another time than those of a figure."""
    others = sum(summary.latency is not None for summary in summaries) - len(shown)
    return f" Not drawn: {words.counted(others, 'trial')} with infer_s alone." if others > 0 else ""


def _latency_picture(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict], axis: By) -> Picture:
    by = {"depth": "depth multiplier", "model": "model"}[axis]
    shown = [(summary.latency.median, summary) for summary in summaries if summary.latency is not None]
    quantity = words.latency_names(summaries)
    limits = latency_limits(verdicts, quantity)
    is_published = any(summary.published for summary in summaries)
    bars = "as published, without intervals" if is_published else "bars are 95 % intervals over sessions"
    caption = f"{quantity} by {by} and precision; {bars}."
    caption += limits_note(limit_lines(limits, [median for median, _ in shown]))
    names = tables.trial_names(summaries)
    least, most = min(shown, key=_first), max(shown, key=_first)
    alt = (
        f"{quantity} by {by} and precision for {words.counted(len(shown), 'trial')}: "
        f"from {words.number(least[0])} s ({names[least[1].key]}) "
        f"to {words.number(most[0])} s ({names[most[1].key]})."
    )
    figure = drawing.blank()
    latency(summaries, limits, by=axis, ax=figure)
    return embedded_picture(figure, alt, caption, _targets(summaries))


def accuracy_picture(summaries: Sequence[TrialSummary]) -> Picture:
    """Accuracy against image_s; against infer_s where no trial has that."""
    shown = words.alike_timed([summary for summary in summaries if summary.accuracy is not None])
    if not shown:
        return Picture("", "", "There is no figure of accuracy against latency: no trial has both.")
    names = tables.trial_names(summaries)
    quantity = words.latency_names(shown)
    alt = f"Accuracy against {quantity}: " + "; ".join(
        f"{names[summary.key]} {words.right_of(summary.accuracy)} at {words.interval(summary.latency)} s"
        for summary in shown[:30]
    )
    caption = (
        f"Top-1 on the images against {quantity}; beside the points stand depth multipliers or models. "
        "Upright bars are Wilson intervals, level ones are intervals over sessions, both 95 %."
    ) + _undrawn_note([summary for summary in summaries if summary.accuracy is not None], shown)
    figure = drawing.blank()
    accuracy(summaries, ax=figure)
    return embedded_picture(figure, alt, caption, _targets(summaries))


def stages_picture(summaries: Sequence[TrialSummary]) -> Picture:
    """Where a patch's time goes."""
    shown = [summary for summary in summaries if summary.stages_ms]
    if not shown:
        return Picture("", "", "There is no figure of the stages: no trial has a time.")
    names = tables.trial_names(summaries)
    alt = "Milliseconds a patch by stage: " + "; ".join(
        f"{names[summary.key]} "
        + ", ".join(
            f"{words.plain(stage, 40)} {words.number(time)}" for stage, time in summary.stages_ms.items()
        )
        for summary in shown[:30]
    )
    caption = "Milliseconds a patch, stage upon stage; means over the sessions of each session's median."
    own = {stage for summary in shown for stage in summary.stages_ms} - set(STACKED_STAGES)
    if own:
        own_stages = " and ".join(words.plain(stage, 40) for stage in sorted(own))
        caption += f" The narrow bar is {own_stages}, the device's own time within infer."
    figure = drawing.blank()
    stages(summaries, ax=figure)
    return embedded_picture(figure, alt, caption, _targets(summaries))


def minutes_picture(summaries: Sequence[TrialSummary]) -> Picture | None:
    """A median a minute of the sustained sessions; None where there were none."""
    shown = [summary for summary in summaries if summary.sustained is not None]
    if not shown:
        return None
    timed = words.latency_names(shown)
    caption = f"Median {timed} of each minute, by trial; means over the sessions of each session's median."
    figure = drawing.blank()
    sustained(shown, ax=figure)
    return embedded_picture(figure, minutes_words(shown), caption, _targets(shown))


def minutes_words(summaries: Sequence[TrialSummary]) -> str:
    """The figure for those who cannot see it."""
    names = tables.trial_names(summaries)
    shown = [
        (names[summary.key], summary.sustained.minutes)
        for summary in summaries
        if summary.sustained is not None
    ]
    timed = words.latency_names([summary for summary in summaries if summary.sustained is not None])
    return f"Median {timed} of each minute: " + "; ".join(
        f"{name} {words.number(minutes[0].median_s)} s in the first, "
        f"{words.number(minutes[-1].median_s)} s in the last of {words.counted(len(minutes), 'minute')}"
        for name, minutes in shown[:30]
        if minutes
    )


def scene_picture(results: StoredResults, summaries: Sequence[TrialSummary]) -> Picture:
    """The scene with the classes that one trial predicted: the most accurate, the fastest of equals."""
    if not summaries:
        return Picture("", "", "There is no picture of the scene: the result holds no trial.")
    record = results.experiment.scene
    if record.kind == "samples":
        return Picture("", "", "There is no picture of the scene: the models were timed with other inputs.")
    # Trials that are timed with another cut have another grid than the picture's.
    shared = {trial.key for trial in results.experiment.trials if trial.scene is None}
    class_names = {trial.key: trial.class_names for trial in results.experiment.trials if trial.class_names}
    seen = {
        key: predicted
        for key, predicted in scene_predictions(results).items()
        if key in shared and key in class_names
    }
    able = [summary for summary in summaries if summary.key in seen]
    if not able:
        return Picture("", "", "There is no picture of the scene: no trial predicted all of its patches.")
    best = max(able, key=_accuracy_then_speed)
    names = class_names.get(best.key, ())
    try:
        picture = results.scene_jpeg
        if picture is None:
            return Picture("", "", "There is no picture of the scene: it was not kept with the result.")
        figure = drawing.blank()
        scene(picture, record, seen[best.key], names, ax=figure)
    except EdgeBenchError as error:
        return Picture("", "", f"There is no picture of the scene: {words.plain(error)}")
    wrong = disagreements(record, seen[best.key], names)
    counts = ", ".join(
        f"{words.plain(name, 40)} {seen[best.key].count(index)}" for index, name in enumerate(names)
    )
    label = tables.trial_names(summaries)[best.key]
    patches = record.rows * record.columns
    caption = (
        f"{words.plain(record.name, 80)}, {record.height} x {record.width} pixels, "
        f"{record.rows} x {record.columns} patches, tinted by what {label} predicted: {counts}. "
    )
    if wrong is None:
        caption += "The scene has no labels in these classes."
    else:
        caption += f"{len(wrong)} of {patches} patches, crossed, are labelled otherwise."
    alt = f"The scene with the predicted class of each of {patches} patches: {counts}."
    src = drawing.jpeg_uri(drawing.as_jpeg(figure))
    return Picture(src, alt, caption, photograph=figure)


def _accuracy_then_speed(summary: TrialSummary) -> tuple[float, float]:
    figure = summary.accuracy or summary.scene_accuracy
    rate = figure.k / figure.n if figure and figure.n else -1.0
    return rate, -summary.latency.median if summary.latency else float("-inf")


def _first(pair: tuple[float, TrialSummary]) -> float:
    return pair[0]


def _targets(summaries: Sequence[TrialSummary]) -> int:
    return len({summary.target for summary in summaries})


def pictures(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile] = (),
) -> Mapping[str, Picture | None]:
    """Every figure of the report by its place on the page; None for one that has none there.

    `profiles` are those of the verdicts.
    """
    return {
        "depth": depth_picture(summaries, verdicts),
        "targets": targets_picture(
            summaries, latency_limits(verdicts, words.latency_names(words.alike_timed(summaries)))
        ),
        "sessions": sessions_picture(summaries),
        "memory": memory_picture(summaries),
        "accuracy": accuracy_picture(summaries),
        "stages": stages_picture(summaries),
        "scene": scene_picture(results, summaries),
        "minutes": minutes_picture(summaries),
        "energy": energy_picture(summaries),
        "idle": idle_picture(summaries),
        "power_over_time": power_over_time_picture(results, summaries, profiles),
    }


# The figure of a profile's requirements with its caption.


MOST_ROWS = 120
"""That one figure draws, over all requirements."""


def limits_picture(
    summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict], profile: str
) -> Picture | None:
    """The figure of one profile, by a panel a requirement; None where none of its figures is known."""
    names = tables.trial_names(summaries)
    ours = [verdict for verdict in verdicts if verdict.profile == profile and verdict.trial in names]
    asked = verdict_groups.requirements(ours)
    panels = {name: [each for each in ours if each.requirement == name and is_known(each)] for name in asked}
    drawn = {name: of_panel for name, of_panel in panels.items() if of_panel}
    if not drawn:
        return None
    most = max(1, MOST_ROWS // len(drawn))
    hidden = max(max(0, len(of_panel) - most) for of_panel in drawn.values())
    drawn = {name: of_panel[:most] for name, of_panel in drawn.items()}
    caption = (
        "Each figure that was judged, with its interval, as a multiple of its limit, which is the line at 1; "
        "the tinted side meets it. An arrow: nothing bounds the figure on that side."
    )
    if absent := [words.limit(asked[name]) for name in asked if name not in drawn]:
        caption += f" Not known of any trial: {'; '.join(absent)}."
    if any(summary.published for summary in summaries):
        caption += " The figures were published; none was measured here."
    if hidden:
        caption += f" The first {most} trials of a requirement are drawn; the tables hold all."
    figure = drawing.blank()
    limits(drawn, names, ax=figure)
    return embedded_picture(figure, _alternative(drawn, names), caption, 1)


def _alternative(panels: Mapping[str, Sequence[Verdict]], names: Mapping[str, str]) -> str:
    parts = []
    for of_panel in panels.values():
        ends = [(end, verdict) for verdict in of_panel for end in multiple_of(verdict).ends]
        least, most = min(ends, key=lambda end: end[0]), max(ends, key=lambda end: end[0])
        parts.append(
            f"{words.limit(of_panel[0])}, {words.counted(len(of_panel), 'trial')}: from "
            f"{words.number(least[0])} ({names[least[1].trial]}) to {words.number(most[0])} times the limit "
            f"({names[most[1].trial]})"
        )
    return "Figures over their limits: " + "; ".join(parts)
