"""Outputs are checked before anything is timed: a device's golden scores against the artifact's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgebench.errors import SessionError
from edgebench.store.records import GoldenCheck
from edgebench.vocabulary.artifact import Golden
from edgebench.vocabulary.values import Scores


def compare(scores: Scores, golden: Golden, options: Mapping[str, Any]) -> GoldenCheck:
    """How far `scores` float32 [g, classes] are from the golden ones, under the tolerance that applies.

    The tolerance is 0 where one of the target's options is named in `golden.exact_with`. The class is
    compared on the n patches whose two best classes are further apart than the tolerance.
    """
    reference = np.asarray(golden.scores, dtype=np.float64)
    if scores.shape != reference.shape:
        raise SessionError(
            f"the device's scores have shape {list(scores.shape)}, the artifact's {list(reference.shape)}",
            status="golden_mismatch",
            stage="golden",
        )
    settings = {f"{name}={value}" for name, value in options.items()}
    difference = np.abs(scores.astype(np.float64) - reference)
    # A score that is not a number is as far away as can be.
    largest = float(np.nan_to_num(difference, nan=1e9, posinf=1e9).max())
    tolerance = 0.0 if settings & set(golden.exact_with) else golden.tolerance
    # Two classes nearer to each other than the tolerance may change places without any fault.
    ordered = np.sort(reference, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > tolerance
    equal = scores.argmax(axis=1) == reference.argmax(axis=1)
    return GoldenCheck(
        max_abs_diff=largest,
        tolerance=tolerance,
        top1_equal=int((equal & clear).sum()),
        n=int(clear.sum()),
        reference=golden.reference,
    )


def require(check: GoldenCheck) -> None:
    """SessionError (`golden_mismatch`) when a device computes something else."""
    if check.max_abs_diff <= check.tolerance and check.top1_equal == check.n:
        return
    raise SessionError(
        "the device computes something else than the artifact's golden scores",
        status="golden_mismatch",
        stage="golden",
        why=(
            f"largest difference {check.max_abs_diff:.4g} (allowed {check.tolerance:.4g}), "
            f"same class on {check.top1_equal} of {check.n} clear patches; reference: {check.reference}"
        ),
        fix="check the runtime's version and options; `edgebench models prepare` makes the artifact again",
    )
