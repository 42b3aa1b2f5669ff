"""Which file an engine is built from, and what obliges TensorRT to its precision (Python 3.6 syntax).

TensorRT up to 10 takes the precision as a flag of the build and computes int8's ranges itself, by a
calibrator; from 11 on the file decides alone. The library is asked what it has, its version decides nothing.

| precision | file | flags |
| --- | --- | --- |
| fp32 | the artifact | none; TF32 is off, for all precisions |
| fp16 | the artifact, where there is the flag FP16 | FP16, and FP16 for each layer with weights |
| fp16 | else the companion half.onnx | none: the file's tensors are of 16 bits |
| int8, calibrator | the companions float.onnx, calibration.npy | INT8, and INT8 for each convolution |
| int8, Q/DQ | the artifact | INT8 where there is such a flag: the file's nodes say what is int8 |
"""

import json
import re
from collections import Counter, deque
from typing import Any, Callable, Deque, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set

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


# What TensorRT logs while it parses and builds (device side, Python 3.6 syntax).


LAYERS_FOLLOW = "Engine Layer Information:"
LAYER = "Layer("
TIMED = "Timing Runner:"
"""Text of the verbose line that begins the timing of one layer's implementations."""

OUT_OF_MEMORY = (
    "outofmemory",
    "out of memory",
    "insufficient memory",
    "insuficient memory",  # as TensorRT 8 spells it where it skips a tactic
    "memory is insufficient",
    "could not be allocated",
    "cudaerrormemoryallocation",
)
MOST_LINES = 50
MOST_TEXT = 400


class BuildLog:
    """Errors and warnings, and the verbose lines that say how each layer was built. Thread-safe.

    Args:
        step: called with a text when the timing of a layer's implementations begins; raises nothing.

    Attributes:
        errors, warnings: the last lines of each.
        layers: lines `Layer(KIND): NAME, Tactic: 0x0, IN[TYPE(...)] -> OUT[TYPE(...)]` of the last engine.
    """

    def __init__(self, step: Optional[Callable[[str], Any]] = None) -> None:
        self.errors: Deque[str] = deque(maxlen=MOST_LINES)
        self.warnings: Deque[str] = deque(maxlen=MOST_LINES)
        self.layers: List[str] = []
        self._step = step

    def verbose(self, text: str) -> None:
        """Take in a verbose message, of one or several lines."""
        if TIMED in text:
            if self._step is not None:
                self._step("timing " + in_one_line(text.partition(TIMED)[2]))
        elif text.lstrip().startswith((LAYERS_FOLLOW, LAYER)):
            kept = [] if text.lstrip().startswith(LAYERS_FOLLOW) else self.layers
            self.layers = kept + [line for line in text.splitlines() if line.startswith(LAYER)]

    def says_out_of_memory(self) -> bool:
        """Whether memory ran out, by what was logged.

        A build that succeeds may log it too, of an implementation that was left out for it.
        """
        lines = [line.lower() for line in list(self.errors) + list(self.warnings)]
        return any(words in line for line in lines for words in OUT_OF_MEMORY)

    def last_errors(self, count: int = 3) -> str:
        """The last errors, in one line; without errors, the last warnings."""
        lines = list(self.errors) or list(self.warnings)
        return "; ".join(map(in_one_line, lines[-count:])) or "TensorRT logged no reason"


def logger_of(trt: Any, log: BuildLog) -> Any:
    """A logger for TensorRT's objects that writes to `log`.

    TensorRT calls it from its own threads, in functions that end the process when an exception leaves them.
    """
    level = trt.Logger  # 8.0 has its severities here alone

    class Logger(trt.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: Any, msg: str) -> None:
            if severity in (level.INTERNAL_ERROR, level.ERROR):
                log.errors.append(msg)
            elif severity == level.WARNING:
                log.warnings.append(msg)
            elif severity == level.VERBOSE:
                log.verbose(msg)

    return Logger()


def in_one_line(text: str) -> str:
    """Without line ends, and cut."""
    return " ".join(text.split())[:MOST_TEXT]


# Which precision each layer of an engine computes in, by TensorRT (device side, Python 3.6 syntax).
#
# Two sources: the engine inspector's JSON (TensorRT 8.2 on), and the verbose log of the build. What
# TensorRT
# was asked for is no source: it may build another precision all the same.


UNKNOWN = "unknown"

# In the inspector's words ("Thirty-two wide channel vectorized row major Int8 format", "Half") and the log's.
PRECISIONS = (
    ("int8", ("int8", "uint8")),
    ("fp16", ("fp16", "half", "float16")),
    ("bf16", ("bf16", "bfloat16")),
    ("fp8", ("fp8", "fp8e4m3", "float8")),
    ("int4", ("int4",)),
    ("fp32", ("fp32", "float", "float32", "tf32")),
    ("int32", ("int32",)),
    ("int64", ("int64",)),
    ("bool", ("bool",)),
)
MULTIPLIES = re.compile(r"conv|gemm|matrixmultiply|matmul|fullyconnected|innerproduct", re.IGNORECASE)
COPIES = re.compile(r"reformat|noop|constant|shuffle|copy", re.IGNORECASE)
# A region that a compiler of its own fuses, or foreign code: what goes in and out says nothing of its inside.
OPAQUE = re.compile(r"myelin|foreignnode|plugin", re.IGNORECASE)

_LOGGED = re.compile(r"Layer\(([^)]*)\): ")
_TACTIC = ", Tactic: "
_LOGGED_TYPE = re.compile(r"[\[(]([A-Za-z0-9]+)[(\[]")  # [Float(1,3)], of later releases (Float[1,3])
_ONNX_LAYER = "[ONNX Layer: "
_FUSED = re.compile(r" \+ | \|\| ")

Layer = NamedTuple(
    "Layer",
    [
        ("name", str),
        ("kind", str),  # TensorRT's: CaskConvolution, Reformat, ...
        ("precision", str),  # fp32, fp16, int8, ..., or unknown
        ("origins", Set[str]),  # the network's layers that were fused into it, as far as it says
    ],
)


def of_inspector(text: str) -> List[Layer]:
    """The layers in what `get_engine_information(JSON)` gives.

    None of them where the engine holds no more than names, or where this is no such JSON.
    """
    try:
        layers = json.loads(text)["Layers"]
        return [_inspected(layer) for layer in layers if isinstance(layer, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def of_log(lines: Iterable[str]) -> List[Layer]:
    """The layers in a verbose log's lines below `Engine Layer Information:`."""
    logged = map(_logged, lines)
    return [layer for layer in logged if layer is not None]


def precision_of(text: str) -> str:
    """The precision that a data type or a tensor's format names; unknown where it names none."""
    words = set(re.findall(r"[a-z0-9]+", text.lower()))
    return next((precision for precision, names in PRECISIONS if words.intersection(names)), UNKNOWN)


def count_by_precision(layers: Sequence[Layer]) -> Dict[str, int]:
    """How many layers compute in each precision, without those that only copy."""
    return dict(Counter(layer.precision for layer in layers if not COPIES.search(layer.kind)))


def multiplying(layers: Sequence[Layer], excepted: Set[str]) -> List[Layer]:
    """The layers that compute with weights: convolutions and matrix products.

    Args:
        layers: of the engine.
        excepted: the network's layers that are not meant, such as attention's products without weights.
    """
    return [
        layer
        for layer in layers
        if MULTIPLIES.search(layer.kind)
        and not COPIES.search(layer.kind)
        and not layer.origins.intersection(excepted)
    ]


def unseen(layers: Sequence[Layer], names: Sequence[str]) -> List[str]:
    """Those of the network's layers that the engine does not name, such as those inside a fused region."""
    seen = [layer.origins for layer in layers if not COPIES.search(layer.kind)]
    return [name for name in names if not any(name in origins for origins in seen)]


def _inspected(layer: Dict[str, Any]) -> Layer:
    kinds = [str(layer.get(key, "")) for key in ("LayerType", "ParameterType")]
    name, weights = str(layer.get("Name", "")), layer.get("Weights")
    # The metadata has `[ONNX Layer: NAME]`, perhaps several times.
    tagged = [part.partition("]") for part in str(layer.get("Metadata", "")).split(_ONNX_LAYER)[1:]]
    origins = set(_FUSED.split(name)) | {layer_name for layer_name, bracket, _ in tagged if bracket}
    types = [_tensor_type(tensor) for tensor in layer.get("Inputs") or []][:1]
    types += [str(weights["Type"])] if isinstance(weights, dict) and "Type" in weights else []
    types += [_tensor_type(tensor) for tensor in layer.get("Outputs") or []]
    kind = kinds[0] if MULTIPLIES.search(kinds[0]) or not MULTIPLIES.search(kinds[1]) else kinds[1]
    return Layer(name, kind, _precision(kind, types), origins)


def _tensor_type(tensor: Any) -> str:
    if not isinstance(tensor, dict):
        return ""
    return str(tensor.get("Format/Datatype") or tensor.get("Datatype") or "")


def _logged(line: str) -> Optional[Layer]:
    """`Layer(KIND): NAME, Tactic: 0x0, INPUTS -> OUTPUTS`; None for another line.

    Not by one pattern: a name of some kilobytes, which the model decides, would take it minutes.
    """
    head = _LOGGED.match(line)
    name, tactic, tensors = line[head.end() if head else 0 :].rpartition(_TACTIC)
    inputs, arrow, outputs = tensors.partition(",")[2].partition("-> ")
    if head is None or not tactic or not arrow:
        return None
    kind = head.group(1)
    types = _LOGGED_TYPE.findall(inputs)[:1] + _LOGGED_TYPE.findall(outputs)
    return Layer(name, kind, _precision(kind, types), set(_FUSED.split(name)))


def _precision(kind: str, types: Sequence[str]) -> str:
    """The first that is known: of the first input, else of the weights, else of the outputs.

    A layer computes in the type of its first input: weights may be kept in a narrower one than they are used.
    """
    if OPAQUE.search(kind):
        return UNKNOWN
    return next((precision for precision in map(precision_of, types) if precision != UNKNOWN), UNKNOWN)


# Why no engine came of a build, and what to do (device side, Python 3.6 syntax).


INSTEAD: Dict[str, str] = {
    BY_FLAG: "measure --precision fp32 on this board, or fp16 on one with 16-bit arithmetic",
    BY_CALIBRATOR: "take the Q/DQ model (--set int8=qdq), or measure --precision fp16",
    BY_QDQ: "take the calibrator of TensorRT before 11 (--set int8=calibrator), or measure --precision fp16",
}
ANOTHER_MODEL = "give a model whose file has that precision, or measure another one"
MEMORY_FIX = "end other programs, build at a smaller --batch, or limit the workspace (--set workspace_mb=64)"
MOST_NAMED = 8
MOST_NAME = 80  # of a name: those of fused layers join the names of all that went in


class BuildFailed(RuntimeError):
    """TensorRT gave no engine."""


class OutOfMemory(BuildFailed):
    """Memory ran out while TensorRT built."""

    session_status = "out_of_memory"


class PrecisionNotHonoured(BuildFailed):
    """Layers compute in another precision than the one that was asked for."""


NO_GPU = "TensorRT {} cannot use the GPU: {}; see what `edgebench doctor` says of it"


def opened(trt: Any, name: str, logger: Any, log: BuildLog) -> Any:
    """TensorRT's `Builder` or `Runtime`.

    Raises:
        BuildFailed: TensorRT gives none, as where it cannot use the GPU; OutOfMemory: it lacks memory.
    """
    try:
        return getattr(trt, name)(logger)
    except (TypeError, RuntimeError) as error:
        kind = OutOfMemory if log.says_out_of_memory() else BuildFailed
        reason = log.last_errors() if log.errors else str(error)
        raise kind(NO_GPU.format(trt.__version__, reason)) from error


def no_engine(version: str, precision: str, source: Source, log: BuildLog) -> BuildFailed:
    """Why the builder gave nothing, by what it logged."""
    if log.says_out_of_memory():
        text = "memory ran out while TensorRT {} built the engine: {}; {}"
        return OutOfMemory(text.format(version, log.last_errors(), MEMORY_FIX))
    text = "TensorRT {} built no engine: {}".format(version, log.last_errors())
    if source.layer_precision:
        text += "; each layer with weights was to compute in {}: {}".format(precision, INSTEAD[source.kind])
    return BuildFailed(text)


def not_honoured(
    version: str, precision: str, source: Source, others: Sequence[Layer], count: int
) -> PrecisionNotHonoured:
    """Which of the `count` layers with weights compute in something else, and what to do."""
    named = listed(["{:.{}} in {}".format(layer.name, MOST_NAME, layer.precision) for layer in others])
    return PrecisionNotHonoured(
        "{} was asked for, and TensorRT {} built {} of the {} layers that compute with weights in another "
        "precision: {}; {}".format(
            precision, version, len(others), count, named, INSTEAD.get(source.kind, ANOTHER_MODEL)
        )
    )


def listed(texts: Sequence[str], most: int = MOST_NAMED) -> str:
    """The first of them, separated by commas, and how many more there are."""
    more = ["and {} more".format(len(texts) - most)] if len(texts) > most else []
    return ", ".join(list(texts[:most]) + more)
