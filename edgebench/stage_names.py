"""What a pass's stages may be called: each name becomes columns of the stored tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
