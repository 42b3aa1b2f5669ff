"""What the user said of a model's input, from flags to an `InputChoice`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from edgebench.errors import UsageError
from edgebench.vocabulary.model_source import InputChoice

_SHAPE = re.compile(r"(?:(?P<name>[^=]{1,200})=)?(?P<sides>\d{1,9}(?:,\d{1,9}){0,7})")


def input_choice(
    *,
    layout: Literal["NHWC", "NCHW"] | None = None,
    scale: tuple[float, ...] | None = None,
    mean: tuple[float, ...] | None = None,
    shapes: Sequence[str] = (),
) -> InputChoice:
    """The choice; UsageError for a shape that is not `1,128` or `name=1,128`."""
    return InputChoice(
        layout=layout, scale=scale, mean=mean, shapes=tuple(_shape(text) for text in dict.fromkeys(shapes))
    )


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    match = _SHAPE.fullmatch(text.replace(" ", ""))
    sides = tuple(int(side) for side in match["sides"].split(",")) if match else ()
    if match is None or not all(sides):
        raise UsageError(
            f"--input-shape {text!r} is no shape",
            fix="write it like 1,128 or, where there are several inputs, tokens=1,128",
        )
    return match["name"] or "", sides
