"""Steady passes of one trial as seconds by session, and the stages a patch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.stats.intervals import trial_median
from edgebench.store.records import PACED_COLUMNS

_NO_STAGES = {"start_ns", "end_ns", "image_ns", *PACED_COLUMNS}


@dataclass(frozen=True)
class SteadyPasses:
    """What the steady passes of a trial's finished sessions took; sessions without any are left out.

    Attributes:
        image_s, infer_s: seconds of a whole image, by session and in time order; `infer_s` may be empty.
        at_s: when each pass started, seconds since its session's first.
        images: images that each session got through, by session number.
        stages_ms: milliseconds a patch of each stage, the mean over the sessions of each session's median.
        extrapolated: passes that covered fewer patches than the scene has, scaled up to it.
        numbers: the sessions' numbers, in the order of `image_s`.
        lateness_s: of paced passes, by session: the end against the deadline; empty where not paced.
    """

    image_s: tuple[tuple[float, ...], ...]
    infer_s: tuple[tuple[float, ...], ...]
    at_s: tuple[tuple[float, ...], ...]
    images: dict[int, float]
    stages_ms: dict[str, float]
    extrapolated: int
    numbers: tuple[int, ...] = ()
    lateness_s: tuple[tuple[float, ...], ...] = ()

    @property
    def count(self) -> int:
        """Steady passes over all sessions."""
        return sum(len(values) for values in self.image_s)


def steady_passes(passes: pd.DataFrame, sessions: Sequence[int], scene_patches: int) -> SteadyPasses:
    """The steady passes of `sessions` among a trial's rows of `passes` (see store.records.PASS_COLUMNS)."""
    usable = (passes["phase"] == "steady") & passes["session"].isin(sessions) & (passes["patches"] > 0)
    frame = passes[usable].sort_values(["session", "start_ns"], kind="stable")
    whole = scene_patches / frame["patches"].to_numpy(np.float64)
    by_session = frame["session"].to_numpy()
    image_s = frame["image_ns"].to_numpy(np.float64) / 1e9 * whole
    infer_s = _nanoseconds(frame["infer_ns"]) / 1e9 * whole
    start_ns = frame["start_ns"].to_numpy(np.int64)
    found = [(int(number), by_session == number) for number in np.unique(by_session)]
    stages = [name for name in map(str, frame.columns) if name.endswith("_ns") and name not in _NO_STAGES]
    stages_ms = {}
    # Their order in time is that of the columns; infer comes last, wherever its column stands.
    for stage in sorted(stages, key=lambda column: column == "infer_ns"):
        values = _nanoseconds(frame[stage]) / 1e6 * whole / scene_patches
        taken = np.isfinite(values)
        if taken.any():
            stages_ms[stage.removesuffix("_ns")] = trial_median([values[rows & taken] for _, rows in found])
    return SteadyPasses(
        image_s=tuple(tuple(image_s[rows].tolist()) for _, rows in found),
        infer_s=tuple(tuple(infer_s[rows].tolist()) for _, rows in found if np.isfinite(infer_s[rows]).all()),
        at_s=tuple(tuple(((start_ns[rows] - start_ns[rows][0]) / 1e9).tolist()) for _, rows in found),
        images={number: float((1 / whole[rows]).sum()) for number, rows in found},
        stages_ms=stages_ms,
        extrapolated=int((whole > 1).sum()),
        numbers=tuple(number for number, _ in found),
        lateness_s=_lateness_s(frame, [rows for _, rows in found]),
    )


def _lateness_s(frame: pd.DataFrame, sessions: Sequence[NDArray[np.bool_]]) -> tuple[tuple[float, ...], ...]:
    if not set(PACED_COLUMNS) <= set(map(str, frame.columns)):
        return ()
    late_s = _nanoseconds(frame["lateness_ns"]) / 1e9
    return tuple(tuple(late_s[rows & np.isfinite(late_s)].tolist()) for rows in sessions)


def _nanoseconds(column: pd.Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)
