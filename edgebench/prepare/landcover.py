"""Looking straight down at a point of the globe: pixels and their classes from the Earth imagery.

The projection is orthographic, so shapes near the poles are not stretched as they are in the
equirectangular source. Pixels are labelled one by one: cloud where the composited cloud cover is dense,
water from the water mask, ice where the cloud-free ground is bright and colourless, vegetation where
green is at least red, bare otherwise. Ice, vegetation and bare thus come from colour: an honest
demonstration set, not a benchmark of remote sensing.

All arithmetic is in float64, whatever the version of numpy would promote to, because the shipped weights
and draws were made so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

CLASS_NAMES = ("water", "ice", "vegetation", "bare", "cloud")
EARTH_KM = 6371.0
EARTH_FILES = ("earth-blue-marble.jpg", "earth-water.png", "earth-clouds.png")

Floats: TypeAlias = NDArray[np.float64]
Pixels: TypeAlias = NDArray[np.uint8]

_WATER, _ICE, _VEGETATION, _BARE, _CLOUD = range(5)
_CLOUD_WHITE = 250.0
_SETTLE = 1e-6
"""Added before a value is cut off: sines differ by a last bit from processor to processor, and between equal
source pixels a value is a whole number up to such a bit. The pixels are the same on every machine with it."""
# A layer's byte as a fraction. The division is in float32, as when the draws were accepted.
_FRACTION = (np.arange(256, dtype=np.float32) / np.float32(255)).astype(np.float64)


@dataclass(frozen=True)
class View:
    """Where a camera looks: degrees, kilometres from edge to edge, radians of rotation, and the cloud.

    The cloud cover is turned by `cloud_shift_deg` of longitude against the ground and its density is
    multiplied by `cloud_gain` (0: a clear sky).
    """

    lat_deg: float
    lon_deg: float
    width_km: float
    angle_rad: float = 0.0
    cloud_shift_deg: float = 0.0
    cloud_gain: float = 1.0


@dataclass(frozen=True)
class Earth:
    """The source images, equirectangular with north up and 180 W at the left edge.

    Attributes:
        surface: uint32 [height * width], the bytes red, green, blue and water mask (255 is water) of a
            pixel in memory order: one look-up instead of four.
        cloud: uint8 [height * width], the alpha of the cloud cover.
        height, width: of both layers.
    """

    surface: NDArray[np.uint32]
    cloud: Pixels
    height: int
    width: int

    @classmethod
    def load(cls, folder: Path) -> Earth:
        """Read the three images of `EARTH_FILES`; OSError when one is missing or broken."""
        ground, water, cloud = (Image.open(folder / name) for name in EARTH_FILES)
        width, height = ground.size
        surface = np.empty((height, width, 4), np.uint8)
        surface[..., :3] = np.asarray(ground.convert("RGB"))
        surface[..., 3] = np.asarray(water.convert("L").resize((width, height), Image.Resampling.BILINEAR))
        alpha = cloud.convert("RGBA").getchannel("A")
        if alpha.size != (width, height):
            alpha = alpha.resize((width, height))
        return cls(surface.view(np.uint32).ravel(), np.asarray(alpha).ravel(), height, width)


def render(earth: Earth, view: View, size: int, rows: slice | None = None) -> tuple[Pixels, Pixels]:
    """The picture, uint8 [rows, size, 3] RGB, and each pixel's class, uint8 [rows, size].

    `rows` renders a band of the picture alone (all of it by default), for large ones.
    """
    ground, water, cloud = _layers(earth, view, size, rows)
    return _composite(ground, cloud), _classify(ground, water, cloud)


def render_rgb(earth: Earth, view: View, size: int, rows: slice | None = None) -> Pixels:
    """The picture of `render` without the classes."""
    ground, _, cloud = _layers(earth, view, size, rows)
    return _composite(ground, cloud)


def render_classes(earth: Earth, view: View, size: int) -> Pixels:
    """The classes of `render` without the picture."""
    return _classify(*_layers(earth, view, size, None))


def commonest_class(classes: Pixels) -> tuple[int, float]:
    """The class that most pixels have, and the share that has it."""
    shares = np.bincount(classes.ravel(), minlength=len(CLASS_NAMES)) / classes.size
    best = int(shares.argmax())
    return best, float(shares[best])


def _coordinates(view: View, size: int, rows: slice | None) -> tuple[Floats, Floats]:
    """Latitude and longitude of every pixel in degrees.

    The inverse orthographic projection: Snyder, Map Projections, 1987, equations 20-14 to 20-19.
    """
    half = view.width_km / EARTH_KM / 2
    across = ((np.arange(size, dtype=np.float32) + 0.5) / size * 2 - 1).astype(np.float64) * half
    down = across if rows is None else across[rows]
    flat_x, flat_y = np.meshgrid(across, -down)
    cosine, sine = np.cos(view.angle_rad), np.sin(view.angle_rad)
    x = cosine * flat_x - sine * flat_y
    y = sine * flat_x + cosine * flat_y
    rho = np.minimum(np.hypot(x, y), 0.999)  # beyond the limb there is nothing to see
    k = np.arcsin(rho)
    sin_k, cos_k = np.sin(k), np.cos(k)
    lat_0, lon_0 = np.radians(view.lat_deg), np.radians(view.lon_deg)
    sin_lat_0, cos_lat_0 = np.sin(lat_0), np.cos(lat_0)
    safe = np.where(rho == 0, 1, rho)
    lat = np.degrees(np.arcsin(np.clip(cos_k * sin_lat_0 + y * sin_k * cos_lat_0 / safe, -1, 1)))
    lon = np.degrees(lon_0 + np.arctan2(x * sin_k, rho * cos_lat_0 * cos_k - y * sin_lat_0 * sin_k))
    return lat, _wrapped(lon)


def _wrapped(lon: Floats) -> Floats:
    """Degrees between -540 and 540 as degrees between -180 and 180."""
    # To the last bit (lon + 180) % 360 - 180 without its division, which took a fifth of the time.
    turned = lon + 180
    return np.where(turned < 0, turned + 360, np.where(turned >= 360, turned - 360, turned)) - 180


@dataclass(frozen=True)
class _Neighbours:
    """The four source pixels around each point, as flat indices, and how to weigh them."""

    corners: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    right: Floats
    below: Floats

    @classmethod
    def around(cls, earth: Earth, lat: Floats, lon: Floats) -> _Neighbours:
        y = np.clip((90 - lat) / 180 * earth.height - 0.5, 0, earth.height - 1.001)
        x = (lon + 180) / 360 * earth.width - 0.5
        x = np.where(x < 0, x + earth.width, x)
        y0, x0 = y.astype(np.int64), x.astype(np.int64)
        x1 = x0 + 1
        x1[x1 == earth.width] = 0
        top = y0 * earth.width
        bottom = top + earth.width
        return cls((top + x0, top + x1, bottom + x0, bottom + x1), x - x0, y - y0)

    def blend(self, values: Sequence[NDArray[Any]]) -> Floats:
        """Bilinear interpolation of what the four corners hold."""
        a, b, c, d = values
        left, above = 1 - self.right, 1 - self.below
        blended: Floats = (a * left + b * self.right) * above + (c * left + d * self.right) * self.below
        return blended


def _layers(earth: Earth, view: View, size: int, rows: slice | None) -> tuple[Floats, Floats, Floats | None]:
    """Ground float64 [3, rows, size], water and cloud float64 [rows, size]; cloud None for a clear sky."""
    lat, lon = _coordinates(view, size, rows)
    near = _Neighbours.around(earth, lat, lon)
    corner_pixels = [earth.surface[corner].view(np.uint8).reshape(*lat.shape, 4) for corner in near.corners]
    ground = np.empty((3, *lat.shape))
    for channel in range(3):
        ground[channel] = near.blend([pixels[..., channel] for pixels in corner_pixels])
    water = near.blend([_FRACTION[pixels[..., 3]] for pixels in corner_pixels])
    if view.cloud_gain == 0:
        return ground, water, None
    over = _Neighbours.around(earth, lat, _wrapped(lon + view.cloud_shift_deg))
    cover = over.blend([_FRACTION[earth.cloud[corner]] for corner in over.corners])
    return ground, water, np.clip(cover * view.cloud_gain, 0, 1)


def _composite(ground: Floats, cloud: Floats | None) -> Pixels:
    rgb = np.empty((*ground.shape[1:], 3), np.uint8)
    for channel in range(3):
        seen = ground[channel]
        if cloud is not None:
            seen = seen * (1 - cloud) + _CLOUD_WHITE * cloud
        rgb[..., channel] = np.clip(seen + _SETTLE, 0, 255)  # cut off to whole numbers as it is stored
    return rgb


def _classify(ground: Floats, water: Floats, cloud: Floats | None) -> Pixels:
    brightest, darkest = ground.max(0), ground.min(0)
    ice = (brightest > 150) & (brightest - darkest < 45)
    classes = np.where(ground[1] >= ground[0], _VEGETATION, _BARE)
    classes = np.where(water > 0.5, _WATER, classes)
    classes = np.where(ice, _ICE, classes)
    if cloud is not None:
        classes = np.where(cloud > 0.45, _CLOUD, classes)
    return classes.astype(np.uint8)


# Which patches make up the land-cover set: the draws that a search accepted, seven numbers a patch.
#
# The search takes long, because most of the globe is water and cloud (benchmarks/shipped/draw_search.py).
# So
# the accepted draws are shipped, and patches are rendered from them.


Split = Literal["train", "calibration", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""In the order in which they are drawn: each apart from those before it."""
SHIPPED_SEED = 7
SHIPPED_COUNTS: dict[Split, int] = {"train": 6000, "calibration": 250, "test": 1000}
PATCH = 224
ASSETS = Path(__file__).parent / "assets"

COLUMNS = ("lat_deg", "lon_deg", "width_km", "angle_rad", "cloud_shift_deg", "cloud_gain", "brightness")
"""What the columns of `Draws.values` are; the first six make a View."""


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


def render_patch(earth: Earth, draws: Draws, index: int) -> Pixels:
    """The pixels of one patch, uint8 [PATCH, PATCH, 3] RGB."""
    rgb = render_rgb(earth, draws.view(index), PATCH) * draws.values[index, 6]
    patch: Pixels = np.clip(rgb, 0, 255).astype(np.uint8)
    return patch


def shipped_draws(split: Split, file: Path = ASSETS / "draws.npz") -> Draws:
    """The draws that come with the package: 6,000 train, 250 calibration, 1,000 test, from seed 7."""
    with np.load(file, allow_pickle=False) as stored:
        return Draws(stored[f"{split}_values"], stored[f"{split}_labels"])
