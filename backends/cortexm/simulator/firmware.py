"""The serial protocol of MLPerf Tiny on the device's side: firmware/core/protocol.c in Python."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .clock import Clock
from .engine import Engine, InferenceFailed
from .identity import Identity
from .resident_input import ResidentInput
from .upload import Upload

READY = "m-ready"
MOST_INFERENCES = 10_000_000
_COMMAND_BYTES = 80
_DEFAULT_WARM_UPS = 10
_MOST = (1 << 31) - 1
_NUMBER = re.compile(r"[+-]?[0-9]+")


class Cause(enum.Enum):
    """What lines answer."""

    BOOT = enum.auto()
    COMMAND = enum.auto()
    FRAMES = enum.auto()  # bytes of a binary load, or their absence


@dataclass(frozen=True)
class Answer:
    """Lines, without their CR LF; what a command does is done while they are read.

    Attributes:
        command: without its `%`; "" where the cause is none.
    """

    cause: Cause
    command: str
    lines: Iterator[str]


class Firmware:
    """One that has just started; `boot` has its banner.

    Args:
        most_inferences: of one `infer`.
    """

    def __init__(
        self,
        identity: Identity,
        engine: Engine,
        clock: Clock,
        reset_reason: str = "power on",
        most_inferences: int = MOST_INFERENCES,
    ) -> None:
        self._identity = identity
        self._engine = engine
        self._clock = clock
        self._reset_reason = reset_reason
        self._most_inferences = most_inferences
        self._has_started = engine.start()
        self._tensor = ResidentInput(engine.facts.input_bytes)
        self._scores: tuple[float, ...] = (0.0,) * engine.facts.scores
        self._inferred_change: int | None = None  # where time is declared, an input is inferred once
        self._command = bytearray()
        self._upload: Upload | None = None
        self._rest = b""

    def boot(self) -> Answer:
        """The banner."""
        mode = "energy" if self._identity.is_energy_build else "performance"
        return Answer(Cause.BOOT, "", iter((f"m-timestamp-mode-{mode}", "m-init-done", READY)))

    def receive(self, data: bytes) -> Iterator[Answer]:
        """The answers to bytes of the line. Each is read to its end before the next."""
        self._rest = data
        while self._rest:
            if self._upload is not None:
                yield Answer(Cause.FRAMES, "", self._uploading(self._upload, self._rest))
                continue
            text, percent, self._rest = self._rest.partition(b"%")
            self._command += text[: _COMMAND_BYTES - len(self._command)].replace(b"\0", b"?")
            if percent:
                command, self._command = self._command.decode("latin-1"), bytearray()
                yield Answer(Cause.COMMAND, command, self._carry_out(command))

    def wait(self) -> Iterator[Answer]:
        """The answers to there being no bytes for now; as `receive`."""
        if self._upload is not None:
            yield Answer(Cause.FRAMES, "", self._uploading(self._upload, None))

    def _uploading(self, upload: Upload, data: bytes | None) -> Iterator[str]:
        self._rest = b""
        yield from upload.wait() if data is None else upload.receive(data)
        if upload.is_over:
            self._upload = None
            self._rest = upload.rest
            yield READY

    def _carry_out(self, command: str) -> Iterator[str]:
        if len(command) >= _COMMAND_BYTES:
            yield f"e-[Command exceeds {_COMMAND_BYTES} characters]"
        elif words := [word for word in command.split(" ") if word]:
            yield from self._answer(words)
        if self._upload is None:
            yield READY

    def _answer(self, words: list[str]) -> Iterator[str]:
        match words:
            case ["name", *_]:
                yield f"m-name-dut-[{self._identity.name}]"
            case ["timestamp", *_]:
                if not self._identity.is_energy_build:
                    yield f"m-lap-us-{self._clock.now_us()}"
            case ["profile", *_]:
                yield from self._profile()
            case ["help", *_]:
                yield from self._identity.help
            case ["db", *rest]:
                yield from self._db(rest)
            case ["infer", *rest]:
                yield from self._infer(rest)
            case ["results", *_]:
                yield self._results()
            case _:
                yield f"e-[Unknown command: {_quoted(words[0])}]"

    def _profile(self) -> Iterator[str]:
        yield f"m-profile-[{self._identity.profile}]"
        yield f"m-model-[{self._identity.model_id}]"
        if not self._identity.has_infos:
            return
        facts = self._engine.facts
        infos = {
            "board": self._identity.board,
            "engine": facts.title,
            "input-type": facts.input_type,
            "input-bytes": facts.input_bytes,
            "scores": facts.scores,
            "engine-bytes": facts.working_bytes,
            "copy-us": facts.copy_us,
            "timer": self._identity.timer,
            "reset": self._reset_reason,
        }
        for name, value in infos.items():
            if value is not None:
                yield f"m-info-[{name}={value}]"

    def _db(self, words: list[str]) -> Iterator[str]:
        match words:
            case []:
                yield "e-[Command 'db' requires a subcommand]"
            case ["load", *rest]:
                yield self._expect(rest, "db load")
            case ["bin", *rest] if self._identity.has_binary_load:
                line = self._expect(rest, "db bin")
                if line.startswith("m-"):
                    self._upload = Upload(self._tensor, self._clock.now_us)
                yield line
            case ["print", *_]:
                data = self._tensor.expected_part()
                for start in range(0, len(data), 8):
                    yield f"m-buffer-{data[start : start + 8].hex('-')}"
            case [digits, *_]:
                yield from self._digits(digits)

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

    def _infer(self, words: list[str]) -> Iterator[str]:
        inferences = _number(words[0]) if words else 1
        warm_ups = _number(words[1]) if len(words) > 1 else _DEFAULT_WARM_UPS
        if inferences <= 0:
            yield "e-[Inference iterations must be >0]"
        elif warm_ups < 0:
            yield "e-[Inference warmup must be >=0]"
        elif max(inferences, warm_ups) > self._most_inferences:
            yield f"e-[At most {self._most_inferences} inferences]"
        elif not self._has_started:
            yield "e-[The model cannot be started]"
        else:
            yield from self._run(inferences, warm_ups)

    def _run(self, inferences: int, warm_ups: int) -> Iterator[str]:
        yield f"m-warmup-start-{warm_ups}"
        try:
            if warm_ups:
                self._invoke(warm_ups)
            yield "m-warmup-done"
            yield f"m-infer-start-{inferences}"
            laps = self._invoke(inferences)
            if not self._identity.is_energy_build:
                yield from (f"m-lap-us-{lap_us}" for lap_us in laps)
            yield "m-infer-done"
        except InferenceFailed:
            yield "e-[An inference failed]"
        else:
            yield self._results()

    def _invoke(self, times: int) -> tuple[int, int]:
        """Inferences and their laps in microseconds."""
        if self._clock.inference_ms is None:
            done = self._engine.infer(self._tensor.whole(), times)
            self._scores = done.scores
            return self._clock.window(done.start_ns, done.end_ns)
        if self._inferred_change != self._tensor.changes:
            self._scores = self._engine.infer(self._tensor.whole(), 1).scores
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
