"""Any device that ONNX Runtime has an execution provider for: a model as .onnx, here or on a board."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, field_validator

from edgebench.agent.facts import board_facts
from edgebench.contract import BackendOptions, PathText
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
    """What `ASK_RUNTIME` prints.

    Attributes:
        providers: those of the build.
        plugins: types of devices of each provider in a plug-in.
        faults: by provider or package, why a plug-in cannot be loaded.
    """

    version: str
    providers: list[str]
    plugins: dict[str, list[str]]
    faults: dict[str, str]


ASK_RUNTIME = (
    "\nimport json, onnxruntime; providers = onnxruntime.get_available_providers(); "  # later with plug-ins
    "print(json.dumps(dict(plugins_found(onnxruntime, {!r}, {!r}), version=onnxruntime.__version__, "
    "providers=providers)))"
)


def _runtime(target: Target) -> list[Finding]:
    """The runtime is asked in a process of its own: it never lives in the harness's."""
    options = OnnxRuntimeOptions.model_validate(dict(target.options))
    python = target.launch.python or sys.executable
    fix = f"{python} -m pip install onnxruntime"
    program = (Path(__file__).parent / "device" / "plugins.py").read_text(encoding="utf-8")
    program += ASK_RUNTIME.format(options.provider, options.provider_library)
    try:
        runtime = ask_library("ONNX Runtime", program, Runtime, python, target.launch.env, fix)
    except UnavailableError as error:
        return [Finding("error", "onnxruntime", f"{error.what}: {error.why}", error.fix)]
    found = [Finding("ok", "onnxruntime", runtime.version)]
    for name, types in runtime.plugins.items():
        found.append(Finding("ok", "plug-in", f"{name}: {', '.join(types) or 'no device here'}"))
    for name, fault in runtime.faults.items():
        found.append(Finding("warning", "plug-in", f"{name}: {fault}", "install its driver, or remove it"))
    if options.provider in runtime.providers or runtime.plugins.get(options.provider):
        return [*found, Finding("ok", "provider", options.provider)]
    if options.provider in runtime.plugins:
        message = f"{options.provider} supports no device of this machine"
        fix = "install the driver of its device, or take another provider (--set provider=NAME)"
        return [*found, Finding("error", "provider", message, fix)]
    message = f"{options.provider} is not in this build, which has {', '.join(runtime.providers)}"
    message += ", nor in a plug-in"
    fix = (
        "name one of these (--set provider=NAME), install a build with it, such as onnxruntime-gpu, or a "
        "plug-in, such as onnxruntime-ep-openvino, or name its library (--set provider_library=PATH)"
    )
    return [*found, Finding("error", "provider", message, fix)]


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
    provider_library: PathText = Field(
        default="", description="library of a provider that neither the build nor a plug-in package has"
    )
    provider_device: Literal["", "cpu", "gpu", "npu"] = Field(
        default="", description="device of a plug-in's provider: cpu, gpu or npu; default: its first"
    )
    allow_cpu: bool = Field(
        default=False, description="let the processor carry out more than half of the operations"
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
        return [*_runtime(target), packages_finding(), *board_findings(board_facts())]
