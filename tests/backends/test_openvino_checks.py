"""What doctor says of OpenVINO and of the stick, by boards' facts that were made up, and of this machine."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from edgebench import registry
from edgebench.agent.facts import board_facts
from edgebench.records.target import Launch, Target
from edgebench.records.values import Finding
from tests.backends.usb_trees import USB_2, Tree

checks: Any = importlib.import_module("edgebench.backends.openvino.checks")
BACKEND: Any = registry.backend("openvino")

STICK = {
    "id": "03e7:2485",
    "name": "Neural Compute Stick 2 (no firmware yet)",
    "speed_mbps": 480.0,
    "writable": True,
}
WHEEL = {"plugins": ["AUTO", "CPU", "GPU", "MYRIAD"], "firmware": ["usb-ma2x8x.mvcmd"]}
BOARD: dict[str, Any] = {
    "python": "3.8.10",
    "machine": "x86_64",
    "packages": {"openvino": "2021.4.2", "numpy": "1.19.5"},
    "openvino": WHEEL,
    "usb_accelerators": [STICK],
    "libraries": {"libusb-1.0.so.0": "/lib/x86_64-linux-gnu/libusb-1.0.so.0"},
}


def target(device: str = "ncs2", python: str | None = None, **options: Any) -> Target:
    return Target(device, device, options, Launch(python=python), host="pi")


def by_subject(facts: dict[str, Any], device: str = "ncs2", **options: Any) -> dict[str, Finding]:
    findings = BACKEND.board_check(facts, target(device, **options))
    assert all(finding.level == "ok" or finding.fix for finding in findings)
    return {finding.subject: finding for finding in findings}


def test_a_board_with_all_that_the_stick_needs():
    findings = by_subject(BOARD)
    assert {finding.level for finding in findings.values()} == {"ok"}
    assert set(findings) == {"openvino", "plugins", "stick", "firmware", "libusb"}
    assert "IECore" in findings["openvino"].message
    assert "before its firmware" in findings["stick"].message


@pytest.mark.parametrize(
    ("version", "api"),
    [("2021.4.2", "IECore"), ("2022.3.2", "openvino.runtime.Core"), ("2026.4.1", "openvino.Core")],
)
def test_the_api_is_told_by_the_version(version, api):
    facts = {**BOARD, "packages": {"openvino": version}}
    assert api in by_subject(facts)["openvino"].message


@pytest.mark.parametrize("packages", [{"openvino": "version not told"}, {}], ids=["untold", "an archive"])
def test_a_version_that_is_not_told_is_no_api(packages):
    findings = by_subject({**BOARD, "packages": packages})
    assert (findings["openvino"].level, findings["plugins"].level) == ("warning", "ok")


@pytest.mark.parametrize(
    ("change", "subject", "level", "message", "fix"),
    [
        (
            {"packages": {}, "openvino": {"plugins": [], "firmware": []}},
            "openvino", "error", "openvino is not found", "openvino==2021.4.2",
        ),
        (
            {"packages": {"openvino": "2026.4.1"}, "openvino": {"plugins": ["AUTO", "CPU"], "firmware": []}},
            "device", "error", "MYRIAD is not in this build, which has AUTO, CPU", "2022.3 LTS",
        ),
        (
            {"openvino": {"plugins": [], "firmware": []}},
            "device", "warning", "MYRIAD is not known", "session",
        ),
        ({"usb_accelerators": []}, "stick", "error", "neither 03e7:2485 nor 03e7:f63b", "plug the stick in"),
        ({"usb_accelerators": None}, "stick", "error", "USB cannot be read", "plug the stick in"),
        (
            {"usb_accelerators": [{**STICK, "writable": False}]},
            "stick", "error", "may not open", "97-myriad-usbboot.rules",
        ),
        (
            {"usb_accelerators": [{key: STICK[key] for key in ("id", "name", "speed_mbps")}]},
            "stick", "warning", "when a session starts", "udev",
        ),
        (
            {"openvino": {**WHEEL, "firmware": []}},
            "firmware", "error", "usb-ma2x8x.mvcmd", "openvino==2021.4.2",
        ),
        ({"libraries": {}}, "libusb", "warning", "libusb-1.0.so.0", "apt install libusb-1.0-0"),
    ],
)  # fmt: skip
def test_what_the_stick_lacks_is_told_with_its_fix(change, subject, level, message, fix):
    finding = by_subject({**BOARD, **change})[subject]
    assert finding.level == level
    assert message in finding.message
    assert fix in finding.fix


def test_another_device_needs_no_stick():
    findings = by_subject({**BOARD, "usb_accelerators": [], "libraries": {}}, device="openvino")
    assert set(findings) == {"openvino", "plugins"}
    gpu = Target("openvino", "openvino", {"device": "NPU"}, host="pi")
    [finding] = [found for found in BACKEND.board_check(BOARD, gpu) if found.subject == "device"]
    assert "NPU is not in this build, which has AUTO, CPU, GPU, MYRIAD" in finding.message
    assert "--set device=NAME" in finding.fix


@pytest.mark.parametrize("nonsense", [None, "x" * 10_000, -1, {"plugins": 3}, [[{}]], float("nan")])
@pytest.mark.attack("a board's facts on OpenVINO and its sticks are nonsense: they count as not known")
def test_facts_that_are_nonsense_count_as_not_known(nonsense):
    findings = by_subject(dict.fromkeys(BOARD, nonsense))
    assert all(len(finding.message) < 1000 for finding in findings.values())
    assert findings["stick"].level == "error"


def test_the_sticks_state_reaches_the_findings_from_sysfs(tmp_path):
    tree = Tree(tmp_path)
    tree.stick(("03e7", "2485"), USB_2)
    facts = {**BOARD, "usb_accelerators": board_facts(str(tree.root))["usb_accelerators"]}
    assert by_subject(facts)["stick"].level == "ok"


# Of this machine: a process of the target's Python is asked, with modules that stand for OpenVINO.

CORE = """
class Version:
    def __init__(self, build):
        self.build_number = build
class Core:
    available_devices = {devices!r}
    def get_versions(self, name):
        if name in {broken!r}:
            raise RuntimeError("Cannot load library 'x': " + {broken!r}[name])
        return {{name: Version("1")}} if name in {plugins!r} else {{}}
def get_version():
    return {version!r}
"""
NO_LIBUSB = "libusb-1.0.so.0: cannot open shared object file: No such file or directory"


@pytest.fixture
def here(monkeypatch, tmp_path):
    """The findings on this machine, with a module that stands for OpenVINO."""

    def of(device: str, plugins=(), devices=(), broken=None, version="2026.4.1-22982-e213a147257"):
        package = tmp_path / "openvino"
        package.mkdir()
        core = CORE.format(plugins=list(plugins), devices=list(devices), broken=broken or {}, version=version)
        (package / "__init__.py").write_text(core)
        options = {"device": device}
        launch = Launch(env={"PYTHONPATH": str(tmp_path)})
        name = "ncs2" if device == "MYRIAD" else "openvino"
        findings = BACKEND.check(Target(name, name, options, launch))
        return {finding.subject: finding for finding in findings}

    return of


def test_version_plugins_and_devices_are_told(here):
    findings = here("CPU", plugins=("CPU", "AUTO"), devices=("CPU",), broken={"GPU": "libOpenCL.so.1: no"})
    assert findings["openvino"].message == "2026.4.1-22982, by openvino.Core"
    assert findings["plugins"].message == "CPU, AUTO; cannot be loaded: GPU; devices found: CPU"
    assert findings["device"] == Finding("ok", "device", "CPU")
    assert "stick" not in findings


@pytest.mark.parametrize(
    ("device", "broken", "message", "fix"),
    [
        ("MYRIAD", {}, "MYRIAD is not in this build, which has CPU, NPU", "openvino==2021.4.2"),
        ("MYRIAD", {"MYRIAD": NO_LIBUSB}, "cannot be loaded", "apt install libusb-1.0-0"),
        ("GPU.1", {}, "GPU is not in this build, which has CPU, NPU", "--set device=NAME"),
        ("NPU", {}, "finds no such device (found: CPU)", "install the driver of NPU"),
    ],
)
def test_a_device_that_cannot_be_used_here_is_an_error(here, device, broken, message, fix):
    finding = here(device, plugins=("CPU", "NPU"), devices=("CPU",), broken=broken)["device"]
    assert finding.level == "error"
    assert message in finding.message
    assert fix in finding.fix


def test_a_stick_that_openvino_finds(here):
    findings = here("MYRIAD", plugins=("MYRIAD",), devices=("CPU", "MYRIAD.1.2-ma2480"))
    assert findings["device"] == Finding("ok", "device", "MYRIAD")
    assert "stick" in findings
    assert "libusb" not in findings  # the plugin was loaded with it


@pytest.mark.parametrize(("name", "fix"), [("openvino", "-m pip install openvino"), ("ncs2", "==2021.4.2")])
def test_no_openvino_at_all_is_one_line_with_the_fix(tmp_path, name, fix):
    (tmp_path / "openvino.py").write_text("raise ImportError('No module named openvino')")
    found = BACKEND.check(Target(name, name, {}, Launch(env={"PYTHONPATH": str(tmp_path)})))
    [finding] = [finding for finding in found if finding.subject == "openvino"]
    assert finding.level == "error"
    assert "No module named openvino" in finding.message and "\n" not in finding.message
    assert fix in finding.fix


def test_a_python_that_is_not_there():
    [finding] = [
        finding
        for finding in BACKEND.check(target("openvino", python="/no/such/python"))
        if finding.subject == "openvino"
    ]
    assert (finding.level, finding.fix) == ("error", "name another Python")
