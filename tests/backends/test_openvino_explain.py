"""Why OpenVINO cannot open a device: the real words of its releases become causes and what to do."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from edgebench.errors import SessionError

explain: Any = importlib.import_module("edgebench.backends.openvino.explain")

NONE = "no stick, neither 03e7:2485 nor 03e7:f63b"
UNBOOTED = "03e7:2485 before its firmware at 480 Mbit/s"


def failure(why: str, stage: str = "load") -> SessionError:
    return SessionError(
        "the worker failed while loading the artifact", status="load_failed", stage=stage, why=why,
        stderr_tail="E: [ncAPI] ncDeviceOpen",
    )  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        "RuntimeError: Can not init Myriad device: NC_ERROR",
        "RuntimeError: Failed to allocate graph: MYRIAD device is not opened.",
        "RuntimeError: Myriad device: 1.2-ma2480 not found.",
    ],
    ids=["2021.4", "2022", "a stick by its name"],
)
@pytest.mark.parametrize("state", [NONE, UNBOOTED, f"{UNBOOTED} which this user may not write to"])
@pytest.mark.attack(
    "a Neural Compute Stick 2 that cannot be opened: the failure names the causes and what USB shows"
)
def test_a_stick_that_cannot_be_opened(words, state):
    explained = explain.explain(failure(f"{words}; USB shows {state}"))
    assert explained is not None
    assert explained.what == "the Neural Compute Stick 2 cannot be opened"
    assert explained.why.endswith(f"on USB: {state}")
    assert (explained.status, explained.stage) == ("load_failed", "load")
    assert explained.stderr_tail.startswith("E:")
    assert "udev rule" in explained.fix and "USB 2 hub gives it too little power" in explained.fix


@pytest.mark.parametrize(
    ("state", "first"),
    [
        (NONE, "plug the stick in"),
        (UNBOOTED, "end what else holds the stick"),
        (f"{UNBOOTED} which this user may not write to", "install the udev rule"),
    ],
)
def test_the_likeliest_cause_comes_first(state, first):
    explained = explain.explain(failure(f"Can not init Myriad device: NC_ERROR; USB shows {state}"))
    assert explained is not None
    assert explained.fix.startswith(first)


def test_without_a_state_of_usb_it_says_how_to_see_it():
    explained = explain.explain(failure("RuntimeError: Can not init Myriad device: NC_ERROR"))
    assert explained is not None
    assert "lsusb -d 03e7:" in explained.why


@pytest.mark.parametrize(
    "words",
    [
        'Device with "MYRIAD" name is not registered in the OpenVINO Runtime',
        'Device with "MYRIAD" name is not registered in the InferenceEngine',
        "RuntimeError: MYRIAD is not in this build, which has AUTO, CPU",
    ],
)
def test_a_build_without_the_sticks_plug_in_names_the_three_ways(words):
    explained = explain.explain(failure(f"RuntimeError: {words}"))
    assert explained is not None
    for way in ("openvino==2021.4.2", "2022.3 LTS", "Raspberry Pi"):
        assert way in explained.fix


@pytest.mark.parametrize(
    ("library", "command"),
    [("libusb-1.0.so.0", "apt install libusb-1.0-0"), ("libOpenCL.so.1", "apt install intel-opencl-icd")],
)
def test_a_library_that_no_wheel_brings_is_named_with_its_package(library, command):
    words = (
        f"Cannot load library 'libmyriadPlugin.so': {library}: cannot open shared object file: No such file"
    )
    explained = explain.explain(failure(words))
    assert explained is not None
    assert library in explained.what and command in explained.fix


@pytest.mark.parametrize(
    "error",
    [
        failure('Device with "NPU" name is not registered in the OpenVINO Runtime'),
        failure("libsomething.so.1: cannot open shared object file"),
        failure("Can not init Myriad device: NC_ERROR", stage="measure"),
        failure("the input x has the shape [?,3,16,16]"),
    ],
    ids=["another device", "another library", "amid measuring", "another failure"],
)
def test_anything_else_stays_as_it_was_told(error):
    assert explain.explain(error) is None
