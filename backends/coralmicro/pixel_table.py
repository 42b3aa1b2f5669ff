"""What each pixel value becomes in a model's input, as the board's preprocessing looks it up (pure)."""

from __future__ import annotations

from edgebench.agent.pixels import table_for
from edgebench.vocabulary.artifact import InputSpec


def pixel_table(spec: InputSpec) -> bytes:
    """256 bytes, or 768 where the channels differ: R, G, then B.

    Args:
        spec: of an input of int8 or uint8, with scale and zero point.
    """
    divisors = spec.divisors or (spec.divisor,)
    offsets = spec.offsets or (spec.offset,)
    return b"".join(
        table_for(spec.dtype, divisor, offset, spec.scale, spec.zero_point).tobytes()
        for divisor, offset in zip(divisors, offsets, strict=True)
    )
