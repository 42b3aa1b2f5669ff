"""The targets file: boards with their names, written once, in TOML.

One table a board::

    [[targets]]
    name = "nano"
    device = "cpu"                  # a name of `edgebench devices`
    host = "user@nano.local:22"     # left out: this machine
    port = "/dev/ttyACM0"           # of a device at a port of this machine
    python = "/usr/bin/python3"     # of the board
    launch = { env = { OMP_NUM_THREADS = "2" }, prefix = ["nice", "-n", "-5"], affinity = [2, 3] }
    options = { threads = 2 }       # what --set takes; a list is a target for each: { threads = [1, 2] }
    power_mode = "MAXN"             # or a list
    set_power_mode = true           # put the board into it; left out: it has to be there
    meters = ["rapl"]
    board = ["raspberry-pi-4b"]     # mass, size and power from their makers, where they are known
    mass_g = 138.0                  # in place of the boards'
    size_mm = [100.0, 80.0, 29.0]
    declared_power = { watts = 9.5, kind = "maximum", source = "label of its supply" }  # or a list of both
    boot_s = { value = 25.0, kind = "typical", source = "stop watch" }  # or maximum, where its source says so
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from edgebench.board_catalogue import BOOT_FORM, DeclaredFigures, StatedBoot, Word
from edgebench.errors import UsageError
from edgebench.files import read_toml
from edgebench.records.target import GramsOrMm, check_address
from edgebench.refusals import form, problem, refusal
from edgebench.suggest import choose, short

FILE_NAME = "targets.toml"
MAX_TARGETS = 200
_TOP = ("targets", "schema_version")

TargetName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$",
        json_schema_extra=form("up to 40 letters, digits, '.', '_' and '-', a letter or digit first"),
    ),
]


Mode = Annotated[Word, BeforeValidator(lambda mode: str(mode) if type(mode) is int else mode)]


class DeclaredLaunch(BaseModel):
    """Command that starts a worker there; the contract's Launch without its python."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    env: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], Word | Literal[""]] = {}
    prefix: tuple[Word, ...] = ()
    affinity: tuple[Annotated[int, Field(ge=0, lt=4096, strict=True)], ...] = ()


class DeclaredTarget(BaseModel):
    """One board of the file; `options` are checked when the target is used, by its device."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: TargetName
    device: Word
    host: Annotated[
        str | None, Field(json_schema_extra=form("write it like host = 'user@board' or 'user@board:2222'"))
    ] = None
    port: Word | None = None
    python: Word | None = None
    launch: Annotated[
        DeclaredLaunch,
        Field(
            json_schema_extra=form(
                "write it like launch = { env = { NAME = 'value' }, prefix = ['nice'], affinity = [0, 1] }"
            )
        ),
    ] = DeclaredLaunch()
    options: dict[str, Any] = {}
    power_mode: Annotated[
        Mode | Annotated[tuple[Mode, ...], Field(min_length=1)] | None,
        Field(json_schema_extra=form("write a mode's name or number, or a list of them to measure in each")),
    ] = None
    set_power_mode: Annotated[bool, Field(strict=True, json_schema_extra=form("write true or false"))] = False
    meters: Annotated[
        tuple[Word, ...], Field(json_schema_extra=form("write them like meters = ['rapl']"))
    ] = ()
    board: Annotated[
        tuple[Word, ...],
        BeforeValidator(lambda names: [names] if isinstance(names, str) else names),
        Field(json_schema_extra=form("write the names like board = ['raspberry-pi-4b']")),
    ] = ()
    mass_g: Annotated[
        GramsOrMm | None, Field(json_schema_extra=form("write grams, such as mass_g = 138.0"))
    ] = None
    size_mm: Annotated[
        tuple[GramsOrMm, GramsOrMm, GramsOrMm] | None,
        Field(
            json_schema_extra=form(
                "write three lengths in millimetres, such as size_mm = [100.0, 80.0, 29.0]"
            )
        ),
    ] = None

    declared_power: Annotated[
        DeclaredFigures,
        Field(
            json_schema_extra=form(
                "write it like declared_power = { watts = 9.5, kind = 'maximum', source = 'label of its "
                "supply' }, or a list of both kinds"
            )
        ),
    ] = ()
    boot_s: Annotated[StatedBoot | None, Field(json_schema_extra=form(f"write it like {BOOT_FORM}"))] = None

    @field_validator("host")
    @classmethod
    def _is_address(cls, host: str | None) -> str | None:
        if host is not None:
            try:
                check_address(host)
            except UsageError as error:
                raise problem(error.what, error.fix) from error
        return host

    @field_validator("python")
    @classmethod
    def _is_no_option(cls, python: str | None) -> str | None:
        if python is not None and python.startswith("-"):
            raise problem(
                "a path or a name of a Python does not begin with '-'", 'write python = "/usr/bin/python3"'
            )
        return python

    @model_validator(mode="after")
    def _mode_is_named(self) -> DeclaredTarget:
        if self.set_power_mode and self.power_mode is None:
            raise problem(
                "set_power_mode does not say which", "name it, such as power_mode = '5W', or a list of modes"
            )
        return self

    @property
    def power_modes(self) -> tuple[str, ...]:
        """The modes that it is measured in; empty: whatever mode the board is in."""
        if self.power_mode is None:
            return ()
        return (self.power_mode,) if isinstance(self.power_mode, str) else self.power_mode


@dataclass(frozen=True)
class TargetsFile:
    """A targets file that was read; `path` is None where there is no such file."""

    path: Path | None
    targets: tuple[DeclaredTarget, ...]

    def named(self, names: Sequence[str]) -> tuple[DeclaredTarget, ...]:
        """The targets of those names, each once; UsageError for one that the file does not have."""
        by_name = {target.name: target for target in self.targets}
        for name in names:
            if name in by_name:
                continue
            if self.path is None:
                raise UsageError(
                    f"there is no target {name!r}",
                    why=f"neither ./{FILE_NAME} nor {user_file()} is there",
                    fix=f"write the board into ./{FILE_NAME}, or use --device with --host",
                )
            raise UsageError(f"{self.path} has no target {name!r}", fix=choose(name, by_name))
        return tuple(by_name[name] for name in dict.fromkeys(names))


def user_file() -> Path:
    """Path of the user's own targets file."""
    return Path(platformdirs.user_config_dir("edgebench")) / FILE_NAME


def read_targets(path: Path | None = None) -> TargetsFile:
    """The file named, else the first of ./targets.toml and the user's.

    Raises UsageError, which names the file and the target, for what cannot be read or is not TOML, a key that
    does not exist, a value that does not fit, and a name that comes twice.
    """
    if path is None:
        candidates = (Path(FILE_NAME), user_file())
        path = next((file for file in candidates if os.path.exists(file)), None)  # noqa: PTH110  # no, and no error, in a folder that may not be read
    if path is None:
        return TargetsFile(None, ())
    return TargetsFile(path, declared_in(read_toml(path, fix="name another --targets-file").tables, path))


def declared_in(content: Mapping[str, Any], path: Path) -> tuple[DeclaredTarget, ...]:
    """The targets of a file's tables; UsageError, which names the file, as of `read_targets`."""
    if unknown := set(content) - set(_TOP):
        raise UsageError(
            f"{path}: {sorted(unknown)[0]!r} is no key of a targets file",
            fix=f"a board is a table [[targets]]; {choose(sorted(unknown)[0], _TOP)}",
        )
    if content.get("schema_version", 1) != 1:
        raise UsageError(
            f"{path}: schema version {content['schema_version']!r} is not known",
            fix="use schema_version = 1, or a newer EdgeBench",
        )
    tables = content.get("targets", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{path}: targets is no list of tables", fix="write each board as [[targets]]")
    if len(tables) > MAX_TARGETS:
        raise UsageError(f"{path} has {len(tables)} targets", fix=f"at most {MAX_TARGETS} are taken")
    declared: dict[str, DeclaredTarget] = {}
    for number, table in enumerate(tables, 1):
        try:
            target = DeclaredTarget.model_validate(table)
        except ValidationError as error:
            refused = refusal(error, table, DeclaredTarget)
            name = table.get("name")
            which = short(name) if isinstance(name, str) else f"number {number}"
            raise UsageError(
                f"{path}: target {which}: {refused.sentence()}", fix=refused.fix or "mend the value"
            ) from error
        if target.name in declared:
            raise UsageError(
                f"{path}: there are two targets {target.name!r}", fix="give each board a name of its own"
            )
        declared[target.name] = target
    return tuple(declared.values())
