"""A user's .onnx as the beginning of the chain: static, in the layout that is wanted, else as it is.

Only for processes of their own.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from edgebench.errors import InputError
from edgebench.models.workers.onnx import graph

MOST_BYTES = 2_000_000_000  # of a protobuf


def make_ready(
    model: graph.Proto,
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

    changed = graph.make_static(model, shapes)
    if layout is not None and layout[0] != layout[1]:
        graph.with_layout(model, *layout)
        changed = True
    if changed or _has_weights_beside(source):
        onnx.save(model, output)
    else:
        shutil.copyfile(source, output)
    return changed


def read(path: Path) -> graph.Proto:
    """The model with all its weights; InputError when it cannot be had."""
    import onnx

    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"{path} is larger than 2 GB", fix="give a smaller model")
    try:
        model = onnx.load(path)
        size = model.ByteSize()
        if size <= MOST_BYTES:
            onnx.checker.check_model(model)
    except Exception as error:  # onnx and protobuf raise many kinds
        raise InputError(
            f"{path} cannot be read as ONNX",
            why=" ".join((str(error) or type(error).__name__).split())[:500],
            fix="export it again; weights that lie in files beside it belong into the same folder",
        ) from error
    if size > MOST_BYTES:
        raise InputError(f"{path} is larger than 2 GB with its weights", fix="give a smaller model")
    return model


def _has_weights_beside(source: Path) -> bool:
    import onnx

    alone = onnx.load(source, load_external_data=False)
    return any(onnx.external_data_helper.uses_external_data(one) for one in alone.graph.initializer)
