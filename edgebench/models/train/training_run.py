"""Training from the harness: splits the data, starts the training process, writes what it came to."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgebench.atomic import require_folder, write_atomically
from edgebench.cache.objects import Cache, canonical_hash, sha256_file
from edgebench.cache.recipes import making
from edgebench.errors import InputError, UnavailableError, UsageError
from edgebench.installed import version_of, versions_of
from edgebench.models.families import catalogue
from edgebench.models.prepare.tflite import TOOLS
from edgebench.models.train.splits import Splits, folder_splits, shipped_splits
from edgebench.models.train.trained_weights import CALIBRATION_SUFFIX, RECORD_SUFFIX, VALIDATION_SUFFIX
from edgebench.models.workers.processes import results_of, run_jobs
from edgebench.regular_files import reason, require_regular
from edgebench.vocabulary.values import Progress
from edgebench.vocabulary.variant import FAMILY

TRAINING_VERSION = 2


@dataclass(frozen=True)
class Trained:
    """What a training left: the weights (.npz, float16) and its record (.json) beside them.

    `validation_csv` lists the validation part of the user's own images, for `--images`; None where the data
    were the shipped ones. `new_head` says that the scores' layer began anew, because `init` had another.
    """

    weights: Path
    record: Path
    sha256: str
    validation_k: int
    validation_n: int
    validation_csv: Path | None = None
    new_head: bool = False


def train(
    *,
    cache: Cache,
    output: Path,
    progress: Progress,
    family: str = FAMILY,
    depth_multiplier: float | None = 0.25,
    data: Path | None = None,
    init: Path | None = None,
    epochs: int = 10,
    full_epochs: int = 3,
    seed: int = 7,
) -> Trained:
    """Train a family on a folder per class (default: the shipped land-cover train split).

    Args:
        cache: where images are kept ready.
        output: where the weights go (.npz); beside them go the record (.json) and, for the user's own
            data, lists of the validation and calibration images (.validation.csv, .calibration.csv). None may
            exist.
        progress: told of every epoch.
        family: of `edgebench.models.families.catalogue`.
        depth_multiplier: its width; None for the family's usual one.
        data: a folder per class, or a CSV of paths and labels; split by `seed` as Keras splits it.
        init: weights to begin with (.npz of a training, or Keras's .h5); of other classes, or without any,
            the layer of the scores begins anew.
        epochs: epochs at 112 x 112.
        full_epochs: epochs at the full size, after those.
        seed: of the split, the first weights and the augmentation.

    Raises UsageError, InputError for data or weights that do not fit, UnavailableError without TensorFlow,
    HelperError when the training fails.
    """
    width = catalogue.spec(family).width(depth_multiplier)
    companions = {suffix: output.with_suffix(suffix) for suffix in (RECORD_SUFFIX, *_lists(data))}
    _check(output, list(companions.values()), init, epochs, full_epochs)
    splits = shipped_splits(cache) if data is None else folder_splits(data, cache, seed)
    for note in splits.train.images.notes:
        progress(f"note: {note}")
    job = {
        "what": f"training {family}" + ("" if width is None else f"-{width}"),
        "family": family,
        "depth_multiplier": width,
        "classes": len(splits.train.images.class_names),
        "init": None if init is None else str(init),
        "train": splits.train.as_job(),
        "validation": splits.validation.as_job(),
        "epochs": epochs,
        "full_epochs": full_epochs,
        "seed": seed,
    }
    with making(cache, f"train-{canonical_hash({'output': str(output.resolve())})[:16]}") as scratch:
        weights_file = scratch / "weights.npz"
        outcomes = run_jobs(
            "edgebench.models.workers.training", [{**job, "output": str(weights_file)}], scratch, progress
        )
        (result,) = results_of(outcomes)
        digest = sha256_file(weights_file)
        content = weights_file.read_bytes()
    written = {output: content}
    if data is not None:
        for suffix, split in (
            (VALIDATION_SUFFIX, splits.validation),
            (CALIBRATION_SUFFIX, splits.calibration),
        ):
            written[companions[suffix]] = split.as_csv(output.parent).encode()
    record = _record(splits, job, init, result, digest)
    written[companions[RECORD_SUFFIX]] = json.dumps(record, indent=1).encode() + b"\n"
    try:
        for path, bytes_ in written.items():
            write_atomically(path, bytes_)
    except OSError as error:
        raise _unwritable(output, error) from error
    return Trained(
        output,
        companions[RECORD_SUFFIX],
        digest,
        result["validation"]["k"],
        result["validation"]["n"],
        companions.get(VALIDATION_SUFFIX),
        result["new_head"],
    )


def _lists(data: Path | None) -> tuple[str, ...]:
    return () if data is None else (VALIDATION_SUFFIX, CALIBRATION_SUFFIX)


def _check(output: Path, companions: list[Path], init: Path | None, epochs: int, full_epochs: int) -> None:
    if output.suffix != ".npz":
        raise UsageError(f"{output} is no name for weights", fix="let it end in .npz")
    if epochs < 0 or full_epochs < 0 or epochs + full_epochs == 0:
        raise UsageError("there is nothing to train", fix="ask for at least one epoch")
    for path in (output, *companions):
        if path.exists():
            raise UsageError(f"{path} exists", why="it is not written over", fix="name another file")
    require_folder(output.parent, "-o")
    try:
        if init is not None:
            require_regular(init)
    except OSError as error:
        raise InputError(
            f"the weights {init} cannot be read", why=reason(error), fix="name weights: .npz or .weights.h5"
        ) from error
    if init is not None and init.suffix not in (".npz", ".h5"):
        raise InputError(
            f"{init} holds no weights that are known",
            why=f"its name ends in {init.suffix or 'nothing'!r}",
            fix="name weights: .npz of a training, or Keras's .weights.h5",
        )
    if version_of("tensorflow") is None:
        raise UnavailableError(
            "training needs TensorFlow", why="it is not installed", fix="pip install 'edgebench[prepare]'"
        )


def _record(
    splits: Splits,
    job: Mapping[str, Any],
    init: Path | None,
    result: Mapping[str, Any],
    digest: str,
) -> dict[str, Any]:
    family = catalogue.spec(job["family"])
    return {
        "schema_version": 1,
        "family": family.name,
        "depth_multiplier": job["depth_multiplier"],
        "parameters": result["parameters"],
        "weights_sha256": digest,
        "class_names": list(splits.train.images.class_names),
        "input": {"divisor": family.divisor, "offset": family.offset},
        "data": {
            "train": splits.train.as_record(),
            "validation": splits.validation.as_record(),
            "calibration": {**splits.calibration.as_record(), "indices": list(splits.calibration.indices)},
        },
        "init_sha256": None if init is None else sha256_file(init),
        "new_head": result["new_head"],
        "recipe": {
            "version": TRAINING_VERSION,
            "epochs": job["epochs"],
            "full_epochs": job["full_epochs"],
            "seed": job["seed"],
        },
        "validation": dict(result["validation"]),
        "tools": {**versions_of(TOOLS), "python": platform.python_version()},
    }


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path} cannot be written", why=error.strerror or str(error), fix="name a file in another folder"
    )
