"""The power mode that a target is to be measured in, against the one that its board is in.

EdgeBench sets none itself: nvpmodel needs root, and some modes need a reboot.
"""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.errors import UnavailableError, UsageError
from edgebench.link.board_facts import BoardFacts
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json


def require_power_mode(facts: Mapping[str, Json], target: Target) -> str:
    """The board's mode in words, when it is the one that the target asks for by number or name.

    Args:
        facts: the board's, with `power_mode` {id, name} and `power_modes` {id: name} where it has them.
        target: with a power mode.

    Raises:
        UsageError: the board has no power modes, or none of that name.
        UnavailableError: it is in another mode, or does not say in which; the fix is the command to set it.
    """
    asked = target.power_mode or ""
    known = BoardFacts.of(facts)
    modes = known.power_modes or {}
    number, name = (known.power_mode.id, known.power_mode.name) if known.power_mode else (None, None)
    if not modes and number is None:
        raise UsageError(
            f"{target.name} has no power modes, and {asked!r} is asked for",
            why="neither /etc/nvpmodel.conf nor /var/lib/nvpmodel/status is there, as they are on a Jetson",
            fix="leave --power-mode (or power_mode in the targets file) out",
        )
    wanted = _number_of(asked, modes)
    if wanted is None:
        listed = ", ".join(f"{key} ({mode})" for key, mode in modes.items()) or "unknown"
        raise UsageError(f"{target.name} has no power mode {asked!r}", fix=f"its modes: {listed}")
    if str(number) == wanted:
        return f"{wanted} ({name or modes.get(wanted) or 'name unknown'})"
    is_in = (
        "does not say its power mode"
        if number is None
        else f"is in power mode {number} ({name or 'name unknown'})"
    )
    raise UnavailableError(
        f"{target.name} {is_in}, and {asked!r} is asked for",
        why="EdgeBench does not set it: that needs root, and for some modes a reboot",
        fix=f"on the board: sudo nvpmodel -m {wanted}",
    )


def _number_of(asked: str, modes: Mapping[str, str]) -> str | None:
    """The mode's number as nvpmodel takes it; without a list of modes a number is taken as it is."""
    if asked.isascii() and asked.isdigit():
        number = str(int(asked))
        return number if number in modes or not modes else None
    return next((key for key, mode in modes.items() if mode.lower() == asked.lower()), None)
