"""From what a session measured to the rows that are stored: passes, windows, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.store.measurement_checks import require_valid_pass, require_valid_window
from edgebench.store.records import (
    BATCH_COLUMNS,
    PACED_COLUMNS,
    PASS_COLUMNS,
    PREDICTION_COLUMNS,
    WINDOW_COLUMNS,
)
from edgebench.vocabulary.passes import Pass, Window
from edgebench.vocabulary.values import Scores

INFER = "infer"
"""The stage whose intervals make `infer_s`."""


def union_ns(intervals: NDArray[np.int64]) -> int:
    """The time covered by int64 [n, 2] (start, end) intervals, each moment counted once, in ns."""
    if len(intervals) == 0:
        return 0
    ordered = intervals[np.argsort(intervals[:, 0], kind="stable")]
    starts, ends = ordered[:, 0], ordered[:, 1]
    reached = np.maximum.accumulate(ends)
    # What an earlier interval has covered is not covered again.
    covered_from = np.maximum(starts[1:], reached[:-1])
    return int(ends[0] - starts[0] + np.maximum(ends[1:] - covered_from, 0).sum())


def pass_rows(passes: Sequence[Pass]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row a pass and one row a batch, with the columns of `passes` and `batches`, times in ns.

    The warm-up goes round the scene again and again: its batches are numbered on, and say which patches
    of the scene they held when the size of the scene is known from another pass. `infer_ns` is empty
    where no stage is called infer. Paced passes bring PACED_COLUMNS. SessionError (`protocol_error`) for
    stamps that cannot be.
    """
    stages = passes[0].stages if passes else ()
    scene_patches = next((len(pass_.scores) for pass_ in passes if pass_.scores is not None), None)
    rows: list[dict[str, Any]] = []
    parts: list[pd.DataFrame] = []
    for pass_ in passes:
        require_valid_pass(pass_, stages)
        first, patches = _batch_spans(pass_, scene_patches)
        sums = (pass_.stamps_ns[:, :, 1] - pass_.stamps_ns[:, :, 0]).sum(axis=0)
        rows.append(
            {
                "worker": pass_.worker,
                "pass": pass_.index,
                "phase": pass_.phase,
                "start_ns": pass_.start_ns,
                "end_ns": pass_.end_ns,
                "image_ns": pass_.image_ns,
                "infer_ns": union_ns(pass_.stamps_ns[:, stages.index(INFER)]) if INFER in stages else pd.NA,
                "patches": int(patches.sum()),
            }
            | {f"{name}_ns": int(sums[at]) for at, name in enumerate(stages) if name != INFER}
        )
        parts.append(_batches(pass_, first, patches))
    pass_columns = [*PASS_COLUMNS, *(f"{name}_ns" for name in stages if name != INFER)]
    frame = pd.DataFrame(rows, columns=pass_columns)
    if any(pass_.due_ns is not None for pass_ in passes):
        for column in PACED_COLUMNS:
            frame[column] = pd.array([getattr(pass_, column) for pass_ in passes], dtype="Int64")
    if INFER not in stages:
        frame["infer_ns"] = frame["infer_ns"].astype("Int64")
    return frame, _stacked(parts, BATCH_COLUMNS)


def window_rows(windows: Sequence[Window], scene_patches: int, worker: int = 0) -> pd.DataFrame:
    """One row a window, with the columns of `windows`, times in ns.

    SessionError (`protocol_error`) for a window that cannot be: of no inference or no time, of a patch that
    the scene of `scene_patches` does not have, of an unknown phase, or from before the last one had ended.
    """
    for before, window in zip((None, *windows), windows, strict=False):
        require_valid_window(window, scene_patches, before)
    frame = pd.DataFrame(
        [
            {
                "worker": worker,
                "window": window.index,
                "phase": window.phase,
                "patch": window.patch,
                "inferences": window.inferences,
                "start_ns": window.start_ns,
                "end_ns": window.end_ns,
                "instructions": pd.NA if window.instructions is None else window.instructions,
            }
            for window in windows
        ],
        columns=list(WINDOW_COLUMNS),
    )
    frame["instructions"] = frame["instructions"].astype("Int64")
    return frame


def prediction_rows(
    set_name: str,
    scores: Scores,
    labels: Sequence[int] | None,
    worker: int = 0,
    patches: Sequence[int] | None = None,
) -> pd.DataFrame:
    """One row a patch of `scores` float32 [n, classes]; `predicted` is -1 where a score is no number.

    `patches` are the numbers of those that the scores are of, and the labels are then of all; 0 to n - 1
    where it is None. `label` is -1 where it is unknown; ValueError when labels and scores do not fit.
    """
    n = len(scores)
    if labels is not None and patches is not None:
        labels = [labels[patch] for patch in patches] if max(patches, default=-1) < len(labels) else ()
    if labels is not None and len(labels) != n:
        raise ValueError(f"{len(labels)} labels for {n} scores")
    # A score that is no number says nothing about the class.
    usable = np.isfinite(scores).all(axis=1) & (scores.shape[1] > 0)
    predicted = np.full(n, -1, dtype=np.int16)
    if usable.any():
        predicted[usable] = scores[usable].argmax(axis=1)
    return pd.DataFrame(
        {
            "worker": np.full(n, worker, dtype=np.int16),
            "set": set_name,
            "index": np.asarray(range(n) if patches is None else patches, dtype=np.int32),
            "label": np.full(n, -1, np.int16) if labels is None else np.asarray(labels, dtype=np.int16),
            "predicted": predicted,
            "scores": pd.Series(list(np.asarray(scores, dtype=np.float32)), dtype=object),
        },
        columns=list(PREDICTION_COLUMNS),
    )


def concat(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Rows of the same table one after the other; at least one part."""
    return pd.concat(parts, ignore_index=True)


def _stacked(parts: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    return concat(parts) if parts else pd.DataFrame(columns=list(columns))


def _batch_spans(pass_: Pass, scene_patches: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First patch and number of patches of each batch, int64 [batches]; padding is not counted."""
    number = np.arange(len(pass_.stamps_ns), dtype=np.int64)
    total = len(pass_.scores) if pass_.scores is not None else scene_patches
    if not total:
        return number * pass_.batch, np.full(len(number), pass_.batch, dtype=np.int64)
    first = number % -(-total // pass_.batch) * pass_.batch
    return first, np.minimum(pass_.batch, total - first)


def _batches(pass_: Pass, first: NDArray[np.int64], patches: NDArray[np.int64]) -> pd.DataFrame:
    n = len(pass_.stamps_ns)
    columns: dict[str, Any] = {
        "worker": np.full(n, pass_.worker, dtype=np.int16),
        "pass": np.full(n, pass_.index, dtype=np.int32),
        "phase": pass_.phase,
        "batch": np.arange(n, dtype=np.int32),
        "first_patch": first,
        "patches": patches,
    }
    for at, name in enumerate(pass_.stages):
        columns[f"{name}_start_ns"] = pass_.stamps_ns[:, at, 0]
        columns[f"{name}_end_ns"] = pass_.stamps_ns[:, at, 1]
    return pd.DataFrame(columns)
