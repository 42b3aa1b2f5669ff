"""Train MobileNet v1 on the land-cover set that comes with EdgeBench, as the shipped weights were trained.

    python examples/training/landcover.py --width 0.25
    edgebench run --device cpu --model mobilenet_v1-0.25.npz

All 6,000 patches of the train split serve, and the 250 of the calibration split validate: patches of the
train split share pixels with their neighbours, so a part of them would not do. Needs TensorFlow
(`pip install 'edgebench[prepare]'`) and 1 GB of memory for the patches.
"""

from __future__ import annotations

import numpy as np
from recipe import new_file, options, save, train

from edgebench.prepare.cache import Cache
from edgebench.prepare.image_sets import shipped_images
from edgebench.prepare.landcover import ASSETS, CLASS_NAMES, Earth, render_patch, shipped_draws


def main() -> None:
    """Render, train, save."""
    parser = options(__doc__, seed=7)
    parser.add_argument("--patches", type=int, default=6000, help="how many of the train split to take")
    chosen = parser.parse_args()
    output = new_file(chosen.output, chosen.width)
    draws, earth = shipped_draws("train"), Earth.load(ASSETS)
    patches = min(chosen.patches, len(draws))
    images = np.stack([render_patch(earth, draws, index) for index in range(patches)])
    validation = shipped_images(Cache(), "calibration")
    one_hot = np.eye(len(CLASS_NAMES))
    model = train(images, one_hot[draws.labels[:patches]], chosen)
    calibration = {"name": validation.name, "sha256": validation.sha256, "n": validation.n}
    record = {
        "depth_multiplier": chosen.width,
        "class_names": CLASS_NAMES,
        "data": {"train": {"name": "landcover-train", "n": patches}, "calibration": calibration},
        "recipe": {"epochs": chosen.epochs, "seed": chosen.seed},
    }
    save(model, output, record, np.load(validation.path), one_hot[np.array(validation.labels)])


if __name__ == "__main__":
    main()
