"""The boards that are known: one catalogue in TOML, shipped, and files of the same form with a user's own.

One table a board, each figure with its source; what no source gives is left out::

    schema_version = 1

    [boards.my-board]
    title = "My Board"
    mass_g = { value = 61.5, source = "kitchen scale, March" }
    size_mm = { value = [85.0, 56.0, 17.0], source = "its drawing" }
    power = [{ watts = 7.5, kind = "maximum", source = "its data sheet, page 3" }]
    temperature_c = { value = [-20.0, 60.0], source = "its data sheet, page 2" }

The other fields are those of `BoardEntry`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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

from edgebench.errors import UsageError
from edgebench.plan.power_declarations import conflict_of
from edgebench.plan.stated_facts import (
    BOOT_FORM,
    TEMPERATURE_FORM,
    Stated,
    StatedBoot,
    StatedTemperature,
    Word,
)
from edgebench.plan.targets_file import MOST_G_OR_MM, DeclaredFigure
from edgebench.refusals import form, problem, refusal
from edgebench.suggest import short
from edgebench.toml_files import TomlFile, parse_toml, read_toml
from edgebench.vocabulary.target import BODY_FACTS, Body

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
    """One board of a catalogue; `edgebench.vocabulary.target.Body` says what the facts mean.

    Attributes:
        devices: the names in `edgebench devices` that it is a board of, for completion; empty for a host,
            which is one of any.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Word
    models: tuple[Word, ...] = ()
    devices: tuple[Word, ...] = ()
    plugged_in: Annotated[bool, Field(strict=True)] = False
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
    temperature_c: Annotated[StatedTemperature | None, _like(TEMPERATURE_FORM)] = None
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
    data = (resources.files("edgebench.plan") / FILE_NAME).read_bytes()
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
    try:
        return Catalogue.model_validate(file.tables)
    except ValidationError as error:
        refused = refusal(error, file.tables, Catalogue)
        fix = "write each board as a table [boards.NAME]" if refused.place == ("boards",) else refused.fix
        raise UsageError(f"{where}: {refused.sentence()}", fix=fix or "mend the value") from error
