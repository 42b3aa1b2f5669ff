"""The passes of workers that share a device, in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import tables, words
from edgebench.report.plots import drawing, panels
from edgebench.report.sharing import shared_trials, worker_name
from edgebench.results.load import StoredResults

MOST_PASSES = 200
"""Passes of a worker that are drawn, its first ones."""
_COLUMNS = ("worker", "phase", "start_ns", "end_ns")


@dataclass(frozen=True)
class Timeline:
    """A session of a trial.

    Attributes:
        session: its number.
        common_s: how long all workers ran; the time 0 is when that begins.
        spans_s: by worker float64 [N, 2], start and end of its passes.
        steady: by worker bool [N], which of them are within that time.
        names: of the workers.
    """

    session: int
    common_s: float
    spans_s: Sequence[NDArray[np.float64]]
    steady: Sequence[NDArray[np.bool_]]
    names: Sequence[str]


def timelines(results: StoredResults, summaries: Sequence[TrialSummary]) -> dict[str, Timeline]:
    """First session that ended well of each trial with several workers, by its key."""
    labels = words.labels(summaries)
    found = {}
    for summary in shared_trials(summaries):
        record = next((each for each in results.session_records(summary.key) if each.status == "ok"), None)
        common_ns = record and record.windows_ns.get("steady")
        if record is None or not common_ns:
            continue
        rows = results.rows("passes", _COLUMNS, [summary.key]).ordered("session", "start_ns")
        begun = rows.equal("phase", "steady") | rows.equal("phase", "outside")
        rows = rows.take(begun & (rows.whole("session") == record.n))
        spans_s = (np.stack([rows.whole("start_ns"), rows.whole("end_ns")], axis=1) - common_ns[0]) / 1e9
        workers, number = summary.workers, rows.whole("worker")
        own = [np.flatnonzero(number == each["worker"])[:MOST_PASSES] for each in workers]
        steady = rows.equal("phase", "steady")
        found[summary.key] = Timeline(
            record.n,
            (common_ns[1] - common_ns[0]) / 1e9,
            [spans_s[of] for of in own],
            [steady[of] for of in own],
            [f"{each['worker']}: {worker_name(each, labels)}" for each in workers],
        )
    return found


def timeline(
    results: StoredResults, summaries: Sequence[TrialSummary], *, ax: panels.Place = None
) -> list[Axes]:
    """Each worker's passes in one session, a row a worker; those partly outside the common time grey.

    Args:
        results: that hold the passes.
        summaries: trials; those of one worker are left out.
        ax: where to draw, a panel a trial.
    """
    shown = timelines(results, summaries)
    names = tables.trial_names(summaries)
    groups = [(names[key], of_trial) for key, of_trial in shown.items()][: drawing.MAX_PANELS]
    handles = [
        Line2D([], [], color=colour, linewidth=6, label=label)
        for colour, label in ((drawing.SKY, "steady"), (drawing.QUIET, "outside"))
    ]
    heights = [1.0 + 0.3 * len(of_trial.names) for _, of_trial in groups]
    return panels.draw_panels(
        ax, groups, _draw, "no device was shared", "passes", handles=handles, height=heights or 2.0, columns=1
    )


def _draw(axes: Axes, shown: Timeline) -> None:
    for row, (spans_s, steady, name) in enumerate(zip(shown.spans_s, shown.steady, shown.names, strict=True)):
        for which, colour in ((steady, drawing.SKY), (~steady, drawing.QUIET)):
            bars = [(start, end - start) for start, end in spans_s[which]]
            drawn = axes.broken_barh(
                bars, (row - 0.35, 0.7), facecolors=colour, edgecolors="white", linewidth=0.4
            )
            if which is steady:
                counted = words.counted(int(steady.sum()), "pass", "passes")
                drawing.mark(drawn, "trial", f"worker {name}: {counted} within the common time")
    for edge_s in (0.0, shown.common_s):
        axes.axvline(edge_s, color=drawing.INK, linewidth=0.8, linestyle="--")
    panels.name_rows(axes, shown.names)
    axes.set_xlabel("time since all workers ran, s")
    axes.set_ylabel("worker")


def timeline_picture(results: StoredResults, summaries: Sequence[TrialSummary]) -> panels.Picture | None:
    """The passes of each worker in time; None where no device was shared."""
    shown = timelines(results, summaries)
    if not shown:
        return None
    is_cut = any(len(spans_s) == MOST_PASSES for each in shown.values() for spans_s in each.spans_s)
    return panels.picture(
        partial(timeline, results, summaries),
        "Passes of each worker in time",
        "Each worker's passes in the first session of a trial; dashed lines begin and end the time when all "
        "workers ran. Passes that are partly outside it are grey, and in no latency.",
        f"The first {MOST_PASSES} passes of each worker are drawn." if is_cut else "",
        panels=len(shown),
        noun="trial",
    )
