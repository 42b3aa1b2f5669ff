import importlib.util
import random
from pathlib import Path

import psutil
import pytest

from edgebench.errors import InputError, UnavailableError
from edgebench.prepare import model_file as module
from edgebench.prepare.cache import sha256_file
from edgebench.prepare.model_file import as_record, inspect_model
from edgebench.prepare.workers import tflite_file
from edgebench.prepare.workers.tflite_file import Malformed
from edgebench.records.model import Artifact, ModelFacts, TensorFacts
from tests.models.crafted import Codes, Lite, Types, tflite

INT8, FLOAT16 = Types.INT8, Types.FLOAT16
FOLDED = 211_621  # parameters of MobileNet v1 0.25, five classes, with its normalisation folded in


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_a_tflite_of_ours_is_what_was_published(prepared_quarter: dict[str, Artifact], precision: str):
    artifact = prepared_quarter[precision]
    facts = inspect_model(artifact.path)
    assert facts.format == "tflite"
    assert facts.precision == precision
    assert facts.macs == 40_775_552  # 41 M are published
    assert facts.parameters == FOLDED
    assert facts.size_bytes == artifact.size_bytes
    assert facts.sha256 == artifact.sha256
    assert facts.operations["CONV_2D"] == 14
    assert facts.macs_counted == {"CONV_2D": 14, "DEPTHWISE_CONV_2D": 13, "FULLY_CONNECTED": 1}
    (taken,), (given,) = facts.inputs, facts.outputs
    assert taken.shape == (1, 224, 224, 3)
    assert given.shape == (1, 5)
    assert taken.layout == "NHWC"
    assert given.layout is None
    if precision == "int8":
        assert (taken.dtype, taken.zero_point) == ("int8", -1)
        assert taken.scale == pytest.approx(1 / 127.5)
    else:
        assert (taken.dtype, taken.scale, taken.zero_point) == ("float32", None, None)


def test_facts_as_a_record_are_plain_data(prepared_quarter: dict[str, Artifact]):
    record = as_record(inspect_model(prepared_quarter["fp32"].path))
    assert record["inputs"][0]["shape"] == [1, 224, 224, 3]
    assert record["operations"]["SOFTMAX"] == 1


def products(path: Path, weights: Lite, activation: Lite) -> ModelFacts:
    """A dense layer of 6 to 4 on a batch of 2."""
    tensors = [activation, weights, Lite((2, 4), activation.dtype, scale=activation.scale)]
    return inspect_model(tflite(path, tensors, [(Codes.FULLY_CONNECTED, [0, 1], [2])], [0], [2]))


@pytest.mark.parametrize(
    ("weights", "activation", "precision"),
    [
        (Lite((4, 6), stored=True), Lite((2, 6)), "fp32"),
        (Lite((4, 6), INT8, stored=True, scale=0.1), Lite((2, 6), INT8, scale=0.2), "int8"),
        (Lite((4, 6), INT8, stored=True, scale=0.1), Lite((2, 6)), "mixed"),  # dynamic range
        (Lite((4, 6), FLOAT16, stored=True), Lite((2, 6)), "fp16"),
        (Lite((4, 6)), Lite((2, 6)), "fp32"),  # two activations
    ],
    ids=["fp32", "int8", "weights only", "fp16", "activations"],
)
def test_precision_is_what_products_compute_in(
    tmp_path: Path, weights: Lite, activation: Lite, precision: str
):
    facts = products(tmp_path / "m.tflite", weights, activation)
    assert facts.precision == precision
    assert facts.macs == 2 * 4 * 6
    assert facts.parameters == (24 if weights.stored else 0)


def test_every_product_is_counted_by_its_shapes(tmp_path: Path):
    tensors = [
        Lite((1, 8, 8, 4)),
        Lite((2, 3, 3, 4), stored=True),  # grouped weights would have fewer than 4 here
        Lite((1, 4, 4, 2)),
        Lite((1, 3, 3, 2), stored=True),
        Lite((1, 4, 4, 2)),
        Lite((4,), Types.INT32, stored=True),
        Lite((5, 2, 2, 2), stored=True),
        Lite((1, 8, 8, 5)),
        Lite((1, 8, 5, 3)),
        Lite((1, 8, 8, 3)),
    ]
    operators = [
        (Codes.CONV_2D, [0, 1], [2]),
        (Codes.DEPTHWISE_CONV_2D, [2, 3], [4]),
        (Codes.TRANSPOSE_CONV, [5, 6, 4], [7]),
        (Codes.BATCH_MATMUL, [7, 8], [9]),
    ]
    facts = inspect_model(tflite(tmp_path / "m.tflite", tensors, operators, [0, 8], [9]))
    convolution, depthwise = 4 * 4 * 2 * 9 * 4, 4 * 4 * 2 * 9
    transposed, matrix = 4 * 4 * 2 * 5 * 4, 8 * 8 * 3 * 5
    assert facts.macs == convolution + depthwise + transposed + matrix
    assert facts.parameters == 72 + 18 + 40  # the shape of int32 is none
    assert len(facts.inputs) == 2


@pytest.mark.parametrize(
    ("tensors", "operators", "why"),
    [
        ([Lite((1, 4)), Lite((1, 2))], [("edgetpu-custom-op", [0], [1])], "custom:edgetpu-custom-op"),
        ([Lite((1, 4)), Lite((1, 2))], [(Codes.WHILE, [0], [1])], "WHILE"),
        ([Lite((1, 1, 1, 3), signature=(-1, -1, -1, 3)), Lite((1, 2))], [], "no fixed shape"),
    ],
)
def test_work_that_is_not_told_leaves_the_macs_out(tmp_path: Path, tensors, operators, why: str):
    facts = inspect_model(tflite(tmp_path / "m.tflite", tensors, operators, [0], [1]))
    assert facts.macs is None
    assert why in facts.macs_reason


def test_an_open_batch_is_one(tmp_path: Path):
    tensors = [Lite((1, 6), signature=(-1, 6)), Lite((4, 6), stored=True), Lite((1, 4), signature=(-1, 4))]
    facts = inspect_model(
        tflite(tmp_path / "m.tflite", tensors, [(Codes.FULLY_CONNECTED, [0, 1], [2])], [0], [2])
    )
    assert facts.inputs[0].shape == (None, 6)
    assert facts.macs == 24


@pytest.mark.parametrize(
    ("tensors", "operators", "why"),
    [
        ([Lite((1, 4)), Lite((1, 4))], [(Codes.ADD, [0, 99], [1]), (Codes.CONV_2D, [0, 99], [1])], "99"),
        ([Lite((1, 4)), Lite((1, 4))], [(Codes.CONV_2D, [0], [1])], "lacks input 1"),
        ([Lite((1, 4)), Lite((1, -4))], [], "shape [1, -4]"),
        ([Lite((1, 4)), Lite((1000, 1000), stored=True, nbytes=8)], [], "8 bytes of numbers"),
        ([Lite((1, 4)), Lite((1,) * 40)], [], "40 axes"),
    ],
    ids=["index", "inputs", "negative", "short", "rank"],
)
def test_a_file_that_contradicts_itself_is_refused(tmp_path: Path, tensors, operators, why: str):
    path = tflite(tmp_path / "m.tflite", tensors, operators, [0], [1])
    with pytest.raises(InputError) as caught:
        inspect_model(path)
    assert why in caught.value.why
    assert caught.value.fix


def test_damage_anywhere_is_an_error_or_harmless(prepared_quarter: dict[str, Artifact], tmp_path: Path):
    whole = prepared_quarter["int8"].path.read_bytes()
    draw, path, refused = random.Random(7), tmp_path / "damaged.tflite", 0
    for _ in range(150):
        content = bytearray(whole)
        for _ in range(draw.choice((1, 4, 30))):
            content[-1 - draw.randrange(30_000)] = draw.choice((0, 127, 128, 255))
        path.write_bytes(content[: draw.randrange(len(content))] if draw.random() < 0.1 else content)
        try:
            tflite_file.read(path)
        except Malformed as error:
            assert str(error)
            refused += 1
    assert refused > 10


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("m.tflite", b"x" * 100, "does not begin"),
        ("m.tflite", b"abc", "does not begin"),
        ("m.onnx", b"\xff" * 100, "no ONNX protobuf"),
        ("m.onnx", b"\x08\x07", "no graph"),
        ("m.keras", b"PK no archive", "no archive"),
    ],
    ids=["text", "short", "no protobuf", "no graph", "no archive"],
)
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, name: str, content: bytes, why: str):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        inspect_model(path)
    assert why in caught.value.why


def test_what_is_not_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "run_jobs", lambda *_: pytest.fail("started"))
    with pytest.raises(InputError, match=r"none\.tflite"):
        inspect_model(tmp_path / "none.tflite")
    for name, why in (("m.pt", "may hold code"), ("m", "its name ends in ''")):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(InputError) as caught:
            inspect_model(tmp_path / name)
        assert why in caught.value.why
    with pytest.raises(InputError) as caught:
        inspect_model(tmp_path)
    assert "folder" in caught.value.why
    (tmp_path / "empty.onnx").touch()
    with pytest.raises(InputError, match="is empty"):
        inspect_model(tmp_path / "empty.onnx")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    (tmp_path / "m.tflite").write_bytes(b"x")
    with pytest.raises(UnavailableError) as missing:
        inspect_model(tmp_path / "m.tflite")
    assert missing.value.fix == "pip install 'edgebench[cpu]'"


def test_a_model_larger_than_memory_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "run_jobs", lambda *_: pytest.fail("started"))
    for name, size, what in (
        ("large.tflite", psutil.virtual_memory().total + 1, "does not fit into memory"),
        ("large.onnx", 2**31, "too large"),
    ):
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(size)  # takes no room on disk
        with pytest.raises(InputError, match=what) as caught:
            inspect_model(path)
        assert "MiB" in caught.value.why or "GB" in caught.value.why


def test_a_changed_file_is_read_anew(tmp_path: Path):
    path = tmp_path / "m.tflite"
    first = products(path, Lite((4, 6), stored=True), Lite((2, 6)))
    path.unlink()
    second = products(path, Lite((4, 6), FLOAT16, stored=True), Lite((2, 6)))
    assert (first.precision, second.precision) == ("fp32", "fp16")
    assert second.sha256 == sha256_file(path)


def test_an_image_is_known_by_its_channels():
    assert TensorFacts("x", "float32", (1, 3, 224, 224)).layout == "NCHW"
    assert TensorFacts("x", "float32", (None, 224, 224, 3)).layout == "NHWC"
    assert TensorFacts("x", "float32", (1, 77)).layout is None
