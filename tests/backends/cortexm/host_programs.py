"""Compiles the firmware's core for this machine and speaks with it over pipes."""

import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import ClassVar

import pytest

HERE = Path(__file__).parent
FIRMWARE = Path(__file__).parents[3] / "backends" / "cortexm" / "firmware"
CORE = FIRMWARE / "core"
INPUT_BYTES = 2000
SCORES = 5
ANSWER_S = 20.0
MOST_INFERENCES = 1000
FLAGS = (
    *("-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    f"-I{CORE}",
    '-DMODEL_ID="first-light:00ff"',
    f"-DMODEL_SCORES={SCORES}",
    f"-DPROTOCOL_MOST_INFERENCES={MOST_INFERENCES}u",
)


def require_compiler():
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")


BRIGHTNESS = FIRMWARE / "engines" / "brightness" / "model_brightness.c"


def compile_program(
    kind, folder, input_bytes=INPUT_BYTES, core="*.c", energy=False, engine=(BRIGHTNESS,), flags=FLAGS
):
    """`host`, the firmware as a program; else the program of that name beside this module, with the core."""
    core = [path for path in CORE.glob(core) if kind == "host" or path.name != "main.c"]
    program = [FIRMWARE / "ports" / "host" / "port_host.c"] if kind == "host" else [HERE / f"{kind}.c"]
    binary = folder / kind
    command = ["cc", *flags, f"-DMODEL_INPUT_BYTES={input_bytes}", f"-DPROTOCOL_ENERGY_MODE={int(energy)}"]
    done = subprocess.run(
        [*command, *map(str, [*core, *program, *engine]), "-o", str(binary)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return binary


class HostProgram:
    """A process with a line: bytes in, answers out."""

    infos: ClassVar[dict[str, str]] = {
        "board": "host, a program of this machine",
        "timer": "CLOCK_MONOTONIC",
        "reset": "unknown",
    }

    def __init__(self, *command):
        self._process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._received = b""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._input.close()
        try:
            status = self._process.wait(ANSWER_S)
        finally:
            self._process.kill()
            self._output.close()
        assert status == 0, "the sanitizers found something"

    def send(self, data):
        self._input.write(data)
        self._input.flush()

    def line(self):
        """The next line, without its CR LF."""
        deadline_s = time.monotonic() + ANSWER_S
        while b"\r\n" not in self._received:
            self._receive(max(deadline_s - time.monotonic(), 0))
        line, _, self._received = self._received.partition(b"\r\n")
        return line.decode("ascii")

    def _receive(self, wait_s):
        ready, _, _ = select.select([self._output], [], [], wait_s)
        assert ready, f"no line within {ANSWER_S} s, but {self._received!r}"
        data = os.read(self._output.fileno(), 65536)
        assert data, f"the program ended after {self._received!r}"
        self._received += data

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

    def is_silent(self, for_s=0.1):
        """Whether nothing more comes."""
        ready, _, _ = select.select([self._output], [], [], for_s)
        return not ready and not self._received
