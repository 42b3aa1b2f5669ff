"""Edge TPUs as sysfs shows them, in made trees: what every record says of bus, firmware and temperature."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

from edgebench import registry
from tests.backends.coral import played_tpu
from tests.backends.coral.delegates import PLAIN
from tests.backends.coral.sessions import coral, loader, take
from tests.backends.usb_trees import AFTER_FIRMWARE, BEFORE_FIRMWARE, USB_2, USB_3, Tree

edgetpu: Any = importlib.import_module(
    registry.backend("coral").__module__.rpartition(".")[0] + ".device.edgetpu"
)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "root")


def test_no_stick(tree):
    seen = edgetpu.accelerators(str(tree.root))
    assert (seen["usb"], seen["pcie"], seen["firmware"]) == ([], [], None)
    assert set(seen["absent"]) >= {"usb", "pcie"}
    assert "plug it in" in edgetpu.tell_of(seen)


def test_a_machine_without_usb(tmp_path):
    seen = edgetpu.accelerators(str(tmp_path))
    assert seen["usb"] == []
    assert "is not there" in seen["absent"]["usb"]


@pytest.mark.parametrize(("speed", "mbps"), [(USB_2, 480.0), (USB_3, 5000.0)])
@pytest.mark.parametrize(("ids", "firmware"), [(BEFORE_FIRMWARE, False), (AFTER_FIRMWARE, True)])
def test_one_stick(tree, ids, firmware, speed, mbps):
    tree.stick(ids, speed)
    seen = edgetpu.accelerators(str(tree.root))
    [stick] = seen["usb"]
    assert (stick["id"], stick["speed_mbps"], stick["firmware"]) == (":".join(ids), mbps, firmware)
    assert stick["writable"] is True
    assert seen["firmware"] is firmware


def test_two_sticks_on_two_buses(tree):
    tree.stick(AFTER_FIRMWARE, USB_3)
    tree.stick(BEFORE_FIRMWARE, USB_2)
    seen = edgetpu.accelerators(str(tree.root))
    assert sorted(stick["speed_mbps"] for stick in seen["usb"]) == [480.0, 5000.0]
    assert seen["firmware"] is False  # one of them has yet to get it


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_stick_without_permission(tree):
    tree.stick(AFTER_FIRMWARE, USB_3, node_mode=0o444)
    _check_no_permission(tree)


def test_a_stick_that_the_system_refuses(tree, monkeypatch):
    """The same for whoever is root: the kernel's answer is stood for."""
    tree.stick(AFTER_FIRMWARE, USB_3)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    _check_no_permission(tree)


def _check_no_permission(tree: Tree) -> None:
    seen = edgetpu.accelerators(str(tree.root))
    [stick] = seen["usb"]
    assert stick["writable"] is False
    assert "plugdev" in edgetpu.tell_of(seen) and "udev" in edgetpu.tell_of(seen)


def test_a_stick_that_does_not_tell_its_speed(tree):
    (tree.stick(AFTER_FIRMWARE, USB_3) / "speed").write_text("unknown\n")
    seen = edgetpu.accelerators(str(tree.root))
    assert seen["usb"][0]["speed_mbps"] is None
    assert "usb_speed" in seen["absent"]


def test_files_that_are_not_what_they_should_be(tree):
    """A device that goes while it is read, and one whose files are not text."""
    gone = tree.stick(AFTER_FIRMWARE, USB_3)
    for file in gone.iterdir():
        file.unlink()
    (tree.stick(AFTER_FIRMWARE, USB_2) / "idVendor").write_bytes(b"\xff\xfe" * 4000)
    assert edgetpu.accelerators(str(tree.root))["usb"] == []


@pytest.mark.parametrize(("written", "celsius"), [(47800, 47.8), ("?", None), (None, None)])
def test_a_card_with_its_temperature(tree, written, celsius):
    tree.apex(written)
    seen = edgetpu.accelerators(str(tree.root))
    assert seen["pcie"] == [{"name": "apex_0", "temperature_c": celsius}]
    assert seen["firmware"] is None


@pytest.fixture(scope="module")
def device(agents_cache):
    with coral(agents_cache) as opened:
        yield opened


@pytest.fixture
def played(device, libraries, compiled, plan, tree, tmp_path):
    """A session of a compiled model, which the processor plays, on a board whose / is the tree."""

    def session():
        env = loader(libraries.library(*PLAIN)) | {
            "PYTHONPATH": played_tpu.runtime(tmp_path / "played"),
            "EDGEBENCH_TEST_ROOT": str(tree.root),
        }
        return take(device, compiled, plan, env, threads=0)

    return session


def test_usb_2_is_a_warning_of_the_session(played, tree):
    tree.stick(BEFORE_FIRMWARE, USB_2)
    taken = played()
    [stick] = taken.runtime["usb"]
    assert (stick["speed_mbps"], stick["id"]) == (480.0, "1a6e:089a")
    assert taken.runtime["firmware_before"] is False
    [warning] = [text for text in taken.facts.warnings if "USB 2" in text]
    assert "480" in warning


def test_usb_3_is_none(played, tree):
    tree.stick(AFTER_FIRMWARE, USB_3)
    taken = played()
    assert taken.runtime["usb"][0]["speed_mbps"] == 5000.0
    assert taken.runtime["firmware_before"] is True
    assert not [text for text in taken.facts.warnings if "USB" in text]


def test_a_card_is_in_the_record(played, tree):
    tree.apex(51300)
    runtime = played().runtime
    assert runtime["pcie"] == [{"name": "apex_0", "temperature_c": 51.3}]
    assert runtime["firmware_before"] is None


def test_the_sticks_temperature_is_absent_with_the_reason(played, tree):
    tree.stick(AFTER_FIRMWARE, USB_3)
    runtime = played().runtime
    assert runtime["pcie"] == []
    assert runtime["absent"]["pcie"]


@pytest.mark.parametrize(
    ("packages", "clock"), [(("std",), "std"), (("max",), "max"), (("std", "max"), None), ((), None)]
)
def test_which_clock_libedgetpu_is_built_for(played, tree, packages, clock):
    tree.stick(AFTER_FIRMWARE, USB_3)
    lists = tree.root / "var" / "lib" / "dpkg" / "info"
    lists.mkdir(parents=True)
    for build in packages:
        files = ["/.", "/usr", "/usr/lib/x86_64-linux-gnu/libedgetpu.so.1.0", "/usr/lib/x86_64-linux-gnu/"]
        (lists / f"libedgetpu1-{build}:amd64.list").write_text(
            "\n".join([*files, "/usr/lib/x86_64-linux-gnu/libedgetpu.so.1"]) + "\n"
        )
    runtime = played().runtime
    assert runtime["delegate_clock"] == clock
    assert clock is not None or runtime["absent"]["delegate_clock"]
