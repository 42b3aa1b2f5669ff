"""A user's .onnx as the beginning of the chain: static, in the layout that is wanted, else as it is.

Only for processes of their own.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgebench.errors import InputError
from edgebench.models.onnx import graph

MOST_BYTES = 2_000_000_000  # of a protobuf


def make_ready(
    model: graph.Proto, source: Path, output: Path, batch: int, spec: Mapping[str, Any], layout: str
) -> tuple[bool, str]:
    """Write the file to begin from.

    Args:
        model: what `read` gave; it is changed.
        source: the user's file; its weights may lie beside it.
        output: a new file, with all weights in it.
        batch: patches in a batch.
        spec: its input as it is now.
        layout: the layout that is wanted.

    Returns:
        Whether the graph was changed (a file with nothing to change keeps its bytes), and its precision.

    Raises:
        UnsupportedError: it fixes another batch or size, or has several inputs.
    """
    import onnx

    sides = (spec["height"], spec["width"])
    shape = (batch, *sides, 3) if spec["layout"] == "NHWC" else (batch, 3, *sides)
    before = model.SerializeToString(deterministic=True)
    beside = any(
        tensor.external_data for tensor in onnx.load(source, load_external_data=False).graph.initializer
    )
    if not _is_static(model, shape):
        graph.make_static(model, shape)
    graph.with_layout(model, str(spec["layout"]), layout)
    precision = graph.precision_of(model)
    if model.SerializeToString(deterministic=True) == before and not beside:
        shutil.copyfile(source, output)
        return False, precision
    onnx.save(model, output)
    return True, precision


def read(path: Path) -> graph.Proto:
    """The model with all its weights; InputError when it cannot be had."""
    import onnx

    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"{path} is larger than 2 GB", fix="give a smaller model")
    try:
        model = onnx.load(path)
        onnx.checker.check_model(model)
        size = model.ByteSize()
    except Exception as error:  # onnx and protobuf raise many kinds
        raise InputError(
            f"{path} cannot be read as ONNX",
            why=" ".join((str(error) or type(error).__name__).split())[:500],
            fix="export it again; weights that lie in files beside it belong into the same folder",
        ) from error
    if size > MOST_BYTES:
        raise InputError(f"{path} is larger than 2 GB with its weights", fix="give a smaller model")
    return model


def _is_static(model: graph.Proto, shape: tuple[int, ...]) -> bool:
    taken: Any = graph.image_input(model).type.tensor_type
    return tuple(one.dim_value for one in taken.shape.dim) == shape
