"""Outputs that two kernels of one runtime give differently: what is compared, and how closely."""

import importlib
from typing import Any

import numpy as np
import pytest

from edgebench import registry
from edgebench.agent.timed import TimedLoop
from edgebench.errors import SessionError
from edgebench.prepare.cache import Cache
from edgebench.prepare.chain import output_tolerances
from edgebench.prepare.tflite import TfliteChain
from edgebench.prepare.workers.checking import Scored, outputs_of
from edgebench.records.model import Artifact, OutputTolerance, PrepareRequest
from edgebench.records.values import Variant
from edgebench.run.measuring.session import compare, require
from edgebench.run.model_choice import resolve_sources, with_golden
from tests.models.crafted_lite import write_detector

runner: Any = importlib.import_module(
    registry.backend("cpu").__module__.rpartition(".")[0] + ".device.runner"
)


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> tuple[Artifact, np.ndarray[Any, Any]]:
    """An artifact whose detections change places between kernels, and its golden samples [4, 1, 8]."""
    folder = tmp_path_factory.mktemp("detector")
    cache, samples = Cache(folder / "cache"), np.random.default_rng(3).integers(-9, 10, (4, 1, 8), np.int8)
    np.savez(folder / "samples.npz", samples=samples)
    (chosen,) = resolve_sources(
        [str(write_detector(folder / "detector.tflite"))],
        cache=cache, progress=lambda _: None, inputs=folder / "samples.npz",
    )  # fmt: skip
    source = with_golden(chosen, cache, None, None).source
    request = PrepareRequest(Variant(None, "int8", source.name), 1, {}, source=source)
    (artifact,) = TfliteChain().prepare([request], cache, lambda _: None)
    assert isinstance(artifact, Artifact), artifact
    return artifact, samples


@pytest.mark.parametrize("kernels", ["xnnpack", "reference"])
def test_a_detector_passes_by_either_kernels(detector: tuple[Artifact, Any], kernels: str):
    artifact, samples = detector
    options = {"threads": 1, "kernels": kernels}
    model = runner.load(str(artifact.path), options)
    tensors = [tensor.model_dump() for tensor in artifact.tensors]
    loop = TimedLoop(model, {"height": 1, "width": 1}, 1, artifact.scores, lambda: 1, tensors)
    scores = loop.run([(sample,) for sample in samples]).scores
    reference = np.array(artifact.golden.scores)
    assert np.array_equal(scores, reference) is (kernels == "reference")
    check = compare(scores, artifact.golden, options)
    require(check)
    assert check.unchecked == 1  # the places; the scores are compared
    assert [output.tolerance is None for output in artifact.golden.outputs] == [False, True]


def test_what_no_kernel_explains_is_refused(detector: tuple[Artifact, Any]):
    artifact, _ = detector
    scores = np.array(artifact.golden.scores, np.float32)
    scores[:, 10:] += 40  # of places nothing is known
    require(compare(scores, artifact.golden, {}))
    for column, wrong in ((0, 30.0), (12, np.nan), (12, np.inf)):
        changed = scores.copy()
        changed[0, column] += wrong
        with pytest.raises(SessionError):
            require(compare(changed, artifact.golden, {}))
    changed = scores.copy()
    changed[0, 0] += 1
    with pytest.raises(SessionError):
        require(compare(changed, artifact.golden, {"kernels": "reference"}))


def test_tolerances_are_of_each_output_and_at_least_twice_what_kernels_differ_by():
    reference = np.array([[0.0, 1.0, 0.0, 90.0], [0.5, 0.2, 80.0, 10.0]], np.float32)
    other = reference.copy()
    other[0, 1] += 0.2  # of a range of 1
    other[1, 2] += 30  # of a range of 90
    widths = (2, 2)
    outputs = outputs_of(reference, (Scored(reference, widths), Scored(other, widths)))
    first, second = output_tolerances({"outputs": outputs}, [0.01, 9.0])
    assert first.scores == 2 and first.tolerance == pytest.approx(0.4)
    assert second == OutputTolerance(scores=2, tolerance=None)
    assert output_tolerances({"outputs": outputs}, [0.5, 9.0])[0].tolerance == 0.5
