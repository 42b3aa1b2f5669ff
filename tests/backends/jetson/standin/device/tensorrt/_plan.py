"""Serialized engines: a line of JSON behind a magic word, the graph that computes, and a checksum of both."""

import json
import struct
import zlib

from . import _onnx_file
from ._device import capability, gpu
from ._shape import VERSION

_MAGIC = b"ftrt"


def plan_bytes(network, graph, layers, verbosity, name):
    """A serialized engine.

    Args:
        network: the graph as it was read, with the inputs and outputs.
        graph: the one that computes.
        layers: from _lowering.
        verbosity: a ProfilingVerbosity.
        name: of the network.
    """
    header = {
        "version": VERSION,
        "capability": capability(),
        "gpu": gpu(),
        "verbosity": verbosity.name,
        "name": name,
        "layers": [vars(layer) for layer in layers],
        "inputs": [[value.name, str(value.dtype), list(value.shape)] for value in network.inputs],
        "outputs": [[value.name, str(value.dtype), list(value.shape)] for value in network.outputs],
    }
    body = json.dumps(header).encode("utf-8") + b"\n" + _onnx_file.write(graph)
    return _MAGIC + struct.pack("<IQ", zlib.crc32(body) & 0xFFFFFFFF, len(body)) + body


class BadPlan(Exception):
    """No serialized engine, or one that was cut off or changed."""


def read_plan(data):
    """(header, ONNX bytes)."""
    size = struct.calcsize("<IQ")
    if data[:4] != _MAGIC or len(data) < 4 + size:
        raise BadPlan
    checksum, length = struct.unpack("<IQ", data[4 : 4 + size])
    body = data[4 + size :]
    if len(body) != length or zlib.crc32(body) & 0xFFFFFFFF != checksum:
        raise BadPlan
    line, _, graph = body.partition(b"\n")
    return json.loads(line.decode("utf-8")), graph
