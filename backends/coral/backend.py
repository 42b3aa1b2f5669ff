"""Google's Edge TPU: a compiled .tflite on a USB Accelerator, a card, or a Dev Board with Linux."""

from __future__ import annotations

from pydantic import Field

from edgebench.contract import BackendOptions, PathText
from edgebench.prepare.chain import PreparedByChain
from edgebench.prepare.edgetpu import PRECISION_REASONS, EdgeTpuChain

from .checks import CoralChecks


class CoralOptions(BackendOptions):
    """`--set` of the Edge TPU."""

    edgetpu: str = Field(
        default="",
        pattern=r"^((usb|pci)?(:[0-9]{1,2})?)$",
        description="which Edge TPU: usb, pci, usb:0, pci:0 or :0; default: any",
    )
    delegate: PathText = Field(
        default="libedgetpu.so.1",
        min_length=1,
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
    artifact: PathText = Field(
        default="",
        description="a compiled model, or a folder of them as edgetpu_compiler names them (--artifact)",
    )


class CoralBackend(PreparedByChain, CoralChecks):
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
