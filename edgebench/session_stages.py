"""A session's stages, in the words in which they are reported."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Literal, get_args

from edgebench.errors import UsageError

SessionStage = Literal[
    "build",
    "load",
    "idle window",
    "first pass",
    "warm-up",
    "load bursts",
    "passes",
    "idle window after",
    "images",
]

STAGES: tuple[SessionStage, ...] = get_args(SessionStage)
"""In their order; everything else is part of the load."""

BUILD: SessionStage = "build"
"""The device makes what it loads, where it does that; what it is at may follow, as `build: layers`."""

IMAGES: SessionStage = "images"
"""The device classifies the labelled images for accuracy, after everything that is timed."""

SENDING = "sending"
"""What the stages begin with in which files are on their way: no further session has to send them again."""

IDLE: SessionStage = "idle window"
"""What both idle windows begin with: their steps are seconds."""

TIMEOUT = "EDGEBENCH_STAGE_TIMEOUT_S"
"""The variable that says how long a stage may take, on the device and in preparation on the host."""


def seconds_from(variable: str) -> float | None:
    """The seconds that a variable of the environment holds, None where it is not set.

    UsageError for what is not a time.
    """
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise UsageError(f"{variable}={text!r} is not a time", fix="give seconds above 0, such as 120")
    return seconds


# What a pass's stages may be called: each name becomes columns of the stored tables.


STAGE_NAME = r"[A-Za-z][A-Za-z0-9_]{0,40}"
"""A letter, then letters, digits and underscores."""

TAKEN = frozenset({"start", "end", "image", "due", "lateness"})
"""Names whose column (`image_ns`) a pass has of its own."""

_NAME = re.compile(STAGE_NAME)


def fault_of_stages(stages: Sequence[str]) -> str:
    """What is wrong with the names of a pass's stages, naming the first wrong one; "" when nothing is.

    Two that differ by case alone are one to a reader, and to many programs that read the tables.
    """
    lower_names: set[str] = set()
    for stage in stages:
        name = stage.lower()
        if not _NAME.fullmatch(stage):
            return (
                f"a stage is called {stage[:60]!r}: its name has to be a letter, then at most 40 letters, "
                "digits and underscores"
            )
        if name in TAKEN:
            return f"a stage is called {stage!r}, which is the name of a column that every pass has"
        if name in lower_names:
            return f"two stages are called {stage!r}, whatever the case"
        lower_names.add(name)
    return ""
