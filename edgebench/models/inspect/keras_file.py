"""Facts of a .keras file, from the model that Keras builds of it; only in a process of its own."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from math import prod
from pathlib import Path
from typing import Any

from edgebench.archives import MOST_JSON_BYTES, TooLarge, require_bounded
from edgebench.models.inspect.macs import Malformed, Tally
from edgebench.vocabulary.model_facts import Shape, TensorFacts

_NAME = 200
_MOST_UNFOLDED = 10
# By the axes of the kernel that are multiplied with the output: Keras has [height, width, in / group, out].
_KERNEL_AXES = {
    "Conv1D": -1, "Conv2D": -1, "Conv3D": -1, "Dense": -1, "DepthwiseConv2D": 2, "DepthwiseConv1D": 1,
}  # fmt: skip
_NO_PRODUCTS = {
    "InputLayer", "BatchNormalization", "LayerNormalization", "GroupNormalization", "UnitNormalization",
    "Normalization", "Rescaling", "Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum",
    "Concatenate", "Activation", "ReLU", "LeakyReLU", "PReLU", "ELU", "Softmax", "Dropout",
    "SpatialDropout2D", "Flatten", "Reshape", "Permute", "RepeatVector", "ZeroPadding1D", "ZeroPadding2D",
    "Cropping2D", "UpSampling2D", "MaxPooling1D", "MaxPooling2D", "AveragePooling1D", "AveragePooling2D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D", "GlobalAveragePooling1D", "GlobalAveragePooling2D", "Embedding", "Resizing",
    "RandomFlip", "RandomRotation", "RandomZoom", "RandomBrightness", "RandomContrast", "RandomTranslation",
}  # fmt: skip


def require_archive(path: Path) -> None:
    """Malformed where it is no archive, or unfolds to more than a model may have; before Keras reads it.

    Weights hardly shrink in an archive (Keras stores them as they are): what unfolds to ten times its size is
    none.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            require_bounded(archive, _MOST_UNFOLDED * path.stat().st_size + MOST_JSON_BYTES)
    except zipfile.BadZipFile as error:
        raise Malformed("it is no archive as Keras writes it") from error
    except TooLarge as error:
        raise Malformed(str(error)) from error


def read(path: Path) -> dict[str, Any]:
    """The fields of `ModelFacts`; Malformed where Keras cannot build it, or would have to run code of it."""
    require_archive(path)
    import tensorflow as tf

    try:
        model = tf.keras.models.load_model(path, compile=False, safe_mode=True)
    except MemoryError:
        raise
    except Exception as error:  # Keras, h5py and zipfile raise many kinds for files that are not theirs
        raise Malformed((str(error) or type(error).__name__).splitlines()[0]) from error
    tally = Tally()
    for layer in _layers(model):
        _tally(layer, tally)
    inputs = [_facts(tensor) for tensor in model.inputs or ()]
    if any(length is None for tensor in inputs for length in tensor.shape[1:]):
        tally.hidden("an input", "has no fixed shape")
    stored: Counter[str] = Counter()
    for variable in model.weights:
        stored[str(variable.dtype)] += prod(int(length) for length in variable.shape)
    return {
        "inputs": [asdict(tensor) for tensor in inputs],
        "outputs": [asdict(_facts(tensor)) for tensor in model.outputs or ()],
        **tally.facts(sum(stored.values()), stored, [tensor.dtype for tensor in inputs]),
    }


def _layers(model: Any) -> Iterator[Any]:
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from _layers(layer)
        else:
            yield layer


def _tally(layer: Any, tally: Tally) -> None:
    name = type(layer).__name__[:_NAME]
    tally.operations[name] += 1
    if name in _KERNEL_AXES:
        try:
            output_shape: Shape = tuple(
                1 if place == 0 else length for place, length in enumerate(layer.output.shape)
            )
        except AttributeError:  # used at several places, or nowhere
            output_shape = (None,)
        kernel = tuple(int(length) for length in layer.kernel.shape)
        dtype = str(layer.kernel.dtype)
        tally.product(name, [output_shape, kernel[: _KERNEL_AXES[name]]], dtype, str(layer.compute_dtype))
    elif name not in _NO_PRODUCTS:
        tally.hidden(name, "does not tell its work")


def _facts(tensor: Any) -> TensorFacts:
    shape = tuple(None if length is None else int(length) for length in tensor.shape)
    return TensorFacts(str(tensor.name)[:_NAME], str(tensor.dtype), shape)
