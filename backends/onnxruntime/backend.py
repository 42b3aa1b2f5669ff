"""Any device that ONNX Runtime has an execution provider for: a model as .onnx, here or on a board."""

from __future__ import annotations

import re
import sys
from typing import Literal

from pydantic import BaseModel, Field, field_validator

from edgebench.agent.facts import board_facts
from edgebench.contract import BackendOptions
from edgebench.errors import UnavailableError
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.board_findings import board_findings
from edgebench.link.inspection import ask_library
from edgebench.prepare.chain import PreparedByChain
from edgebench.prepare.onnx import OnnxChain, OnnxForm, packages_finding
from edgebench.records.model import PrepareRequest
from edgebench.records.target import Target
from edgebench.records.values import Finding

# What `doctor` says of ONNX Runtime, of its providers, and of the packages that prepare.


class Runtime(BaseModel):
    """What `ASK_RUNTIME` prints."""

    version: str
    providers: list[str]


ASK_RUNTIME = (
    "import json, onnxruntime; print(json.dumps("
    "{'version': onnxruntime.__version__, 'providers': onnxruntime.get_available_providers()}))"
)
DEFAULT_PROVIDER = "CPUExecutionProvider"


def _runtime(target: Target, provider: str) -> list[Finding]:
    """The runtime is asked in a process of its own: it never lives in the harness's."""
    python = target.launch.python or sys.executable
    fix = f"{python} -m pip install onnxruntime"
    try:
        runtime = ask_library("ONNX Runtime", ASK_RUNTIME, Runtime, python, target.launch.env, fix)
    except UnavailableError as error:
        return [Finding("error", "onnxruntime", f"{error.what}: {error.why}", error.fix)]
    there = Finding("ok", "onnxruntime", runtime.version)
    if provider in runtime.providers:
        return [there, Finding("ok", "provider", provider)]
    message = f"{provider} is not in this build, which has {', '.join(runtime.providers)}"
    fix = "name one of these (--set provider=NAME), or install a build with it, such as onnxruntime-gpu"
    return [there, Finding("error", "provider", message, fix)]


_PAIR = re.compile(r"[A-Za-z0-9_]{1,64}=[^,=\s]{1,200}")


class OnnxRuntimeOptions(BackendOptions):
    """`--set` of the runtime."""

    threads: int = Field(
        default=0,
        ge=0,
        le=1024,
        description="threads of the runtime; 0: one per usable core, at most 4",
    )
    provider: str = Field(
        default="CPUExecutionProvider",
        pattern=r"[A-Za-z0-9]{1,64}ExecutionProvider",
        description="what carries the model out, such as CUDAExecutionProvider",
    )
    provider_options: str = Field(
        default="", max_length=2000, description="options of the provider: key=value,key=value"
    )
    optimisation: Literal["all", "extended", "basic", "disabled"] = Field(
        default="all", description="optimisation of the graph, when it is loaded"
    )
    int8: Literal["qdq", "qoperator"] = Field(
        default="qdq",
        description="int8 as pairs of QuantizeLinear and DequantizeLinear, or as integer operations",
    )
    activations: Literal["auto", "int8", "uint8"] = Field(
        default="auto",
        description="activations of int8; auto: int8 for qdq, uint8 for qoperator",
    )

    @field_validator("provider_options")
    @classmethod
    def _pairs(cls, value: str) -> str:
        if value and not all(_PAIR.fullmatch(pair) for pair in value.split(",")):
            raise ValueError("write key=value,key=value")
        return value


def _form(request: PrepareRequest) -> OnnxForm:
    # A request may come without options: those that are not said are the defaults.
    options = OnnxRuntimeOptions.model_validate(dict(request.options))
    if options.activations == "auto":
        return OnnxForm(int8=options.int8, activations="int8" if options.int8 == "qdq" else "uint8")
    return OnnxForm(int8=options.int8, activations=options.activations)


class OnnxRuntimeBackend(PreparedByChain, AgentBackend):
    """Takes every variant, at any static batch."""

    name = "onnxruntime"
    description = "the processor of this machine or of a board, by ONNX Runtime"
    precisions = ("fp32", "fp16", "int8")
    options_model = OnnxRuntimeOptions
    shares_device = True
    chain = OnnxChain(_form)
    board_packages = ("onnxruntime", "onnxruntime-gpu")

    def check(self, target: Target) -> list[Finding]:
        """Runtime and provider where the worker runs, what prepares, here; the state of the machine."""
        provider = str(target.options.get("provider", DEFAULT_PROVIDER))
        return [*_runtime(target, provider), packages_finding(), *board_findings(board_facts())]
