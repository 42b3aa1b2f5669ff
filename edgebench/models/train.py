"""Training from the harness: splits the data, starts the training process, writes what it came to."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgebench.atomic import write_atomically
from edgebench.contract import ImageSet, Progress
from edgebench.data.images import load_images
from edgebench.data.shipped import shipped_images
from edgebench.errors import InputError, UnavailableError, UsageError
from edgebench.models.cache import Cache, canonical_hash, sha256_file
from edgebench.models.keep import making
from edgebench.models.prepare import tool_versions
from edgebench.models.processes import run_jobs
from edgebench.models.variant import DEPTH_MULTIPLIERS, FAMILY

TRAINING_VERSION = 1
TRAIN_SHARE = 0.8
_MAX_CALIBRATION = 250


@dataclass(frozen=True)
class Trained:
    """What a training left: the weights (.npz, float16) and its record (.json) beside them."""

    weights: Path
    record: Path
    sha256: str
    validation_k: int
    validation_n: int


@dataclass(frozen=True)
class Part:
    """Some images of a set, by their indices."""

    images: ImageSet
    indices: tuple[int, ...]

    def as_job(self) -> dict[str, Any]:
        """As the training process takes it."""
        return {"images": str(self.images.path), "labels": self.images.labels, "indices": self.indices}

    def as_record(self) -> dict[str, Any]:
        """As the record names it."""
        return {"name": self.images.name, "sha256": self.images.sha256, "n": len(self.indices)}


@dataclass(frozen=True)
class Parts:
    """Which images serve for what; calibration, where it is not a set of its own, is of the training part."""

    train: Part
    validation: Part
    calibration: Part


def split(labels: Sequence[int], seed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Four fifths of each class to train on, the rest to validate; at least one of each class in either.

    Deterministic from `seed`. Raises ValueError where a class has fewer than two images.
    """
    rng = np.random.default_rng(seed)
    known = np.asarray(labels)
    training: list[int] = []
    validation: list[int] = []
    for label in np.unique(known):
        members = rng.permutation(np.flatnonzero(known == label))
        if len(members) < 2:
            raise ValueError(f"class {label} has fewer than two images")
        cut = min(len(members) - 1, max(1, round(TRAIN_SHARE * len(members))))
        training += members[:cut].tolist()
        validation += members[cut:].tolist()
    return tuple(sorted(training)), tuple(sorted(validation))


def shipped_parts(cache: Cache) -> Parts:
    """The land-cover set: all 6,000 of the train split, validated on the 250 of the calibration split.

    A part of the train split would not do for validation: its patches share pixels with their neighbours.
    """
    images, other = shipped_images(cache, "train"), shipped_images(cache, "calibration")
    aside = Part(other, tuple(range(other.n)))
    return Parts(Part(images, tuple(range(images.n))), aside, aside)


def folder_parts(folder: Path, cache: Cache, seed: int) -> Parts:
    """The user's images, split by `seed`; InputError when they cannot be."""
    images = load_images(folder, cache)
    if images.labels is None or len(images.class_names) < 2:
        raise InputError(
            f"{folder} does not say what its images show",
            why="training takes at least two class folders",
            fix="put the images into a folder a class",
        )
    try:
        training, validation = split(images.labels, seed)
    except ValueError as error:
        raise InputError(f"{folder} has too few images", why=str(error), fix="add images") from error
    chosen = np.random.default_rng(seed).permutation(training)[:_MAX_CALIBRATION].tolist()
    return Parts(
        Part(images, training), Part(images, validation), Part(images, tuple(sorted(int(i) for i in chosen)))
    )


def train(
    *,
    cache: Cache,
    output: Path,
    progress: Progress,
    depth_multiplier: float = 0.25,
    data: Path | None = None,
    init: Path | None = None,
    epochs: int = 10,
    full_epochs: int = 3,
    seed: int = 7,
) -> Trained:
    """Train MobileNet v1 on a folder per class (default: the shipped land-cover train split).

    Args:
        cache: where images are kept ready.
        output: where the weights go (.npz); the record goes beside them as .json. Neither may exist.
        progress: called once an epoch.
        depth_multiplier: 0.25, 0.5 or 1.0.
        data: a folder that holds a folder a class.
        init: weights to begin with, .npz or .weights.h5.
        epochs: at 112 x 112.
        full_epochs: at 224 x 224, after those.
        seed: decides the split, the order, the first weights and the augmentation.

    Raises UsageError, InputError for data or weights that do not fit, UnavailableError without TensorFlow,
    HelperError when the training fails.
    """
    record = output.with_suffix(".json")
    _check(depth_multiplier, output, record, init, epochs, full_epochs)
    parts = shipped_parts(cache) if data is None else folder_parts(data, cache, seed)
    job = {
        "what": f"training {FAMILY}-{depth_multiplier}",
        "depth_multiplier": depth_multiplier,
        "classes": len(parts.train.images.class_names),
        "init": None if init is None else str(init),
        "train": parts.train.as_job(),
        "validation": parts.validation.as_job(),
        "epochs": epochs,
        "full_epochs": full_epochs,
        "seed": seed,
    }
    with making(cache, f"train-{canonical_hash({'output': str(output.resolve())})[:16]}") as scratch:
        made = scratch / "weights.npz"
        (result,) = run_jobs("edgebench.models.training", [{**job, "output": str(made)}], scratch, progress)
        digest = sha256_file(made)
        content = made.read_bytes()
    about = _record(parts, job, init, result, digest)
    try:
        write_atomically(output, content)
        write_atomically(record, json.dumps(about, indent=1).encode() + b"\n")
    except OSError as error:
        raise _unwritable(output, error) from error
    return Trained(output, record, digest, result["validation"]["k"], result["validation"]["n"])


def _check(
    depth_multiplier: float, output: Path, record: Path, init: Path | None, epochs: int, full_epochs: int
) -> None:
    if depth_multiplier not in DEPTH_MULTIPLIERS:
        known = ", ".join(str(depth) for depth in DEPTH_MULTIPLIERS)
        raise UsageError(f"there is no depth multiplier {depth_multiplier}", fix=f"known: {known}")
    if output.suffix != ".npz":
        raise UsageError(f"{output} is no name for weights", fix="let it end in .npz")
    if epochs < 0 or full_epochs < 0 or epochs + full_epochs == 0:
        raise UsageError("there is nothing to train", fix="ask for at least one epoch")
    for path in (output, record):
        if path.exists():
            raise UsageError(f"{path} exists", why="it is not written over", fix="name another file")
    if not output.parent.is_dir():
        raise UsageError(f"there is no folder {output.parent}", fix="make it, or name another file")
    if init is not None and not init.is_file():
        raise InputError(f"there is no file {init}", fix="name weights: .npz or .weights.h5")
    if tool_versions()["tensorflow"] is None:
        raise UnavailableError(
            "training needs TensorFlow", why="it is not installed", fix="pip install 'edgebench[prepare]'"
        )


def _record(
    parts: Parts,
    job: Mapping[str, Any],
    init: Path | None,
    result: Mapping[str, Any],
    digest: str,
) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "family": FAMILY,
        "depth_multiplier": job["depth_multiplier"],
        "parameters": result["parameters"],
        "weights_sha256": digest,
        "class_names": list(parts.train.images.class_names),
        "data": {
            "train": parts.train.as_record(),
            "validation": parts.validation.as_record(),
            "calibration": {**parts.calibration.as_record(), "indices": list(parts.calibration.indices)},
        },
        "init_sha256": None if init is None else sha256_file(init),
        "recipe": {
            "version": TRAINING_VERSION,
            "epochs": job["epochs"],
            "full_epochs": job["full_epochs"],
            "seed": job["seed"],
        },
        "validation": dict(result["validation"]),
        "tools": {**tool_versions(), "python": platform.python_version()},
    }


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path} cannot be written", why=error.strerror or str(error), fix="name a file in another folder"
    )
