"""A model as ONNX, in a process of its own: `python -m edgebench.models.workers.onnx.steps`.

Jobs come in as JSON lines (see `edgebench.models.workers.processes`), one a file::

    {"what": text, "step": "base", "kind": "family", ..., "layout": "NHWC", "outputs": {"fp32": path}, ...}
    {"what": text, "step": "fp16", "base": path, "base_note": {...}, "outputs": {"fp16": path}, ...}
    {"what": text, "step": "int8", "base": path, "base_note": {...}, "calibration": path,
     "form": {"int8": "qdq", ...}, "outputs": {"int8": path}, ...}

All have `"batch": 1, "shapes": [[...]], "golden": path, "n": 5`. Of a base, `kind` and what belongs to it
are those of `edgebench.models.workers.keras_source.build_keras`, or `onnx` with `path` and `precision`;
`input` is its InputSpec in the model's own layout, or null where the inputs are no picture, and `layout` the
one that is wanted; `opset` is that of an export. `shapes` are those of the inputs in the model's own layout.
The note of an output has `scores` [golden][scores] with what they were computed by, `input`, `checks` and
`precision`; or `unsupported`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.models.workers import agreement
from edgebench.models.workers.feeds import golden_feeds
from edgebench.models.workers.notes import note_or_refusal, require_finite
from edgebench.models.workers.onnx import running
from edgebench.models.workers.processes import Job, Report, serve

AS_WRITTEN = "ONNX Runtime without optimisations"
OPTIMISED = "ONNX Runtime"


def make(job: Job, report: Report) -> dict[str, Any]:
    """Make the file that the job asks for."""
    ((precision, file),) = job["outputs"].items()
    reads = job["step"] == "base" and job["kind"] == "onnx"
    report(f"reading {job['what']}" if reads else f"converting {job['what']}-{precision} to ONNX")
    step = _ready if reads else _STEPS[job["step"]]
    return {precision: note_or_refusal(partial(step, job, Path(file)))}


def _exported(job: Job, output: Path) -> dict[str, Any]:
    from edgebench.models.workers.onnx.export import export

    spec = _wanted_input(job)
    reference = export({**job, "input": spec}, output)[: job["n"]]
    check = agreement.compare("export", reference, _computed(job, output, spec))
    agreement.require(check, str(job["what"]), "report it: the converter and the runtime differ")
    by = "TensorFlow" if job["kind"] == "saved_model" else "Keras"
    return _note(job, "fp32", reference, f"{by} float32", spec, [check])


def _ready(job: Job, output: Path) -> dict[str, Any]:
    """A file of the user's, at a static batch and in the layout that is wanted; else as it is."""
    from edgebench.models.workers.onnx import user_file

    source, spec = Path(job["path"]), _wanted_input(job)
    model = user_file.read(source)
    reference = _computed(job, source, job["input"], optimised=False)
    layouts = None if spec is None else (str(job["input"]["layout"]), str(spec["layout"]))
    checks = []
    if user_file.make_ready(model, source, output, job["shapes"], layouts):
        scores = _computed(job, output, spec, optimised=False)
        checks.append(agreement.compare("ready", reference, scores))
        agreement.require(checks[0], str(job["what"]), "export it with a fixed batch")
    return _note(job, job["precision"], reference, AS_WRITTEN, spec, checks)


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
    model = convert_float_to_float16(onnx.load(job["base"]), keep_io_types=True)
    OnnxModel.graph_topological_sort(model.graph)  # casts of the inputs come last otherwise
    onnx.save(model, output)
    check = agreement.compare("fp16", reference, _computed(job, output, note["input"]))
    fix = "take fp32 or int8: its numbers do not fit into 16 bits"
    agreement.require(check, str(job["what"]), fix)
    return _note(job, "fp16", reference, note["reference"], note["input"], [*note["checks"], check])


def _int8(job: Job, output: Path) -> dict[str, Any]:
    from edgebench.models.workers.onnx.quantise import quantise

    note, form, images = job["base_note"], job["form"], np.load(job["calibration"], mmap_mode="r")
    spec = {**note["input"], **quantise(Path(job["base"]), output, images, note["input"], form)}
    # Sums of integers are exact in any order, and without optimisations those of uint8 overflow on some
    # processors (see running.NO_SATURATION); pairs of Q and DQ round float operations, whose order matters.
    exact = form["int8"] == "qoperator" and form["activations"] == "uint8"
    scores = _computed(job, output, spec, optimised=exact, uint8=exact)
    check = agreement.compare("int8", np.asarray(note["scores"], np.float32), scores)
    fix = "take fp16, or calibrate on more images that are like those it will see"
    agreement.require(check, str(job["what"]), fix)
    return _note(job, "int8", scores, OPTIMISED if exact else AS_WRITTEN, spec, [*note["checks"], check])


def _computed(
    job: Job, file: Path, spec: Mapping[str, Any] | None, *, optimised: bool = True, uint8: bool = False
) -> NDArray[np.float32]:
    """Scores float32 [golden, scores] of the golden patches by a file whose input is as in `spec`."""
    shapes = [list(shape) for shape in job["shapes"]]
    if spec is not None:
        batch, sides = shapes[0][0], [spec["height"], spec["width"]]
        shapes = [[batch, *sides, 3] if spec["layout"] == "NHWC" else [batch, 3, *sides]]
    feeds = golden_feeds(Path(job["golden"]), shapes, spec)
    return running.run(file, feeds, int(job["batch"]), optimised=optimised, uint8=uint8)[: job["n"]]


def _note(
    job: Job,
    precision: str,
    scores: NDArray[np.float32],
    reference: str,
    spec: Mapping[str, Any] | None,
    checks: list[Any],
) -> dict[str, Any]:
    require_finite(scores, str(job["what"]))
    return {
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


if __name__ == "__main__":
    serve(make)
