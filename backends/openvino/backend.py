"""Whatever OpenVINO drives, by a model as .onnx: `openvino`, and the Neural Compute Stick 2 as `ncs2`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from edgebench.contract import BackendOptions
from edgebench.errors import SessionError
from edgebench.link.agent_backend import AgentBackend
from edgebench.prepare.cache import Cache
from edgebench.prepare.chain import Chain, PreparedByChain
from edgebench.records.model import Prepared, PrepareRequest
from edgebench.records.target import Target
from edgebench.records.values import Finding, Json, Progress
from edgebench.refusals import form

from . import prepare
from .checks import board_check, explain, findings

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
    cache: str = Field(
        default="",
        max_length=4096,
        pattern=r"^[^\x00-\x1f\x7f]*$",
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
        default=0, ge=0, le=1024, description="of the processor; 0: as many as the library takes"
    )
    execution_precision: Literal["auto", "f32", "f16", "bf16", "device"] = Field(
        default="auto",
        description="of float operations; auto: f16 for fp16, else f32; device: its own choice",
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


class LibraryBackend(PreparedByChain, AgentBackend):
    """Any device of the library's, at any static batch.

    Which distribution a board has to have depends on the device: `board_check` says it.
    """

    def concurrency(self, options: Mapping[str, Json]) -> int:
        """The requests."""
        return int(options.get("requests", self.options_model.model_fields["requests"].default))

    def chain_of(self, request: PrepareRequest) -> Chain:
        """A user's .tflite as it is; all else as .onnx."""
        return prepare.chain_of(request)

    def check(self, target: Target) -> list[Finding]:
        """The library with its plugins and devices, the stick, and the state of the machine."""
        return findings(target)

    def board_check(self, facts: Mapping[str, Json], target: Target) -> list[Finding]:
        """The library and its plugins by their files, and the stick."""
        return board_check(facts, target)

    def explain(self, error: SessionError) -> SessionError | None:
        """A stick that cannot be opened, and what a build or a system lacks for a device."""
        return explain(error, self.name)


class OpenVinoBackend(LibraryBackend):
    """Takes every variant."""

    name = "openvino"
    description = "processors, graphics and neural units, by OpenVINO"
    precisions = ("fp32", "fp16", "int8")
    options_model = OpenVinoOptions


class StickBackend(LibraryBackend):
    """Takes fp16 alone."""

    name = "ncs2"
    description = "Intel's Neural Compute Stick 2, by OpenVINO's MYRIAD plugin"
    precisions = ("fp16",)
    precision_reasons = prepare.PRECISION_REASONS
    options_model = StickOptions

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """The same; and the mark of what runs on the processor."""
        return prepare.stick_inputs(request)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """The same, of fp16 as ONNX."""
        return prepare.prepare_for_stick(requests, cache, progress)
