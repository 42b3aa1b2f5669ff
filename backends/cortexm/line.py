"""A board's serial line: bytes out and in, over a serial port or a unix socket.

Nothing here waits without an end, and nothing polls: a read sleeps until bytes come.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edgebench.agent.sampler import holders
from edgebench.errors import EdgeBenchError, NoPermissionError, UnavailableError
from edgebench.link.clock_match import BoardFault
from edgebench.probes.host.serial_port import BUSY, permission_fix, ports_in_words
from edgebench.records.values import Scores
from edgebench.suggest import printable

# What a board sends, as messages: lines of bounded length from bytes, and the meaning of each line.

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
        """The received part of a line that has not ended."""
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
    """The board's boot banner came during an answer."""

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
            fix="flash a performance build (`cortexm build` without --energy): pulses are for a power "
            "analyser with MLPerf Tiny's own runner",
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


UNIX_PREFIX = "unix:"
CONNECT_S = 5.0
WRITE_S = 10.0
"""How long a line may take for bytes, in addition to the time that they need at its baud."""
MOST_READ_BYTES = 65_536
MOST_DROPPED_BYTES = 1 << 20
_BITS_A_BYTE = 10  # 8N1


class Line:
    """Bytes to a board and from it, over a file descriptor that does not block.

    LineLost, from every method but `close`, where the board is gone.

    Args:
        descriptor: open for reading and writing.
        port: as users name it, for messages.
        close: ends it.
        baud: how fast it takes bytes at worst.
    """

    def __init__(self, descriptor: int, port: str, close: Callable[[], None], baud: int) -> None:
        self._descriptor = descriptor
        self.port = port
        self._close: Callable[[], None] | None = close
        self._byte_s = _BITS_A_BYTE / baud
        self._input = select.poll()
        self._input.register(descriptor, select.POLLIN)
        self._output = select.poll()
        self._output.register(descriptor, select.POLLOUT)

    def write(self, data: bytes) -> None:
        """Hand all bytes over; LineLost, too, when the line stops taking them."""
        view = memoryview(data)
        limit_s = WRITE_S + len(data) * self._byte_s
        deadline_s = time.monotonic() + limit_s
        while view:
            try:
                view = view[os.write(self._open_descriptor(), view) :]
            except BlockingIOError:
                if not self._output.poll(max(deadline_s - time.monotonic(), 0) * 1000):
                    raise LineLost(
                        f"{self.port} takes no more bytes",
                        why=f"{len(view)} of {len(data)} bytes were left after {limit_s:.0f} s",
                    ) from None
            except OSError as error:
                raise self._lost(error) from None

    def read(self, timeout_s: float) -> bytes:
        """What has come, as soon as something has."""
        if not self._input.poll(max(timeout_s, 0.0) * 1000):
            return b""
        try:
            data = os.read(self._open_descriptor(), MOST_READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._lost(error) from None
        if not data:
            raise self._lost(None)
        return data

    def drop_input(self) -> None:
        """Forget what has come; of a board that never stops sending, a bounded part."""
        dropped = 0
        while dropped < MOST_DROPPED_BYTES:
            data = self.read(0.0)
            if not data:
                return
            dropped += len(data)

    def close(self) -> None:
        """Give the port back."""
        close, self._close = self._close, None
        if close is not None:
            with contextlib.suppress(OSError):
                close()

    def _open_descriptor(self) -> int:
        """The descriptor, which after closing may be another file's."""
        if self._close is None:
            raise LineLost(f"{self.port} is closed")
        return self._descriptor

    def _lost(self, error: OSError | None) -> LineLost:
        why = "the other end was closed" if error is None else str(error.strerror)
        fix = "see that it is plugged in and powered, and that its cable holds"
        if self.port.startswith(UNIX_PREFIX):
            fix = "see why the simulator or emulator there ended, and start it again"
        return LineLost(f"the board at {self.port} is gone", why=why, fix=fix)


def open_line(port: str, baud: int) -> Line:
    """The line of a board.

    Args:
        port: `unix:PATH` for a stream socket that listens there, else a serial port such as /dev/ttyACM0.
        baud: of a serial port, 8N1; a socket has none.

    Raises:
        UnavailableError: there is no such port, another program has it, or pyserial is missing.
        NoPermissionError: this user may not open it; `fix` says how to allow it.
    """
    if port.startswith(UNIX_PREFIX):
        return _unix_line(port, port.removeprefix(UNIX_PREFIX), baud)
    return _serial_line(port, baud)


def require_port_exists(port: str) -> None:
    """UnavailableError if it is missing; it is not opened, which resets some boards."""
    is_socket = port.startswith(UNIX_PREFIX)
    if not os.path.lexists(port.removeprefix(UNIX_PREFIX)):
        raise (
            _nothing_listens(port, "there is no such file") if is_socket else _refusal(port, errno.ENOENT, "")
        )


def _unix_line(port: str, path: str, baud: int) -> Line:
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.settimeout(CONNECT_S)
    try:
        stream.connect(path)
    except PermissionError as error:
        stream.close()
        raise NoPermissionError(
            f"this user may not open {printable(port)}",
            why=str(error.strerror),
            fix=f"run as the user who started it, or `chmod a+rw {printable(path)}`",
        ) from None
    except (OSError, ValueError) as error:
        stream.close()
        raise _nothing_listens(port, str(getattr(error, "strerror", None) or error)) from None
    stream.setblocking(False)
    return Line(stream.fileno(), printable(port), stream.close, baud)


def _nothing_listens(port: str, why: str) -> UnavailableError:
    return UnavailableError(
        f"nothing listens at {printable(port)}",
        why=why,
        fix="start the simulator or emulator there, and name the path that it prints",
    )


def _serial_line(port: str, baud: int) -> Line:
    try:
        import serial
    except ImportError:
        raise UnavailableError(
            "a serial port takes pyserial",
            why="it is not installed",
            fix="pip install 'edgebench[cortexm]'",
        ) from None
    try:
        opened = serial.Serial(port, baud, timeout=0, write_timeout=0, exclusive=True)
    except (serial.SerialException, OSError, ValueError) as error:
        raise _refusal(port, getattr(error, "errno", None), str(error)) from None
    # A USB adapter of FTDI's otherwise holds back each answer for 16 ms; others do not have the setting.
    with contextlib.suppress(OSError, ValueError, AttributeError, NotImplementedError):
        opened.set_low_latency_mode(True)
    return Line(opened.fileno(), printable(port), opened.close, baud)


def _refusal(port: str, number: Any, words: str) -> EdgeBenchError:
    """Why a serial port cannot be opened, with what helps."""
    name = printable(port)
    if number in (errno.EACCES, errno.EPERM):
        return NoPermissionError(f"this user may not open {name}", fix=permission_fix(port))
    if number in BUSY:
        users = ", ".join(holders(port)) or "another program"
        return UnavailableError(
            f"{name} is in use", why=f"it is open in {printable(users)}", fix="end that first"
        )
    missing = number in (errno.ENOENT, errno.ENODEV, errno.ENXIO) or not Path(port).exists()
    return UnavailableError(
        f"there is no port {name}" if missing else f"{name} cannot be opened as a serial port",
        why=ports_in_words() if missing else printable(words),
        fix="plug the board in and name its port by --port, such as /dev/ttyACM0",
    )
