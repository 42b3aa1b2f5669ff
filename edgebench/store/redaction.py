"""Names of hosts and users, and values of a launch: they stay in the targets of experiment.json alone."""

from __future__ import annotations

import getpass
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgebench.errors import UsageError
from edgebench.vocabulary.address import check_address
from edgebench.vocabulary.launch_secrets import MASK, SHORTEST, values_apart

HOST, USER, HOME, PORT = "(host)", "(user)", "~", "(port)"

# These identify nobody, and many messages need them ("sudo", "needs root").
_NOBODY = frozenset({"root", "localhost", "127.0.0.1", "::1"})
_LONGEST = 255
_CUT_CHARACTERS = 500
"""Of the shortest message that is cut before it gets here, a worker's last line."""

# What the hardware and its system say of themselves: a board called `nano` must not lose its model's name.
_OF_HARDWARE = frozenset(
    {"board", "soc", "cpu", "os", "kernel", "machine", "l4t", "governor", "power_mode", "power_modes"}
    | {"packages", "usb_accelerators", "pcie_accelerators", "temperatures_c", "platform", "python"}
)

# What its sessions are pooled by (edgebench.store.identity): a board called `litert` must not change that.
_OF_RUNTIME = frozenset({"name", "version", "numpy"})

_ANY_HOME = re.compile(r"/(?:home|Users)/[^/\s'\":,;]+")
# What OpenSSH says of a host under a name that only its own configuration knows. Each begins where a word
# does: a worker's stderr may be 64 KiB without a space, and is then gone through once, not once a letter.
_SSH_WORDS = (
    (re.compile(r"(?<!\S)\S+ port (?=[0-9])"), f"{HOST} port "),
    (re.compile(r"(resolve hostname )[^\s:]+"), rf"\1{HOST}"),
    (re.compile(r"(?<![^\s:])[^\s:]+@[^\s@]+(?=: Permission denied)"), HOST),
)
# Who else held a board: another user, whom no target names (see edgebench.link.board_lock).
_HELD_BY = re.compile(r"\b((?:held|in use) by user )[^\s,]+(?: on [^\s,]+)?")


@dataclass(frozen=True)
class Apart:
    """The names to take out of texts; empty for a machine that nobody named."""

    hosts: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    homes: frozenset[str] = frozenset()
    values: tuple[tuple[str, str], ...] = ()  # of launches, each with what is written in its place

    @classmethod
    def of(
        cls,
        addresses: Iterable[str | None] = (),
        private: Mapping[str, Any] | None = None,
        launches: Iterable[Mapping[str, Any]] = (),
        ports: Iterable[str | None] = (),
    ) -> Apart:
        """The names in addresses (`user@board:22`) and in a board's private facts, and launches' values.

        Args:
            addresses: of targets; None and what is no address are passed over.
            private: `user`, `node`, `home` and `link` as the agent and the link say them; not trusted.
            launches: of targets, as plain data.
            ports: of targets; the name of a serial one often holds the board's serial number.
        """
        told = {name: value for name, value in (private or {}).items() if isinstance(value, str)}
        hosts, users = {told.get("node", "")}, {told.get("user", "")}
        for text in (*addresses, told.get("link")):
            try:
                address = check_address(text or "")
            except UsageError:
                continue
            hosts.add(address.host)
            users.add(address.user or "")
        homes = {told.get("home", "").rstrip("/")}
        values = {port: PORT for port in ports if port is not None}
        values |= {value: name for launch in launches for value, name in values_apart(launch).items()}
        return cls(
            frozenset(name for name in hosts | {name.lower() for name in hosts} if _tells(name)),
            frozenset(name for name in users if _tells(name)),
            frozenset(home for home in homes if home.startswith("/") and _tells(home) and home != "/root"),
            # The longest first: a value may hold another one.
            tuple(sorted(values.items(), key=lambda item: (-len(item[0]), item))),
        )

    @classmethod
    def here(
        cls,
        addresses: Iterable[str | None] = (),
        launches: Iterable[Mapping[str, Any]] = (),
        ports: Iterable[str | None] = (),
    ) -> Apart:
        """Those of this machine, of the addresses, of the launches and of the ports."""
        try:
            user, home = getpass.getuser(), str(Path.home())
        except (OSError, KeyError, RuntimeError):
            user = home = ""
        return cls.of(addresses, {"user": user, "node": platform.node(), "home": home}, launches, ports)

    def path(self, text: str) -> str:
        """A path, an argument or an address without the names and values; other words stay as they are."""
        for value, name in self.values:
            text = text.replace(value, name)
        for home in sorted(self.homes, key=len, reverse=True):
            text = re.sub(rf"{re.escape(home)}(?![\w.-])", HOME, text)
        text = _ANY_HOME.sub(HOME, text)
        for user in self.users:
            text = re.sub(rf"(?<=/){re.escape(user)}(?=/|$)", USER, text)
        for host in sorted(self.hosts, key=len, reverse=True):
            text = re.sub(rf"(?<![\w.-])[\w.-]+@\[?{re.escape(host)}\]?(:[0-9]+)?(?![\w-])", HOST, text)
        return text

    def text(self, text: str) -> str:
        """A message or a report's line without the names, wherever they stand as words."""
        text = _HELD_BY.sub(rf"\1{USER}", self.path(self._cut_values(text)))
        if self.hosts:
            for pattern, plain in _SSH_WORDS:
                text = pattern.sub(plain, text)
        for host in sorted(self.hosts, key=len, reverse=True):
            text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", HOST, text)
        for user in self.users:
            text = re.sub(rf"(?<![\w-]){re.escape(user)}(?![\w-])", USER, text)
        return text

    def _cut_values(self, text: str) -> str:
        """A text without the part of a value that was left at its end or beginning when it was cut."""
        if len(text) < _CUT_CHARACTERS:
            return text
        for value, name in self.values:
            for length in range(len(value) - 1, SHORTEST - 1, -1):
                if text.endswith(value[:length]):
                    text = text[:-length] + name
                if text.startswith(value[-length:]):
                    text = name + text[length:]
        return text

    def texts(self, value: Any) -> Any:
        """A JSON value with every string in it treated by `text`."""
        return _each(value, self.text)

    def paths(self, value: Any) -> Any:
        """A JSON value with every string in it treated by `path`."""
        return _each(value, self.path)

    def facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """A board's description: what tells of hardware stays as it is."""
        return {name: value if name in _OF_HARDWARE else self.texts(value) for name, value in facts.items()}

    def runtime(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """A runtime's description: its name and version, and numpy's, stay as they are."""
        return {name: value if name in _OF_RUNTIME else self.texts(value) for name, value in facts.items()}

    def command(self, command: Sequence[str]) -> tuple[str, ...]:
        """A command line with its paths treated and the values of --host and --port masked."""
        return tuple(self.path(word) for word in masked(command))


def masked(command: Sequence[str]) -> tuple[str, ...]:
    """The command with `...` for the value of every --host and --port."""
    made: list[str] = []
    for word in command:
        if made and made[-1] in ("--host", "--port"):
            made.append(MASK)
        elif word.startswith(("--host=", "--port=")):
            made.append(f"{word.partition('=')[0]}={MASK}")
        else:
            made.append(word)
    return tuple(made)


def _tells(name: str) -> bool:
    return 2 <= len(name) <= _LONGEST and name not in _NOBODY


def _each(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _each(item, change) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_each(item, change) for item in value)
    return value
