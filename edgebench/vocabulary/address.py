"""A board's address for SSH, `user@board[:port]`: parsed, and refused where it could be misread."""

from __future__ import annotations

import re
from dataclasses import dataclass

from edgebench.errors import UsageError

# No first '-', no blank and no shell character: neither ssh nor a shell can take a part for an option.
_USER = r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}"
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,252}"
_BRACKETED = r"\[[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9_.\-]{1,15})?\]"
_ADDRESS = re.compile(rf"(?:(?P<user>{_USER})@)?(?P<host>{_NAME}|{_BRACKETED})(?::(?P<port>[0-9]{{1,5}}))?")


@dataclass(frozen=True)
class Address:
    """`user` and `port` None leave the choice to the user's SSH configuration."""

    host: str
    user: str | None = None
    port: int | None = None


def check_address(text: str) -> Address:
    """The parts of `user@board[:port]`; an IPv6 address stands in brackets.

    Raises UsageError for anything else.
    """
    match = _ADDRESS.fullmatch(text)
    port = int(match["port"]) if match and match["port"] else None
    if match is None or (port is not None and not 1 <= port <= 65535):
        raise UsageError(
            f"{text[:100]!r} is no address of a board",
            fix="write it like user@board or user@board:2222; an IPv6 address in brackets",
        )
    return Address(match["host"].strip("[]"), match["user"], port)
