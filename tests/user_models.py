"""Small models of a user's, made once a session by TensorFlow in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CLASSES = ("cat", "dog", "eel")
SIDE = 32

_MAKE = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy as np, tensorflow as tf
os.chdir(sys.argv[1])
layers, side = tf.keras.layers, int(sys.argv[2])

def written(name, model):
    open(name, "wb").write(tf.lite.TFLiteConverter.from_keras_model(model).convert())

# The mean colour decides: no training, and yet right on pictures of one colour.
taken = tf.keras.Input((side, side, 3), name="picture")
mean = layers.GlobalAveragePooling2D()(layers.Rescaling(1 / 255)(layers.Identity()(taken)))
dense = layers.Dense(3, activation="softmax")
tower = tf.keras.Model(taken, dense(mean))
dense.set_weights([np.eye(3, dtype=np.float32) * 8, np.zeros(3, np.float32)])
tower.save("tower.keras")
tower.export("tower_saved", verbose=False)
written("tower.tflite", tower)

tokens, extra = tf.keras.Input((6,), name="tokens"), tf.keras.Input((2, 4), name="extra")
both = layers.Concatenate()([tokens, layers.Flatten()(extra)])
two = tf.keras.Model([tokens, extra], [layers.Dense(5, name="p")(both), layers.Dense(1, name="q")(both)])
two.save("two.keras")
written("two.tflite", two)

# What takes no picture and gives one row of scores, its batch fixed in the .tflite.
def static(name, taken, given):
    model = tf.keras.Model(taken, given)
    model.save(name + ".keras")
    call = tf.function(lambda x: model(x)).get_concrete_function(tf.TensorSpec((1, *taken.shape[1:])))
    open(name + ".tflite", "wb").write(tf.lite.TFLiteConverter.from_concrete_functions([call]).convert())

spectrum = tf.keras.Input((640,))
static("autoencoder", spectrum, layers.Dense(640)(layers.Dense(8, activation="relu")(spectrum)))
sound = tf.keras.Input((49, 10, 1))
heard = layers.GlobalAveragePooling2D()(layers.Conv2D(16, 3, activation="relu")(sound))
static("keywords", sound, layers.Dense(12, activation="softmax")(heard))
series = tf.keras.Input((20, 6))
static("lstm", series, layers.Dense(4, activation="softmax")(layers.LSTM(8)(series)))

# An operation that TFLite has only with TensorFlow's own kernels.
function = tf.function(lambda x: tf.linalg.det(x)[:, None]).get_concrete_function(tf.TensorSpec((1, 3, 3)))
converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
open("flex.tflite", "wb").write(converter.convert())

class Bare(tf.Module):
    @tf.function
    def __call__(self, x):
        return x
tf.saved_model.save(Bare(), "bare_saved")
"""


def make_models(folder: Path) -> Path:
    """tower (.keras, .tflite, tower_saved), flex.tflite and bare_saved; and as .keras and .tflite
    two, autoencoder, keywords and lstm."""
    done = subprocess.run(
        [sys.executable, "-c", _MAKE, str(folder), str(SIDE)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-4000:]
    (folder / "labels.txt").write_text("\n".join(CLASSES) + "\n")
    return folder


def make_pictures(folder: Path, seed: int, each: int = 3, size: tuple[int, int] = (50, 40)) -> Path:
    """A folder a class of pictures in its colour: red cats, green dogs, blue eels."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(seed)
    for place, name in enumerate(CLASSES):
        (folder / name).mkdir(parents=True)
        for number in range(each):
            pixels = rng.integers(0, 90, (*size, 3), np.uint8)
            pixels[..., place] += 150
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    return folder
