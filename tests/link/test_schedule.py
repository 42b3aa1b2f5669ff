"""How the host follows the steady passes of a session."""

import pytest

from edgebench.agent.frames import ProtocolError
from edgebench.link.session_loop import Schedule
from edgebench.records.session import MeasurePlan
from edgebench.run.meters import SlowestMeter
from tests.fakes import made_scene

SECOND = 1_000_000_000


def schedule(passes=3, host=lambda: 0.0, **more):
    return Schedule(MeasurePlan(made_scene(), passes, **more), host)


def test_back_to_back_counts_passes():
    passes_schedule = schedule()
    taken = 0
    while not passes_schedule.over:
        assert passes_schedule.take_in(taken * SECOND, taken * SECOND + 1, None) == (None, None)
        taken += 1
    assert taken == 3
    assert passes_schedule.wait_s(0) == 0


def test_sustained_goes_on_for_its_time_on_the_devices_clock_and_once_at_least():
    passes_schedule = schedule(sustained_s=10)
    taken = 0
    while not passes_schedule.over:
        passes_schedule.take_in(taken * 3 * SECOND, (taken + 1) * 3 * SECOND, None)
        taken += 1
    assert taken == 4
    short = schedule(sustained_s=0.001)
    assert not short.over
    short.take_in(0, SECOND, None)
    assert short.over


def test_paced_passes_have_their_due_time_and_deadline():
    passes_schedule = schedule(period_s=2.0)
    assert passes_schedule.take_in(100, 900, 90) == (90, 90 + 2 * SECOND)
    assert passes_schedule.wait_s(90 + SECOND) == pytest.approx(1.0)
    assert passes_schedule.wait_s(90 + 5 * SECOND) == 0
    late = 90 + 6 * SECOND
    assert passes_schedule.take_in(late, late + 1, 90 + 2 * SECOND) == (90 + 2 * SECOND, 90 + 4 * SECOND)


def test_a_paced_sustained_session_counts_the_pauses():
    passes_schedule = schedule(period_s=2.0, sustained_s=6.0)
    taken = 0
    while not passes_schedule.over:
        due = taken * 2 * SECOND
        passes_schedule.take_in(due, due + 1000, due)
        taken += 1
    assert taken == 3


@pytest.mark.parametrize(
    ("start", "due"), [(2 * SECOND, None), (SECOND, 2 * SECOND), (3 * SECOND, 3 * SECOND - 1)]
)
def test_a_device_that_does_not_keep_the_schedule_is_not_believed(start, due):
    passes_schedule = schedule(period_s=2.0)
    passes_schedule.take_in(0, 1, 0)
    with pytest.raises(ProtocolError):
        passes_schedule.take_in(start, start + 1, due)


def test_passes_go_on_until_they_have_lasted_long_enough_for_a_meter():
    passes_schedule = schedule(least_s=10.0)
    taken = 0
    while not passes_schedule.over:
        # What lies between two passes, three seconds here, is no time within them.
        passes_schedule.take_in(taken * 5 * SECOND, taken * 5 * SECOND + 2 * SECOND, None)
        taken += 1
    assert taken == 5
    long_enough = schedule(passes=1, least_s=10.0)
    long_enough.take_in(0, 11 * SECOND, None)
    assert long_enough.over
    sustained = schedule(sustained_s=3.0, least_s=10.0)
    sustained.take_in(0, 9 * SECOND, None)
    assert not sustained.over
    assert sustained.request["least_ns"] == 10 * SECOND


def test_passes_that_a_meter_cannot_tell_from_the_pauses_last_with_them():
    passes_schedule = schedule(least_s=10.0)
    taken = 0
    while not passes_schedule.over:
        passes_schedule.take_in(taken * SECOND, taken * SECOND + SECOND // 10, None)
        taken += 1
    assert taken == 11


def test_of_paced_passes_whole_cycles_last():
    passes_schedule = schedule(passes=1, period_s=2.0, least_s=5.0)
    taken = 0
    while not passes_schedule.over:
        passes_schedule.take_in(taken * 2 * SECOND, taken * 2 * SECOND + 1, taken * 2 * SECOND)
        taken += 1
    assert taken == 3


@pytest.mark.parametrize("rate_hz", [1, 2, 5, 10, 16, 20])
def test_host_and_device_end_paced_passes_at_the_same_one(rate_hz):
    """A meter's time, such as 5.500000000000001 s at 20 Hz, ends on the boundary between two passes."""
    period_s = 1 / rate_hz
    passes_schedule = schedule(passes=1, period_s=period_s, least_s=SlowestMeter("csv", rate_hz).least_s)
    period_ns, least_ns = (passes_schedule.request[name] for name in ("period_ns", "least_ns"))
    for taken in range(110):
        assert not passes_schedule.over
        passes_schedule.take_in(taken * period_ns, taken * period_ns + 1, taken * period_ns)
    assert 110 * period_ns >= least_ns  # the device has sent its last pass
    assert passes_schedule.over


def test_a_link_that_stood_still_is_not_held_against_a_devices_clock():
    now = iter([0.0, 1.0, 90.0, 91.0])
    passes_schedule = schedule(least_s=5.0, host=lambda: next(now))
    passes_schedule.take_in(0, SECOND, None)
    passes_schedule.take_in(SECOND, 2 * SECOND, None)  # its reply was on its way for a minute and a half
    passes_schedule.take_in(90 * SECOND, 91 * SECOND, None)
    with pytest.raises(ProtocolError):
        passes_schedule.take_in(2 * SECOND, 3 * SECOND, None)


def test_a_clock_that_stands_still_does_not_go_on_for_ever():
    now = iter([0.0, 100.0])
    passes_schedule = schedule(sustained_s=10, host=lambda: next(now))
    passes_schedule.take_in(5, 6, None)
    with pytest.raises(ProtocolError):
        passes_schedule.take_in(5, 6, None)


def test_a_host_that_stood_still_takes_in_paced_passes_without_a_complaint():
    now = iter([0.0, 1000.0, 1000.0])
    passes_schedule = schedule(period_s=2.0, sustained_s=4.0, host=lambda: next(now))
    passes_schedule.take_in(0, SECOND, 0)
    passes_schedule.take_in(2 * SECOND, 3 * SECOND, 2 * SECOND)
    assert passes_schedule.over


def test_the_clock_of_passes_that_the_device_starts_by_itself_is_bounded_by_the_hosts_too():
    host = iter(range(1000))
    crawling = schedule(sustained_s=5.0, host=lambda: next(host))
    with pytest.raises(ProtocolError, match=r"0\.0 s have passed in 6\d"):
        for taken in range(100):
            crawling.take_in(taken, taken + 1, None, asked=False)
    # A link that stood still gives what it held back all at once.
    now = iter([0.0, 1.0, *[90.0] * 90, *range(91, 200)])
    held_back = schedule(sustained_s=150.0, least_s=0.1, host=lambda: next(now))
    for taken in range(150):
        held_back.take_in(taken * SECOND, (taken + 1) * SECOND, None, asked=False)
    assert held_back.over
