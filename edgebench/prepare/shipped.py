"""The trained models that come with the package: their .tflite files, their weights and golden patches.

`tflite_files/artifacts.json` has for each file what decided it (`inputs`, as `edgebench.prepare.tflite` has
them, with the versions of the tools that made it), its hash, and the note of its making. A shipped file has
the key of its own tools' versions: it serves whatever is installed. Files whose names end in .xz are
unpacked into the cache. The fp32 files are also the trained weights, from which everything else is converted.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from edgebench.errors import InputError, UnsupportedError
from edgebench.files import read_regular, reason
from edgebench.prepare.cache import Cache, CachedFile, canonical_hash
from edgebench.prepare.image_sets import images_identity
from edgebench.prepare.images import obtain_array
from edgebench.prepare.landcover import ASSETS, Earth, Pixels, render_patch, shipped_draws
from edgebench.records.values import DEPTH_MULTIPLIERS, FAMILY, Variant

TFLITE_FOLDER = Path(__file__).parent / "tflite_files"
MANIFEST = "artifacts.json"
_MAX_MANIFEST_BYTES = 16 * 1024 * 1024


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ShippedArtifact(_Record):
    """One file of the folder."""

    file: str = Field(pattern=r"^[a-z0-9_.-]+\.tflite(\.xz)?$")
    """Its name. A file that ends in .xz is compressed; hash and size are those of its content."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size_bytes: int = Field(gt=0)
    inputs: dict[str, Any]  # all that decides it
    note: dict[str, Any]  # golden scores, what computed them, the input's quantisation

    @field_validator("inputs")
    @classmethod
    def _names_its_tools(cls, inputs: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(inputs.get("tools"), dict):
            raise ValueError("the inputs of a file do not name its tools")
        return inputs

    @property
    def path(self) -> Path:
        """Where the file is."""
        return TFLITE_FOLDER / self.file

    @property
    def is_compressed(self) -> bool:
        """Whether it is unpacked into the cache before it is used."""
        return self.file.endswith(".xz")

    def content(self) -> bytes:
        """The .tflite file; InputError where it is damaged."""
        try:
            packed = read_regular(self.path, self.size_bytes)
            data = lzma.decompress(packed) if self.is_compressed else packed
        except (OSError, ValueError, lzma.LZMAError) as error:
            raise _damaged(self.path, reason(error)) from error
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise _damaged(self.path, "its SHA-256 is not the one of the package")
        return data


class Manifest(_Record):
    """All that is shipped."""

    schema_version: Literal[1] = 1
    artifacts: tuple[ShippedArtifact, ...]


def has_shipped(family: str, depth_multiplier: float | None) -> bool:
    """Whether trained weights of that model come with the package."""
    return family == FAMILY and depth_multiplier in DEPTH_MULTIPLIERS


@lru_cache
def shipped_weights(depth_multiplier: float | None, family: str = FAMILY) -> ShippedArtifact:
    """The fp32 file, which holds the trained weights; UnsupportedError where none are shipped.

    `inputs["weights_sha256"]` is the hash of the weights as they were trained.
    """
    variant = Variant(depth_multiplier, "fp32", family).name
    for artifact in _by_recipe(TFLITE_FOLDER).values():
        if artifact.inputs.get("variant") == variant:
            return artifact
    raise UnsupportedError(
        f"there are no trained weights for {family} at depth multiplier {depth_multiplier}",
        why=f"{FAMILY} is shipped at {', '.join(str(depth) for depth in DEPTH_MULTIPLIERS)}",
    )


def with_shipped_tools(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs with the tools of the shipped file that is made of the same; else as they are."""
    shipped = _by_recipe(TFLITE_FOLDER).get(_recipe(inputs))
    return dict(inputs) if shipped is None else {**inputs, "tools": shipped.inputs["tools"]}


def shipped_artifact(inputs: Mapping[str, Any]) -> ShippedArtifact | None:
    """What comes with the package and was made of these inputs, tools included."""
    shipped = _by_recipe(TFLITE_FOLDER).get(_recipe(inputs))
    return shipped if shipped is not None and shipped.inputs == dict(inputs) else None


def find_shipped(inputs: Mapping[str, Any]) -> CachedFile | None:
    """The shipped file that was made of these inputs; None where it is compressed.

    InputError where it is damaged.
    """
    shipped = shipped_artifact(inputs)
    if shipped is None or shipped.is_compressed:
        return None
    shipped.content()
    return CachedFile(shipped.path, shipped.sha256, shipped.size_bytes, shipped.note)


def read_manifest(folder: Path = TFLITE_FOLDER) -> Manifest:
    """The manifest of a folder; ValueError when it is damaged, OSError when it does not exist."""
    return Manifest.model_validate_json(read_regular(folder / MANIFEST, _MAX_MANIFEST_BYTES))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a folder."""
    text = json.dumps(manifest.model_dump(mode="json"), indent=1)
    (folder / MANIFEST).write_text(text + "\n")


@lru_cache
def _by_recipe(folder: Path) -> dict[str, ShippedArtifact]:
    try:
        return {_recipe(artifact.inputs): artifact for artifact in read_manifest(folder).artifacts}
    except (OSError, ValueError) as error:
        raise _damaged(folder / MANIFEST, _why(error)) from error


def _why(error: OSError | ValueError) -> str:
    # Of pydantic's lines the last but one says what is wrong, the first how many things are.
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return reason(error)


def _damaged(path: Path, why: str) -> InputError:
    return InputError(
        f"{path} is not the file that came with EdgeBench",
        why=why,
        fix="install EdgeBench again: pip install --force-reinstall --no-deps edgebench",
    )


def _recipe(inputs: Mapping[str, Any]) -> str:
    """What decides the file, whichever versions of the tools carry it out."""
    return canonical_hash({name: value for name, value in inputs.items() if name != "tools"})


# The golden patches: one of each class, from the calibration split, kept in the cache.


CHOSEN = (0, 4, 3, 16, 23)
"""Indices in the calibration split, in the order of the classes: the first that all nine shipped variants
score above 0.95. A device that computes a little differently must not turn the class of one over."""


def golden_patches(cache: Cache) -> CachedFile:
    """A .npy of uint8 [5, 224, 224, 3], in the order of the classes."""
    key = canonical_hash({"images": images_identity("calibration"), "chosen": CHOSEN})

    def render() -> Pixels:
        draws, earth = shipped_draws("calibration"), Earth.load(ASSETS)
        return np.stack([render_patch(earth, draws, index) for index in CHOSEN])

    return obtain_array(cache, "golden", key, render)
