"""ONNX files read and written without the package `onnx`: what Python 3.6 on a board does not have.

Field numbers: onnx.proto (ModelProto, GraphProto, NodeProto, AttributeProto, TensorProto, ValueInfoProto).
"""

import struct
from typing import Any, Dict, List

import numpy as np

TYPES: Dict[int, Any] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.uint8),
    3: np.dtype(np.int8),
    6: np.dtype(np.int32),
    7: np.dtype(np.int64),
    9: np.dtype(np.bool_),
    10: np.dtype(np.float16),
    11: np.dtype(np.float64),
}
NUMBERS = {dtype: number for number, dtype in TYPES.items()}
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class BadFile(Exception):
    """What was read is no ONNX file, or has something that is not read here."""


class Node:
    """An operation: its kind, its name, the names of its tensors, and its attributes."""

    def __init__(self, op, name, inputs, outputs, attributes=None):
        self.op = op
        self.name = name
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.attributes = dict(attributes or {})


class Value:
    """A tensor that goes in or comes out: name, dtype, and shape (None for an axis that is left open)."""

    def __init__(self, name, dtype, shape):
        self.name = name
        self.dtype = np.dtype(dtype)
        self.shape = tuple(shape)


class Graph:
    """A model: nodes in their order, weights by name, inputs and outputs."""

    def __init__(self, nodes, weights, inputs, outputs, opset, ir_version):
        self.nodes = nodes
        self.weights = weights
        self.inputs = inputs
        self.outputs = outputs
        self.opset = opset
        self.ir_version = ir_version


def read(data):
    """A Graph from the bytes of a file; BadFile where they are none."""
    try:
        model = _fields(bytes(data))
        graph = _fields(_last(model, 7))
        opsets = [_fields(value) for value in model.get(8, [])]
        opset = max([_last(each, 2) for each in opsets if not _text(each, 1)] or [0])
        weights = dict(_tensor(value) for value in graph.get(5, []))
        return Graph(
            [_node(value) for value in graph.get(1, [])],
            weights,
            [value for value in map(_value, graph.get(11, [])) if value.name not in weights],
            [_value(value) for value in graph.get(12, [])],
            opset,
            _last(model, 1),
        )
    except (KeyError, IndexError, ValueError, struct.error, TypeError) as error:
        raise BadFile("{}: {}".format(type(error).__name__, error)) from error


def write(graph, watched=()):
    """The bytes of a file with a Graph; the tensors `watched`, float32, are outputs too."""
    content = b"".join(
        [_block(1, _node_bytes(node)) for node in graph.nodes]
        + [_block(2, b"graph")]
        + [_block(5, _tensor_bytes(name, array)) for name, array in graph.weights.items()]
        + [_block(11, _value_bytes(value)) for value in graph.inputs]
        + [_block(12, _value_bytes(value)) for value in graph.outputs]
        + [_block(12, _block(1, name) + _block(2, _block(1, _number(1, 1)))) for name in watched]
    )
    return _number(1, graph.ir_version) + _block(7, content) + _block(8, _number(2, graph.opset))


def _fields(data):
    fields: Dict[int, List[Any]] = {}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
        elif kind == _BYTES:
            size, at = _varint(data, at)
            value = data[at : at + size]
            if len(value) != size:
                raise ValueError("the file ends within a field")
            at += size
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
            value = data[at : at + size]
            at += size
        else:
            raise ValueError("wire type {}".format(kind))
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _last(fields, number):
    return fields[number][-1]


def _text(fields, number):
    return fields[number][-1].decode("utf-8") if number in fields else ""


def _integers(values):
    """Of a repeated field, packed or not."""
    numbers = []
    for value in values:
        if isinstance(value, int):
            numbers.append(_signed(value))
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            numbers.append(_signed(number))
    return numbers


def _floats(values):
    return [number for value in values for number in struct.unpack("<{}f".format(len(value) // 4), value)]


def _node(data):
    fields = _fields(data)
    names = {number: [value.decode("utf-8") for value in fields.get(number, [])] for number in (1, 2)}
    attributes = dict(_attribute(value) for value in fields.get(5, []))
    return Node(_text(fields, 4), _text(fields, 3), names[1], names[2], attributes)


def _attribute(data):
    fields = _fields(data)
    kind = _last(fields, 20)
    if kind == 1:
        value = struct.unpack("<f", _last(fields, 2))[0]
    elif kind == 2:
        value = _signed(_last(fields, 3))
    elif kind == 3:
        value = _text(fields, 4)
    elif kind == 4:
        value = _tensor(_last(fields, 5))[1]
    elif kind == 6:
        value = _floats(fields.get(7, []))
    elif kind == 7:
        value = _integers(fields.get(8, []))
    else:
        raise ValueError("an attribute of type {}".format(kind))
    return _text(fields, 1), value


def _tensor(data):
    fields = _fields(data)
    dtype = TYPES[_last(fields, 2)]
    shape = _integers(fields.get(1, []))
    if 9 in fields:
        array = np.frombuffer(_last(fields, 9), dtype.newbyteorder("<")).astype(dtype)
    elif 4 in fields:
        array = np.array(_floats(fields[4]), dtype)
    elif 5 in fields and dtype == np.float16:
        array = np.array(_integers(fields[5]), np.uint16).view(np.float16)
    else:
        array = np.array(_integers(fields.get(5, fields.get(7, []))), dtype)
    return _text(fields, 8), array.reshape(shape)


def _value(data):
    fields = _fields(data)
    tensor = _fields(_last(_fields(_last(fields, 2)), 1))
    dims = [_fields(value) for value in _fields(_last(tensor, 2)).get(1, [])]
    return Value(
        _text(fields, 1), TYPES[_last(tensor, 1)], [_signed(dim[1][-1]) if 1 in dim else None for dim in dims]
    )


def _varint_bytes(value):
    value &= (1 << 64) - 1
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
    return bytes(data)


def _number(field, value):
    return _varint_bytes(field << 3) + _varint_bytes(int(value))


def _block(field, data):
    if isinstance(data, str):
        data = data.encode("utf-8")
    return _varint_bytes(field << 3 | _BYTES) + _varint_bytes(len(data)) + data


def _node_bytes(node):
    data = b"".join([_block(1, name) for name in node.inputs] + [_block(2, name) for name in node.outputs])
    data += _block(3, node.name) + _block(4, node.op)
    return data + b"".join(
        _block(5, _attribute_bytes(name, value)) for name, value in node.attributes.items()
    )


def _attribute_bytes(name, value):
    data = _block(1, name)
    if isinstance(value, float):
        return data + _varint_bytes(2 << 3 | _FIXED32) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, int):
        return data + _number(3, value) + _number(20, 2)
    if isinstance(value, str):
        return data + _block(4, value) + _number(20, 3)
    if isinstance(value, np.ndarray):
        return data + _block(5, _tensor_bytes("", value)) + _number(20, 4)
    if value and isinstance(value[0], float):
        packed = struct.pack("<{}f".format(len(value)), *value)
        return data + _block(7, packed) + _number(20, 6)
    return data + b"".join(_number(8, each) for each in value) + _number(20, 7)


def _tensor_bytes(name, array):
    data = b"".join(_number(1, size) for size in array.shape)
    return (
        data
        + _number(2, NUMBERS[array.dtype])
        + _block(8, name)
        + _block(9, np.ascontiguousarray(array).tobytes())
    )


def _value_bytes(value):
    dims = b"".join(_block(1, b"" if size is None else _number(1, size)) for size in value.shape)
    tensor = _number(1, NUMBERS[value.dtype]) + _block(2, dims)
    return _block(1, value.name) + _block(2, _block(1, tensor))
