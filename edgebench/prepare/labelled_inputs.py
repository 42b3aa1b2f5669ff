"""Labelled inputs for models that take no picture: a class, or normal and anomalous, for each sample."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.timed import kept_places
from edgebench.errors import InputError
from edgebench.prepare.cache import Cache, canonical_hash
from edgebench.prepare.samples import GivenInputs, contents_of, stored_file
from edgebench.prepare.user_model import fixed_batch
from edgebench.records.model import TensorInput, UserModel
from edgebench.records.values import ImageSet, Scores, Task

ANOMALY_CLASSES = ("normal", "anomaly")


def labelled_set(
    path: Path, given: GivenInputs, model: UserModel, names: Sequence[str] | None, cache: Cache
) -> ImageSet:
    """The set that accuracy is taken on, with its labels and groups in the file, too.

    Args:
        path: of the user's file, for messages.
        given: what it holds, with labels.
        model: takes no picture; its outputs decide what labels are of.
        names: of its classes; without them a class is called by its number.
        cache: where the set is kept.

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
    key = canonical_hash({"labelled": {name: contents_of(array) for name, array in arrays.items()}})
    file = stored_file(cache, key, lambda: arrays)
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
    """An anomaly detector's score of each group or sample, float32 [units, 1]; else the scores themselves.

    That of a reconstruction is the mean squared error over all values, as in MLPerf Tiny's reference for ad01
    (mlcommons/tiny, benchmark/training/anomaly_detection); that of a group is the mean over its samples.

    Args:
        images: that were predicted.
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
    """What the model's outputs are; InputError where labels say nothing of them."""
    taken, given, first = model.inputs, model.outputs, int(model.has_batch)
    why, fix = "", "leave the labels out: the inputs are then timed alone"
    if fixed_batch(model) not in (None, 1):
        why = f"the file fixes a batch of {fixed_batch(model)}, so that one call has several results"
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
    """The class of each sample, int64 [n]."""
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
    """What is stated of each sample, [n]; InputError for another shape or kind of dtype."""
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
    """The label of each group, and the group of each sample, int64 each."""
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
