"""A network that TensorFlow can run, whatever it came from: a family, a .keras file, a SavedModel.

Only for processes of their own: calling a function here imports TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.outputs import Rows
from edgebench.errors import InputError, UnsupportedError
from edgebench.models.families import networks
from edgebench.models.inspect.keras_file import require_archive
from edgebench.models.workers.feeds import Feed

SIGNATURE = "serving_default"


@dataclass(frozen=True)
class Network:
    """A network in TensorFlow.

    Attributes:
        call: takes one tensor an input and gives a list of outputs.
        inputs: TensorSpecs, in the file's order.
        outputs: tensors by name, in the file's order.
        model: what `call` needs alive.
    """

    call: Callable[..., list[Any]]
    inputs: Sequence[Any]
    outputs: Sequence[tuple[str, Any]]
    model: Any

    def scores(self, feeds: Iterable[Feed], batch: int) -> NDArray[np.float32]:
        """Rows of scores float32 [feeds * batch, scores], by TensorFlow."""
        import tensorflow as tf

        rows = Rows(batch)
        return np.concatenate(
            [
                rows.of([np.asarray(output) for output in self.call(*(tf.constant(array) for array in feed))])
                for feed in feeds
            ]
        )


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
        return list(
            tf.nest.flatten(model(tensors[0] if len(tensors) == 1 else list(tensors), training=False))
        )

    return Network(call, model.inputs, [(tensor.name, tensor) for tensor in model.outputs], model)


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


def require_shapes(network: Network, shapes: Sequence[Sequence[int]]) -> None:
    """UnsupportedError where the network's inputs cannot have these shapes."""
    input_shapes = [tuple(tensor.shape) for tensor in network.inputs]
    fits = len(input_shapes) == len(shapes) and all(
        len(input_shape) == len(shape)
        and all(side in (None, want) for side, want in zip(input_shape, shape, strict=True))
        for input_shape, shape in zip(input_shapes, shapes, strict=False)
    )
    if not fits:
        raise UnsupportedError(
            f"the model takes {_shown(input_shapes)}, not {_shown(shapes)}",
            why="it fixes its batch or its size",
            fix="ask for its own batch and size, or save it with an open batch",
        )


def _shown(shapes: Sequence[Sequence[int | None]]) -> str:
    return ", ".join(
        f"[{', '.join('?' if side is None else str(side) for side in shape)}]" for shape in shapes
    )
