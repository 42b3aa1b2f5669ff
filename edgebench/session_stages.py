"""A session's stages, in the words in which they are reported."""

from __future__ import annotations

from typing import Literal, get_args

SessionStage = Literal["load", "idle window", "first pass", "warm-up", "passes", "images"]

STAGES: tuple[SessionStage, ...] = get_args(SessionStage)
"""In their order; the first holds all that is none of the others."""

SENDING = "sending"
"""What the stages begin with in which files are on their way: no further session has to send them again."""
