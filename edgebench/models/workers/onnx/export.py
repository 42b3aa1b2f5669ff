"""TensorFlow to ONNX at fp32, by tf2onnx; only for processes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import UnavailableError
from edgebench.models.workers.feeds import golden_feeds
from edgebench.models.workers.keras_source import build_keras, require_shapes
from edgebench.models.workers.onnx import graph, running

INPUT_NAME, OUTPUT_NAME = "patches", "scores"


def export(job: Mapping[str, Any], output: Path) -> NDArray[np.float32]:
    """Write the network that the job names (see `build_keras`) as ONNX, and give TensorFlow's scores.

    Args:
        job: also `opset`, `batch`, `shapes` (of the inputs, the batch included, channels last), `golden` and
            `input` as `golden_feeds` takes them; the file gets the layout of `input`.
        output: a new file; beside it lies `<name>.raw` meanwhile.

    Returns:
        Scores float32 [n, scores] of the golden patches, by TensorFlow; the last batch's padding with them.
    """
    import tensorflow as tf

    try:
        import onnx
        import tf2onnx
    except ImportError as error:
        raise UnavailableError(
            "tf2onnx is not installed", why=str(error), fix="pip install 'edgebench[onnx,prepare]'"
        ) from error

    network = build_keras(job)
    require_shapes(network, job["shapes"])
    spec = job["input"]
    channels_last = None if spec is None else {**spec, "layout": "NHWC"}
    scores = network.scores(golden_feeds(Path(job["golden"]), job["shapes"], channels_last), job["batch"])

    names = [INPUT_NAME] if len(job["shapes"]) == 1 else [f"input_{at}" for at in range(len(job["shapes"]))]
    signature = [
        tf.TensorSpec(shape, tensor.dtype, name=name)
        for name, shape, tensor in zip(names, job["shapes"], network.inputs, strict=True)
    ]
    function = tf.function(network.call, input_signature=signature)
    proto, _ = tf2onnx.convert.from_function(
        function,
        input_signature=signature,
        opset=job["opset"],
        inputs_as_nchw=names if spec is not None and spec["layout"] == "NCHW" else None,
    )
    # What layers hold as plain tensors, and not as weights, the converter leaves as inputs.
    captures = function.get_concrete_function().graph.captures
    constants = {inner.name: outer.numpy() for outer, inner in captures if inner.dtype != tf.resource}
    graph.give_constants(proto, constants)
    graph.order_inputs(proto, names)
    graph.rename_output(proto, OUTPUT_NAME)
    raw = output.with_name(f"{output.name}.raw")
    onnx.save(proto, raw)
    try:
        running.open_session(raw, save_to=output)
    finally:
        raw.unlink()
    folded = onnx.load(output)
    graph.keep_used_domains(folded)
    graph.name_by_order(folded)
    onnx.save(folded, output)
    return scores
