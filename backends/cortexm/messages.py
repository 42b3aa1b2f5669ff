"""What a board sends, as messages: lines of bounded length from bytes, and of each line what it means.

The grammar is MLPerf Tiny's, with the lines that EdgeBench's firmware adds (firmware/README.md). A line of
any other form is `Text`: help is made of them, and so is noise. Nothing here raises, whatever comes.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgebench.link.clock_match import BoardFault
from edgebench.records.values import Scores

MOST_LINE_BYTES = 16_384
"""A longer line is cut and counts as text: the scores of 1,000 classes take 8,000 bytes."""
MOST_NAME_CHARACTERS = 64
MOST_VALUE_CHARACTERS = 256
LAP_MODULUS = 2**32


class Ready(NamedTuple):
    """`m-ready`: the end of an answer."""


class Banner(NamedTuple):
    """`m-timestamp-mode-MODE`, `performance` or `energy`: the first line after a reset."""

    mode: str


class Name(NamedTuple):
    """`m-name-dut-[NAME]`."""

    name: str


class FirmwareName(NamedTuple):
    """`m-profile-[FIRMWARE]`."""

    firmware: str


class Model(NamedTuple):
    """`m-model-[ID]`."""

    model_id: str


class Info(NamedTuple):
    """`m-info-[NAME=VALUE]`, of EdgeBench's firmware."""

    name: str
    value: str


class Lap(NamedTuple):
    """`m-lap-us-T`: microseconds of the board's clock, modulo 2^32."""

    lap_us: int


class Expecting(NamedTuple):
    """`m-[Expecting N bytes]`: a load begins."""

    size_bytes: int


class LoadDone(NamedTuple):
    """`m-load-done`: all bytes of a load have come."""


class Acknowledged(NamedTuple):
    """`m-ack-NEXT`: a frame of a binary load was taken; the number of the next, modulo 65536."""

    next_frame: int


class Missing(NamedTuple):
    """`m-nack-NEXT`: a binary load has to go on from that frame, modulo 65536."""

    next_frame: int


class WarmUpStart(NamedTuple):
    """`m-warmup-start-W`."""

    warm_ups: int


class InferStart(NamedTuple):
    """`m-infer-start-N`."""

    inferences: int


class InferDone(NamedTuple):
    """`m-infer-done`."""


class Results(NamedTuple):
    """`m-results-[a,b,...]`: scores, perhaps nan or infinite."""

    scores: tuple[float, ...]


class BoardError(NamedTuple):
    """`e-[TEXT]`."""

    text: str


class Text(NamedTuple):
    """Any other line."""

    text: str


Message = (
    Ready
    | Banner
    | Name
    | FirmwareName
    | Model
    | Info
    | Lap
    | Expecting
    | LoadDone
    | Acknowledged
    | Missing
    | WarmUpStart
    | InferStart
    | InferDone
    | Results
    | BoardError
    | Text
)


class LineSplitter:
    """Lines of bytes as they come; a line that does not end takes MOST_LINE_BYTES of memory and no more."""

    def __init__(self) -> None:
        self._begun = bytearray()

    @property
    def begun(self) -> bytes:
        """What has come of a line that has not ended."""
        return bytes(self._begun)

    def clear(self) -> None:
        """Forget the line that has begun."""
        self._begun.clear()

    def lines(self, data: bytes) -> list[bytes]:
        """The lines that end in these bytes, without their ends (LF, or CR LF); empty ones are left out."""
        *ended, rest = data.split(b"\n")
        complete = []
        for end in ended:
            self._begin(end)
            line = bytes(self._begun).strip(b"\r")
            self._begun.clear()
            if line:
                complete.append(line)
        self._begin(rest)
        return complete

    def _begin(self, data: bytes) -> None:
        self._begun += data[: MOST_LINE_BYTES - len(self._begun)]


_UNSIGNED = r"([0-9]{1,10})"
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?|nan|inf)")
_UNSHOWN = re.compile(r"[^ -~]")
_NOISE = "".join(map(chr, (*range(0x21), *range(0x7F, 0x100))))


def _scores(text: str) -> Message | None:
    numbers = text.split(",")
    if not all(map(_NUMBER.fullmatch, numbers)):
        return None
    return Results(tuple(map(float, numbers)))


def _info(text: str) -> Message | None:
    name, equals, value = text.partition("=")
    if not (name and equals) or len(name) > MOST_NAME_CHARACTERS:
        return None
    return Info(name, value[:MOST_VALUE_CHARACTERS])


_EXACT: dict[str, Message] = {
    "m-ready": Ready(),
    "m-load-done": LoadDone(),
    "m-infer-done": InferDone(),
}
_FORMS: tuple[tuple[re.Pattern[str], Callable[[str], Message | None]], ...] = tuple(
    (re.compile(form), message)
    for form, message in (
        # Some ports print 64 bits: what counts is the same modulo 2^32.
        (r"m-lap-us-([0-9]{1,20})", lambda digits: Lap(int(digits) % LAP_MODULUS)),
        (rf"m-\[Expecting {_UNSIGNED} bytes\]", lambda digits: Expecting(int(digits))),
        (rf"m-ack-{_UNSIGNED}", lambda digits: Acknowledged(int(digits))),
        (rf"m-nack-{_UNSIGNED}", lambda digits: Missing(int(digits))),
        (rf"m-warmup-start-{_UNSIGNED}", lambda digits: WarmUpStart(int(digits))),
        (rf"m-infer-start-{_UNSIGNED}", lambda digits: InferStart(int(digits))),
        (r"m-results-\[(.+)\]", _scores),
        (r"m-name-dut-\[(.*)\]", lambda text: Name(text[:MOST_VALUE_CHARACTERS])),
        (r"m-profile-\[(.*)\]", lambda text: FirmwareName(text[:MOST_VALUE_CHARACTERS])),
        (r"m-model-\[(.*)\]", lambda text: Model(text[:MOST_VALUE_CHARACTERS])),
        (r"m-info-\[(.*)\]", _info),
        (r"e-\[(.*)\]", lambda text: BoardError(text[:MOST_VALUE_CHARACTERS])),
        # A reset amid a line leaves the line's beginning before the banner.
        (r".*m-timestamp-mode-([a-z]{1,32})", Banner),
    )
)


def shown(line: bytes) -> str:
    """A line as printable ASCII: noise at its ends is dropped, within it becomes `?`."""
    return _UNSHOWN.sub("?", line.decode("latin-1").strip(_NOISE))


def parse(line: bytes) -> Message:
    """What a line means; `Text` where it has no known form. Texts in messages are printable ASCII."""
    if line == b"m-ready":  # by far the commonest: a load by digits has thousands
        return _EXACT["m-ready"]
    text = shown(line)
    exact = _EXACT.get(text)
    if exact is not None:
        return exact
    for form, message_of in _FORMS:
        match = form.fullmatch(text)
        if match is not None:
            return message_of(match[1]) or _text(text)
    return _text(text)


def _text(text: str) -> Text:
    return Text(text[:MOST_VALUE_CHARACTERS])


# What goes wrong on a serial line, each kind by its name: what was awaited, and what came.


class LineFault(BoardFault):
    """An answer that did not come as it should."""


class LineLost(LineFault):
    """The line itself is gone: the board was unplugged, or what is at the other end has ended."""

    status = "lost_connection"


class LineFaultInAnswer(LineFault):
    """A fault amid an answer.

    Args:
        what: one sentence.
        awaited: what should have come.
        came: the last lines that came.

    Attributes:
        awaited, came: the same.
    """

    def __init__(self, what: str, *, awaited: str, came: Sequence[str], fix: str = "") -> None:
        lines = ", ".join(f"`{line}`" for line in came) or "nothing"
        super().__init__(what, why=f"awaited {awaited}; came: {lines}", fix=fix)
        self.awaited = awaited
        self.came = tuple(came)


class AnswerTimeout(LineFaultInAnswer):
    """The answer did not come, or not whole, in time."""

    status = "timeout"


class BoardReset(LineFaultInAnswer):
    """The board's boot banner came amid an answer."""

    status = "crash"


class BadAnswer(LineFaultInAnswer):
    """An answer that contradicts its command or itself."""


class ErrorAnswer(LineFaultInAnswer):
    """The board answered with an error.

    Attributes:
        text: the board's own words.
    """

    status = "error"

    def __init__(self, command: str, text: str, *, awaited: str, came: Sequence[str]) -> None:
        super().__init__(f"the board answers `{command}%` with an error: {text}", awaited=awaited, came=came)
        self.text = text


class RefusedLoad(ErrorAnswer):
    """An error instead of a load's beginning: the board does not take an input of this size."""


class EnergyBuild(LineFaultInAnswer):
    """Firmware that stamps by pulses of a pin and sends no laps, so that nothing can be timed over the
    line.
    """

    def __init__(self, awaited: str, came: Sequence[str]) -> None:
        super().__init__(
            "the firmware is an energy build: its stamps are pulses of a pin, not laps",
            awaited=awaited,
            came=came,
            fix="flash a performance build",
        )


class LoadFailed(LineFault):
    """An input that could not be sent, however often it was tried."""


# The answer to `infer N W%`: its counts, its two laps and its scores (pure).


@dataclass(frozen=True)
class InferCommand:
    """What was asked for.

    Attributes:
        inferences: at least 1.
        warm_ups: before them, not timed.
        classes: how many scores the artifact has.
    """

    inferences: int
    warm_ups: int
    classes: int

    @property
    def text(self) -> str:
        """As it is sent; always with its warm-ups, because firmware takes 10 where none are named."""
        return f"infer {self.inferences} {self.warm_ups}"

    @property
    def awaited(self) -> str:
        """What has to come, for a fault's words."""
        return f"`m-infer-start-{self.inferences}`, two laps and `m-results-[...]`"


@dataclass(frozen=True)
class Inferences:
    """Timed inferences on the resident input.

    Attributes:
        sent_ns, received_ns: host clock, around the whole command with its warm-ups.
        start_us: board clock modulo 2^32.
        end_us: the same, made larger by 2^32 where the clock wrapped in between, so that it is no less.
        scores: of the last inference, finite, float32 [n], in thousandths.
    """

    sent_ns: int
    received_ns: int
    start_us: int
    end_us: int
    scores: Scores


def is_over(answer: Sequence[Message]) -> bool:
    """Whether the board is done with it; its scores may have been lost, and are not waited for then."""
    return any(isinstance(message, InferDone | Results) for message in _timed(answer))


def inferences_of(
    command: InferCommand, answer: Sequence[Message], came: Sequence[str], sent_ns: int, received_ns: int
) -> Inferences:
    """The laps and scores of a whole answer.

    Args:
        command: what it answers.
        answer: its messages.
        came: its last lines, for a fault's words.
        sent_ns: host clock, before the command.
        received_ns: host clock, after the answer.

    Raises:
        BadAnswer: it contradicts its command or itself.
        EnergyBuild: the firmware sends no laps.
    """
    timed = _timed(answer)
    _require_counts(command, answer, came)
    laps = [message.lap_us for message in timed if isinstance(message, Lap)]
    if not laps and not any(isinstance(message, Text) for message in timed):
        raise EnergyBuild("two laps", came)
    if len(laps) != 2:
        raise BadAnswer(f"{len(laps)} laps in the answer to `{command.text}%`", awaited="two laps", came=came)
    start_us, end_us = laps
    elapsed_us = (end_us - start_us) % LAP_MODULUS
    scores = _scores_of(command, timed, came)
    return Inferences(sent_ns, received_ns, start_us, start_us + elapsed_us, scores)


def _timed(answer: Sequence[Message]) -> Sequence[Message]:
    """What came behind the last m-infer-start: a lap before it is an earlier answer's."""
    for index in range(len(answer) - 1, -1, -1):
        if isinstance(answer[index], InferStart):
            return answer[index + 1 :]
    return ()


def _require_counts(command: InferCommand, answer: Sequence[Message], came: Sequence[str]) -> None:
    inferences = [message.inferences for message in answer if isinstance(message, InferStart)]
    if inferences != [command.inferences]:
        raise BadAnswer(
            f"the board counts {_in_words(inferences)} inferences of {command.inferences}",
            awaited=f"`m-infer-start-{command.inferences}`",
            came=came,
        )
    warm_ups = [message.warm_ups for message in answer if isinstance(message, WarmUpStart)]
    if warm_ups not in ([], [command.warm_ups]):
        raise BadAnswer(
            f"the board counts {_in_words(warm_ups)} warm-ups of {command.warm_ups}",
            awaited=f"`m-warmup-start-{command.warm_ups}`",
            came=came,
        )


def _scores_of(command: InferCommand, timed: Sequence[Message], came: Sequence[str]) -> Scores:
    results = [message for message in timed if isinstance(message, Results)]
    if not results:
        raise BadAnswer("scores that are missing or no numbers", awaited="`m-results-[...]`", came=came)
    with np.errstate(over="ignore"):  # of a number that float32 does not hold, which is not finite then
        scores = np.array(results[-1].scores, np.float32)
    if len(scores) != command.classes:
        raise BadAnswer(
            f"{len(scores)} scores from a model of {command.classes}",
            awaited=f"{command.classes} scores",
            came=came,
        )
    if not np.isfinite(scores).all():
        raise BadAnswer("scores that are not finite", awaited="finite scores", came=came)
    return scores


def _in_words(counts: Sequence[int]) -> str:
    return " and ".join(map(str, counts)) or "no"


# Frames of the binary load, as firmware/README.md has them, and the line of help that offers it.


SYNC = b"\xa5\x5a"
SEQUENCE_MODULUS = 65_536
VERSION = 1
MOST_PAYLOAD_BYTES = 512
MOST_WINDOW = 64
_OFFER = re.compile(
    r"db bin N .*\bversion=([0-9]{1,5}) payload=([0-9]{1,5}) window=([0-9]{1,5})\b.*", re.ASCII
)


class BinaryOffer(NamedTuple):
    """How a firmware takes a binary load.

    Attributes:
        payload_bytes: of a frame, at most.
        window: how many frames may be under way without acknowledgement.
    """

    payload_bytes: int
    window: int


def offered_frames(help_lines: Iterable[str]) -> BinaryOffer | None:
    """What help offers; None without an offer, or with one of another version."""
    for line in help_lines:
        match = _OFFER.fullmatch(line)
        if match is None:
            continue
        version, payload_bytes, window = map(int, match.groups())
        if version == VERSION and payload_bytes >= 4 and window >= 1:  # a checksum has 4 bytes
            return BinaryOffer(min(payload_bytes, MOST_PAYLOAD_BYTES), min(window, MOST_WINDOW))
    return None


def frame(sequence: int, payload: bytes) -> bytes:
    """One frame."""
    checked = struct.pack("<HH", sequence % SEQUENCE_MODULUS, len(payload)) + payload
    return SYNC + checked + struct.pack("<I", zlib.crc32(checked))


def frames_of(tensor: bytes, payload_bytes: int = MOST_PAYLOAD_BYTES) -> list[bytes]:
    """All frames of a tensor; the last one carries its checksum and ends the load."""
    payloads = [tensor[start : start + payload_bytes] for start in range(0, len(tensor), payload_bytes)]
    payloads.append(struct.pack("<I", zlib.crc32(tensor)))
    return [frame(sequence, payload) for sequence, payload in enumerate(payloads)]


def give_up_frame() -> bytes:
    """Ends a load that is under way, whichever frame it is at."""
    return frame(0, b"")
