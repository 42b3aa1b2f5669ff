"""ONNX Runtime on this machine, for what is checked beside the timing; only for processes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.pixels import preprocessing
from edgebench.errors import InputError, UnavailableError


def score(
    path: Path,
    patches: NDArray[np.uint8],
    spec: Mapping[str, Any],
    *,
    optimised: bool = True,
    threads: int = 1,
    batch: int = 1,
) -> NDArray[np.float32]:
    """Scores float32 [n, scores] of uint8 patches [n, height, width, 3] on the processor.

    Args:
        path: a file with one input; its first output is taken.
        patches: what to score; the last batch is padded with its own last patch.
        spec: the input as `edgebench.models.artifact.InputSpec` has it, as a dict.
        optimised: with the runtime's graph optimisations; without them every operation runs as written.
        threads: of the runtime.
        batch: to run at where the file leaves it open.

    Raises:
        InputError: the runtime cannot load or run the file.
        UnavailableError: ONNX Runtime is not installed.
    """
    session = open_session(path, optimised=optimised, threads=threads)
    taken, given = session.get_inputs()[0], session.get_outputs()[0]
    height, width = int(spec["height"]), int(spec["width"])
    at_once = taken.shape[0] if taken.shape and isinstance(taken.shape[0], int) else batch
    held = np.zeros((at_once, height, width, 3), np.uint8)
    channels_first = spec["layout"] == "NCHW"
    shape = (at_once, 3, height, width) if channels_first else (at_once, height, width, 3)
    target = np.zeros(shape, np.dtype(spec["dtype"]))
    fill = preprocessing(dict(spec), held, target)
    rows: list[NDArray[np.float32]] = []
    for start in range(0, len(patches), at_once):
        part = patches[start : start + at_once]
        held[: len(part)] = part
        held[len(part) :] = part[-1]
        fill()
        try:
            found = session.run([given.name], {taken.name: target})[0]
        except Exception as error:  # the runtime's kinds are its own
            raise refused(path, error) from error
        if not isinstance(found, np.ndarray) or found.ndim == 0 or found.size % at_once:
            raise InputError(f"{path.name} gives no row of scores for every image")
        rows.append(found.reshape(at_once, -1)[: len(part)].astype(np.float32))
    return np.concatenate(rows)


def open_session(path: Path, *, optimised: bool = True, threads: int = 1, save_to: Path | None = None) -> Any:
    """An `onnxruntime.InferenceSession` on the processor.

    With `save_to` the runtime writes the graph there after its basic optimisations, which hold on every
    device: constants and batch normalisation folded, nothing of its own added.
    """
    runtime = _runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    levels = runtime.GraphOptimizationLevel
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
        fix="export it with operations of the standard domain, at opset 13 to 21",
    )


def _runtime() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise UnavailableError(
            "ONNX Runtime is not installed", why=str(error), fix="pip install 'edgebench[onnx]'"
        ) from error
    return onnxruntime
