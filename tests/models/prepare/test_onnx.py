"""ONNX artifacts, really made: the shipped family, user's files, and what is refused before anything runs."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import helper

from edgebench import installed
from edgebench.errors import UnavailableError, UnsupportedError, UsageError
from edgebench.prepare import chain
from edgebench.prepare.cache import Cache, canonical_hash, sha256_file
from edgebench.prepare.chain import subject_of
from edgebench.prepare.description import evaluate
from edgebench.prepare.families import RANDOM_REASON
from edgebench.prepare.landcover import CLASS_NAMES
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.prepare.shipped import golden_patches, shipped_weights
from edgebench.prepare.workers import onnx_running as running
from edgebench.prepare.workers import onnx_steps as steps
from edgebench.prepare.workers import processes
from edgebench.prepare.workers.processes import run_jobs, run_outputs
from edgebench.records.model import Artifact, InputChoice, ModelSource, Prepared, PrepareRequest
from edgebench.records.values import PRECISIONS, Progress, Variant
from edgebench.run.model_choice import resolve_sources, with_golden
from tests.models.crafted import onnx_file
from tests.user_models import CLASSES, SIDE, make_pictures

pytestmark = pytest.mark.slow


class Order(NamedTuple):
    """A request, and the form of its ONNX."""

    request: PrepareRequest
    form: OnnxForm


def prepare_inputs(request: PrepareRequest, form: OnnxForm) -> dict[str, Any]:
    return OnnxChain(lambda _: form).recipe(request).inputs


def prepare_onnx(orders: Sequence[Order], cache: Cache, progress: Progress) -> list[Prepared]:
    forms = {id(order.request): order.form for order in orders}
    chain = OnnxChain(lambda request: forms[id(request)])
    return chain.prepare([order.request for order in orders], cache, progress)


def order_for(precision: str, depth: float = 0.25, batch: int = 1, **form: Any) -> Order:
    return Order(PrepareRequest(Variant(depth, precision), batch, {}), OnnxForm(**form))


def own(source: ModelSource, precision: str = "fp32", batch: int = 1, **form: Any) -> Order:
    request = PrepareRequest(Variant(None, precision, source.name), batch, {}, source=source)
    return Order(request, OnnxForm(**form))


def made(cache: Cache, *orders: Order) -> list[Artifact]:
    outcomes = prepare_onnx(orders, cache, lambda _: None)
    assert all(isinstance(one, Artifact) for one in outcomes), outcomes
    return [one for one in outcomes if isinstance(one, Artifact)]


def never(*_: object) -> None:
    raise AssertionError("nothing was to be made")


def mean_colour(path: Path, batch: int | str = "n") -> Path:
    """The mean colour decides, through a convolution that leaves the picture as it is."""
    nodes = [
        helper.make_node("Conv", ["x", "same"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "v"], ["l"]),
        helper.make_node("Softmax", ["l"], ["y"], axis=1),
    ]
    eye = np.eye(3, dtype=np.float32)
    constants = {"same": eye[:, :, None, None], "v": eye * 8}
    return onnx_file(path, nodes, {"x": [batch, 3, SIDE, SIDE]}, {"y": [batch, 3]}, constants)


def source_of(path: Path, cache: Cache, **more: Any) -> ModelSource:
    (one,) = resolve_sources([str(path)], cache=cache, progress=lambda _: None, **more)
    return with_golden(one, cache, None, None).source


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pictures(tmp_path_factory.mktemp("pictures") / "calibration", 11)


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory, pictures: Path, session_cache: Cache) -> ModelSource:
    folder = tmp_path_factory.mktemp("own-onnx")
    (folder / "labels.txt").write_text("\n".join(CLASSES))
    return source_of(
        mean_colour(folder / "colours.onnx"), session_cache, labels=folder / "labels.txt",
        calibration=pictures, choice=InputChoice(scale=(255.0,)),
    )  # fmt: skip


def test_artifacts_say_what_they_are_and_how_far_each_step_is_off(onnx_quarter: dict[str, Artifact]):
    for precision, artifact in onnx_quarter.items():
        assert artifact.variant == f"mobilenet_v1-0.25-{precision}"
        assert (artifact.format, artifact.path.suffix) == ("onnx", ".onnx")
        assert artifact.sha256 == sha256_file(artifact.path)
        assert artifact.class_names == CLASS_NAMES
        assert artifact.provenance["weights_sha256"] == shipped_weights(0.25).inputs["weights_sha256"]
        assert artifact.provenance["opset"] == 13
        checks = artifact.provenance["checks"]
        assert [one["step"] for one in checks] == ["export", *([precision] if precision != "fp32" else [])]
        for check in checks:
            assert 0 < check["max_abs_diff"] <= check["tolerance"]
            assert check["top1_equal"] == check["n"] == 5
        assert np.array(artifact.golden.scores).argmax(1).tolist() == [0, 1, 2, 3, 4]
    sizes = [onnx_quarter[precision].size_bytes for precision in PRECISIONS]
    assert sizes[0] > 1.5 * sizes[1] > 1.3 * sizes[2]
    int8 = onnx_quarter["int8"]
    assert (int8.input.dtype, int8.input.zero_point) == ("int8", -1)
    assert int8.input.scale == pytest.approx(1 / 127.5)
    assert int8.golden.reference == steps.AS_WRITTEN
    assert int8.provenance["calibration"]["n"] == 250
    assert onnx_quarter["fp16"].input.dtype == "float32"
    assert onnx_quarter["fp16"].provenance["calibration"] is None


def test_the_file_is_folded_static_and_of_the_standard_domain(onnx_quarter: dict[str, Artifact]):
    model = onnx.load(onnx_quarter["fp32"].path)
    onnx.checker.check_model(model, full_check=True)
    assert {one.domain: one.version for one in model.opset_import} == {"": 13}
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("Conv") == 27
    assert not {"BatchNormalization", "Mul", "Add"} & set(kinds)
    session = running.open_session(onnx_quarter["fp32"].path)
    assert [(one.name, one.shape) for one in session.get_inputs()] == [("patches", [1, 224, 224, 3])]
    assert [(one.name, one.shape) for one in session.get_outputs()] == [("scores", [1, 5])]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_file_is_onnx_to_the_letter(onnx_quarter: dict[str, Artifact], precision: str):
    """Its operations stand behind those that they take their inputs from, which some runtimes insist on."""
    onnx.checker.check_model(onnx.load(onnx_quarter[precision].path), full_check=True)


def test_int8_agrees_with_fp32_on_the_test_patches(onnx_quarter: dict[str, Artifact], session_cache: Cache):
    wanted = [onnx_quarter["fp32"], onnx_quarter["int8"]]
    fp32, int8 = evaluate(wanted, session_cache, lambda _: None)
    assert "onnxruntime" in fp32.runtime
    assert 940 <= fp32.k <= 970
    assert 970 <= (int8.agree_k or 0) < 1000


def test_from_the_cache_nothing_is_made_and_nothing_heavy_is_imported(
    onnx_quarter: dict[str, Artifact], session_cache: Cache, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(chain, "run_outputs", never)
    again = prepare_onnx([order_for(one) for one in PRECISIONS], session_cache, never)
    assert again == list(onnx_quarter.values())
    assert not {"tensorflow", "keras", "tf2onnx"} & sys.modules.keys()


def test_a_smaller_precision_of_what_is_there_takes_no_tensorflow(
    onnx_quarter: dict[str, Artifact], session_cache: Cache, monkeypatch: pytest.MonkeyPatch
):
    jobs: list[Any] = []
    monkeypatch.setattr(
        chain, "run_outputs", lambda *given: jobs.extend(given[1]) or run_outputs(*given)  # type: ignore[func-returns-value]
    )  # fmt: skip
    exclude = ("GlobalAveragePool", "Gemm", "Softmax")
    order = order_for("int8", int8="qoperator", activations="uint8", exclude=exclude)
    said: list[str] = []
    (artifact,) = prepare_onnx([order], session_cache, said.append)
    assert isinstance(artifact, Artifact)
    assert [job["step"] for job in jobs] == ["int8"]
    assert said[1:] == ["converting mobilenet_v1-0.25-int8 to ONNX"]
    kinds = {node.op_type for node in onnx.load(artifact.path).graph.node}
    assert {"QLinearConv", "GlobalAveragePool", "Gemm", "Softmax"} <= kinds
    assert {one.domain for one in onnx.load(artifact.path).opset_import} == {""}
    assert artifact.provenance["int8"]["exclude"] == sorted(exclude)
    assert (artifact.input.dtype, artifact.input.zero_point) == ("uint8", 127)
    assert artifact.golden.reference == steps.OPTIMISED


def test_a_file_is_the_same_whatever_was_made_before_it_and_users_files_are_converted_beside_it(
    onnx_quarter: dict[str, Artifact], user_models: Path, pictures: Path, tmp_path: Path,
    session_cache: Cache, monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    """One process makes all of these, one after the other: a .keras, a SavedModel, two inputs, the family."""
    monkeypatch.setattr(
        processes, "run_jobs", lambda module, jobs, *rest: run_jobs(module, jobs, *rest, processes=1)
    )
    tower = source_of(user_models / "tower.keras", session_cache, calibration=pictures)
    saved = source_of(user_models / "tower_saved", session_cache)
    two = source_of(user_models / "two.keras", session_cache)
    elsewhere = Cache(tmp_path)
    orders = [
        own(tower), own(tower, "fp16"), own(tower, "int8", layout="NCHW"),
        own(saved), own(two), order_for("fp32"),
    ]  # fmt: skip
    fp32, fp16, int8, from_saved, pair, quarter = made(elsewhere, *orders)
    assert quarter.sha256 == onnx_quarter["fp32"].sha256
    for artifact in (fp32, fp16, int8):
        assert artifact.accuracy_reason or not artifact.class_names
        assert np.array(artifact.golden.scores).argmax(1).tolist() == [0, 0, 1, 2, 2]
        assert artifact.provenance["golden_patches"] == "5 calibration images"
    assert (fp32.input.layout, fp32.input.divisor) == ("NHWC", 1.0)
    assert (int8.input.layout, int8.input.dtype) == ("NCHW", "int8")
    assert [one["step"] for one in int8.provenance["checks"]] == ["export", "int8"]
    assert from_saved.golden.reference == "TensorFlow float32"
    assert from_saved.outputs == 3
    assert "-1..1" in from_saved.assumed[0] and fp32.assumed == int8.assumed == ()
    assert sorted(tensor.shape for tensor in pair.tensors) == [(1, 2, 4), (1, 6)]
    assert (pair.outputs, len(pair.golden.scores)) == (6, 4)
    shapes = [tuple(one.shape) for one in running.open_session(pair.path).get_inputs()]
    assert shapes == [tensor.shape for tensor in pair.tensors]


def test_a_truncated_file_is_made_again(onnx_quarter: dict[str, Artifact], session_cache: Cache):
    whole = onnx_quarter["fp16"]
    os.truncate(whole.path, 1000)
    assert made(session_cache, order_for("fp16")) == [whole]
    assert sha256_file(whole.path) == whole.sha256


def test_a_users_onnx_is_taken_as_it_is_and_converted(colours: ModelSource, session_cache: Cache):
    fp32, fp16, int8 = made(session_cache, *(own(colours, one) for one in PRECISIONS))
    for artifact in (fp32, fp16, int8):
        assert artifact.class_names == CLASSES
        assert np.array(artifact.golden.scores).argmax(1).tolist() == [0, 0, 1, 2, 2]
        assert artifact.provenance["source"] == "onnx"
        assert set(artifact.provenance["tools"]) == {"onnx", "onnxruntime"}
    assert [one["step"] for one in fp32.provenance["checks"]] == ["ready"]
    assert fp32.golden.reference == steps.AS_WRITTEN
    assert (fp32.input.layout, fp32.input.divisor, fp32.input.height) == ("NCHW", 255.0, SIDE)
    assert int8.input.dtype == "int8"
    (at_four,) = made(session_cache, own(colours, batch=4))
    assert running.open_session(at_four.path).get_inputs()[0].shape == [4, 3, SIDE, SIDE]
    np.testing.assert_allclose(at_four.golden.scores, fp32.golden.scores, atol=1e-6)


def test_two_batches_asked_for_in_turn_have_a_file_each(colours: ModelSource, session_cache: Cache):
    orders = [own(colours, precision, batch) for precision in ("fp16", "int8") for batch in (2, 3)]
    for order, artifact in zip(orders, made(session_cache, *orders), strict=True):
        (tensor,) = running.open_session(artifact.path).get_inputs()
        assert tensor.shape[0] == artifact.batch == order.request.batch


def test_a_static_file_keeps_its_bytes_and_its_batch(pictures: Path, tmp_path: Path, session_cache: Cache):
    path = mean_colour(tmp_path / "static.onnx", 1)
    source = source_of(path, session_cache, calibration=pictures, choice=InputChoice(scale=(255.0,)))
    (artifact,) = made(session_cache, own(source))
    assert artifact.sha256 == sha256_file(path)
    assert artifact.provenance["checks"] == []
    assert artifact.outputs == 3
    with pytest.raises(UnsupportedError) as caught:
        prepare_inputs(*own(source, batch=4))
    assert "--batch 1" in caught.value.fix


def test_a_quantised_file_is_taken_at_its_own_precision_alone(
    colours: ModelSource, pictures: Path, tmp_path: Path, session_cache: Cache
):
    (int8,) = made(session_cache, own(colours, "int8", integer_input=False))
    path = tmp_path / "small.onnx"
    path.write_bytes(int8.path.read_bytes())
    source = source_of(path, session_cache, calibration=pictures, choice=InputChoice(scale=(255.0,)))
    (artifact,) = made(session_cache, own(source, "int8"))
    assert artifact.sha256 == int8.sha256
    assert artifact.golden.scores == int8.golden.scores
    with pytest.raises(UnsupportedError) as caught:
        prepare_inputs(*own(source, "fp16"))
    assert "the file is int8" in caught.value.why
    assert "int8" in caught.value.fix


def test_several_inputs_and_outputs_are_checked_with_samples(tmp_path: Path, session_cache: Cache):
    nodes = [
        helper.make_node("Add", ["a", "b"], ["s"]),
        helper.make_node("ReduceSum", ["a"], ["t"], keepdims=0),
    ]
    inputs: dict[str, Any] = {"a": ["n", "length", 4], "b": ["n", "length", 4]}
    path = onnx_file(tmp_path / "two.onnx", nodes, inputs, {"s": ["n", "length", 4], "t": []})
    source = source_of(path, session_cache, choice=InputChoice(shapes=(("a", (1, 2, 4)), ("b", (1, 2, 4)))))
    (artifact,) = made(session_cache, own(source))
    assert [tensor.shape for tensor in artifact.tensors] == [(1, 2, 4), (1, 2, 4)]
    assert artifact.outputs == 9
    assert "2 inputs" in artifact.accuracy_reason
    with pytest.raises(UnsupportedError, match="batch of 2"):
        prepare_inputs(*own(source, batch=2))
    with pytest.raises(UnsupportedError) as caught:
        prepare_inputs(*own(source, "int8"))
    assert "ranges from inputs" in caught.value.why and "--calibration FILE" in caught.value.fix


def test_a_step_that_computes_something_else_makes_no_artifact(
    colours: ModelSource, tmp_path: Path, session_cache: Cache
):
    """Calibrated on dark pictures alone, int8 has no room for any other."""
    assert colours.calibration is not None
    np.save(tmp_path / "dark.npy", np.full((4, SIDE, SIDE, 3), 20, np.uint8))
    dark = replace(colours.calibration, path=tmp_path / "dark.npy", sha256="0" * 64, n=4)
    order = own(replace(colours, calibration=dark), "int8")
    outcome, fp32 = prepare_onnx([order, own(colours)], session_cache, lambda _: None)
    assert isinstance(outcome, UnsupportedError)
    assert "the step int8 computes something else" in outcome.what
    assert "largest difference" in outcome.why
    assert "same class on" in outcome.why
    assert isinstance(fp32, Artifact)
    assert OnnxChain(lambda _: order.form).stored_artifact(order.request, session_cache) is None


def test_what_cannot_be_made_says_why(colours: ModelSource, session_cache: Cache):
    with pytest.raises(UnsupportedError) as caught:
        prepare_inputs(*own(replace(colours, calibration=None), "int8"))
    assert "--calibration DIR" in caught.value.fix
    with pytest.raises(UsageError, match="batch of 0"):
        prepare_inputs(*order_for("fp32", batch=0))
    first, second = prepare_onnx([order_for("int4"), order_for("fp32", depth=0.7)], session_cache, never)
    assert isinstance(first, UnsupportedError) and "int4" in first.what
    assert isinstance(second, UnsupportedError) and "0.7" in second.what


def test_labels_that_are_not_as_many_as_the_scores(colours: ModelSource, session_cache: Cache):
    made(session_cache, own(colours))
    (outcome,) = prepare_onnx([own(replace(colours, class_names=("a", "b")))], session_cache, lambda _: None)
    assert isinstance(outcome, UnsupportedError)
    assert "3 scores and 2 labels" in outcome.what


def test_inputs_are_plain_and_tell_artifacts_apart(colours: ModelSource, monkeypatch: pytest.MonkeyPatch):
    orders = [
        order_for(precision, depth, batch, layout=layout)
        for precision in PRECISIONS
        for depth in (0.25, 1.0)
        for batch in (1, 4)
        for layout in ("NHWC", "NCHW")
    ]
    orders += [order_for("int8", int8="qoperator"), order_for("int8", activations="uint8")]
    orders += [order_for("int8", exclude=("Softmax",)), order_for("int8", integer_input=False)]
    orders += [own(colours, one) for one in PRECISIONS]
    assert len({canonical_hash(prepare_inputs(*one)) for one in orders}) == len(orders)
    # How int8 is written decides nothing of fp32.
    assert prepare_inputs(*order_for("fp32", int8="qoperator")) == prepare_inputs(*order_for("fp32"))
    before = canonical_hash(prepare_inputs(*order_for("int8")))
    monkeypatch.setattr(installed, "version", lambda _: "0.0.1")
    assert canonical_hash(prepare_inputs(*order_for("int8"))) != before


def test_random_weights_are_marked(session_cache: Cache):
    request = PrepareRequest(Variant(0.35, "fp32", "mobilenet_v2"), 1, {}, source=ModelSource("mobilenet_v2"))
    subject = subject_of(request)
    assert subject.accuracy_reason == RANDOM_REASON
    assert subject.class_names == ()
    assert subject.job["weights"] is None
    assert subject.golden.file(session_cache).sha256 == golden_patches(session_cache).sha256


def test_what_is_not_installed_is_named(
    session_cache: Cache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def missing(package: str) -> str:
        if package in ("tensorflow", "tf2onnx"):
            raise PackageNotFoundError(package)
        return "1"

    monkeypatch.setattr(installed, "version", missing)
    (outcome,) = prepare_onnx([order_for("fp32")], Cache(tmp_path), lambda _: None)
    assert isinstance(outcome, UnavailableError)
    assert "tensorflow, tf2onnx are not installed (pip install 'edgebench[prepare,onnx]')" in str(outcome)
