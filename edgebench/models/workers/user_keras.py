"""A user's .keras file or SavedModel: `python -m edgebench.models.workers.user_keras`.

Jobs come in as JSON lines (see `edgebench.models.workers.processes`)::

    {"what": text, "kind": "keras", "path": path, "shapes": [[...]], "input": InputSpec or null,
     "golden": path, "n": 5, "batch": 1, "calibration": path or null, "outputs": {"fp32": path}}

Each makes every file that `outputs` names, and answers with `scores`, `reference`, `steps` and the `input` of
each, or with `unsupported` where one cannot be made.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from edgebench.agent.outputs import Rows
from edgebench.errors import InputError, UnsupportedError
from edgebench.models.workers import litert
from edgebench.models.workers.convert import configure
from edgebench.models.workers.feeds import Feed, golden_feeds, picture_feeds
from edgebench.models.workers.keras_source import build_keras
from edgebench.models.workers.onnx import agreement
from edgebench.models.workers.processes import Job, Report, serve

_STEPS = {"fp32": "export", "fp16": "fp16", "int8": "int8"}


def answer(job: Job, report: Report) -> dict[str, Any]:
    """The files of one job."""
    import tensorflow as tf

    try:
        return _convert(tf, job, report)
    except UnsupportedError as error:
        refusal = {"unsupported": {"what": error.what, "why": error.why, "fix": error.fix}}
        return dict.fromkeys(job["outputs"], refusal)


def _convert(tf: Any, job: Job, report: Report) -> dict[str, Any]:
    network = build_keras(job)
    specs = [
        tf.TensorSpec(shape, one.dtype, name=f"input_{place}")
        for place, (shape, one) in enumerate(zip(job["shapes"], network.inputs, strict=True))
    ]
    traced = tf.function(network.call).get_concrete_function(*specs)
    feeds = golden_feeds(Path(job["golden"]), job["shapes"], job["input"])
    rows, batch = Rows(job["batch"]), job["batch"]
    exact = np.concatenate([rows.of([np.asarray(one) for one in network.call(*feed)]) for feed in feeds])
    if not np.isfinite(exact).all():
        raise InputError(
            f"{job['what']} gives scores that are no numbers",
            why="its golden patches cannot be compared with a device's",
            fix="check its input (--input-scale, --input-mean, --inputs) and the file",
        )
    made: dict[str, Any] = {}
    for precision, output in job["outputs"].items():
        report(f"converting {job['what']}-{precision}")
        # Without a trackable object the converter freezes the function itself, variables included.
        converter = tf.lite.TFLiteConverter.from_concrete_functions([traced])

        def representative() -> Any:
            patches = np.load(job["calibration"], mmap_mode="r")
            for feed in picture_feeds(patches, job["shapes"][0], job["input"], cycle=True):
                yield list(feed)

        configure(tf, converter, precision, representative)
        file = Path(output)
        try:
            file.write_bytes(converter.convert())
        except Exception as error:  # the converter's errors are its own
            made[precision] = {"unsupported": _not_converted(job["what"], precision, error)}
            continue
        try:
            made[precision] = _described(file, precision, feeds, exact, job, batch)
        except UnsupportedError as error:
            made[precision] = {"unsupported": {"what": error.what, "why": error.why, "fix": error.fix}}
    return made


def _described(
    file: Path, precision: str, feeds: list[Feed], exact: Any, job: Job, batch: int
) -> dict[str, Any]:
    details = litert.open_interpreter(file).get_input_details()
    given = litert.open_interpreter(file).get_output_details()
    shapes = [[int(side) for side in one["shape"]] for one in details]
    if shapes != [list(array.shape) for array in feeds[0]]:
        raise UnsupportedError(
            f"{job['what']} changes its inputs when it is converted",
            why=f"they become {shapes}: {', '.join(str(one['name']) for one in details)}"[:300],
        )
    found = litert.quantisation(details[0]) if len(details) == 1 else None
    taken_as: dict[str, Any] = {
        "dtype": np.dtype(details[0]["dtype"]).name,
        "scale": found and found[0],
        "zero_point": found and found[1],
    }
    told = {
        "input": taken_as,
        "steps": [one[0] for each in given if (one := litert.quantisation(each))],
    }
    if precision == "int8":
        feeds = golden_feeds(Path(job["golden"]), job["shapes"], {**job["input"], **taken_as})
    scores = litert.run(file, feeds, batch, reference=precision == "int8")
    check = agreement.compare(_STEPS[precision], exact[: job["n"]], scores[: job["n"]])
    if precision == "int8":
        # How well integers do is what the accuracy says: the agreement is stated, and forbids nothing.
        known = scores[: job["n"]].tolist()
        return {"scores": known, "reference": "LiteRT reference kernels", "check": check, **told}
    agreement.require(check, job["what"], "report it, with the model; another runtime may take it")
    return {"scores": exact[: job["n"]].tolist(), "reference": "Keras float32", "check": check, **told}


def _not_converted(what: str, precision: str, error: Exception) -> dict[str, str]:
    text = " ".join(str(error).split())
    return {
        "what": f"{what} cannot be converted to TFLite at {precision}",
        "why": text[:500] or type(error).__name__,
        "fix": "use operations that TFLite has built in, or take another runtime (--device onnxruntime)",
    }


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # the same numbers on every machine
    serve(answer)
