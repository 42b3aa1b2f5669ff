"""What a worker notes of a file that it made: its scores of the golden patches, or why there is no file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import InputError, UnsupportedError


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
