"""A session on a Cortex-M without any board: the trained model is built, booted in QEMU and measured."""

import importlib
from contextlib import closing

import numpy as np
import pytest

from edgebench.installed import version_of
from edgebench.prepare.landcover import ASSETS, Earth, render_patch, shipped_draws
from edgebench.prepare.workers import onnx_running as running
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import Variant
from edgebench.testing.backend_kit import images_of, scene_of
from tests.backends.cortexm.emulated import BOARD, require_emulator

backend = importlib.import_module("edgebench.backends.cortexm.backend")


def labelled_patches():
    """Labels and uint8 [2, 224, 224, 3] of the test split: the first of two classes."""
    draws, earth = shipped_draws("test"), Earth.load(ASSETS)
    every_label = [int(label) for label in draws.labels]
    labels = [0, 3]  # each is on its way through the emulated line for seconds
    return labels, np.stack([render_patch(earth, draws, every_label.index(label)) for label in labels])


@pytest.mark.slow
def test_a_session_in_qemu_tells_instructions_and_scores_as_onnx_runtime(session_cache, monkeypatch):
    require_emulator()
    if version_of("tensorflow") is None or version_of("emx-onnx-cgen") is None:
        pytest.skip("C is generated with tensorflow and emx-onnx-cgen")
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(session_cache.root))
    cortex_m = backend.CortexMBackend()
    options = cortex_m.options_model(board=BOARD.name, build=True, flash=True).model_dump()
    request = PrepareRequest(Variant(0.25, "int8"), 1, options)
    [artifact] = cortex_m.prepare([request], session_cache, lambda _: None)
    assert isinstance(artifact, Artifact), artifact
    labels, patches = labelled_patches()
    plan = MeasurePlan(scene_of(artifact, session_cache), 1, warmup_floor=2, images=None, patches=1)
    with closing(cortex_m.open(Target("m7", "cortex-m", options=options))) as device:
        assert device.describe() == {"board": BOARD.name, "cpu": "Cortex-M7, 25 MHz"}
        with device.session(artifact, SessionSettings(1, options, Launch())) as session:
            first, steady = session.measure(plan)
            scores = session.predict(images_of(patches, session_cache))
            facts = session.facts()
    expected = running.score(artifact.path, patches, artifact.input.model_dump(mode="json"))
    assert list(scores.argmax(1)) == list(expected.argmax(1)) == labels
    # The same to the last of the three decimals that a score is printed with.
    assert np.array_equal(
        scores, np.array([[f"{score:.3f}" for score in row] for row in expected], np.float32)
    )
    assert (first.inferences, steady.inferences, facts.emulated) == (1, 1, True)
    assert facts.instructions_reason == ""
    # The same patch again: as many instructions, of 2^5 ns each.
    assert first.instructions > 1e8
    assert steady.instructions == pytest.approx(first.instructions, rel=1e-6)
    assert steady.instructions == round(steady.duration_ns / 2**5)
