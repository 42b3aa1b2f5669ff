"""Microcontrollers at a serial line: int8 models in firmware, timed by windows."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from edgebench import interruption
from edgebench.contract import Backend
from edgebench.errors import (
    EdgeBenchError,
    NoPermissionError,
    SessionError,
    UnavailableError,
    UsageError,
)
from edgebench.link.clock_match import WrappingClock
from edgebench.link.session_loop import Timeouts
from edgebench.link.window_session import (
    USUAL,
    Seconds,
    TimedInferences,
    WindowLengths,
    WindowSession,
    window_stages_s,
)
from edgebench.prepare.cache import Cache
from edgebench.prepare.chain import Chain, PreparedByChain
from edgebench.probes.host.serial_port import ports_in_words
from edgebench.records.model import Artifact, Prepared, PrepareRequest, SourceKind
from edgebench.records.session import MeasurePlan, SessionFacts, SessionSettings
from edgebench.records.target import Target
from edgebench.records.values import Finding, ImageSet, Json, Progress, Scores
from edgebench.session_stages import SessionStage
from edgebench.stats.clock import RoundTrip

from .artifacts import chain_of, refusal_of, tensor_of, with_printed_tolerance
from .choices import BAUD, ENERGY_BAUD, FAST_BAUD
from .conversation import Conversation, hex_line_s
from .emulator import IN_QEMU
from .firmware_supply import FirmwareSupply, firmware_with, missing_program, required_board
from .line import UNIX_PREFIX, AnswerTimeout, Line, LineFault, LineLost, open_line, require_port_exists
from .options import CortexMOptions
from .profile import NOT_REPORTED, Profile

# An open line to one board: its timed inferences, its sessions, and how the line is opened.

# A board at its line as a session of windows asks it: patches in, timed inferences and stamps out.


NS_A_CYCLE_OF_ICOUNT = 1000
"""Times us, and over 2^shift: QEMU with `-icount shift=N` lets 2^N ns go by with each instruction."""


class SerialBoard:
    """Implements `WindowBoard`.

    Args:
        conversation: with the board.
        artifact: that it carries.
        is_emulated: whether its clock is no time.
        icount_shift: of QEMU, where its clock counts instructions.

    Attributes:
        is_unsigned: whether the firmware takes pixels 0 to 255 and subtracts 128 itself, as MLPerf Tiny's
            does for person detection and image classification; else it takes what the model takes.
    """

    def __init__(
        self,
        conversation: Conversation,
        artifact: Artifact,
        *,
        is_emulated: bool = False,
        icount_shift: int | None = None,
    ) -> None:
        self._conversation = conversation
        self._artifact = artifact
        self._clock = WrappingClock(follows_host=not is_emulated)
        self._icount_shift = icount_shift
        self.is_unsigned = False

    def resynchronise(self) -> None:
        """Flush the line, and see that the board answers."""
        self._conversation.resynchronise()

    def load(self, patch: NDArray[Any]) -> None:
        """Send the patch, or the sample, as the artifact's input."""
        tensor = tensor_of(self._artifact, patch)
        if self.is_unsigned:
            tensor = (np.frombuffer(tensor, np.uint8) ^ 0x80).tobytes()  # int8 + 128
        self._conversation.load(tensor)

    def infer(self, inferences: int, warm_ups: int, expected_s: float) -> TimedInferences:
        """`infer N W`, on the unwrapped clock."""
        answer = self._conversation.infer(inferences, warm_ups, expected_s, self._artifact.scores)
        start_us, end_us = self._clock.stamps_us(answer.sent_ns, answer.laps_us, answer.received_ns)
        instructions = None
        if self._icount_shift is not None:
            instructions = round((end_us - start_us) * NS_A_CYCLE_OF_ICOUNT / 2**self._icount_shift)
        return TimedInferences(start_us * 1000, end_us * 1000, answer.scores, instructions)

    def round_trip(self) -> RoundTrip:
        """`timestamp%`, on the unwrapped clock."""
        return self._clock.round_trip(*self._conversation.timestamp())


# A session at a serial line: the firmware that answers, and the windows that it is timed by.


NO_SHIFT = (
    "its QEMU was not started here: --set icount-shift=N says so where it was started with -icount shift=N"
)
SIMULATED = "the simulator counts no instructions"


class CortexMSession(WindowSession):
    """Implements `Session` on a board that answers and carries the artifact.

    The firmware stays resident: a session begins with a flushed line, and with a reset only where the board
    resets when its port is opened.

    Args:
        conversation: with the board.
        profile: what the board says of itself.
        artifact, settings: what is measured, and how.
        lengths: of the windows.
        icount_shift: of QEMU, where its clock counts instructions.
    """

    def __init__(
        self,
        conversation: Conversation,
        profile: Profile,
        artifact: Artifact,
        settings: SessionSettings,
        lengths: WindowLengths,
        icount_shift: int | None,
    ) -> None:
        self._icount_shift = icount_shift if profile.is_in_qemu else None
        self._serial = SerialBoard(
            conversation, artifact, is_emulated=profile.is_emulated, icount_shift=self._icount_shift
        )
        super().__init__(
            self._serial,
            artifact,
            settings,
            IN_QEMU if profile.is_in_qemu else lengths,
            has_real_time=not profile.is_emulated,
            keeps_input=profile.is_own,
        )
        self._profile = profile
        self._may_take_pixels = not profile.is_own and artifact.input_type == "int8"

    def golden(self) -> Scores:
        """Scores float32 [golden, classes], each patch loaded and inferred once.

        Firmware of others may take int8 or pixels: where the scores of int8 are not the artifact's, pixels
        are tried, and the session keeps the convention whose scores are nearer.
        """
        scores = super().golden()
        distance = self._distance(scores)
        if not self._may_take_pixels or distance <= self._artifact.golden.tolerance:
            return scores
        self._change_convention()
        others = super().golden()
        if self._distance(others) < distance:
            return others
        self._change_convention()
        return scores

    def _change_convention(self) -> None:
        self._serial.is_unsigned = not self._serial.is_unsigned
        self._resident = None

    def _distance(self, scores: Scores) -> float:
        """The largest difference from the golden scores; infinite for what is no number."""
        difference = np.abs(scores - np.asarray(self._artifact.golden.scores))
        return float(np.nan_to_num(difference, nan=math.inf).max())

    def facts(self) -> SessionFacts:
        """What is known by now; nothing was loaded, because the firmware is resident."""
        facts = super().facts()
        counts_none = self._profile.is_emulated and self._icount_shift is None
        return replace(
            facts,
            runtime={**self._profile.runtime(), **self._convention()},
            instructions_reason=(NO_SHIFT if self._profile.is_in_qemu else SIMULATED) if counts_none else "",
            warnings=(*self._profile.warnings(), *facts.warnings),
        )

    def _convention(self) -> dict[str, Json]:
        if not self._may_take_pixels:
            return {}
        return {
            "input_convention": "pixels 0 to 255" if self._serial.is_unsigned else "as the model takes it"
        }


OPEN_AGAIN_S = 0.5

_log = logging.getLogger(__name__)


class CortexMDevice:
    """Implements `Device`; the port stays open from one session to the next.

    Args:
        target: what is measured, with its port.
        lengths: of the windows of its sessions.
    """

    placement_cost: Literal["cheap", "slow", "manual"]

    def __init__(self, target: Target, lengths: WindowLengths = USUAL) -> None:
        self._port = target.port
        self._options = CortexMOptions.model_validate(dict(target.options))
        self._lengths = lengths
        self._supply = FirmwareSupply(self._options)
        self._open: tuple[Line, Conversation] | None = None
        self._was_open = False
        # Other firmware is flashed by hand where the run does not do it.
        self.placement_cost = "slow" if self._options.flash else "manual"

    # --- the contract ---

    def describe(self) -> dict[str, Json]:
        """The board's name and its processor with the clock, as its firmware says them.

        A board that does not answer, and may be flashed, is given firmware that does. SessionError where it
        does not answer as it should.
        """
        try:
            board = self._identify_or_flash()
            if board.is_emulated:
                self.close()
            return board.description()
        except LineFault as fault:
            self.close()
            raise fault.as_session_error("start") from fault

    def _identify_or_flash(self) -> Profile:
        try:
            return self.identify()
        except LineFault as fault:
            if not self._options.flash:
                raise
            _log.warning("%s does not answer (%s): it is flashed", self._options.board, fault.what)
        self.close()
        self._supply.flash_first_light()
        return self.identify()

    @contextlib.contextmanager
    def session(self, artifact: Artifact, settings: SessionSettings) -> Iterator[CortexMSession]:
        """A session on whatever firmware answers, once it carries the artifact."""
        try:
            profile = self._answering()
            if not profile.carries(artifact):
                self.provide(artifact, profile.model_id)
                profile = self._answering()
            profile.require_fits(artifact)
            session = CortexMSession(
                self.connect(), profile, artifact, settings, self._lengths, self._supply.icount_shift
            )
            session.start()
            yield session
        except BaseException:
            self.close()  # a board that is gone, or during an answer: the next session opens its port again
            raise
        if profile.is_emulated:
            self.close()

    def _answering(self) -> Profile:
        """The profile of a board that answers; SessionError if none does."""
        try:
            return self.identify()
        except LineFault as fault:
            raise fault.as_session_error("start") from fault
        except (UnavailableError, NoPermissionError) as refusal:
            raise SessionError(
                refusal.what, status="lost_connection", stage="start", why=refusal.why, fix=refusal.fix
            ) from refusal

    def provide(self, artifact: Artifact, carried: str) -> None:
        """Firmware with the artifact onto the board, where the options allow it; else SessionError."""
        self.close()
        self._supply.supply(artifact, carried)
        if not self._supply.emulates:
            _log.warning("waiting for the board to answer with its new firmware")

    # --- the line ---

    def connect(self) -> Conversation:
        """The conversation with the board, opened where it is not; UnavailableError or NoPermissionError.

        A port that was there before is waited for: a board that was reset or replugged enumerates again.
        """
        require_port_named(self._port, self._options, self._supply.emulates)
        wait_s = Timeouts.from_environment().reconnect if self._was_open and self._port else 0.0
        give_up_s = time.monotonic() + wait_s
        while self._open is None:
            try:
                line = open_line(self._port or self._supply.port, self._options.baud)
            except UnavailableError:
                if time.monotonic() >= give_up_s:
                    self._was_open = False  # it is asked for once from now on
                    raise
                interruption.pause(OPEN_AGAIN_S)
            else:
                self._was_open = True
                self._open = line, Conversation(line, self._options.baud)
        return self._open[1]

    def identify(self) -> Profile:
        """What the board says of itself, after it was resynchronised; LineFault."""
        conversation = self.connect()
        try:
            conversation.resynchronise()
            return conversation.profile()
        except LineLost as fault:
            if reason := self._supply.why_ended():
                raise LineLost("the emulated board has ended", why=reason) from fault
            raise

    def close(self) -> None:
        """Close the line; the next session opens it again.

        An emulated board that was started here ends: its firmware polls its line, and would keep a core of
        this machine busy while others are measured.
        """
        if self._open is not None:
            with contextlib.suppress(LineFault):
                self._open[0].close()
            self._open = None
        self._supply.close()


def require_port_named(port: str | None, options: CortexMOptions, emulates: bool) -> None:
    """UsageError where two boards are named; UnavailableError where none is."""
    if port is not None and emulates:
        raise UsageError(
            f"--port and an emulated board ({options.board}) that --flash starts",
            fix="leave out --port, or --flash",
        )
    if port is None and not emulates:
        raise UnavailableError(
            "the device cortex-m is at a serial port, and none was named",
            fix="name it by --port, such as /dev/ttyACM0 (`edgebench doctor --device cortex-m` lists them)",
        )


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
        return _error("board", fault, fault.fix or "plug the board in again")
    if any(line.startswith(_OF_THE_PROTOCOL) for line in fault.came):
        return _error("board", fault, "press the board's reset button, or flash its firmware again")
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
"""For a socket, which has no baud: what QEMU's polling guest takes, and a program of this machine."""

QEMU_INFERENCE_S = (1.0, 30.0)
"""MobileNet v1 0.25 and 1.0 in QEMU, roughly, on one core of a machine of today."""


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

    def formats(self, options: Mapping[str, Json]) -> tuple[SourceKind, ...]:
        """Return the formats of the engine's chain."""
        return chain_of(options).formats

    def chain_of(self, request: PrepareRequest) -> Chain:
        """That of the engine; UnsupportedError for what is not int8."""
        if refusal := refusal_of(request):
            raise refusal
        return chain_of(request.options)

    def missing(self, request: PrepareRequest) -> UnavailableError | None:
        """What the engine's chain needs, and what firmware does where it is built or flashed."""
        options = CortexMOptions.model_validate(dict(request.options))
        return chain_of(request.options).missing(request) or missing_program(options)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """By the chains of the requests' engines; then the firmware, where it is to be built."""
        refusals = [refusal_of(request) for request in requests]
        taken = [request for request, refusal in zip(requests, refusals, strict=True) if refusal is None]
        artifacts = zip(taken, super().prepare(taken, cache, progress), strict=True)
        outcomes = iter(
            _with_firmware(with_printed_tolerance(artifact), request.options, cache, progress)
            for request, artifact in artifacts
        )
        return [refusal or next(outcomes) for refusal in refusals]

    def open(self, target: Target) -> CortexMDevice:
        """The board at the target's port; UnavailableError or NoPermissionError if it cannot be opened."""
        device = CortexMDevice(target, self._lengths)
        device.connect()
        return device

    def check(self, target: Target) -> list[Finding]:
        """Findings on the board at the target's port, or an emulated one; else which ports there are."""
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

    def stage_seconds(self, target: Target, plan: MeasurePlan) -> Mapping[SessionStage, tuple[float, float]]:
        """State durations by the baud, and by the shortest and the longest windows."""
        load = load_s(target, plan)
        if CortexMOptions.model_validate(dict(target.options)).is_in_qemu:
            return window_stages_s(plan, IN_QEMU, load, QEMU_INFERENCE_S)
        return window_stages_s(plan, self._lengths, load)

    def check_plan(self, target: Target, plan: MeasurePlan, images: ImageSet | None, sessions: int) -> None:
        """UsageError for a period: inferences of a window follow one another on the board.

        UnavailableError where no port is named, or it does not exist: preparing a variant may take
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
