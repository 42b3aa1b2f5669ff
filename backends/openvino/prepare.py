"""From a model to what OpenVINO reads: .onnx with its channels first, or a user's .tflite as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.errors import UnsupportedError
from edgebench.prepare.cache import Cache
from edgebench.prepare.chain import Chain
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, Prepared, PrepareRequest
from edgebench.records.values import Json, Progress

ON_CPU = "on the CPU"
PRECISION_REASONS: Mapping[str, str] = {
    "fp32": "the stick computes in fp16 alone: ask for --precision fp16",
    "int8": "the stick computes in fp16 alone and takes no int8 graph: ask for --precision fp16",
}

_ONNX = OnnxChain(lambda _: OnnxForm(layout="NCHW"))
_TFLITE = TfliteChain()


def chain_of(request: PrepareRequest) -> Chain:
    """Which way a request's model goes."""
    return _TFLITE if request.source.kind == "tflite" else _ONNX


def prepare_for_stick(requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
    """One outcome a request, in order, of ONNX alone; what is meant for the processor is marked so."""
    outcomes: dict[int, Prepared] = {}
    for at, request in enumerate(requests):
        try:
            stick_inputs(request)
        except UnsupportedError as error:
            outcomes[at] = error
    taken = [at for at in range(len(requests)) if at not in outcomes]
    prepared = _ONNX.prepare([requests[at] for at in taken], cache, progress)
    outcomes |= {at: _marked(requests[at], artifact) for at, artifact in zip(taken, prepared, strict=True)}
    return [outcomes[at] for at in range(len(requests))]


def stick_inputs(request: PrepareRequest) -> dict[str, Json]:
    """What decides the stick's artifact; UnsupportedError for a precision or a file that it does not take."""
    name, precision = request.variant.name, request.variant.precision
    if precision in PRECISION_REASONS:
        raise UnsupportedError(f"{name} is not for the stick", why=PRECISION_REASONS[precision])
    if request.source.kind == "tflite":
        raise UnsupportedError(
            f"{name} cannot be read for the stick",
            why="no release of OpenVINO that has MYRIAD reads .tflite",
            fix="give the .onnx or .keras that it was made from",
        )
    inputs = chain_of(request).prepare_inputs(request)
    return {**inputs, "mark": ON_CPU} if _on_cpu(request) else inputs


def _on_cpu(request: PrepareRequest) -> bool:
    return request.options.get("device") == "CPU"


def _marked(request: PrepareRequest, outcome: Prepared) -> Prepared:
    if _on_cpu(request) and isinstance(outcome, Artifact):
        return outcome.model_copy(update={"mark": ON_CPU})
    return outcome
