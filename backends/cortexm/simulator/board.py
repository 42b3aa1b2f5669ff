"""A simulated board: its firmware from one reset to the next, and its service at a port."""

from __future__ import annotations

import os
import select
import socket
import stat
import sys
import tty
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from edgebench.errors import EdgeBenchError, NoPermissionError, UnavailableError, UsageError
from edgebench.prepare.cache import Cache
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.values import Variant

from ..engines import model_id
from .clock import Clock
from .engine import BoardReset, TflmEngine, version
from .firmware import Firmware

# Where a host finds the simulated board: a pty, or a unix socket.


_UNIX = "unix:"
_LONGEST_PATH = 100  # of a socket: 108 bytes on Linux, 104 on macOS, with the terminating zero
_READ_BYTES = 4096
_UNREAD_S = 1.0


class Port:
    """A pty or a unix socket; it serves one host at a time, another one after it.

    Args:
        name: as `--port` takes it.
        host: the descriptor of a pty, whose host may come and go; None where hosts connect.
        listener: where hosts connect.

    Attributes:
        name: the same.
    """

    def __init__(self, name: str, host: int | None, listener: socket.socket | None = None) -> None:
        self.name = name
        self._host = host
        self._listener = listener
        self.on_close = ExitStack()

    @property
    def has_host(self) -> bool:
        """Whether a host may take what is sent; to a pty it waits for one."""
        return self._host is not None

    def read(self, timeout_s: float) -> bytes:
        """Some bytes of the host; none where none come in time."""
        listening = self._listener.fileno() if self._listener else -1
        ready, _, _ = select.select([listening if self._host is None else self._host], [], [], timeout_s)
        if not ready:
            return b""
        if self._host is None:
            assert self._listener is not None
            host, _ = self._listener.accept()
            host.setblocking(False)
            self._host = host.detach()
            return b""
        try:
            data = os.read(self._host, _READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self._hang_up()
        return data

    def write(self, data: bytes) -> None:
        """Send; what no host takes within a second is lost, as a UART loses it."""
        while data and self._host is not None:
            _, is_ready, _ = select.select([], [self._host], [], _UNREAD_S)
            if not is_ready:
                return
            try:
                data = data[os.write(self._host, data) :]
            except BlockingIOError:
                continue
            except OSError:
                self._hang_up()

    def close(self) -> None:
        """Let no host find it any more: a host's next read fails."""
        self._hang_up()
        self.on_close.close()

    def _hang_up(self) -> None:
        if self._host is not None:
            os.close(self._host)
            self._host = None


def open_port(listen: str | None) -> Port:
    """A pty, or a socket at `unix:PATH`.

    Args:
        listen: where; None: a pty.

    Raises:
        UsageError: it is no `unix:PATH`, or the path is too long.
        NoPermissionError: the folder does not take it.
        UnavailableError: another program listens there, another file lies there, or there are no ptys.
    """
    if listen is None:
        return _pty()
    path = listen.removeprefix(_UNIX)
    if path == listen or not path:
        raise UsageError(
            f"{listen!r} is no place to listen at", fix=f"write {_UNIX}PATH, or leave it out for a pty"
        )
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise UsageError(
            f"{path} is too long for a socket", fix=f"take a path of at most {_LONGEST_PATH} bytes"
        )
    return _unix_socket(Path(path))


def _pty() -> Port:
    """Raw, so that it carries all bytes as they are.

    Its other end stays open here as well: a host that closes the port ends nothing.
    """
    try:
        controller, end = os.openpty()
    except OSError as error:
        raise UnavailableError(
            "there is no pty", why=error.strerror or str(error), fix=f"listen at {_UNIX}PATH"
        ) from None
    tty.setraw(end)
    os.set_blocking(controller, False)
    port = Port(os.ttyname(end), controller)
    port.on_close.callback(os.close, end)
    return port


def _unix_socket(path: Path) -> Port:
    """On which one host after the other is served; the next one waits."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        _remove_abandoned(path)
        listener.bind(str(path))
        listener.listen(1)
    except PermissionError as error:
        listener.close()
        raise NoPermissionError(
            f"{path} cannot be made", why=error.strerror or "", fix="take a folder that you may write to"
        ) from None
    except OSError as error:
        listener.close()
        raise UnavailableError(
            f"no socket at {path}", why=error.strerror or str(error), fix="take another path"
        ) from None
    port = Port(f"{_UNIX}{path}", None, listener)
    port.on_close.callback(path.unlink, missing_ok=True)
    port.on_close.callback(listener.close)
    return port


def _remove_abandoned(path: Path) -> None:
    """Remove a socket that nobody listens on any more; what else lies there stays, and OSError says so."""
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise FileExistsError(0, "there is a file that is no socket")
    with socket.socket(socket.AF_UNIX) as visitor:
        visitor.settimeout(1)
        try:
            visitor.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise FileExistsError(0, "another program listens there")


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
        except BoardReset as reset:  # what else had come is lost
            yield from self._boot(reset.reason)

    def _boot(self, reason: str) -> Iterator[bytes]:
        self._firmware = self._start(reason)
        yield from self._sent(self._firmware.boot())


def serve(port: Port, board: Board) -> None:
    """Serve one host after the other, without end; the caller closes the port."""
    while True:
        data = port.read(_WAIT_S)
        if port.has_host:
            _send(port, board.opened())
        _send(port, board.receive(data) if data else board.wait())


def _send(port: Port, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        port.write(piece)


# A simulated microcontroller from its model to its last host.


def run(variant: Variant, listen: str | None, clock: Clock) -> None:
    """Print the port, then serve until Ctrl-C.

    Raises:
        UnavailableError: tflite-micro is not installed, or the port cannot be had.
        EdgeBenchError: the artifact cannot be prepared.
    """
    version()
    with ExitStack() as stack:
        port = open_port(listen)
        stack.callback(port.close)
        try:
            artifact = _artifact(variant)
            engine = stack.enter_context(TflmEngine(artifact, _say))
            engine.start()
            board = Board(lambda reason: Firmware(model_id(artifact), engine, clock, reason))
            # Whoever reads the port may open it at once.
            print(port.name, flush=True)
            _say(f"{variant.name} by {engine.facts.title}; Ctrl-C ends it")
            serve(port, board)
        except KeyboardInterrupt:
            _say("ended")


def _artifact(variant: Variant) -> Artifact:
    """The .tflite that firmware with TFLM carries, prepared as for a real board."""
    [prepared] = TfliteChain().prepare([PrepareRequest(variant, 1, {})], Cache(), _say)
    if isinstance(prepared, EdgeBenchError):
        raise prepared
    return prepared


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
