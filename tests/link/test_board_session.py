"""The frame of a session without an agent, around passes; test_window_session.py has it around windows."""

from pathlib import Path

import numpy as np
import pytest

from edgebench.errors import SessionError
from edgebench.link import window_session
from edgebench.link.clock_match import BoardFault
from edgebench.records.session import LoadBursts, MeasurePlan, Pass, SessionSettings
from edgebench.records.target import Launch
from edgebench.records.values import Scene
from edgebench.stats.clock import RoundTrip

SECOND_NS = 10**9
PLAN = MeasurePlan(Scene(Path("scene.npy"), "", 16, 16, 16), passes=2)


class Board:
    """A clock that only its work moves, 3 s ahead of the host's."""

    def __init__(self):
        self.now_ns, self.taken = 0, []

    def round_trip(self):
        self.now_ns += 2000
        return RoundTrip(self.now_ns - 2000, self.now_ns - 1000 + 3 * SECOND_NS, self.now_ns)

    def work(self, busy_s):
        start_ns = self.now_ns + 3 * SECOND_NS
        self.now_ns += round(busy_s * SECOND_NS)
        return start_ns, self.now_ns + 3 * SECOND_NS

    def take(self, index, phase):
        self.taken.append((index, phase))
        start_ns, end_ns = self.work(1.0)
        stamps_ns = np.array([[[start_ns, end_ns]]], np.int64)
        return Pass(index, phase, start_ns, end_ns, ("infer",), stamps_ns, None, 1)


class Session(window_session.BoardSession[Pass]):
    def __init__(self, board, **settings):
        super().__init__(board.round_trip, SessionSettings(1, {}, Launch(), **settings))
        self._board = board

    def _take(self, index, phase):
        return self._board.take(index, phase)

    def _work(self, busy_s):
        return self._board.work(busy_s)


class WarmSession(Session):
    def _warm_up(self):
        return [self._board.take(1, "warmup")]


class FailingSession(Session):
    def _take(self, index, phase):
        return self.ask(fails) if index else super()._take(index, phase)


def fails():
    raise BoardFault("the board answers something else")


def test_first_warm_up_and_steady_passes_with_the_clock_before_and_after():
    board = Board()
    session = WarmSession(board)
    session.start()
    passes = list(session.measure(PLAN))
    assert [(each.index, each.phase) for each in passes] == [
        (0, "first"), (1, "warmup"), (2, "steady"), (3, "steady"),
    ]  # fmt: skip
    facts = session.facts()
    assert set(facts.clock) == {"start", "end", "fit"}
    assert facts.windows_ns.steady == (passes[2].start_ns, passes[3].end_ns)
    assert facts.windows_ns.idle is None and facts.load_bursts is None
    assert "--meter" in facts.probe_reasons[""] and not facts.emulated


def test_where_a_meter_samples_there_are_idle_windows_and_bursts(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    board = Board()
    bursts = LoadBursts(0.5, (0.1, 0.2))
    session = Session(board, meters=("usb:1",), host_metering=True, idle_s=1e-9, bursts=bursts)
    list(session.measure(PLAN))
    facts = session.facts()
    windows = facts.windows_ns
    assert windows.idle is not None and windows.idle_after is not None and windows.steady is not None
    assert windows.idle[1] <= windows.steady[0] and windows.steady[1] <= windows.idle_after[0]
    assert facts.load_bursts is not None and len(facts.load_bursts.bursts_ns) == 2
    assert list(facts.probe_reasons) == ["usb:1"]


def test_a_board_that_fails_amid_an_answer_is_asked_nothing_more():
    session = FailingSession(Board())
    session.start()
    with pytest.raises(SessionError) as caught:
        list(session.measure(PLAN))
    assert (caught.value.status, caught.value.stage) == ("protocol_error", "measure")
    assert "end" not in session.facts().clock
