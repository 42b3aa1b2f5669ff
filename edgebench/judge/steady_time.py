"""Steady time of a session, over which its power and energy are taken, and the images of that time.

Back to back it is the time of the steady passes, without the host's round trips between them. At a period it
is the time of whole cycles, each with the pause after its pass, the last one too where it was sampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from edgebench.records.stored import PACED_COLUMNS, SessionRecord
from edgebench.results.rows import Rows, by_number


@dataclass(frozen=True, eq=False)
class SteadyTime:
    """Steady passes, windows or cycles of a session.

    Attributes:
        spans_ns: int64 [n, 2], start and end of each, in order and apart.
        images: images that it got through in them.
        last_due_ns: due time of the last of paced passes; None of others.
        period_s: period of paced passes; None of others.
        last_share: share of that last pass in the images.
        starts_ns: int64 [passes], start of each pass, in order; empty where that is not known.
        pass_s: length of a paced pass without its pause; None of others.
    """

    spans_ns: NDArray[np.int64]
    images: float
    last_due_ns: int | None = None
    last_share: float = 0.0
    period_s: float | None = None
    starts_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    pass_s: float | None = None

    @property
    def start_ns(self) -> int:
        """Start of the first."""
        return int(self.spans_ns[0, 0])

    @property
    def end_ns(self) -> int:
        """End of the last."""
        return int(self.spans_ns[-1, 1])

    def seen_until(self, reach_ns: int) -> SteadyTime:
        """Same time without its last cycle, where that one ends later and there are others."""
        is_seen = self.end_ns <= reach_ns
        if self.last_due_ns is None or is_seen or self.last_due_ns <= self.start_ns:
            return self
        spans_ns = np.array([[self.start_ns, self.last_due_ns]], np.int64)
        return replace(self, spans_ns=spans_ns, images=self.images * (1 - self.last_share), last_due_ns=None)


def steady_times(
    records: Sequence[SessionRecord], rows: Rows, images: Mapping[int, float]
) -> dict[int, SteadyTime]:
    """Time of each session's steady passes or windows, or else its steady window, by its number.

    Args:
        records: a trial's finished sessions.
        rows: the trial's `passes` or `windows`, of all workers; of several none but paced passes.
        images: images of each session's steady part.
    """
    by_session = by_number(rows.take(rows.equal("phase", "steady")), "session")
    times = {}
    for record in records:
        part, window = by_session.get(record.n), record.windows_ns.get("steady")
        if part is not None:
            times[record.n] = _time_of_rows(part.ordered("start_ns"), images.get(record.n, 0.0))
        elif window is not None:
            times[record.n] = SteadyTime(np.array([window], np.int64), images.get(record.n, 0.0))
    return times


def _time_of_rows(rows: Rows, images: float) -> SteadyTime:
    spans_ns = np.stack([rows.whole("start_ns"), rows.whole("end_ns")], axis=1)
    if not set(PACED_COLUMNS) <= set(rows) or any(rows.missing(name).any() for name in PACED_COLUMNS):
        return SteadyTime(_united(spans_ns), images, starts_ns=spans_ns[:, 0])
    due_ns = rows.whole("due_ns")
    deadlines_ns = spans_ns[:, 1] - rows.whole("lateness_ns")
    over_ns = int(max(spans_ns[:, 1].max(), deadlines_ns.max()))
    last = due_ns == due_ns.max()
    starts_ns, patches = spans_ns[:, 0], rows.floats("patches")
    share = float(patches[last].sum() / patches.sum())
    if len(np.unique(rows.whole("worker"))) > 1:
        # All are due at one time. Passes of the first and the last cycle may be outside, and in no row here.
        starts_ns = np.unique(due_ns)
        share = float((over_ns - starts_ns[-1]) / (over_ns - starts_ns[0]))
    return SteadyTime(
        np.array([[starts_ns[0], over_ns]], np.int64),
        images,
        last_due_ns=int(due_ns.max()),
        last_share=share,
        period_s=float(np.median(deadlines_ns - due_ns)) / 1e9,
        starts_ns=starts_ns,
        pass_s=float(np.median(spans_ns[:, 1] - spans_ns[:, 0])) / 1e9,
    )


def _united(spans_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Spans by their starts, with those that touch or overlap as one."""
    reach_ns = np.maximum.accumulate(spans_ns[:, 1])
    begins = np.concatenate(([True], spans_ns[1:, 0] > reach_ns[:-1]))
    ends = np.concatenate((np.flatnonzero(begins)[1:] - 1, [len(spans_ns) - 1]))
    return np.stack((spans_ns[begins, 0], reach_ns[ends]), axis=1)
