"""NVIDIA's TensorRT, by a model as .onnx: `jetson`, and a discrete GPU as `tensorrt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from edgebench.cache.objects import Cache
from edgebench.contract import BackendOptions
from edgebench.errors import SessionError, UnavailableError
from edgebench.link.agent_backend import AgentBackend
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json, Progress

from . import prepare
from .checks import board_check, findings
from .explain import explain


class TensorRtOptions(BackendOptions):
    """`--set` of every device that TensorRT drives."""

    double_buffer: bool = Field(
        default=False, description="prepare and copy a batch while another one is computed; false: in turn"
    )
    int8: Literal["auto", "calibrator", "qdq"] = Field(
        default="auto",
        description="how int8 has its ranges: a calibrator on the board, or Q/DQ nodes in the model; "
        "auto: the calibrator where TensorRT has one",
    )
    workspace_mb: int = Field(
        default=0, ge=0, le=1 << 20, description="MiB that building may take; 0: TensorRT's own limit"
    )
    cudart: str = Field(
        default="",
        max_length=4096,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description="the CUDA runtime, as a path or as the loader finds it; found by itself unless said",
    )


class JetsonBackend(AgentBackend):
    """Takes every variant, at a static batch of 1 to 64; engines are built on the board."""

    name = "jetson"
    description = "NVIDIA's Jetson boards, by TensorRT"
    precisions = ("fp32", "fp16", "int8")
    default_precisions = ("fp16",)
    default_batch = 16  # as in the study that the shipped models are of
    most_batch = 64
    options_model = TensorRtOptions
    meters: ClassVar[tuple[str, ...]] = ("ina3221", "tegrastats")

    def builds(self, options: Mapping[str, Json]) -> bool:
        """Always: an engine is of the very TensorRT and GPU that it was built with."""
        return True

    def concurrency(self, options: Mapping[str, Json]) -> int:
        """Two with double buffering."""
        return 2 if options.get("double_buffer") else 1

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """What decides the files: weights or a user's model, the steps, calibration, batch."""
        return prepare.prepare_inputs(request)

    def missing(self, request: PrepareRequest) -> UnavailableError | None:
        """TensorFlow, for all but .onnx files, and what works on ONNX."""
        return prepare.missing(request)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """Carry out the steps, in processes of their own, for what the cache does not hold."""
        return prepare.prepare(requests, cache, progress)

    def check(self, target: Target) -> list[Finding]:
        """TensorRT, CUDA, the GPU, of a Jetson JetPack, power mode and clocks; the state of the machine."""
        return findings(target)

    def board_check(self, facts: Mapping[str, Json], target: Target) -> list[Finding]:
        """The same of a board, by its files."""
        return board_check(facts, target)

    def explain(self, error: SessionError) -> SessionError | None:
        """What TensorRT, CUDA or the GPU's driver lacks, by their words."""
        return explain(error, self.name)


class TensorRtBackend(JetsonBackend):
    """The same on a discrete GPU, whose power no sensor of a Jetson's tells."""

    name = "tensorrt"
    description = "NVIDIA's discrete GPUs, by TensorRT"
    meters = ()
