"""A model that Keras can run, whatever it came from: a family with weights, a .keras file, a SavedModel.

Only for processes of their own: calling a function here imports TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgebench.errors import InputError, UnsupportedError
from edgebench.models import mobilenet

SIGNATURE = "serving_default"


@dataclass(frozen=True)
class KerasModel:
    """`call` takes float32 [batch, height, width, 3] and gives scores; `input_shape` has None for free sides.

    `keeps` holds what the call needs alive: a SavedModel's variables go with it.
    """

    call: Callable[[Any], Any]
    input_shape: tuple[int | None, ...]
    keeps: Any


def build_keras(job: Mapping[str, Any]) -> KerasModel:
    """What a job names.

    Args:
        job: `kind` (`family`, `weights`, `keras`, `saved_model`); for the first two `family`,
            `depth_multiplier`, `classes`, `size` and `weights`, a path; for the others `path`.

    Raises:
        InputError: the file cannot be read as what it should be.
        UnsupportedError: it is no model from one image to scores.
    """
    import tensorflow as tf

    # Keras counts the models of a process into the names in the file: every job begins to count anew,
    # so that a variant's file is the same whatever was converted before it.
    tf.keras.backend.clear_session()
    match job["kind"]:
        case "family" | "weights":
            model = mobilenet.build(job["depth_multiplier"], classes=job["classes"], size=job["size"])
            mobilenet.load(model, Path(job["weights"]))
        case "keras":
            try:
                # safe_mode: a file may bring no code of its own.
                model = tf.keras.models.load_model(job["path"], compile=False, safe_mode=True)
            except Exception as error:  # Keras raises many kinds for files that are not its own
                raise _unreadable(job["path"], error) from error
        case "saved_model":
            return _saved_model(tf, job["path"])
        case other:
            raise UnsupportedError(
                f"a {other} file is no Keras model", fix="give the .keras file it was made from"
            )
    if len(model.inputs) != 1 or len(model.outputs) != 1:
        raise UnsupportedError(
            f"the model has {len(model.inputs)} inputs and {len(model.outputs)} outputs",
            why="one image in and one row of scores out is what can be converted",
        )
    return KerasModel(lambda patches: model(patches, training=False), tuple(model.inputs[0].shape), model)


def _saved_model(tf: Any, path: str) -> KerasModel:
    try:
        loaded = tf.saved_model.load(path)
    except Exception as error:  # as above
        raise _unreadable(path, error) from error
    signatures = getattr(loaded, "signatures", {})
    if SIGNATURE not in signatures:
        raise InputError(
            f"{path} has no signature {SIGNATURE}",
            why=f"it has {', '.join(signatures) or 'none'}",
            fix="save it with model.export(FOLDER)",
        )
    function = signatures[SIGNATURE]
    inputs, outputs = function.structured_input_signature[1], function.structured_outputs
    if len(inputs) != 1 or len(outputs) != 1:
        raise UnsupportedError(
            f"the model has {len(inputs)} inputs and {len(outputs)} outputs",
            why="one image in and one row of scores out is what can be converted",
        )
    ((taken, spec),) = inputs.items()
    (given,) = outputs
    shape = tuple(spec.shape) if spec.shape.rank is not None else ()
    return KerasModel(lambda patches: function(**{taken: patches})[given], shape, loaded)


def _unreadable(path: str, error: Exception) -> InputError:
    return InputError(
        f"{path} cannot be read as a model",
        why=" ".join((str(error) or type(error).__name__).split())[:500],
        fix="save it with Keras 3: model.save('NAME.keras'), or model.export(FOLDER) for a SavedModel",
    )
