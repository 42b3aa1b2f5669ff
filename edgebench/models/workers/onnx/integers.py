"""The input of an int8 graph as integers: its first QuantizeLinear becomes the caller's preprocessing.

Only for processes of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from edgebench.models.families.catalogue import INT8_SCALE, INT8_ZERO_POINT
from edgebench.models.workers.onnx.graph import Proto, inputs_of

PUBLISHED_ZERO_POINTS = {"int8": INT8_ZERO_POINT, "uint8": INT8_ZERO_POINT + 128}
"""Of an input in -1..1: what TFLite takes, so that preprocessing is the pixel, or the pixel less 128."""


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
    """The Transposes between the input and its QuantizeLinear, and that one or None."""
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
