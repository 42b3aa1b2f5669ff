"""Train MobileNet v1 on the Flowers photographs (or any folder per class) with the published split.

    python examples/training/flowers.py flower_photos --width 0.25      # then 0.5 and 1.0
    edgebench run --device cpu --model mobilenet_v1-0.25.npz --images mobilenet_v1-0.25.validation.csv

The photographs are read from a folder on disk; nothing is downloaded. The split is Keras's own: of 3,670
photographs the last fifth after shuffling with seed 123 validates (734). Three lists are written next to the
weights: .training.csv, .validation.csv, and .calibration.csv, 250 training photographs for int8.
Needs TensorFlow (`pip install 'edgebench[prepare]'`).
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np
from recipe import new_file, options, save, train

from edgebench.prepare.cache import Cache
from edgebench.prepare.images import load_images

CALIBRATION_IMAGES = 250


def write_list(path: Path, files: Sequence[str]) -> None:
    """A CSV of paths, relative to its folder, and labels: the names of the files' folders."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["path", "label"])
        folder = path.resolve().parent
        table.writerows(
            [os.path.relpath(Path(name).resolve(), folder), Path(name).parent.name] for name in files
        )


def main() -> None:
    """Split, train, save."""
    parser = options(__doc__, seed=123)
    parser.add_argument("folder", type=Path, help="a folder per class")
    parser.add_argument(
        "--init", type=Path, help="weights to begin with: Keras's .weights.h5 without the top"
    )
    chosen = parser.parse_args()
    output = new_file(chosen.output, chosen.width)
    split = keras.utils.image_dataset_from_directory(
        chosen.folder, validation_split=0.2, subset="both", seed=chosen.seed
    )
    training, validation = (sorted(part.file_paths) for part in split)
    sample = np.random.default_rng(chosen.seed).permutation(training)[:CALIBRATION_IMAGES]
    images, cache = {}, Cache()
    for name, files in (("training", training), ("validation", validation), ("calibration", sorted(sample))):
        listed = output.with_suffix(f".{name}.csv")
        write_list(listed, files)
        images[name] = load_images(listed, cache)
    known, other = images["training"], images["validation"]
    if known.class_names != other.class_names:
        sys.exit("a class has no image in one of the parts: add images, or split with another --seed")
    pixels = {name: np.load(part.path, mmap_mode="r") for name, part in images.items()}
    one_hot = np.eye(len(known.class_names))
    model = train(pixels["training"], one_hot[np.array(known.labels)], chosen, chosen.init)
    record = {
        "depth_multiplier": chosen.width,
        "class_names": known.class_names,
        "data": {
            name: {"name": part.name, "sha256": part.sha256, "n": part.n} for name, part in images.items()
        },
        "recipe": {"epochs": chosen.epochs, "seed": chosen.seed, "init": chosen.init and chosen.init.name},
    }
    save(model, output, record, pixels["validation"], one_hot[np.array(other.labels)])


if __name__ == "__main__":
    main()
