"""What `doctor` says of a Coral Dev Board Micro: whether it answers, and what prepares its models here."""

from __future__ import annotations

from edgebench.errors import UnavailableError
from edgebench.models.prepare.edgetpu import compiler_finding
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import Target

from .answers import BoardDescription
from .device import CoralMicroDevice
from .faults import MicroFault, OtherFirmware
from .rpc_call import Limits

BRIEF = Limits(connect_s=2.0, answer_s=3.0)
"""Nobody waits longer for `doctor`."""


def findings(target: Target, limits: Limits = BRIEF) -> list[Finding]:
    """Of the board at the target's address, and of what prepares its models."""
    return [*board_findings(target, limits), compiler_finding(target.options)]


def board_findings(target: Target, limits: Limits) -> list[Finding]:
    """Of the board alone."""
    try:
        description = CoralMicroDevice(target, limits).connect()
    except UnavailableError as refusal:
        return [Finding("error", "board", _sentence(refusal.what, refusal.why), refusal.fix)]
    except MicroFault as fault:
        subject = "firmware" if isinstance(fault, OtherFirmware) else "board"
        return [Finding("error", subject, _sentence(fault.what, fault.why), fault.fix)]
    return _of_description(description, needs_edge_tpu=not target.options.get("allow_cpu"))


def _of_description(board: BoardDescription, *, needs_edge_tpu: bool) -> list[Finding]:
    runtime = f"{board.runtime} {board.runtime_version}".strip()
    model = "none" if board.model is None else board.model.sha256[:12]
    firmware = f"{board.firmware} {board.version}, with {runtime}; model: {model}"
    memory = (
        f"room for a model of {_mib(board.model_bytes)}, {_mib(board.scene_bytes)} of the scene's patches "
        f"and {_mib(board.images_bytes)} of images, beside an arena of {_mib(board.arena_bytes)}"
    )
    return [
        Finding("ok", "board", f"{board.board} answers: {board.cpu}"),
        Finding("ok", "firmware", firmware),
        _of_edge_tpu(board, needs_edge_tpu=needs_edge_tpu),
        Finding("ok", "memory", memory),
        *([_INFERENCE_ALONE] if board.times == "inference" else []),
    ]


_INFERENCE_ALONE = Finding(
    "warning",
    "times",
    "its firmware times inference alone: there is no image_s",
    "flash firmware that times a whole pass (backends/coral/micro/README.md), or judge infer_s",
)


def _of_edge_tpu(board: BoardDescription, *, needs_edge_tpu: bool) -> Finding:
    if not board.tpu:
        return Finding(
            "error" if needs_edge_tpu else "warning",
            "edge tpu",
            "the firmware has opened none",
            "reset the board; models that are not compiled run without one: --set allow-cpu=true",
        )
    warmth = "" if board.temperature_c is None else f", {board.temperature_c:.0f} °C"
    return Finding("ok", "edge tpu", f"{board.tpu}{warmth}")


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 20):.3g} MiB"


def _sentence(what: str, why: str) -> str:
    return f"{what}: {why}" if why else what
