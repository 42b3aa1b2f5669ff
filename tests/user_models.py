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
tf.keras.utils.set_random_seed(7)  # some random weights bear no int8
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

# int8 throughout, as microcontrollers take it: one input, two, and an operation that TFLM lacks.
rng = np.random.default_rng(7)
def quantised(name, function, *shapes):
    call = tf.function(function).get_concrete_function(*map(tf.TensorSpec, shapes))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([call])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    draw = lambda: [rng.standard_normal(shape, np.float32) for shape in shapes]
    converter.representative_dataset = lambda: (draw() for _ in range(9))
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    open(name + "_int8.tflite", "wb").write(converter.convert())

apart = rng.standard_normal((490, 12), np.float32)
quantised("keywords", lambda x: tf.nn.softmax(tf.matmul(tf.reshape(x, (1, 490)), apart)), (1, 49, 10, 1))
quantised("autoencoder", lambda x: tf.nn.relu(tf.matmul(x, apart)) @ apart.T, (1, 490))
quantised("two", lambda x, y: tf.matmul(x, apart[:4]) + y, (1, 4), (1, 12))
quantised("wave", lambda x: x[:, None] * apart[:1, :2], (16,))  # without a batch axis
quantised("gelu", lambda x: tf.nn.gelu(tf.matmul(x, apart[:4]), approximate=True), (1, 4))
# More than a small board holds: of flash, and of the RAM of an input.
quantised("heavy", lambda x: tf.matmul(x, np.tile(apart, (1, 400))), (1, 490))
quantised("wide", lambda x: tf.reduce_mean(x, 1), (1, 300_000))

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

# One channel: the class whose colour has the nearest mean in grey.
shade = tf.keras.Input((side, side, 1), name="grey")
mean = layers.GlobalAveragePooling2D()(layers.Rescaling(1 / 255)(shade))
nearest = layers.Dense(3, activation="softmax")
grey = tf.keras.Model(shade, nearest(mean))
means = np.array([90, 133, 62], np.float32) / 255  # luma of the three colours of make_pictures
nearest.set_weights([400 * means[None], -200 * means**2])
grey.save("grey.keras")
written("grey.tflite", grey)
"""


def make_models(folder: Path) -> Path:
    """tower (.keras, .tflite, tower_saved), flex.tflite and bare_saved; as .keras and .tflite grey, two,
    autoencoder, keywords and lstm; keywords, autoencoder, two, wave, gelu, heavy and wide as _int8.tflite."""
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
