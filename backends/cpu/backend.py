"""The processor by LiteRT: MobileNet as .tflite, on this machine or on a board."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import Literal

from pydantic import BaseModel, Field

from edgebench.agent.facts import board_facts
from edgebench.contract import BackendOptions, PathText
from edgebench.errors import UnavailableError
from edgebench.installed import version_of
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.board_findings import board_findings
from edgebench.link.inspection import ask_library
from edgebench.prepare.cache import Cache, CachedFile
from edgebench.prepare.chain import PreparedByChain, Recipe
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.target import Target
from edgebench.records.values import Finding

# What `doctor` says of the processor's runtime, and of TensorFlow, which prepares.


class Imported(BaseModel):
    """What `ASK_RUNTIME` prints."""

    imported: bool


ASK_RUNTIME = "import ai_edge_litert.interpreter; print('{\"imported\": true}')"


def _litert(target: Target) -> Finding:
    python, fix = target.launch.python, "pip install 'edgebench[cpu]'"
    if python is None or python == sys.executable:
        if version := version_of("ai-edge-litert"):
            return Finding("ok", "ai-edge-litert", version)
        return Finding("error", "ai-edge-litert", "is not installed: nothing can be measured", fix)
    try:
        ask_library("LiteRT", ASK_RUNTIME, Imported, python, target.launch.env, f"{python} -m {fix}")
    except UnavailableError as error:
        return Finding("error", "ai-edge-litert", f"{error.what}: {error.why}", error.fix)
    return Finding("ok", "ai-edge-litert", f"found by {python}")


class CpuOptions(BackendOptions):
    """`--set` of the processor."""

    threads: int = Field(
        default=0,
        ge=0,
        le=1024,
        description="threads of the runtime; 0: one per usable core, at most 4",
    )
    kernels: Literal["xnnpack", "reference"] = Field(
        default="xnnpack", description="the runtime's default ones, or its exact and slow ones"
    )

    delegate: PathText = Field(
        default="", description="the library of an external TFLite delegate on the board, as a path"
    )
    delegate_options: str = Field(
        default="",
        pattern=r"^([^=,]+=[^,]*(,[^=,]+=[^,]*)*)?$",
        description="its options: key=value,key=value",
    )
    allow_cpu: bool = Field(
        default=False, description="measure on the processor what the delegate takes nothing of"
    )


class CpuChain(TfliteChain):
    """The .tflite file, marked with the delegate that computes it."""

    def artifact(
        self, request: PrepareRequest, recipe: Recipe, file: CachedFile, cache: Cache
    ) -> Artifact | None:
        """Return the artifact of the .tflite file; its mark names the delegate's library."""
        artifact = super().artifact(request, recipe, file, cache)
        if artifact is None or not (delegate := str(request.options.get("delegate", ""))):
            return artifact
        return artifact.model_copy(update={"mark": f"by {PurePath(delegate).name}", "exact_with": ()})


class CpuBackend(PreparedByChain, AgentBackend):
    """Takes every variant, at any static batch."""

    name = "cpu"
    description = "the processor of this machine or of a board, by LiteRT"
    precisions = ("fp32", "fp16", "int8")
    options_model = CpuOptions
    shares_device = True
    chain = CpuChain()
    board_packages = ("ai-edge-litert", "tflite-runtime", "tensorflow")

    def check(self, target: Target) -> list[Finding]:
        """LiteRT where the worker runs, TensorFlow, which prepares, here; the state of the machine."""
        machine = board_findings(board_facts())
        if version := version_of("tensorflow"):
            return [_litert(target), Finding("ok", "tensorflow", f"{version} (prepares artifacts)"), *machine]
        message = "is not installed: models other than the shipped ones cannot be prepared"
        fix = "pip install 'edgebench[prepare]'"
        return [_litert(target), Finding("warning", "tensorflow", message, fix), *machine]
