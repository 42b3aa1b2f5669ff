"""A simulated board: its firmware from one reset to the next, and its service at a port."""

from __future__ import annotations

import os
import select
import sys
import tty
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress

from edgebench.errors import UnavailableError
from edgebench.prepare.cache import Cache
from edgebench.prepare.tflite import TfliteChain

from ..artifacts import prepared
from ..engines import model_id
from .clock import SimulatedClock
from .engine import EngineReset, TflmEngine, version
from .firmware import Firmware

_READ_BYTES = 4096
_UNREAD_S = 1.0


class Port:
    """A pty in raw mode, so that it carries all bytes as they are. Hosts open and close it as they like.

    Its other end stays open here, too: a host that closes the port ends nothing.

    Attributes:
        name: as `--port` takes it.

    Raises:
        UnavailableError: this machine has no ptys.
    """

    def __init__(self) -> None:
        try:
            self._host, self._end = os.openpty()
        except OSError as error:
            raise UnavailableError("there is no pty", why=error.strerror or str(error)) from None
        tty.setraw(self._end)
        os.set_blocking(self._host, False)
        self.name = os.ttyname(self._end)

    def read(self, timeout_s: float) -> bytes:
        """Some bytes of the host; empty if none come in time."""
        ready, _, _ = select.select([self._host], [], [], timeout_s)
        return os.read(self._host, _READ_BYTES) if ready else b""

    def write(self, data: bytes) -> None:
        """Send; what no host takes within a second is lost, as a UART loses it."""
        while data and select.select([], [self._host], [], _UNREAD_S)[1]:
            with suppress(BlockingIOError):
                data = data[os.write(self._host, data) :]

    def close(self) -> None:
        """Remove it: a host's next read fails."""
        os.close(self._host)
        os.close(self._end)


_WAIT_S = 0.05  # a binary load asks after 200 ms of silence


class Board:
    """Powered on when its port is opened first.

    Args:
        start: makes the firmware at each boot, from the reason of the reset.
    """

    def __init__(self, start: Callable[[str], Firmware]) -> None:
        self._start = start
        self._firmware: Firmware | None = None

    def opened(self) -> Iterator[bytes]:
        """What the board sends because a host opened its port: the banner, the first time."""
        if self._firmware is None:
            yield from self._boot("power on")

    def receive(self, data: bytes) -> Iterator[bytes]:
        """What the board sends for bytes of the line, piece by piece as it comes."""
        if self._firmware is not None:
            yield from self._sent(self._firmware.receive(data))

    def wait(self) -> Iterator[bytes]:
        """What it sends because nothing comes."""
        if self._firmware is not None:
            yield from self._sent(self._firmware.wait())

    def _sent(self, lines: Iterable[str]) -> Iterator[bytes]:
        try:
            for line in lines:
                yield line.encode("latin-1") + b"\r\n"
        except EngineReset as reset:  # what else had come is lost
            yield from self._boot(reset.reason)

    def _boot(self, reason: str) -> Iterator[bytes]:
        self._firmware = self._start(reason)
        yield from self._sent(self._firmware.boot())


def serve(port: Port, board: Board) -> None:
    """Serve one host after the other, without end; the caller closes the port."""
    while True:
        data = port.read(_WAIT_S)
        _send(port, board.opened())
        _send(port, board.receive(data) if data else board.wait())


def _send(port: Port, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        port.write(piece)


# A simulated microcontroller from its model to its last host.


def run(model: str, clock: SimulatedClock, benchmark_id: str | None = None) -> None:
    """Print the port, then serve until Ctrl-C.

    Args:
        model: a variant's name, or a .tflite file.
        clock: of the board.
        benchmark_id: what `m-model` says; None: the model.

    Raises:
        UnavailableError: tflite-micro is not installed, or the port cannot be had.
        EdgeBenchError: the artifact cannot be prepared.
    """
    version()
    with ExitStack() as stack:
        port = Port()
        stack.callback(port.close)
        try:
            artifact = prepared(model, "tflm", TfliteChain(), Cache(), _say)
            engine = stack.enter_context(TflmEngine(artifact, _say))
            engine.start()
            name = model_id(artifact)
            board = Board(lambda reason: Firmware(name, engine, clock, reason, benchmark_id=benchmark_id))
            # Whoever reads the port may open it at once.
            print(port.name, flush=True)
            _say(f"{artifact.variant} by {engine.facts.title}; Ctrl-C ends it")
            serve(port, board)
        except KeyboardInterrupt:
            _say("ended")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
