"""Kinds of values that many rooms pass on: JSON, scores, and what is called with news of progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Json = Any
"""A value that JSON can carry."""


Progress = Callable[[str], None]
"""Called with one short line about what is being done; never from a timed region."""


Report = Callable[[str, int, int], None]
"""Called with a stage of a session that begins or goes on, and how many of how many of its steps are done (0
of 0 where none are counted); never from a timed region."""


Scores = NDArray[np.float32]


def ignore_progress(stage: str, done: int, steps: int) -> None:
    """For a session whose progress nobody watches."""


def ignore_patch_time(patch_s: float) -> None:
    """For a session of which nobody asks how long a patch takes."""
