"""A family's weights in Keras: put in from a file, taken out by name, or drawn at random.

Only for processes of their own: Keras models are handled here.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import InputError
from edgebench.models.families.catalogue import CLASSES, SIZE, Model, build
from edgebench.models.families.weights import RANDOM_SEED, read_weights

_HEAD = "scores/"
_RESIDUAL_GAMMA = 0.25  # a normalisation that is added to what goes round it: depth must not add up


def ready(
    family: str, width: float | None, weights: Path | None, *, classes: int = CLASSES, size: int = SIZE
) -> Model:
    """A family's model with the weights of a file, or with random ones where there is none."""
    model = build(family, width, classes=classes, size=size)
    if weights is None:
        randomise(model)
    else:
        load(model, weights)
    return model


def load(model: Model, path: Path, *, new_head: bool = False) -> bool:
    """Put the weights of a file (.npz of ours, or Keras's .h5) into the model.

    With `new_head`, weights of another number of classes, or of the layers without the scores, serve too:
    what belongs to the scores then stays as it was. Returns whether that happened. InputError when the
    weights are not this model's.
    """
    if path.suffix == ".h5":
        return _load_keras(model, path, new_head)
    arrays, slots = read_weights(path), _variables(model)
    if missing := sorted(slots.keys() ^ arrays.keys()):
        raise InputError(
            f"{path} holds another model's weights",
            why=f"only one of the two has {missing[0]}",
            fix="name the family and width that the weights are of",
        )
    left = False
    for name, variable in slots.items():
        if tuple(variable.shape) == arrays[name].shape:
            variable.assign(arrays[name])
        elif new_head and name.startswith(_HEAD):
            left = True
        else:
            raise InputError(
                f"{path} holds weights of another size",
                why=f"{name} is {list(arrays[name].shape)}, the model takes {list(variable.shape)}",
                fix="use the same width and number of classes",
            )
    return left


def weights_of(model: Model) -> Mapping[str, NDArray[np.float32]]:
    """The model's weights by name, float32."""
    return {name: np.asarray(variable.numpy(), np.float32) for name, variable in _variables(model).items()}


def randomise(model: Model, seed: int = RANDOM_SEED) -> None:
    """Draw weights for latency: the same for the same seed, wherever it is done.

    Keras's own initial values shrink from layer to layer where convolutions are depthwise, down to numbers
    that processors handle slowly and half precision not at all; He's normal distribution by the true number
    of inputs keeps activations as large as they come in.
    """
    rng = np.random.default_rng(seed)
    residual = _residual(model)
    for name, variable in _variables(model).items():
        shape, kind = tuple(int(length) for length in variable.shape), name.rpartition("/")[2]
        if kind == "kernel":
            depthwise = len(shape) == 4 and shape[3] == 1
            inputs = prod(shape[:2]) if depthwise else prod(shape[:-1])
            drawn = rng.standard_normal(shape, np.float32) * np.float32((2 / inputs) ** 0.5)
        elif kind in ("beta", "bias", "moving_mean"):
            drawn = rng.standard_normal(shape, np.float32) * np.float32(0.1)
        elif kind in ("gamma", "moving_variance"):
            level = _RESIDUAL_GAMMA if kind == "gamma" and name.rpartition("/")[0] in residual else 1.0
            drawn = rng.uniform(0.8 * level, 1.2 * level, shape).astype(np.float32)
        else:
            raise ValueError(f"{name} is of no kind that is known")
        variable.assign(drawn)


def _residual(model: Model) -> set[str]:
    """The names of the layers whose output, but for dropout, is added to another's."""
    names: set[str] = set()
    for layer in model.layers[0].layers:
        if type(layer).__name__ != "Add":
            continue
        for tensor in layer.input:
            made_by = tensor._keras_history.operation
            if type(made_by).__name__ == "Dropout":
                made_by = made_by.input._keras_history.operation
            names.add(made_by.name)
    return names


def _variables(model: Model) -> dict[str, Any]:
    """By `<layer>/<variable>`, in the model's order; nothing of preprocessing layers."""
    base, *head = model.layers
    return {
        f"{layer.name}/{variable.name}": variable
        for layer in [*base.layers, *head]
        if type(layer).__name__ != "Normalization"
        for variable in layer.weights
    }


def _load_keras(model: Model, path: Path, new_head: bool) -> bool:
    try:
        model.load_weights(path)
    except Exception as error:  # h5py and Keras raise many kinds for files that are not theirs
        # What keras.applications gives out without its top.
        if new_head and _fits(model.layers[0], path):
            return True
        raise InputError(
            f"{path} cannot be read as this model's weights",
            why=(str(error) or type(error).__name__).splitlines()[0],
            fix="use the same family, width and number of classes",
        ) from error
    return False


def _fits(base: Model, path: Path) -> bool:
    try:
        base.load_weights(path)
    except Exception:  # the error of the whole model says more
        return False
    return True
