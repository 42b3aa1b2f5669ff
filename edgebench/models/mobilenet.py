"""MobileNet v1 in Keras: without its top, global average pooling, a dense softmax.

Only for processes of their own: calling a function here imports TensorFlow, which never lives in the
harness's process. 219,829 / 832,101 / 3,233,989 parameters at depth multiplier 0.25 / 0.5 / 1.0 and five
classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import InputError
from edgebench.models.weights import read_weights

Model = Any
"""A `keras.Model`; not named, because importing Keras takes seconds."""

NORMALISATION_MOMENTUM = 0.9  # in training: Keras's 0.99 is slow to follow where epochs are few


def build(depth_multiplier: float, *, classes: int = 5, size: int = 224) -> Model:
    """An untrained model from float32 [n, size, size, 3] in -1..1 to scores [n, classes]."""
    import tensorflow as tf

    base = tf.keras.applications.MobileNet(
        input_shape=(size, size, 3), alpha=depth_multiplier, include_top=False, pooling="avg", weights=None
    )
    for layer in base.layers:
        if isinstance(layer, tf.keras.layers.BatchNormalization):
            layer.momentum = NORMALISATION_MOMENTUM
    return tf.keras.Sequential([base, tf.keras.layers.Dense(classes, activation="softmax", name="scores")])


def load(model: Model, path: Path) -> None:
    """Put the weights of a file (.npz of ours, or Keras's .weights.h5) into the model.

    InputError when they are not this model's.
    """
    if path.name.endswith(".weights.h5"):
        _load_keras(model, path)
        return
    arrays = read_weights(path)
    slots = _variables(model)
    if missing := sorted(slots.keys() ^ arrays.keys()):
        raise InputError(
            f"{path} holds another model's weights",
            why=f"only one of the two has {missing[0]}",
            fix="use weights of MobileNet v1 without its top",
        )
    for name, variable in slots.items():
        if tuple(variable.shape) != arrays[name].shape:
            raise InputError(
                f"{path} holds weights of another size",
                why=f"{name} is {list(arrays[name].shape)}, the model takes {list(variable.shape)}",
                fix="use the same depth multiplier and number of classes",
            )
        variable.assign(arrays[name])


def weights_of(model: Model) -> Mapping[str, NDArray[np.float32]]:
    """The model's weights by name, float32."""
    return {name: np.asarray(variable.numpy(), np.float32) for name, variable in _variables(model).items()}


def _variables(model: Model) -> dict[str, Any]:
    base, scores = model.layers
    return {
        f"{layer.name}/{variable.name}": variable
        for layer in [*base.layers, scores]
        for variable in layer.weights
    }


def _load_keras(model: Model, path: Path) -> None:
    try:
        model.load_weights(path)
    except Exception as error:  # h5py and Keras raise many kinds for files that are not theirs
        raise InputError(
            f"{path} cannot be read as this model's weights",
            why=(str(error) or type(error).__name__).splitlines()[0],
            fix="use the same depth multiplier and number of classes",
        ) from error
