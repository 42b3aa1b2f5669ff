"""`describe` of the firmware's core."""

import numpy as np
import pytest

from tests.backends.coralmicro.firmware.micro_core import MEMORY, CoreProgram, mean_model, sha256


def test_describe_says_who_answers_and_what_fits(core):
    described = core.result("describe")
    assert described == {
        "firmware": "edgebench-coral-micro",
        "version": "1.0",
        "protocol": 1,
        "board": "a program",
        "cpu": '"this" machine',
        "runtime": "mean",
        "runtime_version": "",
        "tpu": "none?",
        "times": "pass",
        "clock_bits": 32,
        "us": 7,
        "piece_bytes": 32768,
        "model_bytes": MEMORY["model"],
        "arena_bytes": 4096,
        "scene_bytes": MEMORY["scene"],
        "images_bytes": MEMORY["images"],
        "model": None,
        "scene": None,
        "images": None,
        "temperature_c": pytest.approx(36.6, rel=1e-7),
    }


def test_describe_says_what_is_loaded(core):
    model = mean_model(15, "uint8", "float32", 5, input_scale=0.1, input_zero_point=128, output_scale=0)
    core.load("model", model)
    core.load("images", bytes(15))
    described = core.result("describe")
    assert described["model"] == {
        "sha256": sha256(model),
        "input_bytes": 15,
        "input_type": "uint8",
        "input_scale": pytest.approx(0.1, rel=1e-7),
        "input_zero_point": 128,
        "output_type": "float32",
        "output_scale": 0,
        "output_zero_point": -128,
        "classes": 5,
        "arena_used": 1234,
        "edgetpu": 1,
    }
    assert (described["scene"], described["images"]) == (None, sha256(bytes(15)))


def test_describe_takes_no_parameters(core):
    assert core.error("describe", n=1) == (-32602, "n")


def test_the_clock_wraps(core_program):
    with CoreProgram(core_program, start_us=2**32 - 1) as core:
        assert core.result("describe")["us"] == 6


@pytest.mark.parametrize(
    "scale", [1.0, 1 / 127.5, 1e-38, 1e-45, 3.4028235e38, 0.99999994, 9.9999998e9, 7.8431377e-3]
)
def test_scales_keep_every_bit(core, scale):
    core.load("model", mean_model(input_scale=scale))
    told = core.result("describe")["model"]["input_scale"]
    assert np.float32(told) == np.float32(scale)
