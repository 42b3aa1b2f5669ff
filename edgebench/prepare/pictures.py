"""Reading pictures that came from outside: bounded, and with one clear error for whatever is wrong."""

from __future__ import annotations

import io
import os
import stat
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError
from PIL.TiffImagePlugin import TiffImageFile

from edgebench.errors import InputError
from edgebench.files import open_regular, require_regular
from edgebench.prepare.landcover import Pixels
from edgebench.records.values import PictureReading, Scene

MAX_PIXELS = 178_956_970
"""The largest picture that is read (Pillow's own limit): 13,377 x 13,377, half a gigabyte in memory."""

MAX_FILE_BYTES = 2**30
"""The largest file that is read as a picture: more than `MAX_PIXELS` take uncompressed."""

_EIGHT_BIT = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "HSV", "LAB"})
_LOW_BYTES = {
    "LA;16B": "RGBA",  # the four bytes as they are
    **{
        f"{mode};16{order}": f"{mode};16{other}"
        for mode in ("RGB", "RGBA", "RGBX", "CMYK")
        for order, other in (("B", "L"), ("L", "B"), ("N", "B" if sys.byteorder == "little" else "L"))
    },
}
"""Pillow's decoders that keep the high byte of 16 bits, and the one that keeps the low byte instead."""

_BITS_PER_SAMPLE, _PLANAR = 258, 284  # tags of TIFF
_SIXTEEN_BIT = frozenset({"I;16", "I;16L", "I;16B", "I;16N"})
_NOT_READ = frozenset({"EPS"})  # Pillow would start Ghostscript on it
_FORMATS_OF_FRAMES = frozenset({"AVIF", "DCX", "FLI", "GIF", "PNG", "TIFF", "WEBP"})
"""Not MPO and PSD: their further pictures are previews, gain maps and layers of the first."""
_HEIC_BRANDS = frozenset({b"ftypheic", b"ftypheix", b"ftypheim", b"ftyphevc", b"ftypmif1", b"ftypmsf1"})
_NO_PICTURES = frozenset({"BUFR", "GRIB", "HDF5", "MPEG"})  # Pillow knows them by name and cannot read them


@contextmanager
def quiet_decoders() -> Iterator[None]:
    """Without the decoders' warnings: what is wrong is an error here, the rest is of no use.

    Around the reading as a whole, because the filter of warnings belongs to all threads together.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def read_rgb(path: Path) -> Pixels:
    """The pixels of an image file (or .npy), uint8 [height, width, 3]; InputError when it is not one.

    Values of 16 bits are divided by 257, to the nearest. Colours become RGB and transparency is dropped; the
    first frame of several; turned upright by its orientation tag (EXIF), as viewers show it and as people
    label it.
    """
    return (
        _read_npy(path) if path.suffix.lower() == ".npy" else np.array(_as_rgb(_read_image(path)), np.uint8)
    )


@dataclass(frozen=True)
class DecodedPicture:
    """A decoded picture of a file, in RGB, and what of the file it leaves out.

    Attributes:
        image: as `read_rgb` describes it.
        has_more_frames: the file is an animation or has several pages, of which this is the first.
        had_transparency: some of its pixels were not opaque.
    """

    image: Image.Image
    has_more_frames: bool = False
    had_transparency: bool = False


def decode(path: Path, data: bytes) -> DecodedPicture:
    """Decode the content of a picture file (or .npy), named by `path`; InputError when it is not one."""
    if path.suffix.lower() == ".npy":
        return DecodedPicture(Image.fromarray(_read_npy(path, data)))
    image = _read_image(path, data)
    return DecodedPicture(_as_rgb(image), _has_more_frames(image.format, data), _has_transparency(image))


def resized(path: Path, image: Image.Image, reading: PictureReading) -> Pixels:
    """Bring a picture to a model's size, uint8 [height, width, channels]; bilinear with antialiasing.

    A picture of one channel is grey (luma of ITU-R BT.601). `path` is of its file. Raises InputError if a
    crop of a long and narrow picture would be too large.
    """
    if reading.channels == 1:
        image = image.convert("L")
    if reading.mode == "stretch":
        fitted = image.resize((reading.width, reading.height), Image.Resampling.BILINEAR)
    else:
        fitted = _padded(image, reading) if reading.mode == "pad" else _cropped(path, image, reading)
    return np.asarray(fitted, np.uint8).reshape(reading.height, reading.width, reading.channels)


def _cropped(path: Path, image: Image.Image, reading: PictureReading) -> Image.Image:
    """Cut the middle out of the picture at its own aspect, as torchvision's Resize and CenterCrop do.

    Resize(round(size / share)) sets the shorter side and cuts the longer one off to whole pixels; CenterCrop
    rounds half pixels to even. For a size with unequal sides, the resized picture covers both, divided by
    the share.
    """
    height, width, share = reading.height, reading.width, reading.crop_share or 1.0
    least_height, least_width = round(height / share), round(width / share)
    new_height, new_width = least_height, least_height * image.width // image.height
    if new_width < least_width:
        new_height, new_width = least_width * image.height // image.width, least_width
    if new_height * new_width > MAX_PIXELS:
        raise InputError(
            f"{path} is too long and narrow for --resize crop",
            why=f"{image.width} x {image.height} pixels would become {new_width} x {new_height}",
            fix="use --resize pad or stretch, or cut the picture",
        )
    resized = image.resize((new_width, new_height), Image.Resampling.BILINEAR)
    left, top = round((new_width - width) / 2), round((new_height - height) / 2)
    return resized.crop((left, top, left + width, top + height))


def _padded(image: Image.Image, reading: PictureReading) -> Image.Image:
    """Put the whole picture at its own aspect into the middle of black."""
    height, width = reading.height, reading.width
    scale = min(height / image.height, width / image.width)
    new_height, new_width = (max(1, round(side * scale)) for side in (image.height, image.width))
    padded = Image.new(image.mode, (width, height))
    resized = image.resize((new_width, new_height), Image.Resampling.BILINEAR)
    padded.paste(resized, (round((width - new_width) / 2), round((height - new_height) / 2)))
    return padded


def _as_rgb(image: Image.Image) -> Image.Image:
    return image if image.mode == "RGB" else image.convert("RGB")


def _has_transparency(image: Image.Image) -> bool:
    """Return whether a pixel is not opaque; an alpha channel alone does not make it so."""
    if not image.has_transparency_data:
        return False
    lowest, _ = image.convert("RGBA").getchannel("A").getextrema()
    return isinstance(lowest, int | float) and lowest < 255


def _has_more_frames(picture_format: str | None, data: bytes) -> bool:
    """Return whether a file has several frames or pages.

    Counted on a file of its own: to look for further frames may spoil the first one's decoder.
    """
    if picture_format not in _FORMATS_OF_FRAMES:
        return False
    with suppress(Exception), Image.open(io.BytesIO(data), formats=[picture_format]) as image:
        return int(getattr(image, "n_frames", 1)) > 1
    return True  # what follows the first frame is broken


def looks_like_picture(path: Path) -> bool:
    """Whether a file is meant as a picture: by its name's ending, else by its first bytes.

    A broken file with a picture's name looks like one, and so does a link to a file that is gone: what it
    held is unknown, so it is named when it is read. A text file, an archive, a file manager's `Thumbs.db`, a
    pipe, a socket or a device does not.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
    except OSError:
        return True
    if has_picture_ending(path.name):
        return True
    try:
        with Image.open(path, formats=_picture_formats()):
            return True
    except Image.DecompressionBombError:
        return True
    except Exception:  # readers of headers raise nearly anything for a file that is not theirs
        return False


def has_picture_ending(name: str) -> bool:
    """Return whether a file's name ends as that of a picture."""
    return _is_picture_ending(os.path.splitext(name)[1].lower())  # noqa: PTH122  # of thousands in a row


@cache
def _is_picture_ending(ending: str) -> bool:
    return ending == ".npy" or Image.registered_extensions().get(ending) in _picture_formats()


@cache
def _picture_formats() -> tuple[str, ...]:
    Image.init()
    return tuple(name for name in Image.ID if name not in _NO_PICTURES)


def _read_image(path: Path, data: bytes | None = None) -> Image.Image:
    """Decode and turn a picture, in the mode of its file; `data` is the file's content if it is known."""
    formats = [name for name in _picture_formats() if name not in _NOT_READ]
    try:
        opened = open_regular(path, MAX_FILE_BYTES) if data is None else io.BytesIO(data)
        with opened as file, Image.open(file, formats=formats) as image:
            _check_pixels(path, image.width, image.height)
            if image.mode in _SIXTEEN_BIT or (image.mode == "I" and image.format == "PNG"):
                return _grey_of_16_bits(ImageOps.exif_transpose(image))
            if image.mode not in _EIGHT_BIT:
                raise InputError(
                    f"{path} has pixels of mode {image.mode}",
                    why="pictures of 8 bits a channel and whole numbers of 16 bits are read",
                    fix="save it as 8-bit RGB",
                )
            if isinstance(image, TiffImageFile) and image.tag_v2.get(_PLANAR) == 2 and _bits(image) > 8:
                raise InputError(
                    f"{path} has a plane of {_bits(image)} bits for each channel",
                    why="Pillow reads such a TIFF wrongly",
                    fix="save it with interleaved channels, or as PNG",
                )
            raw_mode = _raw_mode(image)
            ImageOps.exif_transpose(image, in_place=True)  # without a copy
            if raw_mode in _LOW_BYTES:
                with Image.open(file, formats=[image.format or ""]) as again:
                    return _colour_of_16_bits(image, again, raw_mode)
            return image
    except InputError:
        raise
    except Image.DecompressionBombError as error:
        raise _too_many_pixels(path) from error
    except MemoryError as error:
        raise InputError(f"{path} does not fit into memory", fix="use a smaller picture") from error
    except Exception as error:  # decoders of broken files raise nearly anything
        is_heic = data is not None and data[4:12] in _HEIC_BRANDS
        raise InputError(
            f"{path} cannot be read as an image",
            why="it is in HEIC" if is_heic else _reason(error),
            fix="save it as JPEG"
            if is_heic
            else "check that the file is whole and is a PNG, JPEG, TIFF or the like",
        ) from error


def _grey_of_16_bits(image: Image.Image) -> Image.Image:
    return Image.fromarray(_of_16_bits(np.asarray(image))).convert("RGB")


def _of_16_bits(values: NDArray[Any]) -> Pixels:
    """Values from 0 to 65535 in 8 bits, to the nearest: 65535 / 257 is 255."""
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)


def _bits(image: TiffImageFile) -> int:
    return int(max(image.tag_v2.get(_BITS_PER_SAMPLE, (1,))))


def _raw_mode(image: Image.Image) -> str:
    """Pillow's name of the decoder of a picture that is not decoded yet."""
    arguments = image.tile[0].args if isinstance(image, ImageFile.ImageFile) and image.tile else ""
    return str(arguments if isinstance(arguments, str) else (*(arguments or ()), "")[0])


def _colour_of_16_bits(high: Image.Image, again: ImageFile.ImageFile, raw_mode: str) -> Image.Image:
    """RGB of 8 bits from the high bytes that Pillow keeps, and the low ones of a second decoding."""
    low_mode = _LOW_BYTES[raw_mode]
    again.tile = [
        tile._replace(args=(low_mode, *tile.args[1:]) if isinstance(tile.args, tuple) else low_mode)
        for tile in again.tile
    ]
    low = np.asarray(ImageOps.exif_transpose(again))
    if raw_mode == "LA;16B":
        low = low[..., [1, 1, 1, 3]]
    values = np.asarray(high).astype(np.uint32) * 256 + low
    return Image.fromarray(_of_16_bits(values), high.mode).convert("RGB")


def _read_npy(path: Path, data: bytes | None = None) -> Pixels:
    try:
        if data is None:
            require_regular(path, MAX_FILE_BYTES)
            stored = np.load(path, mmap_mode="r", allow_pickle=False)
        else:
            stored = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # a header is parsed as Python is, which raises many kinds
        raise InputError(
            f"{path} cannot be read as an array",
            why=_reason(error),
            fix="save it with numpy.save as uint8 [height, width, 3]",
        ) from error
    if not isinstance(stored, np.ndarray) or stored.dtype != np.uint8 or stored.shape[2:] != (3,):
        content = f"{stored.dtype} {list(stored.shape)}" if isinstance(stored, np.ndarray) else "an archive"
        raise InputError(
            f"{path} is no picture", why=f"it holds {content}", fix="save it as uint8 [height, width, 3], RGB"
        )
    _check_pixels(path, stored.shape[1], stored.shape[0])
    return np.array(stored, order="C")


def _check_pixels(path: Path, width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise _too_many_pixels(path)
    if width * height == 0:
        raise InputError(f"{path} has no pixels", fix="use another picture")


def _too_many_pixels(path: Path) -> InputError:
    return InputError(
        f"{path} is too large",
        why=f"it claims more than {MAX_PIXELS // 1_000_000} million pixels",
        fix="cut the picture or make it smaller",
    )


def _reason(error: Exception) -> str:
    """The first line of an error, without the path that the message has already."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, UnidentifiedImageError):
        return "it is in no image format that is known"
    return (str(error) or type(error).__name__).splitlines()[0]


def as_image(pixels: Pixels) -> Image.Image:
    """An image of uint8 [height, width, 3], or of [height, width, 1] in grey."""
    return Image.fromarray(np.ascontiguousarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels))


# The scene, small, for reports: a JPEG of at most 1128 pixels an edge.


PREVIEW_PIXELS = 1128  # a quarter of 4512


def scene_preview(scene: Scene) -> bytes:
    """JPEG bytes of the part of the scene that is cut into patches."""
    pixels = np.load(scene.path, mmap_mode="r")
    across = scene.patch_width or scene.patch
    down = (scene.rows - 1) * (scene.stride or scene.patch) + scene.patch
    used = pixels[:down, : (scene.columns - 1) * (scene.stride or across) + across]
    step = max(1, max(used.shape[:2]) // (2 * PREVIEW_PIXELS))
    image = as_image(used[::step, ::step])
    image.thumbnail((PREVIEW_PIXELS, PREVIEW_PIXELS))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()
