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

import contextlib
import logging
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from edgebench.errors import UsageError
from edgebench.files import TomlFile, expand_home, parse_toml, read_toml
from edgebench.records.target import (
    KINDS,
    LONGEST_BOOT_S,
    MOST_W,
    Architecture,
    DeclaredBoard,
    DeclaredBoot,
    DeclaredPower,
    GramsOrMm,
    Target,
)
from edgebench.records.values import PowerKind
from edgebench.refusals import form, problem, refusal
from edgebench.suggest import choose, nearest, short

# Whose a declaration on the command line is: `[TARGET=]...`, by the names that each target answers to.


Aliases = Mapping[str, Sequence[str]]
"""By the name of each target the names that it answers to, from its own to that of all its sweep."""

Declared = TypeVar("Declared")
Figure = TypeVar("Figure", bound=BaseModel)


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


def _by_target(
    flag: str, declarations: Iterable[tuple[str, str | None, Declared]], aliases: Aliases
) -> dict[str, tuple[Declared, ...]]:
    """The declarations (text, target, value) for each target; its own name overrides a wider one.

    Targets without a declaration are left out.
    """
    declared: dict[str, list[Declared]] = {}
    for text, name, value in declarations:
        declared.setdefault(known_alias(flag, name, text, aliases), []).append(value)
    chosen = {
        name: next((declared[alias] for alias in names if alias in declared), ())
        for name, names in aliases.items()
    }
    return {name: tuple(values) for name, values in chosen.items() if values}


# Declared power and boot time on the command line.


POWER_FLAG = "--declared-power"
BOOT_FLAG = "--declared"
UNITS = {"mass_g": "g", "size_mm": "mm", "boot_s": "s"}
_FORMS = {
    POWER_FLAG: "write it like --declared-power nano=9.5:maximum:'supply label'; kind: maximum or typical",
    BOOT_FLAG: "write it like --declared nano=boot_s:25:typical:'stop watch' (kind: maximum or typical), "
    "mass_g:180:weighed or size_mm:100x80x29:'its drawing'",
}


def declared_powers(texts: Sequence[str], aliases: Aliases) -> dict[str, tuple[DeclaredPower, ...]]:
    """The declared powers of each target, by its name.

    Args:
        texts: `[TARGET=]WATTS:KIND:SOURCE`. The target may be omitted if there is only one.
        aliases: names that each target answers to.

    Raises:
        UsageError: a text of another form, a value out of range, an unknown kind or target, no source, two
            figures of one kind for one target, a typical power above the maximum.
    """
    declarations = []
    for text in texts:
        target, equals, _ = text.partition(":")[0].rpartition("=")
        figure = _figure(POWER_FLAG, text, text[len(target + equals) :], DeclaredFigure, "W")
        declarations.append((text, target.strip() if equals else None, figure.power))
    powers = _by_target(POWER_FLAG, declarations, aliases)
    for name, declared in powers.items():
        if conflict := conflict_of(declared):
            raise UsageError(f"{POWER_FLAG} of {name}: {conflict}", fix="leave one of the two out")
    return powers


def with_declared(
    targets: Iterable[Target], powers: Sequence[str], figures: Sequence[str], aliases: Aliases
) -> tuple[Target, ...]:
    """The targets, each with what was declared of it in place of what it had.

    Args:
        targets: of a run or a result.
        powers: as `declared_powers` takes them.
        figures: `[TARGET=]boot_s:SECONDS:KIND:SOURCE`, `[TARGET=]mass_g:GRAMS:SOURCE` or
            `[TARGET=]size_mm:LENGTHxWIDTHxHEIGHT:SOURCE`.
        aliases: names that each target answers to.

    Raises:
        UsageError: as `declared_powers`, and for another quantity or one that is there twice.
    """
    declarations = []
    for text in figures:
        head, _, rest = text.partition(":")
        name, equals, field = (part.strip() for part in head.rpartition("="))
        if field not in _STATED:
            raise UsageError(
                f"{BOOT_FLAG} {short(text)}: {short(field)} cannot be declared", fix=_FORMS[BOOT_FLAG]
            )
        stated = _figure(BOOT_FLAG, text, rest, _STATED[field], UNITS[field])
        declarations.append((text, name if equals else None, (field, stated)))
    powers_by_name = declared_powers(powers, aliases)
    figures_by_name = _by_target(BOOT_FLAG, declarations, aliases)
    declared: list[Target] = []
    for target in targets:
        values: dict[str, Any] = {}
        sources = dict(target.declared_sources)
        if target.name in powers_by_name:
            values["declared_power"] = powers_by_name[target.name]
        for field, stated in figures_by_name.get(target.name, ()):
            if field in values:
                raise UsageError(
                    f"{BOOT_FLAG} of {target.name}: {field} is there twice", fix="leave one of the two out"
                )
            if isinstance(stated, StatedBoot):
                values[field] = stated.declared
            else:
                values[field], sources[field] = stated.value, stated.source
        from_boards = tuple(name for name in target.from_boards if name not in values)
        declared.append(replace(target, **values, declared_sources=sources, from_boards=from_boards))
    return tuple(declared)


def conflict_of(powers: Sequence[DeclaredPower | DeclaredFigure]) -> str:
    """Reason that figures of one target cannot all hold; "" if they can."""
    by_kind = {power.kind: power.watts for power in powers}
    if len(by_kind) < len(powers):
        return f"there are two figures of kind {powers[0].kind!r}"
    if by_kind.get("typical", 0.0) > by_kind.get("maximum", MOST_W):
        return f"a typical power of {by_kind['typical']:g} W is above the maximum of {by_kind['maximum']:g} W"
    return ""


def _figure(flag: str, text: str, figure: str, model: type[Figure], unit: str) -> Figure:
    """`VALUE[:KIND]:SOURCE`, validated by the model of the same figure in a TOML file."""
    names = [name for name in ("value", "watts", "kind", "source") if name in model.model_fields]
    number, *rest = (part.strip() for part in figure.split(":", len(names) - 1))
    value: float | str | list[float] = number
    with contextlib.suppress(ValueError):
        sides = [float(side) for side in re.split("[x×,]", number.removesuffix(unit))]
        value = sides if len(sides) > 1 else sides[0]
    document = {**dict.fromkeys(names, ""), **dict(zip(names, [value, *rest], strict=False))}
    try:
        return model.model_validate(document)
    except ValidationError as error:
        if not document["source"] and error.error_count() == 1:
            why = "it does not say where the figure is from"
        else:
            why = refusal(error, document, model).sentence()
        raise UsageError(f"{flag} {short(text)}: {why}", fix=_FORMS[flag]) from error


# Boards on the command line for results that are there already, `[TARGET=]NAME`, and whose they are.


BOARD_FLAG = "--board"


def declared_boards(texts: Sequence[str], aliases: Aliases) -> dict[str, tuple[str, ...]]:
    """The boards that each target is made of, by its name; targets without one are left out.

    Args:
        texts: `[TARGET=]NAME`, one for each board; without a target it is the only one's.
        aliases: names that each target answers to.

    Raises:
        UsageError: no name, an unknown target, a target left out where there are several.
    """
    declarations = []
    for text in texts:
        target, equals, name = (part.strip() for part in text.rpartition("="))
        if not name:
            raise UsageError(
                f"{BOARD_FLAG} {short(text)} names no board",
                fix="write it like --board nano=jetson-nano-devkit",
            )
        declarations.append((text, target if equals else None, name))
    return _by_target(BOARD_FLAG, declarations, aliases)


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
Positive = Annotated[GramsOrMm, Field(strict=True)]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_BOOT_S, strict=True)]
Value = TypeVar("Value")

LONGEST_SOURCE = 200
BOOT_FORM = "boot_s = { value = 21.5, source = 'its data sheet' }, with kind = 'maximum' where it says so"


class SourcedFact(BaseModel, Generic[Value]):
    """A fact with where it is from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: Value
    source: Annotated[Word, Field(max_length=LONGEST_SOURCE)]


class StatedBoot(SourcedFact[Seconds]):
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


_STATED: Mapping[str, type[SourcedFact[Any]]] = {
    "boot_s": StatedBoot,
    "mass_g": SourcedFact[Positive],
    "size_mm": SourcedFact[tuple[Positive, Positive, Positive]],
}
"""What --declared takes."""


FILE_NAME = "boards.toml"


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
"""Facts of a board besides its power, with its word."""


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
    processor: Annotated[SourcedFact[Word] | None, _like(_TEXT.format("processor"))] = None
    memory: Annotated[SourcedFact[Word] | None, _like(_TEXT.format("memory"))] = None
    mass_g: Annotated[
        SourcedFact[Positive] | None, _like("mass_g = { value = 61.5, source = 'its data sheet' }")
    ] = None
    size_mm: Annotated[
        SourcedFact[tuple[Positive, Positive, Positive]] | None,
        _like("size_mm = { value = [85.0, 56.0, 17.0], source = 'its drawing' }"),
    ] = None
    power: Annotated[
        DeclaredFigures,
        _like(
            "power = { watts = 7.5, kind = 'maximum', source = 'its data sheet' }, or a list of both kinds"
        ),
    ] = ()
    supply: Annotated[SourcedFact[Word] | None, _like(_TEXT.format("supply"))] = None
    boot_s: Annotated[StatedBoot | None, _like(BOOT_FORM)] = None
    runtime: Annotated[SourcedFact[Word] | None, _like(_TEXT.format("runtime"))] = None
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
    data = (resources.files("edgebench") / FILE_NAME).read_bytes()
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
    try:
        return Catalogue.model_validate(file.tables)
    except ValidationError as error:
        refused = refusal(error, file.tables, Catalogue)
        fix = "write each board as a table [boards.NAME]" if refused.place == ("boards",) else refused.fix
        raise UsageError(f"{where}: {refused.sentence()}", fix=fix or "mend the value") from error


# What targets are made of: what boards weigh, measure and draw by their makers; sticks with their hosts.


Size = tuple[float, float, float]


def known_board(name: str) -> Board:
    """The board of that name, or the one in that TOML file; UsageError if it does not exist."""
    if name.endswith(".toml"):
        return read_board(Path(expand_home(name)))
    known = known_boards()
    if name in known:
        return known[name]
    raise UsageError(
        f"there is no board {short(name)}",
        fix=f"{nearest(name, sorted(known))}`edgebench boards list` names all; or name a TOML file "
        "with a board of your own, or add --declared mass_g:GRAMS:SOURCE",
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
