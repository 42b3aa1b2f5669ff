"""A device's clock that is shifted and drifts is found within the stated bound; every stamp is on it."""

import time
from dataclasses import asdict, replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from edgebench.agent import clock
from edgebench.link import clock_match as clockmatch
from edgebench.link.clock_match import BETWEEN_TRIPS, LINK_CUT_S, ROUND_TRIPS, SessionClock, device_at, match
from edgebench.link.replies import ImpossibleTimes
from edgebench.stats.clock import ClockFit, RoundTrip
from tests.link.old_python import python36

OFFSET_NS, DRIFT_PPM = 3_600_000_000_000, 400.0


def moved(host_ns):
    """What the injected clock says at that moment of this machine's."""
    return host_ns + OFFSET_NS + host_ns * 400_000 // 1_000_000_000


@pytest.fixture
def drifting(rig, monkeypatch):
    monkeypatch.setenv(clock.ENVIRONMENT, f"{OFFSET_NS},{DRIFT_PPM}")
    opened = []

    def make(**how):
        opened.append(rig.device(**how))
        return opened[-1]

    yield make
    for device in opened:
        device.close()


def test_the_edges_match_within_their_bound(device):
    session = SessionClock(device._connection)
    session.edge("start", 30.0)
    facts = session.facts()
    assert abs(facts["start"]["offset_ns"]) <= facts["start"]["bound_ns"]
    assert facts["fit"]["n"] == ROUND_TRIPS
    assert abs(facts["fit"]["offset_ns"]) <= facts["fit"]["bound_ns"]
    assert "end" not in facts


def test_the_quickest_trip_of_an_edge_counts():
    fit = match([RoundTrip(0, 5_000, 4_000), RoundTrip(10_000, 13_000, 10_101)])
    assert (fit.offset_ns, fit.bound_ns) == (2_950, 51)


@pytest.mark.parametrize("drift_ppm", [400, -400])
def test_a_drift_is_carried_on_beyond_the_latest_round_trip(drift_ppm):
    def trip(host_ns, way_ns=50_000):
        drifted_ns = host_ns + 7_000 + host_ns * drift_ppm // 1_000_000
        return RoundTrip(host_ns - way_ns, drifted_ns, host_ns + way_ns)

    first, latest = [trip(0), trip(10**6)], [trip(10**11, 90_000), trip(10**11 + 10**6)]
    then_ns = 15 * 10**11  # a session whose passes are all late takes no further round trips
    true_ns = trip(then_ns).device_ns
    assert abs(device_at(then_ns, first, latest) - true_ns) < 10_000
    assert abs(match(latest).offset_ns + then_ns - true_ns) > 500_000_000


def test_a_drift_within_the_round_trips_own_uncertainty_is_none():
    first, latest = [RoundTrip(0, 5_000, 10_000)], [RoundTrip(20_000, 26_000, 30_000)]
    assert device_at(10**9, first, latest) == 10**9 + 1_000


@pytest.mark.attack("a link is held up during a session: the stall is noticed")
def test_a_reply_that_a_cut_link_held_up_is_a_stall(device, monkeypatch):
    session = SessionClock(device._connection)
    session.edge("start", 30.0)
    session.asked()
    session.note_reply(session.device_ns())
    assert session.warnings() == []
    session.asked()
    sent_ns = session.device_ns()
    later = SimpleNamespace(monotonic_ns=lambda: time.monotonic_ns() + 42_000_000_000)
    with monkeypatch.context() as patched:
        patched.setattr(clockmatch, "time", later)
        session.note_reply(sent_ns)
    [warning] = session.warnings()
    assert "stood still for 42 s" in warning
    session = SessionClock(device._connection)
    monkeypatch.setattr(clockmatch, "LINK_CUT_S", 0.0)
    session.between(30.0)  # any round trip is longer
    assert session.warnings()


def test_a_reply_that_waits_while_the_clock_is_read_is_no_clock_that_runs_back(device):
    session = SessionClock(device._connection)
    session.edge("start", 30.0)
    session.asked()
    early_ns = device._connection.request({"op": "clock"}, 30.0).message["now_ns"]
    session.between(30.0)
    session.note_reply(early_ns)
    assert session.span_of().to_ns == early_ns
    with pytest.raises(ImpossibleTimes):
        session.note_reply(session.span_of().from_ns - 1)


@pytest.mark.attack("a session outlives a cut of its link: it says so")
def test_a_session_that_outlived_a_cut_says_so(rig, device, monkeypatch):
    for stall_s, warned in ((clockmatch.LINK_CUT_S, 0), (0.0, 1)):
        monkeypatch.setattr(clockmatch, "LINK_CUT_S", stall_s)
        with device.session(rig.artifact(), rig.settings()) as session:
            list(session.measure(rig.plan(passes=1, warmup_cap=0)))
            warnings = session.facts().warnings
        assert len([warning for warning in warnings if "stood still" in warning]) == warned


def test_a_cut_is_noticed_at_every_reply_of_the_worker(rig, drifting, monkeypatch):
    ways_ns = []
    monkeypatch.setattr(
        SessionClock, "note_reply", lambda self, sent_ns, worker: ways_ns.append(self.device_ns() - sent_ns)
    )
    noted = []
    with drifting().session(rig.artifact(), rig.settings()) as session:
        noted.append(len(ways_ns))  # load
        session.golden()
        noted.append(len(ways_ns))
        list(session.measure(rig.plan(passes=1, warmup_cap=0)))  # scene, first pass, warm-up, pass
        noted.append(len(ways_ns))
        session.predict(rig.images)
        noted.append(len(ways_ns))
    assert noted == [1, 2, 6, 8]
    assert all(abs(way_ns) < OFFSET_NS / 10 for way_ns in ways_ns)  # by the device's clock


def test_without_a_round_trip_there_is_no_fit(device):
    assert SessionClock(device._connection).facts() == {}


@pytest.mark.attack("a board's clock is shifted and drifts: offset and drift are found")
@pytest.mark.parametrize("old", [False, True])
def test_a_moved_clock_is_found_and_all_stamps_are_on_it(rig, drifting, old):
    python, why = python36() if old else (None, "")
    if old and python is None:
        pytest.skip(why)
    device = drifting(python=python)
    settings = replace(rig.settings(delay_us=5_000), monitors=("telemetry:10",))
    before_ns = time.monotonic_ns()
    with device.session(rig.artifact(), settings) as session:
        passes = list(session.measure(rig.plan(passes=6, warmup_cap=20)))
        trips = list(session._clock.trips)
        facts = session.facts()
        chunks = list(session.probe_chunks())
    after_ns = time.monotonic_ns()

    fit = ClockFit(**facts.clock["fit"])
    scans = [measured_pass for measured_pass in passes if measured_pass.phase != "warmup"]
    assert fit.n == len(trips) == 2 * ROUND_TRIPS + BETWEEN_TRIPS * len(scans)
    assert asdict(fit) == facts.clock["fit"]
    # The two clocks are one here, so what is true is known to the nanosecond.
    for host_ns in (fit.from_ns, fit.reference_ns, fit.to_ns):
        [device_ns] = fit.stamps_to_device(np.array([host_ns], np.int64))
        assert abs(int(device_ns) - moved(host_ns)) <= fit.bound_ns
    for edge in ("start", "end"):
        true = moved(fit.from_ns if edge == "start" else fit.to_ns) - (
            fit.from_ns if edge == "start" else fit.to_ns
        )
        slack = facts.clock[edge]["bound_ns"] + 400e-6 * (fit.to_ns - fit.from_ns)
        assert abs(facts.clock[edge]["offset_ns"] - true) <= slack
    assert fit.drift_ppm is not None and fit.drift_bound_ppm is not None
    assert abs(fit.drift_ppm - DRIFT_PPM) <= fit.drift_bound_ppm

    assert facts.clock["test_clock"] == {"offset_ns": OFFSET_NS, "drift_ppm": DRIFT_PPM}
    assert any("no figure was measured here" in warning for warning in facts.warnings)

    start_ns, end_ns = moved(before_ns), moved(after_ns)
    for measured_pass in passes:
        assert start_ns < measured_pass.start_ns < measured_pass.end_ns < end_ns
        assert (
            measured_pass.start_ns <= measured_pass.stamps_ns.min()
            and measured_pass.stamps_ns.max() <= measured_pass.end_ns
        )
    stamps = np.concatenate([chunk.stamps_ns for chunk in chunks])
    assert start_ns < stamps.min() <= stamps.max() < end_ns

    # The agent answers while its worker is busy, so this says something: nobody asked it to.
    read_ns = [trip.device_ns for trip in trips]
    for measured_pass in passes:
        assert not any(measured_pass.start_ns <= at <= measured_pass.end_ns for at in read_ns)
    for measured_pass, following in pairwise(scans):
        assert sum(measured_pass.end_ns < at < following.start_ns for at in read_ns) == BETWEEN_TRIPS


def test_the_injected_clock_is_exact_and_off_by_default(monkeypatch):
    monkeypatch.delenv(clock.ENVIRONMENT, raising=False)
    assert clock.injected() is None
    assert clock.monotonic_clock() is time.monotonic_ns
    monkeypatch.setenv(clock.ENVIRONMENT, "-5,-0.5")
    on_clock = clock.injected()
    assert on_clock is not None
    assert on_clock(2_000_000_000) == 2_000_000_000 - 5 - 1000


def test_a_stall_amid_a_file_is_a_cut_that_the_session_outlived(device, monkeypatch):
    session = SessionClock(device._connection)
    assert session.warnings() == []
    device._connection.pipes.longest_stall_s = LINK_CUT_S + 2
    [warning] = session.warnings()
    assert "stood still for 7 s" in warning
    assert SessionClock(device._connection).warnings() == []  # another session's own
