"""Passes of workers that share a device, in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from edgebench.judge.trial import Trial
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
        common_s: time during which all workers ran, from 0.
        spans_s: by worker float64 [N, 2], start and end of its passes.
        steady: by worker bool [N], the passes within the common time.
        names: names of the workers.
    """

    common_s: float
    spans_s: Sequence[NDArray[np.float64]]
    steady: Sequence[NDArray[np.bool_]]
    names: Sequence[str]


def timelines(results: StoredResults, trials: Sequence[Trial]) -> dict[str, Timeline]:
    """First session that ended well of each trial with several workers, by its key."""
    labels = words.labels(trials)
    by_trial = {}
    for trial in shared_trials(trials):
        finished = (record for record in results.session_records(trial.key) if record.status == "ok")
        record = next(finished, None)
        common_ns = record and record.windows_ns.get("steady")
        if record is None or not common_ns:
            continue
        rows = results.rows("passes", _COLUMNS, [trial.key]).ordered("session", "start_ns")
        is_drawn = rows.equal("phase", "steady") | rows.equal("phase", "outside")
        rows = rows.take(is_drawn & (rows.whole("session") == record.n))
        spans_s = (np.stack([rows.whole("start_ns"), rows.whole("end_ns")], axis=1) - common_ns[0]) / 1e9
        steady, number = rows.equal("phase", "steady"), rows.whole("worker")
        passes = [np.flatnonzero(number == worker.number)[:MOST_PASSES] for worker in trial.workers]
        by_trial[trial.key] = Timeline(
            (common_ns[1] - common_ns[0]) / 1e9,
            [spans_s[places] for places in passes],
            [steady[places] for places in passes],
            [f"{worker.number}: {worker_name(worker, labels)}" for worker in trial.workers],
        )
    return by_trial


def timeline(results: StoredResults, trials: Sequence[Trial], *, ax: panels.Place = None) -> list[Axes]:
    """Draw each worker's passes in one session, a row per worker; grey where partly outside the common time.

    Args:
        results: result that holds the passes.
        trials: trials; those of one worker are left out.
        ax: place of the plot, a panel per trial.
    """
    names = tables.trial_names(trials)
    shown = timelines(results, trials).items()
    groups = [(names[key], session) for key, session in shown][: drawing.MAX_PANELS]
    handles = [
        Line2D([], [], color=colour, linewidth=6, label=label)
        for colour, label in ((drawing.SKY, "steady"), (drawing.QUIET, "outside"))
    ]
    heights = [1.0 + 0.3 * len(session.names) for _, session in groups]
    return panels.draw_panels(
        ax, groups, _draw, "no device was shared", "passes", handles=handles, height=heights or 2.0, columns=1
    )


def _draw(axes: Axes, shown: Timeline) -> None:
    for row, (spans_s, steady, name) in enumerate(zip(shown.spans_s, shown.steady, shown.names, strict=True)):
        drawn = axes.broken_barh(
            [(start, end - start) for start, end in spans_s],
            (row - 0.35, 0.7),
            edgecolors="white",
            facecolors=np.where(steady, drawing.SKY, drawing.QUIET).tolist(),
            linewidth=0.4,
        )
        counted = words.counted(int(steady.sum()), "pass", "passes")
        drawing.mark(drawn, "trial", f"worker {name}: {counted} within the common time")
    for edge_s in (0.0, shown.common_s):
        axes.axvline(edge_s, color=drawing.INK, linewidth=0.8, linestyle="--")
    panels.name_rows(axes, shown.names)
    axes.set_xlabel("time since all workers ran, s")
    axes.set_ylabel("worker")


def timeline_picture(results: StoredResults, trials: Sequence[Trial]) -> panels.Picture | None:
    """Passes of each worker in time; None where no device was shared."""
    shown = timelines(results, trials)
    if not shown:
        return None
    is_cut = any(len(spans_s) == MOST_PASSES for session in shown.values() for spans_s in session.spans_s)
    return panels.picture(
        partial(timeline, results, trials),
        "Passes of each worker in time",
        "Each worker's passes in the first session of a trial; dashed lines begin and end the time when all "
        "workers ran. Passes that are partly outside it are grey, and in no latency.",
        f"The first {MOST_PASSES} passes of each worker are drawn." if is_cut else "",
        panels=len(shown),
        noun="trial",
    )
