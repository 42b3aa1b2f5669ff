"""Google's Edge TPU: a compiled .tflite on a USB Accelerator, a card, or a Dev Board with Linux."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from edgebench.contract import BackendOptions
from edgebench.errors import SessionError
from edgebench.link.agent_backend import AgentBackend
from edgebench.prepare.chain import PreparedByChain
from edgebench.prepare.edgetpu import PRECISION_REASONS, EdgeTpuChain
from edgebench.records.target import Target
from edgebench.records.values import Finding, Json

from . import checks as trap
from .checks import board_check, findings, runtime_check


class CoralOptions(BackendOptions):
    """`--set` of the Edge TPU."""

    edgetpu: str = Field(
        default="",
        pattern=r"^((usb|pci)?(:[0-9]{1,2})?)$",
        description="which Edge TPU: usb, pci, usb:0, pci:0 or :0; any unless said",
    )
    delegate: str = Field(
        default="libedgetpu.so.1",
        min_length=1,
        max_length=4096,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description="libedgetpu on the board, as a path or as the loader finds it",
    )
    threads: int = Field(
        default=0,
        ge=0,
        le=1024,
        description="for what stays on the processor; 0: one a core that it may use, at most 4",
    )
    allow_cpu: bool = Field(
        default=False, description="take a model that is not compiled, on the processor and marked so"
    )
    artifact: str = Field(
        default="",
        max_length=4096,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description="a compiled model, or a folder of them as edgetpu_compiler names them (--artifact)",
    )


class CoralBackend(PreparedByChain, AgentBackend):
    """Takes int8 at a batch of 1."""

    name = "coral"
    description = "Google's Edge TPU (USB, M.2, PCIe, Dev Boards), by TFLite and libedgetpu"
    precisions = ("int8",)
    precision_reasons = PRECISION_REASONS
    most_batch = 1  # its compiler takes no batches
    options_model = CoralOptions
    chain = EdgeTpuChain("coral", takes_uncompiled=True)
    # Google's pycoral brings tflite-runtime with it, and another program has its name on the package index.
    board_packages = ("tflite-runtime", "ai-edge-litert")

    def check(self, target: Target) -> list[Finding]:
        """Runtime, libedgetpu, the Edge TPU with its bus and permissions, and the compiler."""
        return findings(target)

    def board_check(self, facts: Mapping[str, Json], target: Target) -> list[Finding]:
        """The Edge TPU and libedgetpu there and whether the runtime fits it, and the compiler here."""
        return runtime_check(facts, target) + board_check(facts, target)

    def explain(self, error: SessionError) -> SessionError | None:
        """A worker that died by a signal in libedgetpu: what that means, and which pairs work."""
        return trap.explain(error)
