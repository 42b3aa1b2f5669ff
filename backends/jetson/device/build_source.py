"""Which file an engine is built from, and what obliges TensorRT to its precision (Python 3.6 syntax).

TensorRT up to 10 takes the precision as a flag of the build and computes int8's ranges itself, by a
calibrator; from 11 on the file decides alone. The library is asked what it has, its version decides nothing.

| precision | file | flags |
| --- | --- | --- |
| fp32 | the artifact | none; TF32 is off, for all precisions |
| fp16 | the artifact, where there is the flag FP16 | FP16, and FP16 for each layer with weights |
| fp16 | else the companion half.onnx | none: the file's tensors are of 16 bits |
| int8, calibrator | the companions float.onnx, calibration.npy | INT8, and INT8 for each layer with weights |
| int8, Q/DQ | the artifact | INT8 where there is such a flag: the file's nodes say what is int8 |
"""

from typing import Any, Dict, NamedTuple, Optional

HALF, FLOAT = "half.onnx", "float.onnx"
BY_MODEL, BY_FLAG, BY_CALIBRATOR, BY_QDQ = "model", "flag", "calibrator", "qdq"

NO_CALIBRATOR = (
    "int8=calibrator was asked for, and TensorRT {} has no IInt8EntropyCalibrator2: releases from 11 on take "
    "int8 as Q/DQ nodes alone; take --set int8=qdq, or auto"
)
NOT_CALIBRATABLE = (
    "int8=calibrator was asked for, and the artifact has no {}: a file that is int8 already has its own "
    "ranges; take --set int8=qdq, or auto"
)
NO_HALF = (
    "TensorRT {} has no flag for fp16 and the artifact has no {}: give a model that is fp16 in its file, "
    "or measure fp32"
)

Source = NamedTuple(
    "Source",
    [
        ("path", str),
        ("kind", str),  # model, flag, calibrator or qdq: where the precision comes from
        ("flag", Optional[str]),  # of trt.BuilderFlag
        ("layer_precision", Optional[str]),  # of trt.DataType, for each layer with weights; None: the file's
        ("calibration", Optional[str]),  # path of the calibrator's pictures
    ],
)


class BuildRefused(ValueError):
    """What was asked for cannot be built here; the message says what can."""


def source_of(
    trt: Any, artifact: str, precision: str, int8: str, companions: Dict[str, str], calibration: Optional[str]
) -> Source:
    """What to build from.

    Args:
        trt: the library.
        artifact: path of the artifact.
        precision: fp32, fp16 or int8.
        int8: auto, calibrator or qdq.
        companions: paths by name.
        calibration: path of the pictures for the calibrator.

    Raises:
        BuildRefused: this TensorRT, or this artifact, lacks what the precision needs.
    """
    if precision == "fp32":
        return Source(artifact, BY_MODEL, None, None, None)
    if precision == "fp16":
        return _half(trt, artifact, companions)
    has_calibrator = hasattr(trt, "IInt8EntropyCalibrator2") and hasattr(trt.BuilderFlag, "INT8")
    lacks = [
        name for name, path in ((FLOAT, companions.get(FLOAT)), ("calibration", calibration)) if not path
    ]
    if int8 == "calibrator" and not has_calibrator:
        raise BuildRefused(NO_CALIBRATOR.format(trt.__version__))
    if int8 == "calibrator" and lacks:
        raise BuildRefused(NOT_CALIBRATABLE.format(" and no ".join(lacks)))
    if int8 != "qdq" and has_calibrator and not lacks:
        return Source(companions[FLOAT], BY_CALIBRATOR, "INT8", "INT8", calibration)
    return Source(artifact, BY_QDQ, "INT8" if hasattr(trt.BuilderFlag, "INT8") else None, None, None)


def _half(trt: Any, artifact: str, companions: Dict[str, str]) -> Source:
    if hasattr(trt.BuilderFlag, "FP16"):
        return Source(artifact, BY_FLAG, "FP16", "HALF", None)
    if HALF not in companions:
        raise BuildRefused(NO_HALF.format(trt.__version__, HALF))
    return Source(companions[HALF], BY_MODEL, None, None, None)
