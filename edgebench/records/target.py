"""Declarations of targets: how their workers start, which boards they are made of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import ConfigDict, Field, WithJsonSchema

from edgebench.errors import UsageError
from edgebench.records.values import Json, PowerKind


def settings_text(settings: Mapping[str, Json]) -> str:
    """Whole values, however long: `delegate=~/lib/x.so`; empty without settings."""
    texts = (value if isinstance(value, str) else json.dumps(value) for value in settings.values())
    return ",".join(f"{name}={text}" for name, text in zip(settings, texts, strict=True))


# Power that a data sheet or a label states of a target, where no meter says what it draws.


KINDS: tuple[PowerKind, ...] = get_args(PowerKind)

MOST_W = 2000.0
"""More is a figure in mW that was taken for one in W."""


@dataclass(frozen=True)
class DeclaredPower:
    """Power that a target draws as a whole, host and all, by its maker's word.

    Attributes:
        watts: the figure.
        kind: `maximum`, which it never exceeds, or `typical`, which its maker calls typical or nominal, under
            a load of the maker's choice.
        source: the data sheet or label that says so.
    """

    watts: Annotated[float, Field(gt=0, le=MOST_W)]
    """The figure. Unit: W. Source: data sheet or label."""
    kind: PowerKind
    """maximum: it never draws more; typical: what its maker calls typical or nominal, under a load of the
    maker's choice. Source: data sheet or label."""
    source: Annotated[str, Field(min_length=1, max_length=4000)]
    """The data sheet or label that says so. Source: the user."""

    def __str__(self) -> str:
        return f"declared {self.kind} power of {self.watts:g} W ({self.source})"


# What a data sheet or a label states of a target that nothing here measures: its boot time.


LONGEST_BOOT_S = 86400.0

MOST_G_OR_MM = 1e9
"""A thousand tonnes or kilometres: far above any device, and still short in print."""

GramsOrMm = Annotated[float, Field(gt=0, le=MOST_G_OR_MM, allow_inf_nan=False)]
"""A declared mass in g, or a length in mm."""

Source = Annotated[str, Field(min_length=1, max_length=4000)]


@dataclass(frozen=True)
class DeclaredBoot:
    """Time from power on until a program can be started, by its source's word.

    Attributes:
        seconds: the time.
        kind: `maximum`, which it never exceeds, or `typical`, for whatever else the source says.
        source: where it is from.
    """

    seconds: Annotated[float, Field(gt=0, le=LONGEST_BOOT_S)]
    """From power on until a program can be started. Unit: s. Source: data sheet or label."""
    kind: PowerKind
    """maximum: it never takes longer; typical: whatever else the source says. Source: data sheet or label."""
    source: Source
    """What says so. Source: the user or boards."""

    def __str__(self) -> str:
        return f"declared {self.kind} boot time of {self.seconds:g} s ({self.source})"


BoardFigure = Literal["mass_g", "size_mm", "declared_power", "boot_s"]
BOARD_FIGURES: Mapping[str, str] = {
    "mass_g": "mass",
    "size_mm": "size",
    "declared_power": "declared power",
    "boot_s": "boot time",
}
"""What the boards of a target may bring, with its word."""


@dataclass(frozen=True)
class Launch:
    """Command that starts a worker process; part of the settings and of a trial's key."""

    python: str | None = None  # None: the interpreter that runs the harness
    env: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()  # for instance ("nice", "-n", "-5")
    affinity: tuple[int, ...] = ()  # CPU numbers; empty: wherever the system puts it


Architecture = Literal["arm", "riscv", "x86"]
ARCHITECTURES: Mapping[str, tuple[str, ...]] = {
    "arm": ("aarch64", "arm"),
    "riscv": ("riscv",),
    "x86": ("x86", "amd64", "i386", "i486", "i586", "i686"),
}
"""What `uname -m` begins with, in small letters, on machines of each architecture."""


@dataclass(frozen=True)
class DeclaredBoard:
    """A machine that a target was declared to be, to be compared with what it says of itself."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    title: str
    """What its maker calls it. Source: backend."""
    models: tuple[str, ...] = ()
    """What its device tree or DMI calls it, without a revision; empty where no source tells. Source:
    backend."""
    architecture: Architecture | None = None
    """Of a whole computer; null for all else. Source: backend."""
    processor: str = ""
    """In words; empty where no source tells. Source: backend."""


@dataclass(frozen=True)
class Target:
    """Target as it was declared: a backend with its options, meters and body.

    `settings` are those of its options, and its power mode, in which it differs from the other targets of a
    sweep; its name then ends with them: `cpu[threads=2]`.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    name: str
    """What the target is called. Source: plan."""
    device: str
    """The backend's name. Source: plan."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """The backend's options, as it validated them. Source: command line."""
    launch: Annotated[Launch, WithJsonSchema({"type": "object"})] = field(default_factory=Launch)
    """How a worker process is started: python, env, prefix, affinity. Source: command line."""
    power_mode: str | None = None
    """The device's power mode, as asked for. Source: plan."""
    set_power_mode: bool = False
    """Whether the board was put into that mode, its clocks pinned by jetson_clocks; what was in force stands
    among each session's facts. Source: plan."""
    meters: tuple[str, ...] = ()
    """Meters as kind:address. Source: plan."""
    preferred_meters: tuple[str, ...] = ()
    """Those of the device where no meter, best first: each session takes the first that can be
    read. Source: backend."""
    mass_g: GramsOrMm | None = None
    """Declared mass. Unit: g. Source: the target's description."""
    size_mm: tuple[GramsOrMm, GramsOrMm, GramsOrMm] | None = None
    """Declared outer dimensions. Unit: mm. Source: the target's description."""
    declared_power: tuple[DeclaredPower, ...] = ()
    """What it draws as a whole by a data sheet or label, and not by a meter: at most one figure of each kind.
    Source: targets file, flag or boards."""
    declared_sources: Mapping[str, Source] = field(default_factory=dict)
    """Who states mass_g and size_mm, where a flag declared them. Source: flag."""
    boot_s: DeclaredBoot | None = None
    """Its boot time by a data sheet or label, and not measured; null if not declared. Unit: s.
    Source: targets file, flag or boards."""
    host: str | None = None
    """The board's address for SSH, user@board[:port]; null for the machine itself. Kept here alone: no report
    and no export shows it. Source: configuration."""
    port: str | None = None
    """The port of this machine that it was measured at, such as a serial one's path; no report and no export
    has it. Source: the user."""
    body: str = ""
    """What it is made of, and where the figures of its boards are from; empty where no board was named.
    Source: targets file or flag."""
    boards: tuple[DeclaredBoard, ...] = ()
    """The machines among what it was declared to be made of; compared with what the machine calls itself.
    Source: targets file or flag."""
    from_boards: tuple[BoardFigure, ...] = ()
    """Which of its declared figures are those of the boards; the others were declared by themselves, or are
    missing. Source: targets file or flag."""
    settings: Mapping[str, Json] = field(default_factory=dict)
    """The settings in which the target differs from the others of its sweep, by name: options and power_mode,
    which end its name; empty for a target that is not swept. Source: command line or targets file."""
    places: tuple[str, ...] = ()
    """The options that say where its board is, such as an address: their values are kept in the targets of
    experiment.json alone. Source: the device's backend."""
    revision_of: str | None = None
    """The planned target that this one is a revision of: its device had become another one, and its trials
    were measured again; null for a planned target. Source: resumed run."""
    identity: Mapping[str, str] = field(default_factory=dict)
    """Of a revision: what its device was found to be, by fact (edgebench/results/revisions.py); empty for a
    planned target. Source: board and runtime."""
    differences: tuple[str, ...] = ()
    """Of a revision: how its device differed from the one that was measured before, each as `kernel was A, is
    B`; empty for a planned target, and in results of earlier versions. Source: resumed run."""

    @property
    def declared_name(self) -> str:
        """The name without the settings of a sweep: what a target of these settings alone is called."""
        return self.name.partition("[")[0] if self.settings else self.name

    @property
    def connection(self) -> Target:
        """Part that an open device depends on: targets of equal connections differ in options at most.

        Options reach the device with each session, unless they say where it is; what was declared of it does
        not.
        """
        places = {name: self.options[name] for name in self.places if name in self.options}
        undeclared: Any = {"declared_power": (), **dict.fromkeys(("mass_g", "size_mm", "boot_s"))}
        return replace(self, name="", options=places, settings={}, declared_sources={}, **undeclared)


# A board's address for SSH, `user@board[:port]`: parsed, and refused where it could be misread.


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
    """The parts of `user@board[:port]`; an IPv6 address is in brackets.

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


# What of a launch is secret: the values of its variables, and of its prefix what is not known as plain.
#
# Of `env` the names stay. Of the prefix these words stay: the first one's base name, the names of well-
# known
# launchers (`nice`, `taskset`, `env`, ...), options that are one letter or `--name` alone, and the numbers
# and
# lists of cores of a scheduler's command (`nice -n -5`, `taskset -c 0-3`). Every other word may be a
# secret.


MASK = "..."
SHORTEST = 6
"""Characters of a value that is taken out of texts: a shorter one is part of ordinary words."""

_SCHEDULERS = frozenset({"nice", "renice", "taskset", "chrt", "ionice", "numactl", "timeout", "prlimit"})
_LAUNCHERS = _SCHEDULERS | {"sudo", "doas", "env", "time", "nohup", "setsid", "stdbuf", "systemd-run"}
_COMMAND = re.compile(r"[A-Za-z0-9_./+-]+")
_OPTION = re.compile(r"-[A-Za-z]|--[a-z]+(-[a-z]+)*|--")
_NUMBERS = re.compile(r"[-+0-9.,:]*")
_SCHEDULING = re.compile(r"(-[A-Za-z]|--[a-z-]+=)?[-+0-9.,:]+")
_ATTACHED = re.compile(r"-[A-Za-z](.+)", re.DOTALL)  # -pSECRET
# A path is one value of a variable, and may be one of many words in a prefix.
_SEPARATORS = r"\s=:@\"'`;,&|()<>?#"
_IN_VARIABLES = re.compile(f"[{_SEPARATORS}]+")
_IN_PREFIX = re.compile(f"[{_SEPARATORS}/]+")


def masked_launch(launch: Mapping[str, Any]) -> dict[str, Any]:
    """A launch specification as plain data, with `...` for each secret value."""
    masked = dict(launch)
    if isinstance(env := launch.get("env"), Mapping):
        masked["env"] = {name: MASK if value else value for name, value in env.items()}
    if "prefix" in launch:
        masked["prefix"] = [masked_word for masked_word, _ in _words(launch["prefix"])]
    return masked


def masked_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a trial, with the launch in their settings masked."""
    settings = inputs.get("settings")
    if not isinstance(settings, Mapping) or not isinstance(launch := settings.get("launch"), Mapping):
        return dict(inputs)
    return {**inputs, "settings": {**settings, "launch": masked_launch(launch)}}


def secret_values(launch: Mapping[str, Any]) -> dict[str, str]:
    """The secret values, whole and in parts, each with what to write in its place in a text.

    That is the variable's name, or `(prefix)`.
    """
    values: dict[str, str] = {}
    for _, word in _words(launch.get("prefix")):
        attached = _ATTACHED.fullmatch(word)
        assigned = word.partition("=")[2]  # whole, too: it may be of several short words
        for part in (word, assigned, *_IN_PREFIX.split(word), attached[1] if attached else ""):
            values |= dict.fromkeys((part, part.lstrip("-+")), "(prefix)")
    env = launch.get("env")
    for name, value in env.items() if isinstance(env, Mapping) else ():
        if isinstance(name, str) and isinstance(value, str):
            parts = (value, *_IN_VARIABLES.split(value))
            values |= {part: f"({name})" for part in parts if not _NUMBERS.fullmatch(part)}
    return {value: name for value, name in values.items() if len(value) >= SHORTEST}


def has_secrets(launch: Mapping[str, Any]) -> bool:
    """Return True if a launch specification as plain data has a secret value, however short."""
    env = launch.get("env")
    values = list(env.values()) if isinstance(env, Mapping) else []
    return any(values) or any(word for _, word in _words(launch.get("prefix")))


def _words(prefix: Any) -> Iterator[tuple[str, str]]:
    """Each word of a prefix as it is shown, and what of it is secret, or ""."""
    command = ""  # the launcher whose options these are; nobody knows those of another program
    for place, word in enumerate(
        prefix if isinstance(prefix, Sequence) and not isinstance(prefix, str) else ()
    ):
        text = str(word)
        base = text.rpartition("/")[2]
        if place == 0 and base and _COMMAND.fullmatch(text):
            command = base
            yield base, ""
        elif text in _LAUNCHERS:
            command = text
            yield text, ""
        elif _OPTION.fullmatch(text) or (command in _SCHEDULERS and _SCHEDULING.fullmatch(text)):
            yield text, ""
        else:
            # What follows belongs to a program that is not known, unless it is an option's value.
            command = ""
            yield MASK, "" if text == MASK else text
