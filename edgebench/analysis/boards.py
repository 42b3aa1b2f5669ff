"""`edgebench.boards`: what makers declare of boards, with the source of each figure, as a frame."""

from __future__ import annotations

from typing import Any

import pandas as pd

from edgebench.plan.bodies import known_bodies
from edgebench.vocabulary.declared_power import KINDS
from edgebench.vocabulary.target import Body

_TEXTS = ("title", "note")


def boards() -> pd.DataFrame:
    """One row a board that `board=` and `--board` take, by its name: the index, which is called `board`.

    title; plugged_in (a stick or card, whose host is a board of its own); mass_g; size_mm (a tuple of three
    sides, None where no source gives it); power_maximum_w and power_typical_w by its maker's word; boot_s;
    temperature_low_c and temperature_high_c; the source of each as mass_source and so on; note. Mass and size
    are without case, cooler and power supply. What no source gives is NaN.
    """
    bodies = dict(sorted(known_bodies().items()))
    rows = [_row(body) for body in bodies.values()]
    frame = pd.DataFrame({name: _column(name, [row[name] for row in rows]) for name in rows[0]})
    frame.index = pd.Index(list(bodies), dtype="str", name="board")
    return frame


def _row(body: Body) -> dict[str, Any]:
    low_c, high_c = body.temperature_c or (None, None)
    powers = {power.kind: power for power in body.power}
    row: dict[str, Any] = {
        "title": body.title,
        "plugged_in": body.plugged_in,
        "mass_g": body.mass_g,
        "mass_source": None if body.mass_g is None else body.source_of("mass_g"),
        "size_mm": body.size_mm,
        "size_source": None if body.size_mm is None else body.source_of("size_mm"),
    }
    for kind in KINDS:
        power = powers.get(kind)
        row[f"power_{kind}_w"] = None if power is None else power.watts
        row[f"power_{kind}_source"] = None if power is None else power.source
    return row | {
        "boot_s": body.boot_s,
        "boot_source": None if body.boot_s is None else body.source_of("boot_s"),
        "temperature_low_c": low_c,
        "temperature_high_c": high_c,
        "temperature_source": None if low_c is None else body.source_of("temperature_c"),
        "note": body.note,
    }


def _column(name: str, values: list[Any]) -> pd.Series:
    if name in _TEXTS or name.endswith("_source"):
        return pd.Series(values, dtype="str")
    if name == "size_mm":
        return pd.Series(values, dtype="object")
    return pd.Series(values, dtype="bool" if name == "plugged_in" else "float64")
