"""The boards that are known: one catalogue in TOML, shipped, and files of the same form with a user's own.

One table a board, each figure with its source; what no source gives is left out::

    schema_version = 1

    [boards.my-board]
    title = "My Board"
    mass_g = { value = 61.5, source = "kitchen scale, March" }
    size_mm = { value = [85.0, 56.0, 17.0], source = "its drawing" }
    power = [{ watts = 7.5, kind = "maximum", source = "its data sheet, page 3" }]

The other fields are those of `Board`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from edgebench.errors import UsageError
from edgebench.files import TomlFile, parse_toml, read_toml
from edgebench.records.target import (
    KINDS,
    Architecture,
    DeclaredBoard,
    DeclaredBoot,
    DeclaredPower,
    PowerKind,
)
from edgebench.refusals import form, problem, refusal
from edgebench.run.declarations import (
    BOOT_FORM,
    DeclaredFigure,
    DeclaredFigures,
    Stated,
    StatedBoot,
    Word,
    drop_temperatures,
)
from edgebench.run.targets_file import MOST_G_OR_MM
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


BOARD_FACTS: Mapping[str, str] = {
    "processor": "processor",
    "memory": "memory",
    "mass_g": "mass",
    "size_mm": "size",
    "supply": "power supply",
    "boot_s": "boot time",
    "runtime": "runtime",
}
"""What is known of a board beside its power, with its word."""


class Board(BaseModel):
    """One thing that a target is made of, each fact with its source; None where no source was at hand.

    Attributes:
        title: what it is called by its maker.
        models: what its device tree or DMI calls it, without a revision; empty where no source tells.
        devices: the names in `edgebench devices` that it is a board of, for completion; empty for a host,
            which is one of any.
        plugged_in: a stick or card, whose host is a board of its own.
        architecture: of a whole computer. Times and power of a machine that contradicts it, the model or the
            processor are not judged as this board's.
        processor, memory, runtime: in words; the runtime is the one that its maker names.
        mass_g, size_mm: without case, cooler and power supply.
        power: what it draws, at most one figure of each kind, without what is plugged into it.
        supply: the power supply that its maker asks for, in words. Its rating bounds nothing that is drawn.
        boot_s: from power on until a program can be started.
        note: why some of it is not known, or what else has to be known of it.
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
        DeclaredFigures,
        _like(
            "power = { watts = 7.5, kind = 'maximum', source = 'its data sheet' }, or a list of both kinds"
        ),
    ] = ()
    supply: Annotated[Stated[Word] | None, _like(_TEXT.format("supply"))] = None
    boot_s: Annotated[StatedBoot | None, _like(BOOT_FORM)] = None
    runtime: Annotated[Stated[Word] | None, _like(_TEXT.format("runtime"))] = None
    note: Word | Literal[""] = ""


class Catalogue(BaseModel):
    """A file of boards, by their names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Annotated[
        Literal[1], Field(json_schema_extra=form("write schema_version = 1, or leave it out"))
    ] = 1
    boards: Annotated[dict[BoardName, Board], Field(min_length=1)]


@cache
def known_boards() -> Mapping[str, Board]:
    """The catalogue that comes with EdgeBench, by name."""
    data = (resources.files("edgebench.run") / FILE_NAME).read_bytes()
    return parse_catalogue(parse_toml(data, FILE_NAME), FILE_NAME).boards


def read_board(path: Path) -> Board:
    """The one board of a user's file; UsageError, with what is wrong in it, for a file that is none."""
    where = f"board {path}"
    catalogue = parse_catalogue(read_toml(path, "board", fix="name a board, or another TOML file"), where)
    if len(catalogue.boards) > 1:
        raise UsageError(
            f"{where} has {len(catalogue.boards)} boards: {', '.join(catalogue.boards)}",
            fix="write a file for each; --board may be repeated",
        )
    [board] = catalogue.boards.values()
    return board


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


def known_board(name: str) -> Board:
    """The board of that name, or the one in that TOML file; UsageError where there is none."""
    if name.endswith(".toml"):
        return read_board(Path(name))
    known = known_boards()
    if name in known:
        return known[name]
    raise UsageError(
        f"there is no board {short(name)}",
        fix=f"{nearest(name, sorted(known))}`edgebench boards list` names all; or name a TOML file "
        "with a board of your own, or write mass_g and size_mm into the targets file",
    )


def body_of(names: Sequence[str], declared: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Each of BOARD_FIGURES as it was declared, else the sum of the boards, with where they are from.

    They are fields of a Target; one that was not declared is absent, None or empty in `declared`. UsageError
    for a board that there is not.

    Masses are added, and so are powers of one kind. The size is that of a box in which the parts lie on each
    other, each on its largest face. The boot time is the longest of a machine: what is plugged in boots with
    its host. A figure that one part lacks is lacking for all, and power is that of a target as a whole:
    sticks without a host have none.
    """
    own = {name: figure for name, figure in declared.items() if figure not in (None, ())}
    if not names:
        return own
    boards = [known_board(name) for name in names]
    machines = [board for board in boards if not board.plugged_in]
    added: dict[str, Any] = {}
    sources = " + ".join(_described(board) for board in boards)
    if lacking := [board.title for board in boards if board.mass_g is None]:
        sources += _unknown("mass", lacking, "mass_g")
    else:
        added["mass_g"] = sum(board.mass_g.value for board in boards if board.mass_g)
    if lacking := [board.title for board in boards if board.size_mm is None]:
        sources += _unknown("size", lacking, "size_mm")
    else:
        added["size_mm"] = _stacked([board.size_mm.value for board in boards if board.size_mm])
        sources += "; the size is of the parts lying on each other" if len(boards) > 1 else ""
    if machines:
        added["declared_power"] = tuple(power for kind in KINDS for power in _added_power(boards, kind))
    elif any(board.power for board in boards):
        sources += "; no declared power: it is that of a target as a whole, and no host is among these"
    for kind in KINDS if machines else ():
        lacking = [board.title for board in boards if _power_of(board, kind) is None]
        if 0 < len(lacking) < len(boards):
            sources += _unknown(f"{kind} power", lacking, "declared_power")
    lacking = [board.title for board in machines if board.boot_s is None]
    if not lacking:
        added["boot_s"] = _longest_boot(machines)
    elif len(lacking) < len(machines):
        sources += _unknown("boot time", lacking, "boot_s")
    from_boards = tuple(
        name for name, figure in added.items() if name not in own and figure not in (None, ())
    )
    return {
        **own,
        **{name: added[name] for name in from_boards},
        "body": sources,
        "boards": tuple(
            DeclaredBoard(
                board.title,
                board.models,
                board.architecture,
                board.processor.value if board.processor else "",
            )
            for board in machines
        ),
        "from_boards": from_boards,
    }


def _unknown(figure: str, titles: Sequence[str], key: str) -> str:
    return f"; no {figure}: no source gives that of {', '.join(titles)} ({key} in the targets file)"


def _power_of(board: Board, kind: PowerKind) -> DeclaredFigure | None:
    return next((power for power in board.power if power.kind == kind), None)


def _added_power(boards: Sequence[Board], kind: PowerKind) -> list[DeclaredPower]:
    """The sum of that kind, of boards that all have one; none otherwise."""
    powers = [(board.title, power) for board in boards if (power := _power_of(board, kind))]
    if len(powers) < len(boards):
        return []
    source = " + ".join(f"{title}: {power.watts:g} W, {power.source}" for title, power in powers)
    return [DeclaredPower(math.fsum(power.watts for _, power in powers), kind, source)]


def _longest_boot(machines: Sequence[Board]) -> DeclaredBoot | None:
    """A maximum only where it is one of all of them."""
    boots = [board.boot_s for board in machines if board.boot_s]
    if not boots:
        return None
    longest = max(boots, key=lambda boot: boot.value)
    kind: PowerKind = "maximum" if all(boot.kind == "maximum" for boot in boots) else "typical"
    return DeclaredBoot(longest.value, kind, longest.source)


def _described(board: Board) -> str:
    mass, size = board.mass_g, board.size_mm
    sources = list(dict.fromkeys(stated.source for stated in (size, mass) if stated))
    if len(sources) > 1:
        sources = [f"{sources[0]}; mass by {sources[1]}"]
    texts = "; ".join(text for text in (*sources, board.note) if text)
    mass_text = f"{mass.value:g} g" if mass else "mass not known"
    size_text = " x ".join(f"{side:g}" for side in size.value) + " mm" if size else "size not known"
    return f"{board.title} ({mass_text}, {size_text}{f': {texts}' if texts else ''})"


def _stacked(sizes: Sequence[Size]) -> Size:
    turned = [sorted(size, reverse=True) for size in sizes]
    return (
        max(size[0] for size in turned),
        max(size[1] for size in turned),
        sum(size[2] for size in turned),
    )
