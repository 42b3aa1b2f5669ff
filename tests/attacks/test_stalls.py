"""A board, a link or the harness itself that stands still for a while, or for good."""

import os
import signal
import threading
import time

import psutil
import pytest

from edgebench import interruption
from edgebench.errors import SessionError
from edgebench.link import connection, placing
from edgebench.link import connection as pipes
from edgebench.link import failures as session_faults
from tests.link.rig import make_rig

LONG_S = 60.0


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


@pytest.fixture
def stopping_amid(rig, tmp_path, monkeypatch):
    """A device whose agent is stopped, as by a stuck SD card, once some of the scene has been sent to it."""
    monkeypatch.setattr(pipes, "PIPE_BYTES", 4096)
    monkeypatch.setattr(placing, "PIECE_BYTES", 1 << 18)
    monkeypatch.setattr(connection, "CLOSE_S", 0.2)

    def make(connect):
        device = rig.device(folder=tmp_path / "board", connect=connect)
        amid = threading.Event()

        def report(stage, done, steps):
            if stage == "sending scene" and done >= 1:
                os.kill(device._connection._process.pid, signal.SIGSTOP)
                amid.set()

        settings = rig.settings()
        object.__setattr__(settings, "report", report)
        return device, settings, amid

    return make


@pytest.mark.attack(
    "a board stops reading while images are sent: the session fails with its reason, the next goes on"
)
def test_a_board_that_stops_reading_amid_the_scene(rig, stopping_amid):
    device, settings, _ = stopping_amid(1.0)
    try:
        with pytest.raises(SessionError) as caught, device.session(rig.artifact(), settings) as session:
            session.golden()
            list(session.measure(rig.plan()))
        assert (caught.value.status, caught.value.stage) == ("timeout", "scene")
        assert "took in nothing for 1 s" in caught.value.why
        with device.session(rig.artifact(), rig.settings()) as session:
            assert len(list(session.measure(rig.plan(passes=1)))) >= 2
    finally:
        device.close()


@pytest.mark.attack("Ctrl-C while a board has stopped reading: the first Ctrl-C ends its session")
def test_one_interrupt_ends_a_session_on_a_board_that_stopped_reading(rig, stopping_amid):
    ended: list[str] = []
    device, settings, amid = stopping_amid(LONG_S)

    def measure():
        with interruption.heard_here(interrupts):
            try:
                with device.session(rig.artifact(), settings) as session:
                    list(session.measure(rig.plan()))
            except KeyboardInterrupt:
                ended.append("interrupted")
            finally:
                device.close()

    with interruption.Interrupts() as interrupts:
        thread = threading.Thread(target=measure)
        thread.start()
        assert amid.wait(LONG_S)
        interrupts.pass_on()
        thread.join(LONG_S)
        assert not thread.is_alive()
    assert ended == ["interrupted"]


@pytest.mark.attack("the harness stands still for several periods: no paced pass is late because of it")
def test_a_harness_that_stands_still_makes_no_pass_late(rig):
    period_s = 0.3
    device = rig.device()
    try:
        with device.session(rig.artifact(), rig.settings()) as session:
            passes = session.measure(rig.plan(passes=6, period_s=period_s))
            steady = [next(one for one in passes if one.phase == "steady")]
            time.sleep(4 * period_s)
            steady += list(passes)
            assert len(steady) == 6
            # A pass of the toy takes milliseconds: one that had waited for the host were late by periods.
            assert [one.lateness_ns for one in steady if one.lateness_ns > 0] == []
    finally:
        device.close()


@pytest.mark.attack("a stop is asked for and the agent stands still: it is not waited for, and it is killed")
def test_a_stopped_agent_is_not_waited_for_once_a_stop_was_asked_for(rig, monkeypatch):
    grace_s = 0.2
    monkeypatch.setattr(session_faults, "STOP_GRACE_S", grace_s)
    device = rig.device()
    agent = psutil.Process(device._connection._process.pid)
    waits_s = []
    try:
        with pytest.raises(KeyboardInterrupt), device.session(rig.artifact(), rig.settings()) as session:
            connection = session._board.connection
            receive, send = connection._receive, connection.send

            def sending(message, *payload_and_limit):
                request = send(message, *payload_and_limit)
                if message["op"] == "pass":
                    agent.suspend()
                    monkeypatch.setattr(connection, "_receive", interrupted_once)
                return request

            def interrupted_once(timeout_s):
                waits_s.append(timeout_s)
                if len(waits_s) == 1:
                    raise KeyboardInterrupt
                return receive(timeout_s)

            monkeypatch.setattr(connection, "send", sending)
            try:
                list(session.measure(rig.plan(passes=5)))
            finally:
                session.facts()
        assert len(waits_s) > 1 and max(waits_s[1:]) <= grace_s
        assert not agent.is_running()
    finally:
        device.close()
