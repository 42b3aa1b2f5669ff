"""Errors of TensorRT, CUDA and the GPU's driver, in their own words, become a cause and a fix."""

from __future__ import annotations

import pytest

from edgebench.errors import SessionError
from edgebench.records.session import SessionSettings
from edgebench.records.target import Launch, Target
from tests.fakes import agent_backend

JETSON, DISCRETE = agent_backend("jetson"), agent_backend("tensorrt")


def error(why: str = "", tail: str = "", stage: str = "load") -> SessionError:
    return SessionError("the worker failed", status="failed", stage=stage, why=why, stderr_tail=tail)


@pytest.mark.parametrize(
    ("why", "what", "fix"),
    [
        (
            "ImportError: no TensorRT here (No module named 'tensorrt'): on a Jetson it comes with JetPack",
            "no TensorRT", "python3-libnvinfer",
        ),
        ("NvRmMemInitNvmap failed with Permission denied", "may not open", "usermod -aG video"),
        ("OSError: cudaStreamCreate: no CUDA-capable device is detected", "no GPU", "--host"),
        (
            "cudaGetDevice: CUDA driver version is insufficient for CUDA runtime version",
            "too old", "JetPack",
        ),
        ("[TRT] 2: [virtualMemoryBuffer.cpp] Error Code 2: OutOfMemory (no further information)",
         "memory does not suffice", "--set workspace_mb"),
        ("cudaMalloc: out of memory", "memory does not suffice", "--batch"),
        ("[E] Requested amount of GPU memory (1073741824 bytes) could not be allocated.",
         "memory does not suffice", "desktop"),
        ("BuildFailed: TensorRT 8.2.1 cannot use the GPU: CUDA initialization failure with error 35. Please",
         "too old", "JetPack"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["why", "tail"])
def test_a_known_cause_is_named_with_its_fix(why, what, fix, place):
    failed = error(**{place: f"first line\n{why}\nlast line"}, stage="build")
    explained = JETSON.explain(failed)
    assert explained is not None
    assert what in explained.what and fix in explained.fix
    assert (explained.stage, explained.status) == ("build", "failed")
    assert explained.why and "last line" not in explained.why


def test_a_session_without_tensorrt_says_what_brings_it(artifacts, tmp_path):
    """On this machine, which has none: the build that comes first is what fails."""
    options = JETSON.options_model().model_dump()
    # A folder that only the worker sees may bring TensorRT: the device is opened.
    launch = Launch(env={"PYTHONPATH": str(tmp_path)})
    settings = SessionSettings(16, options, launch)
    device = JETSON.open(Target("jetson", "jetson", options, launch))
    try:
        with pytest.raises(SessionError) as caught, device.session(artifacts["fp16"], settings):
            pass
    finally:
        device.close()
    assert "has no TensorRT" in caught.value.what
    for name in ("JetPack", "python3-libnvinfer", "--system-site-packages", "--host"):
        assert name in caught.value.fix


def test_what_the_driver_prints_says_more_than_cudas_error():
    printed = "NvRmMemInitNvmap failed with Permission denied\n549: Memory Manager Not supported"
    explained = JETSON.explain(error("no CUDA-capable device is detected (cudaErrorNoDevice, 100)", printed))
    assert explained is not None and "usermod -aG video" in explained.fix


def test_a_discrete_gpu_has_its_own_fixes():
    missing = DISCRETE.explain(error("no TensorRT here (No module named 'tensorrt'): on a Jetson"))
    assert missing is not None and "pip install tensorrt" in missing.fix
    memory = DISCRETE.explain(error("cudaMalloc: out of memory"))
    assert memory is not None and "desktop" not in memory.fix


def test_what_is_not_known_stays_as_it_is():
    assert JETSON.explain(error("ValueError: an input of another shape")) is None


@pytest.mark.attack("a worker's last words are a megabyte of one line: what is repeated of it is short")
def test_a_flood_is_repeated_in_short():
    explained = JETSON.explain(error("x" * 1_000_000 + " out of memory " + "y" * 1_000_000))
    assert explained is not None and len(explained.why) <= 300
