"""From trained weights to .tflite, in a process of its own: `python -m edgebench.models.workers.convert`.

Jobs come in as JSON lines (see `edgebench.models.workers.processes`), one a depth multiplier and batch::

    {"what": text, "family": name, "depth_multiplier": 0.25, "classes": 5, "batch": 1,
     "weights": path or null, "published": true, "input": InputSpec, "golden": path,
     "calibration": path or null, "outputs": {"fp32": path, "int8": path}}

`calibration` and `golden` are .npy of uint8 [n, 224, 224, 3]; without `weights` random ones are drawn, and
`published` asks for the published quantisation of the input. The answer has, for each precision, `scores`
[golden][classes], what they were computed by, and the quantisation of an int8 `input`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from edgebench.models.families import networks
from edgebench.models.workers import litert
from edgebench.models.workers.feeds import picture_feeds
from edgebench.models.workers.processes import Job, Report, serve

INT8_SCALE = 1 / 127.5
INT8_ZERO_POINT = -1


def convert(job: Job, report: Report) -> dict[str, Any]:
    """Make every file that the job asks for."""
    import tensorflow as tf

    # Keras counts the models of a process into the names in the file: every job begins to count anew,
    # so that a variant's file is the same whatever was converted before it.
    tf.keras.backend.clear_session()
    weights = None if job["weights"] is None else Path(job["weights"])
    model = networks.ready(job["family"], job["depth_multiplier"], weights, classes=job["classes"])
    golden, spec = np.load(job["golden"]), job["input"]
    ((taken,),) = picture_feeds(golden, golden.shape, spec)
    float_scores = np.asarray(model(taken, training=False))
    shape = (job["batch"], *golden.shape[1:])
    # The function is traced at its batch, so that nothing in the graph asks for a shape at run time.
    traced = tf.function(lambda patches: model(patches, training=False)).get_concrete_function(
        tf.TensorSpec(shape, tf.float32, name="patches")
    )
    made: dict[str, Any] = {}
    for precision, output in job["outputs"].items():
        report(f"converting {job['what']}-{precision}")
        # Without a trackable object the converter freezes the function itself: 0.3 s instead of 4 s.
        converter = tf.lite.TFLiteConverter.from_concrete_functions([traced])

        def representative() -> Iterator[list[Any]]:
            # The last batch is filled up from the front: minima and maxima stay those of the whole set.
            patches = np.load(job["calibration"], mmap_mode="r")
            for feed in picture_feeds(patches, shape, spec, cycle=True):
                yield list(feed)

        configure(tf, converter, precision, representative)
        file = Path(output)
        file.write_bytes(converter.convert())
        if precision == "int8":
            dtype, scale, zero_point = litert.input_quantisation(file)
            taken_as = {"dtype": dtype, "scale": scale, "zero_point": zero_point}
            if job["published"]:
                _check_input(dtype, scale, zero_point)
            scores = litert.score(file, golden, reference=True, batch=1, spec={**spec, **taken_as})
            made[precision] = {
                "scores": scores.tolist(),
                "reference": "LiteRT reference kernels",
                "input": taken_as,
            }
        else:
            made[precision] = {"scores": float_scores.tolist(), "reference": "Keras float32"}
    return made


def configure(
    tf: Any, converter: Any, precision: str, representative: Callable[[], Iterator[list[Any]]]
) -> None:
    """Tell TFLite's converter a precision; `representative` gives inputs for int8's ranges."""
    if precision == "fp32":
        return
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if precision == "fp16":
        converter.target_spec.supported_types = [tf.float16]
        return
    converter.representative_dataset = representative
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8


def _check_input(dtype: str, scale: float, zero_point: int) -> None:
    """Preprocessing is pixel - 128 on every device, so the input must be quantised just so."""
    if dtype != "int8" or abs(scale - INT8_SCALE) > 1e-6 or zero_point != INT8_ZERO_POINT:
        raise RuntimeError(
            f"the converted input is {dtype} with scale {scale} and zero point {zero_point}, "
            f"not int8 with {INT8_SCALE} and {INT8_ZERO_POINT}: the calibration set lacks black or white"
        )


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # the same numbers on every machine
    serve(convert)
