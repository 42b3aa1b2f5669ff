"""From trained weights to .tflite, in a process of its own: `python -m edgebench.models.convert`.

Jobs come in as JSON lines (see `edgebench.models.processes`), one a depth multiplier and batch::

    {"what": text, "depth_multiplier": 0.25, "batch": 1, "weights": path, "golden": path,
     "calibration": path or null, "outputs": {"fp32": path, "int8": path}}

`calibration` and `golden` are .npy of uint8 [n, 224, 224, 3]. The answer has, for each precision,
`scores` [golden][classes] and what they were computed by.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.models import litert, mobilenet
from edgebench.models.processes import Job, Report, serve

INT8_SCALE = 1 / 127.5
INT8_ZERO_POINT = -1


def convert(job: Job, report: Report) -> dict[str, Any]:
    """Make every file that the job asks for."""
    import tensorflow as tf

    # Keras counts the models of a process into the names in the file: every job begins to count anew,
    # so that a variant's file is the same whatever was converted before it.
    tf.keras.backend.clear_session()
    model = mobilenet.build(job["depth_multiplier"])
    mobilenet.load(model, Path(job["weights"]))
    golden = np.load(job["golden"])
    float_scores = np.asarray(model(_as_float(golden), training=False))
    shape = (job["batch"], *golden.shape[1:])
    # The function is traced at its batch, so that nothing in the graph asks for a shape at run time.
    traced = tf.function(lambda patches: model(patches, training=False)).get_concrete_function(
        tf.TensorSpec(shape, tf.float32, name="patches")
    )
    made: dict[str, Any] = {}
    for precision, output in job["outputs"].items():
        report(f"converting mobilenet_v1-{job['depth_multiplier']}-{precision}")
        # Without a trackable object the converter freezes the function itself: 0.3 s instead of 4 s.
        converter = tf.lite.TFLiteConverter.from_concrete_functions([traced])
        _configure(tf, converter, precision, job)
        file = Path(output)
        file.write_bytes(converter.convert())
        if precision == "int8":
            _check_input(file)
            scores = litert.score(file, golden, reference=True, batch=1)
            made[precision] = {"scores": scores.tolist(), "reference": "LiteRT reference kernels"}
        else:
            made[precision] = {"scores": float_scores.tolist(), "reference": "Keras float32"}
    return made


def _configure(tf: Any, converter: Any, precision: str, job: Mapping[str, Any]) -> None:
    if precision == "fp32":
        return
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if precision == "fp16":
        converter.target_spec.supported_types = [tf.float16]
        return
    patches, batch = np.load(job["calibration"], mmap_mode="r"), int(job["batch"])

    def representative() -> Iterator[list[NDArray[np.float32]]]:
        # The last batch is filled up from the front: minima and maxima stay those of the whole set.
        for start in range(0, len(patches), batch):
            yield [_as_float(patches[np.arange(start, start + batch) % len(patches)])]

    converter.representative_dataset = representative
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8


def _as_float(patches: NDArray[np.uint8]) -> NDArray[np.float32]:
    return patches.astype(np.float32) / np.float32(127.5) - np.float32(1)


def _check_input(file: Path) -> None:
    """Preprocessing is pixel - 128 on every device, so the input must be quantised just so."""
    dtype, scale, zero_point = litert.input_quantisation(file)
    if dtype != "int8" or abs(scale - INT8_SCALE) > 1e-6 or zero_point != INT8_ZERO_POINT:
        raise RuntimeError(
            f"the converted input is {dtype} with scale {scale} and zero point {zero_point}, "
            f"not int8 with {INT8_SCALE} and {INT8_ZERO_POINT}: the calibration set lacks black or white"
        )


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # the same numbers on every machine
    serve(convert)
