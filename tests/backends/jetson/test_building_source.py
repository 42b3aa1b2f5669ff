"""Which file an engine is built from, by what the library offers."""

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

build_source: Any = importlib.import_module("edgebench.backends.jetson.device.build_source")
calibration: Any = importlib.import_module("edgebench.backends.jetson.device.building")

WITH_FLAGS = SimpleNamespace(
    __version__="8.2.1.8",
    BuilderFlag=SimpleNamespace(FP16=0, INT8=1),
    IInt8EntropyCalibrator2=object,
)
BY_MODEL = SimpleNamespace(__version__="11.0.0.1", BuilderFlag=SimpleNamespace())
HALF = {"half.onnx": "half"}
FLOAT = {"float.onnx": "float", "calibration.npy": "pictures"}


def chosen(trt: Any, precision: str, int8: str = "auto", companions: dict[str, str] | None = None) -> Any:
    companions = companions or {}
    pictures = companions.get("calibration.npy")
    return build_source.source_of(trt, "artifact", precision, int8, companions, pictures)


@pytest.mark.parametrize(
    ("trt", "precision", "int8", "companions", "expected"),
    [
        (WITH_FLAGS, "fp32", "auto", None, ("artifact", "model", None, None)),
        (BY_MODEL, "fp32", "auto", None, ("artifact", "model", None, None)),
        (WITH_FLAGS, "fp16", "auto", HALF, ("artifact", "flag", "FP16", "HALF")),
        (BY_MODEL, "fp16", "auto", HALF, ("half", "model", None, None)),
        (WITH_FLAGS, "int8", "auto", FLOAT, ("float", "calibrator", "INT8", "INT8")),
        (WITH_FLAGS, "int8", "calibrator", FLOAT, ("float", "calibrator", "INT8", "INT8")),
        (WITH_FLAGS, "int8", "qdq", FLOAT, ("artifact", "qdq", "INT8", None)),
        (WITH_FLAGS, "int8", "auto", None, ("artifact", "qdq", "INT8", None)),
        (BY_MODEL, "int8", "auto", FLOAT, ("artifact", "qdq", None, None)),
    ],
)
def test_source_by_what_is_there(trt: Any, precision: str, int8: str, companions: Any, expected: Any) -> None:
    source = chosen(trt, precision, int8, companions)
    assert (source.path, source.kind, source.flag, source.layer_precision) == expected
    assert source.calibration == ("pictures" if source.kind == "calibrator" else None)


@pytest.mark.parametrize(
    ("trt", "precision", "int8", "companions", "fix"),
    [
        (BY_MODEL, "int8", "calibrator", FLOAT, "int8=qdq"),
        (WITH_FLAGS, "int8", "calibrator", {"float.onnx": "float"}, "no calibration"),
        (BY_MODEL, "fp16", "auto", None, "half.onnx"),
    ],
)
def test_what_is_missing_is_named(trt: Any, precision: str, int8: str, companions: Any, fix: str) -> None:
    with pytest.raises(build_source.BuildRefused, match=fix):
        chosen(trt, precision, int8, companions)


class Memory:
    """A device whose memory is a list of what was copied."""

    def __init__(self, fails: bool = False) -> None:
        self.copies: list[Any] = []
        self._fails = fails

    def allocate(self, size: int) -> int:
        self.size = size
        return 4096

    def copy(self, address: int, array: Any) -> None:
        if self._fails:
            raise RuntimeError("cudaMemcpy failed")
        assert address == 4096
        self.copies.append(array.copy())


def batches_of(path: Any, memory: Memory, shape: tuple[int, ...], steps: list[str]) -> Any:
    return calibration.Batches(str(path), shape, memory.allocate, memory.copy, steps.append)


def test_calibrator_takes_each_picture_and_fills_the_last_batch(tmp_path: Any) -> None:
    pictures = np.arange(5 * 3 * 2 * 2, dtype=np.float32).reshape(5, 3, 2, 2)
    np.save(tmp_path / "calibration.npy", pictures)
    memory = Memory()
    steps: list[str] = []
    batches = batches_of(tmp_path / "calibration.npy", memory, (2, 3, 2, 2), steps)
    assert [batches.next() for _ in range(4)] == [[4096], [4096], [4096], None]
    assert np.array_equal(np.concatenate(memory.copies), pictures[[0, 1, 2, 3, 4, 0]])
    assert memory.size == pictures[:2].nbytes
    assert steps == [f"calibration batch {number} of 3" for number in (1, 2, 3)]
    assert batches.taken == batches.count
    assert batches.facts() == {"pictures": 5, "batch": 2, "batches": 3}


@pytest.mark.attack(
    "a copy to the GPU fails during calibration: no exception enters TensorRT, the build fails"
)
def test_failed_copy_ends_calibration(tmp_path: Any) -> None:
    np.save(tmp_path / "calibration.npy", np.zeros((4, 3, 2, 2), np.float32))
    batches = batches_of(tmp_path / "calibration.npy", Memory(fails=True), (2, 3, 2, 2), [])
    assert batches.next() is None
    assert "cudaMemcpy" in str(batches.failure)


@pytest.mark.parametrize(
    "pictures",
    [
        np.zeros((4, 3, 2, 3), np.float32),
        np.zeros((4, 3, 2, 2), np.uint8),
        np.zeros((0, 3, 2, 2), np.float32),
        np.zeros((4,), np.float32),
    ],
)
def test_pictures_of_another_model_are_refused(tmp_path: Any, pictures: Any) -> None:
    np.save(tmp_path / "calibration.npy", pictures)
    with pytest.raises(build_source.BuildRefused, match="float32"):
        batches_of(tmp_path / "calibration.npy", Memory(), (2, 3, 2, 2), [])
