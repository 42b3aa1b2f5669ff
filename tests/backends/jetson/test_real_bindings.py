"""The stand-in's names and numbers against those of TensorRT's own Python packages."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.backends.jetson import standin
from tests.backends.jetson.real_bindings import PACKAGES, package_of
from tests.link.old_python import python_of

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).parent / "device" / "board_program.py"


def answers_of(shape: str, environment: dict[str, str]) -> tuple[Any, Any, Any]:
    """The names of package and classes, the members of enumerations, and what types do."""
    python, _ = python_of(PACKAGES[shape].board)
    assert python
    command = [python, "-W", "ignore", str(PROGRAM), json.dumps([["names"], ["values"], ["behaviour"]])]
    completed = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=True
    )
    names, values, behaviour = json.loads(completed.stdout.splitlines()[-1])
    return names, values, behaviour


@pytest.fixture(scope="module", params=PACKAGES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """What NVIDIA's package says and what the stand-in does."""
    folder, why = package_of(request.param)
    if folder is None:
        pytest.skip(why)
    real = {"PYTHONPATH": str(folder), "LD_LIBRARY_PATH": str(folder / "lib")}
    pretended = standin.write(tmp_path_factory.mktemp("standin"), request.param)
    # The libraries behind the real one find no device either.
    without = {**pretended.environment, "STANDIN_NO_DEVICE": "1"}
    return answers_of(request.param, real), answers_of(request.param, without)


def test_every_class_has_the_same_members(both):
    (real, *_), (pretended, *_) = both
    assert set(pretended[""]) <= set(real[""])
    for owner in set(pretended) - {""}:
        members = {
            name for name in real[owner] if not name.startswith("add_") or owner != "INetworkDefinition"
        }
        assert set(pretended[owner]) == members, owner


def test_every_enumeration_has_the_same_numbers(both):
    (_, real, _), (_, pretended, _) = both
    assert len(pretended) > 20
    for owner, members in pretended.items():
        assert members == real[owner], owner


def test_types_behave_alike(both):
    (*_, real), (*_, pretended) = both
    assert real["a builder without a device"] == "TypeError"
    assert pretended == real
