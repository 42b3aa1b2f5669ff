"""Whatever OpenVINO drives, by a model as .onnx: `openvino`, and the Neural Compute Stick 2 as `ncs2`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from edgebench.contract import BackendOptions, PathText
from edgebench.errors import UnsupportedError
from edgebench.prepare.cache import Cache, CachedFile
from edgebench.prepare.chain import Chain, PreparedByChain, Recipe
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, PrepareRequest, SourceKind
from edgebench.records.values import Json
from edgebench.refusals import form

from .checks import LibraryChecks
from .ir import IrChain

# More in flight at once than any edge device gains from: each has inputs, outputs and often activations.
MOST_REQUESTS = 64


class LibraryOptions(BackendOptions):
    """`--set` of every device that OpenVINO drives."""

    requests: int = Field(
        default=1, ge=1, le=MOST_REQUESTS, description="inferences in flight at once (the concurrency)"
    )
    streams: int = Field(
        default=0, ge=0, le=MOST_REQUESTS, description="that compute side by side; 0: as the hint has it"
    )
    hint: Literal["auto", "latency", "throughput", "none"] = Field(
        default="auto", description="to the device; auto: latency with one request, throughput with more"
    )
    cache: PathText = Field(
        default="",
        description="a folder on the board for compiled models: the next load takes them from there",
    )


class OpenVinoOptions(LibraryOptions):
    """`--set` of the devices of today."""

    device: str = Field(
        default="CPU",
        pattern=r"^(CPU|AUTO|(GPU|NPU)(\.[0-9]{1,2})?)$",
        description="CPU, GPU, NPU, AUTO, or one of several such as GPU.1",
        json_schema_extra=form(
            "write CPU, GPU, NPU, AUTO, or one of several such as GPU.1 (the stick is --device ncs2)"
        ),
    )
    threads: int = Field(
        default=0, ge=0, le=1024, description="threads of the processor; 0: as many as the library takes"
    )
    execution_precision: Literal["auto", "f32", "f16", "bf16", "device"] = Field(
        default="auto",
        description="precision of float operations; auto: f16 for fp16, else f32; device: its own choice",
    )


class StickOptions(LibraryOptions):
    """`--set` of the Neural Compute Stick 2."""

    requests: int = Field(
        default=4, ge=1, le=MOST_REQUESTS, description="inferences in flight at once (the concurrency)"
    )
    device: str = Field(
        default="MYRIAD",
        json_schema_extra=form("write MYRIAD, one of several sticks such as MYRIAD.1.2-ma2480, or CPU"),
        pattern=r"^(CPU|MYRIAD(\.[A-Za-z0-9._-]{1,40})?)$",
        description="MYRIAD, one of several such as MYRIAD.1.2-ma2480, or CPU: without a stick, marked so",
    )


ON_CPU = "on the CPU"
PRECISION_REASONS: Mapping[str, str] = {
    "fp32": "the stick computes in fp16 alone: ask for --precision fp16",
    "int8": "the stick computes in fp16 alone and takes no int8 graph: ask for --precision fp16",
}


class StickChain(OnnxChain):
    """To fp16 as .onnx, for the stick; what is meant for the processor is marked so."""

    def recipe(self, request: PrepareRequest) -> Recipe:
        """UnsupportedError for a precision or a file that the stick does not take."""
        name, precision = request.variant.name, request.variant.precision
        if precision in PRECISION_REASONS:
            why, fix = PRECISION_REASONS[precision], ""
            if request.source.kind == "openvino":
                why, fix = why.partition(":")[0], "give an IR of FP16, or the .onnx that it was made from"
            raise UnsupportedError(f"{name} is not for the stick", why=why, fix=fix)
        return super().recipe(request)

    def artifact(
        self, request: PrepareRequest, recipe: Recipe, file: CachedFile, cache: Cache
    ) -> Artifact | None:
        """Return the file's artifact with the mark."""
        artifact = super().artifact(request, recipe, file, cache)
        return artifact and artifact.model_copy(update=_mark(request))


class StickIrChain(StickChain, IrChain):
    """IR for the stick, with its refusals and mark."""


def _mark(request: PrepareRequest) -> dict[str, str]:
    return {"mark": ON_CPU} if request.options.get("device") == "CPU" else {}


_FORM = OnnxForm(layout="NCHW")
_TFLITE = TfliteChain()


class LibraryBackend(PreparedByChain, LibraryChecks):
    """Any device of the library's, at any static batch.

    Which distribution a board has to have depends on the device: `board_check` says it.
    """

    chain: ClassVar[Chain] = OnnxChain(lambda _: _FORM)
    ir_chain: ClassVar[Chain] = IrChain()

    def formats(self, options: Mapping[str, Json]) -> tuple[SourceKind, ...]:
        """Return the formats that become .onnx, and IR."""
        return (*self.chain.formats, *self.ir_chain.formats)

    def chain_of(self, request: PrepareRequest) -> Chain:
        """An IR as it is; all else as .onnx."""
        return self.ir_chain if request.source.kind == "openvino" else self.chain

    def concurrency(self, options: Mapping[str, Json]) -> int:
        """The requests."""
        return int(options.get("requests", self.options_model.model_fields["requests"].default))


class OpenVinoBackend(LibraryBackend):
    """Takes every variant."""

    name = "openvino"
    description = "processors, graphics and neural units, by OpenVINO"
    precisions = ("fp32", "fp16", "int8")
    options_model = OpenVinoOptions
    shares_device = True

    def formats(self, options: Mapping[str, Json]) -> tuple[SourceKind, ...]:
        """Return .tflite too, which no release of OpenVINO with MYRIAD reads."""
        return (*super().formats(options), "tflite")

    def chain_of(self, request: PrepareRequest) -> Chain:
        """A user's .tflite or IR as it is; all else as .onnx."""
        return _TFLITE if request.source.kind == "tflite" else super().chain_of(request)


class StickBackend(LibraryBackend):
    """Takes fp16 alone."""

    name = "ncs2"
    description = "Intel's Neural Compute Stick 2, by OpenVINO's MYRIAD plugin"
    precisions = ("fp16",)
    precision_reasons = PRECISION_REASONS
    options_model = StickOptions
    chain = StickChain(lambda _: _FORM)
    ir_chain = StickIrChain()

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Any]:
        """The recipe's, and the mark."""
        return {**super().prepare_inputs(request), **_mark(request)}
