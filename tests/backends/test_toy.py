"""The toy's preparation: every variant, deterministic, with golden scores from other arithmetic."""

import json

import numpy as np
import pytest

from edgebench import registry
from edgebench.errors import UnsupportedError
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.values import DEPTH_MULTIPLIERS, PRECISIONS, Variant


@pytest.fixture
def toy():
    return registry.backend("toy")


def requests(batch=1):
    return [
        PrepareRequest(Variant(depth, kind), batch, {}) for depth in DEPTH_MULTIPLIERS for kind in PRECISIONS
    ]


def test_every_variant_is_prepared_in_order_and_only_once(toy, tmp_path):
    cache = Cache(tmp_path)
    first = toy.prepare(requests(), cache, lambda text: None)
    assert [artifact.variant for artifact in first] == [request.variant.name for request in requests()]
    assert len({artifact.sha256 for artifact in first}) == 9
    assert toy.prepare(requests(), cache, lambda text: None) == first
    for artifact in first:
        assert artifact.path.stat().st_size == artifact.size_bytes
        assert json.loads(artifact.path.read_text())["input_shape"] == [1, 224, 224, 3]


def test_golden_patches_are_told_apart_by_their_class(toy, tmp_path):
    [artifact] = toy.prepare(requests()[:1], Cache(tmp_path), lambda text: None)
    assert isinstance(artifact, Artifact)
    scores = np.array(artifact.golden.scores)
    np.testing.assert_allclose(scores.sum(1), 1.0)
    assert scores[:5].argmax(1).tolist() == [0, 1, 2, 3, 4]
    assert np.load(artifact.golden.patches).shape == (10, 224, 224, 3)


@pytest.mark.parametrize("variant", [Variant(0.75, "fp32"), Variant(1.0, "int4")])
def test_another_variant_is_unsupported_and_the_rest_is_made(toy, tmp_path, variant):
    asked = [PrepareRequest(variant, 1, {}), requests()[0]]
    refused, artifact = toy.prepare(asked, Cache(tmp_path), lambda text: None)
    assert isinstance(refused, UnsupportedError)
    assert variant.name in refused.what
    assert isinstance(artifact, Artifact)


def test_what_decides_the_artifact_is_plain_data(toy):
    inputs = [json.dumps(toy.prepare_inputs(request), sort_keys=True) for request in requests() + requests(2)]
    assert len(set(inputs)) == 18


def test_it_is_usable_by_name_and_marked_for_tests(toy):
    assert toy.for_tests
    with pytest.raises(ValueError, match="speed"):
        toy.options_model(speed="high")
