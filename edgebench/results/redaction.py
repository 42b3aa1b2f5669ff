"""The one place that takes names of hosts and users, ports and values of launches out of what leaves a run.

They stay in the targets of experiment.json alone. `written` is for what goes to disk or to a screen,
`exported` for what a report or an export shows of a stored experiment.
"""

from __future__ import annotations

import getpass
import platform
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter

from edgebench.errors import UsageError
from edgebench.records.described import Private
from edgebench.records.stored import ExperimentRecord
from edgebench.records.target import (
    MASK,
    SHORTEST,
    Launch,
    Target,
    check_address,
    masked_inputs,
    masked_launch,
    secret_values,
)
from edgebench.records.values import Finding

# A command as it is stored and shown: without where its boards are reached.


_PLACES = ("--host", "--port", "--scheduler")


def masked(command: Sequence[str], places: Collection[str] = ()) -> tuple[str, ...]:
    """The command with `...` for values of --host, --port, --scheduler and of each --set of a place."""
    masked_words = [""]
    for word in command:
        flag, equals, value = word.partition("=")
        if masked_words[-1] in _PLACES:
            word = MASK
        elif masked_words[-1] == "--set":
            word = masked_option(word, places)
        elif equals and flag in (*_PLACES, "--set"):
            word = f"{flag}={masked_option(value, places) if flag == '--set' else MASK}"
        masked_words.append(word)
    return tuple(masked_words[1:])


def masked_option(setting: str, places: Collection[str]) -> str:
    """`key=value` of an option, without the value of one that says where a board is."""
    name, equals, _ = setting.partition("=")
    return f"{name}={MASK}" if equals and name.strip().replace("-", "_") in places else setting


HOST, USER, HOME, PORT = "(host)", "(user)", "~", "(port)"

# These identify nobody, and many messages need them ("sudo", "needs root").
_NOBODY = frozenset({"root", "localhost", "127.0.0.1", "::1"})
_LONGEST = 255
_CUT_CHARACTERS = 500
"""Length of the shortest message that is cut before it gets here, a worker's last line."""

# What the hardware and its system say of themselves: a board called `nano` must not lose its model's name.
_OF_HARDWARE = frozenset(
    {"board", "soc", "cpu", "os", "kernel", "machine", "l4t", "governor", "power_mode", "power_modes"}
    | {"packages", "openvino", "usb_accelerators", "pcie_accelerators", "temperatures_c"}
    | {"gpu", "nvidia_libraries", "pinned_clocks", "platform", "python"}
)

# What its sessions are pooled by (edgebench.results.revisions): a board called `litert` must not change that.
_OF_RUNTIME = frozenset({"name", "version", "numpy"})

_PROBE_WORDS = frozenset({"resolution", "absent", "rejected_first"})

_ANY_HOME = re.compile(r"/(?:home|Users)/[^/\s'\":,;]+")
# What OpenSSH says of a host under a name that only its own configuration knows. Each begins where a word
# does: a worker's stderr may be 64 KiB without a space, and is then gone through once, not once a letter.
_SSH_WORDS = (
    (re.compile(r"(?<!\S)\S+ port (?=[0-9])"), f"{HOST} port "),
    (re.compile(r"(resolve hostname )[^\s:]+"), rf"\1{HOST}"),
    (re.compile(r"(?<![^\s:])[^\s:]+@[^\s@]+(?=: Permission denied)"), HOST),
)
# Who else held a board: another user, whom no target names (see edgebench.link.agent_device).
_HELD_BY = re.compile(r"\b((?:held|in use) by user )[^\s,]+(?: on [^\s,]+)?")


@dataclass(frozen=True)
class PrivateNames:
    """The names to take out of texts; empty for a machine without a name."""

    hosts: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    homes: frozenset[str] = frozenset()
    values: tuple[tuple[str, str], ...] = ()  # of launches, each with what is written in its place
    places: frozenset[str] = frozenset()  # options whose values are masked wherever they are set

    @classmethod
    def of(
        cls,
        addresses: Iterable[str | None] = (),
        private: Mapping[str, Any] | None = None,
        launches: Iterable[Mapping[str, Any]] = (),
        ports: Iterable[str | None] = (),
    ) -> PrivateNames:
        """The names in addresses (`user@board:22`) and in a board's private facts, and launches' values.

        Args:
            addresses: of targets; None and what is no address are passed over.
            private: `user`, `node`, `home` and `link` as the agent and the link say them; not trusted.
            launches: of targets, as plain data.
            ports: of targets; the name of a serial one often holds the board's serial number. A short one,
                such as a number, tells of nobody and is part of ordinary words.
        """
        private_texts = {name: value for name, value in (private or {}).items() if isinstance(value, str)}
        hosts, users = {private_texts.get("node", "")}, {private_texts.get("user", "")}
        for text in (*addresses, private_texts.get("link")):
            try:
                address = check_address(text or "")
            except UsageError:
                continue
            hosts.add(address.host)
            users.add(address.user or "")
        homes = {private_texts.get("home", "").rstrip("/")}
        values = {port: PORT for port in ports if port is not None and len(port) >= SHORTEST}
        values |= {value: name for launch in launches for value, name in secret_values(launch).items()}
        return cls(
            frozenset(name for name in hosts | {name.lower() for name in hosts} if _is_telling(name)),
            frozenset(name for name in users if _is_telling(name)),
            frozenset(
                home for home in homes if home.startswith("/") and _is_telling(home) and home != "/root"
            ),
            _longest_first(values),
        )

    @classmethod
    def of_targets(cls, targets: Iterable[Target], *, places: bool = True) -> PrivateNames:
        """What targets declare: values of launches, and unless `places` is off, hosts and ports."""
        declared = tuple(targets)
        addresses = [target.host for target in declared]
        addresses += [str(target.options.get(name) or "") for target in declared for name in target.places]
        names = cls.of(
            addresses if places else (),
            launches=(asdict(target.launch) for target in declared),
            ports=(target.port for target in declared if places),
        )
        options = {name for target in declared for name in target.places if places}
        return replace(names, places=frozenset(options))

    @classmethod
    def of_this_machine(cls) -> PrivateNames:
        """The names of this machine, of its user and of their home folder."""
        user = home = ""
        # Without a name in the environment or the system (no module pwd), there is none to take out.
        with suppress(OSError, KeyError, ImportError):
            user = getpass.getuser()
        with suppress(RuntimeError):
            home = str(Path.home())
        return cls.of(private={"user": user, "node": platform.node(), "home": home})

    def __or__(self, other: PrivateNames) -> PrivateNames:
        """The names of both."""
        return PrivateNames(
            self.hosts | other.hosts,
            self.users | other.users,
            self.homes | other.homes,
            _longest_first(dict(self.values) | dict(other.values)),
            self.places | other.places,
        )

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
        return _map_texts(value, self.text)

    def paths(self, value: Any) -> Any:
        """A JSON value with every string in it treated by `path`."""
        return _map_texts(value, self.path)

    def facts(self, facts: Mapping[str, Any], stays: Collection[str] = _OF_HARDWARE) -> dict[str, Any]:
        """A board's description: what tells of hardware stays as it is."""
        return {name: value if name in stays else self.texts(value) for name, value in facts.items()}

    def runtime(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """A runtime's description: its name and version, and numpy's, stay as they are."""
        return self.facts(facts, _OF_RUNTIME)

    def probes(self, probes: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
        """What probes say; by kind, address and channels their samples are found, and so these stay."""
        return tuple(
            {name: self.texts(value) if name in _PROBE_WORDS else value for name, value in info.items()}
            for info in probes
        )

    def inputs(self, inputs: Mapping[str, Any]) -> Any:
        """The inputs of a trial. The key was hashed from them as they were; here their paths name nobody."""
        return self.paths(masked_inputs(inputs))

    def config(self, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The settings of a run, without where boards are reached."""
        masked = dict(settings)
        for name in ("host", "port", "scheduler"):
            if name in settings and settings[name].get("value") is not None:
                masked[name] = {**settings[name], "value": MASK}
        if isinstance(values := masked.get("set", {}).get("value"), list | tuple):
            words = [masked_option(str(word), self.places) for word in values]
            masked["set"] = {**masked["set"], "value": words}
        return {
            name: {key: self.paths(value) for key, value in setting.items()}
            for name, setting in masked.items()
        }

    def command(self, command: Sequence[str]) -> tuple[str, ...]:
        """A command line with its paths treated and the values of --host, --port and places masked."""
        return tuple(self.path(word) for word in masked(command, self.places))


Written = TypeVar("Written", bound=BaseModel | Finding)


def written(value: Written, names: PrivateNames) -> Written:
    """A record or a finding as it may be written and shown: without the names.

    Fields of records are marked as `Private`. An experiment's targets keep theirs: a run that goes on needs
    them.
    """
    if isinstance(value, Finding):
        texts = {name: getattr(value, name) for name in ("subject", "message", "fix")}
        return replace(value, **names.texts(texts))
    update: dict[str, Any] = {}
    for name, field in type(value).model_fields.items():
        content = getattr(value, name)
        if markers := [item for item in field.metadata if isinstance(item, Private)]:
            update[name] = getattr(names, markers[0].treatment)(content)
        elif isinstance(content, BaseModel):
            update[name] = written(content, names)
        elif isinstance(content, tuple) and isinstance(next(iter(content), None), BaseModel):
            update[name] = tuple(written(item, names) for item in content)
    return value.model_copy(update=update)


def exported(record: ExperimentRecord) -> ExperimentRecord:
    """What a report or an export may show: the targets without hosts, ports and launches' values, too."""
    names = PrivateNames.of_targets(record.targets)
    targets = tuple(_target(target, names) for target in record.targets)
    return written(record, names).model_copy(update={"targets": targets})


def exported_target(target: Target) -> Target:
    """A target as an export may show it: its settings within a sweep, and the sources of what is declared."""
    return _target(target, PrivateNames.of_targets([target]))


def exported_path(path: Path, record: ExperimentRecord) -> str:
    """A result folder's path as an export may show it."""
    return PrivateNames.of(target.host for target in record.targets).path(str(path))


_LAUNCH = TypeAdapter(Launch)


def _target(target: Target, names: PrivateNames) -> Target:
    return replace(
        target,
        host=None,
        port=None,
        options=names.paths(target.options) | dict.fromkeys(target.places, MASK),
        settings=names.paths(target.settings),
        launch=_LAUNCH.validate_python(names.paths(masked_launch(asdict(target.launch)))),
        meters=names.paths(target.meters),
        declared_power=tuple(
            replace(power, source=names.text(power.source)) for power in target.declared_power
        ),
        declared_sources={name: names.text(source) for name, source in target.declared_sources.items()},
        boot_s=target.boot_s and replace(target.boot_s, source=names.text(target.boot_s.source)),
    )


def _is_telling(name: str) -> bool:
    return 2 <= len(name) <= _LONGEST and name not in _NOBODY


def _map_texts(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _map_texts(item, change) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_map_texts(item, change) for item in value)
    return value


def _longest_first(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """A value may hold another one."""
    return tuple(sorted(values.items(), key=lambda item: (-len(item[0]), item)))
