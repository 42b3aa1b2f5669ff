"""Stored sessions of a device without an agent as a script that is played on the host, see `host_player`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.store.records import SessionRecord

STAGES = ("patchify", "preprocess", "infer")
"""Of a worker; one more may follow, the device's own."""

Arrays = dict[str, NDArray[Any]]


def is_played_on_the_host(
    records: Sequence[SessionRecord],
    passes: pd.DataFrame | None,
    windows: pd.DataFrame | None,
    scene_patches: int,
    stages: Sequence[str],
) -> bool:
    """Whether an agent's worker could not give these: it goes through the whole scene, in its own stages."""
    if windows is not None or any(
        record.emulated or record.measured_patches is not None for record in records
    ):
        return True
    if passes is None:
        return False
    if tuple(stages[:3]) != STAGES or len(stages) > 4:
        return True
    steady = passes[passes["phase"] != "warmup"]
    return bool((steady["patches"] < scene_patches).any())


def host_session(
    at: int,
    record: SessionRecord,
    passes: pd.DataFrame | None,
    batches: pd.DataFrame | None,
    windows: pd.DataFrame | None,
    scene: pd.DataFrame | None,
    arrays: Arrays,
) -> dict[str, Any]:
    """One session's part of the script; its stamps and scores become arrays that begin with `at`.

    The tables are this session's rows, None where it has none; `scene` its predictions of the scene.
    """
    if scene is not None:
        ordered = scene.sort_values("index")
        arrays[f"{at}.patches"] = ordered["index"].to_numpy(np.int64)
        arrays[f"{at}.scene"] = np.stack([np.asarray(scores, np.float32) for scores in ordered["scores"]])
    stages, recorded = _passes(at, passes, batches, arrays)
    return {
        "stages": stages,
        "passes": recorded,
        "windows": _windows(windows),
        "cold": record.cold,
        "warmup": record.warmup,
        "memory": record.memory,
        "windows_ns": record.windows_ns,
        "measured_patches": record.measured_patches,
        "untimed_stages": list(record.untimed_stages),
        "emulated": record.emulated,
        "instructions_reason": record.instructions_reason,
    }


def _passes(
    at: int, passes: pd.DataFrame | None, batches: pd.DataFrame | None, arrays: Arrays
) -> tuple[list[str], list[dict[str, Any]]]:
    """The stages' names, and each pass with the number of its patches, in order."""
    if passes is None or batches is None:
        return [], []
    there = batches.dropna(axis="columns", how="all")
    stages = [name.removesuffix("_start_ns") for name in there.columns if name.endswith("_start_ns")]
    columns = [f"{stage}_{edge}_ns" for stage in stages for edge in ("start", "end")]
    recorded = []
    for row in passes.sort_values("pass").to_dict("records"):
        mine = batches[batches["pass"] == row["pass"]].sort_values("batch")
        name = f"{at}.stamps{row['pass']}"
        arrays[name] = mine[columns].to_numpy(np.int64).reshape(len(mine), len(stages), 2)
        recorded.append(
            {
                "index": int(row["pass"]),
                "phase": str(row["phase"]),
                "start_ns": int(row["start_ns"]),
                "end_ns": int(row["end_ns"]),
                "patches": int(row["patches"]),
                "batch": int(mine["patches"].max()),
            }
        )
    return stages, recorded


def _windows(windows: pd.DataFrame | None) -> list[dict[str, Any]]:
    if windows is None:
        return []
    names = ("patch", "inferences", "start_ns", "end_ns")
    return [
        {
            "index": int(row["window"]),
            "phase": str(row["phase"]),
            **{name: int(row[name]) for name in names},
            "instructions": None if pd.isna(row["instructions"]) else int(row["instructions"]),
        }
        for row in windows.sort_values("window").to_dict("records")
    ]
