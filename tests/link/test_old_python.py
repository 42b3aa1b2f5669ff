"""The boards' oldest Python, 3.6: the device side compiles on it, and a whole session runs on it."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgebench import registry
from edgebench.link.agent_backend import AgentBackend
from edgebench.records.target import Launch
from tests.link.old_python import python36


@pytest.fixture(scope="module")
def old():
    python, why = python36()
    if python is None:
        pytest.skip(why)
    return python


ROOT = Path(__file__).parents[2]


def device_side_files():
    """What lies where `make lint` looks for it."""
    agent_and_probes = [*ROOT.glob("edgebench/agent/**/*.py"), *ROOT.glob("edgebench/probes/**/*.py")]
    device_folders = [*ROOT.glob("backends/**/device/**/*.py"), *ROOT.glob("examples/**/device/**/*.py")]
    return sorted(agent_and_probes + device_folders)


def test_everything_that_travels_lies_in_a_device_folder():
    backends = [registry.backend(name) for name in registry.names("edgebench.backends")]
    with_agent = [backend for backend in backends if isinstance(backend, AgentBackend)]
    travelling = {file for backend in with_agent for file in backend.runner_files()}
    for name in registry.names("edgebench.probes"):
        travelling |= set(registry.probe_files(registry.probe_module(name)))
    assert {file.resolve() for file in travelling} <= set(device_side_files())


def test_every_device_side_file_compiles(old):
    files = [str(path) for path in device_side_files()]
    assert len(files) > 10
    code = "import sys\nfor path in sys.argv[1:]: compile(open(path).read(), path, 'exec')"
    subprocess.run([old, "-c", code, *files], check=True)


@pytest.mark.parametrize(("precision", "batch", "queue"), [("fp32", 1, 0), ("int8", 5, 0), ("fp16", 1, 2)])
def test_a_session_runs_and_agrees_with_this_python(rig, device, old, tmp_path, precision, batch, queue):
    artifact = rig.artifact(precision, batch)
    plan = rig.plan(passes=1, warmup_cap=10)
    with device.session(artifact, rig.settings(batch, queue=queue)) as session:
        here = list(session.measure(plan))[-1].scores
    tree = tmp_path / "intel-rapl:0"
    tree.mkdir()
    for name, text in {"name": "package-0", "energy_uj": "5", "max_energy_range_uj": "100"}.items():
        (tree / name).write_text(text)
    meter = f"rapl:{tmp_path}"
    board = rig.device(python=old, folder=tmp_path / "placed")
    try:
        board_facts = board.describe()
        assert board_facts["python"].startswith("3.6.")
        with board.session(artifact, rig.settings(batch, (meter,), 0.05, Launch(), queue=queue)) as session:
            golden = session.golden()
            passes = list(session.measure(plan))
            predicted = session.predict(rig.images)
            chunks = list(session.probe_chunks())
            facts = session.facts()
    finally:
        board.close()
    assert facts.runtime["numpy"] == "1.19.5"
    assert np.abs(golden - np.array(artifact.golden.scores)).max() <= artifact.golden.tolerance
    np.testing.assert_allclose(passes[-1].scores, here, atol=1e-6 if precision == "fp32" else 1 / 256)
    np.testing.assert_array_equal(predicted, passes[-1].scores)
    assert chunks and chunks[0].probe == meter
    assert facts.probe_reasons == {}
