"""When paced passes are due."""

from edgebench.agent.clock import Pace


class Time:
    """A clock that only moves when somebody sleeps, a little longer than asked for."""

    def __init__(self, oversleep_ns=50_000):
        self.now_ns = 5_000_000_000
        self.oversleep_ns = oversleep_ns
        self.sleeps = 0

    def clock(self):
        return self.now_ns

    def sleep(self, seconds):
        self.sleeps += 1
        self.now_ns += round(seconds * 1e9) + self.oversleep_ns


PERIOD = 1_000_000_000


def test_due_times_are_counted_from_the_first_and_late_starts_do_not_add_up():
    time = Time()
    pace = Pace(time.clock, time.sleep)
    due, started = [], []
    for _ in range(1000):
        due.append(pace.wait(PERIOD))
        started.append(time.now_ns)
        time.now_ns += 300_000_000
    assert due == [5_000_000_000 + number * PERIOD for number in range(1000)]
    late = [at - when for at, when in zip(started, due, strict=True)]
    assert late[0] == 0
    assert set(late[1:]) == {50_000}


def test_a_pass_that_takes_too_long_is_followed_at_once_and_the_schedule_is_kept():
    time = Time()
    pace = Pace(time.clock, time.sleep)
    first = pace.wait(PERIOD)
    time.now_ns += 2_500_000_000
    assert pace.wait(PERIOD) == first + PERIOD  # due long ago
    assert time.sleeps == 0
    time.now_ns += 100_000_000
    assert pace.wait(PERIOD) == first + 2 * PERIOD
    assert time.sleeps == 0
    assert pace.wait(PERIOD) == first + 3 * PERIOD
    assert time.now_ns == first + 3 * PERIOD + 50_000


def test_a_sleep_that_ends_early_is_slept_on():
    time = Time(oversleep_ns=-10)
    pace = Pace(time.clock, time.sleep)
    first = pace.wait(PERIOD)

    def short(seconds):
        time.sleeps += 1
        time.now_ns += min(round(seconds * 1e9), 400_000_000)

    pace._sleep = short
    assert pace.wait(PERIOD) == first + PERIOD == time.now_ns
    assert time.sleeps == 3


def test_a_pause_ends_when_no_further_pass_is_wanted():
    time = Time()
    pace = Pace(time.clock, time.sleep, over=lambda: time.now_ns > 5_400_000_000)
    first = pace.wait(PERIOD)

    def doze(seconds):
        time.now_ns += round(0.5 * seconds * 1e9)

    pace._sleep = doze
    assert pace.wait(PERIOD) == first + PERIOD > time.now_ns
