"""What a board sends, as messages: lines of bounded length from bytes, and the meaning of each line.

The grammar is MLPerf Tiny's, with the lines that EdgeBench's firmware adds (firmware/README.md). A line of
any other form is `text`: help consists of them, and so does noise. Nothing here raises, whatever comes.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgebench.link.clock_match import BoardFault
from edgebench.records.values import Scores

MOST_LINE_BYTES = 16_384
"""A longer line is cut and counts as text: the scores of 1,000 classes take 8,000 bytes."""
MOST_NAME_CHARACTERS = 64
MOST_VALUE_CHARACTERS = 256
LAP_MODULUS = 2**32


class Message(NamedTuple):
    """One line.

    Attributes:
        kind: as in `FORMS`, `ready` or `text`.
        value: a number, printable ASCII, (name, value) of an `info`, or scores, perhaps nan or infinite.
    """

    kind: str
    value: Any = None


READY = Message("ready")
"""`m-ready` ends an answer."""


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
            complete.append(bytes(self._begun).strip(b"\r"))
            self._begun.clear()
        self._begin(rest)
        return [line for line in complete if line]

    def _begin(self, data: bytes) -> None:
        self._begun += data[: MOST_LINE_BYTES - len(self._begun)]


_UNSIGNED = r"([0-9]{1,10})"
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?|nan|inf)")
_UNSHOWN = re.compile(r"[^ -~]")
_NOISE = "".join(map(chr, (*range(0x21), *range(0x7F, 0x100))))


def _text(text: str) -> str:
    return text[:MOST_VALUE_CHARACTERS]


def _scores(text: str) -> tuple[float, ...] | None:
    numbers = text.split(",")
    return tuple(map(float, numbers)) if all(map(_NUMBER.fullmatch, numbers)) else None


def _info(text: str) -> tuple[str, str] | None:
    name, equals, value = text.partition("=")
    return (name, _text(value)) if name and equals and len(name) <= MOST_NAME_CHARACTERS else None


FORMS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "ready": (r"m-ready()", lambda _: None),
    "load-done": (r"m-load-done()", lambda _: None),
    "infer-done": (r"m-infer-done()", lambda _: None),
    # Microseconds of the board's clock. Some ports print 64 bits: what counts is the same modulo 2^32.
    "lap": (r"m-lap-us-([0-9]{1,20})", lambda digits: int(digits) % LAP_MODULUS),
    "expecting": (rf"m-\[Expecting {_UNSIGNED} bytes\]", int),
    # The number of the next frame of a binary load, modulo 65536: to be sent, or to be sent again.
    "ack": (rf"m-ack-{_UNSIGNED}", int),
    "nack": (rf"m-nack-{_UNSIGNED}", int),
    "warmup-start": (rf"m-warmup-start-{_UNSIGNED}", int),
    "infer-start": (rf"m-infer-start-{_UNSIGNED}", int),
    "results": (r"m-results-\[(.+)\]", _scores),
    "name": (r"m-name-dut-\[(.*)\]", _text),
    "profile": (r"m-profile-\[(.*)\]", _text),
    "model": (r"m-model-\[(.*)\]", _text),
    "info": (r"m-info-\[(.+)\]", _info),
    "error": (r"e-\[(.*)\]", _text),
    # The first line after a reset: `performance` or `energy`. A reset leaves a line's beginning before it.
    "banner": (r".*m-timestamp-mode-([a-z]{1,32})", str),
}
"""Kinds of messages: the form of the line, and what its text becomes (None: the line has no such form)."""

_PATTERNS = tuple((kind, re.compile(form), value_of) for kind, (form, value_of) in FORMS.items())


def shown(line: bytes) -> str:
    """A line as printable ASCII: noise at its ends is dropped, within it becomes `?`."""
    return _UNSHOWN.sub("?", line.decode("latin-1").strip(_NOISE))


def parse(line: bytes) -> Message:
    """What a line means; `text` where it has no known form. Texts in messages are printable ASCII."""
    if line == b"m-ready":  # by far the commonest: a load by digits has thousands
        return READY
    text = shown(line)
    for kind, pattern, value_of in _PATTERNS:
        if (match := pattern.fullmatch(text)) is None:
            continue
        value = value_of(match[1])
        return Message("text", _text(text)) if value is None and match[1] else Message(kind, value)
    return Message("text", _text(text))


# Faults of a serial line, each kind by its name: what was awaited, and what came.


class LineFault(BoardFault):
    """An answer that did not come as it should.

    Args:
        what: one sentence.
        why: the reason; left out where `awaited` says it.
        awaited: what should have come.
        came: the last lines that came.

    Attributes:
        awaited, came: the same.
    """

    def __init__(
        self, what: str, *, why: str = "", awaited: str = "", came: Sequence[str] = (), fix: str = ""
    ) -> None:
        lines = ", ".join(f"`{line}`" for line in came) or "nothing"
        super().__init__(what, why=f"awaited {awaited}; came: {lines}" if awaited else why, fix=fix)
        self.awaited = awaited
        self.came = tuple(came)


class LineLost(LineFault):
    """The line itself is gone: the board was unplugged, or the program at the other end has ended."""

    status = "lost_connection"


class AnswerTimeout(LineFault):
    """The answer did not come, or not whole, in time."""

    status = "timeout"


class BoardReset(LineFault):
    """The board's boot banner came amid an answer."""

    status = "crash"


class BadAnswer(LineFault):
    """An answer that contradicts its command or itself."""


class ErrorAnswer(LineFault):
    """The board answered with an error."""

    status = "error"


class RefusedLoad(ErrorAnswer):
    """An error instead of a load's beginning: the board does not take an input of this size."""


class EnergyBuild(LineFault):
    """Firmware that stamps by pulses of a pin and sends no laps: nothing can be timed over the line."""

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
class Inferences:
    """Timed inferences on the resident input.

    Attributes:
        sent_ns, received_ns: host clock, around the whole command with its warm-ups.
        laps_us: board clock before the first and after the last, modulo 2^32.
        scores: of the last inference, finite, float32 [n], in thousandths.
    """

    sent_ns: int
    received_ns: int
    laps_us: tuple[int, int]
    scores: Scores


def is_over(answer: Sequence[Message]) -> bool:
    """Whether the board is done with `infer`; its scores may have been lost, and are not waited for then."""
    return any(message.kind in ("infer-done", "results") for message in _timed(answer))


def _timed(answer: Sequence[Message]) -> Sequence[Message]:
    """What came behind the last m-infer-start: a lap before it is an earlier answer's."""
    starts = [index for index, message in enumerate(answer) if message.kind == "infer-start"]
    return answer[starts[-1] + 1 :] if starts else ()


def _values(kind: str, answer: Sequence[Message]) -> list[Any]:
    return [message.value for message in answer if message.kind == kind]


def laps_and_scores(
    inferences: int, warm_ups: int, classes: int, answer: Sequence[Message], came: Sequence[str]
) -> tuple[tuple[int, int], Scores]:
    """The two laps and the scores of a whole answer.

    Args:
        inferences: what was asked for.
        warm_ups: before them.
        classes: how many scores the artifact has.
        answer: its messages.
        came: its last lines, for a fault's words.

    Raises:
        BadAnswer: it contradicts its command or itself.
        EnergyBuild: the firmware sends no laps.
    """

    def bad(what: str, awaited: str) -> BadAnswer:
        return BadAnswer(what, awaited=awaited, came=came)

    for kind, name, due, allowed in (
        ("infer-start", "inferences", inferences, ([inferences],)),
        ("warmup-start", "warm-ups", warm_ups, ([], [warm_ups])),
    ):
        counts = _values(kind, answer)
        if counts not in allowed:
            told = " and ".join(map(str, counts)) or "no"
            raise bad(f"the board counts {told} {name} of {due}", f"`m-{kind}-{due}`")
    timed = _timed(answer)
    laps = _values("lap", timed)
    if not laps and not _values("text", timed):
        raise EnergyBuild("two laps", came)
    if len(laps) != 2:
        raise bad(f"{len(laps)} laps in the answer to `infer {inferences} {warm_ups}%`", "two laps")
    results = _values("results", timed)
    if not results:
        raise bad("scores that are missing or no numbers", "`m-results-[...]`")
    with np.errstate(over="ignore"):  # of a number that float32 does not hold, which is not finite then
        scores = np.array(results[-1], np.float32)
    if len(scores) != classes:
        raise bad(f"{len(scores)} scores from a model of {classes}", f"{classes} scores")
    if not np.isfinite(scores).all():
        raise bad("scores that are not finite", "finite scores")
    return (laps[0], laps[1]), scores


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
