"""Sessions that end before all of them are measured: a rule that is met, a time that is over."""

import math
from collections import Counter
from dataclasses import replace

import pytest

from edgebench.run.measuring.host_trials import TimeBudget
from edgebench.run.measuring.progress import Observer
from tests.fakes import FakeDevice, machines_of
from tests.measure.test_lane_group import MemoryStore, experiment, statuses


class Watching(Observer):
    def __init__(self):
        self.lines = []

    def session_starts(self, run, session):
        self.lines.append((run.session, run.sessions, run.at_most))


def adaptive(store, enough, *, sessions=6, device=None, clock=None, **plan):
    """An experiment of two trials; `enough` says by place how many good sessions end a trial."""
    run = experiment(store, device or FakeDevice(), sessions=sessions)
    run.plan = replace(run.plan, **{"target_ci": 0.01, **plan})
    wanted = dict(zip([trial.key for trial in run.plan.trials], enough, strict=True))
    asked: list[tuple[str, int]] = []

    def settled(key):
        good = sum(record.status == "ok" for record in store.finished(key))
        asked.append((key, good))
        return good >= wanted[key]

    run.settled = settled
    if clock is not None:
        run.clock = clock
    return run, asked


def counts(store):
    return sorted(Counter(record.trial for record in store.records).values())


def test_a_trial_that_is_settled_drops_out_of_the_rounds_to_come():
    store = MemoryStore()
    run, asked = adaptive(store, (3, 5))
    outcome = run.run()
    assert (outcome.sessions, outcome.out_of_time) == (8, False)
    assert counts(store) == [3, 5]
    assert [record.round for record in store.records] == [0, 0, 1, 1, 2, 2, 3, 4]
    assert all(good >= 3 for _, good in asked)


def test_it_ends_at_the_most_sessions():
    store = MemoryStore()
    run, asked = adaptive(store, (99, 99), sessions=4)
    assert run.run().sessions == 8
    assert max(good for _, good in asked) == 3  # with the most there is nothing left to ask


def test_a_plan_without_a_rule_asks_nobody():
    store = MemoryStore()
    run, asked = adaptive(store, (3, 3), target_ci=None)
    assert (run.run().sessions, asked) == (12, [])


@pytest.mark.parametrize("cut", [1, 4, 6])
def test_a_resumed_experiment_ends_where_the_uninterrupted_one_does(cut):
    whole, halves = MemoryStore(), MemoryStore()
    adaptive(whole, (3, 5))[0].run()
    script = ["ok"] * cut + ["interrupt"]
    assert adaptive(halves, (3, 5), device=FakeDevice(script=script))[0].run().interrupted
    run, _ = adaptive(halves, (3, 5))
    assert not run.run().interrupted
    good = [record for record in halves.records if record.status == "ok"]
    assert Counter(record.trial for record in good) == Counter(record.trial for record in whole.records)


def test_what_is_settled_already_opens_no_device():
    store = MemoryStore()
    adaptive(store, (3, 3))[0].run()
    run, _ = adaptive(store, (3, 3))
    run.machines = machines_of(lambda target: pytest.fail("a device was opened"))
    assert run.run().sessions == 0


def test_failed_sessions_count_for_no_rule():
    store = MemoryStore()
    run, asked = adaptive(store, (3, 3), device=FakeDevice(script=["crash", "crash"]))
    run.run()
    assert statuses(store).count("crash") == 2
    assert statuses(store).count("ok") == 6
    assert all(good <= 3 for _, good in asked)


def test_a_slow_placement_stops_in_the_middle_of_its_row():
    store = MemoryStore()
    run, _ = adaptive(store, (3, 4), device=FakeDevice(placement_cost="slow"))
    run.run()
    rows = [record.trial for record in store.records]
    first, second = (trial.key for trial in run.plan.trials)
    assert rows == [first] * 3 + [second] * 4


def test_progress_says_at_most_and_shrinks_with_what_is_settled():
    store = MemoryStore()
    run, _ = adaptive(store, (3, 5), sessions=6)
    run.observer = watching = Watching()
    run.run()
    assert all(at_most for *_, at_most in watching.lines)
    assert [number for number, *_ in watching.lines] == list(range(1, 9))
    assert [total for _, total, _ in watching.lines][:4] == [12] * 4
    assert watching.lines[-1][1] == 9  # one more of the second trial is possible


class Clock:
    """Goes on by hand."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


class Taking(FakeDevice):
    """Takes ten seconds for a session."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def session(self, artifact, settings):
        self.clock.now_s += 10.0
        return super().session(artifact, settings)


def timed(store, **more):
    device = Taking(Clock())
    run, _ = adaptive(store, (9, 9), sessions=3, device=device, clock=device.clock, **more)

    def open_device(target):
        device.clock.now_s += 10.0  # as long as a session
        return device

    run.machines = machines_of(open_device)
    return run


@pytest.mark.parametrize(("limit_s", "sessions"), [(5.0, 0), (10.0, 0), (15.0, 1), (45.0, 4), (1e9, 6)])
def test_no_session_starts_when_the_time_is_over(limit_s, sessions):
    store = MemoryStore()
    outcome = timed(store, target_ci=None, max_time_s=limit_s).run()
    assert (outcome.sessions, outcome.out_of_time) == (sessions, sessions < 6)
    assert not outcome.interrupted
    assert set(statuses(store)) <= {"ok"}  # the one in hand ended as it should


def test_the_time_that_ends_with_the_last_session_cuts_nothing_off():
    assert not timed(MemoryStore(), max_time_s=61.0).run().out_of_time


def test_a_budget_counts_from_where_it_is_made():
    clock = Clock()
    clock.now_s = 100.0
    budget = TimeBudget(25.0, clock)
    clock.now_s += 20.0
    assert (budget.over, budget.left_s) == (False, 5.0)
    clock.now_s += 5.0
    assert (budget.over, budget.left_s) == (True, 0.0)
    endless = TimeBudget(None, clock)
    clock.now_s += 10.0
    assert (endless.over, endless.elapsed_s, endless.left_s) == (False, 10.0, math.inf)
