"""What the Neural Compute Stick 2 weighs and measures, from its maker."""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.vocabulary.target import Body

BODIES: Mapping[str, Body] = {
    "ncs2": Body(
        "Intel Neural Compute Stick 2",
        None,
        (72.5, 27.0, 14.0),
        "Intel's product brief, which gives the size and no mass",
        plugged_in=True,
    ),
}
"""By the names that `--board` takes; the stick has a host as well, with a --board of its own."""
