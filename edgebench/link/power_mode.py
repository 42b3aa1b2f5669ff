"""The power mode that a target is to be measured in, against the one that its board is in.

EdgeBench sets it only where the target says so: nvpmodel needs root, and some modes need a reboot.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from edgebench.errors import UnavailableError, UsageError
from edgebench.link.board_facts import BoardFacts
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json

_log = logging.getLogger(__name__)

UNASKED = "EdgeBench sets it only with --set-power-mode: that needs root, and for some modes a reboot"
SUDOERS = (
    "sudo visudo -f /etc/sudoers.d/edgebench, with the line "
    "`USER ALL=(root) NOPASSWD: /usr/sbin/nvpmodel, /usr/bin/jetson_clocks`"
)
"""The fix where sudo asks for a password."""

_ASKED_OF_SUDO = "sudo: "


class SetsPowerModes(Protocol):
    """A device whose board can be put into a power mode."""

    def describe(self) -> dict[str, Json]:
        """The board's facts."""

    def set_power_mode(self, number: int) -> str:
        """Put it into that mode until the device is closed; "" or what stood in the way."""


def put_into_power_mode(device: SetsPowerModes, target: Target) -> None:
    """Set the mode that the target asks for, pin the clocks, and read back that both are in force.

    Raises:
        UsageError: the board has no power modes, or none of that name.
        UnavailableError: it could not be set; the fix is the command to set it.
    """
    obstacle = device.set_power_mode(int(wanted_mode(device.describe(), target)))
    in_force = require_power_mode(device.describe(), target, obstacle or UNASKED)
    if obstacle:
        raise UnavailableError(
            f"the clocks of {target.name} could not be pinned in its power mode",
            why=obstacle,
            fix=f"on the board: {SUDOERS}, or leave --set-power-mode out",
        )
    _log.warning("%s: power mode %s is set and its clocks are pinned", target.name, in_force)


def require_power_mode(facts: Mapping[str, Json], target: Target, obstacle: str = UNASKED) -> str:
    """The board's mode in words, when it is the one that the target asks for by number or name.

    Args:
        facts: the board's, with `power_mode` {id, name} and `power_modes` {id: name} where it has them.
        target: with a power mode.
        obstacle: why it is not set.

    Raises:
        UsageError: the board has no power modes, or none of that name.
        UnavailableError: it is in another mode, or does not say in which; the fix is the command to set it.
    """
    wanted = wanted_mode(facts, target)
    known = BoardFacts.of(facts).power_mode
    if known is not None and str(known.id) == wanted:
        return mode_in_force(facts)
    is_in = "does not say its power mode" if known is None else f"is in power mode {mode_in_force(facts)}"
    raise UnavailableError(
        f"{target.name} {is_in}, and {target.power_mode!r} is asked for",
        why=obstacle,
        fix=f"on the board: sudo nvpmodel -m {wanted}"
        + (f"; or let EdgeBench do it: {SUDOERS}" if obstacle.startswith(_ASKED_OF_SUDO) else ""),
    )


def mode_in_force(facts: Mapping[str, Json]) -> str:
    """The board's mode in words: `1 (5W)`."""
    known = BoardFacts.of(facts)
    if known.power_mode is None:
        return "unknown"
    return mode_text(facts, str(known.power_mode.id), known.power_mode.name)


def mode_text(facts: Mapping[str, Json], number: str, name: str | None = None) -> str:
    """A mode in words: `1 (5W)`."""
    name = name or (BoardFacts.of(facts).power_modes or {}).get(number)
    return f"{number} ({name or 'name unknown'})"


def modes_text(facts: Mapping[str, Json]) -> str:
    """All modes of the board in words; empty where it does not list them."""
    modes = BoardFacts.of(facts).power_modes or {}
    return ", ".join(mode_text(facts, number, name) for number, name in modes.items())


def wanted_mode(facts: Mapping[str, Json], target: Target) -> str:
    """The number of the mode that the target asks for, as nvpmodel takes it; UsageError for none."""
    asked = target.power_mode or ""
    known = BoardFacts.of(facts)
    modes = known.power_modes or {}
    if not modes and known.power_mode is None:
        raise UsageError(
            f"{target.name} has no power modes, and {asked!r} is asked for",
            why="neither /etc/nvpmodel.conf nor /var/lib/nvpmodel/status is there, as they are on a Jetson",
            fix="leave --power-mode (or power_mode in the targets file) out",
        )
    wanted = _number_of(asked, modes)
    if wanted is None:
        listed = modes_text(facts) or "unknown"
        raise UsageError(f"{target.name} has no power mode {asked!r}", fix=f"its modes: {listed}")
    return wanted


def _number_of(asked: str, modes: Mapping[str, str]) -> str | None:
    """The mode's number as nvpmodel takes it; without a list of modes a number is taken as it is."""
    if asked.isascii() and asked.isdigit():
        number = str(int(asked))
        return number if number in modes or not modes else None
    return next((key for key, mode in modes.items() if mode.lower() == asked.lower()), None)
