"""What is looked at in an artifact, and artifacts that contradict their own model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgebench.cache.objects import sha256_file
from edgebench.testing.problems import Problems
from edgebench.vocabulary.artifact import Artifact, InputSpec
from edgebench.vocabulary.preparation import PrepareRequest


def check(faults: Problems, artifact: Artifact, request: PrepareRequest, *, played: bool = False) -> None:
    """Add whatever is wrong with an artifact that was prepared for a request.

    One that is `played` states the size of what it stands for.
    """
    subject = f"the artifact of {request.variant.name} at batch {request.batch}"
    faults.unless(
        artifact.variant == request.variant.name and artifact.batch == request.batch,
        f"{subject} says that it is {artifact.variant} at batch {artifact.batch}",
        "copy variant and batch from the request",
    )
    if faults.unless(
        artifact.path.is_file(), f"{subject}: there is no file {artifact.path}", "put it into the cache"
    ):
        faults.unless(
            artifact.sha256 == sha256_file(artifact.path),
            f"{subject}: sha256 is not that of its file",
            "take the path and the hash that Cache.add_bytes or Cache.add_file return",
        )
        faults.unless(
            played or artifact.size_bytes == artifact.path.stat().st_size,
            f"{subject}: size_bytes is {artifact.size_bytes}, the file has {artifact.path.stat().st_size}",
            "take the size of the file",
        )
    faults.unless(
        bool(artifact.format.strip()), f"{subject} has no format", "name the format, such as tflite"
    )
    names = artifact.class_names
    faults.unless(
        len(names) > 1 and len(set(names)) == len(names) and all(name.strip() for name in names),
        f"{subject}: the class names {names!r} are not two or more, each once",
        "name the model's outputs in their order",
    )
    faults.unless_json(artifact.provenance, f"{subject}: the provenance")
    faults.unless(
        Artifact.model_validate_json(artifact.model_dump_json()) == artifact,
        f"{subject} comes back from JSON as another",
        "keep plain values in provenance",
    )
    _check_input(faults, artifact.input, subject)
    _check_golden(faults, artifact, subject)


def contradictions(sound: Artifact) -> Iterator[tuple[str, Artifact]]:
    """Copies that say something else of the input than the model has, and in which words."""
    spec = sound.input
    integers = {"scale": 1 / 127.5, "zero_point": -1}
    for dtype in ("float32", "int8", "uint8", "float16"):
        if dtype == spec.dtype:
            continue
        values = integers if dtype.endswith("int8") else {"scale": None, "zero_point": None}
        other = spec.model_copy(update={"dtype": dtype, **values})
        yield f"an input of {dtype} for a model of {spec.dtype}", sound.model_copy(update={"input": other})
    layout = "NCHW" if spec.layout == "NHWC" else "NHWC"
    other = spec.model_copy(update={"layout": layout})
    yield f"a layout of {layout} for a model of {spec.layout}", sound.model_copy(update={"input": other})
    yield (
        f"a batch of {sound.batch + 1} for a model of {sound.batch}",
        sound.model_copy(update={"batch": sound.batch + 1}),
    )


def _check_input(faults: Problems, spec: InputSpec, subject: str) -> None:
    faults.unless(
        spec.height > 0 and spec.width == spec.height, f"{subject}: patches are square", "see InputSpec"
    )
    if spec.dtype in {"int8", "uint8"}:
        faults.unless(
            spec.scale is not None and spec.scale > 0 and spec.zero_point is not None,
            f"{subject}: an input of {spec.dtype} without scale and zero point",
            "take both from the converted model: preprocessing is made of them",
        )


def _check_golden(faults: Problems, artifact: Artifact, subject: str) -> None:
    golden, spec = artifact.golden, artifact.input
    if not faults.unless(
        golden.patches.is_file(),
        f"{subject}: there are no golden patches at {golden.patches}",
        "keep them beside it",
    ):
        return
    faults.unless(
        golden.patches_sha256 == sha256_file(golden.patches),
        f"{subject}: patches_sha256 is not that of the golden patches",
        "take the path and the hash that the cache returns",
    )
    patches = np.load(golden.patches, mmap_mode="r")
    due = (len(golden.scores), spec.height, spec.width, 3)
    faults.unless(
        patches.dtype == np.uint8 and patches.shape == due and len(golden.scores) > 0,
        f"{subject}: golden patches are {patches.dtype} {list(patches.shape)}, uint8 {list(due)} were due",
        "one patch a row of the golden scores, one at least",
    )
    widths = {len(row) for row in golden.scores}
    faults.unless(
        widths == {len(artifact.class_names)} and bool(np.isfinite(np.concatenate(golden.scores)).all()),
        f"{subject}: golden scores of {sorted(widths)} columns for {len(artifact.class_names)} classes",
        "one finite score a class",
    )
    faults.unless(
        np.isfinite(golden.tolerance) and 0 <= golden.tolerance < 1,
        f"{subject}: a tolerance of {golden.tolerance} catches nothing",
        "state the largest difference that the runtime's arithmetic explains",
    )
    faults.unless(
        bool(golden.reference.strip()),
        f"{subject}: the golden scores have no reference",
        "name what computed them",
    )
