"""A Python with a stand-in for TensorRT: what `--python` names where there is no board."""

from __future__ import annotations

import functools
import shlex
import sys
import tempfile
from pathlib import Path

import pytest

from tests.backends.jetson import standin
from tests.backends.jetson.standin import StandIn


def write(folder: Path, stand_in: StandIn, **environment: str) -> Path:
    """A program that runs this Python with the stand-in on its paths.

    Args:
        folder: for the program.
        stand_in: which one.
        environment: what else is set for it, such as STANDIN_ZERO_WORK="1".
    """
    program = folder / "python"
    settings = {**stand_in.environment, **environment}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in settings.items()]
    program.write_text("\n".join(["#!/bin/sh", *lines, f'exec {shlex.quote(sys.executable)} "$@"', ""]))
    program.chmod(0o755)
    return program


@functools.cache
def of_release(shape: str) -> str:
    """One for the rest of this process; skips where there can be none."""
    if why := standin.missing():
        pytest.skip(why)
    folder = Path(_FOLDER.name) / shape
    return str(write(folder, standin.write(folder, shape)))


_FOLDER = tempfile.TemporaryDirectory(prefix="edgebench-test-tensorrt-")
