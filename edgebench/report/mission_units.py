"""The units in which a mission's figures are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from edgebench.fit.mission import Mission

SCALES: Mapping[str, float] = {"%": 0.01, "MB": 1e6, "kJ": 1e3}
"""How many of a figure's base unit one of its unit is, where that is not 1."""


def energy_unit(missions: Sequence[Mission]) -> Literal["J", "kJ"]:
    """The unit for the energy of a cycle of all of them: kJ where one comes to 1 kJ, J for short cycles."""
    values = [
        figure.value
        for mission in missions
        for figure in (mission.energy_j.active, mission.energy_j.idle, mission.energy_j.off)
        if isinstance(figure.value, int | float)
    ]
    return "kJ" if max(values, default=0.0) >= SCALES["kJ"] else "J"
