"""The file that `build` makes and `load` reads: what the engine is, then the engine (Python 3.6 syntax).

    EDGEBENCH-TENSORRT-ENGINE <header, one line of JSON>
    <the serialized engine>

A serialized engine says neither which TensorRT nor which GPU it was built for until it is deserialised, which
may abort the process. The header says it before.
"""

import json
import platform
from typing import Any, Dict, List, Tuple

from .cudart import Cuda

MAGIC = b"EDGEBENCH-TENSORRT-ENGINE "
FORMAT = 1
MAX_HEADER_BYTES = 16 << 20
"""Size of a header with its list of layers: some hundred bytes a layer."""

MOST_LAYERS = 400
MOST_NAME = 200

Header = Dict[str, Any]
"""At least `tensorrt` (its version) and `gpu`, as they are where it was built."""


class EngineFileError(Exception):
    """A file is no engine, not whole, or of another TensorRT or GPU than the ones here."""

    session_status = "load_failed"


def write(path: str, header: Header, engine: Any) -> None:
    """Write an engine behind its header.

    Args:
        path: of the file, which is overwritten.
        header: plain JSON data; `format` and `engine_bytes` are added, long names of layers are cut.
        engine: the serialized engine: bytes, or TensorRT's own memory with the buffer protocol.

    Raises:
        OSError: the disk takes no more, or the file cannot be written.
    """
    size = memoryview(engine).nbytes
    header = dict(header, format=FORMAT, engine_bytes=size)
    if header.get("layers"):  # a header that is too long could be written and never be read
        header["layers"] = [
            {key: str(text)[:MOST_NAME] for key, text in layer.items()} for layer in header["layers"]
        ]
    line = json.dumps(header, sort_keys=True)
    with open(path, "wb") as file:
        file.write(MAGIC + line.encode("utf-8") + b"\n")
        file.write(engine)


def read(path: str) -> Tuple[Header, bytes]:
    """The header and the serialized engine.

    Raises:
        EngineFileError: the file is no engine of this format, or is not whole.
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        header = _header_of(path, file.read(len(MAGIC)), file.readline(MAX_HEADER_BYTES))
        engine = file.read()
    if len(engine) != header.get("engine_bytes"):
        raise EngineFileError(
            "the engine {} is not whole: it has {} bytes, {} were written; remove it and run again".format(
                path, len(engine), header.get("engine_bytes")
            )
        )
    return header, engine


def require_fit(header: Header, tensorrt: str, gpu: str) -> None:
    """EngineFileError where an engine was built by another TensorRT version or for another GPU.

    Args:
        header: of the engine.
        tensorrt: the version here.
        gpu: the GPU here, as the header has it.
    """
    for name, here in (("tensorrt", tensorrt), ("gpu", gpu)):
        built_for = header.get(name)
        if built_for != here:
            raise EngineFileError(
                "the engine was built for {} {}, here is {}: an engine fits the TensorRT version and the GPU "
                "that it was built on alone; run again, and it is built again".format(
                    {"tensorrt": "TensorRT", "gpu": "the GPU"}[name], built_for, here
                )
            )


def layer_lines(header: Header) -> List[str]:
    """The layers for a session's record, as `name (type): precision`.

    Of very many the first ones: one message to the host has the record, and it has a limit.
    """
    layers = header.get("layers") or []
    template = "{name:.{most}} ({type}): {precision}"
    lines = [template.format(most=MOST_NAME, **layer) for layer in layers[:MOST_LAYERS]]
    if len(layers) > MOST_LAYERS:
        lines.append("and {} more".format(len(layers) - MOST_LAYERS))
    return lines


def _header_of(path: str, magic: bytes, line: bytes) -> Header:
    if magic != MAGIC:
        raise EngineFileError(
            "{} is no engine that was built here: --device jetson and tensorrt build one from .onnx".format(
                path
            )
        )
    try:
        header = json.loads(line.decode("utf-8"))
        file_format = header["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise EngineFileError(
            "the header of the engine {} cannot be read: remove the file and run again".format(path)
        ) from None
    if file_format != FORMAT:
        raise EngineFileError(
            "the engine {} has format {!r}, format {} is read here: run again, and it is built again".format(
                path, file_format, FORMAT
            )
        )
    return dict(header)


# What a session's record has of the engine (device side, Python 3.6 syntax).


# What of an engine's header stands in the record under its own name; the header may lack some of it.
FROM_HEADER = (
    "precision",
    "precision_from",
    "precisions_read_from",
    "layer_precisions",
    "weight_layer_precisions",
    "flags",
    "workspace_bytes",
    "calibration",
)


def described(
    version: str, api: str, cuda: Cuda, header: Dict[str, Any], double_buffer: bool
) -> Dict[str, Any]:
    """The runtime as the record has it.

    Args:
        version: of TensorRT.
        api: what runs the engine: execute_async_v2 or execute_async_v3.
        cuda: the CUDA runtime.
        header: of the engine's file.
        double_buffer: whether a batch is filled while another one is computed.
    """
    facts = {name: header[name] for name in FROM_HEADER if header.get(name) is not None}
    layers = layer_lines(header)
    if layers:
        facts["layers"] = layers
    return dict(
        facts,
        name="tensorrt",
        version=version,
        api=api,
        python=platform.python_version(),
        cuda=cuda.version("Runtime"),
        cuda_driver=cuda.version("Driver"),
        cuda_library=cuda.path,
        gpu=cuda.gpu_name(),
        compute_capability=cuda.capability(),
        double_buffer=double_buffer,
        absent=dict(header.get("absent") or {}),
        warnings=list(header.get("warnings") or []),
    )
