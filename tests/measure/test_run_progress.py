"""How far a run is, put together from its hosts."""

import math
import threading

import pytest

from edgebench.run.measuring.progress import Observer, RunProgress, SessionLatency, SessionState


class Watching(Observer):
    def __init__(self):
        self.drawn = []

    def moves(self, *, begins):
        return True

    def session_starts(self, run, session):
        self.drawn.append((run, [session.host]))

    def sessions_move(self, run, sessions):
        self.drawn.append((run, [session.host for session in sessions]))


def progress(**more):
    return RunProgress(Watching(), ["", "pi"], 4, at_most=False, lock=threading.RLock(), **more)


def move(run, host, share, left_s):
    run.moves(SessionState(host, "a", "pass 1 of 2", share), lambda: left_s, begins=False)


def test_a_run_takes_as_long_as_the_slowest_of_its_hosts():
    run = progress()
    run.begins("", "a", 10.0)
    run.begins("pi", "a", 40.0)
    # The second host had not begun when the first one did.
    assert [state.left_s for state, _ in run.observer.drawn] == [math.inf, 40.0]
    run.host_ended("pi")
    move(run, "", 0.5, 5.0)
    assert run.observer.drawn[-1][0].left_s == 5.0


def test_the_bar_of_the_run_moves_with_its_sessions():
    run = progress()
    run.begins("", "a", 0.0)
    run.begins("pi", "a", 0.0)
    move(run, "", 0.5, 0.0)
    move(run, "pi", 0.25, 0.0)
    run.ended("", "a", SessionLatency("image_s", 1.0), "ok", 9.0)
    run.begins("", "b", 0.0)
    assert [state.share for state, _ in run.observer.drawn] == pytest.approx(
        [0, 0, 0.5 / 4, 0.75 / 4, 1.25 / 4]
    )
    assert [state.session for state, _ in run.observer.drawn] == [1, 2, 2, 2, 3]


def test_nothing_is_drawn_for_a_board_while_this_machine_may_be_timed():
    run = progress(beside_others=True)
    run.begins("", "a", 0.0)
    run.begins("pi", "a", 0.0)
    before = len(run.observer.drawn)
    move(run, "pi", 0.5, 0.0)
    assert len(run.observer.drawn) == before
    move(run, "", 0.5, 0.0)
    assert run.observer.drawn[-1][1] == ["", "pi"]
