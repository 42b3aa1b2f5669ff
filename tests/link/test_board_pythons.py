"""The boards' own Pythons, 3.6 to 3.13, at the far end of a real SSH: agent, worker, runner and runtime."""

from dataclasses import replace

import numpy as np
import pytest

from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.records.session import SessionSettings
from edgebench.run.measuring import session as golden
from tests.fakes import agent_backend
from tests.link.old_python import LITERT, TOY, python_of

pytestmark = pytest.mark.slow


def python_for(board):
    python, why = python_of(board)
    if python is None:
        pytest.skip(why)
    return python


def run(device, artifact, settings, rig):
    """A whole session: golden check, passes, predictions, facts."""
    with device.session(artifact, settings) as session:
        check = golden.compare(session.golden(), artifact.golden, settings.options)
        golden.require(check)
        passes = list(session.measure(rig.plan(passes=2, warmup_cap=20)))
        predicted = session.predict(rig.images)
        facts = session.facts()
    np.testing.assert_array_equal(passes[-1].scores, predicted)
    assert facts.clock["end"]["bound_ns"] > 0
    assert facts.memory.peak_bytes > 1 << 20
    return passes, facts


def test_python_3_6_and_the_toy(rig, ssh_board):
    device = rig.far(ssh_board, python_for(TOY))
    try:
        assert device.describe()["python"].startswith("3.6.")
        for precision in ("fp32", "int8"):
            _, facts = run(device, rig.artifact(precision), rig.settings(), rig)
            assert facts.runtime["numpy"] == "1.19.5"
        with pytest.raises(SessionError) as caught:
            run(device, rig.artifact(), rig.settings(fault="segfault"), rig)
        assert (caught.value.status, caught.value.signal) == ("crash", "SIGSEGV")
    finally:
        device.close()


@pytest.mark.parametrize("share", ["naive", "cores"])
def test_python_3_6_and_two_workers(rig, ssh_board, share):
    others = (rig.artifact("int8", depth=0.25),)
    settings = replace(rig.settings(), others=others, share=share, monitors=("telemetry:10",))
    device = rig.far(ssh_board, python_for(TOY))
    try:
        with device.session(rig.artifact(), settings) as session:
            own, other = np.split(session.golden(), 2)
            passes = list(session.measure(rig.plan(passes=3, warmup_cap=20)))
            facts = session.facts()
    finally:
        device.close()
    golden.require(golden.compare(own, rig.artifact().golden, settings.options))
    golden.require(golden.compare(other, others[0].golden, settings.options))
    begin_ns, end_ns = facts.windows_ns.steady
    for worker in (0, 1):
        steady = [each for each in passes if (each.worker, each.phase) == (worker, "steady")]
        assert len(steady) >= 3
        assert all(begin_ns <= each.start_ns < each.end_ns <= end_ns for each in steady)
    assert all(bool(worker.cores) == (share == "cores") for worker in facts.workers)
    [telemetry] = facts.probes
    assert "worker_running" in {channel.name for channel in telemetry.channels}


@pytest.mark.parametrize("board", LITERT, ids=lambda board: board.name)
def test_litert_on_each_python(rig, ssh_board, prepared_quarter, board):
    backend = agent_backend("cpu")
    link = rig.link(ssh_board, python_for(board))
    device = AgentDevice(link, backend.runner_files())
    try:
        assert device.describe()["python"].startswith(board.version + ".")
        settings = SessionSettings(
            1, backend.options_model.model_validate({"threads": 1}).model_dump(), rig.settings().launch
        )
        _, facts = run(device, prepared_quarter["int8"], settings, rig)
    finally:
        device.close()
    assert facts.runtime["name"] == board.packages[0].partition("==")[0]
    if "==" in board.packages[0]:
        assert facts.runtime["version"] == board.packages[0].partition("==")[2]


def test_a_python_without_the_runtime_says_what_to_install(rig, ssh_board, prepared_quarter):
    """The same board with the packages of another one: numpy and no runtime."""
    backend = agent_backend("cpu")
    device = AgentDevice(rig.link(ssh_board, python_for(TOY)), backend.runner_files())
    settings = SessionSettings(1, backend.options_model().model_dump(), rig.settings().launch)
    try:
        with pytest.raises(SessionError) as caught:
            run(device, prepared_quarter["int8"], settings, rig)
    finally:
        device.close()
    assert (caught.value.status, caught.value.stage) == ("load_failed", "load")
    assert "no LiteRT runtime here" in caught.value.why
    assert "edgebench targets check says which" in caught.value.fix


def test_a_python_without_numpy_says_so(rig, ssh_board, tmp_path):
    """`-I -S` leaves only the standard library: a fresh board."""
    python = tmp_path / "bare-python"
    python.write_text(f'#!/bin/sh\nexec {python_for(TOY)} -I -S "$@"\n')
    python.chmod(0o755)
    device = rig.far(ssh_board, str(python))
    launch = rig.settings().launch
    try:
        assert device.describe()["python"].startswith("3.6.")
        with pytest.raises(SessionError) as caught:
            run(device, rig.artifact(), SessionSettings(1, rig.options(), type(launch)(str(python))), rig)
    finally:
        device.close()
    assert (caught.value.status, caught.value.stage) == ("load_failed", "load")
    assert "numpy" in caught.value.why
    assert "install numpy" in caught.value.fix
