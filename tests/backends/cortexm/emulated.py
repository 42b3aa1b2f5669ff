"""An emulated board with a firmware, spoken with line by line."""

import importlib
import shutil
import socket

import pytest

boards = importlib.import_module("edgebench.backends.cortexm.boards")
emulator = importlib.import_module("edgebench.backends.cortexm.emulator")

BOARD = next(board for board in boards.BOARDS if board.emulated)
ANSWER_S = 120.0


def require_qemu():
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("no emulated Cortex-M: apt install qemu-system-arm")


def require_emulator():
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("no cross-compiler: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi")
    require_qemu()


class EmulatedBoard:
    """A board that boots; time goes by its instructions."""

    def __init__(self, elf):
        self._emulator = emulator.Emulator(BOARD, elf)
        self._line = socket.socket(socket.AF_UNIX)
        self._line.settimeout(ANSWER_S)
        self._line.connect(self._emulator.port.removeprefix("unix:"))
        self._received = b""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._line.close()
        self._emulator.close()

    def send(self, data):
        self._line.sendall(data)

    def line(self):
        while b"\r\n" not in self._received:
            data = self._line.recv(65536)
            assert data, f"the board ended after {self._received!r}: {self._emulator.why_ended()}"
            self._received += data
        line, _, self._received = self._received.partition(b"\r\n")
        return line.decode("ascii")

    def answer(self):
        lines = [self.line()]
        while lines[-1] != "m-ready":
            lines.append(self.line())
        return lines

    def command(self, text):
        self.send(text.encode() + b"%")
        return self.answer()[:-1]
