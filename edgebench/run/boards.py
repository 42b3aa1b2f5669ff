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

import logging
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from edgebench.errors import UsageError
from edgebench.files import TomlFile, parse_toml, read_toml
from edgebench.records.target import (
    KINDS,
    LONGEST_BOOT_S,
    MOST_W,
    Architecture,
    DeclaredBoard,
    DeclaredBoot,
    DeclaredPower,
    PowerKind,
)
from edgebench.refusals import form, problem, refusal
from edgebench.suggest import choose, nearest, short

# Declared power on the command line, `[TARGET=]WATTS:KIND:SOURCE`, and whose it is.

# Whose a declaration on the command line is: `[TARGET=]...`, by the names that each target answers to.


MOST_G_OR_MM = 1e9
"""A thousand tonnes or kilometres: far above any device, and still short in print."""

Aliases = Mapping[str, Sequence[str]]
"""By the name of each target the names that it answers to, from its own to that of all its sweep."""

Declared = TypeVar("Declared")


def known_alias(flag: str, name: str | None, text: str, aliases: Aliases) -> str:
    """The alias that a declaration is for; without a name the only target's.

    UsageError for a name that is none, and for one left out where there are several targets; `flag` and
    `text` are what was typed.
    """
    wide = list(dict.fromkeys(names[-1] for names in aliases.values()))
    if name is None:
        if len(wide) == 1:
            return wide[0]
        raise UsageError(
            f"{flag} {short(text)} does not say of which target",
            why=f"there are {len(wide)}: {', '.join(wide)}",
            fix=f"write {wide[0]}={text}" if wide else "",
        )
    known = list(dict.fromkeys(alias for names in aliases.values() for alias in names))
    if name not in known:
        raise UsageError(f"{flag} {short(text)}: there is no target {short(name)}", fix=choose(name, known))
    return name


def by_target(
    declared: Mapping[str, Sequence[Declared]], aliases: Aliases
) -> dict[str, tuple[Declared, ...]]:
    """What was declared of each target, from what was of each alias; its own name beats a wider one.

    Targets of which nothing was declared are left out.
    """
    chosen = {
        name: next((declared[alias] for alias in names if alias in declared), ())
        for name, names in aliases.items()
    }
    return {name: tuple(values) for name, values in chosen.items() if values}


FLAG = "--declared-power"
FORM = "write it like --declared-power nano=9.5:maximum:'label of its supply'"
LONGEST_SOURCE = 200
_NUMBER = re.compile(r"(?P<number>[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf))\s*(?P<unit>\w*)", re.I)
_IN_WATTS = {"": 1.0, "W": 1.0, "mW": 1e-3, "kW": 1e3}


def declared_powers(texts: Sequence[str], aliases: Aliases) -> dict[str, tuple[DeclaredPower, ...]]:
    """What was declared of each target, by its name; those of which nothing was are left out.

    Args:
        texts: `[TARGET=]WATTS:KIND:SOURCE`. Without a target it is the only one's.
        aliases: as `edgebench.run.boards` has them.

    Raises:
        UsageError: a text that does not have this form, a figure that is not in watts, above 0 and at most
            MOST_W, an unknown kind or target, no source, a target left out where there are several, two
            figures of one kind for one target, a typical power above the maximum.
    """
    by_alias: dict[str, list[DeclaredPower]] = {}
    for text in texts:
        name, power = _parsed(text)
        by_alias.setdefault(known_alias(FLAG, name, text, aliases), []).append(power)
    for alias, powers in by_alias.items():
        if conflict := conflict_of(powers):
            raise UsageError(f"{FLAG} of {alias}: {conflict}", fix="leave one of the two out")
    return by_target(by_alias, aliases)


def conflict_of(powers: Sequence[DeclaredPower | DeclaredFigure]) -> str:
    """Why figures of one target cannot all hold; "" where they can."""
    by_kind: dict[str, float] = {}
    for power in powers:
        if power.kind in by_kind:
            return f"there are two figures of kind {power.kind!r}"
        by_kind[power.kind] = power.watts
    if by_kind.get("typical", 0.0) > by_kind.get("maximum", MOST_W):
        return f"a typical power of {by_kind['typical']:g} W is above the maximum of {by_kind['maximum']:g} W"
    return ""


def _parsed(text: str) -> tuple[str | None, DeclaredPower]:
    """The target that it names, if any, and the figure."""
    head, *rest = (part.strip() for part in text.split(":", 2))
    target, equals, watts = head.rpartition("=")
    if len(rest) < 2:
        missing = "kind and source" if not rest else "source" if rest[0] in KINDS else "kind or source"
        raise UsageError(f"{FLAG} {short(text)} names no {missing}", fix=FORM)
    kind, source = rest
    fix = f"say which data sheet or label has it: {FORM}"
    known_kind = _kind(f"{FLAG} {short(text)}", kind, source, "power", fix)
    return target.strip() if equals else None, DeclaredPower(_watts(watts, text), known_kind, source)


def _kind(declaration: str, kind: str, source: str, figure: str, fix: str) -> PowerKind:
    """The kind of a figure; UsageError for one that is none, and for a source that is no short line."""
    if not source:
        raise UsageError(f"{declaration} names no source", fix=fix)
    if len(source) > LONGEST_SOURCE or not source.isprintable():
        raise UsageError(
            f"{declaration}: the source is no line of at most {LONGEST_SOURCE} characters",
            fix="name the data sheet or label in a few words",
        )
    for known in KINDS:
        if known == kind:
            return known
    raise UsageError(f"{declaration}: {short(kind)} is no kind of {figure}", fix=choose(kind, KINDS))


def _watts(text: str, whole: str) -> float:
    match = _NUMBER.fullmatch(text.strip())
    unit = match["unit"] if match else ""
    try:
        number = float(match["number"]) if match else None
    except ValueError:
        number = None
    if number is None or unit not in _IN_WATTS:
        raise UsageError(f"{FLAG} {short(whole)}: {short(text)} is no number of watts", fix=FORM)
    watts = number * _IN_WATTS[unit]
    if not 0 < watts <= MOST_W:
        raise UsageError(
            f"{FLAG} {short(whole)}: {short(text)} is not above 0 and at most {MOST_W:g} W",
            fix=f"write it in watts, not in milliwatts; {FORM}",
        )
    if unit not in ("", "W"):
        raise UsageError(f"{FLAG} {short(whole)}: {short(text)} is not in watts", fix=f"write {watts:g}")
    return watts


# Declared boot time on the command line, `[TARGET=]boot_s:SECONDS:KIND:SOURCE`, and all else it declares.


CONDITIONS_FLAG = "--declared"
_FORM = f"write it like {CONDITIONS_FLAG} nano=boot_s:25:typical:'stop watch'"


def declared_figures(
    powers: Sequence[str], conditions: Sequence[str], aliases: Aliases
) -> dict[str, dict[str, Any]]:
    """What was declared of each target, by its name and by the field of a target that it becomes.

    Args:
        powers: as `power_declarations.declared_powers` takes them.
        conditions: of the form above. Without a target they are the only one's.
        aliases: as `edgebench.run.boards` has them.

    Raises:
        UsageError: as `declared_powers`, and for a condition that does not have this form, is out of range,
            or is declared twice of one target.
    """
    by_alias: dict[str, list[DeclaredBoot]] = {}
    for text in conditions:
        target, boot = _parsed_conditions(text)
        alias = known_alias(CONDITIONS_FLAG, target, text, aliases)
        if alias in by_alias:
            raise UsageError(
                f"{CONDITIONS_FLAG} of {alias}: boot_s is there twice",
                fix="leave one of the two out",
            )
        by_alias[alias] = [boot]
    by_field: dict[str, dict[str, Any]] = {
        "declared_power": dict(declared_powers(powers, aliases)),
        "boot_s": {name: boot for name, (boot,) in by_target(by_alias, aliases).items()},
    }
    figures = {
        name: {field: of_targets[name] for field, of_targets in by_field.items() if name in of_targets}
        for name in aliases
    }
    return {name: fields for name, fields in figures.items() if fields}


def _parsed_conditions(text: str) -> tuple[str | None, DeclaredBoot]:
    """The target that it names, if any, and its boot time."""
    head, _, rest = text.partition(":")
    target, equals, field = (part.strip() for part in head.rpartition("="))
    if field != "boot_s":
        raise UsageError(
            f"{CONDITIONS_FLAG} {short(text)}: {short(field)} is nothing that is declared so",
            fix=f"{choose(field, ['boot_s'])}; mass_g and size_mm stand in the targets file, and power is "
            "--declared-power",
        )
    value, kind, source, *_ = (part.strip() for part in (*rest.split(":", 2), "", ""))
    declaration = f"{CONDITIONS_FLAG} {short(text)}"
    known_kind = _kind(declaration, kind, source, "boot time", _FORM)
    try:
        seconds = float(value)
    except ValueError:
        raise UsageError(f"{declaration}: {short(value)} is no number of seconds", fix=_FORM) from None
    if not 0 < seconds <= LONGEST_BOOT_S:
        what = f"{declaration}: {short(value)} is not above 0 and at most {LONGEST_BOOT_S:g} s"
        raise UsageError(what, fix=_FORM)
    return target if equals else None, DeclaredBoot(seconds, known_kind, source)


# Boards on the command line for results that are there already, `[TARGET=]NAME`, and whose they are.


BOARD_FLAG = "--board"


def declared_boards(texts: Sequence[str], aliases: Aliases) -> dict[str, tuple[str, ...]]:
    """The boards that each target is made of, by its name; targets without one are left out.

    Args:
        texts: `[TARGET=]NAME`, one for each board; without a target it is the only one's.
        aliases: as `edgebench.run.boards` has them.

    Raises:
        UsageError: no name, an unknown target, a target left out where there are several.
    """
    by_alias: dict[str, list[str]] = {}
    for text in texts:
        target, equals, name = (part.strip() for part in text.rpartition("="))
        if not name:
            raise UsageError(
                f"{BOARD_FLAG} {short(text)} names no board",
                fix="write it like --board nano=jetson-nano-devkit",
            )
        alias = known_alias(BOARD_FLAG, target if equals else None, text, aliases)
        by_alias.setdefault(alias, []).append(name)
    return by_target(by_alias, aliases)


# Facts as TOML files state them, each with where it is from: a boot time.
#
# Written like `boot_s = { value = 21.5, kind = "maximum", source = "its data sheet" }`.


_log = logging.getLogger(__name__)

Word = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1000,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        json_schema_extra=form("write text of 1 to 1000 characters in quotes, without control characters"),
    ),
]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_BOOT_S, strict=True)]
Value = TypeVar("Value")

BOOT_FORM = "boot_s = { value = 21.5, source = 'its data sheet' }, with kind = 'maximum' where it says so"


class Stated(BaseModel, Generic[Value]):
    """A fact with where it is from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: Value
    source: Annotated[Word, Field(max_length=LONGEST_SOURCE)]


class StatedBoot(Stated[Seconds]):
    """A boot time; `kind` is maximum where its source says that it never takes longer."""

    kind: PowerKind = "typical"

    @property
    def declared(self) -> DeclaredBoot:
        """The same in the vocabulary's words."""
        return DeclaredBoot(self.value, self.kind, self.source)


class DeclaredFigure(BaseModel):
    """A declared power as a TOML file has it; of a stored target a DeclaredPower."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    watts: Annotated[
        float,
        Field(gt=0, le=MOST_W, strict=True, json_schema_extra=form("write watts, such as watts = 9.5")),
    ]
    kind: PowerKind
    source: Annotated[Word, Field(max_length=LONGEST_SOURCE)]

    @property
    def power(self) -> DeclaredPower:
        """The same as a stored target has it."""
        return DeclaredPower(self.watts, self.kind, self.source)


def _agreeing(figures: tuple[DeclaredFigure, ...]) -> tuple[DeclaredFigure, ...]:
    if conflict := conflict_of(figures):
        raise problem(conflict, "leave one of the two out")
    return figures


DeclaredFigures = Annotated[
    tuple[DeclaredFigure, ...],
    BeforeValidator(lambda figures: [figures] if isinstance(figures, dict) else figures),
    AfterValidator(_agreeing),
]
"""One power, or one of each kind."""


def drop_temperatures(tables: Iterable[Any], where: str) -> None:
    """Remove `temperature_c`, a range that earlier versions took, from these tables, with one warning."""
    named = [table for table in tables if isinstance(table, dict) and "temperature_c" in table]
    for table in named:
        del table["temperature_c"]
    if named:
        _warn_once(where)


@cache
def _warn_once(where: str) -> None:
    _log.warning("%s: temperature_c is ignored: ranges of temperatures are no longer judged", where)


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
