"""What the kit reads off files, processes and stamps."""

import subprocess
import sys

import pytest

from edgebench.testing.backend_kit import workers
from edgebench.testing.device_code import foreign_imports, modules_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import os, numpy", []),
        ("import os.path as p\nfrom collections import deque", []),
        ("import requests.api", ["line 1: requests"]),
        ("def f():\n    from torch import nn", ["line 2: torch"]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas", []),
        (
            "import typing\nif typing.TYPE_CHECKING:\n    import pandas\nelse:\n    import jax",
            ["5: jax"],
        ),
        ("try:\n    import zoneinfo\nexcept ImportError:\n    pass", ["zoneinfo is not in Python 3.6"]),
        ("from . import x", ["a relative import"]),
        ("if 1:\n    import edgebench", ["line 2: edgebench"]),
    ],
)
def test_imports(tmp_path, text, expected):
    path = tmp_path / "runner.py"
    path.write_text(text)
    complaints = foreign_imports(path, {"numpy"})
    assert len(complaints) == len(expected)
    assert all(words in line for words, line in zip(expected, complaints, strict=True))


def test_what_is_imported_when_it_is_opened_may_be_left_out(tmp_path):
    path = tmp_path / "meter.py"
    path.write_text("import torch\n\ndef open_probe(address):\n    import requests\n")
    assert len(foreign_imports(path, set())) == 2
    [complaint] = foreign_imports(path, set(), within_functions=False)
    assert "torch" in complaint


@pytest.mark.parametrize(
    ("line", "travels"),
    [
        ("from .tensors import A", True),
        ("from . import tensors", True),
        ("from ..shared.tables import A", True),
        ("from ..shared import A", True),
        ("from .shared.tables import A", False),
        ("from ..tensors import A", False),
        ("from ...shared import A", False),
    ],
)
def test_relative_imports_of_what_travels(tmp_path, line, travels):
    device = tmp_path / "device"
    device.mkdir()
    (device / "runner.py").write_text(line)
    names = ("device/tensors.py", "shared/__init__.py", "shared/tables.py")
    complaints = foreign_imports(device / "runner.py", set(), [tmp_path / name for name in names])
    assert bool(complaints) is not travels


def test_a_distribution_is_imported_as_it_is_installed_or_spelt():
    assert {"ai_edge_litert", "tflite_runtime"} <= modules_of(("ai-edge-litert", "tflite-runtime"))
    assert "dateutil" in modules_of(("python-dateutil",))
    assert modules_of(()) == set()


def test_a_worker_is_told_from_other_children(tmp_path):
    agent = tmp_path / "agent.pyz"
    agent.write_text("import sys; sys.stdout.write('up'); sys.stdout.flush(); sys.stdin.read()")

    def started(part):
        command = [sys.executable, agent, part]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    with started("worker") as worker, started("serve") as other:
        assert worker.stdout and other.stdout and worker.stdout.read(2) == other.stdout.read(2) == b"up"
        assert worker.pid in workers() and other.pid not in workers()
        worker.communicate()
        other.communicate()
    assert worker.pid not in workers()
