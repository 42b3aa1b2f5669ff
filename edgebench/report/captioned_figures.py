"""The report's figures with their captions and the words for those who cannot see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgebench.errors import EdgeBenchError
from edgebench.fit.metrics import METRICS
from edgebench.fit.profile import Profile
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.report import drawing, tables, words
from edgebench.report.captioned_power import energy_picture, idle_picture, power_over_time_picture
from edgebench.report.captioned_trials import memory_picture, sessions_picture, targets_picture
from edgebench.report.picture import Picture, embedded_picture, limits_note
from edgebench.report.plots.accuracy import accuracy
from edgebench.report.plots.latency import By, latency, level_axis
from edgebench.report.plots.limit_lines import limit_lines
from edgebench.report.plots.scene import disagreements, scene
from edgebench.report.plots.stages import STACKED_STAGES, stages
from edgebench.report.plots.sustained import sustained
from edgebench.report.scene_predictions import scene_predictions
from edgebench.store.load import StoredResults


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
    caption += limits_note(limit_lines(limits, [median for median, _ in shown]), "s")
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
    src = drawing.data_uri("image/jpeg", drawing.as_jpeg(figure))
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
