"""A model as ONNX, in a process of its own: `python -m edgebench.prepare.workers.onnx_steps`.

Jobs come in as JSON lines (see `edgebench.prepare.workers.processes`), one a file::

    {"what": text, "step": "base", "kind": "family", ..., "layout": "NHWC", "outputs": {"fp32": path}, ...}
    {"what": text, "step": "fp16", "base": path, "base_note": {...}, "outputs": {"fp16": path}, ...}
    {"what": text, "step": "int8", "base": path, "base_note": {...}, "calibration": path,
     "form": {"int8": "qdq", ...}, "outputs": {"int8": path}, ...}

All have `"batch": 1, "shapes": [[...]], "tensors": [TensorInput], "golden": path, "n": 5`. Of a base,
`kind` and what belongs to it are those of `edgebench.prepare.workers.keras.build_keras`, or `onnx` with
`path` and `precision`; `input` is its InputSpec in the model's own layout, or null where the inputs are no
picture, and `layout` the one that is wanted; `opset` is that of an export. `shapes` are those of the inputs
in the model's own layout. The note of an output has `scores` [golden][scores] with what they were computed
by, `outputs` (`outputs_of`), `input`, `checks` and `precision`, and as int8 `tensors`; or `unsupported`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.pixels import channels_of
from edgebench.errors import InputError, UnavailableError, UnsupportedError
from edgebench.prepare.workers import checking as agreement
from edgebench.prepare.workers import onnx_graph as graph
from edgebench.prepare.workers import onnx_running as running
from edgebench.prepare.workers.checking import (
    Feed,
    Scored,
    feeds_of,
    golden_feeds,
    note_or_refusal,
    require_finite,
)
from edgebench.prepare.workers.keras import build_keras, require_shapes
from edgebench.prepare.workers.onnx_graph import integer_input
from edgebench.prepare.workers.processes import Job, Report, serve

AS_WRITTEN = "ONNX Runtime without optimisations"
OPTIMISED = "ONNX Runtime"
FP16_LARGEST = float(np.finfo(np.float16).max)


def make(job: Job, report: Report) -> dict[str, Any]:
    """Make the file that the job asks for."""
    ((precision, file),) = job["outputs"].items()
    reads = job["step"] == "base" and job["kind"] == "onnx"
    report(f"reading {job['what']}" if reads else f"converting {job['what']}-{precision} to ONNX")
    step = _ready if reads else _STEPS[job["step"]]
    return {precision: note_or_refusal(partial(step, job, Path(file)))}


def _exported(job: Job, output: Path) -> dict[str, Any]:
    spec = _wanted_input(job)
    reference = export({**job, "input": spec}, output)[: job["n"]]
    kernels = _by_both(job, output, spec)
    check = agreement.compare("export", reference, kernels[0].rows)
    agreement.require(check, str(job["what"]), "report it: the converter and the runtime differ")
    by = "TensorFlow" if job["kind"] == "saved_model" else "Keras"
    return _note(job, "fp32", reference, f"{by} float32", spec, [check], kernels)


def _ready(job: Job, output: Path) -> dict[str, Any]:
    """A file of the user's, at a static batch and in the layout that is wanted; else as it is."""
    from edgebench.prepare.workers import onnx_graph as user_file

    source, spec = Path(job["path"]), _wanted_input(job)
    model = user_file.read(source)
    try:
        kernels = _by_both(job, source, job["input"])
    except InputError as error:
        raise user_file.batch_refusal(model, int(job["batch"]), str(job["what"])) or error from error
    reference = kernels[1].rows
    if job["precision"] == "fp16":
        _require_in_fp16(job, source, job["input"])
    layouts = None if spec is None else (str(job["input"]["layout"]), str(spec["layout"]))
    checks = []
    if user_file.make_ready(model, source, output, job["shapes"], layouts):
        scores = _computed(job, output, spec, optimised=False).rows
        checks.append(agreement.compare("ready", reference, scores))
        agreement.require(checks[0], str(job["what"]), "export it with a fixed batch")
    return _note(job, job["precision"], reference, AS_WRITTEN, spec, checks, kernels)


def _wanted_input(job: Job) -> dict[str, Any] | None:
    """The input of the base: the model's own, in the layout that is wanted."""
    return None if job["input"] is None else {**job["input"], "layout": job["layout"]}


def _fp16(job: Job, output: Path) -> dict[str, Any]:
    """Weights and arithmetic at 16 bits; input and output stay float32, as is the custom."""
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16
    from onnxruntime.transformers.onnx_model import OnnxModel

    note = job["base_note"]
    reference = np.asarray(note["scores"], np.float32)
    _require_in_fp16(job, Path(job["base"]), note["input"])
    model = convert_float_to_float16(onnx.load(job["base"]), keep_io_types=True)
    OnnxModel.graph_topological_sort(model.graph)  # casts of the inputs come last otherwise
    onnx.save(model, output)
    kernels = _by_both(job, output, note["input"])
    check = agreement.compare("fp16", reference, kernels[0].rows)
    fix = "take fp32 or int8: its numbers do not fit into 16 bits"
    agreement.require(check, str(job["what"]), fix)
    checks = [*note["checks"], check]
    return _note(job, "fp16", reference, note["reference"], note["input"], checks, kernels)


def _require_in_fp16(job: Job, file: Path, spec: Mapping[str, Any] | None) -> None:
    """UnsupportedError where a weight, or a value on a golden input, is larger than 16 bits hold."""
    feeds = golden_feeds(Path(job["golden"]), _shapes(job, spec), spec, job["tensors"])
    what, value = running.largest_value(file, feeds)
    if value > FP16_LARGEST:
        raise UnsupportedError(
            f"{job['what']} does not fit into fp16",
            why=f"{what} reaches {value:.4g}, and fp16 holds {FP16_LARGEST:,.0f}: more becomes infinite",
            fix="take fp32 or int8, or scale the input or the weights down (--input-scale)",
        )


def _int8(job: Job, output: Path) -> dict[str, Any]:
    note, form, file = job["base_note"], job["form"], Path(job["calibration"])
    spec = note["input"]
    feeds = feeds_of(file, _shapes(job, spec), spec, job["tensors"], cycle=True)
    quantisation = quantise(Path(job["base"]), output, feeds, form)
    spec = spec and {**spec, **quantisation}
    tensors = [{**tensor, **quantisation} for tensor in job["tensors"]]
    # Sums of integers are exact in any order, and without optimisations those of uint8 overflow on some
    # processors (see running.NO_SATURATION); pairs of Q and DQ round float operations, whose order matters.
    exact = form["int8"] == "qoperator" and form["activations"] == "uint8"
    kernels = [
        _computed({**job, "tensors": tensors}, output, spec, optimised=optimised, uint8=exact)
        for optimised in (exact, True)
    ]
    scores = kernels[0].rows
    check = agreement.compare("int8", np.asarray(note["scores"], np.float32), scores)
    fix = "take fp16, or calibrate on more images that are like those it will see"
    agreement.require(check, str(job["what"]), fix)
    reference = OPTIMISED if exact else AS_WRITTEN
    quantised = [quantisation] if len(tensors) == 1 else None  # else the inputs stay what they are
    return {
        **_note(job, "int8", scores, reference, spec, [*note["checks"], check], kernels),
        "tensors": quantised,
    }


def _by_both(job: Job, file: Path, spec: Mapping[str, Any] | None) -> list[Scored]:
    """The golden patches' scores with the runtime's optimisations, and without them."""
    return [_computed(job, file, spec, optimised=optimised) for optimised in (True, False)]


def _computed(
    job: Job, file: Path, spec: Mapping[str, Any] | None, *, optimised: bool = True, uint8: bool = False
) -> Scored:
    """Scores float32 [golden, scores] of the golden patches by a file whose input is as in `spec`."""
    feeds = golden_feeds(Path(job["golden"]), _shapes(job, spec), spec, job["tensors"])
    scored = running.run(file, feeds, int(job["batch"]), optimised=optimised, uint8=uint8)
    return scored._replace(rows=scored.rows[: job["n"]])


def _shapes(job: Job, spec: Mapping[str, Any] | None) -> list[list[int]]:
    """The inputs' shapes, of a picture in the layout of `spec`."""
    if spec is None:
        return [list(shape) for shape in job["shapes"]]
    batch, sides, channels = job["shapes"][0][0], [spec["height"], spec["width"]], channels_of(dict(spec))
    return [[batch, *sides, channels] if spec["layout"] == "NHWC" else [batch, channels, *sides]]


def _note(
    job: Job,
    precision: str,
    scores: NDArray[np.float32],
    reference: str,
    spec: Mapping[str, Any] | None,
    checks: list[Any],
    kernels: Sequence[Scored],
) -> dict[str, Any]:
    require_finite(scores, str(job["what"]))
    return {
        "outputs": agreement.outputs_of(scores, kernels),
        "precision": precision,
        "scores": scores.tolist(),
        "reference": reference,
        "input": None if spec is None else dict(spec),
        "checks": checks,
    }


_STEPS: Mapping[str, Callable[[Job, Path], dict[str, Any]]] = {
    "base": _exported,
    "fp16": _fp16,
    "int8": _int8,
}


# TensorFlow to ONNX at fp32, by tf2onnx; only for processes of their own.


INPUT_NAME, OUTPUT_NAME = "patches", "scores"


def export(job: Mapping[str, Any], output: Path) -> NDArray[np.float32]:
    """Write the network that the job names (see `build_keras`) as ONNX, and give TensorFlow's scores.

    Args:
        job: also `opset`, `batch`, `shapes` (of the inputs, the batch included, channels last), `golden` and
            `input` as `golden_feeds` takes them; the file gets the layout of `input`.
        output: a new file; `<name>.raw` is next to it meanwhile.

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
    feeds = golden_feeds(Path(job["golden"]), job["shapes"], channels_last, job["tensors"])
    scores = network.scores(feeds, job["batch"])

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


# ONNX fp32 to int8, by ONNX Runtime's static quantisation; only for processes of their own.


MULTIPLYING = ("Conv", "ConvTranspose", "Gemm", "MatMul")
# What `OnnxForm.explicit` asks for, in the quantiser's words.
EXPLICIT = {
    "op_types_to_quantize": MULTIPLYING,
    "extra_options": {
        "ActivationSymmetric": True,
        "AddQDQPairToWeight": True,
        "QuantizeBias": False,
        "OpTypesToExcludeOutputQuantization": list(MULTIPLYING),
    },
}


def quantise(
    source: Path, output: Path, calibration: Iterator[Feed], form: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the int8 file: weights per channel, activations by their least and largest values.

    Args:
        source: ONNX fp32 at a static batch.
        output: a new file.
        calibration: the float32 inputs, one tuple of arrays a call.
        form: `int8`, `activations`, `exclude`, `integer_input` and `explicit` of `OnnxForm`.

    Returns:
        What of the one input is changed: nothing, or `dtype`, `scale` and `zero_point`.
    """
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    model = onnx.load(source)
    graph.name_all(model)
    inputs = graph.inputs_of(model)
    names = [str(tensor.name) for tensor in inputs]
    excluded = graph.names_to_exclude(model, form["exclude"])

    class CalibrationReader(CalibrationDataReader):  # type: ignore[misc]  # the package has no types
        def get_next(self) -> dict[str, NDArray[Any]] | None:
            feed = next(calibration, None)
            return None if feed is None else dict(zip(names, feed, strict=True))

    integers = {"int8": QuantType.QInt8, "uint8": QuantType.QUInt8}
    with TemporaryDirectory() as folder:
        named, inferred = Path(folder) / "named.onnx", Path(folder) / "inferred.onnx"
        onnx.save(model, named)
        # What the runtime's guide asks for first; the symbolic part is for transformers.
        quant_pre_process(named, inferred, skip_symbolic_shape=True)
        quantize_static(
            inferred,
            output,
            CalibrationReader(),
            quant_format=QuantFormat.QDQ if form["int8"] == "qdq" else QuantFormat.QOperator,
            activation_type=integers[form["activations"]],
            weight_type=QuantType.QInt8,
            per_channel=True,
            nodes_to_exclude=excluded,
            **(EXPLICIT if form.get("explicit") else {}),
        )
    quantised = onnx.load(output)
    quantisation = integer_input(quantised) if form["integer_input"] and len(inputs) == 1 else None
    graph.keep_used_domains(quantised)
    onnx.save(quantised, output)
    return quantisation or {}


if __name__ == "__main__":
    serve(make)
