"""Pictures at a model's size: stretched, cropped as PyTorch does, padded; values of 16 bits in 8."""

import struct
import zlib
from pathlib import Path

import numpy as np
import PIL
import pytest
from numpy.typing import NDArray
from PIL import Image

from edgebench.errors import InputError
from edgebench.prepare.cache import Cache
from edgebench.prepare.image_sets import load_calibration
from edgebench.prepare.images import ReadingOptions, load_images
from edgebench.prepare.pictures import decode, read_rgb, resized
from edgebench.records.values import STRETCH, PictureReading, Resize

CROP = Resize("crop", 0.75)
PAD = Resize("pad")


def stored(folder: Path, pixels: NDArray[np.uint8], name: str = "a.png") -> Path:
    Image.fromarray(pixels).save(folder / name)
    return folder / name


def read_resized(path: Path, reading: PictureReading) -> NDArray[np.uint8]:
    return resized(path, decode(path, path.read_bytes()).image, reading)


def numbered(height: int, width: int) -> NDArray[np.uint8]:
    """A picture whose red is its row, green its column."""
    rows, columns = np.indices((height, width), np.uint8)
    return np.stack([rows, columns, np.full_like(rows, 9)], 2)


@pytest.mark.parametrize(
    ("height", "width", "top", "left"),
    # 8 = 6 / 0.75 pixels on the shorter side: nothing is resized. Half a pixel goes to the even neighbour.
    [(8, 16, 1, 5), (8, 17, 1, 6), (8, 19, 1, 6), (16, 8, 5, 1), (17, 8, 6, 1), (8, 8, 1, 1)],
)
def test_crop_cuts_the_middle(tmp_path: Path, height: int, width: int, top: int, left: int):
    pixels = numbered(height, width)
    cut = read_resized(stored(tmp_path, pixels), PictureReading("crop", 0.75, 6, 6))
    np.testing.assert_array_equal(cut, pixels[top : top + 6, left : left + 6])


def test_the_longer_side_of_a_crop_is_cut_off_to_whole_pixels(tmp_path: Path):
    # 9 x 4 becomes 4 x 2, and not 5 x 2 (4.5). Column 1 of 4 is the mean of the columns 1 to 5 of 9 with
    # weights 1 - distance / 2.25 from 3.375: 6.5 / 2.2778 = 2.854. Column 2 mirrors it: 8 - 2.854 = 5.146.
    pixels = np.repeat(numbered(4, 9)[..., 1:2] * 28, 3, 2)
    cut = read_resized(stored(tmp_path, pixels), PictureReading("crop", 1.0, 2, 2))
    assert cut[..., 0].tolist() == [[80, 144], [80, 144]]


@pytest.mark.parametrize("size", [(500, 375), (375, 500), (301, 299), (33, 101), (256, 257), (7, 5)])
@pytest.mark.parametrize(("side", "share"), [(224, 0.875), (64, 0.9), (30, 1.0)])
def test_crop_is_the_resize_and_center_crop_of_torchvision(tmp_path: Path, size, side: int, share: float):
    pixels = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), np.uint8)
    short = round(side / share)
    long = int(short * max(size) / min(size))
    resized = Image.fromarray(pixels).resize(
        (short, long) if size[0] <= size[1] else (long, short), Image.Resampling.BILINEAR
    )
    top, left = (round((length - side) / 2.0) for length in (resized.height, resized.width))
    right = np.asarray(resized)[top : top + side, left : left + side]
    cut = read_resized(stored(tmp_path, pixels), PictureReading("crop", share, side, side))
    np.testing.assert_array_equal(cut, right)


def test_a_crop_for_unequal_sides_covers_both(tmp_path: Path):
    pixels = numbered(8, 16)
    cut = read_resized(stored(tmp_path, pixels), PictureReading("crop", 0.75, 6, 12))
    np.testing.assert_array_equal(cut, pixels[1:7, 2:14])
    high = numbered(16, 8)
    cut = read_resized(stored(tmp_path, high), PictureReading("crop", 0.75, 3, 6))
    np.testing.assert_array_equal(cut, high[6:9, 1:7])


@pytest.mark.parametrize(
    ("height", "width", "top", "left", "rows", "columns"),
    [(4, 8, 2, 0, 4, 8), (8, 4, 0, 2, 8, 4), (8, 8, 0, 0, 8, 8), (5, 8, 2, 0, 5, 8), (1, 900, 4, 0, 1, 8)],
)
def test_pad_keeps_the_whole_picture_in_the_middle_of_black(
    tmp_path: Path, height, width, top, left, rows, columns
):
    path = stored(tmp_path, np.full((height, width, 3), 200, np.uint8))
    padded = read_resized(path, PictureReading("pad", None, 8, 8))
    right = np.zeros((8, 8, 3), np.uint8)
    right[top : top + rows, left : left + columns] = 200
    np.testing.assert_array_equal(padded, right)


def test_a_line_is_too_narrow_for_a_crop(tmp_path: Path):
    path = stored(tmp_path, np.zeros((1, 13_000, 3), np.uint8))
    with pytest.raises(InputError) as caught:
        read_resized(path, PictureReading("crop", 0.875, 224, 224))
    assert "3328000 x 256" in caught.value.why


def test_each_way_is_a_set_of_its_own(tmp_path: Path):
    cache, folder = Cache(tmp_path / "cache"), tmp_path / "set"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (8, 16, 3), np.uint8)
    stored(folder, pixels)
    sets = {
        resize: load_images(folder, cache, 6, ReadingOptions(resize=resize))
        for resize in (STRETCH, CROP, PAD)
    }
    assert len({images.sha256 for images in sets.values()}) == 3
    np.testing.assert_array_equal(np.load(sets[CROP].path)[0], pixels[1:7, 5:11])
    assert load_images(folder, cache, 6) == sets[STRETCH]
    assert load_calibration(folder, cache, 6, ReadingOptions(resize=CROP)) == sets[CROP]
    assert sets[CROP].reading == PictureReading(
        "crop", 0.75, 6, 6, 3, filter="bilinear", is_antialiased=True, is_upright=True, pillow=PIL.__version__
    )


# Pictures of 16 bits a channel, as cameras and scanners write them.


def png(pixels: NDArray[np.uint16]) -> bytes:
    height, width, channels = pixels.shape
    kind = {2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def tiff(pixels: NDArray[np.uint16], order: str = "<", *, compressed: bool = False, planar: int = 1) -> bytes:
    """Two strips of whole pixels, or a plane for each channel."""
    height, width, channels = pixels.shape
    half = height // 2
    parts = [pixels[:half], pixels[half:]] if planar == 1 else [*pixels.transpose(2, 0, 1)]
    raw = [part.astype(f"{order}u2").tobytes() for part in parts]
    strips = [zlib.compress(part) for part in raw] if compressed else raw
    bits = 8 + 2 + 12 * 10 + 4
    offsets = bits + 2 * channels
    counts = offsets + 4 * len(strips)
    starts = np.cumsum([counts + 4 * len(strips), *map(len, strips)])[:-1]
    rows = half if planar == 1 else height
    numbers = (
        *((256, width), (257, height), (258, bits), (259, 8 if compressed else 1), (262, 2)),
        *((273, offsets), (277, channels), (278, rows), (279, counts), (284, planar)),
    )
    several = {258: (3, channels), 273: (4, len(strips)), 279: (4, len(strips))}
    data = (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HIH", 42, 8, len(numbers))
    for tag, number in numbers:
        data += struct.pack(f"{order}HHII", tag, *several.get(tag, (4, 1)), number)
    data += struct.pack(f"{order}I{channels}H", 0, *[16] * channels)
    data += struct.pack(f"{order}{2 * len(strips)}I", *starts, *map(len, strips))
    return data + b"".join(strips)


DEEP = np.random.default_rng(0).integers(0, 65_536, (50, 40, 4), np.uint16)
DEEP[0, 0] = [0, 128, 129, 65_535]
DEEP[0, 1] = [255, 33_024, 33_025, 256]


@pytest.mark.parametrize(
    ("name", "data", "channels"),
    [
        ("rgb.png", png(DEEP[..., :3]), [0, 1, 2]),
        ("rgba.png", png(DEEP), [0, 1, 2]),
        ("grey_alpha.png", png(DEEP[..., :2]), [0, 0, 0]),
        ("little.tif", tiff(DEEP[..., :3]), [0, 1, 2]),
        ("big.tif", tiff(DEEP[..., :3], ">"), [0, 1, 2]),
        ("little_deflate.tif", tiff(DEEP[..., :3], compressed=True), [0, 1, 2]),
        ("big_deflate.tif", tiff(DEEP[..., :3], ">", compressed=True), [0, 1, 2]),
        ("rgba.tif", tiff(DEEP), [0, 1, 2]),
    ],
)
def test_colours_of_sixteen_bits_are_divided_by_257(tmp_path: Path, name: str, data: bytes, channels):
    (tmp_path / name).write_bytes(data)
    pixels = read_rgb(tmp_path / name)
    # The high bytes of 129, 255, 33,024 and 256 are 0, 0, 129 and 1.
    first = np.array([[0, 0, 1, 255], [1, 128, 129, 1]])
    assert pixels[0, :2].tolist() == first[:, channels].tolist()
    np.testing.assert_array_equal(pixels, np.rint(DEEP[..., channels] / 257))


@pytest.mark.parametrize("compressed", [False, True])
def test_planes_of_sixteen_bits_are_refused(tmp_path: Path, compressed: bool):
    (tmp_path / "a.tif").write_bytes(tiff(DEEP[..., :3], compressed=compressed, planar=2))
    with pytest.raises(InputError, match="16 bits"):
        read_rgb(tmp_path / "a.tif")
