"""A host's side of MLPerf Tiny's serial protocol: every command, its answer checked.

Works with any firmware made for that benchmark: unknown lines are passed over, and what only EdgeBench's
firmware sends (m-info lines, the binary load) may be missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from .exchange import Exchange
from .faults import AnswerTimeout, EnergyBuild, ErrorAnswer
from .infer_answer import InferCommand, Inferences, inferences_of, is_over
from .line import Line
from .loading import Loaded, LoadProgress, load
from .messages import (
    Banner,
    FirmwareName,
    Info,
    Lap,
    Message,
    Missing,
    Model,
    Name,
    Ready,
    Text,
)
from .upload_frames import BinaryOffer, give_up_frame, offered_frames

RESYNCHRONISE_S = 15.0
"""In which a board has to have booted, loaded its model and answered `name%`."""
NAME_S = 1.5
"""Without an answer for that long `name%` is sent again: a board that was booting has not seen it."""
QUIET_S = 0.1
"""A line on which nothing came for that long is silent."""
MOST_INFOS = 64
INFER_MARGIN_S = 10.0
"""An inference may take three times what is expected, and this."""

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class Profile:
    """What a firmware says of itself, printable and bounded.

    Attributes:
        firmware: its name; free text of other vendors.
        model_id: EdgeBench's firmware: VARIANT:SHA256 of the artifact; the benchmark's: such as vww01.
        infos: by name, of EdgeBench's firmware; else empty.
    """

    firmware: str
    model_id: str
    infos: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


class Stamp(NamedTuple):
    """One round trip of `timestamp%`: the host's monotonic clock around what the board's clock showed.

    Attributes:
        sent_ns, received_ns: host clock.
        lap_us: board clock modulo 2^32; WrappingClock unwraps it.
    """

    sent_ns: int
    lap_us: int
    received_ns: int


class Conversation:
    """With one board.

    All methods raise LineLost when the line is gone, AnswerTimeout, BoardReset, BadAnswer or ErrorAnswer
    (all of them LineFault) when an answer is none. None waits without an end.

    Args:
        line: to the board; whoever opened it closes it.
        baud: of the line.
        clock_ns: the host's monotonic clock.
        takes_frames: whether an input may go as frames; False: as digits, whatever the firmware offers.
    """

    def __init__(
        self,
        line: Line,
        baud: int,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        takes_frames: bool = True,
    ) -> None:
        self._exchange = Exchange(line, baud, clock_ns)
        self._is_energy_build = False
        self._offer: BinaryOffer | None = None
        self._has_asked_for_offer = not takes_frames

    def resynchronise(self) -> None:
        """Bring host and board to the same command: before each phase, and after a fault.

        What is on the line is dropped, `name%` is sent until it is answered, and what else comes is dropped
        until the line is silent. A board that resets when its port is opened has until then to boot.
        """
        exchange = self._exchange
        deadline_ns = exchange.clock_ns() + round(RESYNCHRONISE_S * 1e9)
        sent = 0
        while exchange.clock_ns() < deadline_ns:
            exchange.forget()
            exchange.send("name")
            sent += 1
            if self._hear_name(sent, deadline_ns):
                return
        raise AnswerTimeout(
            f"the board does not answer `name%` within {RESYNCHRONISE_S:.0f} s, or is never silent",
            awaited="`m-name-dut-[...]`, `m-ready`, then silence",
            came=exchange.came(),
            fix="see that the firmware is flashed, the port the board's and the baud rate its own",
        )

    def _hear_name(self, sent: int, deadline_ns: int) -> bool:
        """Whether a name and an `m-ready` came, then silence."""
        exchange = self._exchange
        names, is_answered = 0, False
        while exchange.clock_ns() < deadline_ns:
            # Answers to commands that a booting board may yet have taken are awaited for longer.
            quiet_s = QUIET_S if names >= sent else NAME_S
            message = exchange.next_message(quiet_s + _SILENCE_BYTES * exchange.byte_s)
            if message is None:
                return is_answered
            if isinstance(message, Name):
                names += 1
            elif isinstance(message, Ready):
                is_answered = names > 0
            elif isinstance(message, Banner):
                self._is_energy_build = message.mode == "energy"
                names, is_answered = 0, False
            elif isinstance(message, Missing):  # a load that another host left amid its frames
                exchange.line.write(give_up_frame())
        return False

    def name(self) -> str:
        """What the vendor calls the device."""
        return self._one_of(Name, self._ask("name", Name)).name

    def profile(self) -> Profile:
        """Firmware, model and what else the firmware says of itself."""
        answer = self._ask("profile", FirmwareName, Model)
        infos: dict[str, str] = {}
        for message in answer:
            if isinstance(message, Info) and len(infos) < MOST_INFOS:
                infos.setdefault(message.name, message.value)
        return Profile(
            self._one_of(FirmwareName, answer).firmware,
            self._one_of(Model, answer).model_id,
            MappingProxyType(infos),
        )

    def help(self) -> tuple[str, ...]:
        """The lines of `help%`."""
        return tuple(message.text for message in self._ask("help", Text) if isinstance(message, Text))

    def timestamp(self) -> Stamp:
        """The board's clock between two readings of the host's; EnergyBuild where stamps are pulses."""
        self._require_laps()
        exchange = self._exchange
        sent_ns = exchange.clock_ns()
        try:
            answer = self._ask("timestamp", Lap)
        except AnswerTimeout as error:
            if set(error.came) == {"m-ready"}:
                raise EnergyBuild(error.awaited, error.came) from error
            raise
        # The m-ready behind the lap takes its time, too: the interval is wider for it, never wrong.
        return Stamp(sent_ns, self._one_of(Lap, answer).lap_us, exchange.clock_ns())

    def load(self, tensor: bytes, report: LoadProgress) -> Loaded:
        """Send an input: as frames where the firmware's help offers that, else as digits.

        Args:
            tensor: the model's input as the board has it in memory.
            report: of (bytes sent, bytes in all).

        Raises:
            LoadFailed: it was broken each time that it was tried.
        """
        if not self._has_asked_for_offer:
            self._offer = self._binary_offer()
            self._has_asked_for_offer = True
        return load(self._exchange, tensor, self._offer, self.resynchronise, report)

    def _binary_offer(self) -> BinaryOffer | None:
        try:
            return offered_frames(self.help())
        except (ErrorAnswer, AnswerTimeout):  # firmware without help, or one that prints none
            self.resynchronise()
            return None

    def infer(
        self, inferences: int, warm_ups: int, expected_s: float, classes: int | None = None
    ) -> Inferences:
        """Inferences on the resident input after warm-ups, between two laps.

        Args:
            inferences: at least 1.
            warm_ups: always sent: firmware takes 10 where none are named.
            expected_s: how long all of them are expected to take.
            classes: how many scores the artifact has; None: any number.

        Raises:
            EnergyBuild: the firmware sends no laps.
        """
        self._require_laps()
        exchange = self._exchange
        command = InferCommand(inferences, warm_ups, classes)
        wait_s = 3 * expected_s + INFER_MARGIN_S + exchange.answer_s()
        sent_ns = exchange.clock_ns()
        messages = exchange.ask(command.text, command.awaited, is_over, wait_s)
        return inferences_of(command, messages, exchange.came(), sent_ns, exchange.clock_ns())

    def _ask(self, command: str, *kinds: type[Message]) -> Sequence[Message]:
        awaited = " and ".join(_FORMS[kind] for kind in kinds)
        return self._exchange.ask(
            command,
            awaited,
            lambda answer: all(any(isinstance(message, kind) for message in answer) for kind in kinds),
        )

    def _one_of(self, kind: type[M], answer: Sequence[Message]) -> M:
        """The last of its kind: what came before may be an earlier answer's."""
        return next(message for message in reversed(answer) if isinstance(message, kind))

    def _require_laps(self) -> None:
        if self._is_energy_build:
            raise EnergyBuild(_FORMS[Lap], self._exchange.came())


_SILENCE_BYTES = 16
_FORMS: Mapping[type[Message], str] = {
    Name: "`m-name-dut-[...]`",
    FirmwareName: "`m-profile-[...]`",
    Model: "`m-model-[...]`",
    Lap: "`m-lap-us-...`",
    Text: "lines of help",
}
