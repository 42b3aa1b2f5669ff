"""Networks live in processes of their own: one program builds and fills them, and prints what came of it."""

import json
import subprocess
import sys
from typing import Any

import pytest

from edgebench.models.families import catalogue
from edgebench.models.families.weights import shipped_weights

pytestmark = pytest.mark.slow

PROGRAM = """
import json, sys
from pathlib import Path
import numpy as np
import tensorflow as tf
from edgebench.errors import InputError
from edgebench.models.families import catalogue, networks
from edgebench.models.inspect import keras_file, macs
from edgebench.models.families.weights import write_weights

folder, shipped = Path(sys.argv[1]), Path(sys.argv[2])
found = {"sizes": {}, "spread": {}, "same": {}}
pixels = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3)).astype(np.float32)
for name in catalogue.known():
    family = catalogue.spec(name)
    for width in (family.widths or (None,))[:1]:
        tf.keras.backend.clear_session()
        model = networks.ready(name, width, None)
        tally = macs.Tally()
        for layer in keras_file._layers(model):
            keras_file._tally(layer, tally)
        found["sizes"][name] = [model.count_params(), tally.macs, tally.unknown]
        features = model.layers[0](pixels / family.divisor + family.offset, training=False).numpy()
        scores = model(pixels / family.divisor + family.offset, training=False).numpy()
        error = float(abs(scores.sum(1) - 1).max())
        found["spread"][name] = [float(features.std()), float(scores.max()), error]
        if name == "mobilenet_v1":
            model.save(folder / "m.keras")
            found["keras"] = keras_file.read(folder / "m.keras")
        if name == "mobilenet_v3_small":
            before = networks.weights_of(model)
            networks.randomise(model)
            after = networks.weights_of(model)
            found["same"]["same seed"] = all(np.array_equal(before[key], after[key]) for key in before)
            networks.randomise(model, 1)
            after = networks.weights_of(model)
            found["same"]["other seed"] = np.array_equal(before["conv/kernel"], after["conv/kernel"])
            model.layers[0].save_weights(folder / "top_less.weights.h5")
            write_weights(folder / "five.npz", before)
            two = catalogue.build(name, width, classes=2)
            for file in ("top_less.weights.h5", "five.npz"):
                found["same"][file] = networks.load(two, folder / file, new_head=True)
            try:
                networks.load(two, folder / "five.npz")
            except InputError as error:
                found["refused"] = [error.what, error.why]
            try:
                networks.load(model, shipped)
            except InputError as error:
                found["foreign"] = [error.what, error.why]
            try:
                (folder / "broken.weights.h5").write_bytes(b"no HDF5")
                networks.load(model, folder / "broken.weights.h5", new_head=True)
            except InputError as error:
                found["broken"] = [error.what, error.why]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    words = [str(tmp_path_factory.mktemp("networks")), str(shipped_weights(0.25).path)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, *words], capture_output=True, text=True, check=True
    )
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
    assert found["same"]["other seed"] is False


def test_weights_of_other_classes_serve_where_the_head_may_begin_anew(found: dict[str, Any]):
    assert found["same"]["five.npz"] is True
    assert found["same"]["top_less.weights.h5"] is True
    what, why = found["refused"]
    assert "another size" in what
    assert why.startswith("scores/")


def test_weights_of_another_model_and_broken_files_are_refused(found: dict[str, Any]):
    assert "another model" in found["foreign"][0]
    assert "broken.weights.h5" in found["broken"][0]
    assert found["broken"][1]


def test_a_keras_file_is_what_was_saved(found: dict[str, Any]):
    told, family = found["keras"], catalogue.spec("mobilenet_v1")
    assert [one["shape"] for one in told["inputs"]] == [[None, 224, 224, 3]]
    assert [one["shape"] for one in told["outputs"]] == [[None, 5]]
    assert told["parameters"] == family.parameters(0.25)
    assert told["macs"] == family.macs(0.25)
    assert told["precision"] == "fp32"
    assert told["operations"]["DepthwiseConv2D"] == 13
