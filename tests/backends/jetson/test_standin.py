"""The stand-in for TensorRT has each release's names and no others, and computes what it is given."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from tests.backends.jetson import crafted, standin
from tests.link.old_python import TOY, python_of

PROGRAM = Path(__file__).parent / "device" / "board_program.py"
SHAPES = list(standin.RELEASES)
ALL = frozenset(SHAPES)
BEFORE_11, BEFORE_10 = ALL - {"11"}, ALL - {"10", "11"}
FROM_82, FROM_86, FROM_10 = ALL - {"8.0"}, ALL - {"8.0", "8.2"}, frozenset({"10", "11"})
RUN_S = 60

# What a caller has to tell releases apart by: NVIDIA's documentation of each release, archives of
# docs.nvidia.com/deeplearning/tensorrt, python-api/infer; and the guide Migrating from TensorRT 10.x to 11.x.
TELLING = {
    "NetworkDefinitionCreationFlag.EXPLICIT_BATCH": BEFORE_11,
    "NetworkDefinitionCreationFlag.STRONGLY_TYPED": FROM_10,
    "BuilderFlag.FP16": BEFORE_11,
    "BuilderFlag.INT8": BEFORE_11,
    "BuilderFlag.STRICT_TYPES": BEFORE_10,
    "BuilderFlag.OBEY_PRECISION_CONSTRAINTS": FROM_82 - {"11"},
    "BuilderFlag.TF32": ALL,
    "IInt8EntropyCalibrator2": BEFORE_11,
    "IBuilderConfig.max_workspace_size": BEFORE_10,
    "IBuilderConfig.set_memory_pool_limit": FROM_86,
    "IBuilderConfig.int8_calibrator": BEFORE_11,
    "IBuilderConfig.progress_monitor": FROM_10,
    "IProgressMonitor": FROM_10,
    "MemoryPoolType": FROM_86,
    "ICudaEngine.num_bindings": BEFORE_10,
    "ICudaEngine.num_io_tensors": FROM_86,
    "ICudaEngine.create_engine_inspector": FROM_82,
    "ICudaEngine.device_memory_size": BEFORE_11,
    "IExecutionContext.execute_async_v2": BEFORE_10,
    "IExecutionContext.execute_async_v3": FROM_86,
    "IExecutionContext.execute_v2": ALL,
    "IExecutionContext.set_binding_shape": BEFORE_10,
    "IExecutionContext.set_input_shape": FROM_86,
    "EngineInspector": FROM_82,
    "ProfilingVerbosity.DETAILED": FROM_82,
    "ILogger.Severity": FROM_82,
    "Logger.Severity": ALL,
    "Builder.build_engine": BEFORE_10,
    "Builder.build_serialized_network": ALL,
    "Builder.platform_has_fast_fp16": BEFORE_11,
    "ILayer.precision": BEFORE_11,
    "TensorIOMode": FROM_86,
    "nptype": ALL,
}


def table_of(shape: str) -> dict[str, set[str]]:
    """{class: its names} of a release, as names.txt has them."""
    names: dict[str, set[str]] = {"": set()}
    for line in (standin.PACKAGE / "names.txt").read_text().splitlines():
        name, *releases = line.split()
        if line.startswith("#") or shape not in {release.partition("=")[0] for release in releases}:
            continue
        owner, _, member = name.rpartition(".")
        if not owner and name[0].isupper():
            names.setdefault(name, set())
            names[""].add(name)
        else:
            names.setdefault(owner, set()).add(member)
    return names


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, standin.StandIn]:
    if why := standin.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("boards")
    return {shape: standin.write(folder / shape, shape) for shape in SHAPES}


def on_board(board: standin.StandIn, *actions: list[str], python: str = sys.executable, **more: str) -> Any:
    """What comes of each action, in one process."""
    environment = {**os.environ, **board.environment, **more}
    command = [python, str(PROGRAM), json.dumps(actions)]
    completed = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=RUN_S, check=False
    )
    assert completed.returncode == 0, completed.stderr[-2000:]
    return json.loads(completed.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The crafted network: float, at 16 bits, with pairs, and with what TensorRT's parser refuses."""
    folder = tmp_path_factory.mktemp("networks")
    contents = {
        "float": crafted.network(),
        "half": crafted.half(crafted.network()),
        "pairs": crafted.network(pairs=True),
        "asymmetric": crafted.network(pairs=True, zero=3),
        "integer bias": crafted.network(pairs=True, bias="int32"),
    }
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return {name: str(folder / name) for name in contents}


@pytest.fixture(scope="module")
def everything(boards: dict[str, standin.StandIn], files: dict[str, str]) -> Callable[[str], dict[str, Any]]:
    """What a release does with all files, by a name of each run; one process a release."""

    @functools.cache
    def of(shape: str) -> dict[str, Any]:
        actions = {
            "names": ["names"],
            "misuse": ["misuse", files["float"]],
            "fp32": ["run", files["float"], "fp32"],
            "fp16": ["run", files["float" if shape in BEFORE_11 else "half"], "fp16"],
            "pairs": ["run", files["pairs"], "pairs"],
            "asymmetric": ["run", files["asymmetric"], "pairs"],
            "integer bias": ["run", files["integer bias"], "pairs"],
        }
        if shape in BEFORE_11:
            actions["int8"] = ["run", files["float"], "int8"]
            actions["half without flag"] = ["run", files["half"], "fp32"]
            actions["pairs without flag"] = ["run", files["pairs"], "fp32"]
        return dict(zip(actions, on_board(boards[shape], *actions.values()), strict=True))

    return of


@pytest.mark.parametrize("shape", SHAPES)
def test_a_release_has_its_names_and_no_others(everything, shape):
    names, table = everything(shape)["names"], table_of(shape)
    assert set(names[""]) == table.pop("")
    for owner, members in table.items():
        assert set(names[owner]) == members, owner


@pytest.mark.parametrize(("name", "shapes"), TELLING.items(), ids=TELLING)
def test_the_table_says_what_the_documentation_does(name, shapes):
    owner, _, member = name.rpartition(".")
    assert {shape for shape in SHAPES if member in table_of(shape).get(owner, ())} == shapes


def expected(path: str, image: Any) -> Any:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {"image": np.asarray(image, np.float32)})[0]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8", "pairs"])
def test_an_engine_computes_what_the_file_says_at_the_precision_asked_for(
    everything, files, shape, precision
):
    if precision == "int8" and shape == "11":
        pytest.skip("there is no calibrator any more")
    result = everything(shape)[precision]
    difference = np.abs(np.asarray(result["scores"]) - expected(files["float"], result["image"])).max()
    least, most = {"fp32": (0, 1e-6), "fp16": (1e-7, 1e-3)}.get(precision, (1e-5, 2e-2))
    assert least <= difference <= most, "it is computed at another precision"
    word = {"fp32": "Float", "fp16": "Half"}.get(precision, "Int8")
    [logged] = result["log"]
    fused = "Layer(CaskConvolution): conv + relu6"
    convolution = next(line for line in logged.splitlines() if line.startswith(fused))
    assert f"({word}[" in convolution or f"[{word}(" in convolution
    assert ("layers" in result) == (shape in FROM_82)
    if shape in FROM_82:
        layers = {layer["Name"]: layer for layer in result["layers"]["Layers"]}
        assert layers["conv + relu6"]["Weights"]["Type"] == word
        [tensor] = layers["conv + relu6"]["Inputs"]
        assert ("Datatype" in tensor) == (shape == "11") != ("Format/Datatype" in tensor)


def test_python_3_6_computes_the_same_by_numpy(boards, files, everything):
    python, why = python_of(TOY)
    if python is None:
        pytest.skip(why)
    runs = {"fp32": files["float"], "int8": files["float"], "pairs": files["pairs"]}
    results = on_board(boards["8.0"], *(["run", path, name] for name, path in runs.items()), python=python)
    for name, result in zip(runs, results, strict=True):
        by_onnxruntime = everything("8.0")[name]["scores"]
        np.testing.assert_allclose(result["scores"], by_onnxruntime, atol=2e-6 if name == "fp32" else 2e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_parser_refuses_what_tensorrt_s_refuses(everything, shape):
    assert "symmetric" in everything(shape)["asymmetric"]["refused"]
    assert "activation types" in everything(shape)["integer bias"]["refused"]


@pytest.mark.parametrize("shape", sorted(BEFORE_11))
def test_a_flag_that_is_missing_is_an_error(everything, shape):
    for run in ("half without flag", "pairs without flag"):
        [text] = everything(shape)[run]["messages"]
        assert "not configured in the builder" in text


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_caller_may_get_wrong_is_wrong_here_too(everything, shape):
    assert everything(shape)["misuse"] == []


def test_a_precision_that_is_not_honoured_shows_in_layers_and_scores(boards, files):
    [result] = on_board(boards["10"], ["run", files["float"], "fp16"], STANDIN_UNHONOURED="all")
    assert {layer["Weights"]["Type"] for layer in result["layers"]["Layers"] if "Weights" in layer} == {
        "Float"
    }
    np.testing.assert_allclose(result["scores"], expected(files["float"], result["image"]), atol=1e-6)


def test_a_build_that_runs_out_of_memory_gives_nothing(boards, files):
    [result] = on_board(boards["8.2"], ["run", files["float"], "fp16"], STANDIN_BUILD="oom")
    assert any("OutOfMemory" in text for text in result["messages"])


def test_an_engine_of_another_release_or_gpu_is_refused(boards, files, tmp_path):
    whole, cut = tmp_path / "engine", tmp_path / "cut"
    assert on_board(boards["8.0"], ["save", files["float"], str(whole)], ["load", str(whole)])[1] == []
    cut.write_bytes(whole.read_bytes()[:-1])
    [other_release, broken] = on_board(boards["8.2"], ["load", str(whole)], ["load", str(cut)])
    assert "expecting library version 8.2.1.8 got 8.0.1.6" in other_release[0]
    assert "Serialization" in broken[0]
    nano = {"STANDIN_CAPABILITY": "5.3"}
    [other_gpu, log] = on_board(boards["8.0"], ["load", str(whole)], ["run", files["float"], "int8"], **nano)
    assert "expecting compute 5.3 got compute 7.2" in other_gpu[0]
    assert "Int8" not in log["log"][0]  # such a GPU has no arithmetic for it
