"""Agent, worker, runners and their runtimes on an ARM processor, emulated, at the far end of a real SSH.

Opt-in (EDGEBENCH_TEST_ARM=1; `make test-all`): the board takes minutes to make and root to run.
"""

import numpy as np
import pytest

from edgebench.link.agent_device import AgentDevice
from edgebench.prepare.image_sets import shipped_images
from edgebench.records.session import SessionSettings
from edgebench.records.target import Launch
from edgebench.records.values import ImageSet
from edgebench.run.measuring import session as golden
from tests.fakes import agent_backend
from tests.link import arm_root, sshd
from tests.link.arm_board import emulation, make_arm_board
from tests.link.rig import stored

pytestmark = pytest.mark.slow

PICTURES = 20


@pytest.fixture(scope="module")
def arm_board(tmp_path_factory):
    if why := arm_root.missing() or sshd.missing():
        pytest.skip(why)
    with emulation():
        root, why = arm_root.arm_root()
        if root is None:
            pytest.skip(why)
        board = make_arm_board(root, tmp_path_factory.mktemp("arm"))
        try:
            board.start()
            yield board
        finally:
            board.power_off()


@pytest.fixture(scope="module")
def pictures(session_cache):
    """The first of the shipped test patches, with their labels."""
    shipped = shipped_images(session_cache, "test")
    path, digest = stored(session_cache, np.load(shipped.path, mmap_mode="r")[:PICTURES])
    assert shipped.labels is not None
    return ImageSet("some", path, digest, PICTURES, shipped.labels[:PICTURES], shipped.class_names)


def measured(link, backend, artifact, rig, pictures):
    """A session's scores of the scene's patches and of the pictures, and its facts; golden scores hold."""
    device = AgentDevice(link, backend.runner_files())
    options = backend.options_model.model_validate({"threads": 1}).model_dump(mode="json")
    try:
        described = device.describe()
        with device.session(artifact, SessionSettings(1, options, Launch())) as session:
            golden.require(golden.compare(session.golden(), artifact.golden, options))
            passes = list(session.measure(rig.plan(passes=1, warmup_cap=20)))
            predicted = session.predict(pictures)
            return described, passes[-1].scores, predicted, session.facts()
    finally:
        device.close()


@pytest.mark.parametrize("name", arm_root.RUNTIMES)
def test_int8_gives_the_classes_of_this_machine(arm_board, rig, pictures, request, name):
    runtime = arm_root.RUNTIMES[name]
    backend = agent_backend(runtime.device)
    quarter = "onnx_quarter" if runtime.device == "onnxruntime" else "prepared_quarter"
    artifact = request.getfixturevalue(quarter)["int8"]
    described, scores, far_pictures, facts = measured(
        rig.link(arm_board, runtime.python), backend, artifact, rig, pictures
    )
    assert described["machine"] == "aarch64"
    package, _, version = runtime.packages[0].partition("==")
    assert (facts.runtime["name"], facts.runtime["version"]) == (package, version)
    _, _, near_pictures, _ = measured(rig.link(None), backend, artifact, rig, pictures)
    assert scores.shape == (rig.scene.patches, len(artifact.class_names))
    np.testing.assert_allclose(scores.sum(axis=1), 1, atol=0.05)
    assert far_pictures.argmax(1).tolist() == near_pictures.argmax(1).tolist()
    right = int((far_pictures.argmax(1) == np.array(pictures.labels)).sum())
    assert right >= 0.8 * PICTURES
