"""Declared boot time and temperatures on the command line, and all that a command line declares of targets.

`[TARGET=]boot_s:SECONDS:KIND:SOURCE` and `[TARGET=]temperature_c:LOW..HIGH:SOURCE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgebench.errors import UsageError
from edgebench.plan.power_declarations import LONGEST_SOURCE, declared_powers
from edgebench.plan.target_aliases import Aliases, by_target, known_alias
from edgebench.suggest import choose, short
from edgebench.vocabulary.declared_conditions import (
    COLDEST_C,
    HOTTEST_C,
    LONGEST_BOOT_S,
    DeclaredBoot,
    DeclaredTemperature,
)
from edgebench.vocabulary.declared_power import KINDS

FLAG = "--declared"
_FORMS = {
    "boot_s": f"write it like {FLAG} nano=boot_s:25:typical:'stop watch'",
    "temperature_c": f"write it like {FLAG} nano=temperature_c:-20..60:'its data sheet'",
}


def declared_figures(
    powers: Sequence[str], conditions: Sequence[str], aliases: Aliases
) -> dict[str, dict[str, Any]]:
    """What was declared of each target, by its name and by the field of a target that it becomes.

    Args:
        powers: as `power_declarations.declared_powers` takes them.
        conditions: of the forms above. Without a target they are the only one's.
        aliases: as `edgebench.plan.target_aliases` has them.

    Raises:
        UsageError: as `declared_powers`, and for a condition that has none of these forms, is out of range,
            or is declared twice of one target.
    """
    by_field: dict[str, dict[str, Any]] = {"declared_power": dict(declared_powers(powers, aliases))}
    by_alias: dict[str, dict[str, list[DeclaredBoot | DeclaredTemperature]]] = {name: {} for name in _FORMS}
    for text in conditions:
        target, field, figure = _parsed(text)
        alias = known_alias(FLAG, target, text, aliases)
        if alias in by_alias[field]:
            raise UsageError(f"{FLAG} of {alias}: {field} is there twice", fix="leave one of the two out")
        by_alias[field][alias] = [figure]
    for field, declared in by_alias.items():
        by_field[field] = {name: figure for name, (figure,) in by_target(declared, aliases).items()}
    figures = {
        name: {field: of_targets[name] for field, of_targets in by_field.items() if name in of_targets}
        for name in aliases
    }
    return {name: fields for name, fields in figures.items() if fields}


def _parsed(text: str) -> tuple[str | None, str, DeclaredBoot | DeclaredTemperature]:
    """The target that it names, if any, the field, and the figure."""
    head, _, rest = text.partition(":")
    target, equals, field = (part.strip() for part in head.rpartition("="))
    if field not in _FORMS:
        raise UsageError(
            f"{FLAG} {short(text)}: {short(field)} is nothing that is declared so",
            fix=f"{choose(field, list(_FORMS))}; mass_g and size_mm stand in the targets file, and power is "
            "--declared-power",
        )
    value, *others = (part.strip() for part in rest.split(":", 2 if field == "boot_s" else 1))
    due = 2 if field == "boot_s" else 1
    if len(others) < due or not others[-1]:
        raise UsageError(f"{FLAG} {short(text)} names no source", fix=_FORMS[field])
    source = others[-1]
    if len(source) > LONGEST_SOURCE or not source.isprintable():
        raise UsageError(
            f"{FLAG} {short(text)}: the source is no line of at most {LONGEST_SOURCE} characters",
            fix="name the data sheet or label in a few words",
        )
    named = target if equals else None
    if field == "boot_s":
        return named, field, _boot(value, others[0], source, text)
    return named, field, _temperature(value, source, text)


def _boot(value: str, kind: str, source: str, text: str) -> DeclaredBoot:
    known_kind = next((known for known in KINDS if known == kind), None)
    if known_kind is None:
        raise UsageError(
            f"{FLAG} {short(text)}: {short(kind)} is no kind of boot time", fix=choose(kind, KINDS)
        )
    seconds = _number(value, text, "boot_s")
    if not 0 < seconds <= LONGEST_BOOT_S:
        raise UsageError(
            f"{FLAG} {short(text)}: {short(value)} is not above 0 and at most {LONGEST_BOOT_S:g} s",
            fix=_FORMS["boot_s"],
        )
    return DeclaredBoot(seconds, known_kind, source)


def _temperature(value: str, source: str, text: str) -> DeclaredTemperature:
    low, dots, high = value.partition("..")
    if not dots:
        raise UsageError(f"{FLAG} {short(text)}: {short(value)} is no range", fix=_FORMS["temperature_c"])
    low_c, high_c = (_number(end, text, "temperature_c") for end in (low, high))
    if not COLDEST_C < low_c < high_c < HOTTEST_C:
        raise UsageError(
            f"{FLAG} {short(text)}: {short(value)} is no range of temperatures in °C, the lower one first",
            fix=_FORMS["temperature_c"],
        )
    return DeclaredTemperature(low_c, high_c, source)


def _number(value: str, text: str, field: str) -> float:
    try:
        return float(value)
    except ValueError:
        unit = "seconds" if field == "boot_s" else "degrees Celsius"
        raise UsageError(
            f"{FLAG} {short(text)}: {short(value)} is no number of {unit}", fix=_FORMS[field]
        ) from None
