"""A network that TensorFlow can run, whatever it came from: a family, a .keras file, a SavedModel.

Only for processes of their own: calling a function here imports TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgebench.errors import InputError, UnsupportedError
from edgebench.models.families import networks
from edgebench.models.inspect.keras_file import require_archive

SIGNATURE = "serving_default"


@dataclass(frozen=True)
class Network:
    """`call` takes one tensor an input and gives a list of outputs; `keeps` is what it needs alive."""

    call: Callable[..., list[Any]]
    inputs: Sequence[Any]  # TensorSpecs, in the file's order
    outputs: Sequence[tuple[str, Any]]
    keeps: Any


def build_keras(job: Mapping[str, Any]) -> Network:
    """What a job names.

    Args:
        job: `kind` (`family`, `keras`, `saved_model`); for the first `family`, `depth_multiplier`,
            `classes`, `size` and `weights`, a path or None for random ones; for the others `path`.

    Raises:
        InputError: the file cannot be read as what it should be.
        UnsupportedError: an input of it has no rank.
    """
    import tensorflow as tf

    # Keras counts the models of a process into the names in the file: every job begins to count anew,
    # so that a variant's file is the same whatever was converted before it.
    tf.keras.backend.clear_session()
    if job["kind"] == "saved_model":
        return _saved_model(tf, job["path"])
    if job["kind"] == "keras":
        return _of(tf, _keras_file(tf, job["path"]))
    weights = job["weights"] and Path(job["weights"])
    return _of(
        tf,
        networks.ready(
            job["family"], job["depth_multiplier"], weights, classes=job["classes"], size=job["size"]
        ),
    )


def _of(tf: Any, model: Any) -> Network:
    def call(*tensors: Any) -> list[Any]:
        given = tensors[0] if len(tensors) == 1 else list(tensors)
        return list(tf.nest.flatten(model(given, training=False)))

    return Network(call, model.inputs, [(one.name, one) for one in model.outputs], model)


def _keras_file(tf: Any, path: str) -> Any:
    try:
        require_archive(Path(path))
        # safe_mode: a file may bring no code of its own.
        return tf.keras.models.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # Keras raises many kinds for files that are not its own
        raise _unreadable(path, error) from error


def _saved_model(tf: Any, path: str) -> Network:
    try:
        loaded = tf.saved_model.load(path)
    except Exception as error:  # as above
        raise _unreadable(path, error) from error
    signatures = getattr(loaded, "signatures", {})
    if SIGNATURE not in signatures:
        raise InputError(
            f"{path} has no signature {SIGNATURE}",
            why=f"it has {', '.join(signatures) or 'none'}",
            fix="save it with model.export(FOLDER), or with signatures= of tf.saved_model.save",
        )
    function = signatures[SIGNATURE]
    inputs, outputs = function.structured_input_signature[1], function.structured_outputs
    names = sorted(inputs)
    for name in names:
        if inputs[name].shape.rank is None:
            raise UnsupportedError(
                f"the input {name} of {path} has no rank", fix="save it with a signature that has one"
            )
    specs = [tf.TensorSpec(inputs[name].shape, inputs[name].dtype, name=name) for name in names]

    def call(*tensors: Any) -> list[Any]:
        return list(tf.nest.flatten(function(**dict(zip(names, tensors, strict=True)))))

    return Network(call, specs, [(name, outputs[name]) for name in sorted(outputs)], loaded)


def _unreadable(path: str, error: Exception) -> InputError:
    return InputError(
        f"{path} cannot be read as a model",
        why=" ".join((str(error) or type(error).__name__).split())[:500],
        fix="save it with Keras 3: model.save('NAME.keras'), or model.export(FOLDER) for a SavedModel",
    )
