"""What would settle a verdict, and that every option it names is one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from typer.main import get_command

from edgebench.cli.main import app
from edgebench.judge.decision import settled_by
from edgebench.judge.metrics import required_metrics
from edgebench.judge.published import judge_published
from edgebench.judge.trial_summary import TrialSummary
from edgebench.judge.verdict import judge
from edgebench.records.target import DeclaredBoot, DeclaredPower
from tests.fit.summaries import STEADY, meter, summary
from tests.fit.test_nearest import of


def by(trial: TrialSummary, **requirement: Any) -> tuple[str, str]:
    (verdict,) = judge(trial, of(requirement))
    return verdict.verdict, settled_by(trial, verdict)


def options(command: str) -> set[str]:
    found = get_command(app).commands[command].load()  # type: ignore[attr-defined]
    return {option for parameter in found.params for option in parameter.opts}


@pytest.mark.parametrize("metric", required_metrics().values(), ids=lambda metric: metric.name)
def test_every_metric_that_may_be_unknown_says_what_brings_it(metric: Any) -> None:
    assert metric.brought_by
    assert set(re.findall(r"--[a-z-]+", metric.brought_by)) <= options("run")


def test_what_is_declared_can_be_declared_when_it_is_judged() -> None:
    for name in ("mass_g", "size_mm", "boot_s"):
        assert set(re.findall(r"--[a-z-]+", required_metrics()[name].brought_by)) <= options("fit")


def test_what_is_settled_or_carried_out_by_no_device_takes_nothing() -> None:
    assert by(summary(), limit=9.0) == ("pass", "")
    assert by(summary(), limit=0.1) == ("fail", "")
    assert by(replace(summary(), emulated=True), limit=9.0) == ("unknown", "")
    assert by(replace(summary(), status="not_run"), limit=9.0) == ("unknown", "--resume")


def test_so_many_sessions_as_their_spread_foretells() -> None:
    word, way = by(summary(), limit=1.005)
    assert word == "inconclusive"
    needed = int(re.fullmatch(r"some (\d+) sessions \(--sessions \1\)", way)[1])  # type: ignore[index]
    assert 4 <= needed <= 60
    assert by(summary(STEADY[:2]), limit=2.0)[1] == "some 3 sessions (--sessions 3)"
    assert by(summary(STEADY[:1]), limit=2.0)[1] == "more sessions (--sessions 3 or more)"


def test_more_sessions_than_anybody_waits_for_are_not_proposed() -> None:
    for limit in (1.0005, 1.00005):  # hundreds of sessions, and more than any forecast goes to
        word, way = by(summary(), limit=limit)
        assert word == "inconclusive"
        assert "--sessions" not in way and "margin is too small to settle by repeating" in way
    close = summary(accuracy=(900, 1000))
    word, way = by(close, quantity="accuracy", limit=0.9)
    assert word == "inconclusive" and "too small to settle by repeating" in way and "--images" not in way


def test_what_the_trial_has_already_is_not_proposed() -> None:
    assert by(summary(), quantity="mass_g", limit=9)[1] == "--board NAME"
    named = replace(summary(), body="Jetson Orin NX module (mass not known)")
    assert by(named, quantity="mass_g", limit=9) == ("unknown", "--declared mass_g:VALUE:SOURCE")
    declared = replace(summary(), boot_s=DeclaredBoot(30.0, "maximum", "sheet"))
    assert by(declared, quantity="boot_s", limit=20.0) == ("inconclusive", "")


def test_what_the_device_cannot_do_is_not_proposed() -> None:
    windows = replace(summary(), image_s=None, image_s_values=())
    assert by(windows, quantity="deadline_misses", limit=0.1) == ("unknown", "")
    shared = replace(summary(), workers=({"worker": 0}, {"worker": 1}))
    assert by(shared, limit=9.0) == ("unknown", "a run with one worker")


def test_a_cycle_without_a_schedule_takes_one() -> None:
    assert by(summary(), quantity="energy_cycle_j", limit=9)[1] == "a [schedule] in the profile"


def test_an_averaging_time_takes_windows_as_long() -> None:
    asked = {"quantity": "power_peak_w", "averaging_s": 90.0, "limit": 9.0}
    word, way = by(summary(power=(meter(window_s=5.0),)), **asked)
    assert (word, way) == ("inconclusive", "longer sessions (--sustained 2)")


def test_a_percentile_takes_so_many_passes() -> None:
    nine = tuple((1.0, 1.1) for _ in range(9))
    assert by(summary(nine), limit=2.0, statistic="p99") == (
        "inconclusive",
        "34 passes a session (--passes 34)",
    )


@pytest.mark.parametrize("statistic", ["p99", "max"])
def test_a_tail_takes_sessions_that_show_a_stall_of_some(statistic: str) -> None:
    nine = "some 9 sessions (--sessions 9)"
    assert by(summary(), limit=2.0, statistic=statistic)[1] == f"{nine} of 34 passes (--passes 34)"
    many = summary(tuple((1.0,) * 400 for _ in range(3)))
    assert by(many, limit=2.0, statistic=statistic) == ("inconclusive", nine)


def test_a_share_takes_so_many_images() -> None:
    word, way = by(summary(accuracy=(95, 100)), quantity="accuracy", limit=0.93)
    images = int(re.fullmatch(r"some (\d+) images \(--images DIR\|CSV\)", way)[1])  # type: ignore[index]
    enough = summary(accuracy=(round(0.95 * images), images))
    assert (word, by(enough, quantity="accuracy", limit=0.93)[0]) == ("inconclusive", "pass")
    assert 500 <= images <= 1500


def test_a_meter_that_decides() -> None:
    peak = {"quantity": "power_peak_w", "limit": 9.0}
    assert by(summary(), **peak)[1] == "--meter KIND, or --declared-power POWER"
    chip = summary(power=(meter(scope="chip"),))
    assert by(chip, **peak) == ("inconclusive", "--meter KIND that sees all of the board")
    slow = summary(power=(meter(effective_hz=10.0),))
    assert by(slow, **peak) == ("inconclusive", "--meter KIND that is faster and leaves no gap")
    typical = replace(summary(), declared_power=(DeclaredPower(3.0, "typical", "label"),))
    assert by(typical, **peak) == ("inconclusive", "--meter KIND")
    spread = summary(power=(meter(energy_j_sessions=(5.0, 6.0, 7.0)),))
    word, way = by(spread, quantity="energy_j", limit=6.2)
    assert word == "inconclusive" and way.startswith("some ") and "--sessions" in way


def test_a_typical_boot_time_takes_a_maximum() -> None:
    typical = replace(summary(), boot_s=DeclaredBoot(10.0, "typical", "sheet"))
    assert by(typical, quantity="boot_s", limit=20.0)[1] == "--declared boot_s:SECONDS:maximum:SOURCE"


def test_what_others_published_is_settled_by_measuring() -> None:
    judged = judge_published()
    trials = {trial.key: trial for trial in judged.summaries}
    ways: dict[str, set[str]] = {}
    for verdict in judged.verdicts:
        ways.setdefault(verdict.quantity, set()).add(settled_by(trials[verdict.trial], verdict))
    declared = {"", "--board TARGET=NAME"} | {
        f"--declared {name}:VALUE:SOURCE" for name in ("mass_g", "size_mm")
    }
    assert ways.pop("mass_g") | ways.pop("size_mm") == declared
    assert ways and all(each == {"", "a run of one's own (`edgebench run`)"} for each in ways.values())


def test_readings_of_no_load_take_a_look_at_the_meter_and_an_unknown_lag_another_meter() -> None:
    void = meter(
        mean_w=None,
        peak_w=None,
        mean_w_sessions=(),
        energy_j_sessions=(),
        reason="its mean is -3 W: check the meter's polarity and wiring",
    )
    late = meter(mean_low_w=2.0, mean_high_w=4.0, energy_low_j=4.0, energy_high_j=8.0, unknown_lag_s=2.1)
    for quantity, limit in (("power_mean_w", 3.5), ("energy_j", 7.0)):
        trial = summary(power=(void,))
        assert by(trial, quantity=quantity, limit=limit) == (
            "unknown",
            "a check of the meter's polarity and wiring",
        )
        trial = summary(power=(late,))
        assert by(trial, quantity=quantity, limit=limit) == (
            "inconclusive",
            "--meter KIND whose lag is known",
        )
