"""How long a session at a serial line takes, from the least to the most (pure)."""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.link.window_lengths import WindowLengths
from edgebench.link.window_times import Seconds, window_stages_s
from edgebench.session_stages import SessionStage
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.target import Target

from .emulator import IN_QEMU
from .line import UNIX_PREFIX
from .loading import hex_line_s
from .options import CortexMOptions

FRAME_SHARE = 522 / 512
"""Characters a byte of the binary load."""

SOCKET_BYTES_A_SECOND = (22_000, 1_000_000)
"""Of a socket, whose baud is nobody's: what QEMU's polling guest takes, and a program of this machine."""

QEMU_INFERENCE_S = (1.0, 30.0)
"""Of MobileNet v1 0.25 and 1.0 in QEMU, roughly, on one core of a machine of today."""


def load_s(target: Target, plan: MeasurePlan) -> Seconds:
    """To send one patch: by frames, where the firmware takes them, or by digits, which all firmware takes."""
    scene = plan.scene
    size_bytes = scene.patch * (scene.patch_width or scene.patch) * 3
    if target.port is None or target.port.startswith(UNIX_PREFIX):
        slow, fast = SOCKET_BYTES_A_SECOND
        return size_bytes / fast, 2.5 * size_bytes / slow
    baud = CortexMOptions.model_validate(dict(target.options)).baud
    return size_bytes * FRAME_SHARE * 10 / baud, hex_line_s(size_bytes, baud)


def stage_seconds(
    target: Target, plan: MeasurePlan, patch_s: float | None, lengths: WindowLengths
) -> Mapping[SessionStage, Seconds]:
    """Of each stage; without a patch's time windows take what they may.

    Nothing for a patch of no time: an emulated board's sessions are known as a whole alone.
    """
    if patch_s == 0:
        return {}
    options = CortexMOptions.model_validate(dict(target.options))
    load = load_s(target, plan)
    if options.is_in_qemu:
        return window_stages_s(plan, IN_QEMU, load, patch_s, QEMU_INFERENCE_S)
    return window_stages_s(plan, lengths, load, patch_s)
