"""What a board's profile says of its runtime."""

import importlib

import pytest

board_profile = importlib.import_module("edgebench.backends.cortexm.device")
conversation = importlib.import_module("edgebench.backends.cortexm.conversation")


@pytest.mark.parametrize(
    ("engine", "name", "version"),
    [
        ("emx-onnx-cgen 1.4.0", "emx-onnx-cgen", "1.4.0"),
        ("TFLM 90b983c with CMSIS-NN", "TFLM", "90b983c with CMSIS-NN"),
        ("brightness", "brightness", board_profile.NOT_REPORTED),
    ],
)
def test_an_engine_is_its_name_and_the_rest_its_version(engine, name, version):
    profile = conversation.Profile("edgebench-cortexm 1", "model:00", {"engine": engine})
    runtime = board_profile.BoardProfile("edgebench", profile).runtime()
    assert (runtime["name"], runtime["version"]) == (name, version)
