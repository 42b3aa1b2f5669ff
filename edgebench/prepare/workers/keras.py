"""A network that TensorFlow can run, whatever it came from: a family, a .keras file, a SavedModel.

Only for processes of their own: calling a function here imports TensorFlow.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.timed import ScoreRows
from edgebench.errors import InputError, UnsupportedError
from edgebench.files import MOST_JSON_BYTES, TooLarge, require_bounded
from edgebench.prepare.families import CLASSES, RANDOM_SEED, SIZE, Model, build, read_weights
from edgebench.prepare.workers import tflite_file
from edgebench.prepare.workers.checking import Feed
from edgebench.prepare.workers.saved_model_operations import refuse_side_effects
from edgebench.prepare.workers.tflite_file import Malformed, Tally
from edgebench.records.model import Shape, TensorFacts

# A family's weights in Keras: put in from a file, taken out by name, or drawn at random.
#
# Only for processes of their own: Keras models are handled here.


_RESIDUAL_GAMMA = 0.25  # a normalisation that is added to what goes round it: depth must not add up


def ready(
    family: str, width: float | None, weights: Path | None, *, classes: int = CLASSES, size: int = SIZE
) -> Model:
    """A family's model with the weights of a file, or with random ones without a file."""
    model = build(family, width, classes=classes, size=size)
    if weights is None:
        randomise(model)
    elif weights.suffix == ".npz":
        load(model, weights)
    else:
        load_folded(model, weights)
    return model


def load_folded(model: Model, path: Path) -> None:
    """Put the weights of a shipped fp32 .tflite into MobileNet v1.

    The file has each normalisation folded into the convolution before it. Here the normalisations get numbers
    that fold to exactly that file again: their scales are powers of two, so that nothing is rounded. They
    differ between channels and between layers, because the converter merges constants that are equal and
    names them together.
    """
    products = iter(tflite_file.products(path))
    base, head = model.layers
    convolutions = [layer for layer in base.layers if type(layer).__name__ in ("Conv2D", "DepthwiseConv2D")]
    normalisations = [layer for layer in base.layers if type(layer).__name__ == "BatchNormalization"]
    for number, (convolution, normalisation) in enumerate(zip(convolutions, normalisations, strict=True)):
        kernel, bias = next(products)
        channel = np.arange(len(bias))
        gain = np.exp2(number - 13 + channel % 2).astype(np.float32)
        root = np.exp2(number + (channel % 3 == 0)).astype(np.float32)
        by_channel = gain[:, None] if type(convolution).__name__ == "DepthwiseConv2D" else gain
        convolution.set_weights([kernel.transpose(1, 2, 3, 0) / by_channel])
        variance = root**2 - np.float32(normalisation.epsilon)
        normalisation.set_weights([gain * root, 2 * bias, bias / gain, variance])
    kernel, bias = next(products)
    head.set_weights([kernel.T, bias])


def load(model: Model, path: Path) -> None:
    """Put the weights of an .npz file into the model; InputError when they are not this model's."""
    arrays, slots = read_weights(path), _variables(model)
    if missing := sorted(slots.keys() ^ arrays.keys()):
        raise InputError(
            f"{path} holds another model's weights",
            why=f"only one of the two has {missing[0]}",
            fix="name the family and width that the weights are of",
        )
    for name, variable in slots.items():
        if tuple(variable.shape) != arrays[name].shape:
            raise InputError(
                f"{path} holds weights of another size",
                why=f"{name} is {list(arrays[name].shape)}, the model takes {list(variable.shape)}",
                fix="use the same width and number of classes",
            )
        variable.assign(arrays[name])


def weights_of(model: Model) -> Mapping[str, NDArray[np.float32]]:
    """The model's weights by name, float32."""
    return {name: np.asarray(variable.numpy(), np.float32) for name, variable in _variables(model).items()}


def randomise(model: Model) -> None:
    """Draw weights for latency: the same wherever it is done.

    Keras's own initial values shrink from layer to layer where convolutions are depthwise, down to numbers
    that processors handle slowly and half precision not at all; He's normal distribution by the true number
    of inputs keeps activations as large as they come in.
    """
    rng = np.random.default_rng(RANDOM_SEED)
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


# Facts of a .keras file, from the model that Keras builds of it; only in a process of its own.


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

_BRING_CODE = ("TFSMLayer", "TorchModuleWrapper")  # a SavedModel, and a pickle; Lambda is refused by Keras


def require_archive(path: Path) -> None:
    """Malformed where it is no archive, unfolds to more than a model may have, or brings code of its own.

    Before Keras reads it: some layers load other files, which not every version of Keras refuses.

    Weights hardly shrink in an archive (Keras stores them as they are): what unfolds to ten times its size is
    none.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            require_bounded(archive, _MOST_UNFOLDED * path.stat().st_size + MOST_JSON_BYTES)
            if "config.json" in archive.namelist():
                json.loads(archive.read("config.json"), object_hook=_refuse_code)
    except zipfile.BadZipFile as error:
        raise Malformed("it is no archive as Keras writes it") from error
    except TooLarge as error:
        raise Malformed(str(error)) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise Malformed("its description is no JSON") from error


def _refuse_code(entry: dict[str, Any]) -> None:
    name = str(entry.get("class_name")).rpartition(".")[2]
    if name in _BRING_CODE:
        raise Malformed(f"its layer {name} brings code of its own; take it out of the model")


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
    stored: Counter[str] = Counter()
    for variable in model.weights:
        stored[str(variable.dtype)] += prod(int(length) for length in variable.shape)
    inputs, outputs = ([_facts(tensor) for tensor in of or ()] for of in (model.inputs, model.outputs))
    return tally.facts(stored, inputs, outputs)


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

        rows = ScoreRows(batch)
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
            `classes`, `size` and `weights`, a path (None: random ones); for the others `path`.

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
        ready(job["family"], job["depth_multiplier"], weights, classes=job["classes"], size=job["size"]),
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
        refuse_side_effects(Path(path))
        loaded = _loaded(tf, path)
    except InputError:
        raise
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


def _loaded(tf: Any, path: str) -> Any:
    """The SavedModel without its optimiser's variables, which Keras 2 saves and only Keras 2 restores."""
    from tensorflow.python.saved_model.loader_impl import parse_saved_model

    model = parse_saved_model(path)
    nodes = [
        node for meta in model.meta_graphs for node in meta.object_graph_def.nodes if node.slot_variables
    ]
    if not nodes:
        return tf.saved_model.load(path)
    for node in nodes:
        node.ClearField("slot_variables")
    with TemporaryDirectory(prefix="edgebench-") as copy:
        (Path(copy) / "saved_model.pb").write_bytes(model.SerializeToString())
        for name in ("assets", "variables"):
            (Path(copy) / name).symlink_to(Path(path).absolute() / name)
        return tf.saved_model.load(copy)


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


# Facts of a SavedModel, from the graph of its serving signature; only in a process of its own.


_NO_WORK = {"Const", "Identity", "NoOp", "Placeholder"}
# Where the kernel lies among the inputs, and which of its axes are multiplied with the result: TensorFlow has
# [height, width, in, out], and [height, width, in, multiplier] for a depthwise convolution.
_GRAPH_KERNEL_AXES = {
    "Conv2D": slice(0, -1),
    "Conv3D": slice(0, -1),
    "DepthwiseConv2dNative": slice(0, 2),
}
_MATRICES = dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), "adj_x") | {
    "MatMul": "transpose_a"
}
# What multiplies too, or hides a graph of its own; the work of either is not told by shapes alone.
_HIDDEN = re.compile(r"Conv|MatMul|Einsum|While|Call|^If$|StatelessIf|^Case$|Func|RNN|LSTM|Xla|Quantized")


def read_saved_model(path: Path) -> dict[str, Any]:
    """The fields of `ModelFacts`; InputError where TensorFlow cannot load it or it has no signature."""
    network = build_keras({"kind": "saved_model", "path": str(path)})
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    function = network.model.signatures[SIGNATURE]
    tally = Tally()
    for operation in convert_variables_to_constants_v2(function).graph.get_operations():
        _graph_tally(operation, tally)
    inputs = [_graph_facts(tensor.name, tensor) for tensor in network.inputs]
    outputs = [_graph_facts(name, tensor) for name, tensor in network.outputs]
    stored: Counter[str] = Counter()
    for variable in function.variables:
        stored[variable.dtype.name] += prod(int(length) for length in variable.shape)
    facts = tally.facts(stored, inputs, outputs)
    if not stored:
        facts |= {"parameters": None, "parameters_reason": "it keeps no variables: they are in the graph"}
    return facts


def _graph_tally(operation: Any, tally: Tally) -> None:
    name = str(operation.type)[:_NAME]
    if name in _NO_WORK:
        return
    tally.operations[name] += 1
    if name in _GRAPH_KERNEL_AXES:
        left, kernel = operation.inputs[0], operation.inputs[1]
        factors = _shape(kernel)[_GRAPH_KERNEL_AXES[name]]
    elif name in _MATRICES:
        left, kernel = operation.inputs[0], operation.inputs[1]
        inner = -2 if operation.get_attr(_MATRICES[name]) else -1
        factors = (_shape(left) or (None,) * 2)[inner:][:1]
    else:
        if _HIDDEN.search(name):
            tally.hidden(name, "does not tell its work")
        return
    weights = kernel.dtype.name if _is_constant(kernel) else None
    tally.product(name, [_at_batch_1(operation.outputs[0]), factors], weights, left.dtype.name)


def _is_constant(tensor: Any) -> bool:
    operation = tensor.op
    while operation.type == "Identity":
        operation = operation.inputs[0].op
    return bool(operation.type == "Const")


def _at_batch_1(tensor: Any) -> Shape:
    """A result's shape for a batch of one."""
    lengths = _shape(tensor) or (None,)
    return (1 if lengths[0] is None else lengths[0], *lengths[1:])


def _shape(tensor: Any) -> Shape:
    """() where not even the rank is known, as for a number."""
    if tensor.shape.rank is None:
        return ()
    return tuple(None if length is None else int(length) for length in tensor.shape)


def _graph_facts(name: str, tensor: Any) -> TensorFacts:
    return TensorFacts(str(name)[:_NAME], tensor.dtype.name, _shape(tensor))
