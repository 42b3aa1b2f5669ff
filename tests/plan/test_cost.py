"""What a plan will cost, and what its sessions will resolve."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from edgebench import registry
from edgebench.prepare.cache import Cache
from edgebench.report.listings.planned import print_planned, time_notes
from edgebench.run.cost import (
    Spread,
    costs_of,
    note_cost,
    note_spread,
    resolution_notes,
    spread_note,
    whole_span,
)
from edgebench.run.estimate import Cost, Span
from edgebench.run.settings import RunConfig
from edgebench.run.trials import Plan, choose_variants, make_trials
from edgebench.stats.forecast import sessions_for
from edgebench.stats.intervals import STOPPING_CONFIDENCE
from tests.fakes import FakeBackend, made_images, made_scene, make_targets


def made_plan(hosts=(None,), **changes):
    backend = FakeBackend(precisions=("int8",))
    backends = {"fake": backend}
    [plain] = make_targets(backends, [], [])
    targets = [replace(plain, name=f"t{at}", host=host) for at, host in enumerate(hosts)]
    variants = {"fake": choose_variants(backend, (0.25, 0.5), ())}
    trials = make_trials(targets, backends, variants, batches=(1,), scene=made_scene(), images=made_images())
    return Plan(trials, made_scene(), made_images(), **{"sessions": 5, "passes": 2, "seed": 1, **changes})


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def note_all(cache, plan):
    for trial in plan.trials:
        note_cost(cache, trial.inputs, Cost(0.01, 0.5, warmup_batches=34))


def test_what_was_never_measured_takes_nobody_knows_how_long(cache):
    plan = made_plan()
    costs = costs_of(plan, cache)
    assert [cost.basis for cost in costs] == ["unknown"] * 2
    assert not whole_span(plan, costs).known
    note_cost(cache, plan.trials[0].inputs, Cost(0.01, 0.5))
    costs = costs_of(plan, cache)
    assert [cost.basis for cost in costs] == ["measured", "scaled"]
    assert whole_span(plan, costs).known


def test_a_trial_takes_its_sessions_and_accuracy_once(cache):
    plan = made_plan()
    note_all(cache, plan)
    cost = costs_of(plan, cache)[0]
    session = 0.5 + 0.01 * (3 * 6 + 34)
    assert cost.span(0) == Span()
    assert cost.span(5).most_s == pytest.approx(5 * session + 0.01 * 4)


def test_a_plain_run_costs_its_sessions(cache):
    plan = made_plan()
    note_all(cache, plan)
    costs = costs_of(plan, cache)
    assert [(cost.expected, cost.most) for cost in costs] == [(5, 5)] * 2
    assert whole_span(plan, costs).most_s == pytest.approx(sum(cost.span(5).most_s for cost in costs))
    needed = sessions_for(0.02, 0.01)
    assert resolution_notes(plan, costs) == [
        f"5 sessions will not narrow the interval of image_s to ±1 %: about {needed} will"
    ]
    assert spread_note(costs) == "2 % between sessions is assumed: none was measured here yet"


def test_a_target_costs_what_its_spread_takes(cache):
    plan = made_plan(sessions=30, target_ci=0.01)
    note_all(cache, plan)
    note_spread(cache, plan.trials[0].inputs, Spread(0.003, 20))
    note_spread(cache, plan.trials[1].inputs, Spread(0.08, 20))
    costs = costs_of(plan, cache)
    assert costs[0].needed == sessions_for(0.003, 0.01, STOPPING_CONFIDENCE) == 4
    # The width ends no trial before.
    assert [(cost.expected, cost.most) for cost in costs] == [(12, 30), (30, 30)]
    expected_s = costs[0].span(12).most_s + costs[1].span(30).most_s
    assert whole_span(plan, costs).most_s == pytest.approx(expected_s)
    most = whole_span(plan, costs, most=True)
    assert most.most_s == pytest.approx(sum(cost.span(30).most_s for cost in costs))
    far = sessions_for(0.08, 0.01, STOPPING_CONFIDENCE)
    assert resolution_notes(plan, costs) == [
        f"at most 30 sessions will not narrow the interval of image_s to ±1 % "
        f"for 1 of 2 trials: about {far} will"
    ]
    assert spread_note(costs) == "sessions differed by 0.3 % to 8 % when last measured here"


def test_hosts_are_measured_side_by_side_and_time_is_kept(cache):
    plan = made_plan(hosts=(None, "pi"))
    note_all(cache, plan)
    costs = costs_of(plan, cache)
    assert whole_span(plan, costs).most_s == pytest.approx(sum(cost.span(5).most_s for cost in costs) / 2)
    assert whole_span(replace(plan, max_time_s=1.0), costs) == Span.exactly(1.0)


def test_what_nobody_can_measure_is_said(cache):
    plan = made_plan(target_ci=1e-6, sessions=1000)
    [note] = resolution_notes(plan, costs_of(plan, cache))
    assert note.endswith("no number up to 1,000 will")


@pytest.mark.parametrize(
    ("spreads", "words"),
    [
        ((0.02, 0.08), "about {0} will for the steadiest, {1} for all of them"),
        ((0.02, 0.435), "about {0} will for the steadiest, no number up to 1,000 for 1 of them"),
    ],
)
def test_sessions_that_would_do_are_those_that_a_run_takes(cache, spreads, words):
    plan = made_plan()
    for trial, spread in zip(plan.trials, spreads, strict=True):
        note_spread(cache, trial.inputs, Spread(spread, 20))
    [note] = resolution_notes(plan, costs_of(plan, cache))
    assert note.endswith(": " + words.format(*(sessions_for(spread, 0.01) for spread in spreads)))


def test_what_may_not_do(cache):
    plan = made_plan(target_ci=0.01)
    for trial in plan.trials:
        note_spread(cache, trial.inputs, Spread(0.005, 3))
    [note] = resolution_notes(plan, costs_of(plan, cache))
    assert note.startswith("at most 5 sessions may not narrow the interval of image_s to ±1 %: about ")


def test_a_plan_that_will_do_has_no_note(cache):
    plan = made_plan(target_ci=0.5)
    assert resolution_notes(plan, costs_of(plan, cache)) == []


def test_a_build_on_the_board_comes_once_and_may_lie_there_already(cache):
    backends = {"toy": registry.backend("toy")}
    [target] = make_targets(backends, ["build=true"], [])
    variants = {"toy": choose_variants(backends["toy"], (0.25,), ("int8",))}
    trials = make_trials([target], backends, variants, batches=(1,), scene=made_scene(), images=None)
    plan = Plan(trials, made_scene(), None, sessions=5, passes=2, seed=1)
    note_cost(cache, trials[0].inputs, Cost(0.01, 0.5, warmup_batches=34))
    [unknown] = costs_of(plan, cache)
    assert not unknown.span(5).known
    note_cost(cache, trials[0].inputs, Cost(0.01, 0.5, warmup_batches=34, build_s=60.0))
    [known] = costs_of(plan, cache)
    assert known.span(5).most_s == pytest.approx(known.span(5).least_s + 60.0)
    assert known.span(0) == Span()
    out = io.StringIO()
    print_planned(Console(file=out, width=200), plan, [known])
    assert "toy builds what it loads before a trial's first session" in out.getvalue()
    assert "at most 1:00 in all" in out.getvalue()
    swept = make_targets(backends, ["build=true", "queue=2", "queue=3"], [])
    trials = make_trials(swept, backends, variants, batches=(1,), scene=made_scene(), images=None)
    plan = replace(plan, trials=trials)
    print_planned(Console(file=out, width=200), plan, costs_of(plan, cache))
    assert "toy[queue=2], toy[queue=3] build what they load before" in out.getvalue()


class SlowLine(FakeBackend):
    """Gives windows of 10 to 25 s, and takes 13 s to take in a picture."""

    gives_windows = True
    default_passes = 5
    default_patches = 1

    def stage_seconds(self, target, plan, patch_s):
        window_s = (10.0, 25.0) if patch_s is None else (500 * patch_s, 500 * patch_s)
        images = 0 if plan.images is None else plan.images.n
        return {
            "load": (13.0, 13.0),
            "first pass": window_s,
            "warm-up": (0.0, 0.0),
            "passes": (plan.passes * window_s[0], plan.passes * window_s[1]),
            "images": (images * 13.0, images * 13.0),
        }


@pytest.fixture
def slow_line(monkeypatch):
    """A plan of a device at a slow line, which estimates look up by its name."""
    backend = SlowLine("slow", precisions=("int8",))
    monkeypatch.setattr(registry, "names", lambda group: ["slow"] if group.endswith("backends") else [])
    monkeypatch.setattr(registry, "backend", lambda name: backend)
    backends = {"slow": backend}
    variants = {"slow": choose_variants(backend, (0.25,), ())}
    trials = make_trials(
        make_targets(backends, [], []),
        backends,
        variants,
        scene=made_scene(),
        images=made_images(),
        config=RunConfig(),
    )
    return Plan(trials, made_scene(), made_images(), sessions=5, passes=5, seed=1)


def test_a_device_of_windows_is_estimated_by_its_backends_word(cache, slow_line):
    [cost] = costs_of(slow_line, cache)
    assert cost.basis == "backend"
    once = 4 * 13.0
    assert cost.span(5) == Span(5 * (13 + 6 * 10.0) + once, 5 * (13 + 6 * 25.0) + once)
    assert whole_span(slow_line, [cost]).known
    note_cost(cache, slow_line.trials[0].inputs, Cost(0.03, 0.5, warmup_batches=0))
    [known] = costs_of(slow_line, cache)
    assert known.basis == "measured"
    assert known.span(5).least_s == known.span(5).most_s == pytest.approx(5 * (13 + 6 * 15.0) + once)


def test_the_time_of_windows_is_said_before_anything_is_sent(cache, slow_line):
    costs = costs_of(slow_line, cache)
    whole, slow = time_notes(slow_line, costs)
    assert whole == "all of it takes about 6:57 to 14:27, preparation not included"
    assert slow == "slow: 1:13 to 2:43 a session, and 0:52 once a trial for accuracy on 4 images " + (
        "(--accuracy-images)"
    )
    out = io.StringIO()
    print_planned(Console(file=out, width=80), slow_line, costs)
    text = " ".join(out.getvalue().split())
    assert "5 sessions of 5 windows each, 1 of 6 patches: about 6:57 to 14:27" in text
    assert slow in text and "of infer_s" in text and "unknown" not in text
    plain = made_plan()
    assert time_notes(plain, costs_of(plain, cache)) == []
