"""Declared power on the command line, `[TARGET=]WATTS:KIND:SOURCE`, and whose it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from edgebench.errors import UsageError
from edgebench.plan.target_aliases import Aliases, by_target, known_alias
from edgebench.suggest import choose, short
from edgebench.vocabulary.declared_power import KINDS, MOST_W, DeclaredPower

FLAG = "--declared-power"
FORM = "write it like --declared-power nano=9.5:maximum:'label of its supply'"
LONGEST_SOURCE = 200
_NUMBER = re.compile(r"(?P<number>[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf))\s*(?P<unit>\w*)", re.I)
_IN_WATTS = {"": 1.0, "W": 1.0, "mW": 1e-3, "kW": 1e3}


def declared_powers(texts: Sequence[str], aliases: Aliases) -> dict[str, tuple[DeclaredPower, ...]]:
    """What was declared of each target, by its name; those of which nothing was are left out.

    Args:
        texts: `[TARGET=]WATTS:KIND:SOURCE`. Without a target it is the only one's.
        aliases: as `edgebench.plan.target_aliases` has them.

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


def conflict_of(powers: Sequence[DeclaredPower]) -> str:
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
    known_kind = next((known for known in KINDS if known == kind), None)
    if known_kind is None:
        raise UsageError(f"{FLAG} {short(text)}: {short(kind)} is no kind of power", fix=choose(kind, KINDS))
    if not source:
        raise UsageError(
            f"{FLAG} {short(text)} names no source", fix=f"say which data sheet or label has it: {FORM}"
        )
    if len(source) > LONGEST_SOURCE or not source.isprintable():
        raise UsageError(
            f"{FLAG} {short(text)}: the source is no line of at most {LONGEST_SOURCE} characters",
            fix="name the data sheet or label in a few words",
        )
    return target.strip() if equals else None, DeclaredPower(_watts(watts, text), known_kind, source)


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
