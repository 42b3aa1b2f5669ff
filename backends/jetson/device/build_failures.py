"""Why no engine came of a build, and what to do (device side, Python 3.6 syntax)."""

from typing import Dict, Sequence

from .build_log import BuildLog
from .build_source import BY_CALIBRATOR, BY_FLAG, BY_QDQ, Source
from .engine_layers import Layer

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
