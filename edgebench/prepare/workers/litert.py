"""LiteRT on this machine, for checks outside the timing; only for processes of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.timed import ScoreRows
from edgebench.errors import UnavailableError
from edgebench.prepare.workers.checking import Feed, Scored, picture_feeds

Kernels = Literal["default kernels", "kernels without delegates", "reference kernels"]
"""LiteRT's own choice (XNNPACK), its optimised ones alone, or its exact and slow ones."""

DEFAULT: Kernels = "default kernels"
WITHOUT_DELEGATES: Kernels = "kernels without delegates"
REFERENCE: Kernels = "reference kernels"


def score(
    path: Path,
    patches: NDArray[np.uint8],
    spec: Mapping[str, Any],
    *,
    kernels: Kernels = DEFAULT,
) -> NDArray[np.float32]:
    """Scores float32 [n, classes] of uint8 patches [n, height, width, 3] on one thread, at the file's batch.

    `spec` is the input as `edgebench.records.model.InputSpec` has it, as a dict; the last batch is
    padded with its own last patch.
    """
    (tensor,) = open_interpreter(path).get_input_details()
    shape = [int(side) for side in tensor["shape"]]
    feeds = list(picture_feeds(patches, shape, spec))
    return run(path, feeds, shape[0], kernels=kernels).rows[: len(patches)]


def open_interpreter(path: Path, *, kernels: Kernels = DEFAULT) -> Any:
    """LiteRT's interpreter of a .tflite file, on one thread."""
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError as error:
        raise UnavailableError(
            "LiteRT is not installed", why=str(error), fix="pip install 'edgebench[cpu]'"
        ) from error
    resolvers = {
        REFERENCE: OpResolverType.BUILTIN_REF,
        WITHOUT_DELEGATES: OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    }
    resolver = {} if kernels == DEFAULT else {"experimental_op_resolver_type": resolvers[kernels]}
    return Interpreter(model_path=str(path), num_threads=1, **resolver)


def run(
    path: Path, feeds: Sequence[Feed], batch: int, *, kernels: Kernels, keep_state: bool = False
) -> Scored:
    """Rows of scores float32 [feeds * batch, scores] of inputs of any kind.

    Args:
        path: a .tflite file.
        feeds: one tuple of arrays, one an input, for each call; inputs are resized to their shapes.
        batch: items in a call.
        kernels: those that carry the operations out.
        keep_state: whether variable tensors keep their values from call to call. Default: they are reset.
    """
    interpreter = open_interpreter(path, kernels=kernels)
    inputs = interpreter.get_input_details()
    for tensor, array in zip(inputs, feeds[0], strict=True):
        if list(tensor["shape"]) != list(array.shape):
            interpreter.resize_tensor_input(tensor["index"], list(array.shape))
    interpreter.allocate_tensors()
    outputs = interpreter.get_output_details()
    rows = ScoreRows(batch, [quantisation(tensor) for tensor in outputs])
    scores: list[NDArray[np.float32]] = []
    for feed in feeds:
        for tensor, array in zip(inputs, feed, strict=True):
            interpreter.set_tensor(tensor["index"], array)
        if not keep_state:
            interpreter.reset_all_variables()
        interpreter.invoke()
        scores.append(rows.of([interpreter.get_tensor(tensor["index"]) for tensor in outputs]))
    return Scored(np.concatenate(scores), rows.widths)


def quantisation(tensor: Mapping[str, Any]) -> tuple[float, int] | None:
    """Scale and zero point of a tensor's details; None for one of real numbers."""
    scale, zero_point = tensor["quantization"]
    return (float(scale), int(zero_point)) if scale else None


def output_scales(path: Path) -> list[float]:
    """The scales of the outputs, in their order; 0 for one that is not quantised."""
    details = open_interpreter(path).get_output_details()
    return [(quantisation(tensor) or (0.0, 0))[0] for tensor in details]
