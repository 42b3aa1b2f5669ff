"""Make the shipped draws and the shipped scene again.

Run as `python -m benchmarks.shipped.make_assets [--folder DIR]`.

Takes about a minute. It writes the files of `edgebench/prepare/assets`; only the
recipe or the Earth images changing is a reason to run it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.shipped.draw_search import draw_patches
from edgebench.prepare.landcover import (
    ASSETS,
    CLASS_NAMES,
    PATCH,
    SHIPPED_COUNTS,
    SHIPPED_SEED,
    SPLITS,
    Draws,
    Earth,
    Pixels,
    Split,
    View,
    commonest_class,
    render,
)

SCENE_PIXELS = 4512
SCENE_VIEW = View(lat_deg=68.0, lon_deg=-36.0, width_km=5200.0, cloud_shift_deg=40.0)
JPEG_QUALITY = 92
_BAND = 96  # rows rendered at once: a whole scene would take 4 GB


def search(
    earth: Earth, counts: Mapping[Split, int] = SHIPPED_COUNTS, seed: int = SHIPPED_SEED
) -> dict[Split, Draws]:
    """The draws of the splits, which share no ground.

    The train split is drawn freely, because the shipped weights were trained on it.
    """
    drawn: dict[Split, Draws] = {}
    for split in SPLITS:
        drawn[split] = draw_patches(earth, split, counts[split], seed, tuple(drawn.values()))
    return drawn


def write_draws(file: Path, draws: Mapping[Split, Draws]) -> None:
    """Store the draws of the splits as an .npz that `shipped_draws` reads."""
    arrays: dict[str, Any] = {
        f"{split}_values": draws_of_split.values for split, draws_of_split in draws.items()
    }
    arrays |= {f"{split}_labels": draws_of_split.labels for split, draws_of_split in draws.items()}
    np.savez_compressed(file, allow_pickle=False, **arrays)


def render_scene(earth: Earth) -> tuple[Pixels, Pixels]:
    """The scene, uint8 [n, n, 3], n SCENE_PIXELS, and its pixels' classes, in bands of bounded memory."""
    size = SCENE_PIXELS
    bands = [
        render(earth, SCENE_VIEW, size, slice(top, min(top + _BAND, size))) for top in range(0, size, _BAND)
    ]
    return np.concatenate([rgb for rgb, _ in bands]), np.concatenate([classes for _, classes in bands])


def patch_labels(classes: Pixels) -> tuple[int, ...]:
    """The commonest pixel class of each whole patch, row by row."""
    rows, columns = classes.shape[0] // PATCH, classes.shape[1] // PATCH
    return tuple(
        commonest_class(classes[r * PATCH : (r + 1) * PATCH, c * PATCH : (c + 1) * PATCH])[0]
        for r in range(rows)
        for c in range(columns)
    )


def write_scene(folder: Path, rgb: Pixels, labels: tuple[int, ...]) -> None:
    """Store the scene as scene.jpg and what is known of it as scene.json."""
    Image.fromarray(rgb).save(folder / "scene.jpg", quality=JPEG_QUALITY)
    about = {
        "view": asdict(SCENE_VIEW),
        "pixels": rgb.shape[0],
        "patch": PATCH,
        "class_names": CLASS_NAMES,
        "labels": labels,
    }
    (folder / "scene.json").write_text(json.dumps(about) + "\n")


def main() -> None:
    """Search, render, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ASSETS, help="where to write (default: the package)")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    earth = Earth.load(ASSETS)
    write_draws(folder / "draws.npz", search(earth))
    rgb, classes = render_scene(earth)
    write_scene(folder, rgb, patch_labels(classes))


if __name__ == "__main__":
    main()
