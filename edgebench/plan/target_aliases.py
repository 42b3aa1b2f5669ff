"""Whose a declaration on the command line is: `[TARGET=]...`, by the names that each target answers to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from edgebench.errors import UsageError
from edgebench.suggest import choose, short

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
