"""Google's Coral Dev Board Micro: firmware with TFLM and an Edge TPU, over the network of its USB cable."""

from __future__ import annotations

import contextlib
import functools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from edgebench.contract import Backend, BackendOptions, PathText
from edgebench.errors import UnavailableError, UnsupportedError, UsageError
from edgebench.link.clock_match import as_session_error
from edgebench.link.session_loop import Timeouts
from edgebench.prepare.cache import Cache
from edgebench.prepare.chain import Chain, PreparedByChain
from edgebench.prepare.edgetpu import PRECISION_REASONS, EdgeTpuChain, compiler_finding
from edgebench.records.model import Artifact, Prepared, PrepareRequest
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Target
from edgebench.records.values import Finding, ImageSet, Json, Progress

from .board_address import USUAL_HOST, HarnessLock, board_address, missing_interface
from .faults import PLUG_IN, MicroFault, NobodyAnswers, OtherFirmware
from .micro_board import USUAL, BoardDescription, Limits, MicroBoard, RpcClient
from .session import MOST_PATCHES, CoralMicroSession, lack_of_room, misfit, why_not_taken

# One board at its address: what it is, and its sessions.

# `--set` of a Coral Dev Board Micro.


class CoralMicroOptions(BackendOptions):
    """Where the board is decides no figure, and is kept out of exports."""

    places = frozenset({"address"})

    address: str = Field(
        default=USUAL_HOST,
        max_length=300,
        description=f"the board's address, as HOST or HOST:PORT; over USB it is {USUAL_HOST}",
    )
    allow_cpu: bool = Field(
        default=False, description="take a model that is not compiled, on the Cortex-M7 and marked so"
    )
    artifact: PathText = Field(
        default="",
        description="a compiled model, or a folder of them as edgetpu_compiler names them (--artifact)",
    )

    @field_validator("address")
    @classmethod
    def _check_address(cls, address: str) -> str:
        try:
            board_address(address)
        except UsageError as error:
            raise ValueError(f"{error.what}: {error.why}; {error.fix}") from None
        return address


_log = logging.getLogger(__name__)

ASK_AGAIN_S = 1.0
"""How often a board is asked that has answered before and is gone: it may be booting."""


class CoralMicroDevice:
    """Implements `Device`; nothing stays open, because each call is a connection of its own.

    Args:
        target: what is measured, with the board's address among its options.
        limits: of single calls.
        sleep: waits that many seconds.
    """

    placement_cost: Literal["cheap", "slow", "manual"] = "cheap"

    def __init__(
        self, target: Target, limits: Limits = USUAL, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._address = board_address(CoralMicroOptions.model_validate(dict(target.options)).address)
        self._timeouts = Timeouts.from_environment()
        build_s = min(limits.build_s, self._timeouts.load)
        self._client = RpcClient(self._address, replace(limits, build_s=build_s))
        self._sleep = sleep
        self._has_answered = False
        self._lock = HarnessLock(self._address)

    def hold(self) -> None:
        """Keep this user's other harnesses off it until `close`; UnavailableError where one is on it."""
        self._lock.take(self._timeouts.lock)

    def connect(self) -> BoardDescription:
        """What the board says of itself; UnavailableError if nothing answers, else a MicroFault."""
        if why := missing_interface(self._address):
            raise UnavailableError(f"no board answers at {self._address.authority}", why=why, fix=PLUG_IN)
        try:
            description = MicroBoard(self._client).description
        except NobodyAnswers as fault:
            raise UnavailableError(fault.what, why=fault.why, fix=fault.fix) from fault
        self._has_answered = True
        return description

    # --- the contract ---

    def describe(self) -> dict[str, Json]:
        """The board, its processors with their clocks, its temperature; SessionError as it answers."""
        with as_session_error("start"):
            board = self._answering().description
        # Both processors with their clocks: another clock is another device.
        facts: dict[str, Json] = {
            "board": board.board,
            "cpu": ", ".join(filter(None, (board.cpu, board.tpu))),
            "firmware": f"{board.firmware} {board.version}",
        }
        if board.temperature_c is not None:
            facts["temperatures_c"] = {"Edge TPU": board.temperature_c}
        return facts

    @contextlib.contextmanager
    def session(self, artifact: Artifact, settings: SessionSettings) -> Iterator[CoralMicroSession]:
        """A session on the board, which is given the artifact's model where it has another.

        Nothing is held: a call is a connection of its own.
        """
        if why := why_not_taken(artifact):
            raise misfit(why, "take an int8 model of pictures, at a batch of 1")
        with as_session_error("start"):
            board = self._answering()
        session = CoralMicroSession(board, artifact, settings, self._timeouts)
        session.start()
        yield session

    def close(self) -> None:
        """Others may have the board."""
        self._lock.release()

    def _answering(self) -> MicroBoard:
        """A board that answers; one that has answered before is waited for, as after a reset."""
        board = MicroBoard(self._client)
        give_up_s = time.monotonic() + self._timeouts.reconnect
        is_awaited = False
        while True:
            try:
                board.describe()
            except NobodyAnswers:
                if not self._has_answered or time.monotonic() >= give_up_s:
                    raise
            else:
                self._has_answered = True
                return board
            if not is_awaited:
                _log.warning("the board does not answer any more: it is waited for")
            is_awaited = True
            self._sleep(ASK_AGAIN_S)


# What `doctor` says of a Coral Dev Board Micro: whether it answers, and what prepares its models here.


BRIEF = Limits(connect_s=2.0, answer_s=3.0)
"""`doctor` waits no longer."""


def _of_description(board: BoardDescription, *, needs_edge_tpu: bool) -> list[Finding]:
    runtime = f"{board.runtime} {board.runtime_version}".strip()
    model = "none" if board.model is None else board.model.sha256[:12]
    firmware = f"{board.firmware} {board.version}, with {runtime}; model: {model}"
    memory = (
        f"room for a model of {_mib(board.model_bytes)}, {_mib(board.scene_bytes)} of the scene's patches "
        f"and {_mib(board.images_bytes)} of images, and an arena of {_mib(board.arena_bytes)}"
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


class CoralMicroBackend(PreparedByChain, Backend):
    """Takes int8, one patch at a time; its passes are of as many patches as the board holds."""

    name = "coral-micro"
    description = "Google's Coral Dev Board Micro, by TFLM with the Edge TPU and JSON-RPC over USB"
    precisions = ("int8",)
    precision_reasons = PRECISION_REASONS
    most_batch = 1
    options_model = CoralMicroOptions
    default_patches = MOST_PATCHES
    # Of 150 kB each, as base64 through a microcontroller's HTTP: a minute or so, and all of them several.
    default_accuracy_images = 300
    monitors = ()
    chain: ClassVar[Chain] = EdgeTpuChain("coral-micro", takes_uncompiled=True)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """As for other Edge TPUs; UnsupportedError for what the board that answers has no room for.

        Where none answers, its first session says what does not fit.
        """
        outcomes = super().prepare(requests, cache, progress)
        answering = functools.cache(_board_that_answers)
        return [
            _unless_too_large(outcome, answering(str(request.options.get("address", USUAL_HOST))))
            if isinstance(outcome, Artifact)
            else outcome
            for request, outcome in zip(requests, outcomes, strict=True)
        ]

    def open(self, target: Target) -> CoralMicroDevice:
        """The board at the target's address; UnavailableError if nothing answers, or it is in use."""
        device = CoralMicroDevice(target)
        # What answers otherwise than a board should is the first session's to tell.
        with contextlib.suppress(MicroFault):
            device.connect()
        device.hold()
        return device

    def check(self, target: Target) -> list[Finding]:
        """Findings on the board at the target's address and on what prepares its models."""
        compiler = compiler_finding(target.options)
        try:
            description = CoralMicroDevice(target, BRIEF).connect()
        except (UnavailableError, MicroFault) as fault:
            subject = "firmware" if isinstance(fault, OtherFirmware) else "board"
            return [
                Finding("error", subject, ": ".join(filter(None, (fault.what, fault.why))), fault.fix),
                compiler,
            ]
        return [*_of_description(description, needs_edge_tpu=not target.options.get("allow_cpu")), compiler]

    def check_plan(self, target: Target, plan: MeasurePlan, images: ImageSet | None, sessions: int) -> None:
        """UsageError for a period: a pass is of fewer patches than an image has."""
        if plan.period_s is not None:
            raise UsageError(
                f"{target.name} cannot be paced",
                why="a pass is of as many patches as the board holds, and an image has more: none of them is "
                "what comes with a camera's period",
                fix="leave --period out; --sustained says for how long passes go on",
            )


def _board_that_answers(address: str) -> BoardDescription | None:
    with contextlib.suppress(UnavailableError, MicroFault):
        return CoralMicroDevice(Target("", CoralMicroBackend.name, {"address": address}), BRIEF).connect()
    return None


def _unless_too_large(artifact: Artifact, board: BoardDescription | None) -> Prepared:
    why = why_not_taken(artifact) or (lack_of_room(artifact, board) if board else "")
    if not why:
        return artifact
    return UnsupportedError(
        f"{artifact.variant} does not fit the Coral Dev Board Micro",
        why=why,
        fix="take a smaller model, or build firmware with other sizes (backends/coral/micro/README.md)",
    )
