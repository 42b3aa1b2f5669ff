"""Boards on the command line for results that are there already, `[TARGET=]NAME`, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.errors import UsageError
from edgebench.plan.target_aliases import Aliases, by_target, known_alias
from edgebench.suggest import short

FLAG = "--board"


def declared_boards(texts: Sequence[str], aliases: Aliases) -> dict[str, tuple[str, ...]]:
    """The boards that each target is made of, by its name; targets without one are left out.

    Args:
        texts: `[TARGET=]NAME`, one for each board; without a target it is the only one's.
        aliases: as `edgebench.plan.target_aliases` has them.

    Raises:
        UsageError: no name, an unknown target, a target left out where there are several.
    """
    by_alias: dict[str, list[str]] = {}
    for text in texts:
        target, equals, name = (part.strip() for part in text.rpartition("="))
        if not name:
            raise UsageError(
                f"{FLAG} {short(text)} names no board", fix="write it like --board nano=jetson-nano-devkit"
            )
        alias = known_alias(FLAG, target if equals else None, text, aliases)
        by_alias.setdefault(alias, []).append(name)
    return by_target(by_alias, aliases)
