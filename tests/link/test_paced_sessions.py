"""Paced and sustained sessions, with a real agent and worker."""

import dataclasses
import itertools
import os
import signal
import threading
import time

import psutil
import pytest

from edgebench.errors import SessionError


def test_paced_passes_start_when_they_are_due_and_not_before(rig):
    device = rig.device()
    try:
        with device.session(rig.artifact(), rig.settings()) as session:
            passes = list(session.measure(rig.plan(passes=4, period_s=0.15)))
    finally:
        device.close()
    steady = [measured_pass for measured_pass in passes if measured_pass.phase == "steady"]
    assert [measured_pass.due_ns for measured_pass in passes if measured_pass.phase != "steady"] == [None] * (
        len(passes) - 4
    )
    due = [measured_pass.due_ns for measured_pass in steady]
    assert [later - earlier for earlier, later in itertools.pairwise(due)] == [150_000_000] * 3
    assert all(measured_pass.start_ns >= measured_pass.due_ns for measured_pass in steady)
    assert all(measured_pass.deadline_ns == measured_pass.due_ns + 150_000_000 for measured_pass in steady)
    # The wait lies outside the pass: its first batch follows its start at once.
    assert all(
        measured_pass.stamps_ns[0, 0, 0] - measured_pass.start_ns < measured_pass.image_ns
        for measured_pass in steady
    )


def test_a_device_that_is_too_slow_misses_every_deadline_and_keeps_the_schedule(rig):
    device = rig.device()
    try:
        with device.session(rig.artifact(), rig.settings(delay_us=3000)) as session:
            passes = list(session.measure(rig.plan(passes=3, period_s=0.001)))
    finally:
        device.close()
    steady = [measured_pass for measured_pass in passes if measured_pass.phase == "steady"]
    late = [measured_pass.lateness_ns for measured_pass in steady]
    assert all(lateness_ns > 0 for lateness_ns in late)
    assert late == sorted(late)
    assert steady[2].due_ns - steady[0].due_ns == 2_000_000


def test_a_sustained_session_goes_on_for_its_time(rig):
    device = rig.device()
    try:
        with device.session(rig.artifact(), rig.settings()) as session:
            passes = list(session.measure(rig.plan(passes=1, sustained_s=0.3)))
    finally:
        device.close()
    steady = [measured_pass for measured_pass in passes if measured_pass.phase == "steady"]
    assert len(steady) > 1
    assert steady[-1].end_ns - steady[0].start_ns >= 300_000_000
    assert steady[-2].end_ns - steady[0].start_ns < 300_000_000
    assert [measured_pass.index for measured_pass in passes] == sorted(
        {measured_pass.index for measured_pass in passes}
    )


@pytest.mark.parametrize("period_s", [None, 0.1])
def test_passes_go_on_for_as_long_as_a_meter_takes(rig, period_s):
    device = rig.device()
    plan = rig.plan(passes=1, period_s=period_s, least_s=0.35, warmup_cap=0)
    metered, unmetered = dataclasses.replace(rig.settings(), host_metering=True), rig.settings()
    try:
        with device.session(rig.artifact(), metered) as session:
            steady = [timed for timed in session.measure(plan) if timed.phase == "steady"]
        with device.session(rig.artifact(), unmetered) as session:
            assert len([timed for timed in session.measure(plan) if timed.phase == "steady"]) == 1
    finally:
        device.close()
    if period_s is None:
        lasted_ns = [timed.image_ns for timed in steady]
        assert sum(lasted_ns) >= 350_000_000 > sum(lasted_ns[:-1])
    else:
        assert steady[-1].deadline_ns - steady[0].due_ns >= 350_000_000
        assert steady[-1].due_ns - steady[0].due_ns < 350_000_000


def test_a_paced_measurement_that_is_left_early_leaves_the_worker_to_the_next_request(rig):
    device = rig.device()
    try:
        with device.session(rig.artifact(), rig.settings()) as session:
            passes = session.measure(rig.plan(passes=100_000, period_s=0.05))
            while next(passes).phase != "steady":
                pass
            passes.close()
            assert len(session.predict(rig.images)) == rig.images.n
    finally:
        device.close()


def test_an_interrupt_in_the_pause_before_a_pass_ends_it_there(rig):
    device = rig.device()
    try:
        with pytest.raises(KeyboardInterrupt), device.session(rig.artifact(), rig.settings()) as session:
            passes = session.measure(rig.plan(passes=3, period_s=600.0))
            while next(passes).phase != "steady":
                pass
            timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            next(passes)  # due in ten minutes
        timer.join()
        # Nothing of the session is left: the next one starts.
        with device.session(rig.artifact(), rig.settings()) as session:
            assert len(list(session.measure(rig.plan(passes=1)))) >= 2
    finally:
        device.close()


@pytest.mark.attack("a worker is killed between two paced passes: a crash with its signal, and no time limit")
def test_a_paced_worker_that_is_killed_is_a_crash_wherever_its_end_is_heard(rig):
    device = rig.device(measure=20.0)
    try:
        agent = psutil.Process(device._connection._process.pid)
        with pytest.raises(SessionError) as caught, device.session(rig.artifact(), rig.settings()) as session:
            events = []

            def hear(frame):
                events.append(frame.message["event"])
                session._hear(frame)

            session._board.connection.listen(hear)
            passes = session.measure(rig.plan(passes=1000, period_s=0.05))
            while next(passes).phase != "steady":
                pass
            [worker] = agent.children()
            worker.kill()
            deadline_s = time.monotonic() + 30.0
            while "ended" not in events and time.monotonic() < deadline_s:
                assert list(session.probe_chunks()) == []
                time.sleep(0.01)
            assert events == ["ended"]
            next(passes)
        assert (caught.value.status, caught.value.signal) == ("crash", "SIGKILL")
    finally:
        device.close()
