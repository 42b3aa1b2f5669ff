"""Whether two patches show the same ground, wherever on the globe they are.

Longitudes alone do not keep splits apart: near the poles a few degrees are narrower than a patch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgebench.prepare.landcover import EARTH_KM, Floats, View

_GRID = 33  # points an edge, borders included
_MARGIN = 1 + 1 / 16  # wider than the grid's step, so that no overlap falls between its points


class Footprints:
    """The squares of ground that views show, to be compared with others."""

    def __init__(self, views: Sequence[View]) -> None:
        self._views = tuple(views)
        self._centres = np.array([_axes(view)[2] for view in views]).reshape(-1, 3)
        self._reach = np.array([_reach(view) for view in views])

    def touches(self, view: View) -> bool:
        """Whether any of these shows ground that `view` shows, or comes within 3 % of its width."""
        cosine = np.clip(self._centres @ _axes(view)[2], -1, 1)
        near = np.flatnonzero(np.arccos(cosine) < self._reach + _reach(view))
        return any(_overlap(view, self._views[index]) for index in near)


def _overlap(first: View, second: View) -> bool:
    # Both ways: a small square can lie between the points of a large one.
    return _holds(first, _grid(second)) or _holds(second, _grid(first))


def _axes(view: View) -> Floats:
    """East, north and up at the centre of a view, as unit vectors float64 [3, 3] from the Earth's centre."""
    lat, lon = np.radians(view.lat_deg), np.radians(view.lon_deg)
    east = (-np.sin(lon), np.cos(lon), 0.0)
    north = (-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat))
    up = (np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat))
    return np.array([east, north, up])


def _reach(view: View) -> float:
    """From the middle of a view to its corners, with the margin: radians at the Earth's centre."""
    return float(np.arcsin(min(1.0, view.width_km / EARTH_KM / np.sqrt(2) * _MARGIN)))


def _grid(view: View) -> Floats:
    """Points of a view as unit vectors, float64 [points, 3]."""
    edge = np.linspace(-1, 1, _GRID) * (view.width_km / EARTH_KM / 2)
    x, y = (axis.ravel() for axis in np.meshgrid(edge, -edge))
    cosine, sine = np.cos(view.angle_rad), np.sin(view.angle_rad)
    x, y = cosine * x - sine * y, sine * x + cosine * y
    points: Floats = np.stack([x, y, np.sqrt(1 - x**2 - y**2)], axis=1) @ _axes(view)
    return points


def _holds(view: View, points: Floats) -> bool:
    """Whether any of the points is in the view, widened by the margin."""
    east, north, up = (points @ axis for axis in _axes(view))
    cosine, sine = np.cos(view.angle_rad), np.sin(view.angle_rad)
    x, y = cosine * east + sine * north, cosine * north - sine * east
    half = view.width_km / EARTH_KM / 2 * _MARGIN
    return bool(((np.abs(x) <= half) & (np.abs(y) <= half) & (up > 0)).any())
