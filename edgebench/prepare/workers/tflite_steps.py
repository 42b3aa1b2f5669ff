"""A model as .tflite, in a process of its own: `python -m edgebench.prepare.workers.tflite_steps`.

Jobs come in as JSON lines (see `edgebench.prepare.workers.processes`), one a model and batch::

    {"what": text, "kind": "family", ..., "batch": 1, "shapes": [[...]], "input": InputSpec or null,
     "tensors": [TensorInput], "golden": path, "n": 5, "golden_batch": 1, "published": true,
     "calibration": path or null, "outputs": {"fp32": path, "int8": path}}

`kind` and what belongs to it are those of `edgebench.prepare.workers.keras.build_keras`, or `tflite`
with `path`, a file that is taken as it is. `shapes` are those of the inputs; `input` is null where they are
no picture. The golden patches are run at `golden_batch`, and `published` asks for the published quantisation
of the input. Every output is written; its note has `scores` [golden][scores] with what they were computed
by, `outputs` (`outputs_of`), `steps`, the outputs' scales, `state` (`edgebench.records.model.State`), and
where it was converted `input`, `check` and as int8 `tensors`; or `unsupported`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import InputError, UnsupportedError
from edgebench.prepare import families as catalogue
from edgebench.prepare.workers import litert, tflite_file
from edgebench.prepare.workers.checking import (
    Scored,
    compare,
    feeds_of,
    golden_feeds,
    note_or_refusal,
    outputs_of,
    refusal,
    require,
    require_finite,
)
from edgebench.prepare.workers.keras import build_keras, require_shapes
from edgebench.prepare.workers.processes import Job, Report, serve
from edgebench.records.model import State, state_of

_CHECKS = {"fp32": "export", "fp16": "fp16", "int8": "int8"}
_FLEX = ("custom op", "flex", "select tensorflow", "select tf")


def make(job: Job, report: Report) -> dict[str, Any]:
    """Make every file that the job asks for."""
    if job["kind"] == "tflite":
        report(f"checking {job['what']}")
        return {
            precision: note_or_refusal(partial(_as_it_is, job, precision, Path(file)))
            for precision, file in job["outputs"].items()
        }
    try:
        return _converted(job, report)
    except UnsupportedError as error:  # of the network: none of its files can be made
        return dict.fromkeys(job["outputs"], refusal(error))


def _as_it_is(job: Job, precision: str, output: Path) -> dict[str, Any]:
    """The user's file; the runtime says here, and not on the board, what it cannot take."""
    shutil.copyfile(job["path"], output)
    # Reference kernels are the yardstick of integers; of floats they only are slow.
    kernels = litert.REFERENCE if precision == "int8" else litert.WITHOUT_DELEGATES
    state = _state(job, output)
    try:
        scored = _by_both(job, output, job["input"], job["tensors"], kernels, keep_state=state == "kept")
    except (RuntimeError, ValueError) as error:
        raise _not_run(str(job["what"]), job["batch"], error) from error
    scores = scored[0].rows
    require_finite(scores, str(job["what"]))
    return {
        "scores": scores.tolist(),
        "reference": f"LiteRT {kernels}",
        "outputs": outputs_of(scores, scored),
        "steps": litert.output_scales(output),
        "state": state,
    }


def _state(job: Job, file: Path) -> State:
    """Treatment of the state that the file carries from one inference to the next."""
    facts = tflite_file.read(file)
    return state_of(facts["states"], facts["operations"], keep=job.get("keep_state", False))


def _converted(job: Job, report: Report) -> dict[str, Any]:
    import tensorflow as tf

    network = build_keras(job)
    require_shapes(network, job["shapes"])
    float_scores = network.scores(_golden_feeds(job, job["input"], job["tensors"]), job["golden_batch"])[
        : job["n"]
    ]
    require_finite(float_scores, str(job["what"]))
    names = ["patches"] if job["kind"] == "family" else [f"input_{at}" for at in range(len(job["shapes"]))]
    specs = [
        tf.TensorSpec(shape, tensor.dtype, name=name)
        for name, shape, tensor in zip(names, job["shapes"], network.inputs, strict=True)
    ]
    # The function is traced at its batch, so that nothing in the graph asks for a shape at run time.
    traced = tf.function(network.call).get_concrete_function(*specs)
    notes: dict[str, Any] = {}
    for precision, file in job["outputs"].items():
        report(f"converting {job['what']}-{precision}")
        notes[precision] = note_or_refusal(
            partial(_conversion, tf, traced, job, precision, Path(file), float_scores)
        )
    return notes


def _conversion(
    tf: Any, traced: Any, job: Job, precision: str, output: Path, float_scores: NDArray[np.float32]
) -> dict[str, Any]:
    # Without a trackable object the converter freezes the function itself: 0.3 s instead of 4 s.
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced])
    _configure(tf, converter, precision, partial(_representative, job))
    try:
        output.write_bytes(converter.convert())
    except Exception as error:  # the converter's errors are its own
        raise UnsupportedError(
            f"{job['what']} cannot be converted to TFLite at {precision}",
            why=" ".join(str(error).split())[:500] or type(error).__name__,
            fix="use operations that TFLite has built in, or take another runtime (--device onnxruntime)",
        ) from error
    quantised = _inputs_of(job, output)
    if precision == "int8" and job["published"]:
        _require_published(quantised[0])
    is_int8 = precision == "int8"
    spec, tensors = job["input"], job["tensors"]
    if is_int8:
        spec = spec and {**spec, **quantised[0]}
        tensors = [{**tensor, **of_file} for tensor, of_file in zip(tensors, quantised, strict=False)]
    kernels = litert.REFERENCE if is_int8 else litert.WITHOUT_DELEGATES
    scored = _by_both(job, output, spec, tensors, kernels)
    scores = scored[0].rows
    check = compare(_CHECKS[precision], float_scores, scores)
    # How well integers do is what the accuracy says: the agreement is stated, and forbids nothing.
    if not is_int8:
        require(check, job["what"], "report it, with the model; another runtime may take it")
    state = _state(job, output)
    is_reference = is_int8 or state == "kept"  # Keras's layers forget: only the file has a state to keep
    if state == "kept":
        scored = _by_both(job, output, spec, tensors, kernels, keep_state=True)
    reference = scored[0].rows if is_reference else float_scores
    return {
        "scores": reference.tolist(),
        "reference": f"LiteRT {kernels}" if is_reference else "Keras float32",
        "outputs": outputs_of(reference, scored),
        "check": check,
        "input": quantised[0],
        "tensors": quantised if is_int8 and tensors else None,
        "steps": litert.output_scales(output),
        "state": state,
    }


def _configure(
    tf: Any, converter: Any, precision: str, representative: Callable[[], Iterator[list[Any]]]
) -> None:
    if precision == "fp32":
        return
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if precision == "fp16":
        converter.target_spec.supported_types = [tf.float16]
        return
    converter.representative_dataset = representative
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8


def _representative(job: Job) -> Iterator[list[Any]]:
    """The calibration images, or samples, as inputs."""
    path = Path(job["calibration"])
    return map(list, feeds_of(path, job["shapes"], job["input"], job["tensors"], cycle=True))


def _golden_feeds(
    job: Job, spec: Mapping[str, Any] | None, tensors: Sequence[Mapping[str, Any]]
) -> Sequence[tuple[NDArray[Any], ...]]:
    shapes = job["shapes"] if spec is None else [[job["golden_batch"], *job["shapes"][0][1:]]]
    return golden_feeds(Path(job["golden"]), shapes, spec, tensors)


def _by_both(
    job: Job,
    file: Path,
    spec: Mapping[str, Any] | None,
    tensors: Sequence[Mapping[str, Any]],
    kernels: litert.Kernels,
    *,
    keep_state: bool = False,
) -> list[Scored]:
    """The golden patches' scores by these kernels and by LiteRT's own choice, by a file with such inputs."""
    feeds, batch = _golden_feeds(job, spec, tensors), job["golden_batch"]
    both = [litert.run(file, feeds, batch, kernels=kernels, keep_state=keep_state)]
    try:
        both.append(litert.run(file, feeds, batch, kernels=litert.DEFAULT, keep_state=keep_state))
    except (RuntimeError, ValueError):  # the file is for boards: a session on the processor says why
        both *= 2
    return [scored._replace(rows=scored.rows[: job["n"]]) for scored in both]


def _inputs_of(job: Job, file: Path) -> list[dict[str, Any]]:
    """Type and quantisation of the converted inputs; UnsupportedError where a shape is another."""
    tensors = litert.open_interpreter(file).get_input_details()
    shapes = [[int(side) for side in tensor["shape"]] for tensor in tensors]
    if shapes != job["shapes"]:
        raise UnsupportedError(
            f"{job['what']} changes its inputs when it is converted",
            why=f"they become {shapes}: {', '.join(str(tensor['name']) for tensor in tensors)}"[:300],
        )
    quantisations = [litert.quantisation(tensor) or (None, None) for tensor in tensors]
    return [
        {"dtype": np.dtype(tensor["dtype"]).name, "scale": scale, "zero_point": zero_point}
        for tensor, (scale, zero_point) in zip(tensors, quantisations, strict=True)
    ]


def _require_published(quantised: Mapping[str, Any]) -> None:
    """Preprocessing is pixel - 128 on every device, so the input must be quantised just so."""
    dtype, scale, zero_point = quantised["dtype"], quantised["scale"] or 0.0, quantised["zero_point"]
    if dtype != "int8" or abs(scale - catalogue.INT8_SCALE) > 1e-6 or zero_point != catalogue.INT8_ZERO_POINT:
        raise InputError(
            f"the converted input is {dtype} with scale {scale} and zero point {zero_point}",
            why=f"int8 with {catalogue.INT8_SCALE} and {catalogue.INT8_ZERO_POINT} was due",
            fix="calibrate with images that hold black and white",
        )


def _not_run(what: str, batch: int, error: Exception) -> UnsupportedError | InputError:
    message = " ".join(str(error).split())[:500] or type(error).__name__
    if any(word in message.lower() for word in _FLEX):
        return UnsupportedError(
            f"{what} has an operation that LiteRT does not have",
            why=message,
            fix="convert it with TFLite's built-in operations alone, or take a runtime that has it",
        )
    if batch > 1 and "RESHAPE" in message:
        return UnsupportedError(
            f"{what} cannot be run at a batch of {batch}",
            why=f"one of its Reshapes fixes another batch ({message})",
            fix="leave --batch out, or export it with an open batch",
        )
    return InputError(f"LiteRT cannot run {what}", why=message, fix="convert the model again")


if __name__ == "__main__":
    serve(make)
