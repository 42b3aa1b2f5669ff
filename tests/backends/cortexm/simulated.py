"""Simulated boards: one that a test speaks with directly, and one at a pty that a host opens."""

import importlib
import threading
from contextlib import contextmanager, suppress
from typing import ClassVar

import numpy as np

from tests.backends.cortexm.board_faults import FaultyBoard, Unplugged
from tests.backends.cortexm.host_programs import INPUT_BYTES, MOST_INFERENCES, SCORES

PACKAGE = "edgebench.backends.cortexm.simulator"
boards = importlib.import_module(f"{PACKAGE}.board")
clocks = importlib.import_module(f"{PACKAGE}.clock")
engines = importlib.import_module(f"{PACKAGE}.engine")
line_faults = importlib.import_module("edgebench.backends.cortexm.line")

MODEL_ID = "first-light:00ff"
MOST_LINES = 10_000
STEP_NS = 50_000_000
BAUD = 115_200
NS_A_BYTE = 10 * 10**9 // BAUD


class Brightness:
    """As firmware/engines/brightness: the mean of each part of the input."""

    def __init__(self, input_bytes=INPUT_BYTES):
        self.facts = engines.EngineFacts("brightness 1", "uint8", input_bytes, SCORES, 0, 0)
        self.inferred = 0

    def start(self):
        return True

    def infer(self, tensor, times):
        self.inferred += times
        parts = np.frombuffer(tensor, np.uint8).reshape(SCORES, -1)
        scores = (parts.astype(np.int64).sum(1) // parts.shape[1]).astype(np.float32) * np.float32(1 / 255)
        start_ns = clocks.time.monotonic_ns()
        return tuple(map(float, scores)), (start_ns, start_ns + times * 1_000_000)


def simulated_board(
    *faults, engine=None, inference_ms=None, start_us=0, nanoseconds=clocks.time.monotonic_ns
):
    """A board with the engine that needs no network."""
    return FaultyBoard(
        faults,
        model_id=MODEL_ID,
        engine=engine or Brightness(),
        clock=clocks.SimulatedClock(start_us, inference_ms, nanoseconds),
        most_inferences=MOST_INFERENCES,
    )


class SimulatedDevice:
    """A board that has no line: what a test sends is answered at once, and time goes by when it waits."""

    infos: ClassVar[dict[str, str]] = {
        "board": "simulator",
        "timer": "the host's monotonic clock",
        "reset": "power on",
    }

    def __init__(self, *faults, **board):
        self._now_ns = 0
        self._received = b""
        self._board = simulated_board(*faults, nanoseconds=lambda: self._now_ns, **board)
        self.open()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def open(self):
        """As a host that opens the port."""
        self._take(self._board.opened())

    def _take(self, pieces):
        self._received += b"".join(pieces)

    def send(self, data):
        self._now_ns += 10_000
        self._take(self._board.receive(data))

    def line(self):
        """The next line, without its CR LF."""
        for _ in range(MOST_LINES):
            if b"\r\n" in self._received:
                line, _, self._received = self._received.partition(b"\r\n")
                return line.decode("latin-1")
            self._now_ns += STEP_NS
            self._take(self._board.wait())
        raise AssertionError(f"no line, but {self._received!r}")

    def answer(self):
        """All lines up to and with `m-ready`."""
        lines = [self.line()]
        while lines[-1] != "m-ready":
            lines.append(self.line())
        return lines

    def command(self, text):
        """What a command answers, without its `m-ready`."""
        self.send(text.encode("latin-1") + b"%")
        return self.answer()[:-1]

    def lines(self):
        """All lines that have come."""
        lines, self._received = self._received.split(b"\r\n"), b""
        assert lines.pop() == b"", lines
        return [line.decode("latin-1") for line in lines]

    def is_silent(self):
        """Whether nothing more comes."""
        return not self._received


class SimulatedLine(SimulatedDevice):
    """A host's line to such a board, and the clock that goes by while the host waits."""

    port = "simulated"

    def __init__(self, *faults, **board):
        self._is_unplugged = False
        super().__init__(*faults, **board)

    def clock_ns(self):
        return self._now_ns

    def _take(self, pieces):
        if self._is_unplugged:
            raise line_faults.LineLost("the board is gone")
        try:
            for piece in pieces:
                self._received += piece
        except Unplugged:
            self._is_unplugged = True

    def write(self, data):
        self._now_ns += len(data) * NS_A_BYTE
        self.send(data)

    def read(self, timeout_s):
        end_ns = self._now_ns + round(timeout_s * 1e9)
        while not self._received:
            if self._now_ns >= end_ns:
                return b""
            self._now_ns = min(self._now_ns + STEP_NS, end_ns)
            self._take(self._board.wait())
        data, self._received = self._received, b""
        self._now_ns += len(data) * NS_A_BYTE
        return data

    def drop_input(self):
        self._received = b""

    def close(self):
        pass


class EndingPort:
    """A port that is read until an event."""

    def __init__(self, port, is_over):
        self.write, self._port, self._is_over = port.write, port, is_over

    def read(self, timeout_s):
        if self._is_over.is_set():
            raise Unplugged
        return self._port.read(timeout_s)


@contextmanager
def served(board):
    """The board at a pty, which goes with it; the port's name."""
    is_over = threading.Event()
    port = boards.Port()

    def serve():
        with suppress(Unplugged):
            boards.serve(EndingPort(port, is_over), board)
        port.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield port.name
    finally:
        is_over.set()
        thread.join(20)
        assert not thread.is_alive()
