"""A board's serial line: bytes out and in, over a serial port or a unix socket.

Nothing here waits without an end, and nothing polls: a read sleeps until bytes come.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgebench.agent.sampler import holders
from edgebench.errors import EdgeBenchError, NoPermissionError, UnavailableError
from edgebench.probes.host.serial_port import BUSY, permission_fix, ports_in_words
from edgebench.suggest import printable

from .messages import LineLost

UNIX_PREFIX = "unix:"
CONNECT_S = 5.0
WRITE_S = 10.0
"""How long a line may take for bytes, beside the time that they need at its baud."""
MOST_READ_BYTES = 65_536
MOST_DROPPED_BYTES = 1 << 20
_BITS_A_BYTE = 10  # 8N1
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISREG, "a regular file"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket: unix:PATH names one"),
)


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
        self._port = port
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
                        f"{self._port} takes no more bytes",
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
            raise LineLost(f"{self._port} is closed")
        return self._descriptor

    def _lost(self, error: OSError | None) -> LineLost:
        why = "the other end was closed" if error is None else str(error.strerror)
        fix = "see that it is plugged in and powered, and that its cable holds"
        if self._port.startswith(UNIX_PREFIX):
            fix = "see why the simulator or emulator there ended, and start it again"
        return LineLost(f"the board at {self._port} is gone", why=why, fix=fix)


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
    """UnavailableError where there is none; it is not opened, which resets some boards."""
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
    # pyserial has no number for what it opened and could not configure.
    if number in (None, errno.EISDIR, errno.ENXIO) and (why := _is_no_terminal(port)) is not None:
        return UnavailableError(
            f"{name} is no serial port", why=why, fix="name the board's by --port, such as /dev/ttyACM0"
        )
    missing = number in (errno.ENOENT, errno.ENODEV, errno.ENXIO) or not Path(port).exists()
    return UnavailableError(
        f"there is no port {name}" if missing else f"{name} cannot be opened as a serial port",
        why=ports_in_words() if missing else _in_words(number, words),
        fix="plug the board in and name its port by --port, such as /dev/ttyACM0",
    )


def _is_no_terminal(port: str) -> str | None:
    """What else lies there; None where it may be a serial port, or nothing does."""
    try:
        mode = Path(port).stat().st_mode
    except (OSError, ValueError):
        return None
    kind = next((words for is_kind, words in _KINDS if is_kind(mode)), None)
    return kind and f"it is {kind}"


def _in_words(number: Any, words: str) -> str:
    """Why what is there could not be opened: pyserial quotes the number of an error alone."""
    if "Inappropriate ioctl" in words or number == errno.ENOTTY:
        return "it is a device of another kind"
    return printable(words)
