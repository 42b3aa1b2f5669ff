"""What microcontroller boards weigh and measure: no source that was at hand gives it."""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.vocabulary.target import Body

BODIES: Mapping[str, Body] = {
    "nucleo-h743zi2": Body("ST Nucleo-H743ZI2", None, None, "no data sheet was at hand"),
}
"""By the names that `--board` takes; an emulated board has no body."""
