"""Microcontrollers at a serial line: int8 models in firmware, timed by windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError, NoPermissionError, UnavailableError, UnsupportedError, UsageError
from edgebench.link.window_session import USUAL, Seconds, WindowLengths, window_stages_s
from edgebench.prepare.cache import Cache
from edgebench.prepare.chain import Chain, PreparedByChain
from edgebench.probes.host.serial_port import ports_in_words
from edgebench.records.model import Artifact, Prepared, PrepareRequest
from edgebench.records.session import MeasurePlan
from edgebench.records.target import Target
from edgebench.records.values import Finding, ImageSet, Json, Progress
from edgebench.session_stages import SessionStage

from .choices import BAUD, ENERGY_BAUD, FAST_BAUD
from .conversation import hex_line_s
from .device import (
    CortexMDevice,
    chain_of,
    require_port_named,
    with_printed_tolerance,
)
from .emulator import IN_QEMU
from .firmware_supply import FirmwareSupply, firmware_with, missing_program, required_board
from .line import UNIX_PREFIX, require_port_exists
from .messages import AnswerTimeout, LineFault
from .options import CortexMOptions
from .profile import NOT_REPORTED, Profile

# What `doctor` says of a microcontroller: its port, whether it answers, and what it carries.


_OF_THE_PROTOCOL = ("m-", "e-[")


def _without_port(options: CortexMOptions) -> Finding:
    if not FirmwareSupply(options).emulates:
        fix = "name the board's by --port, such as /dev/ttyACM0"
        return Finding("error", "port", f"no port was named: {ports_in_words()}", fix)
    if (error := missing_program(options)) is not None:
        return _error("board", error, error.fix)
    return Finding("ok", "board", f"{required_board(options).title}: the run starts it")


def _of_profile(profile: Profile) -> list[Finding]:
    runtime = profile.runtime()
    facts = profile.infos.get("board", profile.board)
    first = Finding("ok", "board", f"{facts}: {profile.firmware} answers")
    version = "" if runtime["version"] == NOT_REPORTED else f" {runtime['version']}"
    model = f"{profile.model_id}, by {runtime['name']}{version}"
    if not profile.is_own:
        return [
            first,
            Finding(
                "warning",
                "firmware",
                f"{model}: it is not EdgeBench's, and its model is known by its outputs alone",
                "flash EdgeBench's (edgebench cortexm build), or go on: its figures are marked",
            ),
        ]
    return [first, Finding("ok", "firmware", model)]


def _of_fault(fault: LineFault, baud: int) -> Finding:
    if not isinstance(fault, AnswerTimeout):
        return _error("board", fault, fault.fix or "plug the board in anew")
    if any(line.startswith(_OF_THE_PROTOCOL) for line in fault.came):
        return _error("board", fault, "press the board's reset button, or flash its firmware anew")
    reason = (
        f"what comes at {baud} baud cannot be read: the board's rate is another one"
        if fault.came
        else "nothing comes"
    )
    others = ", ".join(f"--set baud={other}" for other in (BAUD, FAST_BAUD, ENERGY_BAUD) if other != baud)
    fix = f"try {others}; press the board's reset button; see that its firmware speaks MLPerf Tiny's protocol"
    return Finding("error", "board", f"{fault.what}: {reason}", fix)


def _error(subject: str, error: EdgeBenchError, fix: str) -> Finding:
    return Finding("error", subject, ": ".join(filter(None, (error.what, error.why))), fix)


# How long a session at a serial line takes, from the least to the most (pure).


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


class CortexMBackend(PreparedByChain, Backend):
    """Firmware that speaks MLPerf Tiny's protocol: EdgeBench's own, or another.

    Args:
        lengths: of windows; users have the usual ones.
    """

    name = "cortex-m"
    description = "a microcontroller at a serial line, by firmware with TFLM or generated C"
    precisions = ("int8",)
    most_batch = 1
    options_model = CortexMOptions
    takes_port = True
    gives_windows = True
    default_passes = 5
    default_patches = 1
    default_accuracy_images = 50
    monitors = ()

    def __init__(self, lengths: WindowLengths = USUAL) -> None:
        self._lengths = lengths

    def chain_of(self, request: PrepareRequest) -> Chain:
        """That of the engine; UnsupportedError for what is not int8."""
        if refusal := _refusal(request):
            raise refusal
        return chain_of(request.options)

    def missing(self, request: PrepareRequest) -> UnavailableError | None:
        """What the engine's chain needs, and what firmware does where it is built or flashed."""
        options = CortexMOptions.model_validate(dict(request.options))
        return chain_of(request.options).missing(request) or missing_program(options)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """By the chains of the requests' engines; then the firmware, where it is to be built."""
        refusals = [_refusal(request) for request in requests]
        taken = [request for request, refusal in zip(requests, refusals, strict=True) if refusal is None]
        artifacts = zip(taken, super().prepare(taken, cache, progress), strict=True)
        outcomes = iter(
            _with_firmware(with_printed_tolerance(artifact), request.options, cache, progress)
            for request, artifact in artifacts
        )
        return [refusal or next(outcomes) for refusal in refusals]

    def open(self, target: Target) -> CortexMDevice:
        """The board at the target's port; UnavailableError or NoPermissionError where there is none."""
        device = CortexMDevice(target, self._lengths)
        device.connect()
        return device

    def check(self, target: Target) -> list[Finding]:
        """Of the board at the target's port, or of an emulated one; without either, which ports there are."""
        device = CortexMDevice(target)
        try:
            if target.port is None:
                return [_without_port(CortexMOptions.model_validate(dict(target.options)))]
            return _of_profile(device.identify())
        except LineFault as fault:
            return [_of_fault(fault, int(target.options.get("baud", BAUD)))]
        except (UnavailableError, NoPermissionError, UsageError) as refusal:
            return [_error("port", refusal, refusal.fix)]
        finally:
            device.close()

    def stage_seconds(
        self, target: Target, plan: MeasurePlan, patch_s: float | None
    ) -> Mapping[SessionStage, tuple[float, float]]:
        """By the baud, and by how long windows are; without a patch's time windows take what they may.

        Nothing for a patch of no time: an emulated board's sessions are known as a whole alone.
        """
        if patch_s == 0:
            return {}
        load = load_s(target, plan)
        if CortexMOptions.model_validate(dict(target.options)).is_in_qemu:
            return window_stages_s(plan, IN_QEMU, load, patch_s, QEMU_INFERENCE_S)
        return window_stages_s(plan, self._lengths, load, patch_s)

    def check_plan(self, target: Target, plan: MeasurePlan, images: ImageSet | None, sessions: int) -> None:
        """UsageError for a period: inferences of a window follow one another on the board.

        UnavailableError where no port is named, or there is none of its name: preparing a variant may take
        minutes.
        """
        options = CortexMOptions.model_validate(dict(target.options))
        require_port_named(target.port, options, FirmwareSupply(options).emulates)
        if target.port is not None:
            require_port_exists(target.port)
        if plan.period_s is not None:
            raise UsageError(
                f"{target.name} cannot be paced",
                why="its firmware infers a window's patches back to back, and waits for nothing in between",
                fix="leave --period out; --sustained says for how long windows go on",
            )


def _with_firmware(
    outcome: Prepared, options: Mapping[str, Json], cache: Cache, progress: Progress
) -> Prepared:
    """The artifact, once firmware with it is built where that is asked for; else why it cannot be."""
    known = CortexMOptions.model_validate(dict(options))
    if not isinstance(outcome, Artifact) or not (known.build or known.flash):
        return outcome
    try:
        firmware_with(outcome, known, cache, progress)
    except UsageError:
        raise
    except EdgeBenchError as error:
        return error
    return outcome


def _refusal(request: PrepareRequest) -> UnsupportedError | None:
    if request.variant.precision == "int8" and request.batch == 1:
        return None
    return UnsupportedError(
        f"{request.variant.name} at batch {request.batch} is not taken by cortex-m",
        why="its firmware takes int8, one patch at a time",
        fix="ask for --precision int8 and leave --batch out",
    )
