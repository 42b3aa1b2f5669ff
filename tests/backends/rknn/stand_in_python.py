"""A Python with the stand-ins: EDGEBENCH_RKNN_PYTHON, or `--python` where there is no board."""

import functools
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("rockchip.py")
FILES = {
    "rknn/VERSION": "2.3.2\n",
    "rknn/api/__init__.py": "from rockchip import RKNN\n",
    "rknnlite/api/__init__.py": "from rockchip import RKNNLite\n",
    "rknn_toolkit2-2.3.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: rknn-toolkit2\nVersion: 2.3.2\n",
    "rknn_toolkit_lite2-2.3.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: rknn-toolkit-lite2\n"
    "Version: 2.3.2\n",
}


def write(folder: Path, **environment: str) -> str:
    """A program in the folder that runs this Python with the stand-ins; `environment` is set for it."""
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    shutil.copy(SOURCE, folder)
    settings = {"PYTHONPATH": str(folder), **environment}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in settings.items()]
    program = folder / "python"
    program.write_text("\n".join(["#!/bin/sh", *lines, f'exec {shlex.quote(sys.executable)} "$@"', ""]))
    program.chmod(0o755)
    return str(program)


@functools.cache
def shared() -> str:
    """One for the rest of this process."""
    return write(Path(_FOLDER.name))


_FOLDER = tempfile.TemporaryDirectory(prefix="edgebench-test-rknn-")
