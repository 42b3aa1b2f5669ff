"""The tick of a device's clock."""

import pytest

from edgebench.agent import clock


@pytest.mark.parametrize(("tick", "reading"), [(4_000_000, 70), (10_000_000, 900), (1_000, 70), (1, 60)])
def test_the_tick_is_the_smallest_step_that_readings_show(tick, reading):
    now_ns = 123_456_789

    def read():
        nonlocal now_ns
        now_ns += reading
        return now_ns // tick * tick

    assert clock.tick_ns(read) == max(tick, reading)


def test_a_clock_that_stands_still_has_no_tick(monkeypatch):
    monkeypatch.setattr(clock, "MOST_READINGS", 1000)
    assert clock.tick_ns(lambda: 5) is None


def test_this_machines_clock_has_a_tick():
    assert (clock.tick_ns(clock.monotonic_clock()) or 0) > 0
