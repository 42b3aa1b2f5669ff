"""A host's side of MLPerf Tiny's serial protocol: every command, its answer checked.

Works with any firmware made for that benchmark: unknown lines are passed over, and what only EdgeBench's
firmware sends (m-info lines, the binary load) may be missing.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from edgebench.suggest import printable

from .line import Line
from .messages import (
    SEQUENCE_MODULUS,
    Acknowledged,
    AnswerTimeout,
    BadAnswer,
    Banner,
    BinaryOffer,
    BoardError,
    BoardReset,
    EnergyBuild,
    ErrorAnswer,
    Expecting,
    FirmwareName,
    InferCommand,
    Inferences,
    Info,
    Lap,
    LineSplitter,
    LoadDone,
    LoadFailed,
    Message,
    Missing,
    Model,
    Name,
    Ready,
    RefusedLoad,
    Text,
    frames_of,
    give_up_frame,
    inferences_of,
    is_over,
    offered_frames,
    parse,
    shown,
)

# One command, one answer: messages by a deadline, matched to their command by content and never by count.
#
# A board that resets when its port is opened, or a line that doubles bytes, leaves an `m-ready` too many:
# an
# answer ends with the first `m-ready` after all that the command has to bring.


ANSWER_S = 5.0
"""How long an answer may take that needs no inference, beside the bytes on their way."""
MOST_OF_A_KIND = 128
"""Messages of an answer that are kept: help of some firmware has some dozens of lines of text."""
_QUOTED_LINES = 5
_QUOTED_CHARACTERS = 80
_LONGEST_ANSWER_BYTES = 2048
_BITS_A_BYTE = 10


class Exchange:
    """Commands and messages over a line.

    Args:
        line: to the board; whoever opened it closes it.
        baud: of the line, for how long bytes take.
        clock_ns: the host's monotonic clock.
    """

    def __init__(self, line: Line, baud: int, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self.line = line
        self.byte_s = _BITS_A_BYTE / baud
        self.clock_ns = clock_ns
        self._splitter = LineSplitter()
        self._pending: deque[bytes] = deque()
        self._recent: deque[bytes] = deque(maxlen=_QUOTED_LINES)

    def answer_s(self) -> float:
        """How long an answer without inferences may take at this baud."""
        return ANSWER_S + _LONGEST_ANSWER_BYTES * self.byte_s

    def send(self, command: str) -> None:
        """A command, with its end."""
        self._recent.clear()
        self.line.write(command.encode("ascii") + b"%")

    def forget(self) -> None:
        """Drop what has come and has not been looked at."""
        self.line.drop_input()
        self._splitter.clear()
        self._pending.clear()

    def next_message(self, wait_s: float) -> Message | None:
        """The next message; None when no line ended in this time."""
        if not self._pending:
            deadline_ns = self.clock_ns() + round(wait_s * 1e9)
            while not self._receive(max(deadline_ns - self.clock_ns(), 0) / 1e9):
                if self.clock_ns() >= deadline_ns:
                    return None
        line = self._pending.popleft()
        self._recent.append(line)
        return parse(line)

    def _receive(self, wait_s: float) -> bool:
        """Whether a line is there, after at most one read."""
        self._pending.extend(self._splitter.lines(self.line.read(wait_s)))
        return bool(self._pending)

    def messages(self, wait_s: float) -> Iterator[Message]:
        """All messages that come in this time."""
        deadline_ns = self.clock_ns() + round(wait_s * 1e9)
        while True:
            message = self.next_message(max(deadline_ns - self.clock_ns(), 0) / 1e9)
            if message is None:
                return
            yield message
            if self.clock_ns() >= deadline_ns:  # of a board that never stops
                return

    def came(self) -> list[str]:
        """The last lines that came since the command, for a fault's words."""
        lines = [*self._recent, *([self._splitter.begun] if self._splitter.begun else [])]
        return [printable(shown(line), _QUOTED_CHARACTERS) for line in lines[-_QUOTED_LINES:]]

    def ask(
        self,
        command: str,
        awaited: str,
        is_whole: Callable[[Sequence[Message]], bool],
        wait_s: float | None = None,
    ) -> list[Message]:
        """The answer to a command, without its `m-ready`.

        Args:
            command: without its `%`.
            awaited: what `is_whole` looks for, for a fault's words.
            is_whole: whether these messages are all that the command has to bring.
            wait_s: how long all of it may take.

        Raises:
            ErrorAnswer: the board refused.
            BoardReset: its boot banner came.
            AnswerTimeout: the answer did not come, or not whole.
        """
        limit_s = self.answer_s() if wait_s is None else wait_s
        self.send(command)
        answer: list[Message] = []
        kinds: Counter[type[Message]] = Counter()
        for message in self.messages(limit_s):
            if isinstance(message, Banner):
                raise self.reset(command, awaited)
            if isinstance(message, Ready):
                self._raise_error(command, awaited, answer)
                if is_whole(answer):
                    return answer
            elif kinds[type(message)] < MOST_OF_A_KIND:
                kinds[type(message)] += 1
                answer.append(message)
        raise AnswerTimeout(
            f"no whole answer to `{command}%` within {limit_s:.0f} s", awaited=awaited, came=self.came()
        )

    def reset(self, command: str, awaited: str) -> BoardReset:
        """The fault of a boot banner."""
        return BoardReset(
            f"the board was reset amid its answer to `{command}%`",
            awaited=awaited,
            came=self.came(),
            fix="see that its supply holds under load; firmware that faults resets the board, too",
        )

    def _raise_error(self, command: str, awaited: str, answer: Sequence[Message]) -> None:
        for message in answer:
            if isinstance(message, BoardError):
                raise ErrorAnswer(command, message.text, awaited=awaited, came=self.came())


# Sending a model's input to a board: as hex digits, as any firmware of the benchmark takes it, or as
# frames.
#
# What the line allows for digits: the protocol is half duplex, so that of each command's 31 bytes the way
# out
# and the `m-ready` back follow one another. 66 characters (`db `, 62 digits, `%`) and 9 (`m-ready`, CR, LF)
# of 10 bits each make 75 x 10 / baud seconds for 31 bytes: 6.51 ms at 115200 baud, 0.81 ms at 921600. Two
# commands are never under way: other firmware drops what comes while it answers. A frame takes 522
# characters
# for 512 bytes, and its acknowledgement comes while the next ones are on their way: 2.37 times as fast.


COMMAND_BYTES = 31
"""Of input in one `db` command, as the benchmark's runner sends them."""
MOST_ATTEMPTS = 3
STALL_S = 3.0
"""Without a new frame that is taken for that long, beside the time of two windows, a binary load is broken:
a board that lacks one asks for it each 0.2 s."""
SETTLE_S = 0.005
"""How long a second attempt by digits waits behind each m-ready for one that is doubled."""
MOST_DOUBLED = 8
"""Of one m-ready; a board that sends more never stops."""
COMMAND_S = 0.1
"""What a board may take for a `db` command on average, beside thrice the line's own time: a slow adapter
holds each answer back for 16 ms."""
LEAST_LIMIT_S = 60.0
_READY_CHARACTERS = 9


def hex_line_s(size_bytes: int, baud: int) -> float:
    """The seconds that the line itself takes for a load by digits, without its first command."""
    commands, rest = divmod(size_bytes, COMMAND_BYTES)
    around = len("db %") + _READY_CHARACTERS
    characters = commands * (2 * COMMAND_BYTES + around) + (2 * rest + around if rest else 0)
    return (characters + len("m-load-done\r\n")) * 10 / baud


def limit_s(size_bytes: int, byte_s: float) -> float:
    """How long an attempt may take, though each of its answers comes in time."""
    commands = -(-size_bytes // COMMAND_BYTES)
    return 3 * hex_line_s(size_bytes, round(_BITS_A_BYTE / byte_s)) + COMMAND_S * commands + LEAST_LIMIT_S


def load(
    exchange: Exchange,
    tensor: bytes,
    offer: BinaryOffer | None,
    resynchronise: Callable[[], None],
) -> None:
    """Send an input, again where it was broken.

    Raises:
        LoadFailed: the last of MOST_ATTEMPTS was broken, too.
        RefusedLoad: the board does not take an input of this size.
        BoardReset, LineLost: these are not tried again.
    """
    for attempt in range(1, MOST_ATTEMPTS + 1):
        if attempt > 1:
            resynchronise()
        try:
            _announce(exchange, tensor, offer)
            if offer is None:
                _send_digits(exchange, tensor, SETTLE_S if attempt > 1 else None)
            else:
                _send_frames(exchange, tensor, offer)
            return
        except RefusedLoad:
            raise
        except (AnswerTimeout, BadAnswer, ErrorAnswer) as fault:
            broken = fault
    raise LoadFailed(
        f"the input could not be sent in {MOST_ATTEMPTS} attempts; the last: {broken.what}",
        why=broken.why,
        fix="try a lower baud rate or a shorter cable",
    ) from broken


def _announce(exchange: Exchange, tensor: bytes, offer: BinaryOffer | None) -> None:
    """The command that begins a load. Frames follow without an `m-ready`."""
    size = len(tensor)
    command, awaited = f"db {'load' if offer is None else 'bin'} {size}", f"`m-[Expecting {size} bytes]`"
    try:
        if offer is None:
            exchange.ask(command, awaited, lambda answer: Expecting(size) in answer)
            return
        exchange.send(command)
        for message in exchange.messages(exchange.answer_s()):
            # A board that asks for the first frame has begun; its line that says so was lost.
            if message in (Expecting(size), Missing(0)):
                return
            _raise_for(exchange, message, command, awaited)
    except ErrorAnswer as error:
        raise RefusedLoad(command, error.text, awaited=awaited, came=error.came) from error
    raise AnswerTimeout("the board begins no binary load", awaited=awaited, came=exchange.came())


def _send_digits(exchange: Exchange, tensor: bytes, settle_s: float | None) -> None:
    """One `db` command after another, each behind the `m-ready` of the one before.

    With `settle_s` it listens for so long after each for a doubled one.
    """
    size = len(tensor)
    require_time = _deadline(exchange, size)
    for start in range(0, size, COMMAND_BYTES):
        require_time(start)
        end = start + COMMAND_BYTES
        exchange.send(f"db {tensor[start:end].hex()}")
        is_last = end >= size
        _await_ready(exchange, is_last)
        if settle_s is not None and not is_last:
            for _ in range(MOST_DOUBLED):
                if exchange.next_message(settle_s + 2 * _READY_CHARACTERS * exchange.byte_s) != Ready():
                    break


def _await_ready(exchange: Exchange, is_last: bool) -> None:
    """The end of a `db` command: the last one says that all bytes are there, no other may."""
    awaited = "`m-load-done`, `m-ready`" if is_last else "`m-ready`"
    is_done = False
    for message in exchange.messages(exchange.answer_s()):
        if isinstance(message, Ready):
            if is_done == is_last:
                return
        elif isinstance(message, LoadDone):
            is_done = True
            if not is_last:
                raise BadAnswer("the load is done too early", awaited=awaited, came=exchange.came())
        else:
            _raise_for(exchange, message, "db ...", awaited)
    raise AnswerTimeout("a load by digits is broken", awaited=awaited, came=exchange.came())


def _send_frames(exchange: Exchange, tensor: bytes, offer: BinaryOffer) -> None:
    """Go-back-N: up to a window of frames without acknowledgement, again from where the board lacks one.

    A gap halves the window, and each frame that is taken widens it by one: on a bad line few frames are
    sent in vain.
    """
    frames = frames_of(tensor, offer.payload_bytes)
    data_frames = len(frames) - 1
    awaited = "`m-ack-...`, at the end `m-load-done`"
    sent = furthest = taken = 0
    window = offer.window
    is_done = False
    last_ns = exchange.clock_ns()
    require_time = _deadline(exchange, len(tensor))
    stall_s = STALL_S + 2 * offer.window * len(frames[0]) * exchange.byte_s
    while (stalled_s := (exchange.clock_ns() - last_ns) / 1e9) < stall_s:
        require_time(taken * offer.payload_bytes)
        # The frame that ends the load goes alone: behind it no frame may be on its way.
        most = min(taken + window, data_frames) if taken < data_frames else len(frames)
        while sent < most:
            exchange.line.write(frames[sent])
            sent += 1
        furthest = max(furthest, sent)
        message = exchange.next_message(stall_s - stalled_s)
        if isinstance(message, Acknowledged | Missing):
            # Modulo 65536, and never behind what was taken nor ahead of what was sent.
            next_frame = taken + (message.next_frame - taken) % SEQUENCE_MODULUS
            if next_frame > furthest:
                continue
            if next_frame > taken:
                taken = next_frame
                sent = max(sent, taken)
                window = min(window + 1, offer.window)
                last_ns = exchange.clock_ns()
            if isinstance(message, Missing):
                sent = taken
                window = max(window // 2, 1)
        elif isinstance(message, LoadDone) and taken == data_frames:
            is_done = True
        elif isinstance(message, Ready) and is_done:
            return
        elif message is not None:
            _raise_for(exchange, message, "db bin", awaited)
    if is_done:  # its `m-ready` was lost; the next answer is known by its content
        return
    raise AnswerTimeout("a binary load does not go on", awaited=awaited, came=exchange.came())


def _deadline(exchange: Exchange, size_bytes: int) -> Callable[[int], None]:
    """Called with the bytes that were sent; LoadFailed once the load takes too long."""
    longest_s = limit_s(size_bytes, exchange.byte_s)
    end_ns = exchange.clock_ns() + round(longest_s * 1e9)

    def require_time(sent_bytes: int) -> None:
        if exchange.clock_ns() >= end_ns:
            raise LoadFailed(
                f"the input is not sent within {longest_s:.0f} s",
                why=f"{sent_bytes:,} of {size_bytes:,} bytes were taken: the board answers each command late",
                fix="see that nothing else keeps the board busy; try a higher baud rate",
            )

    return require_time


def _raise_for(exchange: Exchange, message: Message, command: str, awaited: str) -> None:
    """A fault for what ends a load; other lines are passed over."""
    if isinstance(message, Banner):
        raise exchange.reset(command, awaited)
    if isinstance(message, BoardError):
        raise ErrorAnswer(command, message.text, awaited=awaited, came=exchange.came())


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
    """

    def __init__(
        self,
        line: Line,
        baud: int,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._exchange = Exchange(line, baud, clock_ns)
        self._is_energy_build = False
        self._offer: BinaryOffer | None = None
        self._has_asked_for_offer = False

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

    def load(self, tensor: bytes) -> None:
        """Send an input: as frames where the firmware's help offers that, else as digits.

        Args:
            tensor: the model's input as the board has it in memory.

        Raises:
            LoadFailed: it was broken each time that it was tried.
        """
        if not self._has_asked_for_offer:
            self._offer = self._binary_offer()
            self._has_asked_for_offer = True
        load(self._exchange, tensor, self._offer, self.resynchronise)

    def _binary_offer(self) -> BinaryOffer | None:
        try:
            return offered_frames(self.help())
        except (ErrorAnswer, AnswerTimeout):  # firmware without help, or one that prints none
            self.resynchronise()
            return None

    def infer(self, inferences: int, warm_ups: int, expected_s: float, classes: int) -> Inferences:
        """Inferences on the resident input after warm-ups, between two laps.

        Args:
            inferences: at least 1.
            warm_ups: always sent: firmware takes 10 where none are named.
            expected_s: how long all of them are expected to take.
            classes: how many scores the artifact has.

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
