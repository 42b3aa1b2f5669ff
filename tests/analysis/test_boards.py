"""What makers declare of boards, as a frame."""

from __future__ import annotations

import numpy as np

import edgebench
from edgebench.board_catalogue import known_boards


def test_every_known_board_has_its_row() -> None:
    frame = edgebench.boards()
    assert list(frame.index) == sorted(known_boards()) and frame.index.name == "board"


def test_figures_have_their_sources_and_what_is_not_known_is_missing() -> None:
    bodies, frame = known_boards(), edgebench.boards()
    for name, row in frame.iterrows():
        body = bodies[str(name)]
        assert row["size_mm"] == (body.size_mm and body.size_mm.value)
        assert np.isnan(row["mass_g"]) if body.mass_g is None else row["mass_g"] == body.mass_g.value
        for figure in ("mass_g", "size_mm", "power_maximum_w", "power_typical_w", "boot_s"):
            source = row[f"{figure.rpartition('_')[0]}_source"]
            is_known = row[figure] is not None and row[figure] == row[figure]
            assert (isinstance(source, str) and source != "") == is_known, (name, figure)
    pi = frame.loc["raspberry-pi-4b"]
    assert (pi["mass_g"], pi["size_mm"], pi["power_typical_w"]) == (46.0, (85.0, 56.0, 17.0), 3.06)
    assert frame.loc["coral-usb", "plugged_in"] and not pi["plugged_in"]
