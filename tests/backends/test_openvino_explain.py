"""Why OpenVINO cannot open a device: the words of its releases and of the runner become causes and fixes."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from edgebench import registry
from edgebench.errors import SessionError

explain: Any = importlib.import_module("edgebench.backends.openvino.checks")

NONE = "no stick, neither 03e7:2485 nor 03e7:f63b"
UNBOOTED = "03e7:2485 before its firmware at 480 Mbit/s"
ON_SCREEN = 400  # characters of a failure that a report shows


def explained(why: str, device: str = "ncs2", stage: str = "load") -> SessionError | None:
    error = SessionError(
        "the worker failed while loading the artifact", status="load_failed", stage=stage,
        why=f"RuntimeError: {why}", stderr_tail="E: [ncAPI] ncDeviceOpen",
    )  # fmt: skip
    words: SessionError | None = registry.backend(device).explain(error)
    if words is not None:
        assert (words.status, words.stage, words.stderr_tail) == ("load_failed", stage, error.stderr_tail)
        assert len(f"{words.what}: {words.why}; {words.fix}") < ON_SCREEN
    return words


@pytest.mark.parametrize(
    "words",
    [
        "Can not init Myriad device: NC_ERROR",
        "Failed to allocate graph: MYRIAD device is not opened.",
        "Myriad device: 1.2-ma2480 not found.",
        "no MYRIAD is found here (devices found: CPU): Can not init Myriad device: NC_ERROR",
    ],
    ids=["2021.4", "2022", "a stick by its name", "with the devices that are found"],
)
@pytest.mark.parametrize(
    ("state", "first"),
    [
        (NONE, "plug it in"),
        (UNBOOTED, "end what else holds it"),
        (f"{UNBOOTED} which this user may not write to", "install the udev rule"),
    ],
    ids=["none", "before its firmware", "no permission"],
)
@pytest.mark.attack(
    "a Neural Compute Stick 2 that cannot be opened: the failure names the causes and what USB shows"
)
def test_a_stick_that_cannot_be_opened(words, state, first):
    error = explained(f"{words}; USB shows {state}")
    assert error is not None
    assert error.what == "the Neural Compute Stick 2 cannot be opened"
    assert error.why.endswith(f"on USB: {state}")
    assert error.fix.startswith(first)
    assert "udev rule" in error.fix and "USB 2 hub gives it too little power" in error.fix


def test_without_a_state_of_usb_it_says_how_to_see_it():
    error = explained("Can not init Myriad device: NC_ERROR")
    assert error is not None
    assert "lsusb -d 03e7:" in error.why


NO_PLUGIN = (
    "OpenVINO 2022.3.2-9279-e2c7e4d7b4d-releases/2022/3 has no plugin for {device}; it has CPU, GPU, AUTO "
    '(Device with "{device}" name is not registered in the OpenVINO Runtime)'
)


def test_a_build_without_the_sticks_plugin_names_the_three_ways():
    error = explained(NO_PLUGIN.format(device="MYRIAD"))
    assert error is not None
    assert error.what == "OpenVINO 2022.3.2 has no plugin for the Neural Compute Stick 2 (MYRIAD)"
    assert error.why == "it has CPU, GPU, AUTO"
    for way in ("openvino==2021.4.2", "2022.3 LTS", "Raspberry Pi"):
        assert way in error.fix


@pytest.mark.parametrize(
    ("library", "command"),
    [("libusb-1.0.so.0", "apt install libusb-1.0-0"), ("libOpenCL.so.1", "apt install intel-opencl-icd")],
)
def test_a_library_that_no_wheel_brings_is_named_with_its_package(library, command):
    words = f"Cannot load library 'libmyriadPlugin.so': {library}: cannot open shared object file"
    error = explained(f"the plugin for MYRIAD cannot be loaded (devices found: CPU): {words}")
    assert error is not None
    assert library in error.what and command in error.fix
    assert "devices found: CPU" in error.why


@pytest.mark.parametrize(
    "words",
    [
        "Failed to find plugins.xml file",
        "SIGABRT: what():  Error loading XML file: /p/openvino/libs/plugins.xml:1:0: File was not found",
    ],
    ids=["2022 and later", "2021.4"],
)
@pytest.mark.attack("OpenVINO's plugins.xml is missing: the load fails with how to install it again")
def test_an_installation_without_its_list_of_plugins(words):
    error = explained(words, "openvino")
    assert error is not None
    assert "plugins.xml" in error.what and words[:200] in error.why
    assert error.fix.startswith("install it again: pip install openvino")


@pytest.mark.parametrize(
    ("device", "fix"), [("openvino", "pip install openvino,"), ("ncs2", "pip install openvino==2021.4.2")]
)
def test_no_openvino_at_all_is_one_line_with_the_fix(device, fix):
    error = explained("no OpenVINO here (No module named 'openvino')", device)
    assert error is not None
    assert error.what == "the Python that runs there has no OpenVINO"
    assert error.why == "No module named 'openvino'"
    assert error.fix.startswith(fix)


@pytest.mark.parametrize(
    ("words", "stage"),
    [
        ("libsomething.so.1: cannot open shared object file", "load"),
        ("Can not init Myriad device: NC_ERROR", "measure"),
        ("the input x has an open shape, [?,3,16,16]: export the model with a fixed one", "load"),
    ],
    ids=["another library", "amid measuring", "another failure"],
)
def test_anything_else_stays_as_it_was_told(words, stage):
    assert explained(words, stage=stage) is None
