"""A session's stages, in the words in which they are reported."""

from __future__ import annotations

from typing import Literal, get_args

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
"""In their order; what is none of the others is part of the load."""

BUILD: SessionStage = "build"
"""The device makes what it loads, where it does that; what it is at may follow, as `build: layers`."""

SENDING = "sending"
"""What the stages begin with in which files are on their way: no further session has to send them again."""

IDLE: SessionStage = "idle window"
"""What both idle windows begin with: their steps are seconds."""
