"""Changes to an ONNX graph that leave what it computes alone; only for processes of their own.

Every function here changes the `onnx.ModelProto` that it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from edgebench.errors import InputError, UnsupportedError

Proto = Any
"""An `onnx.ModelProto`; not named, because importing onnx takes a tenth of a second."""

TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)
_OWN_DOMAIN = ("", "ai.onnx")


def inputs_of(model: Proto) -> list[Any]:
    """The inputs that are no weights."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [one for one in model.graph.input if one.name not in weights]


def order_inputs(model: Proto, names: Sequence[str]) -> None:
    """Have the inputs in that order; UnsupportedError where there are others, or one is missing."""
    by_name = {str(one.name): one for one in model.graph.input}
    if sorted(by_name) != sorted(names):
        raise UnsupportedError(
            f"as ONNX the model takes {', '.join(by_name) or 'nothing'}, and {', '.join(names)} was due",
            why="an input that nothing depends on is dropped, and what no constant can hold is added",
            fix="save it without inputs that it does not use",
        )
    kept = []
    for name in names:
        one = type(by_name[name])()
        one.CopyFrom(by_name[name])
        kept.append(one)
    del model.graph.input[:]
    model.graph.input.extend(kept)


def make_static(model: Proto, shapes: Sequence[Sequence[int]]) -> bool:
    """Give the inputs these shapes; whether that changed anything.

    UnsupportedError where the file fixes others.
    """
    import onnx

    inputs = inputs_of(model)
    if len(inputs) != len(shapes):
        raise UnsupportedError(f"the model has {len(inputs)} inputs, not {len(shapes)}")
    changed = False
    for one, shape in zip(inputs, shapes, strict=True):
        dimensions = one.type.tensor_type.shape.dim
        known = [int(side.dim_value) if side.HasField("dim_value") else None for side in dimensions]
        if known == list(shape):
            continue
        changed = True
        if len(known) != len(shape) or any(
            have not in (None, want) for have, want in zip(known, shape, strict=True)
        ):
            text = ", ".join("?" if side is None else str(side) for side in known)
            raise UnsupportedError(
                f"the model's input {one.name} is [{text}], not [{', '.join(map(str, shape))}]",
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


def with_layout(model: Proto, have: str, want: str) -> None:
    """Take the other layout at the input, and transpose it there."""
    import onnx

    if have == want:
        return
    (taken,) = inputs_of(model)
    outer, inner = taken.name, f"{taken.name}_{have}"
    for node in model.graph.node:
        for at, name in enumerate(node.input):
            if name == outer:
                node.input[at] = inner
    order = TO_NHWC if have == "NHWC" else TO_NCHW
    sides = [one.dim_value for one in taken.type.tensor_type.shape.dim]
    back = TO_NCHW if have == "NHWC" else TO_NHWC
    for dimension, source in zip(taken.type.tensor_type.shape.dim, back, strict=True):
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
            for at, one in enumerate(names):
                if one == old:
                    names[at] = name
    model.graph.output[0].name = name


def give_constants(model: Proto, constants: Mapping[str, NDArray[Any]]) -> None:
    """Make weights of the inputs that have these names."""
    from onnx import numpy_helper

    for one in [one for one in model.graph.input if one.name in constants]:
        model.graph.initializer.append(numpy_helper.from_array(constants[one.name], one.name))
        model.graph.input.remove(one)


def keep_used_domains(model: Proto) -> None:
    """Drop the operator sets that no operation is from: ONNX Runtime writes all that it knows."""
    used = {node.domain or "" for node in model.graph.node}
    used |= {node.domain or "" for function in model.functions for node in function.node}
    kept = [one for one in model.opset_import if one.domain in used or one.domain in _OWN_DOMAIN]
    del model.opset_import[:]
    model.opset_import.extend(kept)


def names_to_exclude(model: Proto, exclude: Sequence[str]) -> list[str]:
    """The names of the operations that are meant, by their kind or by their own name."""
    wanted = set(exclude)
    found = [node.name for node in model.graph.node if {node.op_type, node.name} & wanted]
    kinds = {node.op_type for node in model.graph.node} | {node.name for node in model.graph.node}
    if unknown := sorted(wanted - kinds):
        raise InputError(
            f"there is no operation {unknown[0]!r} to leave out of int8",
            fix=f"kinds in this model: {', '.join(sorted({node.op_type for node in model.graph.node}))}",
        )
    return found


def name_all(model: Proto) -> None:
    """Give every operation a name, by which it can be left out of int8."""
    taken = {node.name for node in model.graph.node}
    for index, node in enumerate(model.graph.node):
        if not node.name:
            name = f"{node.op_type}_{index}"
            while name in taken:
                name += "_"
            node.name = name
            taken.add(name)


def name_by_order(model: Proto) -> None:
    """Name operations, values and weights by their place, and sort the weights.

    Converters count up from one model to the next: without this a file would depend on what was made
    before it. A graph with graphs inside it (`If`, `Loop`) is left as it is.
    """
    import onnx

    graphs = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
    if any(field.type in graphs for node in model.graph.node for field in node.attribute):
        return
    outer = {one.name for one in (*inputs_of(model), *model.graph.output)}
    new: dict[str, str] = {"": ""}
    for index, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{index}"
        for place, name in enumerate(node.input):
            new.setdefault(name, name if name in outer else f"{node.name}_input_{place}")
        for place, name in enumerate(node.output):
            new.setdefault(name, name if name in outer else f"{node.name}_output_{place}")
        node.input[:] = [new[name] for name in node.input]
        node.output[:] = [new[name] for name in node.output]
    weights = [one for one in model.graph.initializer if one.name in new]
    for one in weights:
        one.name = new[one.name]
    order = {name: index for index, name in enumerate(new.values())}
    held = [one.SerializeToString() for one in sorted(weights, key=lambda one: order[one.name])]
    del model.graph.initializer[:]
    for data in held:
        model.graph.initializer.add().ParseFromString(data)
    del model.graph.value_info[:]
    model.doc_string = model.graph.doc_string = ""  # the converter counts there, too
