"""Next steps: actions that would settle a verdict, with arguments that are options, and passing limits."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.main import get_command

from edgebench.cli.main import app
from edgebench.judge.metrics import required_metrics
from edgebench.judge.metrics.board import share_missed
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Ended, Estimate, EstimateKey, Trial
from edgebench.judge.verdicts.next_steps import next_steps, option_steps, passing_limit, settling_steps
from edgebench.judge.verdicts.verdict import NextStep, Word, verdict_of, word_of
from tests.judge.trials import STEADY, declared, exact, judge, meter, profile_of, size, trial


def steps(measured: Trial, **requirement: Any) -> tuple[Word, tuple[NextStep, ...]]:
    (verdict,) = judge(measured, profile_of(requirement))
    return verdict.word, settling_steps(measured, verdict)


def only(measured: Trial, **requirement: Any) -> NextStep:
    word, (step,) = steps(measured, **requirement)
    assert word in ("inconclusive", "unknown")
    return step


def test_an_interrupted_trial_is_resumed_before_it_takes_more_sessions() -> None:
    two, ended = trial(STEADY[:2]), Ended("interrupted", 2, None, (), "interrupted after 2 sessions")
    assert only(two, limit=1.1).kind == "more sessions"
    assert only(replace(two, ended=ended), limit=1.1) == NextStep("resume", ("--resume",))
    assert only(replace(two, ended=ended), quantity="mass_g", limit=100.0).kind == "declare"


def limit_of(measured: Trial, **requirement: Any) -> Any:
    return passing_limit(measured, profile_of(requirement).requirements[0])


@pytest.mark.parametrize("metric", required_metrics().values(), ids=lambda metric: metric.name)
def test_every_option_of_a_metric_is_one_of_its_command(metric: Any) -> None:
    command = "fit" if metric.option_of == "fit" else "run"
    found = get_command(app).commands[command].load()  # type: ignore[attr-defined]
    options = {option for parameter in found.params for option in parameter.opts}
    for step in option_steps(metric):
        assert step.arguments or step.reason
        named = {word for word in (*step.arguments, *step.reason.split()) if word.startswith("--")}
        assert named <= options, step


def test_a_settled_verdict_and_a_trial_that_no_device_carried_out_take_nothing() -> None:
    assert steps(trial(), limit=9.0) == ("pass", ())
    assert steps(trial(), limit=0.1) == ("fail", ())
    assert steps(trial(marks=("emulated",)), limit=9.0) == ("unknown", ())
    assert only(trial(status="not_run"), limit=9.0) == NextStep("resume", ("--resume",))


def test_sessions_are_those_that_their_spread_foretells_in_all() -> None:
    step = only(trial(), limit=1.005)
    assert step.arguments[0] == "--sessions" and 4 <= int(step.arguments[1]) <= 60
    assert only(trial(STEADY[:2]), limit=2.0).arguments == ("--sessions", "3")
    assert only(trial(STEADY[:1]), limit=2.0).reason == "3 sessions or more"
    for limit in (1.0005, 1.00005):  # hundreds of sessions, and more than any forecast goes to
        far = only(trial(), limit=limit)
        assert far.arguments == () and "too small to settle by repeating" in far.reason


@pytest.mark.parametrize("statistic", ["p99", "max"])
def test_a_tail_takes_its_sessions_and_passes_in_all(statistic: str) -> None:
    asked = {"limit": 2.0, "statistic": statistic}
    both = ("--sessions", "9", "--passes", "34")
    assert only(trial(), **asked).arguments == both
    # More sessions of as few passes give the same advice, and do not move it on by one.
    for sessions in range(3, 9):
        assert only(trial(((1.0, 1.01, 0.99),) * sessions), **asked).arguments == both
    assert only(trial(((1.0,) * 400,) * 3), **asked).arguments == ("--sessions", "9")
    assert only(trial(((1.0, 1.1),) * 9), **asked).arguments == both
    # Following the advice settles it, where the values repeat.
    assert steps(trial(((1.0, 1.01) * 17,) * 9), **asked) == ("pass", ())


def test_a_pass_of_several_requests_counts_once() -> None:
    passes = ((1.0, 1.01, 0.99, 1.0),) * 3
    requests = {EstimateKey("request_ms", "median"): tuple(session * 3 for session in passes)}
    estimate = {EstimateKey("request_ms", "median"): Estimate(1.0, 0.99, 1.01, n=36)}
    measured = trial(passes)
    measured = replace(
        measured, values={**measured.values, **requests}, estimates={**measured.estimates, **estimate}
    )
    step = only(measured, quantity="request_ms", statistic="p99", limit=2.0)
    # 12 passes of three requests each: a 99th percentile takes 34 of each of 9 sessions.
    assert step.arguments == ("--sessions", "9", "--passes", "12")


def test_a_tail_near_its_limit_takes_sessions_until_its_bound_is_below() -> None:
    sessions = tuple(tuple(1.0 + 0.01 * (at % 3) + 0.001 * n for n in range(40)) for at in range(9))
    tail = {"statistic": "p99", "limit": 1.075}
    step = only(trial(sessions), **tail)
    count = int(step.arguments[1])
    assert step.kind == "more sessions" and count > 10
    assert steps(trial(tuple(sessions[at % 9] for at in range(count))), **tail)[0] == "pass"


def test_one_value_a_session_takes_as_many_sessions() -> None:
    loads = trial(values={"load_s": ((1.0,), (1.01,), (0.99,))})
    assert only(loads, quantity="load_s", statistic="max", limit=2.0).arguments == ("--sessions", "299")


def test_a_share_takes_so_many_images() -> None:
    asked = {"quantity": "accuracy", "limit": 0.93}
    step = only(trial(accuracy=(95, 100)), **asked)
    assert (step.kind, step.arguments) == ("more images", ("--images", "DIR|CSV"))
    images = int(re.fullmatch(r"some (\d+) images", step.reason)[1])  # type: ignore[index]
    assert 500 <= images <= 1500
    assert steps(trial(accuracy=(round(0.95 * images), images)), **asked)[0] == "pass"
    far = only(trial(accuracy=(900, 1000)), quantity="accuracy", limit=0.9)
    assert far.arguments == () and "too small to settle" in far.reason


def test_a_share_of_missed_deadlines_takes_as_many_passes_as_show_it() -> None:
    in_time = ((-0.1,) * 9,) * 3
    key = EstimateKey("deadline_misses", "share")
    paced = replace(trial(), values={key: in_time}, estimates={key: share_missed(in_time, 0.95)})
    step = only(paced, quantity="deadline_misses", limit=0.05)
    assert step.arguments == ("--sessions", "9")  # 81 passes: a limit of 5 % takes 76
    assert word_of(share_missed(((-0.1,) * 9,) * 9, 0.95), 0.05, at_least=False) == "pass"


def test_a_step_that_the_trial_or_its_device_cannot_take_is_not_proposed() -> None:
    assert only(trial(), quantity="mass_g", limit=9).arguments == ("--board", "NAME")
    named = trial(body="Jetson Orin NX module (mass not known)")
    assert only(named, quantity="mass_g", limit=9).arguments == ("--declared", "mass_g:VALUE:SOURCE")
    boot = trial(estimates={"boot_s": declared("maximum", 30.0)})
    assert steps(boot, quantity="boot_s", limit=20.0) == ("inconclusive", ())
    typical = trial(estimates={"boot_s": declared("typical", 10.0)})
    assert only(typical, quantity="boot_s", limit=20.0).arguments[0] == "--declared"
    untimed = {name: Estimate(reason="windows") for name in ("image_s", "deadline_misses")}
    assert steps(trial(estimates=untimed), quantity="deadline_misses", limit=0.1) == ("unknown", ())
    few = Estimate(reason="it takes 10 classes, and there are 5", final=True)
    five = trial(estimates={"accuracy_top5": few})
    assert steps(five, quantity="accuracy_top5", limit=0.9) == ("unknown", ())
    shared = Estimate(reason="2 workers shared the device, and their figures are not pooled")
    both = trial((), workers=("one", "two"), estimates={"load_s": shared})
    assert "one worker" in only(both, quantity="load_s", limit=9.0).reason
    other = trial(doubts={"machine": "another board"})
    assert "declared board" in only(other, limit=9.0).reason


def test_nothing_is_declared_of_a_trial_without_sessions() -> None:
    body = {"body": "Jetson Orin NX module (mass not known)"}
    mass = {"quantity": "mass_g", "limit": 9}
    published = trial((), marks=("published",), **body)
    assert only(published, **mass).arguments == ("--board", "TARGET=NAME")
    assert only(trial(status="failed", **body), **mass) == NextStep("resume", ("--resume",))
    assert steps(trial(marks=("emulated",), **body), **mass) == ("unknown", ())


def scheduled(measured: Trial, quantity: str, limit: float, **schedule: Any) -> tuple[NextStep, ...]:
    limits = [{"name": "it", "quantity": quantity, "limit": limit}]
    table = {"cycle_s": 60.0, "images": 10, **schedule}
    profile = Profile.model_validate({"name": "p", "requirements": limits, "schedule": table})
    verdict = judge(measured, profile)[0]
    assert verdict.word in ("inconclusive", "unknown")
    return settling_steps(measured, verdict)


def test_a_schedule_that_is_there_is_not_asked_for() -> None:
    assert only(trial(), quantity="age_s", limit=9.0).reason == "a [schedule] in the profile"
    untimed = trial((), estimates={"image_s": Estimate(reason="windows")})
    assert scheduled(untimed, "age_s", 9.0) == ()
    (deadline,) = scheduled(trial(), "missed_deadlines", 0.1)
    assert deadline == NextStep("declare", reason="a deadline in the [schedule]")
    (unpaced,) = scheduled(trial(power=(meter(),), period_s=2.0), "energy_cycle_j", 900.0)
    assert unpaced == NextStep("measure", reason="a run without --period")
    (metered,) = scheduled(trial(), "energy_cycle_j", 900.0)
    assert metered.arguments == ("--meter", "KIND")


def test_no_sessions_are_asked_for_where_they_change_nothing() -> None:
    chip = trial(power=(meter(scope="chip"),))
    (wider,) = scheduled(chip, "energy_cycle_j", 900.0)
    assert wider == NextStep("measure", ("--meter", "KIND"), reason="that sees all of the board")
    stamps = trial(doubts={"stamps": "passes are too short for its clock"})
    assert steps(stamps, limit=9.0) == ("inconclusive", ())
    assert steps(stamps, limit=9.0, statistic="p99") == ("inconclusive", ())
    short = trial(power=(meter(effective_hz=0.5, window_s=10.0),))
    longer, faster = steps(short, quantity="power_mean_w", limit=9.0)[1]
    assert longer == NextStep("longer sessions", ("--sustained", "4"))
    assert faster == NextStep("measure", ("--meter", "KIND"), reason="that is faster")
    # The ticks of the clock alone keep the limit within the interval.
    coarse = trial(((1.0, 1.0), (1.001, 1.001), (0.999, 0.999)), ticks={"image_s": 0.1})
    assert steps(coarse, limit=1.05) == ("inconclusive", ())


def test_a_published_number_takes_a_run_and_a_declared_one_a_board() -> None:
    published = trial((), marks=("published",), estimates={"image_s": Estimate(2.0, n=1, basis="published")})
    assert only(published, limit=3.0) == NextStep("measure", reason="a run of one's own (`edgebench run`)")
    assert only(published, quantity="mass_g", limit=9).arguments == ("--board", "TARGET=NAME")


def test_a_meter_that_decides() -> None:
    peak = {"quantity": "power_peak_w", "limit": 9.0}
    assert [step.arguments[0] for step in steps(trial(), **peak)[1]] == ["--meter", "--declared-power"]
    for changes, words in (
        ({"scope": "chip"}, "that sees all of the board"),
        ({"effective_hz": 10.0}, "that is faster and leaves no gap"),
    ):
        step = only(trial(power=(meter(**changes),)), **peak)
        assert (step.arguments, step.reason) == (("--meter", "KIND"), words)
    lasting = only(trial(power=(meter(window_s=5.0),)), averaging_s=90.0, **peak)
    assert lasting == NextStep("longer sessions", ("--sustained", "2"))
    spread = only(trial(power=(meter(energy_j=(5.0, 6.0, 7.0)),)), quantity="energy_j", limit=6.2)
    assert spread.kind == "more sessions" and spread.arguments[0] == "--sessions"


# Passing limits


def test_the_limit_that_passes_is_the_end_that_a_pass_needs() -> None:
    slow = trial(tuple(tuple(3 * value for value in session) for session in STEADY))
    assert limit_of(slow, limit=2000.0, unit="ms") == pytest.approx(slow.estimate("image_s").high, rel=1e-14)
    tested = trial(accuracy=(950, 1000))
    low = tested.estimate("accuracy").low
    assert limit_of(tested, quantity="accuracy", limit=97.0, unit="%") == pytest.approx(low, rel=1e-14)
    assert limit_of(trial(estimates={"mass_g": exact(101)}), quantity="mass_g", limit=100.0) == 101.0
    assert limit_of(trial(STEADY[:2]), limit=0.5) is None
    assert limit_of(trial(), quantity="energy_j", limit=5.0) is None
    (verdict,) = judge(slow, profile_of({"limit": 2.0}))
    assert [step.kind for step in next_steps(slow, verdict)] == ["relax"]


def test_a_body_passes_limits_that_are_looser_side_by_side() -> None:
    body = trial(estimates=size(80.0, 12.0, 30.0))
    assert limit_of(body, quantity="size_mm", limit=[10.0, 70.0, 40.0]) == (12.0, 80.0, 40.0)
    assert limit_of(body, quantity="size_mm", limit=[1.0, 7.0, 4.0], unit="cm") == (12.0, 80.0, 40.0)


def test_a_narrow_meter_passes_no_limit_and_has_to_be_met_beside_another() -> None:
    chip = meter(name="rapl package", scope="chip", mean_w=(4.99, 5.0, 5.01), peak_w=5.2)
    asked = {"quantity": "power_mean_w", "limit": 2.0}
    assert limit_of(trial(power=(chip,)), **asked) is None
    both = trial(power=(meter(), chip))
    to = limit_of(both, **asked)
    assert 4.9 < to < 5.0
    words = [verdict_of(both, profile_of(asked).requirements[0], limit=to * by).word for by in (1, 0.999)]
    assert words == ["pass", "fail"]


def test_a_declared_maximum_is_a_limit_that_passes_and_a_typical_number_none() -> None:
    key = EstimateKey("declared_power", "declared", stage="maximum")
    label = trial(estimates={key: declared("maximum", 9.5)})
    assert limit_of(label, quantity="power_peak_w", limit=5.0) == 9.5
    boot = trial(estimates={"boot_s": declared("typical", 30.0)})
    assert limit_of(boot, quantity="boot_s", limit=20.0) is None


QUANTITIES: dict[str, tuple[dict[str, Any], ...]] = {
    "image_s": ({}, {"unit": "ms"}, {"statistic": "max"}, {"statistic": "p90"}),
    "accuracy": ({}, {"unit": "%"}),
    "power_mean_w": ({}, {"unit": "mW"}),
    "power_peak_w": ({}, {"averaging_s": 1.0}),
    "energy_j": ({}, {"unit": "mJ"}),
    "mass_g": ({}, {"unit": "kg"}),
}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_trial_passes_that_limit_and_none_much_nearer(data: Any) -> None:
    quantity = data.draw(st.sampled_from(sorted(QUANTITIES)))
    level = data.draw(st.floats(0.1, 30.0))
    scopes = data.draw(st.lists(st.sampled_from(["board", "chip", "wall"]), max_size=3))
    rails = tuple(
        meter(
            scope=scope,
            name=f"m{at} in",
            peak_w=level * (2 + at),
            mean_w=tuple(level * (1 + at) * (1 + 0.01 * n) for n in range(3)),
            energy_j=tuple(level * (3 + at) * (1 + 0.01 * n) for n in range(3)),
        )
        for at, scope in enumerate(scopes)
    )
    values = tuple(tuple(level * (1 + 0.001 * n + 0.01 * m) for n in range(100)) for m in range(4))
    share = (data.draw(st.integers(1, 199)), 200)
    tried = trial(values, power=rails, accuracy=share, estimates={"mass_g": exact(level)})
    asked = data.draw(st.sampled_from(QUANTITIES[quantity]))
    limit = data.draw(st.floats(0.01, 0.99 if quantity == "accuracy" else 50.0))
    (requirement,) = profile_of({"quantity": quantity, "limit": limit, **asked}).requirements
    assume(verdict_of(tried, requirement).word in ("fail", "inconclusive"))
    to = passing_limit(tried, requirement)
    if to is None:
        loosest = 1e-9 if requirement.at_least else 1e17
        assert verdict_of(tried, requirement, limit=loosest).word != "pass"
        return
    assert isinstance(to, float)
    # The limit as its unit states it passes, too.
    assert verdict_of(tried, requirement, limit=to / requirement.scale * requirement.scale).word == "pass"
    nearer = to + 1e-6 * (requirement.base_limit - to)
    assert verdict_of(tried, requirement, limit=nearer).word != "pass"
