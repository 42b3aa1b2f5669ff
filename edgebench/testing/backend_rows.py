"""Checks of a backend as rows: whole artifacts and complete measurements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from edgebench.prepare.cache import sha256_file
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, Pass, Window
from edgebench.records.values import Scores
from edgebench.run.measuring.session_record import Gathered
from edgebench.testing.checks import FIX, is_stated


def artifact_rows(artifact: Artifact, request: PrepareRequest, played: bool) -> Iterator[object]:
    """Check an artifact that was prepared for a request.

    One that is `played` states the size of the model that it replaces.
    """
    names, spec, golden = artifact.class_names, artifact.input, artifact.golden
    integers = spec.dtype in {"int8", "uint8"}
    yield from (
        (artifact.variant == request.variant.name and artifact.batch == request.batch)
        or f"it says that it is {artifact.variant} at batch {artifact.batch}; fix: copy the request's",
        is_stated(artifact.format) or "it has no format; fix: name the format, such as tflite",
        (len(names) > 1 and len(set(names)) == len(names) and all(map(is_stated, names)))
        or f"the class names {names!r} are not two or more, each once; fix: name the outputs in order",
        Artifact.model_validate_json(artifact.model_dump_json()) == artifact
        or "it comes back from JSON as another; fix: keep plain values in provenance",
        (spec.height > 0 and spec.width == spec.height)
        or f"patches of {spec.width} x {spec.height}; fix: make them square, see InputSpec",
        (not integers or (spec.scale is not None and spec.scale > 0 and spec.zero_point is not None))
        or f"an input of {spec.dtype} without scale and zero point; fix: take both from the converted model",
        (np.isfinite(golden.tolerance) and 0 <= golden.tolerance < 1)
        or f"a tolerance of {golden.tolerance} catches nothing; fix: state what the arithmetic explains",
        is_stated(golden.reference) or "the golden scores have no reference; fix: name what computed them",
    )
    if artifact.path.is_file():
        yield from (
            artifact.sha256 == sha256_file(artifact.path)
            or "sha256 is not that of its file; fix: take path and hash of Cache.add_bytes or Cache.add_file",
            (played or artifact.size_bytes == artifact.path.stat().st_size)
            or f"size_bytes is {artifact.size_bytes}; fix: take the size of the file",
        )
    else:
        yield f"there is no file {artifact.path}; fix: put it into the cache"
    if not golden.patches.is_file():
        yield f"there are no golden patches at {golden.patches}; fix: put them into the cache"
        return
    patches = np.load(golden.patches, mmap_mode="r")
    shape = (len(golden.scores), spec.height, spec.width, 3)
    widths = {len(row) for row in golden.scores}
    yield from (
        golden.patches_sha256 == sha256_file(golden.patches)
        or "patches_sha256 is not that of the golden patches; fix: take what the cache returns",
        (patches.dtype == np.uint8 and patches.shape == shape and len(golden.scores) > 0)
        or f"golden patches are {patches.dtype} {list(patches.shape)}, not uint8 {list(shape)}"
        "; fix: one patch for each row of the golden scores, one at least",
        (widths == {len(names)} and bool(np.isfinite(np.concatenate(golden.scores)).all()))
        or f"golden scores of {sorted(widths)} columns for {len(names)} classes; fix: one finite score each",
    )


def contradictions(sound: Artifact) -> Iterator[tuple[str, Artifact]]:
    """Copies that state another input than the model has, each with its words."""
    spec = sound.input
    layout = "NCHW" if spec.layout == "NHWC" else "NHWC"
    changes: list[dict[str, Any]] = [{"layout": layout}]
    for dtype in ("float32", "int8", "uint8", "float16"):
        scale = (1 / 127.5, -1) if dtype.endswith("int8") else (None, None)
        if dtype != spec.dtype:
            changes.append({"dtype": dtype, "scale": scale[0], "zero_point": scale[1]})
    for change in changes:
        name, value = next(iter(change.items()))
        words = f"an input of {name} {value} for a model of {getattr(spec, name)}"
        yield words, sound.model_copy(update={"input": spec.model_copy(update=change)})
    words = f"a batch of {sound.batch + 1} for a model of {sound.batch}"
    yield words, sound.model_copy(update={"batch": sound.batch + 1})
    scores = tuple((*row, 0.0) for row in sound.golden.scores)
    golden = sound.golden.model_copy(update={"scores": scores})
    names = (*sound.class_names, "one class too many")
    words = "one class more than the model gives scores for"
    yield words, sound.model_copy(update={"class_names": names, "golden": golden})


def measurement_rows(seen: Gathered, plan: MeasurePlan, patches: int, classes: int) -> Iterator[object]:
    """Passes or windows in their order, with scores; beyond what `take_in` refuses.

    Args:
        seen: the passes or windows of a session.
        plan: of the session.
        patches: that each pass scores.
        classes: of the artifact.
    """
    items: list[Pass | Window] = [*seen.passes, *seen.windows]
    kind, most_warm = ("windows", len(items)) if seen.windows else ("passes", 1)
    phases, indices = [item.phase for item in items], [item.index for item in items]
    warm = ["warmup"] * min(phases.count("warmup"), most_warm)
    yield from (
        phases == ["first", *warm, *["steady"] * plan.passes]
        or f"the {kind} came as {phases}; fix: give the first one, the warm-up (at most one Pass), "
        f"then {plan.passes} steady ones",
        not seen.windows
        or indices == list(range(len(items)))
        or f"the windows are numbered {indices}; fix: count them from 0 in the order in which they are given",
    )
    for item in items:
        subject = measurement_name(item)
        shape = None if item.scores is None else list(item.scores.shape)
        expected, needed = [classes], False
        if isinstance(item, Pass):
            stamps, expected, needed = item.stamps_ns, [patches, classes], item.phase != "warmup"
            yield from (
                stamps.dtype == np.int64 or f"{subject}: stamps are {stamps.dtype}; fix: give int64",
                (item.start_ns <= stamps.min(initial=item.start_ns) and stamps.max(initial=0) <= item.end_ns)
                or f"{subject}: a stage is outside the pass"
                "; fix: take start before the first stage and end after the last",
            )
        yield (
            shape == expected
            or (shape is None and not needed)
            or f"{subject}: scores are {shape}, expected {expected}; fix: give one score for each class"
        )


def measurement_name(item: Pass | Window) -> str:
    """Name of a measurement in problems, such as `pass 1`."""
    return f"{type(item).__name__.lower()} {item.index}"


def near(scores: Scores, expected: Scores, artifact: Artifact, subject: str, fix: str) -> object:
    """Check that scores are the expected ones, within the artifact's own tolerance."""
    if scores.shape != expected.shape:
        return f"{subject}: shape {list(scores.shape)} against {list(expected.shape)}{FIX}{fix}"
    difference, allowed = float(np.abs(scores.astype(float) - expected).max()), artifact.golden.tolerance
    words = f"{subject}: they differ by {difference:.4g} (allowed {allowed:.4g})"
    return difference <= allowed or f"{words}{FIX}{fix}"
