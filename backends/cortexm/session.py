"""A session at a serial line: the firmware that answers, and the windows that it is timed by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import TracebackType
from typing import Protocol

import numpy as np

from edgebench.errors import NoPermissionError, SessionError, UnavailableError
from edgebench.link.window_lengths import WindowLengths
from edgebench.link.window_session import WindowSession
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.passes import Window
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.probe import ProbeChunk
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.session_facts import SessionFacts
from edgebench.vocabulary.values import Scores

from .board_profile import BoardProfile
from .conversation import Conversation
from .emulator import IN_QEMU
from .faults import LineFault
from .preparing import PRINTED_ROUNDING
from .serial_board import SerialBoard

FLOAT_ROUNDING = 1e-6
"""Of scores that are compared as float32."""

NO_SHIFT = (
    "its QEMU was not started here: --set icount-shift=N says so where it was started with -icount shift=N"
)
SIMULATED = "the simulator counts no instructions"


class BoardLink(Protocol):
    """What a session needs of its device."""

    def connect(self) -> Conversation:
        """The conversation with the board, opened where it is not; UnavailableError or NoPermissionError."""

    def identify(self) -> BoardProfile:
        """What the board says of itself, after it was resynchronised; LineFault."""

    def provide(self, artifact: Artifact) -> None:
        """Bring firmware with the artifact onto the board, where the options allow it; else SessionError."""

    @property
    def icount_shift(self) -> int | None:
        """Of the QEMU that emulates the board, where it is known."""

    def disconnect(self) -> None:
        """Give the port back; the next session opens it again."""


class CortexMSession:
    """Implements `Session`; entered, the board answers and carries the artifact.

    The firmware stays resident: a session begins with a flushed line, and with a reset only where the board
    resets when its port is opened.

    Args:
        device: the board.
        artifact, settings: what is measured, and how.
        lengths: of the windows.
    """

    def __init__(
        self, device: BoardLink, artifact: Artifact, settings: SessionSettings, lengths: WindowLengths
    ) -> None:
        self._device = device
        self._artifact = artifact
        self._settings = settings
        self._lengths = lengths
        self._golden_difference = 0.0

    def __enter__(self) -> CortexMSession:
        try:
            conversation, self._profile = self._answering()
            if not self._profile.carries(self._artifact):
                self._device.provide(self._artifact)
                conversation, self._profile = self._answering()
                self._profile.require_carries(self._artifact)
            self._profile.require_fits(self._artifact)
            is_emulated = self._profile.is_emulated
            in_qemu = self._profile.is_in_qemu
            self._icount_shift = self._device.icount_shift if in_qemu else None
            board = SerialBoard(
                conversation, self._artifact, is_emulated=is_emulated, icount_shift=self._icount_shift
            )
            self._session = WindowSession(
                board,
                self._artifact,
                self._settings,
                IN_QEMU if in_qemu else self._lengths,
                has_real_time=not is_emulated,
                keeps_input=self._profile.is_own,
            )
            self._session.start()
        except BaseException:
            self._device.disconnect()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """A board that was left amid an answer, is gone or emulated is met anew by the next session."""
        if error is not None or self._profile.is_emulated:
            self._device.disconnect()

    def golden(self) -> Scores:
        """Scores float32 [golden, classes], each patch by `infer 1 0`."""
        scores = self._session.golden()
        due = np.asarray(self._artifact.golden.scores)
        if scores.shape == due.shape:
            self._golden_difference = float(np.abs(scores - due).max())
        return scores

    def measure(self, plan: MeasurePlan) -> Iterator[Window]:
        """The first window, then steady ones over the plan's patches in turn."""
        return self._session.measure(plan)

    def predict(self, images: ImageSet) -> Scores:
        """Scores float32 [n, classes], each image by `infer 1 0`."""
        return self._session.predict(images)

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        """Nothing samples on the board."""
        return iter(())

    def facts(self) -> SessionFacts:
        """What is known by now; nothing was loaded, because the firmware is resident."""
        facts = self._session.facts()
        return replace(
            facts,
            runtime=self._profile.runtime(),
            instructions_reason=self._instructions_reason(),
            warnings=(*self._profile.warnings(), *self._golden_warnings(), *facts.warnings),
        )

    def _golden_warnings(self) -> list[str]:
        """That firmware whose engine computes what the reference does is off by more than its decimals."""
        if not self._profile.is_own or self._golden_difference <= PRINTED_ROUNDING + FLOAT_ROUNDING:
            return []
        return [
            f"the golden scores differ by {self._golden_difference:.4f} from "
            f"{self._artifact.golden.reference}, with which the firmware's engine should agree bit for bit"
        ]

    def _instructions_reason(self) -> str:
        """Why the windows of an emulated board do not say instructions; empty where they do."""
        if not self._profile.is_emulated or self._icount_shift is not None:
            return ""
        return NO_SHIFT if self._profile.is_in_qemu else SIMULATED

    def _answering(self) -> tuple[Conversation, BoardProfile]:
        """The conversation with a board that has said what it is."""
        try:
            return self._device.connect(), self._device.identify()
        except LineFault as fault:
            raise fault.as_session_error("start") from fault
        except (UnavailableError, NoPermissionError) as refusal:
            raise SessionError(
                refusal.what, status="lost_connection", stage="start", why=refusal.why, fix=refusal.fix
            ) from refusal
