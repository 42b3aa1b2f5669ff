"""The scene, small, for reports: a JPEG of at most 1128 pixels an edge."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from edgebench.vocabulary.pictures import Scene

PREVIEW_PIXELS = 1128  # a quarter of 4512


def scene_preview(scene: Scene) -> bytes:
    """JPEG bytes of the part of the scene that is cut into patches."""
    pixels = np.load(scene.path, mmap_mode="r")
    across = scene.patch_width or scene.patch
    down = (scene.rows - 1) * (scene.stride or scene.patch) + scene.patch
    used = pixels[:down, : (scene.columns - 1) * (scene.stride or across) + across]
    step = max(1, max(used.shape[:2]) // (2 * PREVIEW_PIXELS))
    image = Image.fromarray(np.ascontiguousarray(used[::step, ::step]))
    image.thumbnail((PREVIEW_PIXELS, PREVIEW_PIXELS))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()
