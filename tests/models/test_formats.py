"""The table of formats: each pair of format and device is taken, or refused with what to give instead."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from edgebench import registry
from edgebench.cli.main import app
from edgebench.errors import EdgeBenchError, InputError, UsageError
from edgebench.prepare.formats import FORMATS, format_of
from edgebench.prepare.model_file import inspect_model
from edgebench.run.model_choice import require_formats
from tests.models.crafted import Codes, Lite, Types, tflite

BY_LITERT = {"coral", "coral-micro", "cortex-m", "cpu", "openvino"}
BY_ONNX = {"jetson", "ncs2", "onnxruntime", "openvino", "rknn", "tensorrt"}
DEVICES = BY_LITERT | BY_ONNX | {"toy", "replay"}

# File, devices that take it, and what the others' users are told to give.
TABLE: dict[str, tuple[str, set[str], str]] = {
    "tflite": ("m.tflite", BY_LITERT, "--device coral, coral-micro, cortex-m, cpu or openvino"),
    "edgetpu": ("m_edgetpu.tflite", {"coral", "coral-micro"}, "--device coral or coral-micro"),
    "vela": ("m_vela.tflite", set(), "the .tflite file that it was compiled from"),
    "onnx": ("m.onnx", BY_ONNX, "--device jetson, ncs2, onnxruntime, openvino, rknn or tensorrt"),
    "openvino": ("m.xml", {"ncs2", "openvino"}, "--device ncs2 or openvino"),
    "keras": ("m.keras", BY_LITERT | BY_ONNX, "leave --model out"),
    "saved_model": ("saved", BY_LITERT | BY_ONNX, "leave --model out"),
    "weights": ("m.npz", BY_LITERT | BY_ONNX, "leave --model out"),
    "tensorrt_engine": ("m.engine m.plan m.trt", set(), "the .onnx file that it was built from"),
    "pytorch": ("m.pt m.pth", set(), "torch.onnx.export"),
    "keras_h5": ("m.h5 m.hdf5", set(), ".export('m')"),
    "tensorflow_graph": ("m.pb", set(), "the folder of a SavedModel"),
    "coreml": ("m.mlmodel", set(), "the .onnx file"),
    "hailo": ("m.hef", set(), "the .onnx file"),
    "snpe": ("m.dlc", set(), "the .onnx file"),
    "rknn": ("m.rknn", set(), "the .onnx file"),
    "ncnn": ("m.param", set(), "the .onnx file"),
    "mnn": ("M.MNN", set(), "the .onnx file"),
}


def compiled(path: Path, operation: str) -> Path:
    """A .tflite file of one custom operation."""
    tensors = [Lite((1, 8, 8, 3), Types.UINT8, scale=1 / 255), Lite((1, 7), Types.UINT8, scale=1 / 256)]
    return tflite(path, tensors, [(operation, [0], [1])], [0], [1])


def made(folder: Path, kind: str) -> list[Path]:
    paths = [folder / name for name in TABLE[kind][0].split()]
    for path in paths:
        path.write_bytes(b"content") if path.suffix else path.mkdir()
    if kind == "saved_model":
        (paths[0] / "saved_model.pb").write_bytes(b"content")
    if kind in ("edgetpu", "vela"):
        compiled(paths[0], {"edgetpu": "edgetpu-custom-op", "vela": "ethos-u"}[kind])
    return paths


def test_the_table_has_every_format_and_every_device():
    assert [row.kind for row in FORMATS if row.kind not in TABLE] == []
    assert set(registry.names("edgebench.backends")) == DEVICES


@pytest.mark.parametrize("kind", TABLE)
def test_each_device_takes_a_format_or_refuses_it_with_what_to_give(kind: str, tmp_path: Path):
    _, takers, instead = TABLE[kind]
    for path in made(tmp_path, kind):
        assert format_of(path).kind == kind
        for device in sorted(DEVICES):
            backend = registry.backend(device)
            options = backend.options_model().model_dump(mode="json")
            if device in takers:
                require_formats([str(path)], [(backend, options)])
                continue
            with pytest.raises(UsageError) as caught:
                require_formats([str(path)], [(backend, options)])
            assert caught.value.what == f"{path.name} is not taken by {device}"
            assert f"{device} takes " in caught.value.why
            assert instead in caught.value.fix


def test_the_engine_of_cortex_m_decides(tmp_path: Path):
    [path] = made(tmp_path, "onnx")
    backend = registry.backend("cortex-m")
    require_formats([str(path)], [(backend, {"engine": "generated"})])
    with pytest.raises(UsageError):
        require_formats([str(path)], [(backend, {"engine": "tflm"})])


def test_a_file_that_one_device_of_a_run_takes_is_not_refused(tmp_path: Path):
    [path] = made(tmp_path, "onnx")
    cpu, ort = registry.backend("cpu"), registry.backend("onnxruntime")
    require_formats([str(path)], [(cpu, {}), (ort, {})])


@pytest.mark.parametrize("name", ["none.onnx", "none.pt", "none", "folder/none", "none.xyz"])
def test_a_missing_file_is_said_to_be_missing(tmp_path: Path, name: str):
    with pytest.raises(InputError, match="there is no model file"):
        require_formats([str(tmp_path / name)], [(registry.backend("cpu"), {})])


def test_what_a_compiled_file_hides_is_not_counted(tmp_path: Path):
    facts = inspect_model(compiled(tmp_path / "m.tflite", "edgetpu-custom-op"))
    assert facts.parameters is None and "edgetpu-custom-op" in facts.parameters_reason


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("-d", "cpu", "-m", "m.engine"), 2, "give the .onnx file that it was built from"),
        (("-d", "cpu", "-m", "m_edgetpu.tflite"), 2, "--device coral or coral-micro"),
        (("-d", "cpu", "-m", "none.pt"), 1, "there is no model file none.pt"),
        # Before labels are read, and whatever else the run measures.
        (("-d", "coral", "-m", "m.pt", "-m", "mobilenet_v1", "--labels", "none.txt"), 2, "not opened"),
    ],
)
def test_a_dry_run_refuses_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int, says: str
):
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for kind in ("tensorrt_engine", "edgetpu"):
        made(tmp_path, kind)
    os.mkfifo("m.pt")  # opening it would never end
    result = CliRunner().invoke(app, ["run", "--dry-run", *words])
    assert isinstance(result.exception, EdgeBenchError), result.output
    assert result.exception.exit_code == code
    assert says in result.exception.one_line
    assert "reading" not in result.output


def test_models_prepare_ends_with_1_where_a_variant_cannot_be_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(tmp_path / "cache"))
    weights = {"kernel": np.eye(8, 4, dtype=np.float32)}
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "kernel"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 8])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4])],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    path = tmp_path / "m.onnx"
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), path
    )
    words = ["models", "prepare", "-d", "onnxruntime", "-m", str(path), "--quiet"]
    assert CliRunner().invoke(app, [*words, "--precision", "fp32"]).exit_code == 0
    result = CliRunner().invoke(app, words)  # int8 has nothing to be calibrated with
    assert result.exit_code == 1
    assert "--calibration" in result.output


def test_a_name_in_text_does_not_make_a_compiled_file(tmp_path: Path):
    tensors = [Lite((1, 8)), Lite((4, 8), stored=True), Lite((1, 4))]
    path = tflite(tmp_path / "m.tflite", tensors, [(Codes.FULLY_CONNECTED, [0, 1], [2])], [0], [2])
    path.write_bytes(path.read_bytes() + b"not an edgetpu-custom-op at all")
    assert format_of(path).kind == "tflite"
