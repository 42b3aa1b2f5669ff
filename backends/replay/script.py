"""The artifact of a replay: a zip of `script.json` and arrays, the same bytes for the same content."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.cache.objects import Cache
from edgebench.vocabulary.artifact import Artifact, Golden, InputSpec
from edgebench.vocabulary.variant import Variant

from .pictures import marked

RECIPE = "replay-1"  # counts up when the same source would be played otherwise
FORMAT = "replay"
_WHEN = (1980, 1, 1, 0, 0, 0)  # a zip wants a time, and the time of making would make another file

Arrays = Mapping[str, NDArray[Any]]


def script_bytes(script: Mapping[str, Any], arrays: Arrays) -> bytes:
    """What the runner loads; `arrays` become `<name>.npy`."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(_entry("script.json"), json.dumps(script, sort_keys=True))
        for name in sorted(arrays):
            array_bytes = io.BytesIO()
            np.lib.format.write_array(array_bytes, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            archive.writestr(_entry(f"{name}.npy"), array_bytes.getvalue())
    return held.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def make_artifact(
    cache: Cache,
    *,
    variant: Variant,
    batch: int,
    patch: int,
    classes: Sequence[str],
    script: Mapping[str, Any],
    arrays: Arrays,
    golden: Sequence[Sequence[float]],
    golden_labels: Sequence[int],
    reference: str,
    tolerance: float,
    size_bytes: int,
    source_sha256: str,
    format_: str = FORMAT,
) -> Artifact:
    """The artifact of one variant; its input is the pixels as they are, uint8 [batch, patch, patch, 3].

    `script` is what the runner plays; shape of the input and number of classes are added to it. `golden` has
    the scores [g][classes] of the golden patches, which are marked with `golden_labels`. `size_bytes` is of
    the artifact that the source tells of, not of the script.
    """
    whole = {**script, "input_shape": [batch, patch, patch, 3], "classes": len(classes)}
    path, digest = cache.add_bytes(script_bytes(whole, arrays), ".zip")
    held = io.BytesIO()
    np.save(held, marked(golden_labels, patch))
    patches, patches_sha256 = cache.add_bytes(held.getvalue(), ".npy")
    return Artifact(
        variant=variant.name,
        batch=batch,
        format=format_,
        path=path,
        sha256=digest,
        size_bytes=size_bytes,
        input=InputSpec(
            dtype="uint8", height=patch, width=patch, divisor=1.0, offset=0.0, scale=1.0, zero_point=0
        ),
        class_names=tuple(classes),
        golden=Golden(
            patches=patches,
            patches_sha256=patches_sha256,
            scores=tuple(tuple(row) for row in golden),
            reference=reference,
            tolerance=tolerance,
        ),
        provenance={"recipe": RECIPE, "source_sha256": source_sha256, "tools": {}},
    )
