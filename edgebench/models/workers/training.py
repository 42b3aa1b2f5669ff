"""Training a model family, in a process of its own: `python -m edgebench.models.workers.training`.

The recipe that made the shipped weights: small images first, then the full size; AdamW with cosine decay,
label smoothing, flips and brightness. One job comes in as a JSON line (see `workers.processes`)::

    {"what": text, "family": "mobilenet_v1", "depth_multiplier": 0.25, "classes": 5,
     "init": path or null, "output": path, "train": {"images": path, "labels": [...], "indices": [...]},
     "validation": {the same}, "epochs": 10, "full_epochs": 3, "seed": 7}

`images` is a .npy of uint8 [n, 224, 224, 3]; `indices` are the rows that belong to the part. The same job
gives the same weights, to the last bit, on the same machine with the same versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import InputError
from edgebench.models.families import catalogue, networks
from edgebench.models.families.weights import write_weights
from edgebench.models.workers.processes import Job, Report, serve

FULL_SIZE = 224
SMALL_SIZE = 112
BATCH = 32
SMALL_RATE = 2e-3
FULL_RATE = 5e-4
WEIGHT_DECAY = 1e-3
LABEL_SMOOTHING = 0.05
_BRIGHTNESS = (0.85, 1.15)
_OFFSET = 12.0  # of 255


def train(job: Job, report: Report) -> dict[str, Any]:
    """Train, write the weights as float16, and say how often they are right on the validation part."""
    import tensorflow as tf

    tf.keras.utils.set_random_seed(job["seed"])
    tf.config.experimental.enable_op_determinism()
    weights: list[NDArray[np.float32]] | None = None
    new_head = False
    stages = ((SMALL_SIZE, job["epochs"], SMALL_RATE), (FULL_SIZE, job["full_epochs"], FULL_RATE))
    for size, epochs, rate in stages:
        model = catalogue.build(job["family"], job["depth_multiplier"], classes=job["classes"], size=size)
        if weights is not None:
            model.set_weights(weights)
        elif job["init"]:
            new_head = networks.load(model, Path(job["init"]), new_head=True)
            if new_head:
                report(f"the layer of the scores begins anew: there is none for {job['classes']} classes")
        if epochs:
            _fit(tf, model, job, size, epochs, rate, report)
        weights = model.get_weights()
    output = Path(job["output"])
    try:
        write_weights(output, networks.weights_of(model))
    except ValueError as error:
        raise InputError(
            "the training came to nothing", why=str(error), fix="begin with other weights or another seed"
        ) from error
    networks.load(model, output)  # as float16, which is what is used from here on
    split_job = job["validation"]
    scores = model.predict(_batches(tf, job, "validation", FULL_SIZE, augmented=False), verbose=0)
    right = scores.argmax(1) == np.asarray(split_job["labels"])[split_job["indices"]]
    return {
        "validation": {"k": int(right.sum()), "n": len(right)},
        "parameters": int(model.count_params()),
        "new_head": new_head,
    }


def _fit(tf: Any, model: Any, job: Job, size: int, epochs: int, rate: float, report: Report) -> None:
    steps = max(1, len(job["train"]["indices"]) // BATCH)
    model.compile(
        tf.keras.optimizers.AdamW(
            tf.keras.optimizers.schedules.CosineDecay(rate, epochs * steps), weight_decay=WEIGHT_DECAY
        ),
        tf.keras.losses.CategoricalCrossentropy(label_smoothing=LABEL_SMOOTHING),
        metrics=["accuracy"],
    )

    def report_epoch(epoch: int, logs: Mapping[str, float]) -> None:
        report(
            f"{size} x {size}, epoch {epoch + 1} of {epochs}: loss {logs['loss']:.3f}, "
            f"right {logs['accuracy']:.1%}, on validation {logs['val_accuracy']:.1%}"
        )

    model.fit(
        _batches(tf, job, "train", size, augmented=True),
        epochs=epochs,
        validation_data=_batches(tf, job, "validation", size, augmented=False),
        callbacks=[tf.keras.callbacks.LambdaCallback(on_epoch_end=report_epoch)],
        verbose=0,
    )


def _batches(tf: Any, job: Job, name: str, size: int, *, augmented: bool) -> Any:
    """A tf.data pipeline of float32 [batch, size, size, 3], as the family takes them, and one-hot labels."""
    split_job, classes, family = job[name], job["classes"], catalogue.spec(job["family"])
    images = np.load(split_job["images"], mmap_mode="r")
    labels = split_job["labels"]
    rng = np.random.default_rng([job["seed"], size])

    def rows() -> Iterator[tuple[NDArray[np.uint8], int]]:
        order = rng.permutation(split_job["indices"]) if augmented else split_job["indices"]
        for index in order:
            yield images[index], labels[index]

    def prepared(pixels: Any, label: Any) -> tuple[Any, Any]:
        patch = tf.cast(pixels, tf.float32)
        if size != FULL_SIZE:
            step = FULL_SIZE // size
            patch = tf.nn.avg_pool2d(patch[None], step, step, "VALID")[0]
        if augmented:
            patch = tf.image.random_flip_left_right(tf.image.random_flip_up_down(patch))
            patch = patch * tf.random.uniform([], *_BRIGHTNESS) + tf.random.uniform([], -_OFFSET, _OFFSET)
            patch = tf.clip_by_value(patch, 0, 255)
        return patch / family.divisor + family.offset, tf.one_hot(label, classes)

    # An incomplete last batch would move the batch normalisation; it is dropped where there are others.
    drop = augmented and len(split_job["indices"]) >= BATCH
    return (
        tf.data.Dataset.from_generator(
            rows,
            output_signature=(
                tf.TensorSpec((FULL_SIZE, FULL_SIZE, 3), tf.uint8),
                tf.TensorSpec((), tf.int32),
            ),
        )
        .apply(tf.data.experimental.assert_cardinality(len(split_job["indices"])))
        .map(prepared)
        .batch(BATCH, drop_remainder=drop)
        .prefetch(1)
    )


if __name__ == "__main__":
    serve(train, accelerators=True)
