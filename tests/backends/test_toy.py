"""The toy's golden patches; tests/testing tries the rest of it against the contract."""

import numpy as np

from edgebench import registry
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.values import Variant


def test_golden_patches_are_told_apart_by_their_class(tmp_path):
    toy = registry.backend("toy")
    assert toy.for_tests
    request = PrepareRequest(Variant(0.25, "fp32"), 1, {})
    [artifact] = toy.prepare([request], Cache(tmp_path), lambda text: None)
    assert isinstance(artifact, Artifact)
    scores = np.array(artifact.golden.scores)
    np.testing.assert_allclose(scores.sum(1), 1.0)
    assert scores[:5].argmax(1).tolist() == [0, 1, 2, 3, 4]
    assert np.load(artifact.golden.patches).shape == (10, 224, 224, 3)
