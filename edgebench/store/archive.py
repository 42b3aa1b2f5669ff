"""The file that a result is passed on as: a zip archive with a manifest of checksums, version 1.

Its members are those of a result folder, under the same names (`edgebench.store.records` has the layout), and
`manifest.json`::

    {"format": "edgebench-result", "version": 1, "name": "20261121-120000-cpu", "edgebench_version": "0.3.0",
     "files": {"experiment.json": {"bytes": 4213, "sha256": "..."}, ...}}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from edgebench.store.layout import EXPERIMENT_FILE, IMAGES_FILE, RUN_FILE, SCENE_FILE

FORMAT = "edgebench-result"
VERSION = 1
MANIFEST = "manifest.json"
MOST_MEMBERS = 200_000
"""A thousand trials of thirty sessions each with their tables."""
MOST_UNFOLDED = 50
"""How many times its own size an archive may unfold to: tables are compressed already, records tenfold."""
LEAST_BYTES = 64 << 20
"""An archive may unfold to so much, however small it is."""
MOST_DIRECTORY_BYTES = 64 << 20
"""Of the archive's list of members, which is read as a whole: 300 bytes each."""

_MEMBER = re.compile(
    r"trials/[0-9a-f]{16}/(?:trial\.json|sessions/[0-9]{3,6}/(?:session\.json|[a-z][a-z0-9_]{0,40}\.parquet))"
)


class ArchivedFile(BaseModel):
    """What the manifest says of a member."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bytes: int = Field(ge=0)
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Manifest(BaseModel):
    """manifest.json: every other member with its checksum."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["edgebench-result"] = "edgebench-result"
    version: int = Field(default=VERSION, ge=1, strict=True)
    name: str
    edgebench_version: str
    files: dict[str, ArchivedFile]


def is_member(name: str) -> bool:
    """Whether a result folder has a file of that name; nothing else is packed or unpacked."""
    return name in (EXPERIMENT_FILE, RUN_FILE, IMAGES_FILE, SCENE_FILE) or _MEMBER.fullmatch(name) is not None


def foreign(names: Sequence[str]) -> str | None:
    """The first name that no member of an archive has; None when there is none."""
    return next((name for name in names if name != MANIFEST and not is_member(name)), None)
