"""QEMU with a firmware: a board that is started here, its line on a unix socket in a private folder."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from edgebench.errors import UnavailableError, not_installed
from edgebench.link.window_session import WindowLengths

from .boards import Board

ICOUNT_SHIFT = 5
"""An instruction takes 2^5 ns of the emulated board's time: nearly the 40 ns of its 25 MHz."""

IN_QEMU = WindowLengths(least_s=0.0, aim_s=0.0, most_s=1e9, least_inferences=1, warm_up_s=0.0)
"""Windows of a board whose time goes by its instructions: a single inference, without warm-up. The next ones
count the same, to 1 in 10^8, and what they take longer is no time of a board."""

END_S = 10.0
"""In which QEMU has to end; it has nothing to do before."""

_PROGRAM = "qemu-system-arm"
_LONGEST_WHY = 1000
_QUIET = ("-display", "none", "-monitor", "none", "-parallel", "none", "-nodefaults")
_TIED = f"{__package__}.tied_program"


def emulator_program() -> str:
    """Where QEMU is; UnavailableError where it is not installed."""
    if (program := shutil.which(_PROGRAM)) is None:
        raise not_installed("a Cortex-M cannot be emulated", _PROGRAM, f"apt install {_PROGRAM}")
    return program


class Emulator:
    """A board that boots once a host has connected, and runs until it is closed or this process ends.

    Its time goes by its instructions: the same firmware with the same input takes the same time, whatever
    else this machine does.

    Args:
        board: one that is emulated; QEMU's machine has its name.
        elf: its firmware.

    Attributes:
        port: as `--port` takes it.

    Raises:
        UnavailableError: QEMU is not installed, or cannot be started.
    """

    def __init__(self, board: Board, elf: Path) -> None:
        program = emulator_program()
        folder = Path(tempfile.mkdtemp(prefix="edgebench-qemu-"))
        line = folder / "line"
        self.port = f"unix:{line}"
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the board
        try:
            # It listens before QEMU runs, so that nobody has to wait for it.
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(str(line))
                listening.listen(1)
                descriptor = listening.fileno()
                self._process = subprocess.Popen(
                    [
                        *(sys.executable, "-P", "-m", _TIED, str(folder), str(descriptor)),
                        *(program, "-M", board.name, *_QUIET),
                        *("-chardev", f"socket,id=line,fd={descriptor},server=on,wait=on"),
                        *("-serial", "chardev:line", "-icount", f"shift={ICOUNT_SHIFT},sleep=off"),
                        *("-kernel", str(elf)),
                    ],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=self._messages,
                    pass_fds=(descriptor,),
                    start_new_session=True,  # a Ctrl-C ends the session first
                )
        except OSError as error:
            self._messages.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise UnavailableError(
                "a Cortex-M cannot be emulated",
                why=error.strerror or str(error),
                fix="set TMPDIR to a folder with a short path that can be written",
            ) from error

    def why_ended(self) -> str:
        """What QEMU wrote before it ended by itself; "" while it runs or once it is closed."""
        if self._messages.closed or self._process.poll() is None:
            return ""
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").splitlines()
        # The rest is registers, that a host was awaited, and that nothing is plugged in.
        noise = (": info: ", ": warning: ")
        reasons = [line for line in lines if line.startswith("qemu") and not any(map(line.count, noise))]
        return "\n".join(reasons)[-_LONGEST_WHY:] or f"it ended with {self._process.returncode}"

    def close(self) -> None:
        """End QEMU; safe to call twice."""
        if self._messages.closed:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()  # QEMU ends with it
            self._process.wait()
        self._messages.close()
