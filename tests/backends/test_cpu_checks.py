"""What doctor says of the processor's runtime, each problem with its fix."""

import importlib
import sys
from importlib.metadata import PackageNotFoundError
from typing import Any

from edgebench import installed, registry
from edgebench.records.target import Launch, Target

# By its entry point, as the harness finds it: no checker follows the folder that it is installed from.
checks: Any = importlib.import_module(registry.backend("cpu").__module__.rpartition(".")[0] + ".backend")

TARGET = Target(name="cpu", device="cpu")


def test_packages_that_are_missing(monkeypatch):
    def missing(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(installed, "version", missing)
    findings = {finding.subject: finding for finding in registry.backend("cpu").check(TARGET)}
    assert findings["ai-edge-litert"].level == "error"
    assert "edgebench[cpu]" in findings["ai-edge-litert"].fix
    assert findings["tensorflow"].level == "warning"
    assert "edgebench[prepare]" in findings["tensorflow"].fix


def test_another_python_is_asked_itself(tmp_path):
    def finding(python):
        target = Target(name="cpu", device="cpu", launch=Launch(python=python))
        return registry.backend("cpu").check(target)[0]

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
