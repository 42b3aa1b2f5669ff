"""Whether an artifact is one that the board's firmware takes, and has room for (pure)."""

from __future__ import annotations

import math

from edgebench.errors import SessionError
from edgebench.link.input_tensor import size_bytes
from edgebench.vocabulary.artifact import Artifact

from .answers import BoardDescription, ModelAnswer

SCALES_ALIKE = 1e-5
"""As a share: a flatbuffer has its scales as float32."""


def why_not_taken(artifact: Artifact) -> str:
    """What of an artifact no firmware of the board takes, whatever its room; "" where it may run."""
    spec = artifact.input
    faults = {
        "it takes samples, and the firmware pictures": bool(artifact.tensors),
        f"it infers {artifact.batch} patches at a time, and the firmware one": artifact.batch != 1,
        f"its input is {spec.dtype}, and the firmware's int8 or uint8": spec.dtype not in ("int8", "uint8"),
        f"its input is {spec.layout}, and the firmware's NHWC": spec.layout != "NHWC",
        "its input has no scale and zero point": spec.scale is None or spec.zero_point is None,
    }
    return "; ".join(words for words, is_so in faults.items() if is_so)


def lack_of_room(artifact: Artifact, board: BoardDescription) -> str:
    """What does not fit onto a board, with both figures; "" where all of it does."""
    patch_bytes = size_bytes(artifact.input)
    rooms = (
        ("the model has", artifact.size_bytes, "a model", board.model_bytes),
        ("one patch has", patch_bytes, "patches of the scene", board.scene_bytes),
        ("one patch has", patch_bytes, "images", board.images_bytes),
    )
    for what, due_bytes, whose, room_bytes in rooms:
        if due_bytes > room_bytes:
            return (
                f"{what} {due_bytes:,} bytes, and its firmware has room for {room_bytes:,} bytes of {whose}"
            )
    return ""


def require_same(artifact: Artifact, model: ModelAnswer) -> None:
    """SessionError where what the board says of the model that it has built contradicts the artifact."""
    spec, operations = artifact.input, artifact.provenance.get("operations")
    edgetpu = operations.get("edgetpu") if isinstance(operations, dict) else None
    due = (
        ("its hash", model.sha256, artifact.sha256),
        ("the size of its input", model.input_bytes, size_bytes(spec)),
        ("the type of its input", model.input_type, spec.dtype),
        ("the zero point of its input", model.input_zero_point, spec.zero_point),
        ("its number of scores", model.classes, artifact.scores),
        ("its operations on the Edge TPU", model.edgetpu, model.edgetpu if edgetpu is None else edgetpu),
    )
    wrong = [f"{name} is {there} there and {here} here" for name, there, here in due if there != here]
    if spec.scale is not None and not math.isclose(model.input_scale, spec.scale, rel_tol=SCALES_ALIKE):
        wrong.append(f"the scale of its input is {model.input_scale:g} there and {spec.scale:g} here")
    if wrong:
        raise misfit("; ".join(wrong), "make the artifact again with `edgebench models prepare`")


def misfit(why: str, fix: str) -> SessionError:
    """The artifact cannot be measured on this board; nothing was timed."""
    return SessionError(
        "the board cannot run the artifact", status="load_failed", stage="load", why=why, fix=fix
    )
