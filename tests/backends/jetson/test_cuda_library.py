"""What `--set cudart=` may name."""

import importlib
import os
from typing import Any

import pytest

cuda_library: Any = importlib.import_module("edgebench.backends.jetson.device.cuda_library")

NO_MORE = "there is no CUDA runtime, and the reason"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("pipe", "is no file", marks=pytest.mark.attack(f"cudart names a pipe: {NO_MORE}")),
        pytest.param(".", "is no file", marks=pytest.mark.attack(f"cudart names a folder: {NO_MORE}")),
        pytest.param("text", "text", marks=pytest.mark.attack(f"cudart names no library: {NO_MORE}")),
        pytest.param("a\0b", "null", marks=pytest.mark.attack(f"cudart has a zero byte: {NO_MORE}")),
        pytest.param(
            "libc.so.6", "cuda", marks=pytest.mark.attack(f"cudart names another library: {NO_MORE}")
        ),
    ],
)
def test_what_is_no_cuda_runtime_is_refused(tmp_path, name, why):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("INPUT(libcudart.so.10.2)\n")
    path = name if name.startswith("lib") else f"{tmp_path}/{name}"
    with pytest.raises(ImportError, match=why) as caught:
        cuda_library.find(path)
    assert "--set cudart=PATH" in str(caught.value)
