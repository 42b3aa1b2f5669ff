"""The serial protocol of MLPerf Tiny on the device's side: firmware/core/protocol.c in Python."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator

from .clock import SimulatedClock
from .engine import InferenceFailed, TflmEngine

# The resident input, which `db` fills and every inference reads: firmware/core/tensor.c in Python.


class ResidentInput:
    """Zeros until it is filled.

    Attributes:
        data: all bytes, as the engine reads them.
        changes: counts up whenever the input may have changed.
    """

    def __init__(self, size_bytes: int) -> None:
        self.data = bytearray(size_bytes)
        self.expected_bytes = self.filled_bytes = self.changes = 0

    def expect(self, size_bytes: int) -> bool:
        """Expect as many from the start; False, and expect none, where they do not fit."""
        fits = size_bytes <= len(self.data)
        self.expected_bytes = size_bytes if fits else 0
        self.filled_bytes = 0
        self.changes += 1
        return fits

    def append(self, data: bytes) -> bool:
        """Take what was expected and drop the rest; True when these bytes made it full."""
        data = data[: self.expected_bytes - self.filled_bytes]
        self.data[self.filled_bytes : self.filled_bytes + len(data)] = data
        self.filled_bytes += len(data)
        self.changes += 1
        return bool(data) and self.filled_bytes == self.expected_bytes

    def expected_part(self) -> bytearray:
        """The bytes that the last load is about."""
        return self.data[: self.expected_bytes]


# The binary load on the device's side, as firmware/core/upload.h has it.


VERSION = 1
PAYLOAD_BYTES = 512
WINDOW = 8
_SYNC = b"\xa5\x5a"
_HEADER = struct.Struct("<2sHH")
_CRC = struct.Struct("<I")
_SILENCE_US = 200_000
_TIMEOUT_US = 5_000_000


class Upload:
    """One load; it begins when it is made.

    Attributes:
        is_over: whether its last line has been sent.
        rest: what came behind its last frame: commands.
    """

    def __init__(self, tensor: ResidentInput, now_us: Callable[[], int]) -> None:
        self.is_over = False
        self.rest = b""
        self._tensor = tensor
        self._now_us = now_us
        self._held = bytearray()  # the beginning of a frame
        self._next = 0
        self._has_answered_gap = False
        self._last_byte_us = self._last_frame_us = now_us()

    def receive(self, data: bytes) -> Iterator[str]:
        """The lines that answer these bytes."""
        self._last_byte_us = self._now_us()
        if self._has_timed_out():  # garbage without end is no upload
            self.rest = data
            yield self._time_out()
            return
        self._held += data
        while not self.is_over and (frame := self._frame()) is not None:
            yield from self._sort_in(*frame)
        if self.is_over:
            self.rest = bytes(self._held)

    def wait(self) -> Iterator[str]:
        """The lines for there being no byte."""
        if self._has_timed_out():
            yield self._time_out()
        elif self._since(self._last_byte_us) >= _SILENCE_US:
            self._last_byte_us = self._now_us()
            self._held.clear()  # the rest of a frame that began does not come any more
            self._has_answered_gap = False
            yield self._answer("nack")

    def _since(self, past_us: int) -> int:
        return (self._now_us() - past_us) % (1 << 32)

    def _has_timed_out(self) -> bool:
        return self._since(self._last_frame_us) >= _TIMEOUT_US

    def _time_out(self) -> str:
        self.is_over = True
        return f"e-[Binary load: {self._tensor.filled_bytes} of {self._tensor.expected_bytes} bytes]"

    def _frame(self) -> tuple[int, bytes] | None:
        """Sequence number and payload of the next whole frame; other bytes are dropped."""
        while self._held:
            start = self._held.find(_SYNC[:1])
            del self._held[: len(self._held) if start < 0 else start]
            if len(self._held) < _HEADER.size and _SYNC.startswith(bytes(self._held[:2])):
                return None
            sync, sequence, length = (
                _HEADER.unpack_from(self._held) if len(self._held) >= _HEADER.size else (b"", 0, 0)
            )
            if sync == _SYNC and length <= PAYLOAD_BYTES:
                end = _HEADER.size + length
                if len(self._held) < end + _CRC.size:
                    return None
                if zlib.crc32(self._held[2:end]) == _CRC.unpack_from(self._held, end)[0]:
                    payload = bytes(self._held[_HEADER.size : end])
                    del self._held[: end + _CRC.size]
                    return sequence, payload
            del self._held[:1]
        return None

    def _sort_in(self, sequence: int, payload: bytes) -> Iterator[str]:
        ahead = (sequence - self._next) % (1 << 16)
        if not payload or ahead == 0:
            self._has_answered_gap = False
            self._last_frame_us = self._now_us()
            yield self._take(payload)
        elif ahead >= 1 << 15:  # taken already: its acknowledgement was lost
            yield self._answer("ack")
        elif not self._has_answered_gap:
            self._has_answered_gap = True
            yield self._answer("nack")

    def _take(self, payload: bytes) -> str:
        if payload and self._tensor.filled_bytes < self._tensor.expected_bytes:
            self._tensor.append(payload)
            self._next = (self._next + 1) % (1 << 16)
            return self._answer("ack")
        self.is_over = True
        if not payload:
            return "e-[Binary load: given up by the host]"
        is_equal = payload == _CRC.pack(zlib.crc32(self._tensor.expected_part()))
        return "m-load-done" if is_equal else "e-[Binary load: checksum differs]"

    def _answer(self, kind: str) -> str:
        return f"m-{kind}-{self._next}"


READY = "m-ready"
MOST_INFERENCES = 10_000_000
_COMMAND_BYTES = 80
_DEFAULT_WARM_UPS = 10
_MOST = (1 << 31) - 1
_NUMBER = re.compile(r"[+-]?[0-9]+")
_NAME = "edgebench"
_PROFILE = "edgebench-cortexm 1"
_HELP = (
    "name                 which device this is",
    "timestamp            a stamp in microseconds, modulo 2^32",
    "profile              firmware, model, engine",
    "db load N            expect N bytes of input, as digits",
    "db HH..              hex digits, two a byte",
    "db bin N             expect N bytes of input, as frames: "
    f"version={VERSION} payload={PAYLOAD_BYTES} window={WINDOW}",
    "db print             the input",
    "infer N W            N inferences (1) after W warm-ups (10)",
    "results              scores of the last inference",
)


class Firmware:
    """One that has just started; `boot` has its banner.

    Args:
        model_id: the variant and its artifact's SHA-256.
        engine: carries out the inferences.
        clock: restarts with the firmware.
        reset_reason: as `m-info-[reset=...]` has it.
        board: as `m-info-[board=...]` has it.
        most_inferences: of one `infer`.
        benchmark_id: what `m-model` says in the place of the model, which an `m-info-` line has then.
    """

    def __init__(
        self,
        model_id: str,
        engine: TflmEngine,
        clock: SimulatedClock,
        reset_reason: str = "power on",
        board: str = "simulator",
        most_inferences: int = MOST_INFERENCES,
        benchmark_id: str | None = None,
    ) -> None:
        self._model_id = model_id
        self._engine = engine
        self._clock = clock
        self._reset_reason = reset_reason
        self._board = board
        self._most_inferences = most_inferences
        self._benchmark_id = benchmark_id
        clock.restart()
        self._has_started = engine.start()
        self._tensor = ResidentInput(engine.facts.input_bytes)
        self._scores: tuple[float, ...] = (0.0,) * engine.facts.scores
        self._inferred_change: int | None = None  # where time is declared, an input is inferred once
        self._command = bytearray()
        self._upload: Upload | None = None
        self._rest = b""

    def boot(self) -> Iterator[str]:
        """The banner; like all lines without its CR LF."""
        yield from ("m-timestamp-mode-performance", "m-init-done", READY)

    def receive(self, data: bytes) -> Iterator[str]:
        """The lines that answer bytes of the line; what a command does is done while they are read."""
        self._rest = data
        while self._rest:
            if self._upload is not None:
                yield from self._uploading(self._upload, self._rest)
                continue
            text, percent, self._rest = self._rest.partition(b"%")
            self._command += text[: _COMMAND_BYTES - len(self._command)].replace(b"\0", b"?")
            if percent:
                command, self._command = self._command.decode("latin-1"), bytearray()
                yield from self.answer(command)

    def wait(self) -> Iterator[str]:
        """The lines for there being no bytes for now."""
        if self._upload is not None:
            yield from self._uploading(self._upload, None)

    def _uploading(self, upload: Upload, data: bytes | None) -> Iterator[str]:
        self._rest = b""
        yield from upload.wait() if data is None else upload.receive(data)
        if upload.is_over:
            self._upload = None
            self._rest = upload.rest
            yield READY

    def answer(self, command: str) -> Iterator[str]:
        """The lines that answer a command, which has no `%`."""
        if len(command) >= _COMMAND_BYTES:
            yield f"e-[Command exceeds {_COMMAND_BYTES} characters]"
        elif words := [word for word in command.split(" ") if word]:
            yield from self._carry_out(words)
        if self._upload is None:
            yield READY

    def _carry_out(self, words: list[str]) -> Iterable[str]:
        name, *rest = words
        commands: dict[str, Callable[[], Iterable[str]]] = {
            "name": lambda: (f"m-name-dut-[{_NAME}]",),
            "timestamp": lambda: (f"m-lap-us-{self._clock.now_us()}",),
            "profile": self._profile,
            "help": lambda: _HELP,
            "db": lambda: self._db(rest),
            "infer": lambda: self._infer(rest),
            "results": lambda: (self._results(),),
        }
        return commands[name]() if name in commands else (f"e-[Unknown command: {_quoted(name)}]",)

    def _profile(self) -> Iterator[str]:
        yield f"m-profile-[{_PROFILE}]"
        yield f"m-model-[{self._benchmark_id or self._model_id}]"
        facts = self._engine.facts
        infos = {
            "model": self._model_id if self._benchmark_id else None,
            "board": self._board,
            "engine": facts.title,
            "input-type": facts.input_type,
            "input-bytes": facts.input_bytes,
            "scores": facts.scores,
            "engine-bytes": facts.working_bytes,
            "state": facts.state,
            "copy-us": facts.copy_us,
            "timer": self._clock.title,
            "reset": self._reset_reason,
        }
        yield from (f"m-info-[{name}={value}]" for name, value in infos.items() if value is not None)

    def _db(self, words: list[str]) -> Iterable[str]:
        match words:
            case []:
                return ("e-[Command 'db' requires a subcommand]",)
            case ["load" | "bin" as kind, *rest]:
                line = self._expect(rest, f"db {kind}")
                if kind == "bin" and line.startswith("m-"):
                    self._upload = Upload(self._tensor, self._clock.now_us)
                return (line,)
            case ["print", *_]:
                data = self._tensor.expected_part()
                return [f"m-buffer-{data[at : at + 8].hex('-')}" for at in range(0, len(data), 8)]
            case _:
                return self._digits(words[0])

    def _expect(self, words: list[str], name: str) -> str:
        if not words:
            return f"e-[Command '{name}' requires the # of bytes]"
        size_bytes = _number(words[0])
        fits = self._tensor.expect(max(size_bytes, 0))
        if size_bytes <= 0:
            return f"e-[Command '{name}' must be >0 bytes]"
        if not fits:
            most = self._engine.facts.input_bytes
            return f"e-[Supplied buffer size {size_bytes} exceeds maximum of {most}]"
        return f"m-[Expecting {size_bytes} bytes]"

    def _digits(self, digits: str) -> Iterator[str]:
        if len(digits) % 2:
            yield "e-[Insufficent number of hex digits]"  # so spelt by the benchmark
            return
        for start in range(0, len(digits), 2):
            pair = digits[start : start + 2]
            if not re.fullmatch("[0-9A-Fa-f]{2}", pair):
                yield f"e-[Invalid hex digit '{_quoted(pair)}']"
                return
            if self._tensor.append(bytes.fromhex(pair)):
                yield "m-load-done"
                return

    def _infer(self, words: list[str]) -> Iterable[str]:
        inferences = _number(words[0]) if words else 1
        warm_ups = _number(words[1]) if len(words) > 1 else _DEFAULT_WARM_UPS
        refusals = {
            "Inference iterations must be >0": inferences <= 0,
            "Inference warmup must be >=0": warm_ups < 0,
            f"At most {self._most_inferences} inferences": max(inferences, warm_ups) > self._most_inferences,
            "The model cannot be started": not self._has_started,
        }
        refusal = next((text for text, is_so in refusals.items() if is_so), None)
        return self._run(inferences, warm_ups) if refusal is None else (f"e-[{refusal}]",)

    def _run(self, inferences: int, warm_ups: int) -> Iterator[str]:
        yield f"m-warmup-start-{warm_ups}"
        try:
            if warm_ups:
                self._invoke(warm_ups)
            yield "m-warmup-done"
            yield f"m-infer-start-{inferences}"
            laps = self._invoke(inferences)
            yield from (f"m-lap-us-{lap_us}" for lap_us in laps)
            yield "m-infer-done"
        except InferenceFailed:
            yield "e-[An inference failed]"
        else:
            yield self._results()

    def _invoke(self, times: int) -> tuple[int, int]:
        """Inferences and their laps in microseconds."""
        if self._clock.inference_ms is None:
            self._scores, (start_ns, end_ns) = self._engine.infer(bytes(self._tensor.data), times)
            return self._clock.lap_us(start_ns), self._clock.lap_us(end_ns)
        if self._inferred_change != self._tensor.changes:
            self._scores, _ = self._engine.infer(bytes(self._tensor.data), 1)
            self._inferred_change = self._tensor.changes
        return self._clock.declared_window(times)

    def _results(self) -> str:
        if not self._has_started:
            return "e-[The model cannot be started]"
        return f"m-results-[{','.join(f'{score:.3f}' for score in self._scores)}]"


def _number(word: str) -> int:
    """As atoi, bounded: digits as far as they go, 0 without any; beyond 32 bits the nearest end."""
    match = _NUMBER.match(word)
    return max(-_MOST, min(int(match[0]), _MOST)) if match else 0


def _quoted(word: str) -> str:
    return "".join(letter if "!" <= letter <= "~" and letter not in "[]" else "?" for letter in word)
