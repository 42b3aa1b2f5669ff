"""Which patches make up the land-cover set: the search for balanced draws, and those that it found.

The search takes long, because most of the globe is water and cloud; a patch, once found, is seven
numbers. So the draws that were accepted are shipped, and patches are rendered from them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from edgebench.data.footprint import Footprints
from edgebench.data.landcover import (
    CLASS_NAMES,
    Earth,
    Floats,
    Pixels,
    View,
    commonest_class,
    render_classes,
    render_rgb,
)

Split = Literal["train", "calibration", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""In the order in which they are drawn: each apart from those before it."""
SHIPPED_SEED = 7
SHIPPED_COUNTS: dict[Split, int] = {"train": 6000, "calibration": 250, "test": 1000}
PATCH = 224
ASSETS = Path(__file__).parent / "assets"

COLUMNS = ("lat_deg", "lon_deg", "width_km", "angle_rad", "cloud_shift_deg", "cloud_gain", "brightness")
"""What the columns of `Draws.values` are; the first six make a View."""

_LEAST_SHARE = 0.6  # of a patch's pixels that its class must have
_SEARCH_SIZE = 32  # pixels an edge: enough to tell the commonest class
_TEST_LON = (-80.0, 30.0)
_CALIBRATION_LON = (-100.0, -86.0)
_GAPS_LON = ((-86.0, -80.0), (30.0, 36.0))


@dataclass(frozen=True)
class Draws:
    """Accepted draws of one split, in the order of its images.

    Attributes:
        values: float64 [n, 7], the columns of `COLUMNS`.
        labels: uint8 [n], indices into `CLASS_NAMES`.
    """

    values: Floats
    labels: Pixels

    def __len__(self) -> int:
        return len(self.labels)

    def view(self, index: int) -> View:
        """Where the camera of patch `index` looks."""
        return View(*(float(value) for value in self.values[index, :6]))

    def digest(self) -> str:
        """The hex SHA-256 of values and labels, as little-endian bytes."""
        values, labels = self.values.astype("<f8"), self.labels.astype("u1")
        return hashlib.sha256(values.tobytes() + labels.tobytes()).hexdigest()


def split_of(lon_deg: float) -> Split | None:
    """Which split a patch centred at that longitude belongs to; None in the gaps between them.

    There are gaps beside the test longitudes. They keep most patches of two splits apart, but not all:
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


def render_patch(earth: Earth, draws: Draws, index: int, size: int = PATCH) -> Pixels:
    """The pixels of one patch, uint8 [size, size, 3] RGB."""
    rgb = render_rgb(earth, draws.view(index), size) * draws.values[index, 6]
    patch: Pixels = np.clip(rgb, 0, 255).astype(np.uint8)
    return patch


def shipped_draws(split: Split, file: Path = ASSETS / "draws.npz") -> Draws:
    """The draws that come with the package: 6,000 train, 250 calibration, 1,000 test, from seed 7."""
    with np.load(file, allow_pickle=False) as stored:
        return Draws(stored[f"{split}_values"], stored[f"{split}_labels"])
