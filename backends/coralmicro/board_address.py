"""Where a board is: HOST, HOST:PORT, or [IPv6]:PORT, and nothing else that a URL can hold."""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

from edgebench.errors import UsageError
from edgebench.printable import printable

USUAL_PORT = 80
_FORM = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]{2,45})\]|(?P<host>[A-Za-z0-9.-]{1,253}))(?::(?P<port>[0-9]{1,5}))?"
)
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


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
    if match is None:
        raise _wrong(text, "an address has the form HOST, HOST:PORT or [IPv6]:PORT")
    port = USUAL_PORT if match["port"] is None else int(match["port"])
    if not 0 < port < 1 << 16:
        raise _wrong(text, f"{port} is no TCP port: those are 1 to 65535")
    host = match["v6"] or match["host"]
    if match["v6"] is not None:
        if not _is_number(host, ipaddress.IPv6Address):
            raise _wrong(text, f"{host} is no IPv6 address")
    elif _NUMBER.fullmatch(host.rpartition(".")[2]):  # a resolver would read 10.1 or 0xa000001 as an address
        if not _is_number(host, ipaddress.IPv4Address):
            raise _wrong(text, f"{host} is no IPv4 address of four numbers")
    elif not all(map(_LABEL.fullmatch, host.split("."))):
        raise _wrong(text, f"{host} is no host's name")
    return BoardAddress(host, port)


def _is_number(host: str, kind: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]) -> bool:
    try:
        kind(host)
    except ValueError:
        return False
    return True


def _wrong(text: str, why: str) -> UsageError:
    return UsageError(
        f"`{printable(text, 80)}` is no address of a board", why=why, fix="such as --set address=10.10.10.1"
    )
