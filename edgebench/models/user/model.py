"""What is known of a user's model: which input takes the picture, how pixels become numbers, what comes out.

Everything is read from the file, or was said by the user; what neither tells has a default and a note.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Literal

from edgebench.errors import InputError, UsageError
from edgebench.vocabulary.artifact import InputSpec
from edgebench.vocabulary.model_facts import ModelFacts, TensorFacts
from edgebench.vocabulary.model_source import InputChoice, ModelSource
from edgebench.vocabulary.user_model import FixedInput, PictureInput, UserModel

DEFAULT_SIDE = 224
"""Pixels an edge where neither the model nor the user says how large its pictures are."""

DEFAULT_DIVISOR, DEFAULT_OFFSET = 127.5, -1.0
"""Pixels become -1..1 where nothing tells otherwise, as MobileNet takes them."""

PICTURE_DTYPES = ("float32", "float16", "int8", "uint8")
MAX_ELEMENTS = 1 << 28
_INSIDE = ("Rescaling", "Normalization")  # Keras's layers that take pixels as they are


def understand(facts: ModelFacts, choice: InputChoice, name: str) -> UserModel:
    """What a file's inputs and outputs mean, by what it says and what the user said; pure."""
    assumed: list[str] = []
    open_axes = any(length is None for tensor in facts.inputs for length in tensor.shape)
    open_batch = all(tensor.shape and tensor.shape[0] is None for tensor in facts.inputs)
    chosen_shapes = _chosen_shapes(facts, choice, name)
    picture: PictureInput | None = None
    reason = ""
    if len(facts.inputs) != 1:
        reason = f"it has {len(facts.inputs)} inputs"
    else:
        layout = _layout(facts.inputs[0], chosen_shapes.get(0), choice)
        if layout is None:
            reason = f"its input {_described(facts.inputs[0])} is no picture of three channels"
        elif facts.inputs[0].dtype not in PICTURE_DTYPES:
            reason = f"its input is {facts.inputs[0].dtype}, expected float32, float16, int8 or uint8"
        else:
            picture = _picture(facts, facts.inputs[0], layout, chosen_shapes.get(0), choice, assumed)
    inputs = tuple(
        _fixed(tensor, chosen_shapes.get(place), picture, assumed)
        for place, tensor in enumerate(facts.inputs)
    )
    model = UserModel(
        facts.precision,
        inputs,
        open_batch,
        open_axes,
        picture,
        facts.outputs,
        tuple(tensor.shape for tensor in facts.inputs),
        facts.macs,
    )
    if picture is None:
        reason = f"{reason}, so it is timed with other inputs than pictures"
    elif model.scores is None:
        outputs = ", ".join(_described(tensor) for tensor in facts.outputs) or "none"
        reason = f"its outputs ({outputs}) are not one row of scores"
    return replace(model, accuracy_reason=reason, assumed=tuple(assumed))


def input_spec(
    source: ModelSource,
    dtype: str,
    *,
    scale: float | None = None,
    zero_point: int | None = None,
    layout: Literal["NHWC", "NCHW"] | None = None,
) -> InputSpec:
    """How the worker fills the input of a user's model that takes pictures.

    Args:
        source: of `read_source`, with a `model` that has a `picture`.
        dtype: of the artifact's input, which a conversion may have changed.
        scale: of the artifact's input where it is quantised.
        zero_point: of the artifact's input where it is quantised.
        layout: of the artifact's input where a conversion has changed it.
    """
    picture = source.model.picture if source.model else None
    if picture is None:
        raise ValueError(f"{source.name} takes no picture")
    channels = len(picture.divisors) > 1
    return InputSpec.model_validate(
        {
            "dtype": dtype,
            "layout": layout or picture.layout,
            "height": picture.height,
            "width": picture.width,
            "divisor": picture.divisors[0],
            "offset": picture.offsets[0],
            "divisors": picture.divisors if channels else None,
            "offsets": picture.offsets if channels else None,
            "scale": scale,
            "zero_point": zero_point,
        }
    )


def require_labels_fit(source: ModelSource) -> None:
    """InputError when there are not as many class names as the model has scores."""
    names, scores = source.class_names, source.model.scores if source.model else None
    if names is None or scores is None or len(names) == scores:
        return
    hint = " (one of them may be a background class)" if abs(len(names) - scores) == 1 else ""
    raise InputError(
        f"the labels are {len(names)} and {source.name} has {scores} scores{hint}",
        why="the first line names the first score, and so on",
        fix="give --labels a file with one name a line, as many as the model has scores",
    )


def plain_stem(path: Path) -> str:
    """A file's name as a part of a variant's name."""
    stem = re.sub(r"[^A-Za-z0-9_.]+", "_", path.absolute().stem)[:60].strip("._")
    return stem or "model"


def _chosen_shapes(facts: ModelFacts, choice: InputChoice, name: str) -> dict[int, tuple[int, ...]]:
    names = [tensor.name for tensor in facts.inputs]
    shapes: dict[int, tuple[int, ...]] = {}
    for asked, shape in choice.shapes:
        place = place_of(asked, names)
        if place is None:
            continue  # another model's of the same run
        file_shape = facts.inputs[place].shape
        fits = len(file_shape) == len(shape) and all(
            length is None or length == new for length, new in zip(file_shape, shape, strict=True)
        )
        if not fits:
            raise UsageError(
                f"--input-shape: {list(shape)} does not fit {name}'s input {_described(facts.inputs[place])}",
                fix="give every axis; those that the model fixes have to stay",
            )
        shapes[place] = shape
    return shapes


def place_of(asked: str, names: Sequence[str]) -> int | None:
    """Which input is meant: by its name, with or without what converters add, or the only one by ""."""
    if not asked:
        return 0 if len(names) == 1 else None
    plain = [re.sub(r"^serving_default_|:\d+$", "", name) for name in names]
    return names.index(asked) if asked in names else plain.index(asked) if asked in plain else None


def _layout(
    tensor: TensorFacts, chosen_shape: tuple[int, ...] | None, choice: InputChoice
) -> Literal["NHWC", "NCHW"] | None:
    """Where the three channels are; None where the input is no picture."""
    shape = chosen_shape or tensor.shape
    if len(shape) != 4:
        return None
    last, second = shape[3] == 3, shape[1] == 3
    if choice.layout is not None:
        return choice.layout if (last if choice.layout == "NHWC" else second) else None
    return "NHWC" if last else "NCHW" if second else None


def _picture(
    facts: ModelFacts,
    tensor: TensorFacts,
    layout: Literal["NHWC", "NCHW"],
    chosen_shape: tuple[int, ...] | None,
    choice: InputChoice,
    assumed: list[str],
) -> PictureInput:
    shape = chosen_shape or tensor.shape
    file_sides = (shape[1], shape[2]) if layout == "NHWC" else (shape[2], shape[3])
    chosen_sides = (choice.height, choice.width)
    sides: list[int] = []
    for side, chosen_side, which in zip(file_sides, chosen_sides, ("height", "width"), strict=True):
        if side is not None and chosen_side is not None and side != chosen_side:
            raise UsageError(
                f"the model's input has a {which} of {side}, not {chosen_side}", fix="leave it out"
            )
        sides.append(side or chosen_side or DEFAULT_SIDE)
        if side is None and chosen_side is None:
            assumed.append(f"a {which} of {DEFAULT_SIDE}, which the file leaves open (--input-shape)")
    divisors, offsets, told_by = _normalisation(facts, tensor, choice)
    if not told_by:
        told_by = "the default"
        assumed.append("pixels as -1..1, since the file does not say (--input-scale, --input-mean)")
    return PictureInput(layout, sides[0], sides[1], divisors, offsets, told_by)


def _normalisation(
    facts: ModelFacts, tensor: TensorFacts, choice: InputChoice
) -> tuple[tuple[float, ...], tuple[float, ...], str]:
    """Divisors, offsets, and who told them; "" for nobody."""
    if choice.scale is not None or choice.mean is not None:
        scale, mean = choice.scale or (1.0,), choice.mean or (0.0,)
        channels = max(len(scale), len(mean))
        scale, mean = (values * channels if len(values) == 1 else values for values in (scale, mean))
        return scale, tuple(-middle / by for middle, by in zip(mean, scale, strict=True)), "the user"
    if tensor.dtype in ("int8", "uint8"):
        if tensor.scale and tensor.zero_point is not None:
            # What the quantisation covers are the pixels: the lowest step is 0, the highest 255.
            lowest = -128 if tensor.dtype == "int8" else 0
            offset = tensor.scale * (lowest - tensor.zero_point)
            return (1 / tensor.scale,), (offset,), "the input's quantisation"
        if tensor.dtype == "uint8":
            return (1.0,), (0.0,), "the input's type"
    if any(layer in facts.operations for layer in _INSIDE):
        return (1.0,), (0.0,), "the model's own rescaling"
    return (DEFAULT_DIVISOR,), (DEFAULT_OFFSET,), ""


def _fixed(
    tensor: TensorFacts,
    chosen_shape: tuple[int, ...] | None,
    picture: PictureInput | None,
    assumed: list[str],
) -> FixedInput:
    if picture is not None:
        middle = (picture.height, picture.width)
        shape: tuple[int, ...] = (1, *middle, 3) if picture.layout == "NHWC" else (1, 3, *middle)
        if tensor.shape[0] not in (None, 1):
            shape = (int(tensor.shape[0] or 1), *shape[1:])
    else:
        shape = tuple(1 if length is None else length for length in chosen_shape or tensor.shape)
        loose = [place for place, length in enumerate(tensor.shape) if length is None and place > 0]
        if loose and chosen_shape is None:
            axes = ", ".join(str(place) for place in loose)
            assumed.append(f"1 for axis {axes} of {tensor.name}, which the file leaves open (--input-shape)")
    if prod(shape) > MAX_ELEMENTS:
        raise InputError(
            f"the input {tensor.name} of {list(shape)} is too large",
            why=f"it has more than {MAX_ELEMENTS} numbers",
            fix="give a smaller --input-shape",
        )
    return FixedInput(tensor.name, tensor.dtype, shape, tensor.scale, tensor.zero_point)


def fixed_batch(model: UserModel) -> int | None:
    """The batch that the file has fixed; None where it left it open."""
    batches = {tensor.shape[0] for tensor in model.inputs if tensor.shape}
    return None if model.open_batch or len(batches) != 1 else batches.pop()


def _described(tensor: TensorFacts) -> str:
    shape = ", ".join("?" if length is None else str(length) for length in tensor.shape)
    return f"{tensor.name} [{shape}]"
