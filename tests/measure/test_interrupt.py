"""Ctrl-C held back while a session is written."""

import os
import signal

import pytest

from edgebench.measure.interrupt import held_interrupt, terminate_as_interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_the_block_and_then_comes(number):
    done = []
    with pytest.raises(KeyboardInterrupt), held_interrupt():
        os.kill(os.getpid(), number)
        done.append("written")
    assert done == ["written"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_an_interrupt_nothing_happens_and_handlers_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with held_interrupt():
        pass
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_polite_kill_is_an_interrupt():
    with pytest.raises(KeyboardInterrupt), terminate_as_interrupt():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
