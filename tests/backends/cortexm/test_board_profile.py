"""What a board's profile says of its runtime."""

import importlib

import pytest

profiles = importlib.import_module("edgebench.backends.cortexm.profile")


@pytest.mark.parametrize(
    ("engine", "name", "version"),
    [
        ("emx-onnx-cgen 1.4.0", "emx-onnx-cgen", "1.4.0"),
        ("TFLM 90b983c with CMSIS-NN", "TFLM", "90b983c with CMSIS-NN"),
        ("brightness", "brightness", profiles.NOT_REPORTED),
    ],
)
def test_an_engine_is_its_name_and_the_rest_its_version(engine, name, version):
    profile = profiles.Profile("edgebench", "edgebench-cortexm 1", "model:00", {"engine": engine})
    runtime = profile.runtime()
    assert (runtime["name"], runtime["version"]) == (name, version)
