"""Where a board is: HOST, HOST:PORT, or [IPv6]:PORT, and nothing else that a URL can hold."""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import re
import socket
import time
from collections.abc import Callable
from typing import NamedTuple

import filelock
import platformdirs
import psutil

from edgebench import interruption
from edgebench.errors import UnavailableError, UsageError
from edgebench.suggest import printable

USUAL_PORT = 80
_FORM = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]{2,45})\]|(?P<host>[A-Za-z0-9.-]{1,253}))(?::(?P<port>[0-9]{1,5}))?"
)
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")


class BoardAddress(NamedTuple):
    """A host's name or number, IPv6 without its brackets, and a TCP port."""

    host: str
    port: int

    @property
    def authority(self) -> str:
        """As a URL has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == USUAL_PORT else f"{host}:{self.port}"


def board_address(text: str) -> BoardAddress:
    """The address that a user gave; UsageError where it has any other form."""
    match = _FORM.fullmatch(text)
    try:
        if match is None:
            raise ValueError("an address has the form HOST, HOST:PORT or [IPv6]:PORT")
        port = USUAL_PORT if match["port"] is None else int(match["port"])
        if not 0 < port < 1 << 16:
            raise ValueError(f"{port} is no TCP port: those are 1 to 65535")
        host = match["v6"] or match["host"]
        labels = host.split(".")
        if match["v6"] is not None:
            ipaddress.IPv6Address(host)
        elif _NUMBER.fullmatch(labels[-1]):  # a resolver would read 10.1 or 0xa000001 as an address
            ipaddress.IPv4Address(host)
        elif not all(map(_LABEL.fullmatch, labels)):
            raise ValueError(f"{host} is no host's name")
    except ValueError as error:
        what = f"`{printable(text, 80)}` is no address of a board"
        raise UsageError(what, why=str(error), fix="such as --set address=10.10.10.1") from None
    return BoardAddress(host, port)


# One harness of a user a board: the system's lock on a file that is named by a hash of the board's address.
#
# A board answers whoever asks: another harness's sessions would load other blocks amid this one's, and its
# inferences would be in this one's power. The lock ends with its process, however that one ends.


ASK_EVERY_S = 0.5
_log = logging.getLogger(__name__)


class HarnessLock:
    """The lock of the board at an address; targets of one process at the same address share it.

    Args:
        address: of the board.
        pause: waits that many seconds, and lets Ctrl-C through.
    """

    def __init__(self, address: BoardAddress, pause: Callable[[float], None] = interruption.pause) -> None:
        self._name = hashlib.sha256(address.authority.lower().encode()).hexdigest()[:32]
        self._pause = pause
        self._lock: filelock.BaseFileLock | None = None

    def take(self, wait_s: float) -> None:
        """UnavailableError where another harness still has the board after so long."""
        try:
            folder = platformdirs.user_state_path("edgebench", ensure_exists=True)
            lock = filelock.FileLock(folder / f"{self._name}.lock", thread_local=False, is_singleton=True)
            give_up_s = time.monotonic() + wait_s
            is_awaited = False
            while not _taken(lock):
                if time.monotonic() >= give_up_s:
                    raise UnavailableError(
                        "the board is in use",
                        why="another run on this machine measures on it",
                        fix="wait for that one, or set EDGEBENCH_LOCK_WAIT_S to wait here for longer",
                    )
                if not is_awaited:
                    _log.warning("another run measures on the board: waiting up to %.0f s", wait_s)
                is_awaited = True
                self._pause(ASK_EVERY_S)
            self._lock = lock
        except (OSError, NotImplementedError):
            _log.warning("this machine keeps no lock, so another run may measure on the board too")

    def release(self) -> None:
        """Give the board back; safe to call twice."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()


def _taken(lock: filelock.BaseFileLock) -> bool:
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return False
    return True


# Whether this machine can have a way to a board: the network that a board's USB cable brings.


USUAL_HOST = "10.10.10.1"
"""Address of every board over USB, unless it was flashed with another (flashtool's --usb_ip_address)."""


def missing_interface(address: BoardAddress) -> str:
    """Why no board can be at its own USB address: something else there is not a board, and is left alone.

    "" where there may be one, and of every other address.
    """
    networks = (
        ipaddress.IPv4Network(f"{own.address}/{own.netmask}", strict=False)
        for addresses in psutil.net_if_addrs().values()
        for own in addresses
        if own.family == socket.AF_INET and own.netmask
    )
    if address.host != USUAL_HOST or any(
        ipaddress.IPv4Address(USUAL_HOST) in network for network in networks
    ):
        return ""
    return f"this machine has no network interface in the board's network, that of {USUAL_HOST}"
