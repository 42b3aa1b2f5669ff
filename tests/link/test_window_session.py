"""Sessions of windows on a board whose time, and the host's, go by its inferences alone."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from edgebench.errors import SessionError
from edgebench.link.clock_match import BoardFault
from edgebench.link.window_session import TimedInferences, WindowSession
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch
from edgebench.stats.clock import RoundTrip
from edgebench.testing.backend_kit import scene_of
from tests.backends.cortexm.first_light import first_light_artifact


class BoardGone(BoardFault):
    status = "lost_connection"


class Board:
    """Infers in so many seconds; its clock is 7 s ahead of the host's."""

    def __init__(self, inference_s, drift=0.0, fails_at=None, tick_ns=1):
        self.now_ns, self.loads, self.inferred, self._tick_ns, self._trips = 0, 0, [], tick_ns, 0
        self._drift, self._fails_at = drift, fails_at
        self.infers_in(inference_s)

    def infers_in(self, inference_s):
        self._inference_ns = round(inference_s * 1e9)

    def resynchronise(self):
        pass

    def load(self, patch):
        self.loads += 1
        self.now_ns += 10**9

    def infer(self, inferences, warm_ups, expected_s):
        self.inferred.append((inferences, warm_ups))
        if len(self.inferred) == self._fails_at:
            raise BoardGone("the board is gone")
        self.now_ns += warm_ups * self._inference_ns
        start_ns = self._device_ns()
        self.now_ns += inferences * self._inference_ns
        return TimedInferences(start_ns, self._device_ns(), np.array([0.5, 0.5], np.float32))

    def round_trip(self):
        self._trips += 1
        trip_ns = 10**6 + 7919 * self._trips % 100_000
        self.now_ns += trip_ns
        return RoundTrip(self.now_ns - trip_ns, self._device_ns(-5 * 10**5), self.now_ns)

    def _device_ns(self, before_ns=0):
        device_ns = 7 * 10**9 + round((self.now_ns + before_ns) * (1 + self._drift))
        return device_ns // self._tick_ns * self._tick_ns


@pytest.fixture
def artifact(session_cache):
    return first_light_artifact(session_cache)


@pytest.fixture
def plan(artifact, session_cache):
    return MeasurePlan(scene_of(artifact, session_cache), 3, patches=1)


def windows_of(board, artifact, plan):
    session = WindowSession(board, artifact, SessionSettings(1, {}, Launch()))
    session.start()
    session.golden()
    with closing(session.measure(plan)) as measured:
        return session, list(measured)


def test_windows_of_at_least_ten_seconds_after_their_warm_up(artifact, plan):
    board = Board(0.16)
    session, windows = windows_of(board, artifact, plan)
    assert board.inferred[-4:] == [(69, 0), (69, 10), (69, 10), (69, 10)]
    assert {window.duration_ns for window in windows} == {69 * 160 * 10**6}
    assert board.loads == 3 + 1  # of golden patches, and the one that stays
    assert session.facts().cold.first_inference_s == pytest.approx(0.16)
    assert session.facts().warnings == ()
    assert session.facts().clock["fit"]["misfit_ns"] == 0


def test_slow_inferences_have_windows_of_25_seconds_and_a_warning(artifact, plan):
    session, windows = windows_of(Board(4.0), artifact, plan)
    assert {window.inferences for window in windows} == {6}
    [warning] = session.facts().warnings
    assert "4 s" in warning and "hold 6" in warning


def test_a_sustained_part_goes_on_for_as_long_as_it_was_asked_for(artifact, plan):
    _, windows = windows_of(Board(0.16), artifact, replace(plan, sustained_s=60.0))
    steady = [window for window in windows if window.phase == "steady"]
    assert steady[-2].end_ns - steady[0].start_ns < 60e9 <= steady[-1].end_ns - steady[0].start_ns


def test_a_clock_of_another_pace_is_warned_of(artifact, plan):
    session, _ = windows_of(Board(0.16, drift=0.005), artifact, plan)
    [warning] = session.facts().warnings
    assert "0.50%" in warning


@pytest.mark.attack("a board's clock runs 3 % fast: the session fails, and none of its times is a figure")
def test_a_clock_that_cannot_be_right_ends_the_session(artifact, plan):
    with pytest.raises(SessionError) as caught:
        windows_of(Board(0.16, drift=0.03), artifact, plan)
    assert caught.value.status == "protocol_error"


def test_what_was_measured_is_given_before_the_board_is_lost(artifact, plan):
    session = WindowSession(Board(0.16, fails_at=6), artifact, SessionSettings(1, {}, Launch()))
    session.start()
    session.golden()
    windows = []
    with pytest.raises(SessionError) as caught:
        for window in session.measure(plan):
            windows.append(window)
    assert (caught.value.status, caught.value.stage) == ("lost_connection", "measure")
    assert len(windows) == 2
    assert "end" not in session.facts().clock  # a board that is gone is not asked for the time


def test_windows_that_are_shorter_than_ten_seconds_are_counted(artifact, plan):
    board = Board(0.16)
    session = WindowSession(board, artifact, SessionSettings(1, {}, Launch()))
    session.start()
    session.golden()
    with closing(session.measure(plan)) as measured:
        next(measured)
        board.infers_in(0.1)
        windows = list(measured)
    assert [window.inferences for window in windows] == [69, 110, 110]
    [warning] = session.facts().warnings
    assert "1 of 3 steady windows lasted less than 10 s" in warning


@pytest.mark.parametrize("tick_ns", [1, 1_000, 500_000])
def test_the_tick_of_the_boards_clock_is_recorded(artifact, plan, tick_ns):
    session, _ = windows_of(Board(0.16, tick_ns=tick_ns), artifact, plan)
    assert session.facts().tick_ns == tick_ns
