"""What is known of a user's model: which input takes the picture, how pixels become numbers, what comes out.

Everything is read from the file or set by the user; the rest has a default and a note.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from edgebench.agent.pixels import windows
from edgebench.errors import EdgeBenchError, InputError, UsageError
from edgebench.files import read_regular, reason, require_regular
from edgebench.prepare import families as catalogue
from edgebench.prepare.cache import Cache, canonical_hash, sha256_file
from edgebench.prepare.families import MAX_FILE_BYTES
from edgebench.prepare.formats import format_of, model_entry, not_read
from edgebench.prepare.image_lists import rows_of_choice
from edgebench.prepare.image_sets import load_calibration, shipped_images
from edgebench.prepare.images import ALL, ReadingOptions, obtain_array
from edgebench.prepare.landcover import Pixels
from edgebench.prepare.model_file import inspect_model, model_sha256
from edgebench.prepare.pictures import as_image
from edgebench.prepare.samples import plain_name
from edgebench.records.model import (
    FixedInput,
    InputChoice,
    InputSpec,
    ModelFacts,
    ModelSource,
    PictureInput,
    Samples,
    SourceKind,
    TensorFacts,
    UserModel,
    state_of,
)
from edgebench.records.values import ImageSet, Scene
from edgebench.refusals import refusal

DEFAULT_SIDE = 224
"""Pixels an edge where neither the model nor the user says how large its pictures are."""

DEFAULT_DIVISOR, DEFAULT_OFFSET = 127.5, -1.0
"""Pixels become -1..1 where nothing tells otherwise, as MobileNet takes them."""

USUAL_RANGES = ((0.0, 1.0), (-1.0, 1.0), (-0.5, 0.5), (0.0, 255.0), (-127.5, 127.5))
"""What pixels 0..255 become where a quantised input was calibrated on pictures with black and white."""

PICTURE_DTYPES = ("float32", "float16", "int8", "uint8")
MAX_ELEMENTS = 1 << 28
METADATA = "the file's metadata"
_QUANTISATION = "the input's quantisation"
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
        replace(
            _fixed(tensor, chosen_shapes.get(place), picture, assumed), is_state=tensor.name in facts.states
        )
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
        state=state_of(facts.states, facts.operations, keep=choice.keep_state)
        if facts.format == "tflite"
        else "none",
        is_16x8=facts.is_16x8,
    )
    if picture is None:
        reason = f"{reason}, so it is timed with other inputs than pictures"
    elif model.scores is None:
        outputs = ", ".join(_described(tensor) for tensor in facts.outputs) or "none"
        reason = f"its outputs ({outputs}) are not one row of scores"
    notes = [f"its metadata are not used: {facts.metadata_reason}"] if facts.metadata_reason else []
    names = facts.class_names if len(facts.class_names) == model.scores else ()
    if facts.class_names and not names and model.scores is not None:
        notes.append(
            f"its metadata name {len(facts.class_names)} classes and it has {model.scores} scores: the names "
            "are not used (--labels)"
        )
    return replace(
        model, accuracy_reason=reason, assumed=tuple(assumed), class_names=names, notes=tuple(notes)
    )


def input_spec(
    source: ModelSource,
    dtype: str,
    *,
    scale: float | None = None,
    zero_point: int | None = None,
) -> InputSpec:
    """How the worker fills the input of a user's model that takes pictures.

    Args:
        source: of `read_source`, with a `model` that has a `picture`.
        dtype: of the artifact's input, which a conversion may have changed.
        scale: of the artifact's input where it is quantised.
        zero_point: of the artifact's input where it is quantised.
    """
    picture = source.model.picture if source.model else None
    if picture is None:
        raise ValueError(f"{source.name} takes no picture")
    has_lists = picture.channels == 1 or len(picture.divisors) > 1
    return InputSpec.model_validate(
        {
            "dtype": dtype,
            "layout": picture.layout,
            "height": picture.height,
            "width": picture.width,
            "divisor": picture.divisors[0],
            "offset": picture.offsets[0],
            "divisors": picture.divisors if has_lists else None,
            "offsets": picture.offsets if has_lists else None,
            "scale": scale,
            "zero_point": zero_point,
        }
    )


def require_labels_fit(source: ModelSource) -> None:
    """InputError when there are not as many class names as the model has scores."""
    names, scores = source.class_names, source.model.scores if source.model else None
    if names is None or scores is None or len(names) == scores:
        return
    fix = "give --labels a file with one name a line, as many as the model has scores"
    if len(names) == scores - 1:
        fix = "add --label-offset 1 if its first score is of a background class that the file lacks"
    if len(names) == scores + 1 and names[0] == "class 0":
        fix = "number the classes from 0: the numbers of the label file begin at 1"
    raise InputError(
        f"the labels are {len(names)} and {source.name} has {scores} scores",
        why="the first line names the first score, and so on",
        fix=fix,
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
    plain = [plain_name(name) for name in names]
    return names.index(asked) if asked in names else plain.index(asked) if asked in plain else None


def _layout(
    tensor: TensorFacts, chosen_shape: tuple[int, ...] | None, choice: InputChoice
) -> Literal["NHWC", "NCHW"] | None:
    """Place of the three channels, or of the one of grey pictures; None if the input is no picture."""
    shape = chosen_shape or tensor.shape
    if len(shape) != 4:
        return None
    for channels in (3, 1) if choice.layout or choice.takes_grey else (3,):
        if shape[3] == channels and choice.layout != "NCHW":
            return "NHWC"
        if shape[1] == channels and choice.layout != "NHWC":
            return "NCHW"
    return None


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
    for side, which in zip(file_sides, ("height", "width"), strict=True):
        if side is None:
            assumed.append(f"a {which} of {DEFAULT_SIDE}, which the file leaves open (--input-shape)")
    height, width = (side or DEFAULT_SIDE for side in file_sides)
    divisors, offsets, told_by = _normalisation(facts, tensor, choice)
    if not told_by:
        told_by = "the default"
        assumed.append("pixels as -1..1, since the file does not say (--input-scale, --input-mean)")
    elif told_by == _QUANTISATION and not _is_usual(divisors[0], offsets[0]):
        highest = 255 / divisors[0] + offsets[0]
        assumed.append(
            f"pixels as {offsets[0]:.3g}..{highest:.3g}, the range of its quantisation, which is not a "
            "usual one and wrong after calibration on dark or pale pictures (--input-scale, --input-mean)"
        )
    channels = int(shape[3 if layout == "NHWC" else 1] or 3)
    if len(divisors) > channels:
        raise UsageError(
            f"--input-scale and --input-mean have {len(divisors)} numbers",
            why=f"the input {_described(tensor)} takes grey pictures",
            fix="give one number",
        )
    return PictureInput(layout, height, width, divisors, offsets, told_by, channels)


def _is_usual(divisor: float, offset: float) -> bool:
    """Range of the pixels is one of USUAL_RANGES, to within a step: zero points are rounded."""
    return any(
        max(abs(offset - low), abs(255 / divisor - (high - low))) <= 1.001 / divisor
        for low, high in USUAL_RANGES
    )


def _normalisation(
    facts: ModelFacts, tensor: TensorFacts, choice: InputChoice
) -> tuple[tuple[float, ...], tuple[float, ...], str]:
    """Divisors, offsets, and their source; "" without one."""
    scale, mean, told_by = choice.scale, choice.mean, "the user"
    if scale is None and mean is None and facts.pixel_std:
        scale, mean, told_by = facts.pixel_std, facts.pixel_mean, METADATA
    if scale is not None or mean is not None:
        scale, mean = scale or (1.0,), mean or (0.0,)
        channels = max(len(scale), len(mean))
        scale, mean = (values * channels if len(values) == 1 else values for values in (scale, mean))
        return scale, tuple(-middle / by for middle, by in zip(mean, scale, strict=True)), told_by
    lowest = -128 if tensor.dtype == "int8" else 0
    if tensor.scale and tensor.zero_point is not None:
        # What the quantisation covers are the pixels: the lowest step is 0, the highest 255.
        divisor, offset = 1 / tensor.scale, tensor.scale * (lowest - tensor.zero_point)
        # Real numbers can be right beyond what a calibration on dark or pale pictures covers.
        if tensor.dtype in ("int8", "uint8") or _is_usual(divisor, offset):
            return (divisor,), (offset,), _QUANTISATION
    elif tensor.dtype in ("int8", "uint8"):
        return (1.0,), (float(lowest),), "the input's type"
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
        channels = picture.channels
        shape: tuple[int, ...] = (
            (1, *middle, channels) if picture.layout == "NHWC" else (1, channels, *middle)
        )
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
    is_real = tensor.dtype.startswith("float")  # quantised inside, if at all
    scale, zero_point = (None, None) if is_real else (tensor.scale, tensor.zero_point)
    return FixedInput(tensor.name, tensor.dtype, shape, scale, zero_point)


def _described(tensor: TensorFacts) -> str:
    shape = ", ".join("?" if length is None else str(length) for length in tensor.shape)
    return f"{tensor.name} [{shape}]"


# Reading a user's model from disk: its format, its hash, and what it holds; each read once and kept.


MAX_MODEL_BYTES = 64 * 2**30
"""The largest model file that is looked at; whether it fits into memory is judged afterwards."""

_FACTS = "model-facts"
_NO_REFERENCE = (
    "it is compiled, and its scores have no reference: shape, finite scores and the same scores twice are "
    "checked; --model with the uncompiled .tflite and --artifact with this file compare them"
)
_READING = 5  # counts up when the same file would be understood otherwise


def read_source(path: Path, choice: InputChoice, cache: Cache) -> ModelSource:
    """A user's model file (or the folder of a SavedModel or an OpenVINO IR) as a source, inspected.

    InputError for what is no model, is damaged, does not fit into memory or has no usable signature;
    UsageError for a choice that does not fit its inputs.
    """
    path = model_entry(path)
    row = format_of(path)
    if not row.is_taken:
        raise not_read(path, row)
    try:
        if not path.is_dir():
            require_regular(path, MAX_MODEL_BYTES)
        digest = model_sha256(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read as a model", why=reason(error), fix="check the path"
        ) from error
    facts = _facts(path, row.kind, digest, cache)
    digest = model_sha256(path, facts.external_files) if facts.external_files else digest
    if row.kind == "openvino":
        _require_closed(facts, choice, path.name)
    model = understand(facts, choice, path.name)
    if row.kind == "edgetpu":  # its compiler takes int8 alone
        model = replace(model, precision="int8", notes=(*model.notes, _NO_REFERENCE))
    return ModelSource(
        name=f"{plain_stem(path)}-{digest[:8]}",
        kind=cast(SourceKind, row.kind),
        path=path.absolute(),
        sha256=digest,
        input=choice,
        model=model,
    )


def _require_closed(facts: ModelFacts, choice: InputChoice, name: str) -> None:
    """InputError for an axis beyond the batch that neither the file nor the user fixes."""
    chosen = _chosen_shapes(facts, choice, name)
    for place, tensor in enumerate(facts.inputs):
        if None in tensor.shape[1:] and place not in chosen:
            raise InputError(
                f"{name}'s input {_described(tensor)} has an open shape",
                why="an OpenVINO IR is compiled for fixed shapes; the batch alone may be open",
                fix=f"give --input-shape {tensor.name}=..., every axis, or export it with a fixed shape",
            )


def _facts(path: Path, kind: str, digest: str, cache: Cache) -> ModelFacts:
    """What the file holds; Keras takes seconds to tell, so what it told is kept."""
    key = canonical_hash({"kind": kind, "sha256": digest, "reading": _READING})
    stored = cache.recipe(_FACTS, key)
    if stored is not None:
        try:
            facts = TypeAdapter(ModelFacts).validate_python(stored)
            if not facts.external_files:  # the key does not hold these
                return facts
        except ValidationError:  # damaged: it is read again
            pass
    facts = inspect_model(path)
    cache.remember(_FACTS, key, TypeAdapter(ModelFacts).dump_python(facts, mode="json"))
    return facts


# Golden patches of a user's model: real pictures where there are any, chosen evenly, kept in the cache.


COUNT = 5
"""Patches that go through every session before anything is timed."""


def golden_of_images(images: ImageSet, what: str, cache: Cache) -> Samples:
    """Some of a set's images: of listed pictures some by class, the same ones however many of them are read.

    Of other sets images at equal distances over its order, so that classes differ.
    """
    chosen = (images.listing and rows_of_choice(images.listing, COUNT)) or _evenly(images.n).tolist()
    pixels = np.load(images.path, mmap_mode="r")
    key = canonical_hash({"images": images.sha256, "chosen": chosen})
    return _stored_samples(
        cache, key, lambda: np.stack([pixels[at] for at in chosen]), f"{len(chosen)} {what}"
    )


def golden_of_scene(scene: Scene, height: int, width: int, cache: Cache) -> Samples:
    """Some patches of the scene, resized (bilinear) where the model takes another size."""
    chosen = _evenly(scene.patches)
    identity = {"scene": scene.sha256, **scene.grid, "chosen": chosen.tolist(), "size": [height, width]}

    def render() -> Pixels:
        pixels = np.load(scene.path, mmap_mode="r")
        cut = windows(pixels, scene.patch, scene.patch_width, scene.stride)
        patches = [as_image(cut[at]) for at in chosen]
        resized = [patch.resize((width, height), Image.Resampling.BILINEAR) for patch in patches]
        return np.stack([np.asarray(patch, np.uint8).reshape(height, width, -1) for patch in resized])

    return _stored_samples(
        cache, canonical_hash(identity), render, f"{len(chosen)} patches of the scene {scene.name}"
    )


def _evenly(n: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return (np.arange(min(COUNT, n)) * n // min(COUNT, n)).astype(np.intp)


def _stored_samples(cache: Cache, key: str, make: Callable[[], Pixels], origin: str) -> Samples:
    file = obtain_array(cache, "golden", key, make)
    return Samples(file.path, file.sha256, len(np.load(file.path, mmap_mode="r")), origin)


# What the user said of a model's input, from flags to an `InputChoice`.


_SHAPE = re.compile(r"(?:(?P<name>[^=]{1,200})=)?(?P<sides>\d{1,9}(?:,\d{1,9}){0,7})")


def input_choice(
    *,
    layout: Literal["NHWC", "NCHW"] | None = None,
    scale: tuple[float, ...] | None = None,
    mean: tuple[float, ...] | None = None,
    shapes: Sequence[str] = (),
    keep_state: bool = False,
    takes_grey: bool = False,
) -> InputChoice:
    """The choice; UsageError for a shape that is not `1,128` or `name=1,128`."""
    shapes_by_name = tuple(_shape(text) for text in dict.fromkeys(shapes))
    return InputChoice(layout, scale, mean, shapes_by_name, keep_state, takes_grey)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    match = _SHAPE.fullmatch(text.replace(" ", ""))
    sides = tuple(int(side) for side in match["sides"].split(",")) if match else ()
    if match is None or not all(sides):
        raise UsageError(
            f"--input-shape {text!r} is no shape",
            fix="write it like 1,128 or, where there are several inputs, tokens=1,128",
        )
    return match["name"] or "", sides


# Weights that a training left, as a model's source: which family they are of, what they tell apart.


RECORD_SUFFIX = ".json"
CALIBRATION_SUFFIX = ".calibration.csv"
SHIPPED_CALIBRATION = "landcover-calibration"
_MAX_RECORD_BYTES = 4 * 1024 * 1024
_Name = Annotated[str, Field(min_length=1, max_length=200)]


class TrainedRecord(BaseModel):
    """The record of the weights; further fields are for people."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_version: Literal[1]
    family: str
    depth_multiplier: float | None
    weights_sha256: str
    class_names: Annotated[tuple[_Name, ...], Field(min_length=2, max_length=10_000)]
    data: dict[str, dict[str, Any]]


def read_record(weights: Path) -> TrainedRecord:
    """The record next to a weights file; InputError where it is missing or of other weights."""
    path = weights.with_suffix(RECORD_SUFFIX)
    try:
        record = _record(read_regular(path, _MAX_RECORD_BYTES))
        catalogue.spec(record.family).width(record.depth_multiplier)
        if len(set(record.class_names)) < len(record.class_names):
            raise ValueError("two classes have the same name")
        if not all(name.isprintable() for name in record.class_names):
            raise ValueError("a class has a name that cannot be shown")
    except (OSError, ValueError, EdgeBenchError) as error:
        raise InputError(
            f"the record {path} cannot be read",
            why=error.what if isinstance(error, EdgeBenchError) else reason(error),
            fix="keep the .json that was written with the weights, such as by examples/training",
        ) from error
    if record.weights_sha256 != sha256_file(weights):
        raise InputError(
            f"{path} is the record of other weights",
            why=f"the hash in it is not that of {weights.name}",
            fix="keep each .npz with the .json that was written with it",
        )
    return record


def _record(data: bytes) -> TrainedRecord:
    """ValueError, in words, for what is no record."""
    document = from_json(data)
    try:
        return TrainedRecord.model_validate(document)
    except ValidationError as error:
        raise ValueError(refusal(error, document, TrainedRecord).sentence()) from error


def source_from_weights(
    path: Path, cache: Cache, *, calibration: Path | None = None, options: ReadingOptions = ALL
) -> ModelSource:
    """Trained weights (.npz) as a model's source, with the classes of their record.

    Calibration images are those of `calibration` (a folder or CSV), else those of the training:
    the list next to the weights, or the shipped ones; else None. `options` are of these pictures. InputError
    for weights without their record, and for images that cannot be read.
    """
    try:
        require_regular(path, MAX_FILE_BYTES)
    except OSError as error:
        raise InputError(
            f"the weights {path} cannot be read",
            why=reason(error),
            fix="name weights with their record, such as examples/training writes",
        ) from error
    record = read_record(path)
    digest = record.weights_sha256
    source = ModelSource(
        name=f"{plain_stem(path)}-{digest[:8]}",
        kind="weights",
        path=path.absolute(),
        sha256=digest,
        class_names=record.class_names,
        family=record.family,
        width=record.depth_multiplier,
    )
    companion = path.with_suffix(CALIBRATION_SUFFIX)
    if calibration is None and companion.is_file():
        calibration = companion
    if calibration is not None:
        return replace(source, calibration=load_calibration(calibration, cache, options=options))
    noted = record.data.get("calibration", {})
    if noted.get("name") == SHIPPED_CALIBRATION:
        shipped = shipped_images(cache, "calibration")
        if shipped.sha256 == noted.get("sha256"):
            return replace(source, calibration=shipped)
    return source
