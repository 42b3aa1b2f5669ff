"""Any device that ONNX Runtime has an execution provider for: a model as .onnx, here or on a board."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Literal

from pydantic import Field, field_validator

from edgebench.agent.facts import board_facts
from edgebench.contract import BackendOptions
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.board_findings import board_findings
from edgebench.prepare.chain import PreparedByChain
from edgebench.prepare.onnx import OnnxChain, OnnxForm, packages_finding
from edgebench.records.model import PrepareRequest
from edgebench.records.target import Target
from edgebench.records.values import Finding

# What `doctor` says of ONNX Runtime, of its providers, and of the packages that prepare.


ASK_S = 60.0
ASK_RUNTIME = (
    "import json, onnxruntime; "
    "print(json.dumps([onnxruntime.__version__, onnxruntime.get_available_providers()]))"
)
DEFAULT_PROVIDER = "CPUExecutionProvider"


def runtime_findings(target: Target) -> list[Finding]:
    """Whether the runtime and the provider are there where the worker runs, and what prepares, here."""
    provider = str(target.options.get("provider", DEFAULT_PROVIDER))
    return [*_runtime(target.launch.python or sys.executable, provider), packages_finding()]


def _runtime(python: str, provider: str) -> list[Finding]:
    """The runtime is asked in a process of its own: it never lives in the harness's."""
    fix = "pip install onnxruntime"
    try:
        command = [python, "-c", ASK_RUNTIME]
        asked = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [Finding("error", "onnxruntime", f"{python} cannot be run: {error}", "name another Python")]
    try:
        version, providers = json.loads(asked.stdout.strip().splitlines()[-1])
        names = [str(name) for name in providers]
    except (IndexError, TypeError, ValueError):
        last = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
        return [Finding("error", "onnxruntime", f"not found by {python}: {last}", f"{python} -m {fix}")]
    findings = [Finding("ok", "onnxruntime", str(version))]
    if provider in names:
        return [*findings, Finding("ok", "provider", provider)]
    message = f"{provider} is not in this build, which has {', '.join(names)}"
    fix = "name one of these (--set provider=NAME), or install a build with it, such as onnxruntime-gpu"
    return [*findings, Finding("error", "provider", message, fix)]


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
    chain = OnnxChain(_form)
    board_packages = ("onnxruntime", "onnxruntime-gpu")

    def check(self, target: Target) -> list[Finding]:
        """Packages and the provider, and the state of the machine."""
        return runtime_findings(target) + board_findings(board_facts())
