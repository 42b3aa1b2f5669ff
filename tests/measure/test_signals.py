"""Ctrl-C, SIGTERM and SIGHUP: held back while a session is written, and taken for the same wish."""

import os
import signal

import pytest

from edgebench.interruption import ends_once, exit_code, held_interrupt, terminate_as_interrupt

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", ENDING)
def test_an_interrupt_waits_for_the_block_and_then_comes(number):
    done = []
    before = signal.getsignal(number)
    with terminate_as_interrupt():
        with pytest.raises(KeyboardInterrupt), held_interrupt():
            os.kill(os.getpid(), number)
            done.append("written")
        assert exit_code() == 128 + number
    assert done == ["written"]
    assert signal.getsignal(number) is before


def test_without_an_interrupt_nothing_happens_and_handlers_are_put_back():
    before = [signal.getsignal(number) for number in ENDING]
    with terminate_as_interrupt(), held_interrupt():
        pass
    assert [signal.getsignal(number) for number in ENDING] == before


@pytest.mark.parametrize("number", ENDING)
def test_a_polite_kill_is_an_interrupt(number):
    with pytest.raises(KeyboardInterrupt), terminate_as_interrupt():
        os.kill(os.getpid(), number)
    assert exit_code() == 128 + number


def test_what_was_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminate_as_interrupt(), held_interrupt():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_terminal_that_hangs_up_twice_wishes_one_end_and_ctrl_c_twice_two():
    with terminate_as_interrupt():
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert exit_code() == 129


def test_the_second_gives_up_what_is_in_hand_and_those_after_it_leave_the_cleaning_up_alone():
    with terminate_as_interrupt():
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
        for number in ENDING:
            os.kill(os.getpid(), number)
    assert exit_code() == 130


def test_a_program_that_was_interrupted_is_deaf_while_it_ends_and_the_next_block_hears_again():
    before = {number: signal.getsignal(number) for number in ENDING}
    try:
        with ends_once():
            with pytest.raises(KeyboardInterrupt), terminate_as_interrupt():
                os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        assert exit_code() == 143
    finally:
        for number, was in before.items():
            signal.signal(number, was)
    with terminate_as_interrupt(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
