"""Which models a run measures, and at which precisions."""

from pathlib import Path

import pytest

from edgebench.errors import InputError, UsageError
from edgebench.prepare.cache import Cache
from edgebench.records.model import SHIPPED, InputChoice
from edgebench.run.model_choice import Chosen, requests_for, resolve_sources, variants_of
from tests.fakes import FakeBackend


def resolved(cache: Cache, *models: str, **more) -> tuple[Chosen, ...]:
    return resolve_sources(models, cache=cache, progress=lambda _: None, **more)


def test_without_a_model_it_is_the_shipped_family(session_cache: Cache):
    (model,) = resolved(session_cache)
    assert model == Chosen(SHIPPED, (0.25, 0.5, 1.0))
    names = [variant.name for variant in variants_of(model, FakeBackend(), ("int8",))]
    assert names == ["mobilenet_v1-0.25-int8", "mobilenet_v1-0.5-int8", "mobilenet_v1-1.0-int8"]


def test_families_come_in_their_default_width_or_those_asked_for(session_cache: Cache):
    (model, other) = resolved(session_cache, "mobilenet_v2", "resnet50")
    assert (model.widths, other.widths) == ((1.0,), (None,))
    assert model.random
    (model,) = resolved(session_cache, "mobilenet_v2", widths=(0.35, 1.4, 0.35))
    assert model.widths == (0.35, 1.4)
    with pytest.raises(UsageError, match=r"resnet50 .*0\.5"):
        resolved(session_cache, "resnet50", widths=(0.5,))


@pytest.mark.parametrize("name", ["mobilenet_v9", "resnet"])
def test_a_family_that_there_is_not_names_those_that_there_are(session_cache: Cache, name: str):
    with pytest.raises(UsageError) as caught:
        resolved(session_cache, name)
    assert "mobilenet_v2" in caught.value.fix


def test_a_file_has_its_own_precision_and_name(user_models: Path, session_cache: Cache):
    (model,) = resolved(session_cache, str(user_models / "tower.tflite"))
    (variant,) = variants_of(model, FakeBackend())
    assert variant.name == f"{model.source.name}-fp32"
    assert model.source.name.startswith("tower-")
    assert model.source.inputs is None
    assert [variant.precision for variant in variants_of(model, FakeBackend(), ("fp32", "int8"))] == [
        "fp32",
        "int8",
    ]
    with pytest.raises(UsageError, match="no precision int4"):
        variants_of(model, FakeBackend(), ("int4",))
    with pytest.raises(UsageError, match="not take fp16"):
        variants_of(model, FakeBackend(), ("fp16",))


def test_labels_of_the_wrong_length_are_found_before_anything_runs(
    user_models: Path, session_cache: Cache, tmp_path: Path
):
    (tmp_path / "labels.txt").write_text("a\nb\n")
    with pytest.raises(InputError, match=r"2 and tower-.* has 3"):
        resolved(session_cache, str(user_models / "tower.tflite"), labels=tmp_path / "labels.txt")


def test_a_model_of_other_inputs_brings_its_samples(user_models: Path, session_cache: Cache):
    (model,) = resolved(session_cache, str(user_models / "two.tflite"))
    assert model.source.inputs is not None
    assert model.source.inputs is not None and model.source.inputs.n == 400


def test_what_was_said_for_nothing_is_a_usage_error(user_models: Path, session_cache: Cache):
    file = str(user_models / "tower.tflite")
    with pytest.raises(UsageError, match="--width"):
        resolved(session_cache, file, widths=(0.5,))
    with pytest.raises(UsageError, match="--labels"):
        resolved(session_cache, labels=user_models / "labels.txt")
    with pytest.raises(UsageError):
        resolved(session_cache, "mobilenet_v2", choice=InputChoice(layout="NCHW"))
    two = str(user_models / "two.tflite")
    for choice, says in (
        (InputChoice(mean=(1.0,)), "--input-mean fits no model"),
        (InputChoice(shapes=(("other", (1, 2)),)), "no model of this run has 'other'"),
        (InputChoice(shapes=(("", (1, 2)),)), "one input alone"),
    ):
        with pytest.raises(UsageError, match=says):
            resolved(session_cache, two, choice=choice)
    with pytest.raises(UsageError, match="--inputs"):
        resolved(session_cache, file, inputs=user_models)


def test_requests_without_a_run_are_checked_with_the_shipped_scene(user_models: Path, session_cache: Cache):
    chosen = resolved(session_cache, str(user_models / "tower.tflite"))
    (request,) = requests_for(chosen, FakeBackend(), ("fp32",), 1, session_cache)
    assert request.source.golden is not None
    assert "5 patches of the scene greenland" in request.source.golden.origin
