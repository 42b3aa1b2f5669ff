"""A request's own latency, where a device has several in flight: from submission to completion.

There `infer_s` counts overlapping requests once and is a throughput; how long a single request takes only
`batches.parquet` has.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from edgebench.errors import StoredResultError
from edgebench.fit.trial_summary import RequestLatency
from edgebench.stats.intervals import trial_median
from edgebench.stats.percentiles import percentile_over_sessions
from edgebench.store.layout import session_folder
from edgebench.store.tables import union_ns

REQUEST_COLUMNS = ("worker", "phase", "infer_start_ns", "infer_end_ns")
"""Those of `batches` that the latency of requests takes; a batch is a request."""


@dataclass(frozen=True)
class SteadyRequests:
    """The requests of a trial's steady passes, by session; sessions without any are left out.

    Attributes:
        latency_ms: of each request in milliseconds, as compact arrays: there are as many as batches.
        in_flight: the mean number of requests in flight while any is: their times over `infer_s`.
    """

    latency_ms: tuple[Sequence[float], ...] = ()
    in_flight: tuple[float, ...] = ()

    @property
    def latency(self) -> RequestLatency | None:
        """Median and 99th percentile; None without a request."""
        if not self.latency_ms:
            return None
        p99 = percentile_over_sessions([np.asarray(session) for session in self.latency_ms], 0.99)
        median = trial_median([np.asarray(session) for session in self.latency_ms])
        return RequestLatency(median, p99.value, p99.n, p99.reason)

    @property
    def mean_in_flight(self) -> float | None:
        """Mean over the sessions; None without a request."""
        return trial_median([[mean] for mean in self.in_flight]) if self.in_flight else None


def steady_requests(
    batches: pd.DataFrame, passes: pd.DataFrame, sessions: Sequence[int], trial: str, concurrency: int
) -> SteadyRequests:
    """The requests of the steady passes of `sessions`; none where no stage is called infer.

    Args:
        batches: REQUEST_COLUMNS and `session` of one worker's batches.
        passes: the rows of its passes (see store.records.PASS_COLUMNS).
        sessions: the numbers of those that count.
        trial: the key of their trial.
        concurrency: how many requests are in flight at most.

    Raises:
        StoredResultError: the requests of a session are not those that its passes were made of.
    """
    if not {"infer_start_ns", "infer_end_ns"} <= set(batches.columns):
        return SteadyRequests()
    timed = passes[passes["phase"] == "steady"]
    stamps = batches[["infer_start_ns", "infer_end_ns"]]
    counts = (batches["phase"] == "steady").to_numpy() & stamps.notna().all(axis="columns").to_numpy()
    session_of_batch = batches["session"].to_numpy()
    latency_ms, in_flight = [], []
    for number in sessions:
        intervals_ns = stamps[counts & (session_of_batch == number)].to_numpy(np.int64)
        busy_ns = int(timed.loc[timed["session"] == number, "infer_ns"].sum())
        if not len(intervals_ns):
            continue
        requests_ns = (intervals_ns[:, 1] - intervals_ns[:, 0]).astype(np.float64)
        # Passes of one worker follow each other: what their requests cover adds up.
        if not 0 < busy_ns == union_ns(intervals_ns) or requests_ns.sum() > concurrency * busy_ns:
            folder = session_folder(Path(), trial, number)
            raise StoredResultError(
                f"batches.parquet and passes.parquet of {folder} contradict each other",
                why=f"infer_ns of its steady passes is not the time that up to {concurrency} requests cover",
                fix=f"remove {folder} from the result, then run again with --resume to measure it anew",
            )
        latency_ms.append(array("d", (requests_ns / 1e6).tobytes()))
        in_flight.append(float(requests_ns.sum()) / busy_ns)
    return SteadyRequests(tuple(latency_ms), tuple(in_flight))
