"""The template's modules, imported from where they lie, and copies of them with one fault each."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from edgebench.contract import Backend

SOURCE = Path(__file__).parents[2] / "examples" / "backend-template" / "src"
PACKAGE = SOURCE / "edgebench_example_board"


def backend_module() -> Any:
    """The template's backend.py; its package is found beside it from now on, in children too."""
    if str(SOURCE) not in sys.path:
        sys.path.append(str(SOURCE))
    return importlib.import_module("edgebench_example_board.backend")


def backend(**members: Any) -> Backend:
    """The template's backend, with members of its class replaced."""
    broken = type("Broken", (backend_module().ExampleBoardBackend,), members)()
    assert isinstance(broken, Backend)
    return broken


def changed(name: str, folder: Path, *replacements: tuple[str, str]) -> Path:
    """A copy of one file of the template with texts replaced, each of which has to be there."""
    text = (PACKAGE / name).read_text()
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    path = folder / Path(name).name
    path.write_text(text)
    return path


def with_runner(folder: Path, *replacements: tuple[str, str]) -> Backend:
    """The template's backend with a runner that is changed."""
    runner = changed("device/runner.py", folder, *replacements)
    return backend(runner_files=lambda self: (runner,))


def meter(folder: Path, *replacements: tuple[str, str]) -> ModuleType:
    """The template's meter, changed."""
    path = changed("device/meter.py", folder, *replacements)
    spec = importlib.util.spec_from_file_location("meter", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
