"""What one session took for the scene, for progress lines and estimates."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from edgebench.fit.untimed_stages import times_images
from edgebench.store.records import SessionTables


@dataclass(frozen=True)
class SessionLatency:
    """The median over a session's steady passes, or windows, in seconds a scene.

    `quantity` is `image_s`, or `infer_s` where windows or passes tell of the runtime alone. Of
    several workers it is that of the slowest, as long as a round of passes takes.
    """

    quantity: Literal["image_s", "infer_s"]
    median_s: float
    workers: int = 1

    def __str__(self) -> str:
        """For a progress line: `0.432 s`; of windows `infer_s 0.432 s`."""
        slowest = f"slowest of {self.workers} workers " if self.workers > 1 else ""
        return f"{slowest}{'' if self.quantity == 'image_s' else 'infer_s '}{self.median_s:.3f} s"


def session_latency(
    tables: SessionTables, scene_patches: int, untimed_stages: Sequence[str] = ()
) -> SessionLatency | None:
    """The latency in a session's tables, scaled up to the scene; None without a steady pass or window.

    Passes without these stages may tell of the runtime alone.
    """
    passes, windows = tables.passes, tables.windows
    if passes is not None:
        steady = passes[(passes["phase"] == "steady") & (passes["patches"] > 0)]
        if len(steady):
            quantity: Literal["image_s", "infer_s"] = "image_s" if times_images(untimed_stages) else "infer_s"
            time_ns = steady["image_ns" if quantity == "image_s" else "infer_ns"]
            scene_s = time_ns / 1e9 * scene_patches / steady["patches"]
            medians = [float(statistics.median(values)) for _, values in scene_s.groupby(steady["worker"])]
            return SessionLatency(quantity, max(medians), len(medians))
    if windows is not None:
        steady = windows[windows["phase"] == "steady"]
        if len(steady):
            duration_ns = steady["end_ns"] - steady["start_ns"]
            scene_s = duration_ns / 1e9 * scene_patches / steady["inferences"]
            return SessionLatency("infer_s", float(statistics.median(scene_s)))
    return None
