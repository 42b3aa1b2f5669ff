"""The claims at the small size, and that each proof would catch a method that is wrong."""

import io
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from edgebench.judge import sessions
from edgebench.judge.power import rails as power_of_rails
from edgebench.judge.trial import Estimate
from edgebench.stats import change_point, intervals, power
from edgebench.stats.compare import slowest
from edgebench.stats.forecast import Forecast, forecast
from edgebench.stats.intervals import Bounds, session_interval, t_interval
from edgebench.stats.percentiles import percentile_interval
from edgebench.stats.power import Margin, idle_window
from proofs import (
    best,
    changes,
    coverage,
    differences,
    families,
    forecasts,
    power_bursts,
    power_holding,
    power_paced,
    queues,
    scatter,
    shapes,
    slowdowns,
    stopping,
    tails,
)
from proofs.__main__ import PROOFS
from proofs.power_loads import Bursts
from proofs.show import table
from proofs.topic import Size
from proofs.worlds import Passes, World, pool_of

STATISTICS = Path(__file__).parents[2] / "docs" / "statistics.md"
TINY = Size(experiments=2_000, single=100, pool=1_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PROOFS))
def test_what_is_claimed_is_kept(name, proved):
    topic = proved(name)
    assert [row for row in topic.rows if row.met is False] == []
    assert any(row.met for row in topic.rows)
    assert topic.claim in STATISTICS.read_text()


# Next to the claims, so that one process simulates the topics once for both.
@pytest.mark.slow
def test_a_table_on_the_terminal_keeps_to_80_columns(proved):
    out = io.StringIO()
    for name in PROOFS:
        Console(file=out, width=80).print(table(proved(name)))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "…" in line]


def test_a_simulated_experiment_is_its_sessions_medians():
    world = World("normal", 0.02, Passes(0.6))
    values = world.passes_of(np.random.default_rng(1), 2_000, 1, 100)[:, 0]
    drawn = world.draw(np.random.default_rng(2), (2_000,), TINY.pool).medians
    by_pass, by_draw = np.median(values, axis=-1), drawn
    assert by_pass.std() == pytest.approx(by_draw.std(), rel=0.1)
    assert by_pass.mean() == pytest.approx(by_draw.mean(), abs=0.003)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6, 0.8])
def test_passes_cling_together_as_much_as_said(correlation):
    world = World("normal", 0.0, Passes(correlation))
    values = world.passes_of(np.random.default_rng(3), 1, 400, 200)[0] - 1
    measured = (values[:, 1:] * values[:, :-1]).mean() / (values**2).mean()
    assert measured == pytest.approx(correlation, abs=0.03)
    assert values.std() == pytest.approx(0.01, rel=0.03)


def test_the_truth_of_two_modes_lies_between_them():
    world = World("two modes", 0.01)
    drawn = world.draw(np.random.default_rng(4), (50_000,), TINY.pool).medians
    assert world.truth(TINY.pool) == pytest.approx(drawn.mean(), abs=3e-4)
    assert world.truth(TINY.pool) == pytest.approx(1.015, abs=1e-3)


def test_drift_moves_the_truth():
    assert pool_of(Passes(drift=0.03), 500).mean() == pytest.approx(0.015, abs=1e-3)


def _bootstrap(values, generator, draws=200):
    """What is to be avoided: the median of all passes, and percentiles of its plain bootstrap."""
    every = values.ravel()
    medians = np.median(every[generator.integers(every.size, size=(draws, every.size))], axis=-1)
    return np.quantile(medians, [0.025, 0.975])


def test_a_plain_bootstrap_of_all_passes_is_caught():
    world = World("normal", 0.02, Passes(0.6))
    generator = np.random.default_rng(5)
    experiments = world.passes_of(generator, 200, 5, 40)
    plain = stated = 0
    for values in experiments:
        low, high = _bootstrap(values, generator)
        plain += low <= 1.0 <= high
        interval = session_interval(list(values))
        assert interval.low is not None and interval.high is not None
        stated += interval.low <= 1.0 <= interval.high
    assert not coverage.within(plain / 200, 200)
    assert plain / 200 < 0.5
    assert coverage.within(stated / 200, 200)


def test_an_interval_that_is_too_narrow_is_caught(monkeypatch):
    monkeypatch.setattr(coverage, "mean_interval", lambda medians: _normal_interval(medians))
    assert not coverage.proof(TINY).met


def _normal_interval(medians):
    """1.96 standard errors, as if the spread were known."""
    mean, half = medians.mean(axis=-1), 1.96 * medians.std(axis=-1, ddof=1) / np.sqrt(medians.shape[-1])
    return Bounds(mean, mean - half, mean + half)


@pytest.mark.parametrize("logarithms", [False, True])
def test_an_interval_below_zero_and_one_of_another_mean_are_caught(monkeypatch, logarithms):
    def wrong(medians):
        mean, half = t_interval(np.log(medians) if logarithms else medians)
        bounds = Bounds(mean, mean - half, mean + half)
        return Bounds(*map(np.exp, bounds)) if logarithms else bounds

    monkeypatch.setattr(scatter, "mean_interval", wrong)
    assert not scatter.proof(TINY).met


def test_flags_that_are_never_raised_or_always_are_caught(monkeypatch):
    for raised in (False, True):
        flags = np.full(TINY.experiments, raised)
        monkeypatch.setattr(shapes, "flags_of", lambda ordered, flags=flags: (flags, flags))
        assert not shapes.proof(TINY).met


def test_flags_that_see_little_of_what_is_to_be_seen_are_caught(monkeypatch):
    size = Size(experiments=8_000, single=1, pool=1_000)
    none = np.zeros(size.experiments, np.bool_)
    assert best.proof(size).met
    monkeypatch.setattr(shapes, "flags_of", lambda ordered: (none, none))
    assert not best.proof(size).met


def test_a_comparison_that_takes_every_difference_for_one_is_caught(monkeypatch):
    monkeypatch.setattr(differences, "different", lambda difference: np.abs(difference.ratio - 1) >= 0.03)
    topic = differences.proof(TINY)
    assert any(row.met is False for row in topic.rows if row.cells[0].startswith("A/A"))
    monkeypatch.setattr(differences, "different", lambda difference: difference.p < 1e-4)
    topic = differences.proof(TINY)
    assert any(row.met is False for row in topic.rows if row.cells[0].startswith("+5 %"))


def test_comparisons_whose_p_is_not_adjusted_for_the_others_are_caught(monkeypatch):
    monkeypatch.setattr(families, "holm", lambda p: p)
    topic = families.proof(TINY)
    assert any(row.met is False for row in topic.rows if row.cells[0].startswith("alike"))
    monkeypatch.setattr(families, "holm", lambda p: np.minimum(1, 1000 * p))
    topic = families.proof(TINY)
    assert any(row.met is False for row in topic.rows if row.cells[0].startswith("one +10 %"))


def test_a_slowest_worker_that_is_taken_for_any_worker_is_caught(monkeypatch):
    selected = slowest
    monkeypatch.setattr(slowdowns, "slowest", lambda a, b: selected(a, b, alpha=0.05 * len(a)))
    assert not slowdowns.proof(TINY).met


def test_a_change_that_every_order_shows_is_caught(monkeypatch):
    size = Size(experiments=1, single=40, pool=1)
    monkeypatch.setattr(change_point, "LEAST_EXPERIMENTS", 9)
    unseen = changes.proof(size)
    assert [row.met for row in unseen.rows if row.cells[0] == "+10 %, spread 1 %"] == [False]
    monkeypatch.undo()
    monkeypatch.setattr(change_point, "DRAWS", 99)
    monkeypatch.setattr(changes, "change_points", partial(change_point.change_points, alpha=0.99))
    everything = changes.proof(size)
    assert not any(row.met for row in everything.rows if row.cells[0].startswith("no change"))


def test_images_that_do_not_wait_for_one_another_are_caught(monkeypatch):
    monkeypatch.setattr(queues, "completions_s", lambda arrivals, services: arrivals + services)
    topic = queues.proof(TINY)
    assert [row.cells[0] for row in topic.rows if row.met] == ["D/D/1"] * 3 + ["bursts of 80"]


def test_looking_at_95_percent_every_time_is_caught(monkeypatch):
    monkeypatch.setattr(stopping, "look_confidence", lambda look, looks: 0.95)
    assert not stopping.decide(TINY).met


def test_stopping_at_the_95_percent_interval_is_caught(monkeypatch):
    monkeypatch.setattr(stopping, "_BOTH", ((0.95, True), (0.95, True)))
    assert not stopping.ended(TINY).met


def test_few_sessions_that_end_a_trial_are_caught_where_they_fall_into_two_modes(monkeypatch):
    monkeypatch.setattr(stopping, "SHAPE_SESSIONS", 3)
    for topic in (stopping.decide(TINY), stopping.ended(TINY)):
        missed = [row.cells[0] for row in topic.rows if row.met is False]
        assert any("two modes" in name for name in missed)


def test_an_interval_that_takes_resembling_sessions_for_independent_ones_is_caught(monkeypatch):
    assert coverage.resembling(TINY).met
    monkeypatch.setattr(intervals, "widening", lambda medians: np.ones(medians.shape[:-1]))
    topic = coverage.resembling(TINY)
    assert [row.cells[:2] for row in topic.rows if row.met is False] == [
        ("r 0.6", sessions) for sessions in ("10", "20", "40")
    ]


def test_percentiles_of_all_passes_at_once_are_caught(monkeypatch):
    monkeypatch.setattr(
        tails,
        "percentile_over_sessions",
        lambda sessions, p: percentile_interval(np.concatenate(sessions), p),
    )
    assert not tails.proof(TINY).met


def test_a_maximum_that_takes_the_highest_pass_for_the_bound_is_caught(monkeypatch):
    def naive(values, noun, statistic):
        return Estimate(max(map(max, values)), high=max(map(max, values)))

    monkeypatch.setattr(tails, "over_values", naive)
    assert not tails.maxima(TINY).met


def test_a_tail_that_few_sessions_bound_is_caught_where_some_sessions_stall(monkeypatch):
    assert tails.stalls(TINY).met
    monkeypatch.setattr(sessions, "unseen_stall", lambda sessions: "")
    assert not tails.stalls(TINY).met


def test_a_gate_that_three_sessions_decide_is_caught_where_sessions_fall_into_two_modes(monkeypatch):
    monkeypatch.setattr(families, "GATE_SESSIONS", 3)
    topic = families.proof(TINY)
    assert [row.met for row in topic.rows if row.cells[0].startswith("alike, two modes")] == [False]


def test_a_forecast_that_takes_the_pilots_spread_for_the_truth_is_caught(monkeypatch):
    def sure(medians, planned, **question):
        needed = forecast(medians, planned, **question).sessions_needed
        return Forecast("yes" if needed is not None and needed <= planned else "no", needed, None)

    monkeypatch.setattr(forecasts, "forecast", sure)
    assert not forecasts.proof(TINY).met


def test_power_samples_that_are_taken_for_independent_are_caught(monkeypatch):
    def one_load():
        moments, _ = power_bursts.METERS[0]
        return power_bursts._one_session(TINY, Bursts(8.0, 0.5), moments)

    assert one_load().covers
    monkeypatch.setattr(power, "mean_margin", lambda values, missing: _independent(values))
    assert not one_load().covers


def test_readings_in_step_with_passes_that_are_taken_for_any_are_caught(monkeypatch):
    def in_step():
        generator = np.random.default_rng(1)
        [mean, _] = power_paced._outcomes(generator, power_paced.METER, 12.0, 120, 40)
        return mean

    assert in_step().covers
    monkeypatch.setattr(power_of_rails, "phase_half_width", lambda curve, starts_ns: 0.0)
    assert in_step().covered < 0.3


def test_net_energy_that_takes_readings_with_load_for_idle_ones_is_caught(monkeypatch):
    def least_covered():
        trials = [power_holding._trial(np.random.default_rng(7), meter, True, 5) for _ in range(3)]
        ends = [(net.low, net.high, truth_j) for net, truth_j in trials]
        return [low is not None and high is not None and low <= truth <= high for low, high, truth in ends]

    meter, _ = power_holding.JETPACK4
    assert all(least_covered())
    monkeypatch.setattr(power_of_rails, "idle_window", lambda curve, span, *_: idle_window(curve, span, None))
    monkeypatch.setattr(power_holding, "settle_s", lambda infos: 0.0)
    assert not any(least_covered())


def _independent(values):
    return Margin(*[1.96 * values.std() / np.sqrt(len(values))] * 2)


def test_a_load_that_is_read_has_the_energy_of_its_power():
    load = Bursts(3.0, 0.3, 0.1).draw(np.random.default_rng(6), 50.0)
    at = np.linspace(0.0, 50.0, 200_001)
    drawn = float(np.diff(load.energy(at[[0, -1]]))[0])
    assert load.watts(at).mean() * 50.0 == pytest.approx(drawn, rel=1e-3)
