"""Facts of .onnx files: operations, shapes, precision, and weights in other files."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgebench.errors import InputError
from edgebench.prepare.cache import Cache
from edgebench.prepare.model_file import inspect_model
from edgebench.prepare.user_model import read_source
from edgebench.prepare.workers import onnx_file as onnx_reader
from edgebench.prepare.workers.tflite_file import Malformed
from edgebench.records.model import InputChoice
from tests.models.crafted import onnx_file

node = helper.make_node
ZEROS = np.zeros


def read(path: Path) -> dict[str, Any]:
    """In this process, which is quicker; what crosses between processes is tested once."""
    return onnx_reader.read(path)


def test_a_file_is_read_in_a_process_of_its_own(tmp_path: Path):
    nodes = [node("Conv", ["x", "w", "b"], ["c"], group=2), node("Relu", ["c"], ["y"])]
    constants = {"w": ZEROS((6, 2, 3, 3), "f4"), "b": ZEROS(6, "f4")}
    path = onnx_file(tmp_path / "m.onnx", nodes, {"x": ["N", 4, 8, 8]}, {"y": ["N", 6, 6, 6]}, constants)
    facts = inspect_model(path)
    assert facts.format == "onnx"
    assert facts.inputs[0].shape == (None, 4, 8, 8)
    assert facts.inputs[0].dtype == "float32"
    assert facts.outputs[0].shape == (None, 6, 6, 6)
    assert facts.operations == {"Conv": 1, "Relu": 1}
    assert facts.macs == 6 * 6 * 6 * 2 * 9
    assert facts.parameters == 108 + 6
    assert facts.precision == "fp32"
    assert facts.size_bytes == path.stat().st_size


def test_matrix_products_and_transposed_convolutions_are_counted(tmp_path: Path):
    nodes = [
        node("ConvTranspose", ["x", "w"], ["t"], strides=[2, 2]),
        node("Flatten", ["t"], ["f"]),
        node("Gemm", ["f", "g"], ["h"], transB=1),
        node("MatMul", ["h", "m"], ["y"]),
    ]
    constants = {"w": ZEROS((3, 2, 2, 2), "f4"), "g": ZEROS((10, 32), "f4"), "m": ZEROS((10, 7), "f4")}
    told = read(onnx_file(tmp_path / "m.onnx", nodes, {"x": [1, 3, 2, 2]}, {"y": [1, 7]}, constants))
    assert told["macs"] == 12 * 2 * 4 + 10 * 32 + 7 * 10
    assert told["macs_counted"] == {"ConvTranspose": 1, "Gemm": 1, "MatMul": 1}
    assert told["parameters"] == 24 + 320 + 70


def test_the_numbers_of_large_constants_are_not_needed_for_shapes(tmp_path: Path):
    nodes = [node("Reshape", ["x", "to"], ["r"]), node("MatMul", ["r", "m"], ["y"])]
    constants = {"to": np.array([-1, 64], "i8"), "m": ZEROS((64, 100), "f4")}
    told = read(onnx_file(tmp_path / "m.onnx", nodes, {"x": [1, 2, 64]}, {"y": ["a", "b"]}, constants))
    assert told["macs"] == 2 * 100 * 64
    assert told["parameters"] == 6400


def quantised(scheme: str) -> tuple[list[Any], dict[str, Any]]:
    scales = {"s": np.float32(0.1), "z": np.int8(0)}
    weights = {"q": ZEROS((4, 3, 1, 1), "i1")}
    if scheme == "QDQ":
        nodes = [
            node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
            node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
            node("DequantizeLinear", ["q", "s", "z"], ["w"]),
            node("Conv", ["xd", "w"], ["y"]),
        ]
    elif scheme == "weights only":
        nodes = [node("DequantizeLinear", ["q", "s", "z"], ["w"]), node("Conv", ["x", "w"], ["y"])]
    elif scheme == "QOperator":
        nodes = [
            node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
            node("QLinearAdd", ["xq", "s", "z", "xq", "s", "z", "s", "z"], ["xa"], domain="com.microsoft"),
            node("QLinearConv", ["xa", "s", "z", "q", "s", "z", "s", "z"], ["yq"]),
            node("DequantizeLinear", ["yq", "s", "z"], ["y"]),
        ]
    else:
        nodes = [node("Cast", ["h"], ["w"], to=TensorProto.FLOAT), node("Conv", ["x", "w"], ["y"])]
        weights = {"h": ZEROS((4, 3, 1, 1), "f2")}
        scales = {}
    return nodes, weights | scales


@pytest.mark.parametrize(
    ("scheme", "precision"),
    [("QDQ", "int8"), ("QOperator", "int8"), ("weights only", "mixed"), ("half", "fp16")],
)
def test_precision_and_parameters_whatever_the_scheme(tmp_path: Path, scheme: str, precision: str):
    nodes, constants = quantised(scheme)
    told = read(
        onnx_file(tmp_path / "m.onnx", nodes, {"x": ["N", 3, 5, 5]}, {"y": ["N", 4, 5, 5]}, constants)
    )
    assert told["precision"] == precision
    assert told["macs"] == 4 * 25 * 3
    assert told["parameters"] == 12  # no scale or zero point is one


@pytest.mark.parametrize(
    ("operation", "dtype", "zero_point", "found"),
    [
        ("DequantizeLinear", TensorProto.INT8, np.int8(-1), (0.1, -1)),
        ("QLinearConv", TensorProto.UINT8, np.uint8(127), (0.1, 127)),
        ("QuantizeLinear", TensorProto.FLOAT, np.int8(-1), (0.1, 127)),  # as to uint8
        ("Cast", TensorProto.INT8, np.int8(0), (None, None)),
    ],
)
def test_an_input_has_the_scale_of_its_first_quantisation(
    tmp_path: Path, operation: str, dtype: int, zero_point: Any, found: tuple[Any, Any]
):
    weights = ["q", "s", "z", "s", "z"] if operation == "QLinearConv" else []
    taken = ["t"] if operation == "Cast" else ["t", "s", "z", *weights]
    attributes: dict[str, Any] = {"to": TensorProto.FLOAT} if operation == "Cast" else {}
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        node(operation, taken, ["y"], **attributes),
    ]
    constants = {"s": np.float32(0.1), "z": zero_point, "q": ZEROS((4, 3, 1, 1), "i1")}
    path = onnx_file(tmp_path / "m.onnx", nodes, {"x": [1, 8, 8, 3]}, {"y": ["?"]}, constants)
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.elem_type = dtype
    onnx.save(model, path)
    (tensor,) = read(path)["inputs"]
    assert (tensor["scale"] and round(tensor["scale"], 6), tensor["zero_point"]) == found


@pytest.mark.parametrize(
    ("nodes", "shape", "why"),
    [
        ([node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2)], [1, 1, 3], "LSTM"),
        ([node("Magic", ["x"], ["y"], domain="some.vendor")], [1, 3], "some.vendor:Magic"),
        ([node("Conv", ["x", "k"], ["y"])], [1, 3, "h", "w"], "no fixed shape"),
    ],
)
def test_work_that_is_not_told_leaves_the_macs_out(
    tmp_path: Path, nodes: list[Any], shape: list[Any], why: str
):
    constants = {"w": ZEROS((1, 8, 3), "f4"), "r": ZEROS((1, 8, 2), "f4"), "k": ZEROS((2, 3, 3, 3), "f4")}
    told = read(onnx_file(tmp_path / "m.onnx", nodes, {"x": shape}, {"y": ["?"]}, constants))
    assert told["macs"] is None
    assert why in told["macs_reason"]


def test_graphs_inside_are_listed_and_hide_the_macs(tmp_path: Path):
    inner = helper.make_graph(
        [node("Relu", ["x"], ["z"])], "then", [], [helper.make_tensor_value_info("z", 1, [1, 3])]
    )
    nodes = [node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)]
    constants = {"c": np.array(True)}
    told = read(onnx_file(tmp_path / "m.onnx", nodes, {"x": [1, 3]}, {"y": [1, 3]}, constants))
    assert told["operations"] == {"Relu": 2, "If": 1}
    assert told["macs"] is None


def test_initialisers_among_the_inputs_are_no_inputs(tmp_path: Path):
    path = onnx_file(
        tmp_path / "old.onnx",
        [node("MatMul", ["x", "w"], ["y"])],
        {"x": [1, 4], "w": [4, 2]},
        {"y": [1, 2]},
        {"w": ZEROS((4, 2), "f4")},
    )
    assert [one["name"] for one in read(path)["inputs"]] == ["x"]


def spread(folder: Path, **changes: str) -> Path:
    """A model whose two constants are in `weights.bin`; `changes` are to what the file says of the first."""
    constants = {"w": np.arange(64 * 64, dtype=np.float32).reshape(64, 64), "s": np.array([64, 1])}
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Reshape", ["m", "s"], ["y"])]
    model = onnx.load(onnx_file(folder / "m.onnx", nodes, {"x": [1, 64]}, {"y": [64, 1]}, constants))
    path = folder / "spread.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    if changes:
        model = onnx.load(path, load_external_data=False)
        entries = {entry.key: entry.value for entry in model.graph.initializer[0].external_data} | changes
        del model.graph.initializer[0].external_data[:]
        for key, value in entries.items():
            model.graph.initializer[0].external_data.add(key=key, value=value)
        path.write_bytes(model.SerializeToString())
    return path


def test_weights_in_other_files_are_the_models(tmp_path: Path):
    facts = inspect_model(spread(tmp_path))
    inside = inspect_model(tmp_path / "m.onnx")
    assert facts.external_files == ("weights.bin",)
    assert (facts.macs, facts.parameters, facts.precision) == (inside.macs, inside.parameters, "fp32")
    assert facts.outputs == inside.outputs
    assert facts.size_bytes == sum(
        (tmp_path / name).stat().st_size for name in ("spread.onnx", "weights.bin")
    )


def test_weights_in_other_files_belong_to_the_identity(tmp_path: Path):
    path, cache = spread(tmp_path), Cache(tmp_path / "cache")
    identities = {str(read_source(path, InputChoice(), cache).identity())}
    content = bytearray((tmp_path / "weights.bin").read_bytes())
    content[5] ^= 1
    (tmp_path / "weights.bin").write_bytes(content)
    source = read_source(path, InputChoice(), cache)
    identities.add(str(source.identity()))
    assert len(identities) == 2
    assert inspect_model(path).sha256 == source.sha256
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(InputError) as caught:
        read_source(path, InputChoice(), cache)
    assert "weights.bin" in caught.value.why


@pytest.mark.attack("an .onnx names a file outside of its folder for its weights: it is refused, unread")
@pytest.mark.parametrize("name", ["../outside.bin", "sub/../../outside.bin", "{absolute}", "link.bin"])
def test_weights_outside_of_the_folder_are_refused(tmp_path: Path, name: str):
    folder, outside = tmp_path / "model", tmp_path / "outside.bin"
    (folder / "sub").mkdir(parents=True)
    outside.write_bytes(bytes(1 << 16))
    (folder / "link.bin").symlink_to(outside)
    path = spread(folder, location=name.format(absolute=outside))
    with pytest.raises(InputError) as caught:
        inspect_model(path)
    assert "outside of its folder" in caught.value.why


@pytest.mark.parametrize(
    "changes",
    [
        {"offset": "99999"},
        {"offset": "-8"},
        {"length": "-1"},
        {"length": "8"},
        {"offset": "x"},
        {"location": "a"},
    ],
    ids=str,
)
def test_weights_that_are_not_where_the_file_says_are_refused(tmp_path: Path, changes: dict[str, str]):
    with pytest.raises(Malformed):
        read(spread(tmp_path, **changes))


def test_weights_of_inner_graphs_are_found_outside_too(tmp_path: Path):
    value = helper.make_tensor("v", TensorProto.FLOAT, [1, 3], bytes(12), raw=True)
    output = helper.make_tensor_value_info("z", 1, [1, 3])
    inner = helper.make_graph([node("Constant", [], ["z"], value=value)], "then", [], [output])
    nodes = [node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)]
    path = onnx_file(tmp_path / "m.onnx", nodes, {"x": [1]}, {"y": [1, 3]}, {"c": np.array(True)})
    model = onnx.load(path)
    inside = model.graph.node[0].attribute[0].g.node[0].attribute[0].t
    inside.data_location = TensorProto.EXTERNAL
    inside.external_data.add(key="location", value="../v.bin")
    path.write_bytes(model.SerializeToString())
    with pytest.raises(Malformed, match="outside of its folder"):
        read(path)


def test_a_graph_that_contradicts_itself_is_refused(tmp_path: Path):
    path = onnx_file(
        tmp_path / "m.onnx", [node("MatMul", ["x", "w"], ["y"])], {"x": [1, 5]}, {"y": [1, 2]},
        {"w": ZEROS((4, 2), "f4")},
    )  # fmt: skip
    told = read(path)  # shape inference says nothing of it and the product cannot be counted
    assert told["macs"] is None or told["macs"] == 10
    with pytest.raises(Malformed, match="Gemm"):
        read(onnx_file(tmp_path / "n.onnx", [node("Gemm", ["x"], ["y"])], {"x": [1, 5]}, {"y": [1, 2]}))


def test_damage_anywhere_is_an_error_or_harmless(tmp_path: Path):
    nodes, constants = quantised("QDQ")
    path = onnx_file(tmp_path / "m.onnx", nodes, {"x": ["N", 3, 5, 5]}, {"y": ["N", 4, 5, 5]}, constants)
    whole, draw, refused = path.read_bytes(), random.Random(7), 0
    for _ in range(200):
        content = bytearray(whole)
        for _ in range(draw.choice((1, 3, 10))):
            content[draw.randrange(len(content))] = draw.choice((0, 1, 127, 128, 255))
        path.write_bytes(content)
        try:
            read(path)
        except Malformed as error:
            assert str(error)
            refused += 1
    assert refused > 10
