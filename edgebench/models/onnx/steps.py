"""The steps in a process of its own: `python -m edgebench.models.onnx.steps`.

Jobs come in as JSON lines (see `edgebench.models.processes`), one a model, batch and layout::

    {"what": text, "kind": "family", ..., "batch": 1, "input": {...}, "golden": path,
     "have": null, "base": path, "fp16": path or null, "calibration": path or null,
     "int8": [{"output": path, "int8": "qdq", ...}]}

`kind` and what belongs to it are those of `edgebench.models.keras_source.build_keras`, or `onnx` with
`path`. `base` is written unless `have` says that it is there: then `have` is what was noted when it was
made. The answer has a note for `base`, `fp16` and each of `int8`: `scores` [golden][scores] with what they
were computed by, `input` as `InputSpec` has it, `checks`, and `precision`; or `unsupported` with what, why
and fix.
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
from edgebench.models.onnx import agreement, running
from edgebench.models.processes import Job, Report, serve

AS_WRITTEN = "ONNX Runtime without optimisations"


def make(job: Job, report: Report) -> dict[str, Any]:
    """Make every file that the job asks for."""
    what, golden = str(job["what"]), np.load(job["golden"])
    base = Path(job["base"])
    if job["have"] is not None:
        note = dict(job["have"])
    elif job["kind"] == "onnx":
        report(f"reading {what}")
        note = _or_unsupported(lambda: _ready(job, golden, base))
    else:
        report(f"converting {what}-fp32 to ONNX")
        note = _or_unsupported(lambda: _exported(job, golden, base))
    made: dict[str, Any] = {"base": note, "fp16": None, "int8": []}
    if job["fp16"]:
        report(f"converting {what}-fp16 to ONNX")
        output = Path(job["fp16"])
        made["fp16"] = _from_float(note, "fp16", lambda: _fp16(what, note, base, output, golden))
    for form in job["int8"]:
        report(f"converting {what}-int8 to ONNX")
        made["int8"].append(_from_float(note, "int8", partial(_int8, job, note, form, golden)))
    return made


def _exported(job: Job, golden: NDArray[np.uint8], output: Path) -> dict[str, Any]:
    from edgebench.models.onnx.export import export

    wanted = export(job, output)
    found = running.score(output, golden, job["input"])
    check = agreement.compare("export", wanted, found)
    agreement.require(check, str(job["what"]), "report it: the converter and the runtime differ")
    return _note("fp32", wanted, "Keras float32", job["input"], [check])


def _ready(job: Job, golden: NDArray[np.uint8], output: Path) -> dict[str, Any]:
    """A file of the user's, at a static batch and in the layout that is wanted; else as it is."""
    from edgebench.models.onnx import user_file

    given = Path(job["path"])
    model = user_file.read(given)
    spec = dict(job["input"])
    own = {**spec, "layout": job["own_layout"]}
    wanted = running.score(given, golden, own, optimised=False, batch=int(job["batch"]))
    changed, precision = user_file.make_ready(
        model, given, output, int(job["batch"]), own, str(spec["layout"])
    )
    checks = []
    if changed:
        found = running.score(output, golden, spec, optimised=False)
        checks.append(agreement.compare("ready", wanted, found))
        agreement.require(checks[0], str(job["what"]), "export it with a static batch")
    return _note(precision, wanted, AS_WRITTEN, spec, checks)


def _fp16(
    what: str, note: Mapping[str, Any], base: Path, output: Path, golden: NDArray[np.uint8]
) -> dict[str, Any]:
    """Weights and arithmetic at 16 bits; input and output stay float32, as everywhere in the field."""
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(base), keep_io_types=True), output)
    check = agreement.compare("fp16", _scores(note), running.score(output, golden, note["input"]))
    agreement.require(check, what, "take fp32 or int8: its numbers do not fit into 16 bits")
    return _note("fp16", _scores(note), note["reference"], note["input"], [*note["checks"], check])


def _int8(
    job: Job, note: Mapping[str, Any], form: Mapping[str, Any], golden: NDArray[np.uint8]
) -> dict[str, Any]:
    from edgebench.models.onnx.quantise import quantise

    output = Path(form["output"])
    taken = quantise(
        Path(job["base"]), output, np.load(job["calibration"], mmap_mode="r"), note["input"], form
    )
    spec = {**note["input"], **taken}
    found = running.score(output, golden, spec, optimised=False)
    check = agreement.compare("int8", _scores(note), found)
    fix = "take fp16, or calibrate on more images that are like those it will see"
    agreement.require(check, str(job["what"]), fix)
    return _note("int8", found, AS_WRITTEN, spec, [*note["checks"], check])


def _note(
    precision: str, scores: NDArray[np.float32], reference: str, spec: Mapping[str, Any], checks: list[Any]
) -> dict[str, Any]:
    if not np.isfinite(scores).all():
        raise InputError(
            "the model's scores of the golden patches are not all numbers",
            fix="look at its weights, and at the scale of its input",
        )
    return {
        "precision": precision,
        "scores": scores.tolist(),
        "reference": reference,
        "input": dict(spec),
        "checks": checks,
    }


def _scores(note: Mapping[str, Any]) -> NDArray[np.float32]:
    return np.asarray(note["scores"], np.float32)


def _from_float(
    note: Mapping[str, Any], precision: str, work: Callable[[], dict[str, Any]]
) -> dict[str, Any] | None:
    """The step's note; None where the base is no float32 to begin from, or there is none."""
    return _or_unsupported(work) if note.get("precision") == "fp32" else None


def _or_unsupported(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return work()
    except UnsupportedError as error:
        return {"unsupported": {"what": error.what, "why": error.why, "fix": error.fix}}


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # the same numbers on every machine
    serve(make)
