"""Any device that ONNX Runtime has an execution provider for: a model as .onnx, here or on a board."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, field_validator

from edgebench.agent.facts import board_facts
from edgebench.cache.objects import Cache
from edgebench.contract import BackendOptions
from edgebench.errors import UnavailableError
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.board_findings import board_findings
from edgebench.models.prepare.onnx import OnnxChain
from edgebench.models.prepare.onnx_form import OnnxForm
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json, Progress

from .checks import runtime_findings

_PAIR = re.compile(r"[A-Za-z0-9_]{1,64}=[^,=\s]{1,200}")


class OnnxRuntimeOptions(BackendOptions):
    """`--set` of the runtime."""

    threads: int = Field(
        default=0, ge=0, le=1024, description="of the runtime; 0: one a core that it may use, at most 4"
    )
    provider: str = Field(
        default="CPUExecutionProvider",
        pattern=r"[A-Za-z0-9]{1,64}ExecutionProvider",
        description="what carries the model out, such as CUDAExecutionProvider",
    )
    provider_options: str = Field(
        default="", max_length=2000, description="of the provider: key=value,key=value"
    )
    optimisation: Literal["all", "extended", "basic", "disabled"] = Field(
        default="all", description="of the graph, when it is loaded"
    )
    int8: Literal["qdq", "qoperator"] = Field(
        default="qdq",
        description="int8 as pairs of QuantizeLinear and DequantizeLinear, or as integer operations",
    )
    activations: Literal["auto", "int8", "uint8"] = Field(
        default="auto", description="of int8; auto: int8 for qdq, uint8 for qoperator, as the runtime asks"
    )

    @field_validator("provider_options")
    @classmethod
    def _pairs(cls, value: str) -> str:
        if value and not all(_PAIR.fullmatch(pair) for pair in value.split(",")):
            raise ValueError("write key=value,key=value")
        return value


class OnnxRuntimeBackend(AgentBackend):
    """Takes every variant, at any static batch."""

    name = "onnxruntime"
    description = "the processor of this machine or of a board, by ONNX Runtime"
    precisions = ("fp32", "fp16", "int8")
    options_model = OnnxRuntimeOptions
    board_packages = ("onnxruntime", "onnxruntime-gpu")

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """What decides the .onnx: weights or file, the steps, calibration, batch."""
        return _CHAIN.prepare_inputs(request)

    def missing(self, request: PrepareRequest) -> UnavailableError | None:
        """TensorFlow, for all but .onnx files, and what works on ONNX."""
        return _CHAIN.missing(request)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """Carry out the steps, in processes of their own, for what the cache does not hold."""
        return _CHAIN.prepare(requests, cache, progress)

    def check(self, target: Target) -> list[Finding]:
        """Packages and the provider, and the state of the machine."""
        return runtime_findings(target) + board_findings(board_facts())


def _form(request: PrepareRequest) -> OnnxForm:
    # A request may come without options: those that are not said are the defaults.
    options = OnnxRuntimeOptions.model_validate(dict(request.options))
    if options.activations == "auto":
        return OnnxForm(int8=options.int8, activations="int8" if options.int8 == "qdq" else "uint8")
    return OnnxForm(int8=options.int8, activations=options.activations)


_CHAIN = OnnxChain(_form)
