"""The operations of the project's ONNX files in numpy, for boards that have no other runtime.

Sums are taken in float32; what an operation gives has the dtype of its input, so that half precision rounds
between operations.
"""

from typing import Any, Dict

import numpy as np


class NotSupported(Exception):
    """An operation, or a setting of one, that is not computed here."""


class Interpreter:
    """Runs a Graph: `run({name: array})` gives the outputs in the graph's order."""

    def __init__(self, graph):
        unknown = sorted({node.op for node in graph.nodes} - set(_OPERATIONS))
        if unknown:
            raise NotSupported(", ".join(unknown))
        self._graph = graph
        self._last_use = {}
        for index, node in enumerate(graph.nodes):
            for name in node.inputs:
                self._last_use[name] = index

    def run(self, inputs, watch=None):
        """The outputs; `watch(name, array)` sees every tensor on its way."""
        values = dict(self._graph.weights)
        values.update(inputs)
        results = {value.name for value in self._graph.outputs}
        if watch is not None:
            for name, array in inputs.items():
                watch(name, array)
        for index, node in enumerate(self._graph.nodes):
            arguments = [values[name] if name else None for name in node.inputs]
            array = _OPERATIONS[node.op](node.attributes, *arguments)
            values[node.outputs[0]] = array
            if watch is not None:
                watch(node.outputs[0], array)
            for name in node.inputs:
                if self._last_use.get(name) == index and name not in results:
                    values.pop(name, None)
        return [values[value.name] for value in self._graph.outputs]


def _like(array, result):
    return result.astype(array.dtype, copy=False)


def _wide(array):
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _pads(attributes, image, kernel, strides):
    """(top, left, bottom, right)."""
    how = attributes.get("auto_pad", "NOTSET")
    if how == "NOTSET":
        return attributes.get("pads", [0, 0, 0, 0])
    if how == "VALID":
        return [0, 0, 0, 0]
    before, after = [], []
    for size, width, stride in zip(image, kernel, strides):
        total = max((-(-size // stride) - 1) * stride + width - size, 0)
        less = total // 2
        before.append(less if how == "SAME_UPPER" else total - less)
        after.append(total - before[-1])
    return before + after


def _convolution(attributes, data, weights, bias=None):
    count, channels, height, width = data.shape
    outs, _, rows, columns = weights.shape
    if any(step != 1 for step in attributes.get("dilations", [1, 1])):
        raise NotSupported("a dilated convolution")
    down, across = attributes.get("strides", [1, 1])
    top, left, bottom, right = _pads(attributes, (height, width), (rows, columns), (down, across))
    groups = attributes.get("group", 1)
    padded = np.pad(_wide(data), ((0, 0), (0, 0), (top, bottom), (left, right)), "constant")
    high = (padded.shape[2] - rows) // down + 1
    wide = (padded.shape[3] - columns) // across + 1
    weights = _wide(weights)
    result = np.zeros((count, outs, high, wide), np.float32)
    for row in range(rows):
        for column in range(columns):
            window = padded[:, :, row : row + high * down : down, column : column + wide * across : across]
            tap = weights[:, :, row, column]
            if groups == channels and outs == channels:
                result += window * tap.reshape(1, -1, 1, 1)
                continue
            if groups != 1:
                raise NotSupported("a convolution of {} groups".format(groups))
            flat = np.ascontiguousarray(window).reshape(count, channels, high * wide)
            result += np.matmul(tap, flat).reshape(result.shape)
    if bias is not None:
        result += _wide(bias).reshape(1, -1, 1, 1)
    return _like(data, result)


def _clip(attributes, data, least=None, most=None):
    least = attributes.get("min", -np.inf) if least is None else least
    most = attributes.get("max", np.inf) if most is None else most
    return _like(data, np.minimum(np.maximum(data, least), most))


def _gemm(attributes, a, b, c=None):
    left, right = _wide(a), _wide(b)
    left = left.T if attributes.get("transA") else left
    right = right.T if attributes.get("transB") else right
    result = np.float32(attributes.get("alpha", 1.0)) * np.matmul(left, right)
    if c is not None:
        result = result + np.float32(attributes.get("beta", 1.0)) * _wide(c)
    return _like(a, result)


def _softmax(attributes, data):
    axis = attributes.get("axis", -1)
    powers = np.exp(_wide(data) - _wide(data).max(axis=axis, keepdims=True))
    return _like(data, powers / powers.sum(axis=axis, keepdims=True))


def _reduce_mean(attributes, data, axes=None):
    chosen = attributes.get("axes") if axes is None else [int(axis) for axis in axes]
    keep = bool(attributes.get("keepdims", 1))
    return _like(data, _wide(data).mean(axis=tuple(chosen) if chosen else None, keepdims=keep))


def _squeeze(attributes, data, axes=None):
    chosen = attributes.get("axes") if axes is None else [int(axis) for axis in np.ravel(axes)]
    return np.squeeze(data, axis=tuple(chosen) if chosen else None)


def _reshape(attributes, data, shape):
    sizes = [data.shape[i] if size == 0 else int(size) for i, size in enumerate(shape)]
    return data.reshape(sizes)


def _flatten(attributes, data):
    axis = attributes.get("axis", 1)
    return data.reshape(int(np.prod(data.shape[:axis])), -1)


_CASTS = {1: np.float32, 6: np.int32, 7: np.int64, 10: np.float16}


def _along(axis, rank, scale):
    """A scale an output channel, so that it broadcasts."""
    scale = np.asarray(scale)
    if scale.size == 1:
        return scale.reshape(())
    shape = [1] * rank
    shape[axis] = -1
    return scale.reshape(shape)


def _quantize(attributes, data, scale, zero=None):
    axis = attributes.get("axis", 1)
    dtype = np.int8 if zero is None else zero.dtype
    shift = 0 if zero is None else _along(axis, data.ndim, zero).astype(np.int32)
    steps = np.rint(_wide(data) / _wide(_along(axis, data.ndim, scale))) + shift
    limits = np.iinfo(dtype)
    return np.clip(steps, limits.min, limits.max).astype(dtype)


def _dequantize(attributes, data, scale, zero=None):
    axis = attributes.get("axis", 1)
    shift = 0 if zero is None else _along(axis, data.ndim, zero).astype(np.int32)
    return (data.astype(np.int32) - shift).astype(np.float32) * _along(axis, data.ndim, scale)


_OPERATIONS: Dict[str, Any] = {
    "Add": lambda attributes, a, b: _like(a, a + b),
    "Abs": lambda attributes, a: np.abs(a),
    "Cast": lambda attributes, a: a.astype(_CASTS[attributes["to"]]),
    "Clip": _clip,
    "Conv": _convolution,
    "DequantizeLinear": _dequantize,
    "Flatten": _flatten,
    "Gemm": _gemm,
    "GlobalAveragePool": lambda attributes, a: _like(a, _wide(a).mean(axis=(2, 3), keepdims=True)),
    "Identity": lambda attributes, a: a,
    "MatMul": lambda attributes, a, b: _like(a, np.matmul(_wide(a), _wide(b))),
    "Mul": lambda attributes, a, b: _like(a, a * b),
    "QuantizeLinear": _quantize,
    "ReduceMean": _reduce_mean,
    "Relu": lambda attributes, a: np.maximum(a, a.dtype.type(0)),
    "Reshape": _reshape,
    "Softmax": _softmax,
    "Squeeze": _squeeze,
    "Sub": lambda attributes, a, b: _like(a, a - b),
    "Transpose": lambda attributes, a: np.transpose(a, attributes.get("perm")),
}
SUPPORTED = frozenset(_OPERATIONS)
