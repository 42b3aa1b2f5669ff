"""Facts of a SavedModel, from the graph of its serving signature; only in a process of its own."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict
from math import prod
from pathlib import Path
from typing import Any

from edgebench.models.inspect.macs import Tally
from edgebench.models.workers.keras_source import SIGNATURE, build_keras
from edgebench.vocabulary.model_facts import Shape, TensorFacts

_NAME = 200
_NO_WORK = {"Const", "Identity", "NoOp", "Placeholder"}
# Where the kernel lies among the inputs, and which of its axes are multiplied with the result: TensorFlow has
# [height, width, in, out], and [height, width, in, multiplier] for a depthwise convolution.
_KERNEL_AXES = {"Conv2D": slice(0, -1), "Conv3D": slice(0, -1), "DepthwiseConv2dNative": slice(0, 2)}
_MATRICES = dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), "adj_x") | {
    "MatMul": "transpose_a"
}
# What multiplies too, or hides a graph of its own; the work of either is not told by shapes alone.
_HIDDEN = re.compile(r"Conv|MatMul|Einsum|While|Call|^If$|StatelessIf|^Case$|Func|RNN|LSTM|Xla|Quantized")


def read(path: Path) -> dict[str, Any]:
    """The fields of `ModelFacts`; InputError where TensorFlow cannot load it or it has no signature."""
    network = build_keras({"kind": "saved_model", "path": str(path)})
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    function = network.model.signatures[SIGNATURE]
    tally = Tally()
    for operation in convert_variables_to_constants_v2(function).graph.get_operations():
        _tally(operation, tally)
    inputs = [_facts(tensor.name, tensor) for tensor in network.inputs]
    if any(length is None for tensor in inputs for length in tensor.shape[1:]):
        tally.hidden("an input", "has no fixed shape")
    stored: Counter[str] = Counter()
    for variable in function.variables:
        stored[variable.dtype.name] += prod(int(length) for length in variable.shape)
    facts = tally.facts(sum(stored.values()), stored, [tensor.dtype for tensor in inputs])
    if not stored:
        facts |= {"parameters": None, "parameters_reason": "it keeps no variables: they are in the graph"}
    return {
        "inputs": [asdict(tensor) for tensor in inputs],
        "outputs": [asdict(_facts(name, tensor)) for name, tensor in network.outputs],
        **facts,
    }


def _tally(operation: Any, tally: Tally) -> None:
    name = str(operation.type)[:_NAME]
    if name in _NO_WORK:
        return
    tally.operations[name] += 1
    if name in _KERNEL_AXES:
        left, kernel = operation.inputs[0], operation.inputs[1]
        factors = _shape(kernel)[_KERNEL_AXES[name]]
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


def _facts(name: str, tensor: Any) -> TensorFacts:
    return TensorFacts(str(name)[:_NAME], tensor.dtype.name, _shape(tensor))
