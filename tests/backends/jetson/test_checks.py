"""What doctor says of a Jetson and of TensorRT, by boards' facts that were made up, and of this machine."""

from __future__ import annotations

import importlib
import json
import shlex
from typing import Any

import pytest

from edgebench import registry
from edgebench.agent.facts import UNTOLD
from edgebench.board_catalogue import known_boards
from edgebench.records.target import Launch, Target
from edgebench.records.values import Finding

checks: Any = importlib.import_module("edgebench.backends.jetson.checks")
BACKEND: Any = registry.backend("jetson")

HELD = {"min": 921.6, "max": 921.6}
BOARD: dict[str, Any] = {
    "board": "NVIDIA Jetson Nano Developer Kit",
    "python": "3.6.9",
    "python_executable": "/usr/bin/python3",
    "l4t": "R32.7.1",
    "packages": {"tensorrt": "8.2.1.8", "numpy": "1.13.3"},
    "gpu": {"name": "57000000.gpu", "clocks_mhz": HELD, "usable": True},
    "nvidia_libraries": {
        "nvinfer": "8.2.1",
        "cudart": "/usr/local/cuda-10.2/lib64/libcudart.so.10.2.300",
        "system_tensorrt": "/usr/lib/python3.6/dist-packages",
    },
    "power_mode": {"id": 0, "name": "MAXN"},
    "power_modes": {"0": "MAXN", "1": "5W"},
    "pinned_clocks": {"cpu": True, "gpu": True},
    "disk_available_bytes": 8 << 30,
}
NOTHING: dict[str, Any] = {"nvinfer": None, "cudart": None, "system_tensorrt": None}


def by_subject(facts: dict[str, Any], device: str = "jetson", **options: Any) -> dict[str, Finding]:
    findings = BACKEND.board_check(facts, Target(device, device, options, host="nano"))
    assert all(finding.level == "ok" or finding.fix for finding in findings)
    assert len({finding.subject for finding in findings}) == len(findings)
    return {finding.subject: finding for finding in findings}


def test_a_jetson_with_all_that_it_needs():
    findings = by_subject(BOARD)
    assert {finding.level for finding in findings.values()} == {"ok"}
    assert set(findings) == {"tensorrt", "cudart", "gpu", "jetpack", "power mode", "clocks"}
    assert "8.2.1.8" in findings["tensorrt"].message and "3.6.9" in findings["tensorrt"].message
    assert "4.6.1 to 4.6.6" in findings["jetpack"].message
    assert "0 (MAXN), of 0 (MAXN), 1 (5W)" in findings["power mode"].message


@pytest.mark.parametrize(
    ("l4t", "jetpack", "tensorrt"),
    [
        ("R32.6.1", "4.6 ", "TensorRT 8.0.1"),
        ("R32.7.6", "4.6.1 to 4.6.6", "TensorRT 8.2.1"),
        ("R35.1.0", "5.0.2", "no source confirms"),
        ("R35.2.1", "5.1 ", "TensorRT 8.5.2"),
        ("R35.3.1", "5.1.1", "TensorRT 8.5.2"),
        ("R35.4.1", "5.1.2", "TensorRT 8.5.2"),
        ("R35.5.0", "5.1.3", "no source confirms"),
        ("R35.6.1", "5.1.4 or 5.1.5", "no source confirms"),
        ("R36.2.0", "6.0, developer preview", "no source confirms"),
        ("R36.3.0", "6.0 ", "no source confirms"),
        ("R36.4.3", "6.1 or 6.2", "TensorRT 10.3"),
        ("R38.2", "7.0 or 7.1", "TensorRT 10.13"),
        ("R39.2.0", "7.2", "no source confirms"),
    ],
)
def test_a_jetpack_is_told_by_its_l4t(l4t, jetpack, tensorrt):
    finding = by_subject({**BOARD, "l4t": l4t})["jetpack"]
    assert finding.level == "ok"
    assert finding.message.startswith(jetpack) and tensorrt in finding.message


@pytest.mark.parametrize("l4t", ["R32.71.1", "R28.2.1", "R35.30.1", "R380.1"])
def test_a_jetpack_that_is_not_listed_is_a_warning(l4t):
    finding = by_subject({**BOARD, "l4t": l4t})["jetpack"]
    assert finding.level == "warning"
    assert l4t in finding.message and "4.6.1 to 4.6.6" in finding.message


@pytest.mark.parametrize(
    ("change", "subject", "level", "message", "fix"),
    [
        (
            {"packages": {}, "python_executable": "/home/u/venv/bin/python"},
            "tensorrt", "error", "a virtual environment hides it", "--system-site-packages",
        ),
        (
            {"packages": {}, "nvidia_libraries": {**NOTHING, "nvinfer": "8.2.1"}},
            "tensorrt", "error", "8.2.1 is there without its Python package", "python3-libnvinfer",
        ),
        (
            {"packages": {}, "nvidia_libraries": None},
            "tensorrt", "error", "not found by /usr/bin/python3", "JetPack: sudo apt install",
        ),
        (
            {"packages": {}, "nvidia_libraries": None, "l4t": None},
            "tensorrt", "error", "does not say that it is a Jetson", "--host",
        ),
        ({"nvidia_libraries": NOTHING}, "cudart", "warning", "libcudart", "--set cudart=PATH"),
        ({"gpu": None}, "gpu", "warning", "no NVIDIA GPU", "--host"),
        ({"gpu": {**BOARD["gpu"], "usable": False}}, "gpu", "error", "may not open", "usermod -aG video"),
        ({"l4t": None}, "jetpack", "warning", "nv_tegra_release", "--device tensorrt"),
        ({"power_mode": None}, "power mode", "warning", "not known", "nvpmodel -q"),
        (
            {
                "gpu": {**BOARD["gpu"], "clocks_mhz": {"min": 76.8, "max": 921.6}},
                "pinned_clocks": {"cpu": True, "gpu": False},
            },
            "clocks", "warning", "the GPU's (between 77 and 922 MHz): they follow", "sudo jetson_clocks",
        ),
        (
            {"pinned_clocks": {"cpu": False, "gpu": True}},
            "clocks", "warning", "not pinned, the processor's: they follow", "sudo jetson_clocks",
        ),
        ({"disk_available_bytes": 100 << 20}, "engines", "warning", "100 MiB free", "EDGEBENCH_BOARD_DIR"),
    ],
)  # fmt: skip
def test_what_a_jetson_lacks_is_told_with_its_fix(change, subject, level, message, fix):
    finding = by_subject({**BOARD, **change})[subject]
    assert finding.level == level
    assert message in finding.message
    assert fix in finding.fix


def test_bindings_without_metadata_have_the_version_of_the_library():
    assert "8.2.1," in by_subject({**BOARD, "packages": {"tensorrt": UNTOLD}})["tensorrt"].message


def test_a_discrete_gpu_has_no_jetpack_and_no_modes():
    gpu = {"name": "NVIDIA RTX A2000", "clocks_mhz": None, "usable": None}
    findings = by_subject({**BOARD, "l4t": None, "gpu": gpu}, device="tensorrt")
    assert set(findings) == {"tensorrt", "cudart", "gpu"}
    missing = by_subject({**BOARD, "packages": {}, "nvidia_libraries": None}, device="tensorrt")
    assert "pip install tensorrt" in missing["tensorrt"].fix


def test_a_runtime_that_is_named_is_taken_as_it_is():
    finding = by_subject({**BOARD, "nvidia_libraries": NOTHING}, cudart="/opt/libcudart.so")["cudart"]
    assert (finding.level, "/opt/libcudart.so" in finding.message) == ("ok", True)


def test_clocks_that_the_run_pins_are_not_warned_of():
    facts = {**BOARD, "pinned_clocks": {"cpu": False, "gpu": False}}
    target = Target("jetson", "jetson", host="nano", power_mode="5W", set_power_mode=True)
    assert "clocks" not in {finding.subject for finding in BACKEND.board_check(facts, target)}


def test_a_power_mode_that_is_asked_for_is_the_boards_to_say():
    target = Target("jetson", "jetson", host="nano", power_mode="5W")
    assert "power mode" not in {finding.subject for finding in BACKEND.board_check(BOARD, target)}


@pytest.mark.parametrize("nonsense", [None, "x" * 10_000, -1, {"min": "x"}, [[{}]], float("nan")])
@pytest.mark.attack("a board's facts on its GPU, clocks and TensorRT are nonsense: they count as not known")
def test_facts_that_are_nonsense_count_as_not_known(nonsense):
    findings = by_subject(dict.fromkeys(BOARD, nonsense))
    assert all(len(finding.message) < 1000 for finding in findings.values())
    assert findings["tensorrt"].level == "error"


def stand_in(folder, printed):
    """A Python that prints this as JSON whatever it is asked."""
    python = folder / "python"
    python.write_text(f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(json.dumps(printed))}\n")
    python.chmod(0o755)
    return Launch(python=str(python))


@pytest.mark.parametrize(
    ("printed", "level", "message"),
    [
        ({"version": "10.3.0", "python": "3.10.12"}, "ok", "10.3.0, for Python 3.10.12"),
        ({"version": None, "why_none": "No module named 'tensorrt'"}, "error", "not found by"),
        (
            {"version": None, "why_none": "libnvinfer.so.8: no such file"},
            "error",
            "import it: libnvinfer.so.8",
        ),
        (None, "error", "cannot be asked"),
    ],
)
def test_this_machines_tensorrt_is_that_of_the_targets_python(tmp_path, printed, level, message):
    target = Target("jetson", "jetson", launch=stand_in(tmp_path, printed))
    findings = BACKEND.check(target)
    [finding] = [finding for finding in findings if finding.subject == "tensorrt"]
    assert finding.level == level
    assert message in finding.message
    assert "governor" in {finding.subject for finding in findings}


def test_a_python_that_is_not_there_is_an_error():
    findings = BACKEND.check(Target("jetson", "jetson", launch=Launch(python="/no/such/python")))
    assert findings[0].level == "error" and "cannot be run" in findings[0].message


def test_the_library_prints_what_doctor_reads(tmp_path):
    """The real program, on a Python without TensorRT."""
    [finding] = [
        finding for finding in BACKEND.check(Target("jetson", "jetson")) if finding.subject == "tensorrt"
    ]
    assert (finding.level, "not found by" in finding.message) == ("error", True)


def test_boards_are_known_by_name_with_their_sources():
    boards = {name: entry for name, entry in known_boards().items() if "jetson" in entry.devices}
    assert {"jetson-nano-devkit", "jetson-orin-nx", "jetson-agx-orin-devkit"} <= set(boards)
    for name, board in boards.items():
        assert name.startswith("jetson-") and board.models
        assert board.mass_g is None and board.note  # no source at hand gives one
