"""Inputs for models that take no picture: drawn at random, or given as .npy and .npz files."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import InputError, UnsupportedError
from edgebench.files import reason, require_regular
from edgebench.prepare.cache import Cache, CachedFile, canonical_hash, obtain
from edgebench.records.model import FixedInput, Samples
from edgebench.records.values import Scene

DEFAULT_COUNT = 400
"""Inferences in a pass, so that image_s is the time of as many as the patches of the published scene."""

SEED = 7
_MOST_BYTES = 256 * 1024 * 1024  # of drawn samples; of larger inputs fewer are drawn and taken in turn
_MOST_GIVEN_BYTES = 2 * 1024 * 1024 * 1024
_MOST_GIVEN = 100_000
_GOLDEN = 4
_DRAWING = 1  # counts up when the same seed would give other numbers
Arrays = dict[str, NDArray[Any]]


def random_samples(inputs: Sequence[FixedInput], cache: Cache) -> Samples:
    """Samples from a seed: real numbers from the normal distribution, whole ones 0 or 1.

    0 and 1 are in every vocabulary and every table; what a network is asked to look up has to be there.
    UnsupportedError for an input of text or the like.
    """
    shapes = [[tensor.dtype, list(tensor.shape)] for tensor in inputs]
    size = sum(prod(tensor.shape) * _dtype(tensor).itemsize for tensor in inputs)
    n = max(1, min(DEFAULT_COUNT, _MOST_BYTES // max(1, size)))
    key = canonical_hash({"samples": shapes, "n": n, "seed": SEED, "drawing": _DRAWING})

    def draw() -> Arrays:
        rng = np.random.default_rng(SEED)
        return {str(place): _drawn(rng, tensor, n) for place, tensor in enumerate(inputs)}

    file = _stored_file(cache, key, draw)
    return Samples(file.path, file.sha256, n, f"random numbers (seed {SEED})")


def given_samples(path: Path, inputs: Sequence[FixedInput], cache: Cache) -> Samples:
    """Samples from a folder of .npy files or a .npz, one array an input, called as the input is.

    An array is [n, ...] or one sample; InputError where one is missing, of another shape or type, or where
    they are not as many.
    """
    by_name = {_plain(name): array for name, array in _stored(path).items()}
    arrays: Arrays = {}
    for place, tensor in enumerate(inputs):
        array = by_name.get(_plain(tensor.name))
        if array is None and len(inputs) == len(by_name) == 1:
            array = next(iter(by_name.values()))
        if array is None:
            raise InputError(
                f"{path} has no array for the input {tensor.name!r}",
                why=f"it has {', '.join(sorted(by_name)) or 'none'}"[:300],
                fix="name each array, or each .npy file, as the input is named (`edgebench models show`)",
            )
        arrays[str(place)] = _as_input(path, tensor, array)
    counts = {len(array) for array in arrays.values()}
    if len(counts) != 1:
        raise InputError(
            f"{path} has not as many samples for each input",
            why=", ".join(f"{tensor.name}: {len(arrays[str(at)])}" for at, tensor in enumerate(inputs)),
            fix="give each input as many",
        )
    contents = {
        name: [
            str(array.dtype),
            list(array.shape),
            hashlib.sha256(np.ascontiguousarray(array).data).hexdigest(),
        ]
        for name, array in arrays.items()
    }
    key = canonical_hash({"of": contents})
    file = _stored_file(cache, key, lambda: arrays)
    return Samples(file.path, file.sha256, counts.pop(), f"the inputs of {path.resolve().name!r}")


def golden_samples(samples: Samples, cache: Cache) -> Samples:
    """The first few of them, which outputs are checked with."""
    key = canonical_hash({"of": samples.sha256, "first": _GOLDEN})
    n = min(_GOLDEN, samples.n)

    def first() -> Arrays:
        with np.load(samples.path, allow_pickle=False) as stored:
            return {name: stored[name][:n] for name in stored.files}

    file = _stored_file(cache, key, first)
    return Samples(file.path, file.sha256, n, f"the first {n} of {samples.origin}")


def samples_scene(samples: Samples, is_users: bool) -> Scene:
    """What a pass is: every given sample once, or 400 drawn ones (the same again where there are fewer)."""
    count = samples.n if is_users else DEFAULT_COUNT
    name = f"{count} samples, {samples.origin}"
    return Scene(samples.path, samples.sha256, count, 1, 1, name=name, kind="samples")


def _drawn(rng: np.random.Generator, tensor: FixedInput, n: int) -> NDArray[Any]:
    dtype, shape = _dtype(tensor), (n, *tensor.shape)
    if dtype.kind == "f":
        return rng.standard_normal(shape, np.float32).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def _dtype(tensor: FixedInput) -> np.dtype[Any]:
    try:
        dtype = np.dtype(tensor.dtype)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "fiub" or dtype.itemsize > 8:
        raise UnsupportedError(
            f"the input {tensor.name!r} is of {tensor.dtype}",
            why="samples are real or whole numbers",
            fix="export the model without its processing of text",
        )
    return dtype


def _stored(path: Path) -> Mapping[str, NDArray[Any]]:
    try:
        if path.is_dir():
            files = [file for file in sorted(path.iterdir()) if file.suffix == ".npy"]
            _check_size(path, sum(require_regular(file).st_size for file in files))
            return {file.stem: np.load(file, allow_pickle=False) for file in files}
        _check_size(path, require_regular(path).st_size)
        if path.suffix == ".npy":
            return {path.stem: np.load(path, allow_pickle=False)}
        with zipfile.ZipFile(path) as archive:
            _check_size(path, sum(info.file_size for info in archive.infolist()))
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except InputError:
        raise
    except Exception as error:  # headers of arrays are parsed as Python is, which raises many kinds
        raise InputError(
            f"{path} cannot be read as inputs",
            why=reason(error),
            fix="give a folder of .npy files or a .npz, one array an input",
        ) from error


def _check_size(path: Path, size: int) -> None:
    if size > _MOST_GIVEN_BYTES:
        raise InputError(
            f"{path} is too large", why=f"more than {_MOST_GIVEN_BYTES >> 30} GB", fix="give fewer samples"
        )


def _as_input(path: Path, tensor: FixedInput, array: NDArray[Any]) -> NDArray[Any]:
    dtype, shape = _dtype(tensor), tuple(tensor.shape)
    rows = np.asarray(array)
    inner = shape[1:] if shape[:1] == (1,) else None
    if rows.shape == shape:
        rows = rows[None]
    elif inner is not None and rows.shape[1:] == inner:  # [n, ...] where the file has [1, ...]
        rows = rows[:, None]
    if rows.shape[1:] != shape or not 0 < len(rows) <= _MOST_GIVEN:
        raise InputError(
            f"the array for the input {tensor.name!r} in {path} is {list(array.shape)}",
            why=f"[n, {', '.join(map(str, shape))}] was expected, n at most {_MOST_GIVEN}",
            fix="give one row a sample",
        )
    if not np.can_cast(rows.dtype, dtype, "same_kind"):
        raise InputError(
            f"the array for the input {tensor.name!r} in {path} is {rows.dtype}",
            why=f"the model takes {dtype}",
            fix="save it as that",
        )
    converted = rows.astype(dtype)
    if dtype.kind in "iu" and not np.array_equal(converted, rows):
        raise InputError(
            f"the array for the input {tensor.name!r} in {path} does not fit into {dtype}",
            fix="correct its values",
        )
    return converted


def _plain(name: str) -> str:
    """An input's name without what converters add: `serving_default_tokens:0` is `tokens`."""
    return re.sub(r"^serving_default_|:\d+$", "", name)


def _stored_file(cache: Cache, key: str, make: Callable[[], Arrays]) -> CachedFile:
    # numpy's stubs take the names for its flag
    return obtain(cache, "samples", key, ".npz", lambda file: np.savez(file, **make()))  # type: ignore[arg-type]
