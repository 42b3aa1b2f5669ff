"""The file between `build` and `load`: what goes in comes out, and nothing else passes for one."""

import errno
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

engine_file: Any = importlib.import_module("edgebench.backends.jetson.device.engine_file")

HEADER = {
    "tensorrt": "8.2.1.8",
    "gpu": "NVIDIA Tegra X1 5.3",
    "precision": "fp16",
    "layers": [{"name": "a\nb"}],
}
ENGINE = b"ftrt\n\x00\xff" * 1000


def written(tmp_path: Path, engine: Any = ENGINE) -> Path:
    path = tmp_path / "model.engine"
    engine_file.write(str(path), HEADER, engine)
    return path


@pytest.mark.parametrize("engine", [ENGINE, memoryview(ENGINE)], ids=["bytes", "memory"])
def test_header_and_engine_come_back_unchanged(tmp_path: Path, engine: Any) -> None:
    header, read = engine_file.read(str(written(tmp_path, engine)))
    assert read == ENGINE
    assert {name: header[name] for name in HEADER} == HEADER


def cut(content: bytes) -> bytes:
    return content[:-1]


def longer(content: bytes) -> bytes:
    return content + b"\x00"


def other_format(content: bytes) -> bytes:
    line, _, engine = content[len(engine_file.MAGIC) :].partition(b"\n")
    changed = dict(json.loads(line), format=engine_file.FORMAT + 1)
    magic: bytes = engine_file.MAGIC
    return magic + json.dumps(changed).encode() + b"\n" + engine


def attack(what: str, change: Any) -> Any:
    mark = pytest.mark.attack(f"the engine file on a board {what}: load refuses it before TensorRT reads it")
    return pytest.param(change, id=what, marks=mark)


@pytest.mark.parametrize(
    "change",
    [
        attack("is cut short", cut),
        attack("has a byte more", longer),
        attack("is of another format", other_format),
        attack("is an engine without its header", lambda content: ENGINE),
        attack("is empty", lambda content: b""),
        attack("has a header that is no JSON", lambda content: engine_file.MAGIC + b"{nan\n" + ENGINE),
        attack("has a header that is a list", lambda content: engine_file.MAGIC + b"[]\n" + ENGINE),
        attack("has a header that never ends", lambda content: engine_file.MAGIC + b"[" * 100_000),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, change: Any) -> None:
    path = written(tmp_path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(engine_file.EngineFileError) as refusal:
        engine_file.read(str(path))
    assert refusal.value.session_status == "load_failed"


@pytest.mark.parametrize(
    ("tensorrt", "gpu", "named"),
    [
        ("8.2.1.9", HEADER["gpu"], "TensorRT 8.2.1.8, here is 8.2.1.9"),
        (HEADER["tensorrt"], "Orin 8.7", "GPU NVIDIA Tegra X1 5.3, here is Orin 8.7"),
    ],
)
@pytest.mark.attack("an engine of another TensorRT version or GPU is on the board: it is never deserialised")
def test_engine_of_another_version_or_gpu(tensorrt: str, gpu: str, named: str) -> None:
    with pytest.raises(engine_file.EngineFileError, match=named):
        engine_file.require_fit(HEADER, tensorrt, gpu)


def test_engine_of_this_version_and_gpu_fits() -> None:
    engine_file.require_fit(HEADER, "8.2.1.8", "NVIDIA Tegra X1 5.3")


def test_record_has_each_layer() -> None:
    layers = [{"name": "conv + relu", "type": "CaskConvolution", "precision": "int8"}]
    assert engine_file.layer_lines({"layers": layers}) == ["conv + relu (CaskConvolution): int8"]
    assert engine_file.layer_lines({}) == []


@pytest.mark.attack("an engine has thousands of layers with endless names: the record keeps its size")
def test_record_of_very_many_layers() -> None:
    layers = [{"name": "x" * 10_000, "type": "Myelin", "precision": "unknown"}] * 5_000
    lines = engine_file.layer_lines({"layers": layers})
    assert lines[-1] == "and 4600 more"
    assert len(json.dumps(lines)) < 200_000


def test_full_disk_is_told(tmp_path: Path) -> None:
    path = tmp_path / "model.engine"
    path.symlink_to("/dev/full")
    with pytest.raises(OSError) as failure:
        engine_file.write(str(path), HEADER, ENGINE)
    assert failure.value.errno == errno.ENOSPC


@pytest.mark.attack("a model's layer has a name of megabytes: its engine is written with less, and loads")
def test_a_header_that_was_written_can_be_read(tmp_path) -> None:
    path = str(tmp_path / "model.engine")
    layer = {"name": "x" * (engine_file.MAX_HEADER_BYTES + 1), "type": "Conv", "precision": "fp16"}
    engine_file.write(path, {"layers": [layer]}, b"engine")
    header, engine = engine_file.read(path)
    assert header["layers"] == [{**layer, "name": "x" * engine_file.MOST_NAME}]
    assert engine == b"engine"
