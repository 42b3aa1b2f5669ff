"""Inputs for models that take no picture: drawn at random, or given in files, perhaps with labels."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.timed import kept_places
from edgebench.errors import InputError, UnsupportedError
from edgebench.files import reason, require_distinct_arrays, require_regular
from edgebench.prepare.cache import Cache, CachedFile, canonical_hash, obtain
from edgebench.prepare.image_lists import list_files
from edgebench.records.model import FixedInput, Samples, TensorInput, UserModel
from edgebench.records.values import ImageSet, Scene, Scores, Task

DEFAULT_COUNT = 400
"""Inferences in a pass, so that image_s is the time of as many as the patches of the published scene."""

GOLDEN = 4
"""Samples that outputs are checked with, the first ones."""

SEED = 7
_MOST_BYTES = 256 * 1024 * 1024  # of drawn samples; of larger inputs fewer are drawn and taken in turn
_MOST_GIVEN_BYTES = 2 * 1024 * 1024 * 1024
_MOST_GIVEN = 100_000
_DRAWING = 1  # counts up when the same seed would give other numbers
Arrays = dict[str, NDArray[Any]]


def random_samples(inputs: Sequence[FixedInput], cache: Cache) -> Samples:
    """Samples from a seed: real numbers from the normal distribution, whole ones 0 or 1.

    0 and 1 are in every vocabulary and every table; what a network is asked to look up has to be there. A
    state is zeros. UnsupportedError for an input of text or the like.
    """
    shapes = [[tensor.dtype, list(tensor.shape)] for tensor in inputs]
    size = sum(prod(tensor.shape) * _dtype(tensor).itemsize for tensor in inputs)
    n = max(1, min(DEFAULT_COUNT, _MOST_BYTES // max(1, size)))
    states = [place for place, tensor in enumerate(inputs) if tensor.is_state]
    identity = {"samples": shapes, "n": n, "seed": SEED, "drawing": _DRAWING}
    key = canonical_hash({**identity, "states": states} if states else identity)

    def draw() -> Arrays:
        rng = np.random.default_rng(SEED)
        return {str(place): _drawn(rng, tensor, n) for place, tensor in enumerate(inputs)}

    return _stored(cache, key, draw, n, f"random numbers (seed {SEED})")


@dataclass(frozen=True)
class GivenInputs:
    """Contents of a user's files.

    Attributes:
        arrays: one [n, ...] an input, by its place.
        n: samples.
        labels, groups: of the samples [n], as the file has them; None without.
        files: of a CSV, as it names them.
    """

    arrays: Arrays
    n: int
    labels: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    files: tuple[str, ...] = ()

    def kept(self, path: Path, cache: Cache) -> Samples:
        """The samples in the cache."""
        contents = {name: _contents_of(array) for name, array in self.arrays.items()}
        key, origin = canonical_hash({"of": contents}), f"the inputs of {path.resolve().name!r}"
        return _stored(cache, key, lambda: self.arrays, self.n, origin)


def _contents_of(array: NDArray[Any]) -> list[Any]:
    """What an array holds, for a key."""
    data = np.ascontiguousarray(array).data
    return [str(array.dtype), list(array.shape), hashlib.sha256(data).hexdigest()]


def read_inputs(path: Path, inputs: Sequence[FixedInput]) -> GivenInputs:
    """Samples from a folder of .npy files or a .npz, one array an input, called as the input is.

    Arrays `labels` and `groups` are those of the samples unless an input is called so. A CSV has the columns
    `path` and `label`: each file is a .npy or a .npz, and its samples are one group. An array is [n, ...] or
    one sample, and of real numbers also where the input is quantised. A state without an array is zeros.

    InputError where one is missing, of another shape or type, no number, or where they are not as many.
    """
    if path.suffix.lower() == ".csv" and not path.is_dir():
        return _from_csv(path, inputs)
    stored = {plain_name(name): array for name, array in _read(path).items()}
    names = {plain_name(tensor.name) for tensor in inputs}
    labels, groups = (None if name in names else stored.pop(name, None) for name in ("labels", "groups"))
    arrays = _arrays(path, stored, inputs)
    return GivenInputs(arrays, len(arrays["0"]), labels, groups)


def _from_csv(path: Path, inputs: Sequence[FixedInput]) -> GivenInputs:
    listed = list_files(path)
    parts: list[Arrays] = []
    size = 0
    for file in listed.files:
        stored = _read(file)
        size += sum(array.nbytes for array in stored.values())
        _check_size(path, size)
        parts.append(_arrays(file, {plain_name(name): array for name, array in stored.items()}, inputs))
        if [array.dtype for array in parts[-1].values()] != [array.dtype for array in parts[0].values()]:
            raise InputError(
                f"the files of {path} are of different types",
                why=f"{file} and {listed.files[0]} are not alike",
                fix="save all as real numbers, or all as the model has its input",
            )
    counts = [len(part["0"]) for part in parts]
    arrays = {place: np.concatenate([part[place] for part in parts]) for place in parts[0]}
    labels = [listed.class_names[label] for label in listed.labels or ()]
    return GivenInputs(
        arrays,
        sum(counts),
        np.repeat(np.array(labels, np.str_), counts) if labels else None,
        np.repeat(np.arange(len(parts)), counts) if max(counts) > 1 else None,
        listed.names,
    )


def _arrays(path: Path, by_name: Mapping[str, NDArray[Any]], inputs: Sequence[FixedInput]) -> Arrays:
    """The array of each input."""
    arrays: Arrays = {}
    absent: list[int] = []
    for place, tensor in enumerate(inputs):
        array = by_name.get(plain_name(tensor.name))
        if array is None and len(inputs) == len(by_name) == 1:
            array = next(iter(by_name.values()))
        if array is None and tensor.is_state and len(inputs) > 1:
            absent.append(place)
            continue
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
            why=", ".join(f"{inputs[int(at)].name}: {len(array)}" for at, array in arrays.items()),
            fix="give each input as many",
        )
    [n] = counts
    zeros = {str(at): np.zeros((n, *inputs[at].shape), _dtype(inputs[at])) for at in absent}
    return {str(at): (arrays | zeros)[str(at)] for at in range(len(inputs))}


def first_samples(samples: Samples, most: int, cache: Cache) -> Samples:
    """The first of them, at most so many."""
    key = canonical_hash({"of": samples.sha256, "first": most})
    n = min(most, samples.n)

    def first() -> Arrays:
        with np.load(samples.path, allow_pickle=False) as stored:
            return {name: stored[name][:n] for name in stored.files}

    return _stored(cache, key, first, n, f"the first {n} of {samples.origin}")


def samples_scene(samples: Samples, is_users: bool) -> Scene:
    """What a pass is: every given sample once, or 400 drawn ones (the same again where there are fewer)."""
    count = samples.n if is_users else DEFAULT_COUNT
    name = f"{count} samples, {samples.origin}"
    return Scene(samples.path, samples.sha256, count, 1, 1, name=name, kind="samples")


def chosen_units(images: ImageSet, units: Sequence[int], cache: Cache) -> ImageSet:
    """Some samples of a set, or all samples of some of its groups, as a set of its own."""
    labels = None if images.labels is None else np.array(images.labels)[list(units)]
    groups = None if images.groups is None else np.array(images.groups)
    rows = np.array(units) if groups is None else np.flatnonzero(np.isin(groups, units))

    def taken() -> Arrays:
        with np.load(images.path, allow_pickle=False) as stored:
            arrays = {name: stored[name][rows] for name in stored.files if name.isdigit()}
        arrays |= {} if labels is None else {"labels": labels}
        return arrays if groups is None else {**arrays, "groups": np.searchsorted(units, groups[rows])}

    file = _stored_file(cache, canonical_hash({"of": images.sha256, "units": list(units)}), taken)
    return replace(
        images,
        path=file.path,
        sha256=file.sha256,
        n=len(rows),
        labels=None if labels is None else tuple(labels.tolist()),
        groups=None if groups is None else tuple(np.searchsorted(units, groups[rows]).tolist()),
        paths=tuple(images.paths[unit] for unit in units) if images.paths else (),
    )


def _drawn(rng: np.random.Generator, tensor: FixedInput, n: int) -> NDArray[Any]:
    dtype, shape = _dtype(tensor), (n, *tensor.shape)
    if tensor.is_state:
        return np.zeros(shape, dtype)
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


def _read(path: Path) -> Mapping[str, NDArray[Any]]:
    try:
        if path.is_dir():
            files = [file for file in sorted(path.iterdir()) if file.suffix == ".npy"]
            _check_size(path, sum(require_regular(file).st_size for file in files))
            return _as_arrays({file.stem: np.load(file, allow_pickle=False) for file in files})
        _check_size(path, require_regular(path).st_size)
        if path.suffix == ".npy":
            return _as_arrays({path.stem: np.load(path, allow_pickle=False)})
        with zipfile.ZipFile(path) as archive:
            _check_size(path, sum(info.file_size for info in archive.infolist()))
            require_distinct_arrays(archive)
        with np.load(path, allow_pickle=False) as stored:
            return _as_arrays({name: stored[name] for name in stored.files})
    except InputError:
        raise
    except Exception as error:  # headers of arrays are parsed as Python is, which raises many kinds
        raise InputError(
            f"{path} cannot be read as inputs",
            why=reason(error),
            fix="give a folder of .npy files or a .npz, one array an input",
        ) from error


def _as_arrays(read: Mapping[str, Any]) -> Mapping[str, NDArray[Any]]:
    """What numpy read, whatever a file's name says it is; ValueError for what is no array."""
    for name, value in read.items():
        if not isinstance(value, np.ndarray):
            raise ValueError(f"{name[:80]!r} is no array")
    return read


def _check_size(path: Path, size: int) -> None:
    if size > _MOST_GIVEN_BYTES:
        raise InputError(
            f"{path} is too large", why=f"more than {_MOST_GIVEN_BYTES >> 30} GB", fix="give fewer samples"
        )


def _as_input(path: Path, tensor: FixedInput, array: NDArray[Any]) -> NDArray[Any]:
    dtype, shape = _dtype(tensor), tuple(tensor.shape)
    rows = np.asarray(array)
    inner = shape[1:] if shape[:1] == (1,) else None
    if rows.shape == inner:  # one sample without the batch
        rows = rows[None]
    if rows.shape == shape:
        rows = rows[None]
    elif inner is not None and rows.shape[1:] == inner:  # [n, ...] where the file has [1, ...]
        rows = rows[:, None]
    named = f"the array for the input {tensor.name!r} in {path}"
    if rows.shape[1:] != shape or not 0 < len(rows) <= _MOST_GIVEN:
        why = f"[n, {', '.join(map(str, inner or shape))}] was expected, n at most {_MOST_GIVEN}"
        raise InputError(f"{named} is {list(array.shape)}", why=why, fix="give one row a sample")
    if rows.dtype.kind == "f" and dtype.kind in "iu" and tensor.scale:
        dtype = np.dtype(np.float32)  # quantised where it is loaded, as each artifact has its input
    if not np.can_cast(rows.dtype, dtype, "same_kind"):
        raise InputError(f"{named} is {rows.dtype}", why=f"the model takes {dtype}", fix="save it as that")
    with np.errstate(over="ignore"):
        converted = rows.astype(dtype)
    if dtype.kind == "f" and not (finite := np.isfinite(converted)).all():
        raise InputError(
            f"{named} holds values that are no finite numbers",
            why=f"the first is in sample {int(np.argwhere(~finite)[0][0])}, counted from 0",
            fix="correct or remove these samples",
        )
    if dtype.kind in "iu" and not np.array_equal(converted, rows):
        raise InputError(f"{named} does not fit into {dtype}", fix="correct its values")
    return converted


def plain_name(name: str) -> str:
    """An input's name without what converters add: `serving_default_tokens:0` is `tokens`."""
    return re.sub(r"^serving_default_|:\d+$", "", name)


def _stored(cache: Cache, key: str, make: Callable[[], Arrays], n: int, origin: str) -> Samples:
    """The `n` samples of a recipe."""
    file = _stored_file(cache, key, make)
    return Samples(file.path, file.sha256, n, origin)


def _stored_file(cache: Cache, key: str, make: Callable[[], Arrays]) -> CachedFile:
    """The .npz of a recipe, from the cache or as `make` gives it."""
    # numpy's stubs take the names for its flag
    return obtain(cache, "samples", key, ".npz", lambda file: np.savez(file, **make()))  # type: ignore[arg-type]


# Labelled samples: the set for accuracy, and the scores of an anomaly detector.


ANOMALY_CLASSES = ("normal", "anomaly")


def labelled_set(
    path: Path, given: GivenInputs, model: UserModel, names: Sequence[str] | None, cache: Cache
) -> ImageSet:
    """Set for accuracy, with labels and groups in its file.

    Args:
        path: the user's file, for messages.
        given: contents of the file, with labels.
        model: a model that takes no picture; its outputs decide the task.
        names: the model's classes; without them a class is called by its number.
        cache: cache that keeps the set.

    Raises:
        InputError: labels or groups that do not fit the samples or the model.
    """
    task = _task(path, model, names)
    classes = ANOMALY_CLASSES if task != "classes" else names or tuple(map(str, range(model.scores or 0)))
    labels, groups = _labels(path, given, classes), None
    if given.groups is not None:
        if task == "classes":
            raise InputError(
                f"{path} has groups of samples",
                why="a classifier is right or wrong on each sample; groups serve anomaly detectors",
                fix="leave the array `groups` out, or give one sample a file",
            )
        labels, groups = _by_group(path, labels, given)
    if task != "classes" and len(set(labels.tolist())) < 2:
        raise InputError(
            f"all labels of {path} are {classes[int(labels[0])]} ({labels[0]})",
            why="the ROC curve of an anomaly detector takes normal and anomalous samples",
            fix="add samples of the other kind",
        )
    arrays = {**given.arrays, "labels": labels, **({} if groups is None else {"groups": groups})}
    key = canonical_hash({"labelled": {name: _contents_of(array) for name, array in arrays.items()}})
    file = _stored_file(cache, key, lambda: arrays)
    return ImageSet(
        name=path.resolve().name,
        path=file.path,
        sha256=file.sha256,
        n=given.n,
        labels=tuple(labels.tolist()),
        class_names=tuple(classes),
        paths=given.files,
        kind="samples",
        task=task,
        groups=None if groups is None else tuple(groups.tolist()),
    )


def anomaly_scores(images: ImageSet, scores: Scores, tensors: Sequence[TensorInput]) -> Scores:
    """Anomaly scores of groups or samples, float32 [units, 1]; of a classifier the scores unchanged.

    The score of a reconstruction is the mean squared error over all values, as in MLPerf Tiny's reference for
    ad01 (mlcommons/tiny, benchmark/training/anomaly_detection). The score of a group is the mean over its
    samples.

    Args:
        images: the predicted set.
        scores: float32 [n, scores] of the samples.
        tensors: the inputs, whose quantisation gives the real values of samples that are integers.
    """
    if images.task == "classes":
        return scores
    errors = scores.astype(np.float64)
    if images.task == "reconstruction":
        with np.load(images.path, allow_pickle=False) as stored:
            taken = stored["0"].astype(np.float64).reshape(scores.shape)
            if stored["0"].dtype.kind in "iu" and tensors[0].scale:
                taken = (taken - (tensors[0].zero_point or 0)) * tensors[0].scale
        errors = ((taken - errors) ** 2).mean(axis=1, keepdims=True)
    if images.groups is not None:
        errors = (np.bincount(images.groups, errors[:, 0]) / np.bincount(images.groups))[:, None]
    return errors.astype(np.float32)


def _task(path: Path, model: UserModel, names: Sequence[str] | None) -> Task:
    """Task of the model; InputError where its outputs cannot be judged by labels."""
    taken, given, first = model.inputs, model.outputs, int(model.has_batch)
    why, fix = "", "leave the labels out: the inputs are then timed alone"
    if model.fixed_batch not in (None, 1):
        why = f"the file fixes a batch of {model.fixed_batch}, so that one call has several results"
    elif len(taken) == len(given) == 1 and taken[0].shape[first:] == given[0].shape[first:] and not names:
        shape = taken[0].shape[first:]
        if prod(shape) > 1:
            if kept_places([shape]) == [None]:
                return "reconstruction"
            why = f"not all {prod(shape)} values of its output {list(shape)} are kept as scores"
    if not why and model.scores is not None:
        return "score" if model.scores == 1 else "classes"
    why = why or "its outputs are neither one row of scores nor of the shape of its one input"
    raise InputError(f"the labels of {path} are of no use for this model", why=why, fix=fix)


def _labels(path: Path, given: GivenInputs, classes: Sequence[str]) -> NDArray[np.int64]:
    """Classes of the samples, int64 [n]."""
    shown = ", ".join(classes[:8]) + (", ..." if len(classes) > 8 else "")
    fix = f"give each sample its class: a whole number from 0 to {len(classes) - 1}, or its name ({shown})"
    labels = _of_samples(path, given.n, given.labels, "iubU", "the labels", "a class", fix)
    if labels.dtype.kind == "U":
        texts = labels.tolist()
        places = {text: int(text) for text in texts if len(text) < 10 and text.isascii() and text.isdigit()}
        places.update((name, at) for at, name in enumerate(classes))
        labels = np.array([places.get(text, -1) for text in texts])
    outside = np.flatnonzero((labels < 0) | (labels >= len(classes)))
    if len(outside):
        first = int(outside[0])
        raise InputError(
            f"{path} has labels that are none of the {len(classes)} classes",
            why=f"sample {first}, counted from 0, has {ascii(np.asarray(given.labels)[first].item())[:80]}",
            fix=fix,
        )
    return labels.astype(np.int64)


def _of_samples(path: Path, n: int, stated: Any, kinds: str, these: str, each: str, fix: str) -> NDArray[Any]:
    """Stated values of the samples, [n]; InputError for another shape or kind of dtype."""
    values = np.asarray(stated)
    if values.shape != (n,) or values.dtype.kind not in kinds:
        raise InputError(
            f"{these} of {path} are {values.dtype} {list(values.shape)}",
            why=f"there are {n} samples, and {each} is a whole number or a name",
            fix=fix,
        )
    return values


def _by_group(
    path: Path, labels: NDArray[np.int64], given: GivenInputs
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Labels of the groups, int64 [groups], and groups of the samples, int64 [n]."""
    fix = "give each sample the group that it belongs to"
    stated = _of_samples(path, given.n, given.groups, "iuU", "the groups", "a group", fix)
    _, first, groups = np.unique(stated, return_index=True, return_inverse=True)
    of_groups = labels[first]
    if len(mixed := np.flatnonzero(of_groups[groups] != labels)):
        raise InputError(
            f"{path} has a group of normal and of anomalous samples: {ascii(stated[mixed[0]].item())[:80]}",
            why="a group is judged as one, by the mean score of its samples",
            fix="give all samples of a group the same label",
        )
    return of_groups, groups.astype(np.int64)
