"""TensorRT's own Python packages, as the package index has them, so far as they can be read without TensorRT.

Importing one binds the names of its release and calls nothing: libraries that have no more than the functions
it links to are enough for that. They are compiled here and do nothing.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import filelock
import platformdirs

from edgebench.testing.device_code import works
from tests.link.old_python import JETPACK_5, JETPACK_6, JETPACK_7, Board, python_of

INSTALL_S = 150
_FUNCTIONS = (
    "createInferBuilder_INTERNAL",
    "createInferRefitter_INTERNAL",
    "createInferRuntime_INTERNAL",
    "createNvOnnxParserRefitter_INTERNAL",
    "createNvOnnxParser_INTERNAL",
    "getBuilderPluginRegistry",
    "getNvOnnxParserVersion",
    "getPluginRegistry",
    "initLibNvInferPlugins",
    # The parsers of UFF and Caffe, which 8.6 still has.
    "_ZN11nvuffparser15createUffParserEv",
    "_ZN11nvuffparser8FieldMapC1EPKcPKvNS_9FieldTypeEi",
    "_ZN14nvcaffeparser117createCaffeParserEv",
    "_ZN14nvcaffeparser123shutdownProtobufLibraryEv",
)


@dataclass(frozen=True)
class Package:
    """A release's package, and a Python that it has a wheel for."""

    requirement: str
    board: Board

    @property
    def libraries(self) -> list[str]:
        """What it links to."""
        major = self.requirement.partition("==")[2].partition(".")[0]
        return [
            f"lib{name}.so.{major}" for name in ("nvinfer", "nvonnxparser", "nvparsers", "nvinfer_plugin")
        ]


PACKAGES = {
    "8.6": Package("tensorrt-bindings==8.6.1", JETPACK_5),
    "10": Package("tensorrt-cu12-bindings==10.3.0", JETPACK_6),
    "11": Package("tensorrt-cu12-bindings==11.1.0.106", JETPACK_7),
}


@functools.cache
def package_of(shape: str) -> tuple[Path | None, str]:
    """A folder with a package `tensorrt`, for PYTHONPATH, or None and why there is none.

    It is kept in the user's cache folder; what the package links to lies in its `lib`, for LD_LIBRARY_PATH.
    """
    package = PACKAGES[shape]
    python, why = python_of(package.board)
    if python is None or shutil.which("gcc") is None:
        return None, why or "gcc is not installed"
    folder = Path(platformdirs.user_cache_dir("edgebench")) / "test-libraries" / package.requirement
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{folder}.lock", timeout=INSTALL_S):
            if not (folder / "tensorrt").exists():
                shutil.rmtree(folder, ignore_errors=True)
                _install(package, folder)
    except (OSError, subprocess.SubprocessError, filelock.Timeout) as error:
        return None, f"{package.requirement} cannot be had: {error}"
    return folder, ""


def _install(package: Package, folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--only-binary", ":all:"]
    pip += ["--python-version", package.board.version, "--target", str(folder), package.requirement]
    if not works(pip, INSTALL_S):
        raise OSError("it cannot be installed")
    libraries = folder / "lib"
    libraries.mkdir()
    source = folder / "functions.c"
    source.write_text("".join(f"int {name}(void) {{ return 0; }}\n" for name in _FUNCTIONS))
    for name in package.libraries:
        command = ["gcc", "-shared", "-fPIC", "-w", "-o", str(libraries / name), str(source)]
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_S)
    os.symlink("tensorrt_bindings", folder / "tensorrt")
