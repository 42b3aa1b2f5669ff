"""A session of several workers: each has a conversation of its own, and all run their passes side by side."""

import os
import signal
import sys
from dataclasses import replace

import numpy as np
import psutil
import pytest

from edgebench.errors import SessionError
from tests.link.rig import make_rig


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


@pytest.fixture
def device(rig):
    opened = rig.device()
    yield opened
    opened.close()


def two_workers(rig, **settings):
    return replace(rig.settings(delay_us=2000), workers=2, **settings)


def of_each(session_passes):
    passes = list(session_passes)
    return [
        [measured_pass for measured_pass in passes if measured_pass.worker == number] for number in (0, 1)
    ]


def test_two_workers_run_their_passes_at_the_same_time(rig, device):
    with device.session(rig.artifact(), two_workers(rig)) as session:
        assert session.golden().shape == (20, 5)
        passes = of_each(session.measure(rig.plan(passes=3)))
        scores = session.predict(rig.images)
        agent = psutil.Process(device._connection._process.pid)
        assert len(agent.children()) == 2
    assert not agent.children()
    for mine in passes:
        steady = [measured_pass for measured_pass in mine if measured_pass.phase == "steady"]
        assert len(steady) == 3 and [measured_pass.index for measured_pass in mine] == list(range(len(mine)))
    for first, second in zip(*passes, strict=False):
        if first.phase == second.phase == "steady":
            assert max(first.start_ns, second.start_ns) < min(first.end_ns, second.end_ns)
    first_scores, second_scores = np.split(scores, 2)
    assert np.array_equal(first_scores, second_scores)
    facts = session.facts()
    assert [worker.worker for worker in facts.workers] == [0, 1]
    assert all(worker.cold.load_s and worker.memory.peak_bytes for worker in facts.workers)
    assert facts.cold.load_s is None and facts.memory.peak_bytes is None  # none stands for both


def test_two_paced_workers_each_keep_the_period(rig, device):
    with device.session(rig.artifact(), two_workers(rig)) as session:
        passes = of_each(session.measure(rig.plan(passes=3, period_s=0.2)))
    for mine in passes:
        due_ns = [measured_pass.due_ns for measured_pass in mine if measured_pass.phase == "steady"]
        assert list(np.diff(due_ns)) == [200_000_000] * 2


def test_two_workers_go_on_until_each_has_lasted_long_enough_for_a_meter(rig, device):
    with device.session(rig.artifact(), two_workers(rig, host_metering=True)) as session:
        passes = of_each(session.measure(rig.plan(passes=1, least_s=0.15, warmup_cap=0)))
    lasted_ns = [[timed.image_ns for timed in mine if timed.phase == "steady"] for mine in passes]
    assert all(sum(mine) >= 150_000_000 for mine in lasted_ns)
    assert any(sum(mine[:-1]) < 150_000_000 for mine in lasted_ns)


@pytest.mark.attack("one of two workers is killed during a session: it is named, the other one is ended")
def test_the_end_of_one_of_two_workers_ends_the_session(rig, device):
    agent = psutil.Process(device._connection._process.pid)
    with (
        pytest.raises(SessionError, match="worker 1") as caught,
        device.session(rig.artifact(), two_workers(rig)) as session,
    ):
        passes = session.measure(rig.plan(passes=1000))
        while next(passes).phase != "steady":
            pass
        os.kill(max(child.pid for child in agent.children()), signal.SIGKILL)
        list(passes)
    assert (caught.value.status, caught.value.signal) == ("crash", "SIGKILL")
    assert not agent.children()
    # The next session has both slots again.
    with device.session(rig.artifact(), two_workers(rig)) as session:
        assert session.golden().shape == (20, 5)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="telemetry reads /proc")
def test_no_monitor_takes_one_worker_for_the_interference_of_another(rig, device):
    with device.session(rig.artifact(), two_workers(rig, monitors=("telemetry:10",))) as session:
        [telemetry] = session.facts().probes
    channels = {channel.name for channel in telemetry.channels}
    assert channels and "involuntary_switches" not in channels
    assert any("no worker runs in its session" in why for why in telemetry.absent.values())
