"""Networks live in processes of their own: one program builds and fills them, and prints what came of it."""

import json
import subprocess
import sys
from typing import Any

import pytest

from edgebench.prepare import families as catalogue

pytestmark = pytest.mark.slow

PROGRAM = """
import json, sys
from pathlib import Path
import numpy as np
import tensorflow as tf
from edgebench.errors import InputError
from edgebench.prepare import families
from edgebench.prepare.families import write_weights
from edgebench.prepare.workers import keras, tflite_file

folder = Path(sys.argv[1])
found = {"sizes": {}, "spread": {}, "same": {}}
pixels = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3)).astype(np.float32)
for name in families.known():
    family = families.spec(name)
    for width in (family.widths or (None,))[:1]:
        tf.keras.backend.clear_session()
        model = keras.ready(name, width, None)
        tally = tflite_file.Tally()
        for layer in keras._layers(model):
            keras._tally(layer, tally)
        found["sizes"][name] = [model.count_params(), tally.macs, tally.unknown]
        features = model.layers[0](pixels / family.divisor + family.offset, training=False).numpy()
        scores = model(pixels / family.divisor + family.offset, training=False).numpy()
        error = float(abs(scores.sum(1) - 1).max())
        found["spread"][name] = [float(features.std()), float(scores.max()), error]
        if name == "mobilenet_v1":
            model.save(folder / "m.keras")
            found["keras"] = keras.read(folder / "m.keras")
        if name == "mobilenet_v3_small":
            before = keras.weights_of(model)
            keras.randomise(model)
            after = keras.weights_of(model)
            found["same"]["same seed"] = all(np.array_equal(before[key], after[key]) for key in before)
            write_weights(folder / "five.npz", before)
            write_weights(folder / "other.npz", {"conv1/kernel": np.zeros(3)})
            two = families.build(name, width, classes=2)
            for refused, (network, file) in {
                "size": (two, folder / "five.npz"), "foreign": (model, folder / "other.npz")
            }.items():
                try:
                    keras.load(network, file)
                except InputError as error:
                    found[refused] = [error.what, error.why]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    words = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path_factory.mktemp("networks"))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("name", catalogue.known())
def test_each_family_has_the_size_that_is_told_of_it(found: dict[str, Any], name: str):
    family = catalogue.spec(name)
    width = family.widths[0] if family.widths else None
    assert found["sizes"][name] == [family.parameters(width), family.macs(width), []]


@pytest.mark.parametrize("name", catalogue.known())
def test_random_weights_keep_numbers_of_a_trained_models_size(found: dict[str, Any], name: str):
    features, highest, error = found["spread"][name]
    assert 0.05 < features < 5  # in depth they neither vanish nor grow
    assert highest < 0.999  # so that an int8 output has more than one step
    assert error < 1e-5


def test_random_weights_are_those_of_their_seed(found: dict[str, Any]):
    assert found["same"]["same seed"] is True


def test_weights_of_other_classes_or_another_model_are_refused(found: dict[str, Any]):
    what, why = found["size"]
    assert "another size" in what
    assert why.startswith("scores/")
    assert "another model" in found["foreign"][0]


def test_a_keras_file_is_what_was_saved(found: dict[str, Any]):
    told, family = found["keras"], catalogue.spec("mobilenet_v1")
    assert [one["shape"] for one in told["inputs"]] == [[None, 224, 224, 3]]
    assert [one["shape"] for one in told["outputs"]] == [[None, 5]]
    assert told["parameters"] == family.parameters(0.25)
    assert told["macs"] == family.macs(0.25)
    assert told["precision"] == "fp32"
    assert told["operations"]["DepthwiseConv2D"] == 13
