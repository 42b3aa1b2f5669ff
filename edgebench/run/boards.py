"""The boards that are known: one catalogue in TOML, shipped, and files of the same form with a user's own.

One table a board, each figure with its source; what no source gives is left out::

    schema_version = 1

    [boards.my-board]
    title = "My Board"
    mass_g = { value = 61.5, source = "kitchen scale, March" }
    size_mm = { value = [85.0, 56.0, 17.0], source = "its drawing" }
    power = [{ watts = 7.5, kind = "maximum", source = "its data sheet, page 3" }]

The other fields are those of `BoardEntry`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

from edgebench import registry
from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError, UsageError
from edgebench.files import TomlFile, parse_toml, read_toml
from edgebench.records.target import (
    BODY_FACTS,
    KINDS,
    Architecture,
    Body,
    DeclaredBoard,
    DeclaredBoot,
    DeclaredPower,
    PowerKind,
)
from edgebench.refusals import form, problem, refusal
from edgebench.run.declarations import BOOT_FORM, Stated, StatedBoot, Word, conflict_of, drop_temperatures
from edgebench.run.targets_file import MOST_G_OR_MM, DeclaredFigure
from edgebench.suggest import nearest, short

FILE_NAME = "boards.toml"

Positive = Annotated[float, Field(gt=0, le=MOST_G_OR_MM, strict=True, allow_inf_nan=False)]


def _as_name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", text):
        raise problem(
            f"{short(text)} is no name of a board",
            "take up to 40 small letters, digits and '-', a letter or digit first",
        )
    return text


BoardName = Annotated[str, AfterValidator(_as_name)]


def _like(example: str) -> Any:
    return Field(json_schema_extra=form(f"write it like {example}"))


_TEXT = "{} = {{ value = 'its name', source = 'its data sheet' }}"


class BoardEntry(BaseModel):
    """One board of a catalogue; `edgebench.records.target.Body` says what the facts mean.

    Attributes:
        devices: the names in `edgebench devices` that it is a board of, for completion; empty for a host,
            which is one of any.
        architecture: of a whole computer. Times and power of a machine that contradicts it, the model or the
            processor are not judged as this board's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Word
    models: tuple[Word, ...] = ()
    devices: tuple[Word, ...] = ()
    plugged_in: Annotated[bool, Field(strict=True)] = False
    architecture: Architecture | None = None
    processor: Annotated[Stated[Word] | None, _like(_TEXT.format("processor"))] = None
    memory: Annotated[Stated[Word] | None, _like(_TEXT.format("memory"))] = None
    mass_g: Annotated[
        Stated[Positive] | None, _like("mass_g = { value = 61.5, source = 'its data sheet' }")
    ] = None
    size_mm: Annotated[
        Stated[tuple[Positive, Positive, Positive]] | None,
        _like("size_mm = { value = [85.0, 56.0, 17.0], source = 'its drawing' }"),
    ] = None
    power: Annotated[
        tuple[DeclaredFigure, ...],
        BeforeValidator(lambda figures: [figures] if isinstance(figures, dict) else figures),
        _like(
            "power = { watts = 7.5, kind = 'maximum', source = 'its data sheet' }, or a list of both kinds"
        ),
    ] = ()
    supply: Annotated[Stated[Word] | None, _like(_TEXT.format("supply"))] = None
    boot_s: Annotated[StatedBoot | None, _like(BOOT_FORM)] = None
    runtime: Annotated[Stated[Word] | None, _like(_TEXT.format("runtime"))] = None
    note: Word | Literal[""] = ""

    @field_validator("power")
    @classmethod
    def _agrees(cls, figures: tuple[DeclaredFigure, ...]) -> tuple[DeclaredFigure, ...]:
        if conflict := conflict_of([figure.power for figure in figures]):
            raise problem(conflict, "leave one of the two out")
        return figures

    @property
    def body(self) -> Body:
        """The same in the vocabulary's words."""
        stated: dict[str, Stated[Any]] = {
            fact: given for fact in BODY_FACTS if (given := getattr(self, fact)) is not None
        }
        facts: dict[str, Any] = {"mass_g": None, "size_mm": None}
        facts |= {fact: given.value for fact, given in stated.items()}
        return Body(
            title=self.title,
            source=_source(self.size_mm, self.mass_g),
            models=self.models,
            plugged_in=self.plugged_in,
            architecture=self.architecture,
            power=tuple(figure.power for figure in self.power),
            sources={fact: given.source for fact, given in stated.items()},
            note=self.note,
            boot_kind=self.boot_s.kind if self.boot_s else "typical",
            **facts,
        )


def _source(size: Stated[Any] | None, mass: Stated[Any] | None) -> str:
    """Of size and mass in one text."""
    if size is None or mass is None or size.source == mass.source:
        return next((given.source for given in (size, mass) if given is not None), "")
    return f"{size.source}; mass by {mass.source}"


class Catalogue(BaseModel):
    """A file of boards, by their names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Annotated[
        Literal[1], Field(json_schema_extra=form("write schema_version = 1, or leave it out"))
    ] = 1
    boards: Annotated[dict[BoardName, BoardEntry], Field(min_length=1)]


@cache
def shipped_entries() -> Mapping[str, BoardEntry]:
    """The catalogue that comes with EdgeBench, by name."""
    data = (resources.files("edgebench.run") / FILE_NAME).read_bytes()
    return parse_catalogue(parse_toml(data, FILE_NAME), FILE_NAME).boards


@cache
def shipped_boards() -> Mapping[str, Body]:
    """The bodies of the catalogue that comes with EdgeBench, by name."""
    return {name: entry.body for name, entry in shipped_entries().items()}


def read_board(path: Path) -> Body:
    """The one board of a user's file; UsageError, with what is wrong in it, for a file that is none."""
    where = f"board {path}"
    catalogue = parse_catalogue(read_toml(path, "board", fix="name a board, or another TOML file"), where)
    if len(catalogue.boards) > 1:
        raise UsageError(
            f"{where} has {len(catalogue.boards)} boards: {', '.join(catalogue.boards)}",
            fix="write a file for each; --board may be repeated",
        )
    [entry] = catalogue.boards.values()
    return entry.body


def parse_catalogue(file: TomlFile, where: str) -> Catalogue:
    """The boards in a TOML document; UsageError, with `where` as the file's name, where it has none."""
    if isinstance(boards := file.tables.get("boards"), dict):
        drop_temperatures(boards.values(), where)
    try:
        return Catalogue.model_validate(file.tables)
    except ValidationError as error:
        refused = refusal(error, file.tables, Catalogue)
        fix = "write each board as a table [boards.NAME]" if refused.place == ("boards",) else refused.fix
        raise UsageError(f"{where}: {refused.sentence()}", fix=fix or "mend the value") from error


# What targets are made of: what boards weigh, measure and draw by their makers; sticks with their hosts.


Size = tuple[float, float, float]


@dataclass(frozen=True)
class Assembly:
    """Of a target: the figures that all its parts have, in words what they add up from, and its machines."""

    mass_g: float | None
    size_mm: Size | None
    power: tuple[DeclaredPower, ...]
    boot_s: DeclaredBoot | None
    sources: str
    machines: tuple[DeclaredBoard, ...]


def known_bodies(backend: Backend | None = None) -> dict[str, Body]:
    """The boards of the catalogue and the backend's own, by name; the backend's come first.

    Without a backend those of all that are installed.
    """
    backends = [backend] if backend else []
    if backend is None:
        for name in registry.names("edgebench.backends"):
            with suppress(EdgeBenchError):  # one that cannot be loaded hides no other's boards
                backends.append(registry.backend(name))
    known = dict(shipped_boards())
    for each in backends:
        known |= each.bodies()
    return known


def known_body(name: str, backend: Backend | None = None) -> Body:
    """The board of that name, or the one in that TOML file; UsageError where there is none."""
    if name.endswith(".toml"):
        return read_board(Path(name))
    known = known_bodies(backend)
    if name in known:
        return known[name]
    of_device = f" for {backend.name}" if backend else ""
    raise UsageError(
        f"there is no board {short(name)}{of_device}",
        fix=f"{nearest(name, sorted(known))}`edgebench boards list` names all; or name a TOML file "
        "with a board of your own, or write mass_g and size_mm into the targets file",
    )


def assemble(names: Sequence[str], backend: Backend | None = None) -> Assembly:
    """The sum of some boards; UsageError as `known_body`.

    Masses are added, and so are powers of one kind. The size is that of a box in which the parts lie on each
    other, each on its largest face. The boot time is the longest of a machine: what is plugged in boots with
    its host. A figure that one part lacks is lacking for all, and power is that of a target as a whole:
    sticks without a host have none.
    """
    bodies = [known_body(name, backend) for name in names]
    masses = [body.mass_g for body in bodies]
    sizes = [body.size_mm for body in bodies]
    sources = " + ".join(_described(body) for body in bodies)
    lacking = [body.title for body in bodies if body.mass_g is None]
    if lacking:
        sources += f"; no mass: no source gives that of {', '.join(lacking)} (mass_g in the targets file)"
    unsized = [body.title for body in bodies if body.size_mm is None]
    if unsized:
        sources += f"; no size: no source gives that of {', '.join(unsized)} (size_mm in the targets file)"
    elif len(bodies) > 1:
        sources += "; the size is of the parts lying on each other"
    without_host = all(body.plugged_in for body in bodies)
    if without_host and any(body.power for body in bodies):
        sources += "; no declared power: it is that of a target as a whole, and no host is among these"
    for kind in () if without_host else KINDS:
        silent = [body.title for body in bodies if not _power_of(body, kind)]
        if 0 < len(silent) < len(bodies):
            sources += (
                f"; no {kind} power: no source gives that of {', '.join(silent)} "
                "(declared_power in the targets file)"
            )
    machines = [body for body in bodies if not body.plugged_in]
    silent = [body.title for body in machines if body.boot_s is None]
    if 0 < len(silent) < len(machines):
        sources += f"; no boot time: no source gives that of {', '.join(silent)} (boot_s in the targets file)"
    return Assembly(
        sum(mass for mass in masses if mass is not None) if not lacking else None,
        _stacked([size for size in sizes if size is not None]) if not unsized else None,
        () if without_host else tuple(power for kind in KINDS for power in _added_power(bodies, kind)),
        _longest_boot(machines),
        sources,
        tuple(DeclaredBoard(body.title, body.models, body.architecture, body.processor) for body in machines),
    )


def _power_of(body: Body, kind: PowerKind) -> list[DeclaredPower]:
    return [power for power in body.power if power.kind == kind]


def _added_power(bodies: Sequence[Body], kind: PowerKind) -> list[DeclaredPower]:
    """The sum of that kind, of bodies that all have one; none otherwise."""
    powers = [(body.title, power) for body in bodies for power in _power_of(body, kind)]
    if len(powers) < len(bodies):
        return []
    source = " + ".join(f"{title}: {power.watts:g} W, {power.source}" for title, power in powers)
    return [DeclaredPower(math.fsum(power.watts for _, power in powers), kind, source)]


def _longest_boot(machines: Sequence[Body]) -> DeclaredBoot | None:
    """Of machines, all of which say; a maximum only where it is one of all of them."""
    boots = [
        DeclaredBoot(body.boot_s, body.boot_kind, body.source_of("boot_s"))
        for body in machines
        if body.boot_s is not None
    ]
    if not boots or len(boots) < len(machines):
        return None
    longest = max(boots, key=lambda boot: boot.seconds)
    return replace(longest, kind="maximum" if all(boot.kind == "maximum" for boot in boots) else "typical")


def _described(body: Body) -> str:
    mass = "mass not known" if body.mass_g is None else f"{body.mass_g:g} g"
    size = (
        "size not known" if body.size_mm is None else " x ".join(f"{side:g}" for side in body.size_mm) + " mm"
    )
    sources = "; ".join(text for text in (body.source, body.note) if text)
    return f"{body.title} ({mass}, {size}{f': {sources}' if sources else ''})"


def _stacked(sizes: Sequence[Size]) -> Size:
    turned = [sorted(size, reverse=True) for size in sizes]
    return (
        max(size[0] for size in turned),
        max(size[1] for size in turned),
        sum(size[2] for size in turned),
    )
