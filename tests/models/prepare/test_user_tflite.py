"""A user's model as .tflite: taken as it is, or converted, with its golden scores and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgebench.errors import UnsupportedError
from edgebench.prepare import chain
from edgebench.prepare.cache import Cache, sha256_file
from edgebench.prepare.chain import Chain
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, InputChoice, ModelSource, PrepareRequest
from edgebench.records.values import Variant
from edgebench.run.model_choice import Chosen, resolve_sources, with_golden
from tests.user_models import CLASSES, SIDE, make_pictures

pytestmark = pytest.mark.slow


def chosen(path: Path, cache: Cache, **more: Any) -> Chosen:
    (one,) = resolve_sources([str(path)], cache=cache, progress=lambda _: None, **more)
    return with_golden(one, cache, None, None)


def request(source: ModelSource, precision: str = "fp32", batch: int = 1) -> PrepareRequest:
    return PrepareRequest(Variant(None, precision, source.name), batch, {}, source=source)


def made(cache: Cache, *requests: PrepareRequest) -> list[Artifact]:
    outcomes = TfliteChain().prepare(requests, cache, lambda _: None)
    assert all(isinstance(one, Artifact) for one in outcomes), outcomes
    return [one for one in outcomes if isinstance(one, Artifact)]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pictures(tmp_path_factory.mktemp("pictures") / "calibration", 11)


@pytest.fixture(scope="module")
def tower(user_models: Path, pictures: Path, session_cache: Cache) -> Chosen:
    return chosen(
        user_models / "tower.keras", session_cache, labels=user_models / "labels.txt", calibration=pictures
    )


def test_a_tflite_is_taken_as_it_is(user_models: Path, pictures: Path, session_cache: Cache):
    file = user_models / "tower.tflite"
    source = chosen(
        file, session_cache, labels=user_models / "labels.txt", calibration=pictures,
        choice=InputChoice(scale=(1.0,)),
    ).source  # fmt: skip
    (artifact,) = made(session_cache, request(source))
    assert artifact.sha256 == sha256_file(file)
    assert artifact.class_names == CLASSES
    assert (artifact.input.height, artifact.input.divisor, artifact.input.offset) == (SIDE, 1.0, 0.0)
    assert artifact.provenance["golden_patches"] == "5 calibration images"
    # Five of nine, evenly over cats, dogs and eels: the mean colour decides.
    assert np.array(artifact.golden.scores).argmax(1).tolist() == [0, 0, 1, 2, 2]
    with pytest.raises(UnsupportedError) as caught:
        TfliteChain().recipe(request(source, "int8"))
    assert "taken as it is, and this one is fp32" in caught.value.why


def test_keras_is_converted_at_every_precision_and_checked(tower: Chosen, session_cache: Cache):
    artifacts = made(session_cache, *(request(tower.source, one) for one in ("fp32", "fp16", "int8")))
    fp32, fp16, int8 = artifacts
    assert fp32.input.dtype == fp16.input.dtype == "float32"
    assert (fp32.input.divisor, fp32.provenance["input_told_by"]) == (1.0, "the model's own rescaling")
    assert int8.input.dtype == "int8" and int8.input.scale is not None
    assert int8.golden.reference == "LiteRT reference kernels"
    assert int8.golden.exact_with == ("kernels=reference",)
    for artifact in artifacts:
        assert np.array(artifact.golden.scores).argmax(1).tolist() == [0, 0, 1, 2, 2]
        (check,) = artifact.provenance["checks"]
        assert check["max_abs_diff"] <= check["tolerance"]
        assert check["top1_equal"] == check["n"]


def test_from_the_cache_nothing_is_made(tower: Chosen, session_cache: Cache, monkeypatch: pytest.MonkeyPatch):
    first = made(session_cache, request(tower.source))
    monkeypatch.setattr(chain, "run_outputs", lambda *_: pytest.fail("made again"))
    assert made(session_cache, request(tower.source)) == first


def test_int8_without_calibration_says_what_to_give(tower: Chosen):
    with pytest.raises(UnsupportedError) as caught:
        TfliteChain().recipe(request(replace(tower.source, calibration=None), "int8"))
    assert "--calibration" in caught.value.fix


def test_several_inputs_and_outputs_are_made_with_samples(user_models: Path, session_cache: Cache):
    from_keras = chosen(user_models / "two.keras", session_cache).source
    as_it_is = chosen(user_models / "two.tflite", session_cache).source
    one, other = made(session_cache, request(from_keras), request(as_it_is))
    for artifact in (one, other):
        assert sorted(tensor.shape for tensor in artifact.tensors) == [(1, 2, 4), (1, 6)]
        assert (artifact.outputs, artifact.class_names, len(artifact.golden.scores)) == (6, (), 4)
        assert "2 inputs" in artifact.accuracy_reason
    with pytest.raises(UnsupportedError, match="batch of 4"):
        TfliteChain().recipe(request(from_keras, batch=4))
    with pytest.raises(UnsupportedError, match="int8 cannot be made"):
        TfliteChain().recipe(request(from_keras, "int8"))


def test_an_operation_that_litert_does_not_have_is_refused(user_models: Path, session_cache: Cache):
    source = chosen(user_models / "flex.tflite", session_cache).source
    precision = source.model.precision if source.model else ""
    (refused,) = TfliteChain().prepare([request(source, precision)], session_cache, lambda _: None)
    assert isinstance(refused, UnsupportedError)
    assert "an operation that LiteRT does not have" in refused.what
    assert "built-in operations" in refused.fix


def test_a_batch_that_the_file_fixes_is_refused_and_an_open_one_is_told(
    user_models: Path, pictures: Path, session_cache: Cache
):
    source = chosen(user_models / "tower.tflite", session_cache, calibration=pictures).source
    assert source.model is not None
    fixed = replace(source, model=replace(source.model, open_batch=False))
    with pytest.raises(UnsupportedError) as caught:
        TfliteChain().recipe(request(fixed, batch=2))
    assert "fixes a batch of 1" in caught.value.why
    (artifact,) = made(session_cache, request(source, batch=2))
    assert artifact.input_shapes == ((2, SIDE, SIDE, 3),)
    assert len(artifact.golden.scores) == 5


@pytest.mark.parametrize("chain_of_int8", [TfliteChain(), OnnxChain(lambda _: OnnxForm())])
@pytest.mark.parametrize("name", ["two", "autoencoder"])
def test_int8_of_arrays_has_its_ranges_from_arrays(
    tmp_path: Path, user_models: Path, session_cache: Cache, name: str, chain_of_int8: Chain
):
    rng = np.random.default_rng(3)
    of_all: dict[str, Any] = {"two": {"tokens": (6,), "extra": (2, 4)}, "autoencoder": {"x": (640,)}}
    shapes = of_all[name]
    arrays: dict[str, Any] = {key: rng.normal(size=(20, *shape)) for key, shape in shapes.items()}
    np.savez(tmp_path / "c.npz", **arrays)
    calibrated = chosen(user_models / f"{name}.keras", session_cache, calibration=tmp_path / "c.npz").source
    assert calibrated.calibration is not None and calibrated.calibration.n == 20
    (artifact,) = chain_of_int8.prepare([request(calibrated, "int8")], session_cache, lambda _: None)
    assert isinstance(artifact, Artifact), artifact
    assert artifact.provenance["calibration"]["n"] == 20
    is_integer = chain_of_int8.name == "tflite" or len(shapes) == 1
    for tensor in artifact.tensors:
        assert tensor.dtype == ("int8" if is_integer else "float32")
        if name == "autoencoder":  # normal numbers reach about 4 either way
            assert 6 < 255 * (tensor.scale or 0.0) < 12
    with pytest.raises(UnsupportedError, match="without calibration inputs"):
        chain_of_int8.recipe(request(replace(calibrated, calibration=None), "int8"))
