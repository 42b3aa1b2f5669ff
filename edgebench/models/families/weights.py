"""Trained weights as files: the shipped ones by depth multiplier, and how such a file is read and written.

A weights file is an .npz of float16 arrays named `<layer>/<variable>` as in Keras, such as `conv1/kernel`.
The archive is not compressed and bears no dates: equal weights make equal files, so a file's hash stands
for what is in it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.archives import require_bounded
from edgebench.cache.objects import canonical_hash, sha256_file
from edgebench.errors import InputError, UnsupportedError
from edgebench.regular_files import open_regular, reason
from edgebench.vocabulary.variant import DEPTH_MULTIPLIERS, FAMILY

FOLDER = Path(__file__).parent / "weights"
RANDOM_SEED = 0
RANDOM_VERSION = 1  # counts up when the same seed would give other weights
MAX_FILE_BYTES = 256 * 1024 * 1024
"""The largest weights file, packed or unpacked."""

_DAMAGE = (
    OSError, ValueError, EOFError, KeyError, TypeError, RuntimeError, MemoryError, zipfile.BadZipFile
)  # fmt: skip
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the date in every member of the archive, so that hashes stay equal


@dataclass(frozen=True)
class Weights:
    """A weights file, the SHA-256 of its bytes, and how many parameters it holds."""

    path: Path
    sha256: str
    parameters: int


@lru_cache
def shipped_weights(depth_multiplier: float | None, family: str = FAMILY) -> Weights:
    """The trained weights that come with the package; UnsupportedError where there are none."""
    if family != FAMILY or depth_multiplier not in DEPTH_MULTIPLIERS:
        raise UnsupportedError(
            f"there are no trained weights for {family} at depth multiplier {depth_multiplier}",
            why=f"{FAMILY} is shipped at {', '.join(str(depth) for depth in DEPTH_MULTIPLIERS)}",
        )
    path = FOLDER / f"{family}-{depth_multiplier}.npz"
    return Weights(path, sha256_file(path), count_parameters(path))


def has_shipped(family: str, depth_multiplier: float | None) -> bool:
    """Whether trained weights of that model come with the package."""
    return family == FAMILY and depth_multiplier in DEPTH_MULTIPLIERS


def random_identity(family: str, depth_multiplier: float | None, classes: int) -> str:
    """What stands for random weights in place of a file's hash: the hash of all that decides them."""
    return canonical_hash(
        {
            "random": RANDOM_VERSION,
            "seed": RANDOM_SEED,
            "family": family,
            "width": depth_multiplier,
            "classes": classes,
        }
    )


def count_parameters(path: Path) -> int:
    """How many numbers a weights file holds, trainable or not; reads the headers alone."""
    return sum(prod(shape) for shape in shapes_of(path).values())


def shapes_of(path: Path) -> dict[str, tuple[int, ...]]:
    """The arrays' shapes by name, from their headers alone; InputError when it is no weights file."""
    shapes: dict[str, tuple[int, ...]] = {}
    try:
        with open_regular(path, MAX_FILE_BYTES) as file, zipfile.ZipFile(file) as archive:
            require_bounded(archive, MAX_FILE_BYTES)
            for name in archive.namelist():
                with archive.open(name) as member:
                    version = np.lib.format.read_magic(member)
                    read = np.lib.format
                    header = read.read_array_header_1_0 if version == (1, 0) else read.read_array_header_2_0
                    shapes[name.removesuffix(".npy")] = tuple(int(length) for length in header(member)[0])
    except _DAMAGE as error:
        raise _not_weights(path, error) from error
    return shapes


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """The arrays of a weights file by name, as float32; InputError when it is not such a file."""
    try:
        with open_regular(path, MAX_FILE_BYTES) as file, zipfile.ZipFile(file) as archive:
            require_bounded(archive, MAX_FILE_BYTES)
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                arrays = {name: np.asarray(stored[name], np.float32) for name in stored.files}
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise ValueError("it holds numbers that are not finite")
    except _DAMAGE as error:
        raise _not_weights(path, error) from error
    return arrays


def _not_weights(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path} cannot be read as weights",
        why=reason(error),
        fix="use a file that `edgebench models train` wrote",
    )


def write_weights(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store arrays as float16; ValueError where a number is too large for it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            if not np.isfinite(array).all() or np.abs(array).max(initial=0) > np.finfo(np.float16).max:
                raise ValueError(f"the weights of {name} do not fit into float16")
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w") as member:
                np.lib.format.write_array(member, array.astype(np.float16), allow_pickle=False)
