"""A trial under a mission's schedule: against closed forms, and what is missing with its reason."""

from dataclasses import replace
from typing import Any

import pytest

from edgebench.errors import UsageError
from edgebench.fit.mission import mission_of
from edgebench.fit.profile import Profile
from edgebench.fit.schedule import Schedule
from edgebench.fit.verdict import judge
from tests.fit.summaries import meter, summary

DAY_S = 86_400.0
GREENLAND = Schedule(cycle_s=DAY_S, images=320, deadline_s=300.0)
STARTS_S = (9.0, 10.0, 11.0)


def mission(trial, schedule=GREENLAND, starts_s=STARTS_S, image_bytes=100, cycles=30, seed=1):
    trial = replace(trial, start_s_values=starts_s)
    return mission_of(trial, "greenland", schedule, cycles=cycles, seed=seed, image_bytes=image_bytes)


def test_even_images_that_take_less_than_their_gap():
    """D/D/1: nothing waits, the device works n s of the cycle."""
    outcome = mission(summary(((4.0,) * 20,) * 3))
    assert outcome.overloaded is False
    assert outcome.duty_cycle.value == pytest.approx(320 * 4.0 / DAY_S)
    assert (outcome.duty_cycle.low, outcome.duty_cycle.high) == (outcome.duty_cycle.value,) * 2
    assert (outcome.backlog.value, outcome.storage_bytes.value) == (1.0, 100.0)
    assert outcome.age_s.value == pytest.approx(4.0)
    assert outcome.missed.value == 0
    assert outcome.cycles == 30


def test_sessions_that_differ_widen_every_figure():
    outcome = mission(summary(((4.0,) * 20, (4.4,) * 20, (4.8,) * 20)))
    for figure in (outcome.duty_cycle, outcome.age_s, outcome.oldest_s):
        assert figure.low < figure.value < figure.high
    assert mission(summary(((4.0,) * 20,))).age_s.reason  # one session has no interval


def test_what_is_overloaded_is_not_simulated():
    """A day's 320 images of ten minutes are 2.2 days of work."""
    outcome = mission(summary(((600.0,) * 20,) * 3), cycles=10**12)
    assert (outcome.overloaded, outcome.cycles) == (True, 0)
    assert outcome.load == pytest.approx(320 * 600 / DAY_S)
    assert outcome.duty_cycle.value == 1.0
    for figure in (outcome.backlog, outcome.storage_bytes, outcome.age_s, outcome.missed):
        assert figure.value is None
        assert "2.22 cycles of work" in figure.reason


def test_more_images_than_are_simulated_are_refused_unless_they_are_overloaded():
    trial = summary(((4.0,) * 20,) * 3)
    with pytest.raises(UsageError, match="at most 50,000,000") as refused:
        mission(trial, cycles=200_000)
    assert refused.value.fix == "--days 1.56e+05 or less"
    many = mission(trial, Schedule(cycle_s=DAY_S, images=10**12))
    assert (many.overloaded, many.duty_cycle.value) == (True, 1.0)


def test_energy_of_a_cycle():
    """Active, idle between images, or switched off in pauses longer than a start is worth."""
    rail = meter(mean_w=5.0, energy_j=20.0, idle_w=2.0)
    outcome = mission(summary(((4.0,) * 20,) * 3, power=(rail,)))
    assert outcome.energy_j.active.value == pytest.approx(320 * 20.0)
    pause_s = DAY_S - 320 * 4.0
    assert outcome.energy_j.idle.value == pytest.approx(320 * 20.0 + 2.0 * pause_s)
    assert outcome.break_even_s.value == pytest.approx(10.0 * 5.0 / 2.0)
    # No pause before the first image of all; each of the ten cycles of a session has one else.
    long_pauses = 320 - 1 / 10
    expected_j = 320 * 20.0 + long_pauses * 50.0 + 2.0 * (pause_s - long_pauses * (DAY_S / 320 - 4.0))
    assert outcome.energy_j.off.value == pytest.approx(expected_j)
    assert outcome.energy_j.off.value < outcome.energy_j.idle.value


def test_a_pause_that_is_too_short_is_idled_through():
    rail = meter(mean_w=5.0, energy_j=20.0, idle_w=2.0)
    outcome = mission(summary(((4.0,) * 20,) * 3, power=(rail,)), starts_s=(600.0,))
    assert outcome.break_even_s.value > DAY_S / 320
    assert outcome.energy_j.off.value == pytest.approx(outcome.energy_j.idle.value)


def test_what_is_missing_has_its_reason():
    without_meter = mission(summary(((4.0,) * 20,) * 3))
    for figure in (*vars(without_meter.energy_j).values(), without_meter.break_even_s):
        assert figure.value is None
        assert figure.reason
    rail = meter(mean_w=5.0, energy_j=20.0, idle_w=2.0)
    without_start = mission(summary(((4.0,) * 20,) * 3, power=(rail,)), starts_s=())
    assert without_start.energy_j.idle.value is not None
    assert "no start_s" in without_start.energy_j.off.reason
    assert without_start.break_even_s.reason == without_start.energy_j.off.reason
    without_pixels = mission(summary(((4.0,) * 20,) * 3), image_bytes=None)
    assert without_pixels.storage_bytes.reason == "its images have no pixels"
    endless = Schedule(cycle_s=DAY_S, images=320)
    assert mission(summary(((4.0,) * 20,) * 3), endless).missed.reason == "the schedule has no deadline"


def test_a_trial_without_passes_is_unknown():
    outcome = mission(summary((), reason="its sessions failed", image_s_values=()))
    assert (outcome.load, outcome.overloaded) == (None, None)
    assert outcome.duty_cycle.reason == outcome.age_s.reason == "its sessions failed"


def limited(trial, quantity, limit, schedule=GREENLAND):
    profile: dict[str, Any] = {
        "name": "p",
        "requirements": [{"name": "limit", "quantity": quantity, "limit": limit}],
    }
    if schedule is not None:
        profile["schedule"] = {"cycle_s": schedule.cycle_s, "images": schedule.images}
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
    assert mission(trial, burst, image_bytes=60_000_000).storage_bytes.value == 80 * 60_000_000
    overloaded = limited(replace(trial, image_s_values=((600.0,) * 20,) * 3), "storage_bytes", "61 MB")
    assert (overloaded.verdict, "overloaded" in overloaded.reason) == ("unknown", True)
    without_schedule = limited(trial, "storage_bytes", "61 MB", None)
    assert (without_schedule.verdict, "[schedule]" in without_schedule.reason) == ("unknown", True)


def test_the_same_seed_gives_the_same_figures():
    trial = summary(((4.0, 200.0, 300.0),) * 3)
    assert mission(trial, seed=7) == mission(trial, seed=7)
    assert mission(trial, seed=7) != mission(trial, seed=8)
