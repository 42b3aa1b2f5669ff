"""Sessions in threads: interrupts are passed on to them, whatever they wait for."""

import threading

import pytest

from edgebench import interruption
from edgebench.errors import SessionError


def in_thread(interrupts, work):
    """Run `work` in a thread that hears `interrupts`; returns what it returned or raised."""
    outcomes = []

    def run():
        try:
            with interruption.heard_here(interrupts):
                outcomes.append(work())
        except BaseException as error:
            outcomes.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcomes


def test_an_interrupt_that_is_passed_on_lets_the_pass_in_hand_end(rig):
    started = threading.Event()
    passes = []

    def work():
        device = rig.device()
        try:
            with device.session(rig.artifact(), rig.settings(delay_us=5000)) as session:
                for measured_pass in session.measure(rig.plan(passes=100_000)):
                    passes.append(measured_pass)
                    if measured_pass.phase == "steady":
                        started.set()
        finally:
            device.close()

    with interruption.Interrupts() as interrupts:
        thread, outcomes = in_thread(interrupts, work)
        assert started.wait(60)
        interrupts.pass_on()
        thread.join(60)
        assert not thread.is_alive()
    assert isinstance(outcomes[0], KeyboardInterrupt)
    assert passes[-1].phase == "steady"
    assert passes[-1].scores is not None


def test_an_interrupt_ends_a_stage_that_hangs(rig):
    started = threading.Event()

    def work():
        device = rig.device()
        try:
            with device.session(rig.artifact(), rig.settings(fault="hang", fault_stage="golden")) as session:
                started.set()
                session.golden()
        finally:
            device.close()

    with interruption.Interrupts() as interrupts:
        thread, outcomes = in_thread(interrupts, work)
        assert started.wait(60)
        interrupts.pass_on()
        thread.join(60)
        assert not thread.is_alive()
    assert isinstance(outcomes[0], KeyboardInterrupt)


def test_without_an_interrupt_a_thread_is_like_any_other(rig):
    def work():
        device = rig.device()
        try:
            with device.session(rig.artifact(), rig.settings()) as session:
                return len(list(session.measure(rig.plan(passes=2))))
        finally:
            device.close()

    with interruption.Interrupts() as interrupts:
        thread, outcomes = in_thread(interrupts, work)
        thread.join(60)
    assert not isinstance(outcomes[0], SessionError)
    assert outcomes[0] >= 3


def test_interrupts_are_taken_one_by_one_and_only_in_their_thread():
    interruption.check()
    with interruption.Interrupts() as interrupts, interruption.heard_here(interrupts):
        interruption.check()
        interrupts.pass_on()
        interrupts.pass_on()
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                interruption.check()
        interruption.check()
    assert interruption.of_this_thread() is None
