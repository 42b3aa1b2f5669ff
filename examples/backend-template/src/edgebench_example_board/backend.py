"""example-board on the host: what it takes, how its artifacts are made, and what can be wrong with it."""

from __future__ import annotations

from pydantic import Field

from edgebench.contract import BackendOptions
from edgebench.installed import version_of
from edgebench.link.agent_backend import AgentBackend
from edgebench.prepare.chain import PreparedByChain
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.target import Target
from edgebench.records.values import Finding


class ExampleBoardOptions(BackendOptions):
    """`--set` of example-board; the runner gets them all."""

    threads: int = Field(default=1, ge=1, le=64, description="threads of the runtime")


class ExampleBoardBackend(PreparedByChain, AgentBackend):
    """PreparedByChain brings the models, shipped and `--model`; AgentBackend the agent, here and over SSH."""

    name = "example-board"
    description = "an example: the processor by LiteRT"
    precisions = ("fp32", "fp16", "int8")
    options_model = ExampleBoardOptions
    chain = TfliteChain()  # for ONNX: OnnxChain(lambda request: OnnxForm()) of edgebench.prepare.onnx
    board_packages = ("ai-edge-litert",)  # what brings the runtime: one of them has to be on the board

    def check(self, target: Target) -> list[Finding]:
        """What `edgebench doctor` says; a finding that is not "ok" needs a fix."""
        if version := version_of("ai-edge-litert"):
            return [Finding("ok", "ai-edge-litert", version)]
        return [Finding("error", "ai-edge-litert", "is not installed", "pip install ai-edge-litert")]
