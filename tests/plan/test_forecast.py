"""Two times per trial, noted from run to run; what is known of a run before it begins."""

import math
from dataclasses import replace

import pytest

from edgebench import registry
from edgebench.prepare.cache import Cache
from edgebench.run.forecast import (
    KnownTimes,
    SessionTimes,
    forecasts_of,
    note_times,
    noted_times,
    run_seconds,
    run_text,
    warnings_of,
)
from edgebench.run.settings import RunConfig
from edgebench.run.trials import Plan, choose_variants, make_trials
from tests.fakes import FakeBackend, made_images, made_scene, make_targets

TIMES = SessionTimes(2.0, 5.0)


def made_plan(hosts=(None,), images=True, config=None, **changes):
    """Two trials of each target."""
    backend = FakeBackend(precisions=("int8",))
    backends = {"fake": backend}
    [plain] = make_targets(backends, [], [])
    targets = [replace(plain, name=f"t{at}", host=host) for at, host in enumerate(hosts)]
    variants = {"fake": choose_variants(backend, (0.25, 0.5), ())}
    pictures = made_images() if images else None
    trials = make_trials(
        targets, backends, variants, batches=(1,), scene=made_scene(), images=pictures, config=config
    )
    return Plan(trials, made_scene(), pictures, **{"sessions": 5, "passes": 2, "seed": 1, **changes})


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def note_all(cache, plan, times=TIMES, scene_s=0.06):
    for trial in plan.trials:
        note_times(cache, plan, trial, times, scene_s)


def test_one_session_of_a_trial_has_accuracy():
    assert TIMES.total_s(4, accuracy=True) == 5.0 + 3 * 2.0
    assert TIMES.total_s(4, accuracy=False) == 4 * 2.0
    assert TIMES.total_s(0, accuracy=True) == 0.0
    assert SessionTimes(2.0).total_s(1, accuracy=True) == math.inf


def test_sessions_of_this_run_count_before_those_of_an_earlier_one():
    known = KnownTimes({"a": TIMES})
    assert known.get("a") == TIMES and known.get("b") is None
    assert known.total_s("b", 1, accuracy=False) == math.inf and known.total_s("b", 0, accuracy=True) == 0
    known.learn("a", SessionTimes(4.0))
    assert known.get("a") == SessionTimes(4.0, 5.0)  # accuracy was taken in the earlier run
    known.learn("a", SessionTimes(8.0, 20.0))
    assert known.get("a") == SessionTimes(6.0, 20.0)
    known.learn("b", SessionTimes(1.0))
    assert known.total_s("b", 3, accuracy=False) == 3.0


def test_times_are_noted_for_sessions_of_that_kind_alone(cache):
    plan = made_plan()
    first, second = plan.trials
    note_times(cache, plan, first, TIMES, None)
    assert noted_times(cache, plan, plan.trials) == {first.key: TIMES}
    other_passes = replace(plan, passes=10)
    sustained = made_plan(config=RunConfig(sustained=1.0), sustained_s=60.0)
    far = made_plan(hosts=("pi",))
    for other in (other_passes, sustained, far, made_plan(images=False)):
        assert noted_times(cache, other, other.trials) == {}
    note_times(cache, plan, second, SessionTimes(3.0), None)
    assert noted_times(cache, plan, plan.trials)[second.key] == SessionTimes(3.0)


@pytest.mark.parametrize("damage", ["fast", -1.0, None, 1e9, True])
def test_a_damaged_note_is_not_believed(cache, monkeypatch, damage):
    plan = made_plan()
    monkeypatch.setattr(Cache, "recipe", lambda self, kind, key: {"plain_s": damage, "accuracy_s": 1.0})
    assert noted_times(cache, plan, plan.trials) == {}
    monkeypatch.setattr(Cache, "recipe", lambda self, kind, key: {"plain_s": 1.0, "accuracy_s": damage})
    assert noted_times(cache, plan, plan.trials)[plan.trials[0].key] == SessionTimes(1.0)


def test_a_run_takes_as_long_as_the_slowest_host(cache):
    plan = made_plan(hosts=(None, "pi"))
    assert run_seconds(plan, forecasts_of(plan, cache)) == math.inf
    note_all(cache, plan)
    note_times(cache, plan, plan.trials[3], SessionTimes(10.0, 20.0), None)
    forecasts = forecasts_of(plan, cache)
    assert [forecast.seconds for forecast in forecasts] == [13.0, 13.0, 13.0, 60.0]
    assert run_seconds(plan, forecasts) == 73.0


@pytest.mark.parametrize(
    ("sessions", "seconds", "changes", "text"),
    [
        (27, 118.0, {}, "27 sessions, about 2 minutes"),
        (27, math.inf, {}, "27 sessions; the time is known after the first of each variant"),
        (1, math.inf, {}, "1 session; the time is known after it has ended"),
        (270, 7200.0, {"target_ci": 0.01}, "at most 270 sessions, at most 2.0 hours"),
        (27, 7200.0, {"max_time_s": 60.0}, "27 sessions, about 60 seconds"),
    ],
)
def test_a_run_is_told_in_one_line(sessions, seconds, changes, text):
    assert run_text(sessions, seconds, made_plan(**changes)) == text


def test_a_period_that_a_pass_is_longer_than_is_said(cache):
    plan = made_plan(period_s=0.05, config=RunConfig(period=0.05))
    assert warnings_of(plan, forecasts_of(plan, cache)) == []
    # Passes take as long back to back.
    back_to_back = made_plan()
    note_all(cache, back_to_back)
    [warning] = warnings_of(plan, forecasts_of(plan, cache))
    assert warning == "a period of 0.05 s is too short: a pass takes 0.06 s, so that it misses its deadline"
    note_times(cache, back_to_back, back_to_back.trials[0], TIMES, 0.01)
    [warning] = warnings_of(plan, forecasts_of(plan, cache))
    assert "is too short for 1 of 2 trials: a pass takes 0.06 s" in warning
    roomy = replace(plan, period_s=0.06)
    assert warnings_of(roomy, forecasts_of(roomy, cache)) == []


def metered(plan, *meters, **more):
    target = replace(plan.trials[0].target, meters=meters, **more)
    return replace(plan, trials=tuple(replace(trial, target=target) for trial in plan.trials))


def test_what_a_slow_meter_adds_is_said(cache):
    plan = metered(made_plan(), "um25c:/dev/ttyUSB0", "fnb58")
    text = (
        "um25c at 2 Hz: each session idles for 50 s before its passes and again after them; "
        "the steady part of each session{} is lengthened to 55 s"
    )
    assert warnings_of(plan, forecasts_of(plan, cache)) == [text.format("")]
    note_times(cache, plan, plan.trials[0], TIMES, 30.0)  # two passes last a minute
    assert warnings_of(plan, forecasts_of(plan, cache)) == [text.format(" of 1 of 2 trials")]


def test_what_lasts_long_enough_for_its_meter_is_not_lengthened(cache):
    long_enough = metered(made_plan(period_s=30.0), "nvml")
    [line] = warnings_of(long_enough, forecasts_of(long_enough, cache))
    assert line == "nvml at 10 Hz: each session idles for 10 s before its passes and again after them"
    preferring = metered(made_plan(), preferred_meters=("tegrastats",))
    [line] = warnings_of(preferring, forecasts_of(preferring, cache))
    assert line.startswith("tegrastats at 20 Hz, where it can be read: ") and line.endswith(" 5.5 s")
    for quick in (metered(made_plan(sustained_s=600.0), "telemetry:1"), metered(made_plan(), "csv:a.csv")):
        assert warnings_of(quick, forecasts_of(quick, cache)) == []


def test_a_build_on_the_board_is_said(cache):
    backends = {"toy": registry.backend("toy")}
    variants = {"toy": choose_variants(backends["toy"], (0.25,), ("int8",))}

    def lines(*settings):
        targets = make_targets(backends, ["build=true", *settings], [])
        trials = make_trials(targets, backends, variants, batches=(1,), scene=made_scene(), images=None)
        plan = Plan(trials, made_scene(), None, sessions=5, passes=2, seed=1)
        return warnings_of(plan, forecasts_of(plan, cache))

    before = "before a trial's first session, unless the board has it"
    assert lines() == [f"toy builds what it loads {before}"]
    assert lines("queue=2", "queue=3") == [f"toy[queue=2], toy[queue=3] build what they load {before}"]


class SlowLine(FakeBackend):
    """Gives windows of 10 to 25 s, and takes 13 s to take in a picture."""

    gives_windows = True
    default_passes = 5
    default_patches = 1

    def stage_seconds(self, target, plan):
        return {
            "load": (13.0, 13.0),
            "first pass": (10.0, 25.0),
            "passes": (plan.passes * 10.0, plan.passes * 25.0),
            **({} if plan.images is None else {"images": (plan.images.n * 13.0, plan.images.n * 13.0)}),
        }


@pytest.fixture
def slow_line(monkeypatch):
    """A plan of a device at a slow line, which forecasts look up by its name."""
    backend = SlowLine("slow", precisions=("int8",))
    names = registry.names
    monkeypatch.setattr(
        registry, "names", lambda group: ["slow"] if group.endswith("backends") else names(group)
    )
    monkeypatch.setattr(registry, "backend", lambda name: backend)
    backends = {"slow": backend}
    trials = make_trials(
        make_targets(backends, [], []),
        backends,
        {"slow": choose_variants(backend, (0.25,), ())},
        scene=made_scene(),
        images=made_images(),
        config=RunConfig(),
    )
    return Plan(trials, made_scene(), made_images(), sessions=5, passes=5, seed=1)


def test_the_time_of_a_slow_line_is_said_before_anything_is_sent(cache, slow_line):
    forecasts = forecasts_of(slow_line, cache)
    assert forecasts[0].seconds == math.inf
    assert warnings_of(slow_line, forecasts) == [
        "slow: 1:13 to 2:43 a session, and 0:52 once a trial for accuracy on 4 images (--accuracy-images)"
    ]
    without = replace(slow_line, images=None)
    assert warnings_of(without, forecasts_of(without, cache)) == ["slow: 1:13 to 2:43 a session"]
    note_all(cache, slow_line, SessionTimes(100.0, 152.0))
    forecasts = forecasts_of(slow_line, cache)
    assert forecasts[0].seconds == 552.0 and warnings_of(slow_line, forecasts) == []


@pytest.mark.parametrize(("meter", "lengthens"), [("fnb58:1", False), ("um25c:1", True)])
def test_windows_are_lengthened_only_for_a_meter_that_is_slower(cache, slow_line, meter, lengthens):
    plan = metered(slow_line, meter)  # five windows of 10 s or more
    lines = warnings_of(plan, forecasts_of(plan, cache))
    assert any("is lengthened to 55 s" in line for line in lines) == lengthens
    assert any("lengthened" in line for line in lines) == lengthens
