"""Keras to ONNX at fp32, by tf2onnx; only for processes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.pixels import preprocessing
from edgebench.errors import UnavailableError, UnsupportedError
from edgebench.models.keras_source import build_keras
from edgebench.models.onnx import graph, running

OPSET = 13
INPUT_NAME, OUTPUT_NAME = "patches", "scores"


def export(job: Mapping[str, Any], output: Path) -> NDArray[np.float32]:
    """Write the model that the job names (see `build_keras`) as ONNX, and give Keras's scores.

    Args:
        job: also `batch`, `golden` (a .npy of uint8 [n, height, width, 3]) and `input`, the input as
            `InputSpec` has it, whose layout the file gets.
        output: a new file; beside it lies `<name>.raw` meanwhile.

    Returns:
        Scores float32 [n, scores] of the golden patches, by Keras.
    """
    import tensorflow as tf

    try:
        import onnx
        import tf2onnx
    except ImportError as error:
        raise UnavailableError(
            "tf2onnx is not installed", why=str(error), fix="pip install 'edgebench[onnx,prepare]'"
        ) from error

    spec = job["input"]
    model = build_keras(job)
    shape = (job["batch"], spec["height"], spec["width"], 3)
    if len(model.input_shape) != 4 or any(
        have not in (None, want) for have, want in zip(model.input_shape[1:], shape[1:], strict=True)
    ):
        raise UnsupportedError(
            f"the model's input is {list(model.input_shape)}, no image of {shape[1]} x {shape[2]} x 3",
            fix="give the size that it was made for",
        )
    golden = np.load(job["golden"])
    wanted = _scores(tf, model.call, golden, spec)

    # A process's counters go into the names in the file, which must be the same whatever came before it.
    tf2onnx.utils.INTERNAL_NAME = 1
    signature = [tf.TensorSpec(shape, tf.float32, name=INPUT_NAME)]
    function = tf.function(model.call, input_signature=signature)
    proto, _ = tf2onnx.convert.from_function(
        function,
        input_signature=signature,
        opset=OPSET,
        inputs_as_nchw=[INPUT_NAME] if spec["layout"] == "NCHW" else None,
    )
    graph.rename_output(proto, OUTPUT_NAME)
    raw = output.with_name(f"{output.name}.raw")
    onnx.save(proto, raw)
    try:
        running.open_session(raw, save_to=output)
    finally:
        raw.unlink()
    folded = onnx.load(output)
    graph.keep_used_domains(folded)
    graph.name_all(folded)
    onnx.save(folded, output)
    return wanted


def _scores(tf: Any, call: Any, golden: NDArray[np.uint8], spec: Mapping[str, Any]) -> NDArray[np.float32]:
    """Keras's scores of the patches, whatever layout the file will have."""
    real = np.zeros(golden.shape, np.float32)
    preprocessing({**spec, "layout": "NHWC", "dtype": "float32"}, golden, real)()
    # One by one: a SavedModel may fix its batch.
    rows = [np.asarray(call(tf.constant(real[at : at + 1]))) for at in range(len(real))]
    return np.concatenate(rows).reshape(len(golden), -1).astype(np.float32)
