"""A trial under a mission's schedule: against closed forms, and what is missing with its reason."""

import math
import random
from collections import deque
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import pytest

from edgebench.errors import UsageError
from edgebench.judge.answers import answers
from edgebench.judge.decision import settled_by
from edgebench.judge.mission import mission_of
from edgebench.judge.profile import Profile
from edgebench.judge.schedule import Schedule
from edgebench.judge.verdict import exit_code, judge, judge_all, overall
from tests.fit.summaries import meter, summary

DAY_S = 86_400.0
GREENLAND = Schedule(cycle_s=DAY_S, images=320, deadline_s=300.0)
STARTS_S = (9.0, 10.0, 11.0)
ENERGIES = ("energy_j.active", "energy_j.idle", "energy_j.off")
WAITING = ("backlog", "storage_bytes", "age_s", "missed")


def mission(trial, schedule=GREENLAND, starts_s=STARTS_S, image_bytes=100, cycles=30, seed=1):
    trial = replace(trial, start_s_values=starts_s, image_bytes=image_bytes)
    return mission_of(trial, "greenland", schedule, cycles=cycles, seed=seed)


def test_even_images_that_take_less_than_their_gap():
    """D/D/1: nothing waits, the device works n s of the cycle."""
    outcome = mission(summary(((4.0,) * 20,) * 3))
    assert outcome.overloaded is False
    assert outcome.figures["duty_cycle"].value == pytest.approx(320 * 4.0 / DAY_S)
    duty = outcome.figures["duty_cycle"]
    assert (duty.low, duty.high) == (duty.value,) * 2
    assert (outcome.figures["backlog"].value, outcome.figures["storage_bytes"].value) == (1.0, 100.0)
    assert outcome.figures["age_s"].value == pytest.approx(4.0)
    assert outcome.figures["missed"].value == 0
    assert outcome.cycles == 30


def test_sessions_that_differ_widen_every_figure():
    outcome = mission(summary(((4.0,) * 20, (4.4,) * 20, (4.8,) * 20)))
    for figure in (outcome.figures[name] for name in ("duty_cycle", "age_s", "oldest_s")):
        assert figure.low < figure.value < figure.high
    assert mission(summary(((4.0,) * 20,))).figures["age_s"].reason  # one session has no interval


def test_what_is_overloaded_is_not_simulated():
    """A day's 320 images of ten minutes are 2.2 days of work."""
    outcome = mission(summary(((600.0,) * 20,) * 3), cycles=10**12)
    assert (outcome.overloaded, outcome.cycles) == (True, 0)
    assert outcome.load == pytest.approx(320 * 600 / DAY_S)
    assert outcome.figures["duty_cycle"].value == 1.0
    for figure in (outcome.figures[name] for name in WAITING):
        assert figure.value is None
        assert "2.22 cycles of work" in figure.reason


def test_more_images_than_are_simulated_are_refused_unless_they_are_overloaded():
    trial = summary(((4.0,) * 20,) * 3)
    with pytest.raises(UsageError, match="at most 50,000,000") as refused:
        mission(trial, cycles=200_000)
    assert refused.value.fix == "--days 1.56e+05 or less"
    many = mission(trial, Schedule(cycle_s=DAY_S, images=10**12))
    assert (many.overloaded, many.figures["duty_cycle"].value) == (True, 1.0)


def test_energy_of_a_cycle():
    """Active, idle between images, or switched off in pauses longer than a start is worth."""
    rail = meter(mean_w=5.0, energy_j=20.0, idle_w=2.0)
    outcome = mission(summary(((4.0,) * 20,) * 3, power=(rail,)))
    assert outcome.figures["energy_j.active"].value == pytest.approx(320 * 20.0)
    pause_s = DAY_S - 320 * 4.0
    assert outcome.figures["energy_j.idle"].value == pytest.approx(320 * 20.0 + 2.0 * pause_s)
    assert outcome.figures["break_even_s"].value == pytest.approx(10.0 * 5.0 / 2.0)
    assert outcome.figures["energy_j.off"].value == pytest.approx(320 * 20.0 + 320 * 50.0)
    assert outcome.figures["energy_j.off"].value < outcome.figures["energy_j.idle"].value


def test_energy_of_a_cycle_is_the_same_however_many_are_played():
    """A burst and a night: what the pause after the last image costs is a start, in the last cycle too."""
    rail = meter(mean_w=5.0, energy_j=20.0, idle_w=2.0)
    trial = summary(((4.0,) * 20,) * 3, power=(rail,))
    burst = Schedule(cycle_s=DAY_S, images=4, burst_s=0.0)
    for cycles in (1, 10, 1000):
        figures = mission(trial, burst, cycles=cycles).figures
        assert figures["energy_j.off"].value == pytest.approx(4 * 20.0 + 50.0)
        assert figures["energy_j.idle"].value == pytest.approx(4 * 20.0 + 2.0 * (DAY_S - 16.0))


def test_energy_of_a_cycle_takes_no_chance_where_latencies_differ():
    rail = meter(mean_w=5.0, energy_j=20.0, idle_w=2.0)
    trial = summary(((3.0, 4.0, 5.0) * 7,) * 3, power=(rail,))
    short, long = (mission(trial, cycles=cycles) for cycles in (3, 300))
    assert short.figures["energy_j.idle"] == long.figures["energy_j.idle"]
    assert short.figures["energy_j.off"].value == pytest.approx(long.figures["energy_j.off"].value, rel=1e-3)


def test_a_pause_that_is_too_short_is_idled_through():
    rail = meter(mean_w=5.0, energy_j=20.0, idle_w=2.0)
    outcome = mission(summary(((4.0,) * 20,) * 3, power=(rail,)), starts_s=(600.0,))
    assert outcome.figures["break_even_s"].value > DAY_S / 320
    assert outcome.figures["energy_j.off"].value == pytest.approx(outcome.figures["energy_j.idle"].value)


def test_what_is_missing_has_its_reason():
    without_meter = mission(summary(((4.0,) * 20,) * 3))
    for figure in (without_meter.figures[name] for name in (*ENERGIES, "break_even_s")):
        assert figure.value is None
        assert figure.reason
    rail = meter(mean_w=5.0, energy_j=20.0, idle_w=2.0)
    without_start = mission(summary(((4.0,) * 20,) * 3, power=(rail,)), starts_s=())
    assert without_start.figures["energy_j.idle"].value is not None
    assert "time of a start" in without_start.figures["energy_j.off"].reason
    assert without_start.figures["break_even_s"].reason == without_start.figures["energy_j.off"].reason
    without_pixels = mission(summary(((4.0,) * 20,) * 3), image_bytes=None)
    assert without_pixels.figures["storage_bytes"].reason == "its images have no pixels"
    endless = Schedule(cycle_s=DAY_S, images=320)
    assert (
        mission(summary(((4.0,) * 20,) * 3), endless).figures["missed"].reason
        == "the schedule has no deadline"
    )


def test_a_trial_without_passes_is_unknown():
    outcome = mission(summary((), reason="its sessions failed", image_s_values=()))
    assert (outcome.load, outcome.overloaded) == (None, None)
    assert outcome.figures["duty_cycle"].reason == outcome.figures["age_s"].reason == "its sessions failed"


def limited(trial, quantity, limit, schedule=GREENLAND):
    profile: dict[str, Any] = {
        "name": "p",
        "requirements": [{"name": "limit", "quantity": quantity, "limit": limit}],
    }
    if schedule is not None:
        profile["schedule"] = schedule.model_dump(exclude_none=True)
    return judge(trial, Profile.model_validate(profile))[0]


def test_the_energy_of_a_cycle_can_be_limited():
    """4 s at 20 J for each of 320 images, and 2 W between them: 0.177 MJ a day."""
    rail = meter(mean_w=5.0, energy_j=20.0, idle_w=2.0, energy_low_j=19.9, energy_high_j=20.1)
    trial = summary(((4.0,) * 20,) * 3, power=(rail,))
    assert limited(trial, "energy_cycle_j", "180 kJ").verdict == "pass"
    assert limited(trial, "energy_cycle_j", "170 kJ").verdict == "fail"
    assert limited(summary(((4.0,) * 20,) * 3), "energy_cycle_j", "180 kJ").verdict == "unknown"
    of_a_chip = summary(((4.0,) * 20,) * 3, power=(replace(rail, scope="chip"),))
    assert limited(of_a_chip, "energy_cycle_j", "180 kJ").verdict == "inconclusive"
    assert limited(of_a_chip, "energy_cycle_j", "170 kJ").verdict == "fail"


def test_the_storage_of_a_backlog_can_be_limited():
    trial = summary(((4.0,) * 20,) * 3, image_bytes=60_000_000)
    burst = Schedule(cycle_s=5739.0, images=80, burst_s=0.0)
    assert limited(trial, "storage_bytes", "61 MB").verdict == "pass"
    assert limited(trial, "storage_bytes", "59 MB").verdict == "fail"
    assert mission(trial, burst, image_bytes=60_000_000).figures["storage_bytes"].value == 80 * 60_000_000
    overloaded = limited(replace(trial, image_s_values=((600.0,) * 20,) * 3), "storage_bytes", "61 MB")
    assert (overloaded.verdict, "overloaded" in overloaded.reason) == ("fail", True)
    without_schedule = limited(trial, "storage_bytes", "61 MB", None)
    assert (without_schedule.verdict, "[schedule]" in without_schedule.reason) == ("unknown", True)


KEEPS_UP = ((4.0,) * 20, (4.1,) * 20, (4.2,) * 20)
OVERLOADED = ((600.0,) * 20, (610.0,) * 20, (620.0,) * 20)
"""A day's 320 images of ten minutes are 2.2 days of work and more."""


@pytest.mark.parametrize(
    ("quantity", "met", "missed"),
    [
        ("load", "2 %", "1 %"),
        ("backlog", "1 images", "0.9 images"),
        ("age_s", "5 s", "3.8 s"),
        ("storage_bytes", "100 bytes", "99 bytes"),
    ],
)
def test_what_a_schedule_comes_to_can_be_limited(quantity, met, missed):
    trial = summary(KEEPS_UP, image_bytes=100)
    assert limited(trial, quantity, met).verdict == "pass"
    assert limited(trial, quantity, missed).verdict == "fail"
    without = limited(trial, quantity, met, None)
    assert (without.verdict, "[schedule]" in without.reason) == ("unknown", True)


def test_missed_deadlines_can_be_limited():
    """A burst of 80 at 2 s each: those after the 50th are late."""
    trial, late = (
        summary(((2.0,) * 20,) * 3),
        Schedule(cycle_s=5739.0, images=80, burst_s=0.0, deadline_s=100.0),
    )
    assert limited(trial, "missed_deadlines", "38 %", late).verdict == "pass"
    assert limited(trial, "missed_deadlines", "37 %", late).verdict == "fail"
    endless = Schedule(cycle_s=5739.0, images=80)
    assert limited(trial, "missed_deadlines", "1 %", endless).reason == "the schedule has no deadline"
    assert limited(summary(OVERLOADED), "missed_deadlines", "99 %").verdict == "fail"


@pytest.mark.parametrize(
    ("quantity", "limit"), [("storage_bytes", "1e9 GB"), ("backlog", "1e9 images"), ("age_s", "1e9 s")]
)
def test_what_grows_without_end_fails_every_limit(quantity, limit):
    verdict = limited(summary(OVERLOADED, image_bytes=100), quantity, limit)
    assert (verdict.verdict, verdict.bound, verdict.value) == ("fail", "above", None)
    assert "overloaded: in each cycle 2.26 cycles of work come" in verdict.reason
    of_two = limited(summary(OVERLOADED[:2], image_bytes=100), quantity, limit)
    assert (of_two.verdict, "overloaded" in of_two.reason) == ("inconclusive", True)


SLOW_NOW_AND_THEN = tuple(NormalDist(0.31, 0.0775).inv_cdf((k + 0.5) / 400) for k in range(400))
"""Mean 0.31 s, standard deviation 25 %."""


def waiting_line(services_s, period_s, images, seed):
    """How many are there when each image comes, itself among them, one image after the other."""
    draws, free_s, counts = random.Random(seed), 0.0, []
    ends_s: deque[float] = deque()
    for number in range(images):
        now_s = number * period_s
        while ends_s and ends_s[0] <= now_s:
            ends_s.popleft()
        free_s = max(free_s, now_s) + draws.choice(services_s)
        ends_s.append(free_s)
        counts.append(len(ends_s))
    return counts


def test_images_of_several_cycles_wait_at_once():
    """One image every 0.383 s: some take longer, and those of the next cycles wait behind them."""
    counts = waiting_line(SLOW_NOW_AND_THEN, 0.383, 200_000, seed=1)
    mean = sum(counts) / len(counts)
    assert mean == pytest.approx(1.22, abs=0.01)
    schedule = Schedule(cycle_s=0.383, images=1)
    outcome = mission(summary((SLOW_NOW_AND_THEN,) * 5), schedule, image_bytes=100, cycles=200_000)
    backlog, storage = outcome.figures["backlog"], outcome.figures["storage_bytes"]
    assert backlog.value == pytest.approx(mean, abs=0.01)
    assert backlog.low < backlog.value < backlog.high
    assert (storage.value, storage.high) == pytest.approx((100 * backlog.value, 100 * backlog.high))
    assert outcome.figures["backlog_p99"].value == sorted(counts)[math.ceil(0.99 * len(counts)) - 1] == 2


def test_the_backlog_is_limited_by_the_99th_percentile_of_at_least_1000_cycles_a_session():
    schedule, trial = Schedule(cycle_s=0.383, images=1), summary((SLOW_NOW_AND_THEN,) * 5, image_bytes=100)
    assert limited(trial, "backlog", "1.5 images", schedule).verdict == "fail"  # which the mean meets
    verdict = limited(trial, "backlog", "2 images", schedule)
    assert (verdict.verdict, verdict.value) == ("pass", 2.0)
    assert "99th percentile over cycles" in verdict.reason
    assert limited(trial, "storage_bytes", "150 bytes", schedule).verdict == "fail"
    # As many cycles as the percentile takes, however short the mission is.
    figures = mission(trial, schedule, cycles=5, seed=3).figures
    assert figures["backlog_p99"].value == 2.0
    assert figures["backlog"].value == pytest.approx(1.22, abs=0.03)


def test_a_limit_on_the_backlog_of_too_many_images_is_open():
    """1,000 cycles of three sessions would be 60 million images."""
    many = Schedule(cycle_s=DAY_S, images=20_000)
    trial = summary(((4.0,) * 20, (4.1,) * 20, (4.2,) * 20), image_bytes=100)
    verdict = limited(trial, "backlog", "10 images", many)
    assert (verdict.verdict, verdict.value) == ("inconclusive", None)
    assert "1,000 cycles a session have more than 50,000,000 images" in verdict.reason


def test_where_the_load_may_be_too_much_nothing_bounds_what_waits():
    """320 images of 270 s are the whole day: the sessions are on both sides of it."""
    trial = summary(((260.0,) * 20, (268.0,) * 20, (269.0,) * 20), image_bytes=100)
    outcome = mission(trial)
    assert outcome.overloaded is False
    for figure in (outcome.figures[name] for name in WAITING):
        assert (figure.high, "may not keep up" in figure.reason) == (None, True)
    assert limited(trial, "storage_bytes", "1 MB").verdict == "inconclusive"


def test_where_a_session_is_overloaded_what_waits_has_no_figure():
    """It would depend on how long is simulated: a verdict and a mission would differ."""
    trial = summary(((260.0,) * 20, (268.0,) * 20, (274.0,) * 20), image_bytes=100)
    outcome = mission(trial)
    assert (outcome.overloaded, outcome.grows) == (False, True)
    for figure in (outcome.figures[name] for name in (*WAITING, "oldest_s")):
        assert figure.value is None
        assert figure.reason == "1 of 3 sessions overloaded: the backlog grows without end"
    assert outcome.figures["duty_cycle"].value is not None
    verdict = limited(trial, "age_s", "1 h")
    assert (verdict.verdict, verdict.value) == ("inconclusive", None)
    assert "grows without end" in verdict.reason


def test_the_load_is_settled_by_as_many_sessions_as_the_latency_that_it_is_made_of():
    trial = summary(((240.0,) * 20, (268.0,) * 20, (280.0,) * 20))
    limit = {"name": "latency", "quantity": "image_s", "limit": "270 s"}
    latency, load = scheduled(trial, limit)[1]
    assert (latency.verdict, load.quantity, load.verdict) == ("inconclusive", "load", "inconclusive")
    assert settled_by(trial, load) == settled_by(trial, latency)
    assert "sessions" in settled_by(trial, load)


def test_no_interval_reaches_below_what_is_possible():
    """One session of three stalls: one image and its bytes are the least."""
    calm, stalled = (4.0,) * 20, (*(4.0,) * 10, 300.0)
    outcome = mission(summary((calm, calm, stalled)), Schedule(cycle_s=1e4, images=40), cycles=100)
    assert [outcome.figures[name].low for name in ("backlog", "storage_bytes")] == [1.0, 100.0]
    assert outcome.figures["backlog"].value > 1.0


def scheduled(trial, *requirements, schedule=GREENLAND):
    """The verdicts under a profile of these requirements and the schedule."""
    requirements = requirements or ({"name": "latency", "quantity": "image_s", "limit": "1 h"},)
    tables = {"name": "p", "schedule": schedule.model_dump(), "requirements": requirements}
    profile = Profile.model_validate(tables)
    verdicts = judge(trial, profile)
    [whole] = overall(verdicts)
    return whole.verdict, verdicts, profile


def test_a_schedule_that_is_not_kept_fails_its_profile_whatever_else_it_requires():
    word, verdicts, _ = scheduled(summary(OVERLOADED))
    assert (word, [verdict.verdict for verdict in verdicts]) == ("fail", ["pass", "fail"])
    kept = verdicts[-1]
    assert (kept.requirement, kept.quantity, kept.limit) == ("schedule", "load", 1.0)
    assert kept.value == pytest.approx(320 * 610 / DAY_S)
    assert "overloaded: in each cycle 2.26 cycles of work come" in kept.reason
    assert exit_code(verdicts, [summary(OVERLOADED)], strict=False) == 3


def test_a_schedule_that_is_kept_is_not_mentioned():
    word, verdicts, _ = scheduled(summary(KEEPS_UP))
    assert (word, len(verdicts)) == ("pass", 1)


@pytest.mark.parametrize("sessions", [((260.0,) * 20, (268.0,) * 20, (274.0,) * 20), OVERLOADED[:1]])
def test_a_schedule_that_may_not_be_kept_is_open(sessions):
    """By the interval of the load; without one by the load itself."""
    mass = {"name": "mass", "quantity": "mass_g", "limit": "1 kg"}
    word, verdicts, _ = scheduled(summary(sessions, mass_g=100.0), mass)
    assert (word, verdicts[-1].quantity, verdicts[-1].verdict) == ("inconclusive", "load", "inconclusive")


def test_a_load_of_one_keeps_up():
    even = Schedule(cycle_s=80 * 64.0, images=80)
    trial = summary(((64.0,) * 20,) * 3)
    assert scheduled(trial, schedule=even)[0] == "pass"
    outcome = mission(trial, even)
    assert (outcome.overloaded, outcome.figures["backlog"].value) == (False, pytest.approx(1.0))


def test_a_mean_above_the_schedule_is_overload_though_the_median_is_below_it():
    trial = summary(((100.0, 100.0, 800.0) * 7,) * 3)
    word, verdicts, _ = scheduled(trial, {"name": "latency", "quantity": "image_s", "statistic": "median"})
    assert (word, [verdict.verdict for verdict in verdicts]) == ("fail", ["pass", "fail"])


def test_inference_alone_that_is_too_much_is_overload():
    trial = summary((), image_s_values=(), infer_s_values=OVERLOADED)
    word, verdicts, _ = scheduled(trial, {"name": "infer", "quantity": "infer_s", "limit": "1 h"})
    assert (word, verdicts[-1].quantity, verdicts[-1].bound) == ("fail", "load", "above")


def test_a_requirement_on_the_load_takes_the_place_of_the_implied_one():
    strict = {"name": "load", "quantity": "load", "limit": "1 %"}
    assert [verdict.requirement for verdict in scheduled(summary(KEEPS_UP), strict)[1]] == ["load"]
    assert scheduled(summary(KEEPS_UP), strict)[0] == "fail"
    lax = {"name": "schedule", "quantity": "load", "limit": "300 %"}
    word, verdicts, _ = scheduled(summary(OVERLOADED), lax)
    assert (word, [verdict.requirement for verdict in verdicts]) == ("fail", ["schedule", "schedule 2"])
    wish = {**strict, "wanted": True}
    mass = {"name": "latency", "quantity": "image_s", "limit": "1 h"}
    assert scheduled(summary(OVERLOADED), wish, mass)[0] == "fail"


def test_the_answers_say_that_a_trial_is_overloaded_and_by_how_much():
    trials = [summary(KEEPS_UP, key="keeps"), summary(OVERLOADED, key="late")]
    _, _, profile = scheduled(trials[0])
    for asked, outcome in ((trials, "satisfied"), (trials[1:], "missed")):
        verdicts = judge_all(asked, [profile])
        beyond = answers(asked, [profile], verdicts)
        [decision] = beyond.decisions
        assert decision.outcome == outcome
        [overload] = decision.overloaded
        assert overload.trial == "late"
        assert overload.load == pytest.approx(320 * 610 / DAY_S)
        assert "overloaded" in overload.reason
    [entry] = beyond.nearest  # no limit has it keep up
    assert (entry.relax, [lack.quantity for lack in entry.measure]) == ((), ["load"])


def test_a_trial_that_misses_two_limits_on_load_is_named_once():
    lax = {"name": "load", "quantity": "load", "limit": "200 %"}
    _, verdicts, profile = scheduled(summary(OVERLOADED), lax)
    assert [verdict.verdict for verdict in verdicts] == ["fail", "fail"]
    [decision] = answers([summary(OVERLOADED)], [profile], verdicts).decisions
    assert len(decision.overloaded) == 1


def test_no_meter_settles_the_energy_of_a_cycle_that_is_not_kept():
    energy = {"name": "energy", "quantity": "energy_cycle_j", "limit": "1 kJ"}
    for image_s, settled in ((KEEPS_UP, "--meter KIND"), (OVERLOADED, "")):
        verdict = scheduled(summary(image_s), energy)[1][0]
        assert (verdict.verdict, settled_by(summary(image_s), verdict)) == ("unknown", settled)


def test_the_same_seed_gives_the_same_figures():
    trial = summary(((4.0, 200.0, 300.0),) * 3)
    assert mission(trial, seed=7) == mission(trial, seed=7)
    assert mission(trial, seed=7) != mission(trial, seed=8)
