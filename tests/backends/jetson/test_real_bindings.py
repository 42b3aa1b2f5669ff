"""The stand-in's names and numbers against those of TensorRT's own Python packages."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

from tests.backends.jetson import standin
from tests.backends.jetson.real_bindings import PACKAGES, package_of
from tests.link.old_python import python_of

pytestmark = pytest.mark.slow
PROGRAM = """
import functools, json, sys, tensorrt
def asked(name):
    try:
        found = functools.reduce(getattr, name.split("."), tensorrt)
    except AttributeError:
        return None
    return int(found) if hasattr(type(found), "__members__") else True
print(json.dumps({name: asked(name) for name in json.loads(sys.argv[1])}))
"""
TABLE = {
    name: dict(release.partition("=")[::2] for release in releases)
    for name, *releases in map(str.split, (standin.PACKAGE / "names.txt").read_text().splitlines())
    if name != "#"
}


@pytest.mark.parametrize("shape", PACKAGES)
def test_every_name_and_number_is_that_of_the_release(shape: str) -> None:
    folder, why = package_of(shape)
    if folder is None:
        pytest.skip(why)
    python, _ = python_of(PACKAGES[shape].board)
    assert python
    environment = {"PYTHONPATH": str(folder), "LD_LIBRARY_PATH": str(folder / "lib")}
    command = [python, "-W", "ignore", "-c", PROGRAM, json.dumps(list(TABLE))]
    completed = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=True
    )
    real: dict[str, Any] = json.loads(completed.stdout.splitlines()[-1])
    for name, releases in TABLE.items():
        number = releases.get(shape)
        is_inherited = name.startswith("Logger.")  # of ILogger
        assert is_inherited or (real[name] is None) == (number is None), name
        assert not number or real[name] == int(number), name
