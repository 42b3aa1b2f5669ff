"""Engines built against the stand-in for TensorRT, in the five shapes of its API."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from edgebench.agent import building as agent_building
from edgebench.agent.files import FileStore, sha256_of
from tests.backends.jetson import building_models, standin
from tests.backends.jetson.conftest import PICTURES, Board, Boards

building: Any = importlib.import_module("edgebench.backends.jetson.device.building")
build_source: Any = importlib.import_module("edgebench.backends.jetson.device.build_source")
engine_file: Any = importlib.import_module("edgebench.backends.jetson.device.engine_file")
network: Any = importlib.import_module("edgebench.backends.jetson.device.network")

pytestmark = pytest.mark.skipif(bool(standin.missing()), reason=standin.missing())

SHAPES = ("8.0", "8.2", "8.6", "10", "11")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_engine_in_each_release_and_precision(board_of: Boards, shape: str, precision: str) -> None:
    board = board_of(shape)
    header = board.build(precision)
    by_flag = {"fp32": "model", "fp16": "flag", "int8": "calibrator"}[precision]
    by_file = {"fp32": "model", "fp16": "model", "int8": "qdq"}[precision]
    assert header["precision_from"] == (by_file if shape == "11" else by_flag)
    calibrated = header["precision_from"] == "calibrator"
    convolutions = len(building_models.WEIGHTED) - 1
    expected = {"int8": convolutions, "fp32": 1} if calibrated else {precision: convolutions + 1}
    assert header["weight_layer_precisions"] == expected
    assert header["precisions_read_from"].startswith("verbose log" if shape == "8.0" else "engine inspector")
    assert ([*header["warnings"]] != [], header["absent"]) == (calibrated, {})
    assert header["tensorrt"] == board.trt.__version__
    assert header["gpu"] == board.cuda.gpu
    assert {layer["precision"] for layer in header["layers"]} >= {precision}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("precision", ["fp16", "int8"])
@pytest.mark.attack(
    "TensorRT takes a precision and builds float32 all the same: the build fails and names the layers"
)
def test_engine_that_is_float_all_the_same(
    board_of: Boards, monkeypatch: pytest.MonkeyPatch, shape: str, precision: str
) -> None:
    board = board_of(shape)
    monkeypatch.setenv("STANDIN_UNHONOURED", "all")
    with pytest.raises(build_source.PrecisionNotHonoured) as failure:
        board.build(precision)
    # A calibrator leaves the last one, a product, float without fault.
    refused = building_models.WEIGHTED[: 2 if precision == "int8" and shape != "11" else 3]
    for text in (*refused, "in fp32", f"{len(refused)} of the 3 layers"):
        assert text in str(failure.value)
    assert not (board.folder / building.ENGINE).exists()


@pytest.mark.attack("TensorRT builds a single layer in float32: the build fails and names that layer alone")
def test_one_layer_in_another_precision(board_of: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_UNHONOURED", "second")
    with pytest.raises(build_source.PrecisionNotHonoured, match=r"1 of the 3 .*second in fp32; .*int8=qdq"):
        board_of("8.2").build("int8")


@pytest.mark.parametrize("shape", ["8.0", "10"])
def test_each_calibration_batch_is_taken(board_of: Boards, shape: str) -> None:
    board = board_of(shape)
    header = board.build("int8")
    [calibrated] = board.events("calibrated")
    assert calibrated["batches"] == header["calibration"]["batches"] == 3
    assert header["calibration"]["pictures"] == PICTURES
    assert [text for _, _, text in board.steps if text.startswith("calibration")] == [
        f"calibration batch {number} of 3" for number in (1, 2, 3)
    ]


@pytest.mark.parametrize(("shape", "int8"), [("8.2", "qdq"), ("10", "qdq"), ("11", "auto"), ("11", "qdq")])
def test_int8_by_the_files_own_pairs(board_of: Boards, shape: str, int8: str) -> None:
    board = board_of(shape)
    header = board.build("int8", int8=int8)
    assert (header["precision_from"], header["calibration"]) == ("qdq", None)
    assert board.events("calibrated") == []


def test_a_model_that_leaves_layers_float_says_so(board_of: Boards) -> None:
    board = board_of("10")
    artifact = building_models.qdq_model(board.folder / "mixed.onnx", leave_float=("dense",))
    header = board.build("int8", artifact, int8="qdq")
    assert header["weight_layer_precisions"] == {"int8": 2, "fp32": 1}
    [warning] = header["warnings"]
    assert "1 of 3" in warning and "dense" in warning


@pytest.mark.attack("a model without Q/DQ pairs is measured as int8: the build fails and names the layers")
def test_a_float_model_is_no_int8(board_of: Boards) -> None:
    board = board_of("11")
    artifact = building_models.float_model(board.folder / "float.onnx")
    with pytest.raises(build_source.PrecisionNotHonoured, match="3 of the 3"):
        board.build("int8", artifact)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_obliges_tensorrt(board_of: Boards, shape: str) -> None:
    flags = board_of(shape).build("fp16")["flags"]
    obey = {"8.0": ["STRICT_TYPES"], "11": []}.get(shape, ["OBEY_PRECISION_CONSTRAINTS"])
    assert flags == ([] if shape == "11" else ["FP16", *obey])


@pytest.mark.parametrize(
    ("shape", "asked_mb", "free_mb", "limit_mb"),
    [
        ("8.0", 0, 1000, 256),
        ("8.0", 0, 100, 100),
        ("8.2", 64, 1000, 64),
        ("8.6", 0, 1000, 1000),
        ("10", 64, 1000, 64),
        ("10", 2000, 1000, 1000),
    ],
)
def test_workspace(
    board_of: Boards,
    monkeypatch: pytest.MonkeyPatch,
    shape: str,
    asked_mb: int,
    free_mb: int,
    limit_mb: int,
) -> None:
    board = board_of(shape)
    monkeypatch.setattr(board.cuda, "available", lambda: free_mb << 20)
    header = board.build("fp32", workspace_mb=asked_mb)
    assert header["workspace_bytes"] == limit_mb << 20


def test_workspace_where_cuda_does_not_say_what_is_free(
    board_of: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_CUDA_FAIL", "cudaMemGetInfo:1:1")
    assert board_of("8.6").build("fp32")["workspace_bytes"] is None


def test_memory_of_files_counts_as_free_where_the_processor_shares_it(
    board_of: Boards, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STANDIN_MEMORY_MB", "4096")
    cuda = board_of("8.6").cuda
    monkeypatch.setattr(cuda, "memory", lambda: (100 << 20, 4096 << 20))
    meminfo = tmp_path / "meminfo"
    for kilobytes, megabytes in ((2048 << 10, 2048), (50 << 10, 100), (9000 << 10, 4096)):
        meminfo.write_text(f"MemTotal: 9999999 kB\nMemAvailable:   {kilobytes} kB\n")
        assert cuda.available(str(meminfo)) == megabytes << 20
    assert cuda.available(str(tmp_path / "none")) == 100 << 20


@pytest.mark.parametrize("shape", ["8.0", "8.6", "10"])
def test_a_calibrator_leaves_products_with_a_constant_float(board_of: Boards, shape: str) -> None:
    [warning] = board_of(shape).build("int8")["warnings"]
    assert "1 of 3" in warning and "dense" in warning and "int8=qdq" in warning


@pytest.mark.attack("every layer of a model is one that a calibrator leaves float: the build fails, not int8")
def test_products_alone_are_no_int8_by_a_calibrator(
    board_of: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = board_of("8.6")
    found = network.weight_layers

    def all_by_constant(parsed: object) -> Any:
        layers = found(parsed)
        return layers._replace(by_constant=set(layers.names))

    monkeypatch.setattr(building, "weight_layers", all_by_constant)
    monkeypatch.setenv("STANDIN_UNHONOURED", "all")
    with pytest.raises(build_source.PrecisionNotHonoured, match="3 of the 3"):
        board.build("int8")


@pytest.mark.attack(
    "TensorRT gives no runtime for an engine that it has built: the build fails with its words"
)
def test_no_runtime(board_of: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    board = board_of("10")

    def refuse(*_: object) -> None:
        raise TypeError("pybind11::init(): factory function returned nullptr")

    monkeypatch.setattr(board.trt.Runtime, "__init__", refuse)
    with pytest.raises(build_source.BuildFailed, match=r"cannot use the GPU: .*nullptr.*doctor"):
        board.build("fp32")


@pytest.mark.parametrize("shape", ["8.2", "11"])
def test_progress_goes_on_while_tensorrt_builds(board_of: Boards, shape: str) -> None:
    board = board_of(shape)
    board.build("fp32")
    done = [done for done, _, _ in board.steps]
    assert done == list(range(1, len(done) + 1))
    texts = [text for _, _, text in board.steps]
    assert texts[0] == "reading the model" and texts[-1] == "writing the engine"
    building_at = texts.index("building the engine")
    assert len(texts) - building_at > len(building_models.WEIGHTED)


@pytest.mark.parametrize("shape", ["8.6", "10"])
@pytest.mark.attack(
    "the host goes away during a build: no exception enters TensorRT, the build ends with its reason"
)
def test_progress_that_cannot_be_told_ends_the_build(board_of: Boards, shape: str) -> None:
    def progress(done: int, total: int = 0, text: str = "") -> None:
        if "first" in text or "Building" in text:
            raise BrokenPipeError("gone")

    with pytest.raises(BrokenPipeError):
        board_of(shape).build("fp32", progress=progress)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.attack(
    "memory runs out while TensorRT builds: the session ends as out_of_memory, with TensorRT's words"
)
def test_memory_runs_out(board_of: Boards, monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    monkeypatch.setenv("STANDIN_BUILD", "oom")
    with pytest.raises(build_source.OutOfMemory, match=r"OutOfMemory.*workspace_mb") as failure:
        board_of(shape).build("fp16")
    assert failure.value.session_status == "out_of_memory"


@pytest.mark.attack("the GPU's memory is full when calibration begins: the session ends as out_of_memory")
def test_no_memory_for_calibration(board_of: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_CUDA_FAIL", "cudaMalloc:1:2")
    with pytest.raises(RuntimeError) as failure:
        board_of("8.2").build("int8")
    assert failure.value.session_status == "out_of_memory"  # type: ignore[attr-defined]


def test_a_gpu_without_int8_is_refused_before_anything_is_built(
    board_of: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = board_of("8.2")
    monkeypatch.setenv("STANDIN_CAPABILITY", "5.3")
    with pytest.raises(building.BuildRefused, match=r"no int8 arithmetic.*fp16"):
        board.build("int8")
    assert not board.events("build")


@pytest.mark.parametrize("shape", ["8.0", "11"])
def test_errors_of_the_parser(board_of: Boards, shape: str) -> None:
    board = board_of(shape)
    artifact = board.folder / "unknown.onnx"
    building_models.with_unknown_operation(artifact)
    with pytest.raises(network.ParseFailed, match=r"node 1.*UNSUPPORTED_NODE.*Mystery"):
        board.build("fp32", artifact)


@pytest.mark.attack("a file that is no ONNX is built: TensorRT's parser refuses it, with its words")
def test_no_onnx(board_of: Boards) -> None:
    board = board_of("10")
    artifact = board.folder / "no.onnx"
    artifact.write_bytes(b"no model")
    with pytest.raises(network.ParseFailed, match="MODEL_DESERIALIZE_FAILED"):
        board.build("fp32", artifact)


@pytest.mark.attack(
    "TensorRT has hundreds of layers with endless names to complain of: the fix is still told"
)
def test_complaints_keep_their_fix() -> None:
    layer = build_source.Layer("x" * 5000, "CaskConvolution", "fp32", set())
    source = build_source.Source("path", "flag", "FP16", "HALF", None)
    text = str(build_source.not_honoured("8.2.1.8", "fp16", source, [layer] * 300, 300))
    assert len(text) < 1500
    assert "and 292 more; measure --precision fp32" in text


def test_no_gpu(board_of: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    board = board_of("8.2")
    monkeypatch.setenv("STANDIN_NO_DEVICE", "1")
    with pytest.raises(build_source.BuildFailed, match="cannot use the GPU"):
        board.build("fp32")


@pytest.mark.attack(
    "the engine inspector gives layers' names alone: the log of the build is read, else it is unknown"
)
def test_inspector_that_gives_names_alone(board_of: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    board = board_of("8.6")
    names = json.dumps({"Layers": ["first + relu", "second", "dense"], "Bindings": []})
    monkeypatch.setattr(board.trt.EngineInspector, "get_engine_information", lambda *_: names)
    header = board.build("fp16")
    assert header["precisions_read_from"].startswith("verbose log")
    assert header["weight_layer_precisions"] == {"fp16": 3}
    monkeypatch.setattr(build_source.BuildLog, "verbose", lambda *_: None)
    header = board.build("fp16")
    assert header["layer_precisions"] is None
    [warning] = header["warnings"]
    assert "fp16 is not verified" in warning
    assert header["absent"]["layer_precisions"] in warning


def test_layers_inside_a_fused_region_are_unknown(board_of: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    board = board_of("10")
    float16 = {"Inputs": [{"Name": "x", "Format/Datatype": "Half"}]}
    layers = [
        {"Name": "first + relu", "LayerType": "CaskConvolution", **float16},
        {"Name": "{ForeignNode[second...dense]}", "LayerType": "Myelin", **float16},
    ]
    text = json.dumps({"Layers": layers})
    monkeypatch.setattr(board.trt.EngineInspector, "get_engine_information", lambda *_: text)
    header = board.build("fp16")
    assert header["weight_layer_precisions"] == {"fp16": 1}
    [warning] = header["warnings"]
    assert "2 of 3" in warning and "second, dense" in warning


@pytest.mark.attack(
    "TensorRT does not load the engine that it has just built: the build fails with its words"
)
def test_engine_that_does_not_load(board_of: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    board = board_of("8.6")
    monkeypatch.setattr(board.trt.Runtime, "deserialize_cuda_engine", lambda *_: None)
    with pytest.raises(build_source.BuildFailed, match="does not load"):
        board.build("fp32")


# --- as the agent builds and keeps it ---


def built_by_agent(board: Board, **options: Any) -> Any:
    """What the agent has of a build of fp16 with this release of TensorRT."""
    runner = importlib.reload(importlib.import_module("edgebench.backends.jetson.device.runner"))
    artifact = building_models.float_model(board.folder / "artifact.onnx")
    half = Path(board.companions["half.onnx"])
    request = {
        "source": {"path": str(artifact), "sha256": sha256_of(str(artifact))},
        "companions": {"half.onnx": {"path": str(half), "sha256": sha256_of(str(half))}},
        "code": {"files": {}},
        "options": {
            "int8": "auto",
            "workspace_mb": 0,
            "precision": "fp16",
            "cudart": str(board.here.cudart),
            **options,
        },
    }
    agent_folder = board.folder / "agent"
    scratch = FileStore(str(agent_folder)).scratch(1)
    return agent_building.build(runner, request, scratch, lambda note: None, lambda: 0)


@pytest.mark.attack("an engine of another TensorRT version is on the board: it is built again, never loaded")
def test_engine_of_another_version_is_built_anew(board_of: Boards) -> None:
    board = board_of("8.2")
    first, again = (built_by_agent(board, double_buffer=chosen) for chosen in (False, True))
    other = built_by_agent(board_of("8.2", "8.2.5.1"))
    assert (first.cached, again.cached, other.cached) == (False, True, False)
    assert again.path == first.path != other.path
    assert len(board.events("built")) == 2
    assert board.events("refused") == []


@pytest.mark.attack("a board's GPU is changed for another one: its engines are built again, never loaded")
def test_engine_of_another_gpu_is_built_anew(board_of: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    board = board_of("10")
    first = built_by_agent(board)
    monkeypatch.setenv("STANDIN_CAPABILITY", "8.6")
    other = built_by_agent(board)
    assert not other.cached
    assert first.path != other.path


def test_a_build_that_fails_leaves_no_file(board_of: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    board = board_of("10")
    monkeypatch.setenv("STANDIN_UNHONOURED", "all")
    with pytest.raises(build_source.PrecisionNotHonoured):
        built_by_agent(board)
    assert list((board.folder / "agent").iterdir()) == []


@pytest.mark.attack("the board's disk is full when the engine is written: the session ends as disk_full")
def test_full_disk(board_of: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: str, header: Any, engine: Any) -> None:
        Path(path).symlink_to("/dev/full")
        written(path, header, engine)

    written = engine_file.write
    monkeypatch.setattr(engine_file, "write", full)
    board = board_of("8.0")
    with pytest.raises(agent_building.DiskFull) as failure:
        built_by_agent(board)
    assert failure.value.session_status == "disk_full"
    assert list((board.folder / "agent").iterdir()) == []
