"""Reading pictures that came from outside: bounded, and with one clear error for whatever is wrong."""

from __future__ import annotations

import io
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from edgebench.errors import InputError
from edgebench.files import open_regular, require_regular
from edgebench.prepare.landcover import Pixels
from edgebench.records.values import Scene

MAX_PIXELS = 178_956_970
"""The largest picture that is read (Pillow's own limit): 13,377 x 13,377, half a gigabyte in memory."""

MAX_FILE_BYTES = 2**30
"""The largest file that is read as a picture: more than `MAX_PIXELS` take uncompressed."""

_EIGHT_BIT = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "HSV", "LAB"})
_SIXTEEN_BIT = frozenset({"I;16", "I;16L", "I;16B", "I;16N"})
_NOT_READ = frozenset({"EPS"})  # Pillow would start Ghostscript on it
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

    Grey of 16 bits is divided by 257, to the nearest. Colours become RGB and transparency is dropped; the
    first frame of several; turned upright by its orientation tag (EXIF), as viewers show it and as people
    label it.
    """
    return _read_npy(path) if path.suffix.lower() == ".npy" else np.array(_read_image(path), np.uint8)


def read_resized(path: Path, height: int, width: int) -> Pixels:
    """What `read_rgb` reads, uint8 [height, width, 3]: bilinear, over all pixels that an output pixel covers.

    InputError as `read_rgb` has it.
    """
    is_array = path.suffix.lower() == ".npy"
    image = Image.fromarray(_read_npy(path)) if is_array else _read_image(path)
    return np.asarray(image.resize((width, height), Image.Resampling.BILINEAR), np.uint8)


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
    suffix = path.suffix.lower()
    if suffix == ".npy" or Image.registered_extensions().get(suffix) in _picture_formats():
        return True
    try:
        with Image.open(path, formats=_picture_formats()):
            return True
    except Image.DecompressionBombError:
        return True
    except Exception:  # readers of headers raise nearly anything for a file that is not theirs
        return False


@cache
def _picture_formats() -> tuple[str, ...]:
    Image.init()
    return tuple(name for name in Image.ID if name not in _NO_PICTURES)


def _read_image(path: Path) -> Image.Image:
    formats = [name for name in _picture_formats() if name not in _NOT_READ]
    try:
        with open_regular(path, MAX_FILE_BYTES) as file, Image.open(file, formats=formats) as image:
            _check_pixels(path, image.width, image.height)
            if image.mode in _SIXTEEN_BIT or (image.mode == "I" and image.format == "PNG"):
                return _grey_of_16_bits(ImageOps.exif_transpose(image))
            if image.mode not in _EIGHT_BIT:
                raise InputError(
                    f"{path} has pixels of mode {image.mode}",
                    why="pictures of 8 bits a channel and grey ones of 16 bits are read",
                    fix="save it as 8-bit RGB",
                )
            return ImageOps.exif_transpose(image).convert("RGB")
    except InputError:
        raise
    except Image.DecompressionBombError as error:
        raise _too_many_pixels(path) from error
    except MemoryError as error:
        raise InputError(f"{path} does not fit into memory", fix="use a smaller picture") from error
    except Exception as error:  # decoders of broken files raise nearly anything
        raise InputError(
            f"{path} cannot be read as an image",
            why=_reason(error),
            fix="check that the file is whole and is a PNG, JPEG, TIFF or the like",
        ) from error


def _grey_of_16_bits(image: Image.Image) -> Image.Image:
    """Values from 0 to 65535 in RGB of 8 bits: 65535 / 257 is 255."""
    grey = ((np.asarray(image).astype(np.uint32) + 128) // 257).astype(np.uint8)
    return Image.fromarray(grey).convert("RGB")


def _read_npy(path: Path) -> Pixels:
    try:
        require_regular(path, MAX_FILE_BYTES)
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
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


# The scene, small, for reports: a JPEG of at most 1128 pixels an edge.


PREVIEW_PIXELS = 1128  # a quarter of 4512


def scene_preview(scene: Scene) -> bytes:
    """JPEG bytes of the part of the scene that is cut into patches."""
    pixels = np.load(scene.path, mmap_mode="r")
    across = scene.patch_width or scene.patch
    down = (scene.rows - 1) * (scene.stride or scene.patch) + scene.patch
    used = pixels[:down, : (scene.columns - 1) * (scene.stride or across) + across]
    step = max(1, max(used.shape[:2]) // (2 * PREVIEW_PIXELS))
    image = Image.fromarray(np.ascontiguousarray(used[::step, ::step]))
    image.thumbnail((PREVIEW_PIXELS, PREVIEW_PIXELS))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()
