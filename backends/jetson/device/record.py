"""What a session's record has of the engine (device side, Python 3.6 syntax)."""

import platform
from typing import Any, Dict

from . import engine_file
from .cudart import Cuda

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
    layers = engine_file.layer_lines(header)
    if layers:
        facts["layers"] = layers
    return dict(
        facts,
        name="tensorrt",
        version=version,
        api=api,
        python=platform.python_version(),
        cuda=cuda.runtime_version(),
        cuda_driver=cuda.driver_version(),
        cuda_library=cuda.path,
        gpu=cuda.gpu_name(),
        compute_capability=cuda.capability(),
        double_buffer=double_buffer,
        absent=dict(header.get("absent") or {}),
        warnings=list(header.get("warnings") or []),
    )
