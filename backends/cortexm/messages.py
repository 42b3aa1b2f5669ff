"""What a board sends, as messages: lines of bounded length from bytes, and of each line what it means.

The grammar is MLPerf Tiny's, with the lines that EdgeBench's firmware adds (firmware/README.md). A line of
any other form is `Text`: help is made of them, and so is noise. Nothing here raises, whatever comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

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


class InitDone(NamedTuple):
    """`m-init-done`: the second line after a reset."""


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


class WarmUpDone(NamedTuple):
    """`m-warmup-done`."""


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
    | InitDone
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
    | WarmUpDone
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
    "m-init-done": InitDone(),
    "m-load-done": LoadDone(),
    "m-warmup-done": WarmUpDone(),
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
