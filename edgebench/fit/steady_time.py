"""The time of a session that its power and energy are taken over, and the images that it got through.

Back to back it is that of the steady passes, without the host's round trips between them. At a period it is
that of whole cycles, each with the pause after its pass, the last one too where it was sampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.store.records import PACED_COLUMNS, SessionRecord


@dataclass(frozen=True, eq=False)
class SteadyTime:
    """When a session's steady passes, windows or cycles were.

    Attributes:
        spans_ns: int64 [n, 2], start and end of each, in order and apart.
        images: how many images it got through in them.
        last_due_ns: of paced passes, when the last was due; None of others.
        period_s: of paced passes; None of others.
        last_images: images of that last pass.
        starts_ns: int64 [passes], when each pass began, in order; empty where that is not known.
    """

    spans_ns: NDArray[np.int64]
    images: float
    last_due_ns: int | None = None
    last_images: float = 0.0
    period_s: float | None = None
    starts_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def seen_until(self, reach_ns: int) -> SteadyTime:
        """The same without its last cycle, where that one ends later and there are others."""
        ends_later = int(self.spans_ns[-1, 1]) > reach_ns
        if self.last_due_ns is None or not ends_later or self.last_due_ns <= int(self.spans_ns[0, 0]):
            return self
        spans_ns = np.array([[self.spans_ns[0, 0], self.last_due_ns]], np.int64)
        return replace(self, spans_ns=spans_ns, images=self.images - self.last_images, last_due_ns=None)


def steady_times(
    records: Sequence[SessionRecord], rows: pd.DataFrame, images: Mapping[int, float]
) -> dict[int, SteadyTime]:
    """Of each session that has steady passes or windows, or else its steady window, by its number.

    Args:
        records: a trial's finished sessions.
        rows: the trial's `passes` or `windows`, of all workers.
        images: how many images each session's steady part holds.
    """
    steady = rows[rows["phase"] == "steady"] if len(rows) else rows
    by_session = {int(str(number)): part for number, part in steady.groupby("session")} if len(rows) else {}
    times = {}
    for record in records:
        part, window = by_session.get(record.n), record.windows_ns.get("steady")
        if part is not None:
            times[record.n] = _of_rows(part.sort_values("start_ns"), images.get(record.n, 0.0))
        elif window is not None:
            times[record.n] = SteadyTime(np.array([window], np.int64), images.get(record.n, 0.0))
    return times


def _of_rows(rows: pd.DataFrame, images: float) -> SteadyTime:
    spans_ns = rows[["start_ns", "end_ns"]].to_numpy(np.int64)
    if not set(PACED_COLUMNS) <= set(map(str, rows.columns)) or rows[list(PACED_COLUMNS)].isna().any(
        axis=None
    ):
        return SteadyTime(_united(spans_ns), images, starts_ns=spans_ns[:, 0])
    due_ns = rows["due_ns"].to_numpy(np.int64)
    deadlines_ns = spans_ns[:, 1] - rows["lateness_ns"].to_numpy(np.int64)
    cycles_ns = [[int(spans_ns[0, 0]), int(max(spans_ns[:, 1].max(), deadlines_ns.max()))]]
    last = due_ns == due_ns.max()
    share = float(
        rows["patches"].to_numpy(np.float64)[last].sum() / rows["patches"].to_numpy(np.float64).sum()
    )
    period_s = float(np.median(deadlines_ns - due_ns)) / 1e9
    return SteadyTime(
        np.array(cycles_ns, np.int64),
        images,
        int(due_ns.max()),
        images * share,
        period_s,
        spans_ns[:, 0],
    )


def _united(spans_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Spans by their starts, with those that touch or overlap as one."""
    reach_ns = np.maximum.accumulate(spans_ns[:, 1])
    begins = np.concatenate(([True], spans_ns[1:, 0] > reach_ns[:-1]))
    ends = np.concatenate((np.flatnonzero(begins)[1:] - 1, [len(spans_ns) - 1]))
    return np.stack((spans_ns[begins, 0], reach_ns[ends]), axis=1)
