"""Whether a step's output computes what its input does: scores of golden patches side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.files import samples
from edgebench.agent.pixels import preprocessing
from edgebench.errors import InputError, UnsupportedError

# The largest difference that a step may make, as a fraction of the largest score. Seen on this project's
# models: 1e-6 for an export, 2e-2 for fp16, 0.14 for int8.
FRACTIONS = {"export": 1e-3, "ready": 1e-3, "fp16": 5e-2, "int8": 0.25}

PRECISION_STEPS = ("fp16", "int8")

NO_NUMBER = 1e9  # a score that is none is as far away as can be


def compare(step: str, reference: NDArray[Any], scores: NDArray[Any]) -> dict[str, Any]:
    """How a step came out, for the artifact's provenance.

    Args:
        step: its name, a key of `FRACTIONS`.
        reference: what the step began from computes, real numbers [n, scores].
        scores: what it made computes.

    Returns:
        `step`, `max_abs_diff`, `tolerance`, and `top1_equal` of `n`, the patches whose two best scores are
        further apart than the tolerance: others may change places without any fault.
    """
    if reference.shape != scores.shape:
        raise InputError(
            f"the step {step} gives {list(scores.shape)} scores where {list(reference.shape)} were due",
            fix="give a model with one row of scores for every image",
        )
    reference_rows = reference.reshape(len(reference), -1).astype(np.float64)
    rows = scores.reshape(len(scores), -1).astype(np.float64)
    tolerance = FRACTIONS[step] * float(np.abs(np.nan_to_num(reference_rows)).max(initial=0.0))
    difference = np.nan_to_num(np.abs(rows - reference_rows), nan=NO_NUMBER, posinf=NO_NUMBER)
    if reference_rows.shape[1] > 1:
        ordered = np.sort(reference_rows, axis=1)
        is_clear = ordered[:, -1] - ordered[:, -2] > tolerance
    else:
        is_clear = np.ones(len(reference_rows), bool)
    same_class = rows.argmax(1) == reference_rows.argmax(1)
    return {
        "step": step,
        "top1_equal": int((same_class & is_clear).sum()),
        "n": int(is_clear.sum()),
        "max_abs_diff": float(difference.max(initial=0.0)),
        "tolerance": tolerance,
    }


def require(check: dict[str, Any], what: str, fix: str) -> dict[str, Any]:
    """The check itself where it holds.

    Where it does not, an error with its figures: UnsupportedError for a step to a smaller precision, which
    the model may not bear, and InputError for one that should have changed nothing.
    """
    if check["max_abs_diff"] <= check["tolerance"] and check["top1_equal"] == check["n"]:
        return check
    kind = UnsupportedError if check["step"] in PRECISION_STEPS else InputError
    raise kind(
        f"{what}: the step {check['step']} computes something else than what it was made from",
        why=(
            f"largest difference {check['max_abs_diff']:.4g} (allowed {check['tolerance']:.4g}), "
            f"same class on {check['top1_equal']} of {check['n']} clear golden patches"
        ),
        fix=fix,
    )


class Scored(NamedTuple):
    """Rows of scores float32 [n, scores], and how many of them are each output's."""

    rows: NDArray[np.float32]
    widths: Sequence[int]


MOST_SPREAD = 0.25
"""An output on which two kernels differ by a larger share of its range is known by no value."""


def outputs_of(reference: NDArray[np.float32], kernels: Sequence[Scored]) -> list[dict[str, Any]]:
    """Facts of each output for its tolerance.

    Args:
        reference: the golden scores [n, scores].
        kernels: the file's scores by two kernels of one runtime, the same n first.

    Returns:
        For each output `scores` in a row, their `largest` absolute value, and `spread`, the largest
        difference between the kernels; None where it is more than MOST_SPREAD of the reference's range.
    """
    outputs, start = [], 0
    first, second = (scored.rows[: len(reference)] for scored in kernels)
    for width in kernels[0].widths:
        columns = slice(start, start := start + width)
        values = reference[:, columns].astype(np.float64)
        spread = float(np.abs(first[:, columns].astype(np.float64) - second[:, columns]).max(initial=0.0))
        values_range = float(np.ptp(values)) if values.size else 0.0
        outputs.append(
            {
                "scores": width,
                "largest": float(np.abs(values).max(initial=0.0)),
                "spread": spread if spread <= MOST_SPREAD * values_range else None,
            }
        )
    return outputs


# What a worker notes of a file that it made: its scores of the golden patches, or why there is no file.


def refusal(error: UnsupportedError) -> dict[str, Any]:
    """The note in place of a file that cannot be made."""
    return {"unsupported": {"what": error.what, "why": error.why, "fix": error.fix}}


def note_or_refusal(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The note that `make` returns, or the `refusal` where it raises UnsupportedError."""
    try:
        return make()
    except UnsupportedError as error:
        return refusal(error)


def require_finite(scores: NDArray[Any], what: str) -> None:
    """InputError where a golden patch has a score that is no finite number."""
    if not np.isfinite(scores).all():
        raise InputError(
            f"{what} gives scores that are no numbers",
            why="its golden patches cannot be compared with a device's",
            fix="check its input (--input-scale, --input-mean, --inputs) and the file",
        )


# Golden patches and calibration images as a model takes them, one tuple of arrays a call.


Feed = tuple[NDArray[Any], ...]


def golden_feeds(
    path: Path,
    shapes: Sequence[Sequence[int]],
    spec: Mapping[str, Any] | None,
    tensors: Sequence[Mapping[str, Any]],
) -> list[Feed]:
    """What golden patches are to a model's inputs; the last call is padded with the last patch.

    Args:
        path: a .npy of uint8 [g, height, width, 3], or a .npz of samples.
        shapes: of the inputs, the batch included.
        spec: the input as `edgebench.records.model.InputSpec` has it, as a dict; None for samples.
        tensors: the inputs of samples, as `edgebench.records.model.TensorInput` has them.
    """
    return list(feeds_of(path, shapes, spec, tensors))


def feeds_of(
    path: Path,
    shapes: Sequence[Sequence[int]],
    spec: Mapping[str, Any] | None,
    tensors: Sequence[Mapping[str, Any]],
    *,
    cycle: bool = False,
) -> Iterator[Feed]:
    """As `golden_feeds`, one after the other; with `cycle` the last call of pictures is filled up from the
    front, so that the least and largest values stay those of the whole set.
    """
    if spec is None:
        return iter(samples(str(path), [dict(tensor) for tensor in tensors]))
    return picture_feeds(np.load(path, mmap_mode="r"), shapes[0], spec, cycle=cycle)


def picture_feeds(
    patches: NDArray[np.uint8], shape: Sequence[int], spec: Mapping[str, Any], *, cycle: bool = False
) -> Iterator[Feed]:
    """Patches as calls of the input's batch, each a new array; the last is padded with the last patch, or
    with the first ones where `cycle` says so.
    """
    batch, n = shape[0], len(patches)
    for start in range(0, n, batch):
        places = np.arange(start, start + batch)
        chosen = np.ascontiguousarray(patches[places % n if cycle else places.clip(max=n - 1)])
        target: NDArray[Any] = np.zeros(tuple(shape), np.dtype(spec["dtype"]))
        preprocessing(dict(spec), chosen, target)()
        yield (target,)
