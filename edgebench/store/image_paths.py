"""Which file each image was: what a run writes of it, without the names of users."""

from __future__ import annotations

from collections.abc import Iterable

from edgebench.store.records import ImagePathsRecord
from edgebench.store.redaction import PrivateNames
from edgebench.vocabulary.pictures import ImageSet

MAX_CHARACTERS = 16 * 2**20
"""Of all paths; the sets with more are left out, so that a result can always be read."""


def image_paths(image_sets: Iterable[ImageSet], names: PrivateNames) -> ImagePathsRecord | None:
    """The paths of the sets that are files, each set once; None where there are none."""
    by_sha256: dict[str, tuple[str, ...]] = {}
    left = MAX_CHARACTERS
    for images in image_sets:
        length = sum(map(len, images.paths))
        if images.paths and images.sha256 not in by_sha256 and length <= left:
            by_sha256[images.sha256] = tuple(names.path(path) for path in images.paths)
            left -= length
    return ImagePathsRecord(sets=by_sha256) if by_sha256 else None
