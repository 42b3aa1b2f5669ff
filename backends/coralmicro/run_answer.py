"""What a board's passes brought, from base64 to arrays: stamps in order, scores finite (pure)."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.link.wrapping_clock import TURN_US
from edgebench.vocabulary.values import Scores

from .answers import ModelAnswer, RunAnswer, ScoresAnswer
from .faults import BadAnswer

STAMP_BYTES = 4
STAMPS_A_PATCH = {"pass": 3, "inference": 2}
"""Before preprocessing, before and after Invoke; or around Invoke alone."""

RawScores = NDArray[np.int8] | NDArray[np.uint8] | NDArray[np.float32]


def base64_length(size_bytes: int) -> int:
    """Characters of so many bytes."""
    return -(-size_bytes // 3) * 4


def _bytes_of(method: str, name: str, text: str, due_bytes: int) -> bytes:
    if len(text) != base64_length(due_bytes):
        raise BadAnswer(
            method, f"{name}: {len(text):,} characters of base64, {base64_length(due_bytes):,} were due"
        )
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise BadAnswer(method, f"{name}: no base64") from None
    if len(data) != due_bytes:
        raise BadAnswer(method, f"{name}: {len(data):,} bytes, {due_bytes:,} were due")
    return data


def raw_scores(method: str, answer: ScoresAnswer, n: int, model: ModelAnswer) -> RawScores:
    """Scores [n, classes] as the model's output has them; BadAnswer where they are not that."""
    if answer.n != n:
        raise BadAnswer(method, f"n: {answer.n} patches, {n} were asked for")
    dtype = model.output_dtype
    data = _bytes_of(method, "scores", answer.scores, n * model.classes * dtype.itemsize)
    scores: NDArray[Any] = np.frombuffer(data, dtype).reshape(n, model.classes)
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise BadAnswer(method, f"scores: those of patch {row} are not finite numbers")
    return scores


def dequantised(scores: RawScores, model: ModelAnswer) -> Scores:
    """Scores float32 [n, classes] by the output's scale and zero point."""
    if model.output_type == "float32":
        return scores.astype(np.float32)
    return ((scores.astype(np.float64) - model.output_zero_point) * model.output_scale).astype(np.float32)


def stamps_in_order(answer: RunAnswer, n: int, a_patch: int) -> NDArray[np.uint32]:
    """Stamps uint32 [n, a_patch] of a run, modulo 2^32 us; BadAnswer where one is before its predecessor.

    A run is shorter than a turn of the clock, so that each stamp lies within the turn behind its start.
    """
    data = _bytes_of("run", "stamps", answer.stamps, n * a_patch * STAMP_BYTES)
    stamps = np.frombuffer(data, "<u4").reshape(n, a_patch)
    taken = np.array([answer.start_us, *stamps.ravel(), answer.end_us], np.int64)
    steps = np.diff((taken - answer.start_us) % TURN_US)
    if (steps < 0).any():
        patch = min(int((steps < 0).argmax()) // a_patch, n - 1)
        raise BadAnswer("run", f"stamps: those of patch {patch} run backwards", _CLOCK_FIX)
    return stamps


_CLOCK_FIX = "see that the firmware's clock counts microseconds, and that nothing sets it"
