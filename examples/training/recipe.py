"""How MobileNet v1 is trained for EdgeBench: the recipe of the shipped weights, in plain Keras.

Small images first, then the full size; AdamW with cosine decay, label smoothing, flips and brightness.
`save` writes what `edgebench run --model W.npz` reads: the weights as float16, and their record next to them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from edgebench.prepare.families import write_weights

BATCH = 32
STAGES = ((112, 2e-3), (224, 5e-4))  # edge of an image in pixels, first learning rate
BRIGHTNESS, OFFSET = (0.85, 1.15), 12.0  # of 255


def options(description: str | None, seed: int) -> argparse.ArgumentParser:
    """The options of every data set; `seed` is the default of --seed."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--width", type=float, default=0.25, help="depth multiplier: 0.25, 0.5 or 1.0")
    parser.add_argument("-o", "--output", type=Path, help="default: mobilenet_v1-WIDTH.npz")
    parser.add_argument(
        "--epochs", type=int, nargs=2, default=(10, 3), help="at 112 x 112, then at 224 x 224"
    )
    parser.add_argument("--seed", type=int, default=seed, help="same seed: same split, same weights")
    return parser


def new_file(output: Path | None, width: float) -> Path:
    """Where the weights go; ends the program where they would replace others."""
    path = output or Path(f"mobilenet_v1-{width}.npz")
    if path.suffix != ".npz" or path.exists() or path.with_suffix(".json").exists():
        sys.exit(f"{path} is no new .npz file: name another one with -o")
    return path


class Batches(keras.utils.PyDataset):  # type: ignore[misc]  # Keras has no types
    """Batches of float32 [n, size, size, 3] in -1..1 and one-hot labels, from uint8 images of 224 x 224.

    With a seed, batches are shuffled and varied for training, and an incomplete last one is left out: it
    would move the batch normalisation.
    """

    def __init__(
        self, images: NDArray[Any], labels: NDArray[Any], size: int, seed: int | None = None
    ) -> None:
        super().__init__()
        self._images, self._labels, self._size = images, labels, size
        self._rng = None if seed is None else np.random.default_rng([seed, size])
        self._order = np.arange(len(labels))
        self.on_epoch_end()

    def __len__(self) -> int:
        n = len(self._order)
        return n // BATCH if self._rng and n >= BATCH else -(-n // BATCH)

    def __getitem__(self, index: int) -> tuple[NDArray[Any], NDArray[Any]]:
        rows = self._order[index * BATCH : (index + 1) * BATCH]
        step = 224 // self._size
        pixels = self._images[rows].astype(np.float32)
        pixels = pixels.reshape(len(rows), self._size, step, self._size, step, 3).mean((2, 4))
        if self._rng:
            for place, (upside_down, mirrored) in enumerate(self._rng.random((len(rows), 2)) < 0.5):
                pixels[place] = pixels[place, :: -1 if upside_down else 1, :: -1 if mirrored else 1]
            pixels *= self._rng.uniform(*BRIGHTNESS, (len(rows), 1, 1, 1))
            pixels = np.clip(pixels + self._rng.uniform(-OFFSET, OFFSET, (len(rows), 1, 1, 1)), 0, 255)
        return (pixels / 127.5 - 1).astype(np.float32), self._labels[rows]

    def on_epoch_end(self) -> None:
        """Shuffle for the next epoch."""
        if self._rng:
            self._rng.shuffle(self._order)


def build(width: float, classes: int, size: int, init: Path | None = None) -> keras.Model:
    """MobileNet v1 without its top, global average pooling, a dense softmax; `init`: Keras's .weights.h5."""
    base = keras.applications.MobileNet(
        input_shape=(size, size, 3), alpha=width, include_top=False, pooling="avg", weights=init
    )
    for layer in base.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.9  # Keras's 0.99 is slow to follow where epochs are few
    return keras.Sequential([base, keras.layers.Dense(classes, activation="softmax", name="scores")])


def train(
    images: NDArray[Any], labels: NDArray[Any], chosen: argparse.Namespace, init: Path | None = None
) -> keras.Model:
    """The trained model, from one-hot labels; equal arguments give equal weights on one machine."""
    keras.utils.set_random_seed(chosen.seed)
    tf.config.experimental.enable_op_determinism()
    model = None
    for (size, rate), epochs in zip(STAGES, chosen.epochs, strict=True):
        batches = Batches(images, labels, size, chosen.seed)
        larger = build(chosen.width, labels.shape[1], size, init)
        if model is not None:
            larger.set_weights(model.get_weights())
        model = larger
        decay = keras.optimizers.schedules.CosineDecay(rate, max(1, epochs * len(batches)))
        loss = keras.losses.CategoricalCrossentropy(label_smoothing=0.05)
        model.compile(keras.optimizers.AdamW(decay, weight_decay=1e-3), loss, metrics=["accuracy"])
        model.fit(batches, epochs=epochs, verbose=2)
    return model


def save(model: keras.Model, output: Path, record: dict[str, Any], images: Any, labels: NDArray[Any]) -> None:
    """Write the weights and their record, and print on how many validation images the model is right."""
    base, head = model.layers
    weights = {
        f"{layer.name}/{variable.name}": variable
        for layer in [*base.layers, head]
        for variable in layer.weights
    }
    for variable in weights.values():
        variable.assign(np.asarray(variable).astype(np.float16))  # as they are used from here on
    right = int((model.predict(Batches(images, labels, 224), verbose=0).argmax(1) == labels.argmax(1)).sum())
    write_weights(output, {name: np.asarray(variable) for name, variable in weights.items()})
    about = {
        "schema_version": 1,
        "family": "mobilenet_v1",
        "weights_sha256": hashlib.sha256(output.read_bytes()).hexdigest(),
        "validation": {"k": right, "n": len(labels)},
        "tools": {"keras": keras.__version__, "numpy": np.__version__},
    }
    output.with_suffix(".json").write_text(json.dumps({**about, **record}, indent=1) + "\n")
    print(f"{output}: right on {right} of {len(labels)} validation images")
