"""The processor by LiteRT: MobileNet as .tflite, on this machine or on a board."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from edgebench.agent.facts import board_facts
from edgebench.cache.objects import Cache
from edgebench.contract import BackendOptions
from edgebench.errors import UnavailableError
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.board_findings import board_findings
from edgebench.models.prepare.tflite import TfliteChain
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json, Progress

from .checks import runtime_findings

_CHAIN = TfliteChain()


class CpuOptions(BackendOptions):
    """`--set` of the processor."""

    threads: int = Field(
        default=0, ge=0, le=1024, description="of the runtime; 0: one a core that it may use, at most 4"
    )
    kernels: Literal["xnnpack", "reference"] = Field(
        default="xnnpack", description="the runtime's default ones, or its exact and slow ones"
    )


class CpuBackend(AgentBackend):
    """Takes every variant, at any static batch."""

    name = "cpu"
    description = "the processor of this machine or of a board, by LiteRT"
    precisions = ("fp32", "fp16", "int8")
    options_model = CpuOptions
    board_packages = ("ai-edge-litert", "tflite-runtime", "tensorflow")

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """What decides the .tflite: weights, conversion recipe, calibration, batch."""
        return _CHAIN.prepare_inputs(request)

    def missing(self, request: PrepareRequest) -> UnavailableError | None:
        """TensorFlow, for what does not come ready."""
        return _CHAIN.missing(request)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """Convert with TensorFlow, in processes of its own, what the cache does not hold."""
        return _CHAIN.prepare(requests, cache, progress)

    def check(self, target: Target) -> list[Finding]:
        """Packages, and the state of the machine."""
        return runtime_findings(target) + board_findings(board_facts())
