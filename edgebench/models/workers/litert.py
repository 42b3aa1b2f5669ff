"""LiteRT on this machine, for what is checked beside the timing; only for processes of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.outputs import Rows
from edgebench.agent.pixels import preprocessing
from edgebench.errors import UnavailableError


def score(
    path: Path,
    patches: NDArray[np.uint8],
    *,
    reference: bool = False,
    batch: int | None = None,
    spec: Mapping[str, Any] | None = None,
) -> NDArray[np.float32]:
    """Scores float32 [n, classes] of uint8 patches [n, height, width, 3] on one thread.

    Args:
        path: a .tflite file with float32 or int8 input and output.
        patches: what to score; the last batch is padded with its own last patch.
        reference: LiteRT's reference kernels instead of its default ones (XNNPACK).
        batch: run at this batch instead of the file's own.
        spec: the input as `edgebench.vocabulary.artifact.InputSpec` has it, as a dict; None for the shipped
            family's.
    """
    interpreter = open_interpreter(path, reference=reference)
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
        interpreter.set_tensor(
            taken["index"], _as_input(np.concatenate([part, padding]), taken["dtype"], spec, taken["shape"])
        )
        interpreter.invoke()
        scores.append(_as_scores(interpreter.get_tensor(given["index"])[: len(part)], given["quantization"]))
    return np.concatenate(scores)


def open_interpreter(path: Path, *, reference: bool = False, delegates: bool = True) -> Any:
    """LiteRT's interpreter on one thread.

    Args:
        path: a .tflite file.
        reference: with LiteRT's reference kernels.
        delegates: with its default delegate (XNNPACK), where `reference` does not ask for other kernels.
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
    elif not delegates:
        extra["experimental_op_resolver_type"] = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return Interpreter(model_path=str(path), num_threads=1, **extra)


def run(
    path: Path, feeds: Sequence[Sequence[NDArray[Any]]], batch: int, *, reference: bool
) -> NDArray[np.float32]:
    """Rows of scores float32 [feeds * batch, scores] of inputs of any kind, without delegates.

    Args:
        path: a .tflite file.
        feeds: one tuple of arrays, one an input, for each call.
        batch: items in a call.
        reference: with reference kernels; else the runtime's optimised ones.
    """
    interpreter = open_interpreter(path, reference=reference, delegates=False)
    taken = interpreter.get_input_details()
    for one, array in zip(taken, feeds[0], strict=True):
        if list(one["shape"]) != list(array.shape):
            interpreter.resize_tensor_input(one["index"], list(array.shape))
    interpreter.allocate_tensors()
    given = interpreter.get_output_details()
    rows = Rows(batch, [quantisation(one) for one in given])
    found = []
    for feed in feeds:
        for one, array in zip(taken, feed, strict=True):
            interpreter.set_tensor(one["index"], array)
        interpreter.invoke()
        found.append(rows.of([interpreter.get_tensor(one["index"]) for one in given]))
    return np.concatenate(found)


def quantisation(tensor: Mapping[str, Any]) -> tuple[float, int] | None:
    """Scale and zero point of a tensor's details; None for one of real numbers."""
    scale, zero_point = tensor["quantization"]
    return (float(scale), int(zero_point)) if scale else None


def input_quantisation(path: Path) -> tuple[str, float, int]:
    """The input's dtype, scale and zero point; 0.0 and 0 where it is float."""
    from ai_edge_litert.interpreter import Interpreter

    taken = Interpreter(model_path=str(path)).get_input_details()[0]
    scale, zero_point = taken["quantization"]
    return np.dtype(taken["dtype"]).name, float(scale), int(zero_point)


def _as_input(
    patches: NDArray[np.uint8], dtype: Any, spec: Mapping[str, Any] | None, shape: Sequence[int]
) -> NDArray[Any]:
    if spec is not None:
        target: NDArray[Any] = np.zeros(tuple(shape), dtype)
        preprocessing(dict(spec), patches, target)()
        return target
    if dtype == np.int8:
        return (patches.astype(np.int16) - 128).astype(np.int8)
    return patches.astype(np.float32) / np.float32(127.5) - np.float32(1)


def _as_scores(values: NDArray[Any], quantisation: tuple[float, int]) -> NDArray[np.float32]:
    scale, zero_point = quantisation
    if values.dtype == np.int8:
        return (values.astype(np.float32) - np.float32(zero_point)) * np.float32(scale)
    return values.astype(np.float32)
