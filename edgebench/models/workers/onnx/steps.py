"""The steps in a process of its own: `python -m edgebench.models.workers.onnx.steps`.

Jobs come in as JSON lines (see `edgebench.models.workers.processes`), one a model, batch and layout::

    {"what": text, "kind": "family", ..., "batch": 1, "shapes": [[...]], "input": InputSpec or null,
     "golden": path, "n": 5, "have": null, "base": path, "fp16": path or null,
     "calibration": path or null, "int8": [{"output": path, "int8": "qdq", ...}]}

`kind` and what belongs to it are those of `edgebench.models.workers.keras_source.build_keras`, or `onnx` with
`path`, `precision` and `own_layout`. `shapes` are those of the inputs, in the model's own layout; `input`
has the layout that is wanted, and is null where the inputs are no picture. `base` is written unless
`have` is what was noted when it was made. The answer has a note for `base`, `fp16` and each of `int8`:
`scores` [golden][scores] with what they were computed by, `input`, `checks` and `precision`; or
`unsupported` with what, why and fix.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import InputError, UnsupportedError
from edgebench.models.workers.feeds import golden_feeds
from edgebench.models.workers.onnx import agreement, running
from edgebench.models.workers.processes import Job, Report, serve

AS_WRITTEN = "ONNX Runtime without optimisations"
OPTIMISED = "ONNX Runtime"


def make(job: Job, report: Report) -> dict[str, Any]:
    """Make every file that the job asks for."""
    what, base = str(job["what"]), Path(job["base"])
    if job["have"] is not None:
        note = dict(job["have"])
    elif job["kind"] == "onnx":
        report(f"reading {what}")
        note = _or_unsupported(partial(_ready, job, base))
    else:
        report(f"converting {what}-fp32 to ONNX")
        note = _or_unsupported(partial(_exported, job, base))
    made: dict[str, Any] = {"base": note, "fp16": None, "int8": []}
    if "unsupported" in note:
        return made
    if job["fp16"]:
        report(f"converting {what}-fp16 to ONNX")
        made["fp16"] = _or_unsupported(partial(_fp16, job, note))
    for form in job["int8"]:
        report(f"converting {what}-int8 to ONNX")
        made["int8"].append(_or_unsupported(partial(_int8, job, note, form)))
    return made


def _exported(job: Job, output: Path) -> dict[str, Any]:
    from edgebench.models.workers.onnx.export import export

    wanted = export(job, output)[: job["n"]]
    check = agreement.compare("export", wanted, _computed(job, output, job["input"]))
    agreement.require(check, str(job["what"]), "report it: the converter and the runtime differ")
    by = "TensorFlow" if job["kind"] == "saved_model" else "Keras"
    return _note("fp32", wanted, f"{by} float32", job["input"], [check])


def _ready(job: Job, output: Path) -> dict[str, Any]:
    """A file of the user's, at a static batch and in the layout that is wanted; else as it is."""
    from edgebench.models.workers.onnx import user_file

    given, spec = Path(job["path"]), job["input"]
    model = user_file.read(given)
    own = None if spec is None else {**spec, "layout": job["own_layout"]}
    wanted = _computed(job, given, own, optimised=False)
    layout = None if spec is None else (str(job["own_layout"]), str(spec["layout"]))
    checks = []
    if user_file.make_ready(model, given, output, job["shapes"], layout):
        found = _computed(job, output, spec, optimised=False)
        checks.append(agreement.compare("ready", wanted, found))
        agreement.require(checks[0], str(job["what"]), "export it with a fixed batch")
    return _note(job["precision"], wanted, AS_WRITTEN, spec, checks)


def _fp16(job: Job, note: Mapping[str, Any]) -> dict[str, Any]:
    """Weights and arithmetic at 16 bits; input and output stay float32, as is the custom."""
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    output, wanted = Path(job["fp16"]), np.asarray(note["scores"], np.float32)
    onnx.save(convert_float_to_float16(onnx.load(job["base"]), keep_io_types=True), output)
    check = agreement.compare("fp16", wanted, _computed(job, output, note["input"]))
    fix = "take fp32 or int8: its numbers do not fit into 16 bits"
    agreement.require(check, str(job["what"]), fix)
    return _note("fp16", wanted, note["reference"], note["input"], [*note["checks"], check])


def _int8(job: Job, note: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any]:
    from edgebench.models.workers.onnx.quantise import quantise

    output, images = Path(form["output"]), np.load(job["calibration"], mmap_mode="r")
    spec = {**note["input"], **quantise(Path(job["base"]), output, images, note["input"], form)}
    # Sums of integers are exact in any order, and without optimisations those of uint8 overflow on some
    # processors (see running.NO_SATURATION); pairs of Q and DQ round float operations, whose order matters.
    exact = form["int8"] == "qoperator" and form["activations"] == "uint8"
    found = _computed(job, output, spec, optimised=exact, uint8=exact)
    check = agreement.compare("int8", np.asarray(note["scores"], np.float32), found)
    fix = "take fp16, or calibrate on more images that are like those it will see"
    agreement.require(check, str(job["what"]), fix)
    return _note("int8", found, OPTIMISED if exact else AS_WRITTEN, spec, [*note["checks"], check])


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
    precision: str,
    scores: NDArray[np.float32],
    reference: str,
    spec: Mapping[str, Any] | None,
    checks: list[Any],
) -> dict[str, Any]:
    if not np.isfinite(scores).all():
        raise InputError(
            "the model's scores of the golden patches are not all numbers",
            fix="check its input (--input-scale, --input-mean, --inputs) and the file",
        )
    return {
        "precision": precision,
        "scores": scores.tolist(),
        "reference": reference,
        "input": None if spec is None else dict(spec),
        "checks": checks,
    }


def _or_unsupported(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return work()
    except UnsupportedError as error:
        return {"unsupported": {"what": error.what, "why": error.why, "fix": error.fix}}


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # the same numbers on every machine
    serve(make)
