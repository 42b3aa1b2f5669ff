"""Which precision an engine computes in, as TensorRT's own words have it."""

import importlib
import json
from typing import Any

import pytest

engine_layers: Any = importlib.import_module("edgebench.backends.jetson.device.build_source")
build_log: Any = importlib.import_module("edgebench.backends.jetson.device.build_source")

INT8_FORMAT = "Thirty-two wide channel vectorized row major Int8 format"

# In the forms that TensorRT 8.0 to 10 print.
LOGGED = """Engine Layer Information:
Layer(Reformat): Reformatting CopyNode for Input Tensor 0 to Conv_0 + PWN(Clip_3), Tactic: 0, \
inputs[Float(1,3,512,768)] -> Reformatted Input Tensor 0 to Conv_0 + PWN(Clip_3)[Int8(1,3,512,768)]
Layer(CaskConvolution): Conv_0 + PWN(Clip_3), Tactic: 0x02d9f5211e4d2d82, \
Reformatted Input Tensor 0 to Conv_0 + PWN(Clip_3)[Int8(1,3,512,768)] -> 395[Int8(1,32,256,384)]
Layer(CudaDepthwiseConvolution): Conv_4, Tactic: -3, 395[Half(1,32,256,384)] -> 400[Half(1,32,256,384)]
Layer(Constant): 3198 + (Unnamed Layer* 13) [Shuffle], Tactic: 0,  -> \
(Unnamed Layer* 13) [Shuffle]_output[Float(1,256)]
Layer(MatrixMultiply): MatMul_61, Tactic: 1, 582[Float(-8,4864)], \
(Unnamed Layer* 13) [Shuffle]_output[Float(1,256)] -> 584[Float(-8,256)]
Layer(CaskConvolution): /conv/Conv || /conv2/Conv, Tactic: 0x8d5c64a52fab02c9 (sm80_xmma), \
images (Half[1,3:4,640]) -> out (Half[1,8])
Layer(Myelin): {ForeignNode[a...b]}, Tactic: 0, x[Half(1,2)] -> y[Half(1,2)]"""


def layer(name: str, kind: str = "CaskConvolution", **fields: Any) -> dict[str, Any]:
    return {"Name": name, "LayerType": kind, "Inputs": [], "Outputs": [], **fields}


def tensors(*formats: str) -> list[dict[str, str]]:
    return [{"Name": "x", "Format/Datatype": text} for text in formats]


def inspected(*layers: Any) -> Any:
    return engine_layers.of_inspector(json.dumps({"Layers": layers, "Bindings": ["x"]}))


def test_verbose_log_of_every_release() -> None:
    log = build_log.BuildLog()
    log.verbose("Layer(CaskConvolution): of another engine, Tactic: 0, x[Float(1)] -> y[Float(1)]")
    log.verbose(LOGGED)
    layers = engine_layers.of_log(log.layers)
    assert [(layer.kind, layer.precision) for layer in layers] == [
        ("Reformat", "fp32"),
        ("CaskConvolution", "int8"),
        ("CudaDepthwiseConvolution", "fp16"),
        ("Constant", "fp32"),
        ("MatrixMultiply", "fp32"),
        ("CaskConvolution", "fp16"),
        ("Myelin", "unknown"),
    ]
    assert layers[1].origins == {"Conv_0", "PWN(Clip_3)"}
    assert layers[5].origins == {"/conv/Conv", "/conv2/Conv"}
    assert engine_layers.count_by_precision(layers) == {"int8": 1, "fp16": 2, "fp32": 1, "unknown": 1}


@pytest.mark.parametrize(
    ("fields", "precision"),
    [
        ({"Weights": {"Type": "Int8", "Count": 9}, "Inputs": tensors("N/A due to dynamic shapes")}, "int8"),
        ({"Inputs": tensors(INT8_FORMAT), "Outputs": tensors("Row major linear FP32")}, "int8"),
        ({"Inputs": tensors("Channel major FP16 format where channel % 8 == 0")}, "fp16"),
        ({"Inputs": tensors("Half")}, "fp16"),
        ({"Inputs": tensors("Row major linear FP32.")}, "fp32"),
        ({"Weights": {"Type": "Int8"}, "Inputs": tensors("Row major linear FP32")}, "fp32"),
        ({"Weights": {"Type": "Float"}, "Inputs": tensors("Half", "Float")}, "fp16"),
        ({"Outputs": tensors("Row major linear BFloat16 format")}, "bf16"),
        ({"Inputs": tensors("Unknown format")}, "unknown"),
        ({"Inputs": ["x"], "Weights": None}, "unknown"),
    ],
)
def test_inspector_in_all_its_words(fields: dict[str, Any], precision: str) -> None:
    [read] = inspected(layer("conv", **fields))
    assert read.precision == precision


def test_inspector_names_what_was_fused() -> None:
    [fused, compiled, region] = inspected(
        layer("conv + relu || conv2"),
        layer("__myl_ConvRelu_0", "conv", Metadata="[ONNX Layer: a/conv]\x1e[ONNX Layer: a/relu]"),
        layer("{ForeignNode[c...d]}", "Myelin", Inputs=tensors("Half")),
    )
    assert {"conv", "relu", "conv2"} <= fused.origins
    assert {"a/conv", "a/relu"} <= compiled.origins
    assert region.precision == "unknown"
    assert engine_layers.unseen([fused, compiled, region], ["conv", "a/conv", "c"]) == ["c"]


@pytest.mark.attack("the engine inspector gives names alone, or no JSON: the precisions are unknown")
@pytest.mark.parametrize(
    "text", ['{"Layers": ["conv + relu"], "Bindings": []}', "conv + relu\n", "", "[]", "[" * 100_000]
)
def test_inspector_without_details(text: str) -> None:
    assert engine_layers.of_inspector(text) == []


def test_layers_with_weights() -> None:
    layers = inspected(
        layer("conv"),
        layer("Reformatting CopyNode for conv", "Reformat", ParameterType="Reformat"),
        layer("pool", "TiledPooling"),
        layer("dense", "CaskGemmMatrixMultiply"),
        layer("attention", "MatrixMultiply"),
        layer("by its parameters", "gpu", ParameterType="Convolution"),
    )
    names = [layer.name for layer in engine_layers.multiplying(layers, {"attention"})]
    assert names == ["conv", "dense", "by its parameters"]


def test_log_keeps_errors_and_says_what_is_timed() -> None:
    steps: list[str] = []
    log = build_log.BuildLog(steps.append)
    for number in range(100):
        log.errors.append(f"error\n{number}")
    log.verbose("--------------- Timing Runner: Conv_0 (CaskConvolution)")
    log.verbose("Tactic: 0 Time: 0.01")
    assert log.last_errors() == "error 97; error 98; error 99"
    assert steps == ["timing Conv_0 (CaskConvolution)"]


@pytest.mark.parametrize(
    "line",
    [
        "2: [virtualMemoryBuffer.cpp::145] Error Code 2: OutOfMemory (no further information)",
        "[defaultAllocator.cpp::allocate::31] Error Code 1: Cuda Runtime (out of memory)",
        "Tactic Device request: 538MB Available: 166MB. Device memory is insufficient to use tactic.",
        "Requested amount of GPU memory (15485030400 bytes) could not be allocated.",
    ],
)
def test_log_that_says_that_memory_ran_out(line: str) -> None:
    log = build_log.BuildLog()
    log.errors.append("Could not find any implementation for node Conv_0.")
    assert not log.says_out_of_memory()
    log.warnings.append(line)
    assert log.says_out_of_memory()


@pytest.mark.attack("a layer's name is made to slow down whoever searches it: it is read in linear time")
@pytest.mark.parametrize(
    "name",
    ["a, Tactic: 0x0," * 20000, "[ONNX Layer: " * 20000, " + " * 20000, "(" * 300000],
    ids=["tactics", "layers", "fused", "brackets"],
)
def test_names_of_any_length_are_read_at_once(name: str) -> None:
    [logged] = engine_layers.of_log([f"Layer(Conv): {name}, Tactic: 0, x[Half(1)] -> y[Half(1)]"])
    assert (logged.name, logged.precision) == (name, "fp16")
    assert engine_layers.of_log([f"Layer(Conv): {name}", f"Layer(Conv: {name}"]) == []
    [layer_] = inspected(layer(name, Inputs=tensors("Half"), Metadata=f"{name}[ONNX Layer: conv]{name}"))
    assert layer_.precision == "fp16" and "conv" in layer_.origins
