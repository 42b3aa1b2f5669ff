"""The search for the balanced draws of the land-cover set; it takes about a minute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.shipped.footprint import Footprints
from edgebench.prepare.landcover import (
    CLASS_NAMES,
    SHIPPED_SEED,
    SPLITS,
    Draws,
    Earth,
    Split,
    View,
    commonest_class,
    render_classes,
)

_LEAST_SHARE = 0.6  # of a patch's pixels that its class must have
_SEARCH_SIZE = 32  # pixels an edge: enough to tell the commonest class
_TEST_LON = (-80.0, 30.0)
_CALIBRATION_LON = (-100.0, -86.0)
_GAPS_LON = ((-86.0, -80.0), (30.0, 36.0))


def split_of(lon_deg: float) -> Split | None:
    """Which split a patch centred at that longitude belongs to; None in the gaps between them.

    There are gaps next to the test longitudes. They keep most patches of two splits apart, but not all:
    near the poles a few degrees are narrower than a patch, hence `apart_from` in `draw_patches`.
    """
    if _TEST_LON[0] <= lon_deg <= _TEST_LON[1]:
        return "test"
    if _CALIBRATION_LON[0] <= lon_deg < _CALIBRATION_LON[1]:
        return "calibration"
    (west, west_end), (east, east_end) = _GAPS_LON
    if west <= lon_deg < west_end or east < lon_deg <= east_end:
        return None
    return "train"


def draw_patches(
    earth: Earth, split: Split, n: int, seed: int = SHIPPED_SEED, apart_from: Sequence[Draws] = ()
) -> Draws:
    """Search for `n` patches with as many of each class, deterministically from `seed`.

    A patch counts when at least 60 % of its pixels are of one class, and when it shows no ground that a
    patch of `apart_from` shows. Points are uniform over the sphere up to 80 degrees of latitude. Raises
    ValueError unless `n` is a positive multiple of five.
    """
    classes = len(CLASS_NAMES)
    if n <= 0 or n % classes:
        raise ValueError(f"{n} patches cannot be shared out among {classes} classes")
    footprints = Footprints([draws.view(index) for draws in apart_from for index in range(len(draws))])
    rng = np.random.default_rng([seed, SPLITS.index(split)])
    values: list[tuple[float, ...]] = []
    labels: list[int] = []
    missing = [n // classes] * classes
    while len(labels) < n:
        # The order of these lines is the order of the random numbers: it decides the set.
        lat = float(np.degrees(np.arcsin(rng.uniform(-0.985, 0.985))))
        lon = rng.uniform(-180, 180)
        width = float(np.exp(rng.uniform(np.log(180), np.log(900))))
        angle = rng.uniform(0, 2 * np.pi)
        shift = rng.uniform(0, 360)
        gain = float(rng.choice([0, 0.6, 1.0, 1.4]))
        brightness = rng.uniform(0.85, 1.15)
        if split_of(lon) != split:
            continue
        view = View(lat, lon, width, angle, shift, gain)
        label, share = commonest_class(render_classes(earth, view, _SEARCH_SIZE))
        if share < _LEAST_SHARE or not missing[label] or footprints.touches(view):
            continue
        missing[label] -= 1
        values.append((lat, lon, width, angle, shift, gain, brightness))
        labels.append(label)
    order = rng.permutation(n)
    return Draws(np.array(values)[order], np.array(labels, np.uint8)[order])
