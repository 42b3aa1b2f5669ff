"""Where a host finds the simulated board: a pty, or a unix socket."""

from __future__ import annotations

import os
import select
import socket
import stat
import time
import tty
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from edgebench.errors import NoPermissionError, UnavailableError, UsageError

_UNIX = "unix:"
_LONGEST_PATH = 100  # of a socket: 108 bytes on Linux, 104 on macOS, with the terminating zero
_READ_BYTES = 4096
_UNREAD_S = 1.0
_LOOK_S = 0.01


class Port(Protocol):
    """One host at a time; another one after it."""

    @property
    def name(self) -> str:
        """As `--port` takes it."""
        ...

    def has_been_opened(self) -> bool:
        """Whether a host has opened it since this was asked last."""
        ...

    def read(self, timeout_s: float) -> bytes:
        """Some bytes of the host; none where none come in time."""
        ...

    def write(self, data: bytes) -> None:
        """Send; what no host takes within a second is lost, as a UART loses it."""
        ...

    def close(self) -> None:
        """Let no host find it any more."""
        ...


def open_port(listen: str | None, watches_opens: bool) -> Port:
    """A pty, or a socket at `unix:PATH`.

    Args:
        listen: where; None: a pty.
        watches_opens: tell every host that opens it, and not the first alone.

    Raises:
        UsageError: it is no `unix:PATH`, or the path is too long.
        NoPermissionError: the folder does not take it.
        UnavailableError: another program listens there, another file lies there, or there are no ptys.
    """
    if listen is None:
        return Pty(watches_opens)
    path = listen.removeprefix(_UNIX)
    if path == listen or not path:
        raise UsageError(
            f"{listen!r} is no place to listen at", fix=f"write {_UNIX}PATH, or leave it out for a pty"
        )
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise UsageError(
            f"{path} is too long for a socket", fix=f"take a path of at most {_LONGEST_PATH} bytes"
        )
    return UnixSocket(Path(path))


class Pty:
    """A pseudo-terminal, raw, so that it carries all bytes as they are.

    Its other end stays open here as well: a host that closes the port ends nothing. Where opens are watched
    it does not, because the system tells only then that there is no host; one that is back within 10 ms
    is not noticed.
    """

    def __init__(self, watches_opens: bool) -> None:
        try:
            self._controller, end = os.openpty()
        except OSError as error:
            raise UnavailableError(
                "there is no pty", why=error.strerror or str(error), fix=f"listen at {_UNIX}PATH"
            ) from None
        tty.setraw(end)
        os.set_blocking(self._controller, False)
        self._name = os.ttyname(end)
        self._is_open = self._has_been_opened = not watches_opens
        self._end: int | None = end
        if watches_opens:
            self._end = None
            os.close(end)

    @property
    def name(self) -> str:
        """The path of the end that a host opens."""
        return self._name

    def has_been_opened(self) -> bool:
        """As the protocol; without watching true once, at the start."""
        opened, self._has_been_opened = self._has_been_opened, False
        return opened

    def read(self, timeout_s: float) -> bytes:
        """As the protocol."""
        poll = select.poll()
        poll.register(self._controller, select.POLLIN)
        events = dict(poll.poll(timeout_s * 1000)).get(self._controller, 0)
        is_open = not events & select.POLLHUP
        self._has_been_opened |= is_open and not self._is_open
        self._is_open = is_open
        if not is_open:  # it is told at once each time
            time.sleep(min(timeout_s, _LOOK_S))
        if not events & select.POLLIN:
            return b""
        try:
            return os.read(self._controller, _READ_BYTES)
        except OSError:  # the host has closed it in this moment
            return b""

    def write(self, data: bytes) -> None:
        """As the protocol."""
        while data:
            _, is_ready, _ = select.select([], [self._controller], [], _UNREAD_S)
            if not is_ready:
                return
            try:
                data = data[os.write(self._controller, data) :]
            except BlockingIOError:
                continue
            except OSError:
                return

    def close(self) -> None:
        """As the protocol: a host's next read fails."""
        os.close(self._controller)
        if self._end is not None:
            os.close(self._end)


class UnixSocket:
    """A socket on which one host after the other is served; the next one waits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._listener = socket.socket(socket.AF_UNIX)
        self._host: socket.socket | None = None
        self._has_been_opened = False
        try:
            _remove_abandoned(path)
            self._listener.bind(str(path))
            self._listener.listen(1)
        except PermissionError as error:
            self._listener.close()
            raise NoPermissionError(
                f"{path} cannot be made", why=error.strerror or "", fix="take a folder that you may write to"
            ) from None
        except OSError as error:
            self._listener.close()
            raise UnavailableError(
                f"no socket at {path}", why=error.strerror or str(error), fix="take another path"
            ) from None

    @property
    def name(self) -> str:
        """`unix:PATH`."""
        return f"{_UNIX}{self._path}"

    def has_been_opened(self) -> bool:
        """As the protocol."""
        opened, self._has_been_opened = self._has_been_opened, False
        return opened

    def read(self, timeout_s: float) -> bytes:
        """As the protocol."""
        source = self._host or self._listener
        ready, _, _ = select.select([source], [], [], timeout_s)
        if not ready:
            return b""
        if self._host is None:
            self._host, _ = self._listener.accept()
            self._host.setblocking(False)
            self._has_been_opened = True
            return b""
        try:
            data = self._host.recv(_READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self._hang_up()
        return data

    def write(self, data: bytes) -> None:
        """As the protocol."""
        while data and self._host is not None:
            _, is_ready, _ = select.select([], [self._host], [], _UNREAD_S)
            if not is_ready:
                return
            try:
                data = data[self._host.send(data) :]
            except BlockingIOError:
                continue
            except OSError:
                self._hang_up()

    def close(self) -> None:
        """As the protocol; the path is gone."""
        self._hang_up()
        self._listener.close()
        with suppress(OSError):
            self._path.unlink()

    def _hang_up(self) -> None:
        if self._host is not None:
            self._host.close()
            self._host = None


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
