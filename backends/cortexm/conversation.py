"""A host's side of MLPerf Tiny's serial protocol: every command, its answer checked.

Works with any firmware made for that benchmark: unknown lines are passed over, and what only EdgeBench's
firmware sends (m-info lines, the binary load) may be missing.
"""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from edgebench.suggest import printable

from .line import (
    READY,
    SEQUENCE_MODULUS,
    AnswerTimeout,
    BadAnswer,
    BinaryOffer,
    BoardReset,
    EnergyBuild,
    ErrorAnswer,
    Inferences,
    Line,
    LineSplitter,
    LoadFailed,
    Message,
    RefusedLoad,
    frames_of,
    give_up_frame,
    is_over,
    laps_and_scores,
    offered_frames,
    parse,
    shown,
)
from .profile import Profile

# One command, one answer: messages by a deadline, matched to their command by content and never by count.
#
# A board that resets when its port is opened, or a line that doubles bytes, leaves an `m-ready` too many: an
# answer ends with the first `m-ready` after all that the command has to bring.


ANSWER_S = 5.0
"""How long an answer may take that needs no inference, in addition to the bytes on their way."""
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
        self.answer_s = ANSWER_S + _LONGEST_ANSWER_BYTES * self.byte_s
        self.clock_ns = clock_ns
        self._splitter = LineSplitter()
        self._pending: deque[bytes] = deque()
        self._recent: deque[bytes] = deque(maxlen=_QUOTED_LINES)

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
        deadline_ns = self.clock_ns() + round(wait_s * 1e9)
        while not self._pending:
            left_ns = max(deadline_ns - self.clock_ns(), 0)
            self._pending.extend(self._splitter.lines(self.line.read(left_ns / 1e9)))
            if not self._pending and self.clock_ns() >= deadline_ns:
                return None
        line = self._pending.popleft()
        self._recent.append(line)
        return parse(line)

    def messages(self, wait_s: float) -> Iterator[Message]:
        """All messages that come in this time."""
        deadline_ns = self.clock_ns() + round(wait_s * 1e9)
        while (message := self.next_message(max(deadline_ns - self.clock_ns(), 0) / 1e9)) is not None:
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
        limit_s = self.answer_s if wait_s is None else wait_s
        self.send(command)
        answer: list[Message] = []
        kinds: Counter[str] = Counter()
        for message in self.messages(limit_s):
            if message.kind == "ready":
                for refusal in answer:
                    self.raise_for(refusal, command, awaited)
                if is_whole(answer):
                    return answer
            elif message.kind == "banner":
                self.raise_for(message, command, awaited)
            elif kinds[message.kind] < MOST_OF_A_KIND:
                kinds[message.kind] += 1
                answer.append(message)
        raise AnswerTimeout(
            f"no whole answer to `{command}%` within {limit_s:.0f} s", awaited=awaited, came=self.came()
        )

    def raise_for(self, message: Message, command: str, awaited: str) -> None:
        """BoardReset for a boot banner, ErrorAnswer for an error; other messages are passed over."""
        if message.kind == "banner":
            raise BoardReset(
                f"the board was reset during its answer to `{command}%`",
                awaited=awaited,
                came=self.came(),
                fix="see that its supply holds under load; firmware that faults resets the board, too",
            )
        if message.kind == "error":
            what = f"the board answers `{command}%` with an error: {message.value}"
            raise ErrorAnswer(what, awaited=awaited, came=self.came())


# Sending a model's input to a board: as hex digits, as any firmware of the benchmark takes it, or as frames.
#
# What the line allows for digits: the protocol is half duplex, so that of each command's 31 bytes the way out
# and the `m-ready` back follow one another. 66 characters (`db `, 62 digits, `%`) and 9 (`m-ready`, CR, LF)
# of 10 bits each make 75 x 10 / baud seconds for 31 bytes: 6.51 ms at 115200 baud, 0.81 ms at 921600. Two
# commands are never under way: other firmware drops what comes while it answers. A frame takes 522 characters
# for 512 bytes, and its acknowledgement comes while the next ones are on their way: 2.37 times as fast.


COMMAND_BYTES = 31
"""Input bytes in one `db` command, as the benchmark's runner sends them."""
MOST_ATTEMPTS = 3
STALL_S = 3.0
"""Without a new frame that is taken for that long and the time of two windows, a binary load is broken: a
board that lacks one asks for it each 0.2 s."""
SETTLE_S = 0.005
"""How long a second attempt by digits waits behind each m-ready for one that is doubled."""
MOST_DOUBLED = 8
"""Repetitions of one m-ready; a board that sends more never stops."""
COMMAND_S = 0.1
"""What a board may take for a `db` command on average, beyond thrice the line's own time: a slow adapter
holds each answer back for 16 ms."""
LEAST_LIMIT_S = 60.0
_READY_CHARACTERS = 9


def hex_line_s(size_bytes: int, baud: int) -> float:
    """The seconds that the line itself takes for a load by digits, without its first command."""
    commands, rest = divmod(size_bytes, COMMAND_BYTES)
    around = len("db %") + _READY_CHARACTERS
    characters = commands * (2 * COMMAND_BYTES + around) + (2 * rest + around if rest else 0)
    return (characters + len("m-load-done\r\n")) * 10 / baud


RESYNCHRONISE_S = 15.0
"""In which a board has to have booted, loaded its model and answered `name%`."""
NAME_S = 1.5
"""Without an answer for that long `name%` is sent again: a board that was booting has not seen it."""
QUIET_S = 0.1
"""A line on which nothing came for that long is silent."""
MOST_INFOS = 64
INFER_MARGIN_S = 10.0
"""An inference may take three times what is expected, and this."""
_SILENCE_BYTES = 16


class Conversation(Exchange):
    """With one board.

    All methods raise LineLost when the line is gone, AnswerTimeout, BoardReset, BadAnswer or ErrorAnswer
    (all of them LineFault) when an answer is wrong or missing. All waits are bounded.
    """

    _is_energy_build = False
    _offer: BinaryOffer | None = None
    _has_asked_for_offer = False

    def resynchronise(self) -> None:
        """Bring host and board to the same command: before each phase, and after a fault.

        What is on the line is dropped, `name%` is sent until it is answered, and what else comes is dropped
        until the line is silent. A board that resets when its port is opened has until then to boot.
        """
        deadline_ns = self.clock_ns() + round(RESYNCHRONISE_S * 1e9)
        sent = 0
        while self.clock_ns() < deadline_ns:
            self.forget()
            self.send("name")
            sent += 1
            if self._hear_name(sent, deadline_ns):
                return
        raise AnswerTimeout(
            f"the board at {self.line.port} does not answer `name%` within {RESYNCHRONISE_S:.0f} s, "
            "or is never silent",
            awaited="`m-name-dut-[...]`, `m-ready`, then silence",
            came=self.came(),
            fix="see that the firmware is flashed, the port the board's and the baud rate its own",
        )

    def _hear_name(self, sent: int, deadline_ns: int) -> bool:
        """Whether a name and an `m-ready` came, then silence."""
        names, is_answered = 0, False
        while self.clock_ns() < deadline_ns:
            # Answers to commands that a booting board may yet have taken are awaited for longer.
            quiet_s = QUIET_S if names >= sent else NAME_S
            message = self.next_message(quiet_s + _SILENCE_BYTES * self.byte_s)
            if message is None:
                return is_answered
            if message.kind == "name":
                names += 1
            elif message.kind == "ready":
                is_answered = names > 0
            elif message.kind == "banner":
                self._is_energy_build = message.value == "energy"
                names, is_answered = 0, False
            elif message.kind == "nack":  # a load that another host left amid its frames
                self.line.write(give_up_frame())
        return False

    def profile(self) -> Profile:
        """The board's name, its firmware, the model and what else the firmware says of itself."""
        name = dict(self._answer("name", "name"))["name"]
        answer = self._answer("profile", "profile", "model")
        infos: dict[str, str] = {}
        for message in answer:
            if message.kind == "info" and len(infos) < MOST_INFOS:
                infos.setdefault(*message.value)
        values = dict(answer)
        # Firmware under a benchmark's id says which model it carries.
        return Profile(name, values["profile"], infos.get("model", values["model"]), infos)

    def help(self) -> tuple[str, ...]:
        """The lines of `help%`."""
        return tuple(message.value for message in self._answer("help", "text") if message.kind == "text")

    def timestamp(self) -> tuple[int, int, int]:
        """The host's clock in ns before, the board's in us modulo 2^32, and the host's after.

        EnergyBuild where stamps are pulses.
        """
        self._require_laps()
        sent_ns = self.clock_ns()
        try:
            lap_us: int = dict(self._answer("timestamp", "lap"))["lap"]
        except AnswerTimeout as error:
            if set(error.came) == {"m-ready"}:
                raise EnergyBuild(error.awaited, error.came) from error
            raise
        # The m-ready behind the lap takes its time, too: the interval is wider for it, never wrong.
        return sent_ns, lap_us, self.clock_ns()

    def load(self, tensor: bytes) -> None:
        """Send an input: as frames where the firmware's help offers that, else as digits.

        Args:
            tensor: the model's input as the board has it in memory.

        Raises:
            LoadFailed: the last of MOST_ATTEMPTS was broken, too.
            RefusedLoad: the board does not take an input of this size.
            BoardReset, LineLost: these are not tried again.
        """
        if not self._has_asked_for_offer:
            try:
                self._offer = offered_frames(self.help())
            except (ErrorAnswer, AnswerTimeout):  # firmware without help, or one that prints none
                self.resynchronise()
            self._has_asked_for_offer = True
        for attempt in range(MOST_ATTEMPTS):
            if attempt:
                self.resynchronise()
            try:
                self._send_input(tensor, SETTLE_S if attempt else None)
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

    def _send_input(self, tensor: bytes, settle_s: float | None) -> None:
        """Announce the input and send it, by frames where they are offered.

        LoadFailed once it takes too long, though each answer comes in time.
        """
        offer = self._offer
        size = len(tensor)
        command, awaited = f"db {'bin' if offer else 'load'} {size}", f"`m-[Expecting {size} bytes]`"
        try:
            if offer is None:
                self.ask(command, awaited, partial(_is_expected, size))
            else:  # frames follow without an `m-ready`
                self._announce_frames(command, awaited, Message("expecting", size))
        except RefusedLoad:
            raise
        except ErrorAnswer as error:
            raise RefusedLoad(error.what, awaited=awaited, came=error.came) from error
        line_s = hex_line_s(size, round(_BITS_A_BYTE / self.byte_s))
        limit_s = 3 * line_s + COMMAND_S * -(-size // COMMAND_BYTES) + LEAST_LIMIT_S
        end_ns = self.clock_ns() + round(limit_s * 1e9)
        for sent_bytes in (
            self._send_digits(tensor, settle_s) if offer is None else self._send_frames(tensor, offer)
        ):
            if self.clock_ns() >= end_ns:
                raise LoadFailed(
                    f"the input is not sent within {limit_s:.0f} s",
                    why=f"{sent_bytes:,} of {size:,} bytes were taken: the board answers each command late",
                    fix="see that nothing else keeps the board busy; try a higher baud rate",
                )

    def _announce_frames(self, command: str, awaited: str, expecting: Message) -> None:
        self.send(command)
        for message in self.messages(self.answer_s):
            # A board that asks for the first frame has begun; its line that says so was lost.
            if message in (expecting, Message("nack", 0)):
                return
            self.raise_for(message, command, awaited)
        raise AnswerTimeout("the board begins no binary load", awaited=awaited, came=self.came())

    def _send_digits(self, tensor: bytes, settle_s: float | None) -> Iterator[int]:
        """One `db` command after another, each behind the `m-ready` of the one before.

        Yields the bytes that were taken so far. With `settle_s` it listens for so long after each for a
        doubled one.
        """
        size = len(tensor)
        for start in range(0, size, COMMAND_BYTES):
            yield start
            end = start + COMMAND_BYTES
            self.send(f"db {tensor[start:end].hex()}")
            self._await_ready(is_last=end >= size)
            if settle_s is not None and end < size:
                for _ in range(MOST_DOUBLED):
                    if self.next_message(settle_s + 2 * _READY_CHARACTERS * self.byte_s) != READY:
                        break

    def _await_ready(self, is_last: bool) -> None:
        """The end of a `db` command: the last one says that all bytes are there, no other may."""
        awaited = "`m-load-done`, `m-ready`" if is_last else "`m-ready`"
        is_done = False
        for message in self.messages(self.answer_s):
            if message.kind == "ready" and is_done == is_last:
                return
            if message.kind == "load-done":
                is_done = True
                if not is_last:
                    raise BadAnswer("the load is done too early", awaited=awaited, came=self.came())
            self.raise_for(message, "db ...", awaited)
        raise AnswerTimeout("a load by digits is broken", awaited=awaited, came=self.came())

    def _send_frames(self, tensor: bytes, offer: BinaryOffer) -> Iterator[int]:
        """Go-back-N: up to a window of frames without acknowledgement, again from where the board lacks one.

        Yields the bytes that were taken so far. A gap halves the window, and each frame that is taken widens
        it by one: on a bad line few frames are sent twice.
        """
        frames = frames_of(tensor, offer.payload_bytes)
        data_frames = len(frames) - 1
        awaited = "`m-ack-...`, at the end `m-load-done`"
        sent = furthest = taken = 0
        window = offer.window
        is_done = False
        last_ns = self.clock_ns()
        stall_s = STALL_S + 2 * offer.window * len(frames[0]) * self.byte_s
        while (stalled_s := (self.clock_ns() - last_ns) / 1e9) < stall_s:
            yield taken * offer.payload_bytes
            # The frame that ends the load goes alone: behind it no frame may be on its way.
            most = min(taken + window, data_frames) if taken < data_frames else len(frames)
            for sequence in range(sent, most):
                self.line.write(frames[sequence])
            sent = max(sent, most)
            furthest = max(furthest, sent)
            message = self.next_message(stall_s - stalled_s)
            if message is None:
                continue
            if message.kind in ("ack", "nack"):
                # Modulo 65536, and never behind what was taken nor ahead of what was sent.
                next_frame = taken + (message.value - taken) % SEQUENCE_MODULUS
                if next_frame > furthest:
                    continue
                if next_frame > taken:
                    taken = next_frame
                    sent = max(sent, taken)
                    window = min(window + 1, offer.window)
                    last_ns = self.clock_ns()
                if message.kind == "nack":
                    sent = taken
                    window = max(window // 2, 1)
            elif message.kind == "load-done" and taken == data_frames:
                is_done = True
            elif message.kind == "ready" and is_done:
                return
            else:
                self.raise_for(message, "db bin", awaited)
        if not is_done:  # where only its `m-ready` was lost, the next answer is known by its content
            raise AnswerTimeout("a binary load does not go on", awaited=awaited, came=self.came())

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
        wait_s = 3 * expected_s + INFER_MARGIN_S + self.answer_s
        awaited = f"`m-infer-start-{inferences}`, two laps and `m-results-[...]`"
        sent_ns = self.clock_ns()
        answer = self.ask(f"infer {inferences} {warm_ups}", awaited, is_over, wait_s)
        laps_us, scores = laps_and_scores(inferences, warm_ups, classes, answer, self.came())
        return Inferences(sent_ns, self.clock_ns(), laps_us, scores)

    def _answer(self, command: str, *kinds: str) -> list[Message]:
        """The answer to a command that has to bring messages of these kinds.

        As a dict it has the last of each kind: what came before may be an earlier answer's.
        """
        awaited = " and ".join(_awaited(kind) for kind in kinds)
        return self.ask(command, awaited, lambda answer: set(kinds) <= {message.kind for message in answer})

    def _require_laps(self) -> None:
        if self._is_energy_build:
            raise EnergyBuild(_awaited("lap"), self.came())


_REFUSAL = re.compile(r"(?i)exceed|maximum|limit|at most|larger|too (large|big|long)")


def _is_expected(size: int, answer: Sequence[Message]) -> bool:
    """Whether the board awaits an input of this size in bytes.

    RefusedLoad where a line of text refuses it, as MLPerf Tiny's firmware does; with the limit that it names.
    """
    if Message("expecting", size) in answer:
        return True
    for kind, text in answer:
        if kind != "text" or not _REFUSAL.search(text):
            continue
        limits = [number for number in map(int, re.findall("[0-9]{1,10}", text)) if number < size]
        most = f"at most {max(limits):,} bytes" if limits else "no input of this size"
        raise RefusedLoad(
            f"the board takes {most}, and the model's input has {size:,}",
            why=f"it answers: {text}",
            fix="take a model with a smaller input, or firmware with a larger input buffer",
        )
    return False


def _awaited(kind: str) -> str:
    return {"text": "lines of help", "lap": "`m-lap-us-...`", "name": "`m-name-dut-[...]`"}.get(
        kind, f"`m-{kind}-[...]`"
    )
