"""Inputs for models that take no picture: drawn at random, or given as .npy and .npz files."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edgebench.cache.objects import Cache, canonical_hash
from edgebench.cache.recipes import Kept, find, keep, making
from edgebench.errors import InputError, UnsupportedError
from edgebench.regular_files import reason, require_regular
from edgebench.vocabulary.model_source import Samples
from edgebench.vocabulary.pictures import Scene

DEFAULT_COUNT = 400
"""Inferences in a pass, so that image_s stands for as many as the patches of the published scene."""

SEED = 7
_MOST_BYTES = 256 * 1024 * 1024  # of drawn samples; of larger inputs fewer are drawn and taken in turn
_MOST_GIVEN_BYTES = 2 * 1024 * 1024 * 1024
_MOST_GIVEN = 100_000
_GOLDEN = 4
_DRAWING = 1  # counts up when the same seed would give other numbers
Arrays = dict[str, NDArray[Any]]


class Input(Protocol):
    """An input with every axis fixed; `shape` is that of one sample, the batch included."""

    @property
    def name(self) -> str:
        """As the file has it."""

    @property
    def dtype(self) -> str:
        """As numpy names it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one sample."""


def random_samples(inputs: Sequence[Input], cache: Cache) -> Samples:
    """Samples from a seed: real numbers from the normal distribution, whole ones 0 or 1.

    0 and 1 are in every vocabulary and every table; what a network is asked to look up has to be there.
    UnsupportedError for an input of text or the like.
    """
    told = [[one.dtype, list(one.shape)] for one in inputs]
    size = sum(prod(one.shape) * _dtype(one).itemsize for one in inputs)
    n = max(1, min(DEFAULT_COUNT, _MOST_BYTES // max(1, size)))
    key = canonical_hash({"samples": told, "n": n, "seed": SEED, "drawing": _DRAWING})
    kept = find(cache, "samples", key)
    if kept is None:
        rng = np.random.default_rng(SEED)
        arrays = {str(place): _drawn(rng, one, n) for place, one in enumerate(inputs)}
        kept = _kept(cache, key, arrays)
    return Samples(kept.path, kept.sha256, n, f"random numbers (seed {SEED})")


def given_samples(path: Path, inputs: Sequence[Input], cache: Cache) -> Samples:
    """Samples from a folder of .npy files or a .npz, one array an input, called as the input is.

    An array is [n, ...] or one sample; InputError where one is missing, of another shape or type, or where
    they are not as many.
    """
    found = {_plain(name): array for name, array in _stored(path).items()}
    arrays: Arrays = {}
    for place, one in enumerate(inputs):
        array = found.get(_plain(one.name))
        if array is None and len(inputs) == len(found) == 1:
            array = next(iter(found.values()))
        if array is None:
            raise InputError(
                f"{path} has no array for the input {one.name!r}",
                why=f"it has {', '.join(sorted(found)) or 'none'}"[:300],
                fix="name each array, or each .npy file, as the input is named (`edgebench models show`)",
            )
        arrays[str(place)] = _as_input(path, one, array)
    counts = {len(array) for array in arrays.values()}
    if len(counts) != 1:
        raise InputError(
            f"{path} has not as many samples for each input",
            why=", ".join(f"{one.name}: {len(arrays[str(at)])}" for at, one in enumerate(inputs)),
            fix="give each input as many",
        )
    key = canonical_hash({"of": {name: _digest(array) for name, array in arrays.items()}})
    kept = find(cache, "samples", key) or _kept(cache, key, arrays)
    return Samples(kept.path, kept.sha256, counts.pop(), f"the inputs of {path.resolve().name!r}")


def golden_samples(samples: Samples, cache: Cache) -> Samples:
    """The first few of them, which outputs are checked with."""
    key = canonical_hash({"of": samples.sha256, "first": _GOLDEN})
    n = min(_GOLDEN, samples.n)
    kept = find(cache, "samples", key)
    if kept is None:
        with np.load(samples.path, allow_pickle=False) as stored:
            kept = _kept(cache, key, {name: stored[name][:n] for name in stored.files})
    return Samples(kept.path, kept.sha256, n, f"the first {n} of {samples.origin}")


def samples_scene(samples: Samples, given: bool) -> Scene:
    """What a pass is: every given sample once, or 400 drawn ones (the same again where there are fewer)."""
    count = samples.n if given else DEFAULT_COUNT
    name = f"{count} samples, {samples.origin}"
    return Scene(samples.path, samples.sha256, count, 1, 1, name=name, kind="samples")


def _drawn(rng: np.random.Generator, one: Input, n: int) -> NDArray[Any]:
    dtype, shape = _dtype(one), (n, *one.shape)
    if dtype.kind == "f":
        return rng.standard_normal(shape, np.float32).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def _dtype(one: Input) -> np.dtype[Any]:
    try:
        dtype = np.dtype(one.dtype)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "fiub" or dtype.itemsize > 8:
        raise UnsupportedError(
            f"the input {one.name!r} is of {one.dtype}",
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


def _as_input(path: Path, one: Input, array: NDArray[Any]) -> NDArray[Any]:
    dtype, shape = _dtype(one), tuple(one.shape)
    held = np.asarray(array)
    inner = shape[1:] if shape[:1] == (1,) else None
    if held.shape == shape:
        held = held[None]
    elif inner is not None and held.shape[1:] == inner:  # [n, ...] where the file has [1, ...]
        held = held[:, None]
    if held.shape[1:] != shape or not 0 < len(held) <= _MOST_GIVEN:
        raise InputError(
            f"the array for the input {one.name!r} in {path} is {list(array.shape)}",
            why=f"[n, {', '.join(map(str, shape))}] was due, n at most {_MOST_GIVEN}",
            fix="give one row a sample",
        )
    if not np.can_cast(held.dtype, dtype, "same_kind"):
        raise InputError(
            f"the array for the input {one.name!r} in {path} is {held.dtype}",
            why=f"the model takes {dtype}",
            fix="save it as that",
        )
    made = held.astype(dtype)
    if dtype.kind in "iu" and not np.array_equal(made, held):
        raise InputError(
            f"the array for the input {one.name!r} in {path} does not fit into {dtype}", fix="mend its values"
        )
    return made


def _plain(name: str) -> str:
    """An input's name without what converters add: `serving_default_tokens:0` is `tokens`."""
    return re.sub(r"^serving_default_|:\d+$", "", name)


def _digest(array: NDArray[Any]) -> list[Any]:
    return [
        str(array.dtype),
        list(array.shape),
        hashlib.sha256(np.ascontiguousarray(array).data).hexdigest(),
    ]


def _kept(cache: Cache, key: str, arrays: Arrays) -> Kept:
    with making(cache, f"samples-{key[:16]}") as scratch:
        made = scratch / "made.npz"
        np.savez(made, **arrays)  # type: ignore[arg-type]  # numpy's stubs take the names for its flag
        return keep(cache, "samples", key, made, ".npz")
