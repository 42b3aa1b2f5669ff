"""A session of several workers: each has a conversation of its own, and all run their passes side by side."""

import os
import re
import signal
import sys
import threading
from dataclasses import replace

import numpy as np
import psutil
import pytest

from edgebench.errors import SessionError
from edgebench.link.clock_match import SessionClock
from edgebench.records.target import Launch
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
    return replace(rig.settings(delay_us=2000), others=(rig.artifact(),), **settings)


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
        assert len(steady) >= 3 and {measured_pass.index for measured_pass in mine} == set(range(len(mine)))
    ran = [[each for each in mine if each.phase in ("steady", "outside")] for mine in passes]
    begin_ns = max(mine[0].start_ns for mine in ran)
    end_ns = min(mine[-1].end_ns for mine in ran)
    for each in (each for mine in ran for each in mine):
        assert (each.start_ns >= begin_ns and each.end_ns <= end_ns) == (each.phase == "steady")
    assert session.facts().windows_ns.steady == (begin_ns, end_ns)
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
        assert len(due_ns) >= 3 and set(np.diff(due_ns)) == {200_000_000}
    phases = {timed.due_ns % 200_000_000 for mine in passes for timed in mine if timed.phase == "steady"}
    assert len(phases) == 1  # one schedule for both


def test_paced_workers_run_the_same_passes_and_end_in_the_pause_after_the_last(rig):
    device = rig.device(measure=1.5)  # shorter than a pause
    try:
        with device.session(rig.artifact(), two_workers(rig)) as session:
            passes = of_each(session.measure(rig.plan(passes=2, period_s=2.0, warmup_cap=0)))
    finally:
        device.close()
    for mine in passes:
        assert [each.phase for each in mine if each.phase not in ("first", "warmup")] == ["steady"] * 2


def test_a_slow_link_delays_the_common_start(rig, device, monkeypatch):
    monkeypatch.setattr(SessionClock, "latest_trip_s", 0.4)
    with device.session(rig.artifact(), two_workers(rig)) as session:
        passes = list(session.measure(rig.plan(passes=1, period_s=0.1, warmup_cap=0)))
    begin_ns = min(each.due_ns for each in passes if each.phase == "steady")
    assert begin_ns - max(each.end_ns for each in passes if each.phase == "first") > 700_000_000


def test_two_workers_go_on_until_each_has_lasted_long_enough_for_a_meter(rig, device):
    with device.session(rig.artifact(), two_workers(rig, host_metering=True)) as session:
        passes = of_each(session.measure(rig.plan(passes=1, least_s=0.15, warmup_cap=0)))
    lasted_ns = [[timed.image_ns for timed in mine if timed.phase == "steady"] for mine in passes]
    assert all(sum(mine) >= 150_000_000 for mine in lasted_ns)


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
    assert re.search(r"meanwhile worker 0: measure, [1-9]\d* passes", caught.value.why)
    assert not agent.children()
    # The next session has both slots again.
    with device.session(rig.artifact(), two_workers(rig)) as session:
        assert session.golden().shape == (20, 5)


def test_a_failed_reply_and_a_lost_link_say_how_far_the_workers_were(rig, device):
    options = rig.options(fault="raise", fault_stage="measure", delay_us=2000)
    settings = replace(two_workers(rig), options=options)
    with pytest.raises(SessionError) as caught, device.session(rig.artifact(), settings) as session:
        list(session.measure(rig.plan(passes=1)))
    assert re.search(r"asked to fail \(meanwhile worker [01]: measure, 0 passes\)", caught.value.why)
    with (
        pytest.raises(SessionError) as caught,
        device.session(rig.artifact(), two_workers(rig)) as session,
    ):
        passes = session.measure(rig.plan(passes=1000))
        while next(passes).phase != "steady":
            pass
        psutil.Process(device._connection._process.pid).kill()
        list(passes)
    assert caught.value.status == "lost_connection"
    assert re.search(r"meanwhile worker 0: measure, \d+ passes; worker 1: measure, \d+", caught.value.why)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="telemetry reads /proc")
def test_telemetry_watches_every_worker(rig, device):
    agent = psutil.Process(device._connection._process.pid)
    with device.session(rig.artifact(), two_workers(rig, monitors=("telemetry:10",))) as session:
        list(session.measure(rig.plan(passes=10)))
        samples = [chunk.values["worker_running"].max() for chunk in session.probe_chunks()]
        used_s = [sum(child.cpu_times()[:2]) for child in agent.children() if "worker" in child.cmdline()]
        [telemetry] = session.facts().probes
    assert {"involuntary_switches", "worker_running"} <= {channel.name for channel in telemetry.channels}
    assert len(used_s) == 2
    assert max(samples) > 0


def test_each_worker_loads_its_own_artifact_and_is_checked_by_its_own_scores(rig, device):
    settings = replace(rig.settings(), others=(rig.artifact("int8", depth=0.25),))
    with device.session(rig.artifact(), settings) as session:
        own, other = np.split(session.golden(), 2)
        facts = session.facts()
    assert np.allclose(own, rig.artifact().golden.scores, atol=1e-3)
    assert not np.array_equal(own, other)
    assert np.allclose(other, settings.others[0].golden.scores, atol=0.1)
    assert [worker.variant for worker in facts.workers] == ["mobilenet_v1-1.0-fp32", "mobilenet_v1-0.25-int8"]


def test_cores_are_divided_evenly_and_each_worker_is_pinned_to_its_own(rig, device):
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("one core cannot be divided")
    agent = psutil.Process(device._connection._process.pid)
    with device.session(rig.artifact(), two_workers(rig, share="cores")) as session:
        pinned = [worker.cores for worker in session.facts().workers]
        assert sorted(map(tuple, (child.cpu_affinity() for child in agent.children()))) == pinned
    half = len(usable) // 2
    assert pinned == [tuple(usable[:half]), tuple(usable[half : 2 * half])]


@pytest.mark.attack("more workers are to be pinned than a board has cores: nothing is started")
def test_more_workers_than_cores_end_before_anything_starts(rig, device):
    settings = replace(two_workers(rig, share="cores"), launch=Launch(affinity=(0,)))
    agent = psutil.Process(device._connection._process.pid)
    with pytest.raises(SessionError, match="2 workers share 1 cores") as caught:
        device.session(rig.artifact(), settings).__enter__()
    assert (caught.value.stage, agent.children()) == ("start", [])


@pytest.mark.attack("a second worker does not fit in a board's memory: the session ends with both figures")
def test_a_worker_that_does_not_fit_in_memory_is_not_started(rig, tmp_path, monkeypatch):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 1000000 kB\nMemAvailable: 2048 kB\n")
    monkeypatch.setenv("EDGEBENCH_BOARD_ROOT", str(tmp_path))
    opened = rig.device()
    try:
        with pytest.raises(SessionError) as caught:
            opened.session(rig.artifact(), two_workers(rig)).__enter__()
        agent = psutil.Process(opened._connection._process.pid)
        assert not agent.children()
    finally:
        opened.close()
    assert (caught.value.status, caught.value.stage) == ("out_of_memory", "start")
    assert re.search(r"2 MiB are available, and worker 0 took \d+ MiB", caught.value.why)


def test_an_interrupt_lets_the_passes_in_progress_finish_and_keeps_them(rig, device):
    taken = []
    with pytest.raises(KeyboardInterrupt), device.session(rig.artifact(), two_workers(rig)) as session:
        timer = threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        for each in session.measure(rig.plan(passes=100_000, warmup_cap=0)):
            taken.append(each)
    timer.join()
    ran = [[each for each in taken if each.worker == worker and each.index] for worker in (0, 1)]
    assert all(mine[-1].end_ns > session.facts().windows_ns.steady[1] - 1 for mine in ran)
    with device.session(rig.artifact(), two_workers(rig)) as session:  # nothing of it is left
        assert session.golden().shape == (20, 5)
