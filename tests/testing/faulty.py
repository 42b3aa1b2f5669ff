"""Backends and meters with one fault each: the toy device and the template's meter, changed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from edgebench.contract import Backend
from tests.fakes import agent_backend

METER = Path(__file__).parents[2] / "examples/backend-template/src/edgebench_example_board/device/meter.py"


Toy: Any = type(agent_backend("toy"))


def backend(**members: Any) -> Backend:
    """The toy, with members of its class replaced."""
    broken = type("Broken", (Toy,), members)()
    assert isinstance(broken, Backend)
    return broken


def changed(source: Path, folder: Path, *replacements: tuple[str, str]) -> Path:
    """A copy of a file with texts replaced, each of which has to be there."""
    text = source.read_text()
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    path = folder / source.name
    path.write_text(text)
    return path


def with_runner(folder: Path, *replacements: tuple[str, str]) -> Backend:
    """The toy with a runner that is changed."""
    runner = changed(Toy().runner_files()[0], folder, *replacements)
    return backend(runner_files=lambda self: (runner,))


def meter(folder: Path, *replacements: tuple[str, str]) -> ModuleType:
    """The template's meter, changed."""
    path = changed(METER, folder, *replacements)
    spec = importlib.util.spec_from_file_location("meter", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
