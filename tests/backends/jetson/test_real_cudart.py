"""The stand-in for the CUDA runtime against NVIDIA's own: names and errors; and what the runner calls."""

from __future__ import annotations

import ctypes
import importlib
import re
from typing import Any

import pytest

from tests.backends.jetson import real_cudart, standin

pytestmark = pytest.mark.slow
STAND_INS = {"11.8": "8.6", "12": "10", "13": "11"}
CODES = (0, 1, 2, 21, 35, 100, 101, 400, 600, 700, 719, 9999)
EXPORTED = re.compile(r"^(?:int|const char \*)\s?(cuda\w+)\(", re.MULTILINE)


@pytest.fixture(params=STAND_INS)
def libraries(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """NVIDIA's library and the stand-in for it."""
    if why := standin.missing():
        pytest.skip(why)
    path, why = real_cudart.library_of(request.param)
    if path is None:
        pytest.skip(why)
    pretended = standin.compiled(standin.RELEASES[STAND_INS[request.param]].cuda)
    both = ctypes.CDLL(str(path)), ctypes.CDLL(str(pretended))
    for library in both:
        for name in ("cudaGetErrorName", "cudaGetErrorString"):
            getattr(library, name).restype = ctypes.c_char_p
    return both


def test_the_stand_in_has_no_function_that_nvidia_s_has_not(libraries):
    real, pretended = libraries
    names = set(EXPORTED.findall((standin.HERE / "libcudart.c").read_text()))
    assert {"cudaMalloc", "cudaGetErrorString", "cudaGetDeviceProperties_v2"} <= names
    exported = {name for name in names if hasattr(pretended, name)}
    assert len(exported) >= len(names) - 1
    assert {name for name in exported if not hasattr(real, name)} == set()
    assert hasattr(real, "cudaGetDeviceProperties_v2") == hasattr(pretended, "cudaGetDeviceProperties_v2")


def test_errors_have_nvidia_s_names_and_words(libraries):
    real, pretended = libraries
    for code in CODES:
        assert pretended.cudaGetErrorName(code) == real.cudaGetErrorName(code)
        assert pretended.cudaGetErrorString(code) == real.cudaGetErrorString(code)


def test_the_runner_finds_all_its_functions_in_both(libraries):
    cudart = importlib.import_module("edgebench.backends.jetson.device.cudart")
    for library in libraries:
        cuda = cudart.Cuda(library._name)  # AttributeError for what is not there
        cuda.check(0, "cudaMalloc")
        with pytest.raises(cudart.CudaError, match="insufficient for CUDA runtime version"):
            cuda.check(35, "cudaMalloc")
