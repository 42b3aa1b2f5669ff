"""A trial under a mission's schedule: against closed forms, and what is missing with its reason."""

import math
import random
from collections import deque
from functools import partial
from statistics import NormalDist
from typing import Any

import pytest

from edgebench.errors import UsageError
from edgebench.judge.mission import mission_of
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.requirements.schedule import Schedule
from edgebench.judge.trial import Certainty, Estimate, SceneOfTrial
from edgebench.judge.verdicts.decision import decisions
from edgebench.judge.verdicts.next_steps import settling_steps
from edgebench.judge.verdicts.verdict import exit_code, judge_all, overall, verdict_of
from tests.judge.trials import judge, meter, trial

DAY_S = 86_400.0
GREENLAND = Schedule(cycle_s=DAY_S, images=320, deadline_s=300.0)
STARTS_S = (9.0, 10.0, 11.0)
ENERGIES = ("energy_j.active", "energy_j.idle", "energy_j.off")
WAITING = ("backlog", "storage_bytes", "age_s", "missed")


def made(image_s, *, starts_s=STARTS_S, image_bytes=100, **changes):
    """A done trial of those steady passes, starts and pictures."""
    values = {"start_s": tuple([start_s] for start_s in starts_s)} if starts_s else {}
    scene = SceneOfTrial(image_bytes=image_bytes)
    return trial(image_s, **{"values": values, "scene": scene, **changes})


def mission(judged, schedule=GREENLAND, cycles=30, seed=1):
    return mission_of(judged, "greenland", schedule, cycles=cycles, seed=seed)


def test_even_images_that_take_less_than_their_gap():
    """D/D/1: nothing waits, the device works n s of the cycle."""
    outcome = mission(made(((4.0,) * 20,) * 3))
    assert outcome.is_overloaded is False
    assert outcome.estimates["duty_cycle"].value == pytest.approx(320 * 4.0 / DAY_S)
    duty = outcome.estimates["duty_cycle"]
    assert (duty.low, duty.high) == (duty.value,) * 2
    assert (outcome.estimates["backlog"].value, outcome.estimates["storage_bytes"].value) == (1.0, 100.0)
    assert outcome.estimates["age_s"].value == pytest.approx(4.0)
    assert outcome.estimates["missed"].value == 0
    assert outcome.cycles == 30


def test_sessions_that_differ_widen_every_figure():
    outcome = mission(made(((4.0,) * 20, (4.4,) * 20, (4.8,) * 20)))
    for estimate in (outcome.estimates[name] for name in ("duty_cycle", "age_s", "oldest_s")):
        assert estimate.low < estimate.value < estimate.high
    assert mission(made(((4.0,) * 20,))).estimates["age_s"].reason  # one session has no interval


def test_what_is_overloaded_is_not_simulated():
    """A day's 320 images of ten minutes are 2.2 days of work."""
    outcome = mission(made(((600.0,) * 20,) * 3), cycles=10**12)
    assert (outcome.is_overloaded, outcome.cycles) == (True, 0)
    assert outcome.load == pytest.approx(320 * 600 / DAY_S)
    assert outcome.estimates["duty_cycle"].value == 1.0
    for estimate in (outcome.estimates[name] for name in WAITING):
        assert estimate.value is None
        assert "2.22 cycles of work" in estimate.reason


def test_more_images_than_are_simulated_are_refused_unless_they_are_overloaded():
    judged = made(((4.0,) * 20,) * 3)
    with pytest.raises(UsageError, match="at most 50,000,000") as refused:
        mission(judged, cycles=200_000)
    assert refused.value.fix == "--days 1.56e+05 or less"
    many = mission(judged, Schedule(cycle_s=DAY_S, images=10**12))
    assert (many.is_overloaded, many.estimates["duty_cycle"].value) == (True, 1.0)


def test_energy_of_a_cycle():
    """Active, idle between images, or switched off in pauses longer than a start is worth."""
    rail = meter(mean_w=(5.0, 5.0, 5.0), energy_j=(20.0, 20.0, 20.0), idle_w=2.0)
    outcome = mission(made(((4.0,) * 20,) * 3, power=(rail,)))
    assert outcome.estimates["energy_j.active"].value == pytest.approx(320 * 20.0)
    pause_s = DAY_S - 320 * 4.0
    assert outcome.estimates["energy_j.idle"].value == pytest.approx(320 * 20.0 + 2.0 * pause_s)
    assert outcome.estimates["break_even_s"].value == pytest.approx(10.0 * 5.0 / 2.0)
    assert outcome.estimates["energy_j.off"].value == pytest.approx(320 * 20.0 + 320 * 50.0)
    assert outcome.estimates["energy_j.off"].value < outcome.estimates["energy_j.idle"].value


def test_energy_of_a_cycle_is_the_same_however_many_are_played():
    """A burst and a night: what the pause after the last image costs is a start, in the last cycle too."""
    rail = meter(mean_w=(5.0, 5.0, 5.0), energy_j=(20.0, 20.0, 20.0), idle_w=2.0)
    judged = made(((4.0,) * 20,) * 3, power=(rail,))
    burst = Schedule(cycle_s=DAY_S, images=4, burst_s=0.0)
    for cycles in (1, 10, 1000):
        figures = mission(judged, burst, cycles=cycles).estimates
        assert figures["energy_j.off"].value == pytest.approx(4 * 20.0 + 50.0)
        assert figures["energy_j.idle"].value == pytest.approx(4 * 20.0 + 2.0 * (DAY_S - 16.0))


def test_energy_of_a_cycle_takes_no_chance_where_latencies_differ():
    rail = meter(mean_w=(5.0, 5.0, 5.0), energy_j=(20.0, 20.0, 20.0), idle_w=2.0)
    judged = made(((3.0, 4.0, 5.0) * 7,) * 3, power=(rail,))
    short, long = (mission(judged, cycles=cycles) for cycles in (3, 300))
    assert short.estimates["energy_j.idle"] == long.estimates["energy_j.idle"]
    assert short.estimates["energy_j.off"].value == pytest.approx(
        long.estimates["energy_j.off"].value, rel=1e-3
    )


def test_a_pause_that_is_too_short_is_idled_through():
    rail = meter(mean_w=(5.0, 5.0, 5.0), energy_j=(20.0, 20.0, 20.0), idle_w=2.0)
    outcome = mission(made(((4.0,) * 20,) * 3, power=(rail,), starts_s=(600.0,)))
    assert outcome.estimates["break_even_s"].value > DAY_S / 320
    assert outcome.estimates["energy_j.off"].value == pytest.approx(outcome.estimates["energy_j.idle"].value)


def test_what_is_missing_has_its_reason():
    without_meter = mission(made(((4.0,) * 20,) * 3))
    for estimate in (without_meter.estimates[name] for name in (*ENERGIES, "break_even_s")):
        assert estimate.value is None
        assert estimate.reason
    rail = meter(mean_w=(5.0, 5.0, 5.0), energy_j=(20.0, 20.0, 20.0), idle_w=2.0)
    without_start = mission(made(((4.0,) * 20,) * 3, power=(rail,), starts_s=()))
    assert without_start.estimates["energy_j.idle"].value is not None
    assert "time of a start" in without_start.estimates["energy_j.off"].reason
    assert without_start.estimates["break_even_s"].reason == without_start.estimates["energy_j.off"].reason
    without_pixels = mission(made(((4.0,) * 20,) * 3, image_bytes=None))
    assert without_pixels.estimates["storage_bytes"].reason == "its images have no pixels"
    endless = Schedule(cycle_s=DAY_S, images=320)
    assert (
        mission(made(((4.0,) * 20,) * 3), endless).estimates["missed"].reason
        == "the schedule has no deadline"
    )


def test_a_trial_without_passes_is_unknown():
    outcome = mission(made((), estimates={"image_s": Estimate(reason="its sessions failed")}))
    assert (outcome.load, outcome.is_overloaded) == (None, None)
    assert (
        outcome.estimates["duty_cycle"].reason == outcome.estimates["age_s"].reason == "its sessions failed"
    )


def limited(judged, quantity, limit, schedule=GREENLAND):
    profile: dict[str, Any] = {
        "name": "p",
        "requirements": [{"name": "limit", "quantity": quantity, "limit": limit}],
    }
    if schedule is not None:
        profile["schedule"] = schedule.model_dump(exclude_none=True)
    return judge(judged, Profile.model_validate(profile))[0]


def test_the_energy_of_a_cycle_can_be_limited():
    """4 s at 20 J for each of 320 images, and 2 W between them: 0.177 MJ a day."""
    rail = partial(meter, mean_w=(5.0, 5.0, 5.0), energy_j=(19.99, 20.0, 20.01), idle_w=2.0)
    judged = made(((4.0,) * 20,) * 3, power=(rail(),))
    assert limited(judged, "energy_cycle_j", "180 kJ").word == "pass"
    assert limited(judged, "energy_cycle_j", "170 kJ").word == "fail"
    assert limited(made(((4.0,) * 20,) * 3), "energy_cycle_j", "180 kJ").word == "unknown"
    of_a_chip = made(((4.0,) * 20,) * 3, power=(rail(scope="chip"),))
    assert limited(of_a_chip, "energy_cycle_j", "180 kJ").word == "inconclusive"
    assert limited(of_a_chip, "energy_cycle_j", "170 kJ").word == "fail"


@pytest.mark.parametrize("quantity", ["load", "age_s", "energy_cycle_j"])
def test_a_limit_of_a_mission_is_judged_at_the_certainty_of_the_look(quantity):
    power = (meter(mean_w=(4.9, 5.0, 5.1), energy_j=(19.0, 20.0, 21.0), idle_w=2.0),)
    judged = made(((4.0,) * 20, (4.1,) * 20, (4.2,) * 20), power=power)
    requirement = limited(judged, quantity, 1.0).requirement
    stated, surer = (verdict_of(judged, requirement, Certainty.of_look(c)).estimate for c in (0.95, 0.999))
    assert surer.value == stated.value
    ends: list[Any] = [surer.low, stated.low, stated.high, surer.high]
    assert ends == sorted(set(ends))


def test_the_storage_of_a_backlog_can_be_limited():
    judged = made(((4.0,) * 20,) * 3, image_bytes=60_000_000)
    burst = Schedule(cycle_s=5739.0, images=80, burst_s=0.0)
    assert limited(judged, "storage_bytes", "61 MB").word == "pass"
    assert limited(judged, "storage_bytes", "59 MB").word == "fail"
    assert mission(judged, burst).estimates["storage_bytes"].value == 80 * 60_000_000
    overloaded = limited(made(((600.0,) * 20,) * 3), "storage_bytes", "61 MB")
    assert (overloaded.word, "overloaded" in overloaded.reason) == ("fail", True)
    without_schedule = limited(judged, "storage_bytes", "61 MB", None)
    assert (without_schedule.word, "[schedule]" in without_schedule.reason) == ("unknown", True)


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
    judged = made(KEEPS_UP)
    assert limited(judged, quantity, met).word == "pass"
    assert limited(judged, quantity, missed).word == "fail"
    without = limited(judged, quantity, met, None)
    assert (without.word, "[schedule]" in without.reason) == ("unknown", True)


def test_missed_deadlines_can_be_limited():
    """A burst of 80 at 2 s each: those after the 50th are late."""
    trial, late = (
        made(((2.0,) * 20,) * 3),
        Schedule(cycle_s=5739.0, images=80, burst_s=0.0, deadline_s=100.0),
    )
    assert limited(trial, "missed_deadlines", "38 %", late).word == "pass"
    assert limited(trial, "missed_deadlines", "37 %", late).word == "fail"
    endless = Schedule(cycle_s=5739.0, images=80)
    assert limited(trial, "missed_deadlines", "1 %", endless).reason == "the schedule has no deadline"
    assert limited(made(OVERLOADED), "missed_deadlines", "99 %").word == "fail"


@pytest.mark.parametrize(
    ("quantity", "limit"), [("storage_bytes", "1e9 GB"), ("backlog", "1e9 images"), ("age_s", "1e9 s")]
)
def test_what_grows_without_end_fails_every_limit(quantity, limit):
    verdict = limited(made(OVERLOADED), quantity, limit)
    assert (verdict.word, verdict.estimate.low, verdict.estimate.value) == ("fail", math.inf, None)
    assert "overloaded: in each cycle 2.26 cycles of work come" in verdict.reason
    of_two = limited(made(OVERLOADED[:2]), quantity, limit)
    assert (of_two.word, "overloaded" in of_two.reason) == ("inconclusive", True)


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
    outcome = mission(made((SLOW_NOW_AND_THEN,) * 5), schedule, cycles=200_000)
    backlog, storage = outcome.estimates["backlog"], outcome.estimates["storage_bytes"]
    assert backlog.value == pytest.approx(mean, abs=0.01)
    assert backlog.low < backlog.value < backlog.high
    assert (storage.value, storage.high) == pytest.approx((100 * backlog.value, 100 * backlog.high))
    assert outcome.estimates["backlog_p99"].value == sorted(counts)[math.ceil(0.99 * len(counts)) - 1] == 2


def test_the_backlog_is_limited_by_the_99th_percentile_of_at_least_1000_cycles_a_session():
    schedule, trial = Schedule(cycle_s=0.383, images=1), made((SLOW_NOW_AND_THEN,) * 5)
    assert limited(trial, "backlog", "1.5 images", schedule).word == "fail"  # which the mean meets
    verdict = limited(trial, "backlog", "2 images", schedule)
    assert (verdict.word, verdict.estimate.value) == ("pass", 2.0)
    assert "99th percentile over cycles" in verdict.reason
    assert limited(trial, "storage_bytes", "150 bytes", schedule).word == "fail"
    # As many cycles as the percentile takes, however short the mission is.
    figures = mission(trial, schedule, cycles=5, seed=3).estimates
    assert figures["backlog_p99"].value == 2.0
    assert figures["backlog"].value == pytest.approx(1.22, abs=0.03)


def test_a_limit_on_the_backlog_of_too_many_images_is_open():
    """1,000 cycles of three sessions would be 60 million images."""
    many = Schedule(cycle_s=DAY_S, images=20_000)
    judged = made(((4.0,) * 20, (4.1,) * 20, (4.2,) * 20))
    verdict = limited(judged, "backlog", "10 images", many)
    assert (verdict.word, verdict.estimate.value) == ("inconclusive", None)
    assert "1,000 cycles a session have more than 50,000,000 images" in verdict.reason


def test_where_the_load_may_be_too_much_nothing_bounds_what_waits():
    """320 images of 270 s are the whole day: the sessions are on both sides of it."""
    judged = made(((260.0,) * 20, (268.0,) * 20, (269.0,) * 20))
    outcome = mission(judged)
    assert outcome.is_overloaded is False
    for estimate in (outcome.estimates[name] for name in WAITING):
        assert (estimate.high, "may not keep up" in estimate.reason) == (None, True)
    assert limited(judged, "storage_bytes", "1 MB").word == "inconclusive"


def test_where_a_session_is_overloaded_what_waits_has_no_figure():
    """It would depend on how long is simulated: a verdict and a mission would differ."""
    judged = made(((260.0,) * 20, (268.0,) * 20, (274.0,) * 20))
    outcome = mission(judged)
    assert outcome.is_overloaded is False and outcome.estimates["backlog"].value is None
    for estimate in (outcome.estimates[name] for name in (*WAITING, "oldest_s")):
        assert estimate.value is None
        assert estimate.reason == "1 of 3 sessions overloaded: the backlog grows without end"
    assert outcome.estimates["duty_cycle"].value is not None
    verdict = limited(judged, "age_s", "1 h")
    assert (verdict.word, verdict.estimate.value) == ("inconclusive", None)
    assert "grows without end" in verdict.reason


def test_the_load_is_settled_by_as_many_sessions_as_the_latency_that_it_is_made_of():
    judged = made(((240.0,) * 20, (268.0,) * 20, (280.0,) * 20))
    limit = {"name": "latency", "quantity": "image_s", "limit": "270 s"}
    latency, load = scheduled(judged, limit)[1]
    assert (latency.word, load.requirement.quantity, load.word) == ("inconclusive", "load", "inconclusive")
    assert settling_steps(judged, load) == settling_steps(judged, latency)
    assert settling_steps(judged, load)[0].kind == "more sessions"


def test_no_interval_reaches_below_what_is_possible():
    """One session of three stalls: one image and its bytes are the least."""
    calm, stalled = (4.0,) * 20, (*(4.0,) * 10, 300.0)
    outcome = mission(made((calm, calm, stalled)), Schedule(cycle_s=1e4, images=40), cycles=100)
    assert [outcome.estimates[name].low for name in ("backlog", "storage_bytes")] == [1.0, 100.0]
    assert outcome.estimates["backlog"].value > 1.0


def scheduled(judged, *requirements, schedule=GREENLAND):
    """The verdicts under a profile of these requirements and the schedule."""
    requirements = requirements or ({"name": "latency", "quantity": "image_s", "limit": "1 h"},)
    tables = {"name": "p", "schedule": schedule.model_dump(), "requirements": requirements}
    profile = Profile.model_validate(tables)
    verdicts = judge(judged, profile)
    [whole] = overall(verdicts)
    return whole.verdict, verdicts, profile


def test_a_schedule_that_is_not_kept_fails_its_profile_whatever_else_it_requires():
    word, verdicts, _ = scheduled(made(OVERLOADED))
    assert (word, [verdict.word for verdict in verdicts]) == ("fail", ["pass", "fail"])
    kept = verdicts[-1]
    requirement = kept.requirement
    assert (requirement.name, requirement.quantity, kept.limit) == ("schedule", "load", 1.0)
    assert kept.estimate.value == pytest.approx(320 * 610 / DAY_S)
    assert "overloaded: in each cycle 2.26 cycles of work come" in kept.reason
    assert exit_code(verdicts, [made(OVERLOADED)], strict=False) == 3


def test_a_schedule_that_is_kept_is_not_mentioned():
    word, verdicts, _ = scheduled(made(KEEPS_UP))
    assert (word, len(verdicts)) == ("pass", 1)


@pytest.mark.parametrize("sessions", [((260.0,) * 20, (268.0,) * 20, (274.0,) * 20), OVERLOADED[:1]])
def test_a_schedule_that_may_not_be_kept_is_open(sessions):
    """By the interval of the load; without one by the load itself."""
    mass = {"name": "mass", "quantity": "mass_g", "limit": "1 kg"}
    word, verdicts, _ = scheduled(made(sessions, estimates={"mass_g": Estimate.exact(100.0)}), mass)
    assert (word, verdicts[-1].requirement.quantity, verdicts[-1].word) == (
        "inconclusive",
        "load",
        "inconclusive",
    )


def test_a_load_of_one_keeps_up():
    even = Schedule(cycle_s=80 * 64.0, images=80)
    judged = made(((64.0,) * 20,) * 3)
    assert scheduled(judged, schedule=even)[0] == "pass"
    outcome = mission(judged, even)
    assert (outcome.is_overloaded, outcome.estimates["backlog"].value) == (False, pytest.approx(1.0))


def test_a_mean_above_the_schedule_is_overload_though_the_median_is_below_it():
    judged = made(((100.0, 100.0, 800.0) * 7,) * 3)
    word, verdicts, _ = scheduled(judged, {"name": "latency", "quantity": "image_s", "statistic": "median"})
    assert (word, [verdict.word for verdict in verdicts]) == ("fail", ["pass", "fail"])


def test_inference_alone_that_is_too_much_is_overload():
    judged = made((), values={"infer_s": OVERLOADED})
    word, verdicts, _ = scheduled(judged, {"name": "infer", "quantity": "infer_s", "limit": "1 h"})
    load = verdicts[-1]
    assert (word, load.requirement.quantity) == ("fail", "load")
    assert (load.estimate.value, load.estimate.strict) == (None, True)


def test_a_requirement_on_the_load_takes_the_place_of_the_implied_one():
    strict = {"name": "load", "quantity": "load", "limit": "1 %"}
    assert [verdict.requirement.name for verdict in scheduled(made(KEEPS_UP), strict)[1]] == ["load"]
    assert scheduled(made(KEEPS_UP), strict)[0] == "fail"
    lax = {"name": "schedule", "quantity": "load", "limit": "300 %"}
    word, verdicts, _ = scheduled(made(OVERLOADED), lax)
    assert (word, [verdict.requirement.name for verdict in verdicts]) == ("fail", ["schedule", "schedule 2"])
    wish = {**strict, "wanted": True}
    mass = {"name": "latency", "quantity": "image_s", "limit": "1 h"}
    assert scheduled(made(OVERLOADED), wish, mass)[0] == "fail"


def test_a_decision_says_that_a_trial_is_overloaded_and_by_how_much():
    trials = [made(KEEPS_UP, key="keeps"), made(OVERLOADED, key="late")]
    _, _, profile = scheduled(trials[0])
    for chosen, outcome in ((trials, "satisfied"), (trials[1:], "missed")):
        [decision] = decisions(chosen, overall(judge_all(chosen, [profile])))
        assert decision.outcome == outcome
        [overload] = decision.overloaded
        assert overload.trial == "late"
        assert overload.load == pytest.approx(320 * 610 / DAY_S)
        assert "overloaded" in overload.reason


def test_a_trial_that_misses_two_limits_on_load_is_named_once():
    lax = {"name": "load", "quantity": "load", "limit": "200 %"}
    _, verdicts, _ = scheduled(made(OVERLOADED), lax)
    assert [verdict.word for verdict in verdicts] == ["fail", "fail"]
    [decision] = decisions([made(OVERLOADED)], overall(verdicts))
    assert len(decision.overloaded) == 1


def test_no_meter_settles_the_energy_of_a_cycle_that_is_not_kept():
    energy = {"name": "energy", "quantity": "energy_cycle_j", "limit": "1 kJ"}
    for image_s, arguments in ((KEEPS_UP, [("--meter", "KIND")]), (OVERLOADED, [])):
        verdict = scheduled(made(image_s), energy)[1][0]
        steps = settling_steps(made(image_s), verdict)
        assert (verdict.word, [step.arguments for step in steps]) == ("unknown", arguments)


def test_the_same_seed_gives_the_same_figures():
    judged = made(((4.0, 200.0, 300.0),) * 3)
    assert mission(judged, seed=7) == mission(judged, seed=7)
    assert mission(judged, seed=7) != mission(judged, seed=8)
