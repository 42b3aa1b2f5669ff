"""Changes to an ONNX graph that leave what it computes alone; only for processes of their own.

Every function here changes the `onnx.ModelProto` that it is given.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import InputError, UnsupportedError
from edgebench.prepare.families import INT8_SCALE, INT8_ZERO_POINT

Proto = Any
"""An `onnx.ModelProto`; not named, because importing onnx takes a tenth of a second."""

TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)
_OWN_DOMAIN = ("", "ai.onnx")


def correct(model: Proto) -> None:
    """Write as ONNX's own tools take it what only runtimes take.

    A length of -1 is an open axis. Before IR 4 every initialiser is also an input: a file where one is not is
    IR 4, and its initialisers stay constants.
    """
    graph = model.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_value < 0:
                dimension.Clear()
    weights = {tensor.name for tensor in graph.initializer}
    if model.ir_version < 4 and weights - {tensor.name for tensor in graph.input}:
        model.ir_version = 4
        for tensor in [tensor for tensor in graph.input if tensor.name in weights]:
            graph.input.remove(tensor)


def tensors_of(message: Proto) -> Iterator[Any]:
    """Every tensor in a model: initialisers, sparse ones, attributes, those of inner graphs and functions."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in (value,) if hasattr(value, "ListFields") else value:
                yield from (part,) if field.message_type.name == "TensorProto" else tensors_of(part)


def inputs_of(model: Proto) -> list[Any]:
    """The inputs that are no weights."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [tensor for tensor in model.graph.input if tensor.name not in weights]


def order_inputs(model: Proto, names: Sequence[str]) -> None:
    """Have the inputs in that order; UnsupportedError where there are others, or one is missing."""
    by_name = {str(tensor.name): tensor for tensor in model.graph.input}
    if sorted(by_name) != sorted(names):
        raise UnsupportedError(
            f"as ONNX the model takes {', '.join(by_name) or 'nothing'}, and {', '.join(names)} was due",
            why="an input that nothing depends on is dropped, and what no constant can hold is added",
            fix="save it without inputs that it does not use",
        )
    ordered = []
    for name in names:
        tensor = type(by_name[name])()
        tensor.CopyFrom(by_name[name])
        ordered.append(tensor)
    del model.graph.input[:]
    model.graph.input.extend(ordered)


def make_static(model: Proto, shapes: Sequence[Sequence[int]]) -> bool:
    """Give the inputs these shapes; whether that changed anything.

    UnsupportedError where the file fixes others.
    """
    import onnx

    inputs = inputs_of(model)
    if len(inputs) != len(shapes):
        raise UnsupportedError(f"the model has {len(inputs)} inputs, not {len(shapes)}")
    changed = False
    for tensor, shape in zip(inputs, shapes, strict=True):
        dimensions = tensor.type.tensor_type.shape.dim
        known = [int(side.dim_value) if side.HasField("dim_value") else None for side in dimensions]
        if known == list(shape):
            continue
        changed = True
        if len(known) != len(shape) or any(
            have not in (None, want) for have, want in zip(known, shape, strict=True)
        ):
            text = ", ".join("?" if side is None else str(side) for side in known)
            raise UnsupportedError(
                f"the model's input {tensor.name} is [{text}], not [{', '.join(map(str, shape))}]",
                why="the file fixes its shape",
                fix="ask for its own batch and size, or export it with an open batch",
            )
        for dimension, side in zip(dimensions, shape, strict=True):
            dimension.Clear()
            dimension.dim_value = side
    if changed:
        # What was inferred before may say otherwise.
        del model.graph.value_info[:]
        for output in model.graph.output:
            if output.type.HasField("tensor_type"):
                output.type.tensor_type.ClearField("shape")
        model.CopyFrom(onnx.shape_inference.infer_shapes(model, data_prop=True))
    return changed


def batch_refusal(model: Proto, batch: int, what: str) -> UnsupportedError | None:
    """Refusal of a batch that a Reshape of activations excludes; None where no Reshape fixes another."""
    import onnx

    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    constants |= {
        node.output[0]: attribute.t
        for node in model.graph.node
        for attribute in node.attribute
        if node.op_type == "Constant" and attribute.name == "value"
    }
    for node in model.graph.node:
        if node.op_type != "Reshape" or node.input[0] in constants or node.input[1] not in constants:
            continue
        shape = [int(side) for side in onnx.numpy_helper.to_array(constants[node.input[1]])]
        if shape and 0 < shape[0] != batch:
            return UnsupportedError(
                f"{what} cannot be run at a batch of {batch}",
                why=f"its Reshape {node.name or node.output[0]!r} to {shape} fixes a batch of {shape[0]}",
                fix=f"use --batch {shape[0]}, or export it with an open batch (-1 or 0 in that shape)",
            )
    return None


def with_layout(model: Proto, have: str, want: str) -> None:
    """Take the other layout at the input, and transpose it there."""
    import onnx

    if have == want:
        return
    (tensor,) = inputs_of(model)
    outer, inner = tensor.name, f"{tensor.name}_{have}"
    for node in model.graph.node:
        for at, name in enumerate(node.input):
            if name == outer:
                node.input[at] = inner
    order = TO_NHWC if have == "NHWC" else TO_NCHW
    sides = [side.dim_value for side in tensor.type.tensor_type.shape.dim]
    back = TO_NCHW if have == "NHWC" else TO_NHWC
    for dimension, source in zip(tensor.type.tensor_type.shape.dim, back, strict=True):
        dimension.dim_value = sides[source]
    node = onnx.helper.make_node("Transpose", [outer], [inner], name=f"to_{have}", perm=order)
    model.graph.node.insert(0, node)


def rename_output(model: Proto, name: str) -> None:
    """Call the first output so: exporters leave names with colons, which some tools cannot take."""
    old = model.graph.output[0].name
    if old == name or any(name in (*node.input, *node.output) for node in model.graph.node):
        return
    for node in model.graph.node:
        for names in (node.input, node.output):
            for at, value in enumerate(names):
                if value == old:
                    names[at] = name
    model.graph.output[0].name = name


def give_constants(model: Proto, constants: Mapping[str, NDArray[Any]]) -> None:
    """Make weights of the inputs that have these names."""
    from onnx import numpy_helper

    for tensor in [tensor for tensor in model.graph.input if tensor.name in constants]:
        model.graph.initializer.append(numpy_helper.from_array(constants[tensor.name], tensor.name))
        model.graph.input.remove(tensor)


def keep_used_domains(model: Proto) -> None:
    """Drop the operator sets that no operation is from: ONNX Runtime writes all that it knows."""
    used = {node.domain or "" for node in model.graph.node}
    used |= {node.domain or "" for function in model.functions for node in function.node}
    imports = [opset for opset in model.opset_import if opset.domain in used or opset.domain in _OWN_DOMAIN]
    del model.opset_import[:]
    model.opset_import.extend(imports)


def names_to_exclude(model: Proto, exclude: Sequence[str]) -> list[str]:
    """The names of the operations that are meant, by their kind or by their own name."""
    wanted = set(exclude)
    names = [node.name for node in model.graph.node if {node.op_type, node.name} & wanted]
    kinds = {node.op_type for node in model.graph.node} | {node.name for node in model.graph.node}
    if unknown := sorted(wanted - kinds):
        raise InputError(
            f"there is no operation {unknown[0]!r} to leave out of int8",
            fix=f"kinds in this model: {', '.join(sorted({node.op_type for node in model.graph.node}))}",
        )
    return names


def name_all(model: Proto) -> None:
    """Give every operation a name, by which it can be left out of int8."""
    names = {node.name for node in model.graph.node}
    for index, node in enumerate(model.graph.node):
        if not node.name:
            name = f"{node.op_type}_{index}"
            while name in names:
                name += "_"
            node.name = name
            names.add(name)


def name_by_order(model: Proto) -> None:
    """Name operations, values and weights by their place, and sort the weights.

    Converters count up from one model to the next: without this a file would depend on what was made
    before it. A graph with graphs inside it (`If`, `Loop`) is left as it is.
    """
    import onnx

    graphs = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
    if any(field.type in graphs for node in model.graph.node for field in node.attribute):
        return
    outer = {tensor.name for tensor in (*inputs_of(model), *model.graph.output)}
    new: dict[str, str] = {"": ""}
    for index, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{index}"
        for place, name in enumerate(node.input):
            new.setdefault(name, name if name in outer else f"{node.name}_input_{place}")
        for place, name in enumerate(node.output):
            new.setdefault(name, name if name in outer else f"{node.name}_output_{place}")
        node.input[:] = [new[name] for name in node.input]
        node.output[:] = [new[name] for name in node.output]
    weights = [tensor for tensor in model.graph.initializer if tensor.name in new]
    for tensor in weights:
        tensor.name = new[tensor.name]
    order = {name: index for index, name in enumerate(new.values())}
    serialised = [
        tensor.SerializeToString() for tensor in sorted(weights, key=lambda tensor: order[tensor.name])
    ]
    del model.graph.initializer[:]
    for data in serialised:
        model.graph.initializer.add().ParseFromString(data)
    del model.graph.value_info[:]
    model.doc_string = model.graph.doc_string = ""  # the converter counts there, too


# The input of an int8 graph as integers: its first QuantizeLinear becomes the caller's preprocessing.
#
# Only for processes of their own.


PUBLISHED_ZERO_POINTS = {"int8": INT8_ZERO_POINT, "uint8": INT8_ZERO_POINT + 128}
"""For an input in -1..1: what TFLite takes, so that preprocessing is the pixel, or the pixel less 128."""


def integer_input(model: Proto) -> dict[str, Any] | None:
    """Let the graph take integers; None, with nothing changed, where its input is not quantised first.

    Returns:
        `dtype`, `scale` and `zero_point` of the input, as `InputSpec` has them.
    """
    import onnx
    from onnx import numpy_helper

    (graph_input,) = inputs_of(model)
    chain, quantise = _to_quantisation(model, graph_input.name)
    if quantise is None:
        return None
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    try:
        scale = float(numpy_helper.to_array(constants[quantise.input[1]]))
        stored_zero_point = numpy_helper.to_array(constants[quantise.input[2]])
    except (IndexError, KeyError, TypeError):
        return None
    dtype, zero_point = stored_zero_point.dtype.name, int(stored_zero_point)
    due = PUBLISHED_ZERO_POINTS.get(dtype)
    if due is not None and abs(scale / INT8_SCALE - 1) < 1e-4 and abs(zero_point - due) <= 1:
        # The middle of 0..255 lies between two integers; both may stand for it, and one is the convention.
        scale, zero_point = INT8_SCALE, due
        for name in _same_values(model, quantise):
            for suffix, value in (
                ("_scale", np.float32(scale)),
                ("_zero_point", stored_zero_point.dtype.type(due)),
            ):
                if (tensor := constants.get(name + suffix)) is not None and not tensor.dims:
                    tensor.CopyFrom(numpy_helper.from_array(np.asarray(value), tensor.name))
    _remove(model, chain, quantise)
    graph_input.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(stored_zero_point.dtype)
    return {"dtype": dtype, "scale": scale, "zero_point": zero_point}


def _to_quantisation(model: Proto, name: str) -> tuple[list[Any], Any]:
    """The Transposes between the input and its QuantizeLinear, and that one, if any."""
    chain: list[Any] = []
    while True:
        users = [node for node in model.graph.node if name in node.input]
        if len(users) != 1:
            return chain, None
        if users[0].op_type == "QuantizeLinear":
            return chain, users[0]
        if users[0].op_type != "Transpose":
            return chain, None
        chain.append(users[0])
        name = users[0].output[0]


def _same_values(model: Proto, quantise: Any) -> list[str]:
    """The tensor that is quantised, and those that are it in another order: they share its scale."""
    names = [str(quantise.input[0])]
    name, users = str(quantise.output[0]), list(model.graph.node)
    while True:
        consumers = [node for node in users if name in node.input]
        if len(consumers) != 1 or consumers[0].op_type not in {
            "DequantizeLinear",
            "Transpose",
            "QuantizeLinear",
        }:
            return names
        if consumers[0].op_type == "Transpose":
            names.append(str(consumers[0].output[0]))
        name = str(consumers[0].output[0])


def _remove(model: Proto, chain: list[Any], quantise: Any) -> None:
    start, end = str(quantise.input[0]), str(quantise.output[0])
    for node in model.graph.node:
        for at, value in enumerate(node.input):
            if value == end:
                node.input[at] = start
    model.graph.node.remove(quantise)
    stale = {str(node.output[0]) for node in chain}
    values = [value for value in model.graph.value_info if value.name not in stale]
    del model.graph.value_info[:]
    model.graph.value_info.extend(values)


# A user's .onnx as the beginning of the chain: static, in the layout that is wanted, else as it is.
#
# Only for processes of their own.


MOST_BYTES = 2_000_000_000  # of a protobuf


def make_ready(
    model: Proto,
    source: Path,
    output: Path,
    shapes: Sequence[Sequence[int]],
    layout: tuple[str, str] | None,
) -> bool:
    """Write the file to begin from; whether its graph was changed: with nothing to change it keeps its bytes.

    Args:
        model: what `read` gave; it is changed.
        source: the user's file.
        output: a new file, with all weights in it.
        shapes: of the inputs, the batch included, in the layout that it has.
        layout: the layout that it has and the one that is wanted; None for inputs that are no picture.

    Raises:
        UnsupportedError: it fixes another batch or size.
    """
    import onnx

    changed = make_static(model, shapes)
    if layout is not None and layout[0] != layout[1]:
        with_layout(model, *layout)
        changed = True
    if changed or _is_rewritten(source, model):
        onnx.save(model, output)
    else:
        shutil.copyfile(source, output)
    return changed


def read(path: Path) -> Proto:
    """The model with all its weights; InputError when it cannot be had."""
    import onnx

    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"{path} is larger than 2 GB", fix="give a smaller model")
    try:
        model = onnx.load(path)
        correct(model)
        size = model.ByteSize()
        if size <= MOST_BYTES:
            onnx.checker.check_model(model)
    except Exception as error:  # onnx and protobuf raise many kinds
        raise InputError(
            f"{path} cannot be read as ONNX",
            why=" ".join((str(error) or type(error).__name__).split())[:500],
            fix="export it again; files with its weights have to be in the same folder",
        ) from error
    if size > MOST_BYTES:
        raise InputError(f"{path} is larger than 2 GB with its weights", fix="give a smaller model")
    return model


def _is_rewritten(source: Path, model: Proto) -> bool:
    """Whether a file is not what `read` gave: of an older IR, or with weights in other files."""
    import onnx

    stored = onnx.load(source, load_external_data=False)
    return stored.ir_version != model.ir_version or any(
        onnx.external_data_helper.uses_external_data(tensor) for tensor in tensors_of(stored)
    )
