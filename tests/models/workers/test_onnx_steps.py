"""Changes of graphs, integers and agreement: pure steps on small graphs, run by ONNX Runtime."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgebench.errors import InputError, UnsupportedError
from edgebench.prepare.onnx import OnnxForm
from edgebench.prepare.workers import checking as agreement
from edgebench.prepare.workers import onnx_file as onnx_facts
from edgebench.prepare.workers import onnx_graph as graph
from edgebench.prepare.workers import onnx_running as running
from edgebench.prepare.workers.checking import picture_feeds
from edgebench.prepare.workers.onnx_graph import make_ready, read
from edgebench.prepare.workers.onnx_steps import quantise
from tests.models.crafted import onnx_file

SIDE = 8
SPEC = {
    "dtype": "float32", "layout": "NCHW", "height": SIDE, "width": SIDE, "divisor": 127.5, "offset": -1.0,
    "divisors": None, "offsets": None, "scale": None, "zero_point": None,
}  # fmt: skip


def tower(path: Path, batch: int | str = 1, layout: str = "NCHW") -> Path:
    """A convolution, its activation, pooling, a dense layer and a softmax: [batch, 3]."""
    rng = np.random.default_rng(4)
    first = helper.make_node("Transpose", ["x"], ["i"], perm=[0, 3, 1, 2])
    nodes = [
        *([first] if layout == "NHWC" else []),
        helper.make_node("Conv", ["i" if layout == "NHWC" else "x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "v", "d"], ["l"]),
        helper.make_node("Softmax", ["l"], ["y:0"], axis=1),
    ]
    constants = {
        "w": rng.normal(0, 0.4, (6, 3, 3, 3)).astype(np.float32),
        "b": rng.normal(0, 0.1, 6).astype(np.float32),
        "v": rng.normal(0, 1, (6, 3)).astype(np.float32),
        "d": np.zeros(3, np.float32),
    }
    shape = [batch, 3, SIDE, SIDE] if layout == "NCHW" else [batch, SIDE, SIDE, 3]
    return onnx_file(path, nodes, {"x": shape}, {"y:0": [batch, 3]}, constants)


@pytest.fixture(scope="module")
def patches() -> Any:
    rng = np.random.default_rng(9)
    made = rng.integers(0, 256, (12, SIDE, SIDE, 3), np.uint8) // rng.integers(1, 9, (12, 1, 1, 3), np.uint8)
    made[0], made[1] = 0, 255  # calibration has to see black and white
    return made


def test_a_static_file_keeps_its_bytes(tmp_path: Path):
    source, output = tower(tmp_path / "a.onnx"), tmp_path / "b.onnx"
    assert not make_ready(read(source), source, output, [[1, 3, SIDE, SIDE]], ("NCHW", "NCHW"))
    assert output.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_an_open_batch_is_fixed_and_the_layout_changed_without_changing_a_score(
    tmp_path: Path, patches: Any, layout: str
):
    source, output = tower(tmp_path / "a.onnx", "n", layout), tmp_path / "b.onnx"
    other = {"NCHW": "NHWC", "NHWC": "NCHW"}[layout]
    shape = [2, 3, SIDE, SIDE] if layout == "NCHW" else [2, SIDE, SIDE, 3]
    assert make_ready(read(source), source, output, [shape], (layout, other))
    (taken,) = running.open_session(output).get_inputs()
    assert taken.shape == ([2, SIDE, SIDE, 3] if other == "NHWC" else [2, 3, SIDE, SIDE])
    alone = tower(tmp_path / "c.onnx", 1, layout)
    found = running.score(output, patches[:5], {**SPEC, "layout": other})
    np.testing.assert_allclose(
        found, running.score(alone, patches[:5], {**SPEC, "layout": layout}), atol=1e-6
    )


def test_a_batch_of_minus_1_is_open(tmp_path: Path, patches: Any):
    model, source, output = onnx.load(tower(tmp_path / "a.onnx")), tmp_path / "b.onnx", tmp_path / "c.onnx"
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_value = -1
    onnx.save(model, source)
    assert onnx_facts.read(source)["inputs"][0]["shape"] == (None, 3, SIDE, SIDE)
    assert make_ready(read(source), source, output, [[2, 3, SIDE, SIDE]], None)
    assert running.open_session(output).get_inputs()[0].shape == [2, 3, SIDE, SIDE]
    alone = running.score(tmp_path / "a.onnx", patches[:5], SPEC)
    np.testing.assert_allclose(running.score(output, patches[:5], SPEC), alone, atol=1e-6)


@pytest.mark.parametrize("as_inputs", [0, 2], ids=["none is an input", "some are"])
def test_an_initialiser_of_ir_3_that_is_no_input_is_a_constant(tmp_path: Path, patches: Any, as_inputs: int):
    model, source, output = onnx.load(tower(tmp_path / "a.onnx")), tmp_path / "b.onnx", tmp_path / "c.onnx"
    model.ir_version = 3
    for tensor in model.graph.initializer[:as_inputs]:
        value = helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        model.graph.input.append(value)
    onnx.save(model, source)
    facts = onnx_facts.read(source)
    assert [tensor["name"] for tensor in facts["inputs"]] == ["x"]
    assert facts["macs"] == onnx_facts.read(tmp_path / "a.onnx")["macs"] > 0
    assert not make_ready(read(source), source, output, [[1, 3, SIDE, SIDE]], None)
    ready = onnx.load(output)
    onnx.checker.check_model(ready)
    assert [tensor.name for tensor in ready.graph.input] == ["x"]
    expected = running.score(tmp_path / "a.onnx", patches[:5], SPEC)
    np.testing.assert_array_equal(running.score(output, patches[:5], SPEC), expected)


def test_a_shape_that_the_file_fixes_is_refused(tmp_path: Path):
    model = read(tower(tmp_path / "a.onnx"))
    with pytest.raises(UnsupportedError, match=r"\[1, 3, 8, 8\], not \[4, 3, 8, 8\]"):
        graph.make_static(model, [[4, 3, SIDE, SIDE]])
    with pytest.raises(UnsupportedError, match="1 inputs, not 2"):
        graph.make_static(model, [[1, 3, SIDE, SIDE]] * 2)


@pytest.mark.parametrize("content", [b"", b"no model at all", b"\x08\x07\x12" + b"\xff" * 40])
def test_what_is_no_onnx_is_said_to_be_none(tmp_path: Path, content: bytes):
    (tmp_path / "a.onnx").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.onnx"):
        read(tmp_path / "a.onnx")


def test_weights_beside_the_file_are_taken_in_or_missed(tmp_path: Path):
    model, source = onnx.load(tower(tmp_path / "a.onnx")), tmp_path / "b.onnx"
    onnx.save(model, source, save_as_external_data=True, location="w.bin", size_threshold=0)
    output = tmp_path / "sub" / "c.onnx"
    output.parent.mkdir()
    assert not make_ready(read(source), source, output, [[1, 3, SIDE, SIDE]], None)
    running.open_session(output)  # alone, in another folder
    (tmp_path / "w.bin").unlink()
    with pytest.raises(InputError) as caught:
        read(source)
    assert "same folder" in caught.value.fix


def test_an_operation_that_the_runtime_does_not_have_is_named(tmp_path: Path):
    node = helper.make_node("Sparkle", ["x"], ["y"], domain="com.example")
    path = onnx_file(tmp_path / "a.onnx", [node], {"x": [1, 3]}, {"y": [1, 3]})
    with pytest.raises(InputError) as caught:
        running.open_session(path)
    assert "Sparkle" in caught.value.why
    assert "\n" not in caught.value.why


def test_names_constants_and_order(tmp_path: Path):
    model = onnx.load(tower(tmp_path / "a.onnx"))
    graph.rename_output(model, "scores")
    graph.name_all(model)
    model.opset_import.append(helper.make_opsetid("com.example", 3))
    graph.keep_used_domains(model)
    assert model.graph.output[0].name == model.graph.node[-1].output[0] == "scores"
    assert len({node.name for node in model.graph.node}) == len(model.graph.node)
    assert [one.domain for one in model.opset_import] == [""]
    assert graph.names_to_exclude(model, ["Softmax", "Gemm_4"]) == ["Gemm_4", "Softmax_5"]
    with pytest.raises(InputError, match="'Sparkle'") as caught:
        graph.names_to_exclude(model, ["Sparkle"])
    assert "Conv" in caught.value.fix
    for name in ("late", "early"):
        model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]))
    graph.give_constants(model, {"late": np.ones(1, np.float32)})
    graph.order_inputs(model, ["early", "x"])
    assert [one.name for one in graph.inputs_of(model)] == ["early", "x"]
    held = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    assert held["late"] == 1.0
    with pytest.raises(UnsupportedError, match="early, x"):
        graph.order_inputs(model, ["x"])


def quantised(source: Path, output: Path, patches: Any, spec: Any, form: Any) -> dict[str, Any]:
    (tensor,) = running.open_session(source).get_inputs()
    return quantise(source, output, picture_feeds(patches, tensor.shape, spec, cycle=True), form)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize(("int8", "activations"), [("qdq", "int8"), ("qoperator", "uint8")])
def test_int8_takes_the_pixels_themselves(
    tmp_path: Path, patches: Any, layout: str, int8: Any, activations: Any
):
    source, output = tower(tmp_path / "a.onnx", 1, layout), tmp_path / "b.onnx"
    spec, form = {**SPEC, "layout": layout}, OnnxForm(int8=int8, activations=activations)
    taken = quantised(source, output, patches, spec, form.quantisation())
    zero_point = {"int8": -1, "uint8": 127}[activations]
    assert taken == {"dtype": activations, "scale": pytest.approx(1 / 127.5), "zero_point": zero_point}
    model = onnx.load(output)
    kinds = [node.op_type for node in model.graph.node]
    assert ("QLinearConv" in kinds) == (int8 == "qoperator")
    assert (kinds.count("QuantizeLinear") > 0) == (int8 == "qdq")
    wanted = running.score(source, patches, spec)
    check = agreement.compare("int8", wanted, running.score(output, patches, {**spec, **taken}))
    assert check["max_abs_diff"] < 0.05
    assert np.ptp(wanted, axis=0).max() > 0.2  # the scores do depend on the pixels


def test_what_is_left_out_of_int8_stays_float(tmp_path: Path, patches: Any):
    source, output = tower(tmp_path / "a.onnx"), tmp_path / "b.onnx"
    exclude = ("GlobalAveragePool", "Gemm", "Softmax")
    form = OnnxForm(int8="qoperator", exclude=exclude, integer_input=False)
    assert quantised(source, output, patches, SPEC, form.quantisation()) == {}
    kinds = [node.op_type for node in onnx.load(output).graph.node]
    assert kinds[:3] == ["QuantizeLinear", "QLinearConv", "DequantizeLinear"]
    assert kinds[3:] == ["GlobalAveragePool", "Flatten", "Gemm", "Softmax"]
    found = running.score(output, patches, SPEC)
    assert agreement.compare("int8", running.score(source, patches, SPEC), found)["max_abs_diff"] < 0.05


def test_explicit_pairs_are_those_that_tensorrt_takes(tmp_path: Path, patches: Any):
    source, output = tower(tmp_path / "a.onnx"), tmp_path / "b.onnx"
    form = OnnxForm(integer_input=False, explicit=True)
    assert quantised(source, output, patches, SPEC, form.quantisation()) == {}
    model = onnx.load(output)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    by_output = {name: node for node in model.graph.node for name in node.output}
    pairs = [node for node in model.graph.node if node.op_type in ("QuantizeLinear", "DequantizeLinear")]
    for node in pairs:
        assert not constants[node.input[2]].any()  # symmetric
        assert constants[node.input[2]].dtype == np.int8
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm"):
            data, weights = (by_output[name] for name in node.input[:2])
            assert data.op_type == weights.op_type == "DequantizeLinear"
            assert constants[by_output[weights.input[0]].input[0]].dtype == np.float32
            assert constants[node.input[2]].dtype == np.float32
    assert len(pairs) == 8  # two before each: none lies between a convolution and its activation
    found = running.score(output, patches, SPEC)
    assert agreement.compare("int8", running.score(source, patches, SPEC), found)["max_abs_diff"] < 0.05


def test_precision_is_what_calibration_makes_of_another_range(tmp_path: Path, patches: Any):
    spec = {**SPEC, "divisor": 255.0, "offset": 0.0}
    form = OnnxForm().quantisation()
    taken = quantised(tower(tmp_path / "a.onnx"), tmp_path / "b.onnx", patches, spec, form)
    assert (taken["dtype"], taken["zero_point"]) == ("int8", -128)
    assert taken["scale"] == pytest.approx(1 / 255)


def test_a_step_that_agrees_says_by_how_much():
    reference = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]], np.float32)
    check = agreement.compare("fp16", reference, reference + np.float32(0.01))
    assert check == {
        "step": "fp16", "top1_equal": 2, "n": 2,
        "max_abs_diff": pytest.approx(0.01, rel=1e-4), "tolerance": pytest.approx(0.045),
    }  # fmt: skip
    assert agreement.require(check, "tower", "mend it") is check


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([[0.1, 0.9], [0.2, 0.8]], "largest difference 0.8 .* same class on 1 of 2"),
        ([[float("nan"), 0.1], [0.2, 0.8]], r"largest difference 1e\+09"),
    ],
)
def test_a_step_that_computes_something_else_says_its_figures(found: Any, words: str):
    reference = np.array([[0.9, 0.1], [0.2, 0.8]], np.float32)
    for step, kind in (("export", InputError), ("int8", UnsupportedError)):
        check = agreement.compare(step, reference, np.array(found, np.float32))
        with pytest.raises(kind, match=f"tower: the step {step}") as caught:
            agreement.require(check, "tower", "mend it")
    assert re.search(words, caught.value.why)


def test_scores_of_another_shape_do_not_agree():
    with pytest.raises(InputError, match=r"\[2, 3\].*\[2, 2\]"):
        agreement.compare("export", np.zeros((2, 2)), np.zeros((2, 3)))


def test_names_by_order_do_not_depend_on_the_names_before(tmp_path: Path, patches: Any):
    source, output = tower(tmp_path / "a.onnx"), tmp_path / "b.onnx"
    one, other = onnx.load(source), onnx.load(source)

    def later(name: str) -> str:  # as a converter names that has counted on
        return name if name in ("x", "y:0") else f"{name}__17"

    for node in other.graph.node:
        node.name = later(node.name)
        node.input[:] = [later(name) for name in node.input]
        node.output[:] = [later(name) for name in node.output]
    for tensor in other.graph.initializer:
        tensor.name = later(tensor.name)
    other.graph.initializer.reverse()
    for model in (one, other):
        graph.name_by_order(model)
    assert one.SerializeToString() == other.SerializeToString()
    onnx.save(one, output)
    np.testing.assert_array_equal(running.score(source, patches, SPEC), running.score(output, patches, SPEC))
