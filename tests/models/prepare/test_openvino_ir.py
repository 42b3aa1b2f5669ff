"""An OpenVINO IR as a model: identity, facts, scores, and what is refused."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from edgebench.errors import EdgeBenchError, InputError, UnsupportedError
from edgebench.prepare.cache import Cache, sha256_file
from edgebench.prepare.model_file import inspect_model
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.prepare.user_model import input_choice, read_source
from edgebench.records.model import Artifact, InputChoice
from tests.models.crafted import onnx_file
from tests.models.crafted_ir import ir_file, picture, two_inputs
from tests.models.prepare.test_refused_files import outcome

ir: Any = importlib.import_module("edgebench.backends.openvino.ir")
backend: Any = importlib.import_module("edgebench.backends.openvino.backend")
IR = ir.IrChain()
ONNX = OnnxChain(lambda _: OnnxForm())


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def prepared(path: Path, chain: Any, precision: str, cache: Cache, batch: int = 1) -> Artifact:
    artifact = outcome(path, chain, precision, cache, batch)
    assert isinstance(artifact, Artifact), artifact
    return artifact


@pytest.mark.parametrize(("half", "version"), [(False, 11), (True, 11), (True, 10)])
def test_an_ir_gives_the_scores_of_the_onnx_that_it_was_made_from(
    tmp_path: Path, cache: Cache, half: bool, version: int
):
    onnx = picture(tmp_path / "m.onnx")
    path = ir_file(onnx, tmp_path / "ir" / "m.xml", half=half, version=version)
    precision = "fp16" if half else "fp32"
    facts = inspect_model(path)
    assert (facts.format, facts.precision) == ("openvino", precision)
    assert [(tensor.name, tensor.dtype, tensor.shape) for tensor in facts.inputs] == [
        ("camera", "float32", (1, 3, 8, 8))
    ]
    assert facts.size_bytes == path.stat().st_size + path.with_suffix(".bin").stat().st_size
    artifact = prepared(path, IR, precision, cache)
    assert artifact.input.layout == "NCHW"
    reference = prepared(onnx, ONNX, "fp32", cache).golden.scores
    np.testing.assert_allclose(artifact.golden.scores, reference, atol=2e-3 if half else 1e-5)
    assert "not of this one" in artifact.golden.reference
    assert sha256_file(artifact.path) == sha256_file(path)
    assert artifact.companions["weights.bin"].sha256 == sha256_file(path.with_suffix(".bin"))


def test_integers_are_int8_and_computed_between_the_roundings(tmp_path: Path, cache: Cache):
    pair = ["scale", "zero"]
    nodes = [
        helper.make_node("QuantizeLinear", ["camera", *pair], ["q"]),
        helper.make_node("DequantizeLinear", ["q", *pair], ["x"]),
        helper.make_node("DequantizeLinear", ["weights", *pair], ["w"]),
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["p"]),
        helper.make_node("Flatten", ["p"], ["scores"]),
    ]
    weights = np.array([[9, -4, 0], [2, 7, -7], [-6, 5, 8]], np.int8).reshape(3, 3, 1, 1)
    constants = {"scale": np.float32(1 / 127), "zero": np.int8(0), "weights": weights * 10}
    onnx = onnx_file(tmp_path / "q.onnx", nodes, {"camera": (1, 3, 8, 8)}, {"scores": (1, 3)}, constants)
    artifact = prepared(ir_file(onnx, tmp_path / "q.xml"), IR, "int8", cache)
    np.testing.assert_allclose(
        artifact.golden.scores, prepared(onnx, ONNX, "int8", cache).golden.scores, atol=0.02
    )
    assert "between the roundings" in artifact.golden.reference


def test_both_files_are_the_identity_and_a_folder_stands_for_them(tmp_path: Path, cache: Cache):
    path = ir_file(picture(tmp_path / "m.onnx"), tmp_path / "m_openvino_model" / "m.xml")
    (path.parent / "metadata.yaml").write_text("names: {}\n")
    first = read_source(path.parent, InputChoice(), cache)
    assert first == read_source(path, InputChoice(), cache)
    assert first.kind == "openvino" and first.name.startswith("m-")
    weights = path.with_suffix(".bin")
    weights.write_bytes(weights.read_bytes()[::-1])
    assert read_source(path, InputChoice(), cache).sha256 != first.sha256


def test_an_open_batch_is_told_to_the_runtime(tmp_path: Path, cache: Cache):
    path = ir_file(picture(tmp_path / "m.onnx", batch="n"), tmp_path / "m.xml")
    artifact = prepared(path, IR, "fp32", cache, batch=2)
    assert (artifact.batch, artifact.input_shapes) == (2, ((2, 3, 8, 8),))


def test_an_open_shape_beyond_the_batch_has_to_be_given(tmp_path: Path, cache: Cache):
    path = ir_file(picture(tmp_path / "m.onnx", side="s"), tmp_path / "m.xml")
    with pytest.raises(InputError, match=r"camera \[1, 3, \?, \?\] has an open shape") as caught:
        read_source(path, InputChoice(), cache)
    assert "--input-shape camera=" in caught.value.fix
    model = read_source(path, input_choice(shapes=["1,3,8,8"]), cache).model
    assert model is not None and model.picture is not None and model.picture.height == 8


def test_mean_and_scale_that_a_converter_put_inside_leave_pixels_as_they_are(tmp_path: Path, cache: Cache):
    path = ir_file(picture(tmp_path / "m.onnx"), tmp_path / "m.xml")
    told = '<rt_info><conversion_parameters><mean_values value="camera[127.5]"/></conversion_parameters>'
    path.write_text(path.read_text().replace("<rt_info>", told))
    model = read_source(path, InputChoice(), cache).model
    assert model is not None and model.picture is not None
    assert (model.picture.divisors, model.picture.offsets) == ((1.0,), (0.0,))


DOCTYPE = '<!DOCTYPE net [<!ENTITY a "b">]>'


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda xml: xml.write_text(xml.read_text().replace("<net", f"{DOCTYPE}<net", 1)), "document type"),
        (lambda xml: xml.write_text(xml.read_text()[:-40]), "XML is damaged"),
        (lambda xml: xml.write_text("<net"), "XML is damaged"),
        (lambda xml: xml.write_text("<svg/>"), "begins with 'svg None'"),
        (lambda xml: xml.write_text(xml.read_text().replace('version="11"', 'version="7"', 1)), "net 7"),
        (lambda xml: xml.with_suffix(".bin").unlink(), "m.bin"),
        (lambda xml: xml.with_suffix(".bin").write_bytes(b"1234"), "m.bin has 4: that is cut off"),
        (lambda xml: xml.write_text(xml.read_text().replace("MatMul", "Magic")), "OpenVINO cannot read it"),
    ],
    ids=["entities", "cut off", "no XML", "another XML", "IR 7", "no .bin", "short .bin", "unknown layer"],
)
@pytest.mark.attack("an OpenVINO IR is damaged or declares entities: it is refused before a session")
def test_a_damaged_ir_is_refused_with_the_reason(tmp_path: Path, cache: Cache, damage: Any, words: str):
    path = ir_file(picture(tmp_path / "m.onnx"), tmp_path / "m.xml")
    damage(path)
    with pytest.raises(InputError) as caught:
        read_source(path, InputChoice(), cache)
    assert words in caught.value.why


def test_two_irs_in_a_folder_are_not_chosen_from(tmp_path: Path, cache: Cache):
    for name in ("a", "b"):
        (tmp_path / f"{name}.xml").write_text("<net/>")
        (tmp_path / f"{name}.bin").write_bytes(b"")
    with pytest.raises(InputError) as caught:
        read_source(tmp_path, InputChoice(), cache)
    assert "one .xml alone" in caught.value.why


def test_a_precision_that_the_file_has_not_is_refused(tmp_path: Path, cache: Cache):
    path = ir_file(two_inputs(tmp_path / "m.onnx"), tmp_path / "m.xml")
    refused = [outcome(path, IR, "int8", cache), outcome(path, backend.StickIrChain(), "fp32", cache)]
    assert all(isinstance(error, UnsupportedError) for error in refused)
    fixes = [error.fix for error in refused if isinstance(error, EdgeBenchError)]
    assert "--precision" in fixes[0] and "IR of FP16" in fixes[1]
