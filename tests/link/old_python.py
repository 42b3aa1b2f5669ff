"""The boards' Pythons, where this machine has them: each with the newest runtime that has wheels for it.

Made once, in the user's cache folder; what cannot be made is said, so that a test can skip with the reason.
"""

import functools
import shutil
from dataclasses import dataclass
from pathlib import Path

import filelock
import platformdirs

from edgebench.testing.device_code import candidates, works

NUMPY = "1.19.5"
INSTALL_S = 150


@dataclass(frozen=True)
class Board:
    """What a board of that age has installed."""

    version: str
    packages: tuple[str, ...]
    imports: str  # a statement that works when they are there

    @property
    def name(self) -> str:
        return "-".join([self.version, *(package.replace("==", "-") for package in self.packages)])


TOY = Board("3.6", (f"numpy=={NUMPY}",), f"import numpy; assert numpy.__version__ == '{NUMPY}'")
LITERT = (
    Board("3.7", ("tflite-runtime==2.11.0",), "import tflite_runtime.interpreter"),
    # Its wheel is built against numpy 1; what Python 3.8 can have is that.
    Board("3.8", ("tflite-runtime==2.14.0",), "import tflite_runtime.interpreter"),
    Board("3.10", ("ai-edge-litert",), "import ai_edge_litert.interpreter"),
    Board("3.12", ("ai-edge-litert",), "import ai_edge_litert.interpreter"),
    Board("3.13", ("ai-edge-litert",), "import ai_edge_litert.interpreter"),
)
# The last wheel with the plugin of the Neural Compute Stick 2, and the last line of its API.
OPENVINO_2021 = Board(
    "3.9", ("openvino==2021.4.2",), "from openvino.inference_engine import IECore; IECore()"
)
OPENVINO_2022 = Board("3.10", ("openvino==2022.3.2",), "from openvino.runtime import Core; Core()")
# ONNX Runtime with a plug-in, Intel's and Qualcomm's, which for x86 emulates its NPU.
ONNX_OPENVINO = Board(
    "3.11", ("onnxruntime", "onnxruntime-ep-openvino"), "import onnxruntime, onnxruntime_ep_openvino"
)
ONNX_QNN = Board("3.11", ("onnxruntime", "onnxruntime-qnn"), "import onnxruntime, onnxruntime_qnn")
# What computes behind a stand-in for TensorRT; JetPack 4.6's Python has numpy alone (TOY).
JETPACK_5, JETPACK_6, JETPACK_7 = (
    Board(version, ("onnxruntime",), "import onnxruntime") for version in ("3.8", "3.10", "3.12")
)


@functools.cache
def python_of(board: Board) -> tuple[str | None, str]:
    """Its path, or None and why there is none."""
    asks = ["-c", f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != '{board.version}')"]
    base = next((path for path in candidates(board.version) if works([path, *asks])), None)
    if base is None:
        return None, f"no Python {board.version} here"
    folder = Path(platformdirs.user_cache_dir("edgebench")) / "test-pythons" / board.name
    python = folder / "bin" / "python"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{folder}.lock", timeout=INSTALL_S):
            if works([str(python), "-c", board.imports]):
                return str(python), ""
            shutil.rmtree(folder, ignore_errors=True)
            if not works([base, "-m", "venv", str(folder)]):
                return None, f"{base} makes no virtual environment"
            wanted = " ".join(board.packages)
            if not works([str(python), "-m", "pip", "install", "-q", *board.packages], INSTALL_S):
                return None, f"{wanted} cannot be installed for Python {board.version}"
            if not works([str(python), "-c", board.imports]):
                return None, f"{wanted} does not run on Python {board.version}"
            return str(python), ""
    except (OSError, filelock.Timeout) as error:
        return None, f"no place for a Python {board.version} with its packages: {error}"


def python36() -> tuple[str | None, str]:
    """The oldest, with numpy."""
    return python_of(TOY)
