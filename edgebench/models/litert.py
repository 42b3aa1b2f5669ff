"""LiteRT on this machine, for what is checked beside the timing; only for processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import UnavailableError


def score(
    path: Path, patches: NDArray[np.uint8], *, reference: bool = False, batch: int | None = None
) -> NDArray[np.float32]:
    """Scores float32 [n, classes] of uint8 patches [n, height, width, 3] on one thread.

    Args:
        path: a .tflite file with float32 or int8 input and output.
        patches: what to score; the last batch is padded with its own last patch.
        reference: LiteRT's reference kernels instead of its default ones (XNNPACK).
        batch: run at this batch instead of the file's own.
    """
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError as error:
        raise UnavailableError(
            "LiteRT is not installed", why=str(error), fix="pip install 'edgebench[cpu]'"
        ) from error
    extra: dict[str, Any] = {}
    if reference:
        extra["experimental_op_resolver_type"] = OpResolverType.BUILTIN_REF
    interpreter = Interpreter(model_path=str(path), num_threads=1, **extra)
    taken = interpreter.get_input_details()[0]
    if batch is not None and batch != taken["shape"][0]:
        interpreter.resize_tensor_input(taken["index"], [batch, *taken["shape"][1:]])
    interpreter.allocate_tensors()
    taken, given = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    at_once = int(taken["shape"][0])
    scores: list[NDArray[np.float32]] = []
    for start in range(0, len(patches), at_once):
        part = patches[start : start + at_once]
        padding = np.repeat(part[-1:], at_once - len(part), axis=0)
        interpreter.set_tensor(taken["index"], _as_input(np.concatenate([part, padding]), taken["dtype"]))
        interpreter.invoke()
        scores.append(_as_scores(interpreter.get_tensor(given["index"])[: len(part)], given["quantization"]))
    return np.concatenate(scores)


def input_quantisation(path: Path) -> tuple[str, float, int]:
    """The input's dtype, scale and zero point; 0.0 and 0 where it is float."""
    from ai_edge_litert.interpreter import Interpreter

    taken = Interpreter(model_path=str(path)).get_input_details()[0]
    scale, zero_point = taken["quantization"]
    return np.dtype(taken["dtype"]).name, float(scale), int(zero_point)


def _as_input(patches: NDArray[np.uint8], dtype: Any) -> NDArray[Any]:
    if dtype == np.int8:
        return (patches.astype(np.int16) - 128).astype(np.int8)
    return patches.astype(np.float32) / np.float32(127.5) - np.float32(1)


def _as_scores(values: NDArray[Any], quantisation: tuple[float, int]) -> NDArray[np.float32]:
    scale, zero_point = quantisation
    if values.dtype == np.int8:
        return (values.astype(np.float32) - np.float32(zero_point)) * np.float32(scale)
    return values.astype(np.float32)
