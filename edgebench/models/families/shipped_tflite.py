"""The .tflite files that come with the package: those whose recipe is asked for, whole or not at all.

`tflite/artifacts.json` has for each file what decided it (`inputs`, as `models.prepare.tflite` has them,
with the versions of the tools that made it), its hash, and what was noted when it was made. A shipped file
stands under its own tools' versions: it serves whatever is installed, or where nothing is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from edgebench.cache.objects import canonical_hash, sha256_file
from edgebench.cache.recipes import CachedFile
from edgebench.errors import InputError
from edgebench.regular_files import read_regular, reason

FOLDER = Path(__file__).parent / "tflite"
MANIFEST = "artifacts.json"
_MAX_MANIFEST_BYTES = 16 * 1024 * 1024


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ShippedArtifact(_Record):
    """One file beside the manifest."""

    file: str = Field(pattern=r"^[a-z0-9_.-]+\.tflite$")
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


class Manifest(_Record):
    """All that is shipped."""

    schema_version: Literal[1] = 1
    artifacts: tuple[ShippedArtifact, ...]


def with_shipped_tools(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs with the tools of the shipped file that is made of the same; else as they are."""
    shipped = _by_recipe(FOLDER).get(_recipe(inputs))
    return dict(inputs) if shipped is None else {**inputs, "tools": shipped.inputs["tools"]}


def is_shipped(inputs: Mapping[str, Any]) -> bool:
    """Whether a file that was made of these inputs comes with the package, whatever became of it."""
    shipped = _by_recipe(FOLDER).get(_recipe(inputs))
    return shipped is not None and shipped.inputs == dict(inputs)


def find_shipped(inputs: Mapping[str, Any]) -> CachedFile | None:
    """The shipped file that was made of these inputs, tools included; InputError when it is damaged."""
    shipped = _by_recipe(FOLDER).get(_recipe(inputs))
    if shipped is None or not is_shipped(inputs):
        return None
    path = FOLDER / shipped.file
    try:
        sound = sha256_file(path) == shipped.sha256
    except OSError:
        sound = False
    if not sound:
        raise _damaged(path, "its SHA-256 is not the one of the package")
    return CachedFile(path, shipped.sha256, shipped.size_bytes, shipped.note)


def read_manifest(folder: Path = FOLDER) -> Manifest:
    """The manifest of a folder; ValueError when it is none, OSError when it is not there."""
    return Manifest.model_validate_json(read_regular(folder / MANIFEST, _MAX_MANIFEST_BYTES))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a folder."""
    text = json.dumps(manifest.model_dump(mode="json"), indent=1)
    (folder / MANIFEST).write_text(text + "\n")


@lru_cache
def _by_recipe(folder: Path) -> dict[str, ShippedArtifact]:
    try:
        return {_recipe(artifact.inputs): artifact for artifact in read_manifest(folder).artifacts}
    except FileNotFoundError:  # the folder is being made
        return {}
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
