"""ONNX Runtime on this machine, for checks outside the timing; only for processes of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.timed import Rows
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
    rows, scores = Rows(batch), []
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
