"""From the scene's pixels to a runtime's input: cutting patches and preprocessing them.

A pixel p (0..255) is the real value p / divisor + offset, with a divisor and an offset of its own for each
channel where the artifact says so; an integer input holds round(real / scale) + zero point. Every function
that is made here is called inside the timed region and writes into memory that it was given.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Fill = Callable[[], Any]
Copy = Callable[..., Any]
"""`copy(place, patch)`: a patch of the scene into its place in the batch."""


def windows(
    scene: "NDArray[np.uint8]", patch: int, across: Optional[int] = None, stride: Optional[int] = None
) -> "List[NDArray[np.uint8]]":
    """Views uint8 [patch, across, channels] of the scene [height, width, channels], row by row; rests are
    left out.

    `across` is a patch's width (square where None); `stride` the distance from one to the next, both ways
    (side by side where None).
    """
    width = across or patch
    down, right = stride or patch, stride or width
    return [
        scene[top : top + patch, left : left + width]
        for top in range(0, scene.shape[0] - patch + 1, down)
        for left in range(0, scene.shape[1] - width + 1, right)
    ]


def channels_of(spec: "Dict[str, Any]") -> int:
    """Channels of an artifact's pictures: 3, or 1 for grey ones."""
    return len(spec.get("divisors") or (1, 1, 1))


def resizing(source: "Sequence[int]", target: "Sequence[int]") -> Copy:
    """A function that copies patches uint8 [*source] to places [*target, channels], by the nearest pixel.

    `source` is (height, width, channels), `target` (height, width).

    The pixel whose middle is nearest, as in Pillow's NEAREST; no arithmetic on pixels, so that it costs a
    board as little as resizing can.
    """
    rows, columns = [
        ((np.arange(new) * 2 + 1) * old // (2 * new)).astype(np.intp) for old, new in zip(source[:2], target)
    ]
    band = np.empty((len(rows), source[1]) + tuple(source[2:]), np.uint8)
    take = np.take

    def copy(place: "NDArray[np.uint8]", patch: "NDArray[np.uint8]") -> None:
        take(patch, rows, 0, band, "clip")
        take(band, columns, 1, place, "clip")

    return copy


def table_for(
    dtype: str, divisor: float, offset: float, scale: Optional[float], zero_point: Optional[int]
) -> "NDArray[Any]":
    """What each of the 256 pixel values becomes, as an array [256] of the input's dtype."""
    pixels = np.arange(256, dtype=np.uint8)
    if dtype in ("float32", "float16"):
        real = np.add(np.divide(pixels, np.float32(divisor), dtype=np.float32), np.float32(offset))
        floats: "NDArray[Any]" = real.astype(dtype)
        return floats
    if dtype not in ("int8", "uint8") or scale is None or zero_point is None or not scale > 0:
        raise ValueError(
            "no preprocessing for {} with scale {} and zero point {}".format(dtype, scale, zero_point)
        )
    centred = divisor == 127.5 and offset == -1.0 and abs(scale * 127.5 - 1) < 1e-6
    if centred and (dtype, zero_point) in (("int8", -1), ("uint8", 127)):
        # p - 127.5 lies half-way between two steps for every pixel: the rule is p - 128 (p where there is no
        # sign), the converter's own choice, and not whatever the last bit of a division says.
        same: "NDArray[Any]" = pixels if dtype == "uint8" else (pixels ^ np.uint8(0x80)).view(np.int8)
        return same
    limits = np.iinfo(dtype)
    steps = np.rint((pixels.astype(np.float64) / divisor + offset) / scale) + zero_point
    table: "NDArray[Any]" = np.clip(steps, limits.min, limits.max).astype(dtype)
    return table


def preprocessing(spec: "Dict[str, Any]", patches: "NDArray[np.uint8]", target: "NDArray[Any]") -> Fill:
    """A function that fills `target` from `patches`.

    Args:
        spec: the artifact's input: dtype, layout, divisor, offset, scale, zero_point.
        patches: uint8 [batch, height, width, channels].
        target: the runtime's input, [batch, height, width, channels], or with its channels first where the
            layout is NCHW.
    """
    source = patches.transpose(0, 3, 1, 2) if spec["layout"] == "NCHW" else patches
    if source.shape != target.shape:
        raise ValueError("patches {} do not fit an input {}".format(source.shape, target.shape))
    if spec.get("divisors"):
        return _by_channel(spec, source, target)
    table = table_for(spec["dtype"], spec["divisor"], spec["offset"], spec["scale"], spec["zero_point"])
    if target.dtype != table.dtype:
        raise ValueError("the input is {}, the artifact says {}".format(target.dtype, table.dtype))
    if spec["dtype"] == "float32":
        return _as_float32(source, target, spec["divisor"], spec["offset"])
    bits = table.view(np.uint8) if table.itemsize == 1 else None
    if bits is not None:
        for mask in (0x80, 0x00):
            # 1/127.5 and -1 make int8 of a pixel by its highest bit alone: no table, no arithmetic.
            if np.array_equal(bits, np.arange(256, dtype=np.uint8) ^ np.uint8(mask)):
                return partial(np.bitwise_xor, source, np.uint8(mask), target.view(np.uint8))
    return partial(np.take, table, source, None, target, "clip")


def _by_channel(spec: "Dict[str, Any]", source: "NDArray[Any]", target: "NDArray[Any]") -> Fill:
    """Each channel by its own divisor and offset, as if it were an input for itself."""
    axis = 1 if spec["layout"] == "NCHW" else 3
    fills: "List[Fill]" = []
    for channel, (divisor, offset) in enumerate(zip(spec["divisors"], spec["offsets"])):
        at: "Tuple[Any, ...]" = (slice(None),) * axis + (slice(channel, channel + 1),)
        alone = dict(spec, layout="NHWC", divisors=None, divisor=divisor, offset=offset)
        fills.append(preprocessing(alone, source[at], target[at]))

    def fill() -> None:
        for fill in fills:
            fill()

    return fill


def _as_float32(source: "NDArray[Any]", target: "NDArray[Any]", divisor: float, offset: float) -> Fill:
    by, plus = np.float32(divisor), np.float32(offset)
    divide, add, copy = np.divide, np.add, np.copyto

    def fill() -> None:
        copy(target, source)
        divide(target, by, target)
        add(target, plus, target)

    return fill
