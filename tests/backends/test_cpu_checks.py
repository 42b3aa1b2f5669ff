"""What doctor says of a processor, each problem with its fix."""

import importlib
import sys
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from edgebench import registry
from edgebench.contract import Launch, Target

# By its entry point, as the harness finds it: no checker follows the folder that it is installed from.
checks: Any = importlib.import_module(registry.backend("cpu").__module__.rpartition(".")[0] + ".checks")

GOOD = {
    "governor": "performance",
    "load_average": [0.1, 0.1, 0.1],
    "cores": 4,
    "memory_available_bytes": 4 << 30,
    "timer_resolution_ns": 1.0,
    "temperatures_c": {"0-cpu": 45.0, "1-gpu": 40.0},
}
TARGET = Target(name="cpu", device="cpu")


def test_a_quiet_machine_is_well():
    findings = checks.board_findings(GOOD)
    assert {finding.subject for finding in findings} == {"governor", "load", "memory", "clock", "temperature"}
    assert all(finding.level == "ok" for finding in findings)


@pytest.mark.parametrize(
    ("fact", "value", "subject", "said"),
    [
        ("governor", "powersave", "governor", "powersave"),
        ("governor", None, "governor", "cannot be read"),
        ("load_average", [1.5, 1.0, 1.0], "load", "1.50"),
        ("load_average", None, "load", "cannot be read"),
        ("memory_available_bytes", 200 << 20, "memory", "200 MiB"),
        ("memory_available_bytes", None, "memory", "cannot be read"),
        ("timer_resolution_ns", 4e6, "clock", "4e+06 ns"),
        ("timer_resolution_ns", None, "clock", "unknown"),
        ("temperatures_c", {"0-cpu": 45.0, "1-gpu": 91.0}, "temperature", "91 °C at 1-gpu"),
        ("temperatures_c", None, "temperature", "no sensor"),
    ],
)
def test_each_problem_is_found_with_its_fix(fact, value, subject, said):
    [finding] = [one for one in checks.board_findings({**GOOD, fact: value}) if one.level != "ok"]
    assert finding.subject == subject
    assert said in finding.message
    assert finding.fix


def test_packages_that_are_missing(monkeypatch):
    def missing(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(checks, "version", missing)
    findings = {finding.subject: finding for finding in checks.runtime_findings(TARGET)}
    assert findings["ai-edge-litert"].level == "error"
    assert "edgebench[cpu]" in findings["ai-edge-litert"].fix
    assert findings["tensorflow"].level == "warning"
    assert "edgebench[prepare]" in findings["tensorflow"].fix


def test_another_python_is_asked_itself(tmp_path):
    def finding(python):
        target = Target(name="cpu", device="cpu", launch=Launch(python=python))
        return checks.runtime_findings(target)[0]

    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    assert finding(str(bare)).level == "error"
    assert "No module named" in finding(str(bare)).message
    assert finding("/no/such/python").level == "error"
    wrapped = tmp_path / "wrapped"
    wrapped.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    wrapped.chmod(0o755)
    assert finding(str(wrapped)).level == "ok"


def test_the_real_machine_answers_on_every_subject():
    subjects = {finding.subject for finding in registry.backend("cpu").check(TARGET)}
    assert {"ai-edge-litert", "tensorflow", "governor", "load", "memory", "clock", "temperature"} <= subjects
