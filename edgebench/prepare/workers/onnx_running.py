"""ONNX Runtime on this machine, for checks outside the timing; only for processes of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.timed import ScoreRows
from edgebench.errors import InputError, UnavailableError
from edgebench.prepare.workers.checking import Feed, Scored, picture_feeds

NO_SATURATION = ("session.x64quantprecision", "1")
"""Kernels that do not overflow, on x86-64 processors without VNNI; taken with optimisations only.

For int8 of uint8 activations alone: with it the runtime finds no kernel for integer operations on int8.
"""


def run(
    path: Path, feeds: Sequence[Feed], batch: int, *, optimised: bool = True, uint8: bool = False
) -> Scored:
    """Rows of scores float32 [feeds * batch, scores] of inputs of any kind, on one thread of the processor.

    Args:
        path: an .onnx file.
        feeds: one tuple of arrays, one an input, for each call.
        batch: items in a call.
        optimised: with the runtime's graph optimisations; without them every operation runs as written.
        uint8: whether its int8 has uint8 activations (see NO_SATURATION).

    Raises:
        InputError: the runtime cannot load or run the file.
        UnavailableError: ONNX Runtime is not installed.
    """
    session = open_session(path, optimised=optimised, uint8=uint8)
    names = [tensor.name for tensor in session.get_inputs()]
    rows, scores = ScoreRows(batch), []
    for feed in feeds:
        try:
            outputs = session.run(None, dict(zip(names, feed, strict=True)))
        except Exception as error:  # the runtime's kinds are its own
            raise refused(path, error) from error
        try:
            scores.append(rows.of(outputs))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the outputs of {path.name} are no numbers that can be compared",
                why=str(error),
                fix="export it with tensors of numbers as outputs, the batch first",
            ) from error
    return Scored(np.concatenate(scores), rows.widths)


MASK = 3e38
"""From here on a value hides others (attention masks), and is meant to be infinite."""


def largest_value(path: Path, feeds: Sequence[Feed]) -> tuple[str, float]:
    """The largest absolute value among the weights of a file and all that it computes, and where it is.

    Masks are left out, and so are infinities in a file that holds some itself.
    """
    import onnx

    model = onnx.load(path)
    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16)
    constants = list(model.graph.initializer)
    constants += [item.t for node in model.graph.node for item in node.attribute if item.HasField("t")]
    found = [
        (f"its weight {tensor.name!r}", float(np.abs(onnx.numpy_helper.to_array(tensor)).max()))
        for tensor in constants
        if tensor.data_type in floats and all(tensor.dims)
    ]
    has_masks = any(value >= MASK for _, value in found)
    inferred = onnx.shape_inference.infer_shapes(model).graph
    names = [
        value.name
        for value in [*inferred.input, *inferred.value_info, *inferred.output]
        if value.type.tensor_type.elem_type in floats and value.name not in {one.name for one in constants}
    ]
    del model.graph.output[:]
    make_node = onnx.helper.make_node
    for name in names:
        model.graph.node.append(make_node("Abs", [name], [f"{name}/abs"]))
        model.graph.node.append(make_node("ReduceMax", [f"{name}/abs"], [f"{name}/max"], keepdims=0))
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info(f"{name}/max"))
    with TemporaryDirectory() as folder:
        observed = Path(folder) / "observed.onnx"
        onnx.save(model, observed)
        session = open_session(observed, optimised=False)
        inputs = [tensor.name for tensor in session.get_inputs()]
        for feed in feeds:
            values = session.run(None, dict(zip(inputs, feed, strict=True)))
            found += [
                (f"its value {name!r}", float(value)) for name, value in zip(names, values, strict=True)
            ]
    seen = [(name, value) for name, value in found if value < MASK or (value == np.inf and not has_masks)]
    return max(seen, key=lambda item: item[1], default=("nothing", 0.0))


def score(path: Path, patches: NDArray[np.uint8], spec: Mapping[str, Any]) -> NDArray[np.float32]:
    """Scores float32 [n, classes] of uint8 patches [n, height, width, 3], with optimisations.

    `spec` is the input as `edgebench.records.model.InputSpec` has it, as a dict.
    """
    (tensor,) = open_session(path).get_inputs()
    feeds = list(picture_feeds(patches, tensor.shape, spec))
    return run(path, feeds, tensor.shape[0], uint8=spec["dtype"] == "uint8").rows[: len(patches)]


def open_session(
    path: Path, *, optimised: bool = True, uint8: bool = False, save_to: Path | None = None
) -> Any:
    """An `onnxruntime.InferenceSession` on one thread of the processor.

    With `save_to` the runtime writes the graph there after its basic optimisations, which hold on every
    device: constants and batch normalisation folded, nothing of its own added.
    """
    try:
        import onnxruntime as runtime
    except ImportError as error:
        raise UnavailableError(
            "ONNX Runtime is not installed", why=str(error), fix="pip install 'edgebench[onnx]'"
        ) from error
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    levels = runtime.GraphOptimizationLevel
    if uint8:
        options.add_session_config_entry(*NO_SATURATION)
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    if save_to is not None:
        options.graph_optimization_level = levels.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(save_to)
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's kinds are its own
        raise refused(path, error) from error


def refused(path: Path, error: Exception) -> InputError:
    """What the runtime said of a file, on one line."""
    return InputError(
        f"{path.name} cannot be run by ONNX Runtime",
        why=" ".join((str(error) or type(error).__name__).split())[:500],
        fix="export it with operations of the standard domain, at an opset that this runtime knows",
    )
