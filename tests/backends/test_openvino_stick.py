"""Neural Compute Sticks as sysfs shows them, in made trees: records, warnings, and the words of an error."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

from tests.backends.usb_trees import USB_2, USB_3, Tree

stick: Any = importlib.import_module("edgebench.backends.openvino.device.record")

BOOT, READY = ("03e7", "2485"), ("03e7", "f63b")


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "root")


def recorded(tree):
    return stick.Stick("MYRIAD", str(tree.root)).facts()


def words(root):
    with pytest.raises(RuntimeError) as caught, stick.Stick("MYRIAD", str(root)).explained():
        raise RuntimeError("Can not init Myriad device: NC_ERROR\n")
    return str(caught.value)


def test_without_a_stick_its_speed_is_absent_with_the_reason(tree):
    settings = recorded(tree)
    assert (settings["usb"], settings["firmware_before"], settings["warnings"]) == ([], None, [])
    assert set(settings["absent"]) == {"usb", "firmware_before"}
    assert words(tree.root) == (
        "Can not init Myriad device: NC_ERROR; USB shows no stick, neither 03e7:2485 nor 03e7:f63b"
    )


def test_without_a_usb_bus_it_says_so(tmp_path):
    assert words(tmp_path).endswith("USB shows nothing (/sys/bus/usb/devices is not there)")


def test_of_another_device_it_says_nothing(tree):
    tree.stick(READY, USB_2)
    other = stick.Stick("CPU", str(tree.root))
    assert other.facts() == {}
    with pytest.raises(RuntimeError, match=r"^no memory$"), other.explained():
        raise RuntimeError("no memory")


def test_a_stick_on_usb_3_is_recorded_without_a_warning(tree):
    tree.stick(READY, USB_3)
    settings = recorded(tree)
    assert settings["usb"] == [{"id": "03e7:f63b", "speed_mbps": 5000.0, "firmware": True, "writable": True}]
    assert (settings["warnings"], settings["absent"]) == ([], {})


def test_a_stick_on_usb_2_is_warned_of(tree):
    tree.stick(READY, USB_2)
    [warning] = recorded(tree)["warnings"]
    assert warning == (
        "the Neural Compute Stick 2 is on USB 2 (480 Mbit/s): about one and a half times as slow as on USB 3"
    )


def test_before_its_firmware_usb_2_says_nothing_of_the_port(tree):
    """The boot ROM knows USB 2 alone: what counts is the speed once the firmware runs."""
    device = tree.stick(BOOT, USB_2)
    session = stick.Stick("MYRIAD", str(tree.root))
    assert session.facts()["warnings"] == []
    (device / "idProduct").write_text("f63b\n")
    (device / "speed").write_text("5000\n")
    settings = session.facts()
    assert (settings["firmware_before"], settings["usb"][0]["speed_mbps"]) == (False, 5000.0)
    assert settings["warnings"] == []


def test_a_coral_is_no_stick(tree):
    tree.stick(("18d1", "9302"), USB_2)
    assert recorded(tree)["usb"] == []


def test_a_stick_that_may_not_be_written_to_is_told_in_the_error(tree, monkeypatch):
    tree.stick(BOOT, USB_2)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert words(tree.root).endswith(
        "USB shows 03e7:2485 before its firmware at 480 Mbit/s which this user may not write to"
    )


def test_two_sticks_in_an_error(tree):
    tree.stick(BOOT, USB_2)
    tree.stick(READY, USB_3)
    assert words(tree.root).endswith(
        "03e7:2485 before its firmware at 480 Mbit/s, 03e7:f63b with its firmware at 5000 Mbit/s"
    )
