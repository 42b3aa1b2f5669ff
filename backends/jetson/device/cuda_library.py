"""Where the CUDA runtime is (device side, Python 3.6 syntax)."""

import ctypes.util
import glob
import os
import sys
from typing import Iterator, List

from .cudart import Cuda

NAME = "libcudart.so"
# JetPack and the packages of NVIDIA's repositories put it there, whether or not the loader is told.
FOLDERS = ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/aarch64-linux/lib", "/usr/local/cuda-*/lib64")
PACKAGES = ("cuda_runtime/lib", "cu[0-9]*/lib")

NONE_HERE = (
    "no CUDA runtime here ({}): on a Jetson it comes with JetPack (sudo apt install nvidia-jetpack), "
    "elsewhere with the CUDA toolkit; one where the loader does not look is named with "
    "--set cudart=PATH"
)
MAX_TEXT = 600


def find(named: str) -> Cuda:
    """The CUDA runtime.

    Args:
        named: a path, or a name for the loader; "": the one that is there.

    Raises:
        ImportError: it is missing or cannot be loaded.
    """
    reasons: List[str] = []
    for path in [named] if named else _candidates():
        try:
            if os.path.exists(path) and not os.path.isfile(path):  # the loader would wait for a pipe
                raise OSError("{} is no file".format(path))
            return Cuda(path)
        except (OSError, AttributeError, ValueError) as error:  # not there, no name, or lacks a function
            reasons.append(" ".join(str(error).split()))
    raise ImportError(NONE_HERE.format("; ".join(reasons)[:MAX_TEXT]))


def _candidates() -> Iterator[str]:
    """The likeliest first: the one that this process has loaded already, with TensorRT."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        yield from sorted({line.split(None, 5)[-1].strip() for line in maps if "/" + NAME in line})
    yield NAME
    yield from filter(None, [ctypes.util.find_library("cudart")])
    # Where the package index's CUDA puts it: nvidia/cuda_runtime/lib, since CUDA 13 nvidia/cu13/lib.
    packages = [os.path.join(place, "nvidia", name) for place in sys.path for name in PACKAGES]
    for folder in list(FOLDERS) + packages:
        yield from sorted(glob.glob(os.path.join(folder, NAME + "*")), reverse=True)
