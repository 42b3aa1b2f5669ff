import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgebench.records.session import LoadBursts, load_bursts
from edgebench.stats.burst_lag import BurstLag, burst_lag

NOW_NS = 86_400_000_000_000
LOAD_W = 3.0
RATES_HZ = (2.0, 20.0, 100.0, 1000.0)


class Bench:
    """A device under load but for the pauses of its bursts, and meters whose readings are exact means."""

    def __init__(self, plan: LoadBursts, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.plan = plan
        begin_s = float(self.rng.uniform(0, 1))
        self.bursts_s = []
        for pause_s in plan.pauses_s:
            begin_s += pause_s
            self.bursts_s.append((begin_s, begin_s + plan.burst_s))
            begin_s += plan.burst_s
        edges = [end_s for burst in self.bursts_s for end_s in burst][:-1]
        self._steps = [(edges[0] - plan.pauses_s[0], -LOAD_W)]
        self._steps += [(at_s, LOAD_W * (-1) ** place) for place, at_s in enumerate(edges)]

    def interfere(self, watts: float) -> None:
        """Another program takes so much more for 1.5 s on average, now and then."""
        at_s, sign = -5.0, 1
        while at_s < 40.0:
            at_s += float(self.rng.exponential(1.5))
            self._steps.append((at_s, sign * watts))
            sign = -sign

    def read(self, rate_hz, lag_s, *, averaging=1.0, noise_w=0.0, jitter=0.0, lost=0.0, drift_w_s=0.0):
        """Stamps and watts; averaging and jitter in periods, `lost` the share of missing readings."""
        at_s = np.arange(-4 + self.rng.uniform(0, 1 / rate_hz), self.bursts_s[-1][1] + 6, 1 / rate_hz)
        over_s = max(averaging / rate_hz, 1e-7)
        watts = (self._joules(at_s) - self._joules(at_s - over_s)) / over_s
        watts += drift_w_s * at_s + self.rng.normal(0, noise_w, len(at_s))
        at_s += self.rng.uniform(-1, 1, len(at_s)) * jitter / rate_hz
        kept = self.rng.random(len(at_s)) >= lost
        return NOW_NS + np.round((at_s + lag_s) * 1e9).astype(np.int64)[kept], watts[kept]

    def lag(self, stamped_watts, averaging_s=None) -> BurstLag:
        t_ns, watts = stamped_watts
        bursts_ns = [(NOW_NS + round(a * 1e9), NOW_NS + round(b * 1e9)) for a, b in self.bursts_s]
        return burst_lag(t_ns, watts, bursts_ns, round(self.plan.pauses_s[0] * 1e9), averaging_s)

    def _joules(self, at_s):
        joules = (2.0 + LOAD_W) * at_s
        for step_s, watts in self._steps:
            joules = joules + watts * np.maximum(at_s - step_s, 0)
        return joules


def seconds(lag: BurstLag) -> tuple[float, float]:
    assert lag.lag_ns is not None and lag.half_width_ns is not None, lag.reason
    return lag.lag_ns / 1e9, lag.half_width_ns / 1e9


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_a_lag_is_covered_by_its_uncertainty(rate_hz):
    covered = []
    for seed in range(25):
        bench = Bench(load_bursts(rate_hz), seed)
        lag_s = float(bench.rng.uniform(-0.3, 1.5))
        bench.interfere(0.1 * LOAD_W * (seed % 2))
        settings = {"noise_w": 0.1, "jitter": 0.05, "lost": 0.02, "drift_w_s": 0.05}
        lag = bench.lag(bench.read(rate_hz, lag_s, **settings), averaging_s=1 / rate_hz)
        measured_s, half_s = seconds(lag)
        covered.append(abs(measured_s - lag_s) <= half_s)
        assert half_s < 0.5 / rate_hz
    # 25 cases of a true 95 % fall below 20 once in a thousand times.
    assert sum(covered) >= 20


@given(
    st.sampled_from(RATES_HZ),
    st.floats(-1.0, 2.0),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.floats(0, 0.3),
    st.integers(0, 1000),
)
@settings(max_examples=20, deadline=None)
def test_where_the_averaging_is_not_known_the_lag_is_known_to_a_period(
    rate_hz, lag_s, averaging, noise_w, seed
):
    bench = Bench(load_bursts(rate_hz), seed)
    lag = bench.lag(bench.read(rate_hz, lag_s, averaging=averaging, noise_w=noise_w, drift_w_s=-0.05))
    measured_s, half_s = seconds(lag)
    assert abs(measured_s - lag_s) < 0.8 / rate_hz
    assert 0.5 / rate_hz <= half_s < 1.2 / rate_hz


def test_order_equal_stamps_and_readings_that_are_no_number_do_not_matter():
    bench = Bench(load_bursts(20.0), 3)
    t_ns, watts = bench.read(20.0, 0.4)
    expected = bench.lag((t_ns, watts), 0.05)
    mixed = bench.rng.permutation(np.repeat(np.arange(len(t_ns)), 2))
    lost_ns = t_ns[::10] + 1
    t_ns = np.concatenate((t_ns[mixed], lost_ns))
    watts = np.concatenate((watts[mixed], np.full(len(lost_ns), np.nan)))
    assert bench.lag((t_ns, watts), 0.05) == expected


def test_a_slow_meter_gets_longer_bursts():
    assert load_bursts(None) == load_bursts(1000.0)
    assert load_bursts(1000.0).total_s == pytest.approx(5.37)
    assert load_bursts(2.0).burst_s == 3.0
    assert load_bursts(0.1).burst_s == 10.0
    short = Bench(load_bursts(None), 1)
    assert "are needed" in short.lag(short.read(2.0, 0.2)).reason


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_what_does_not_show_the_bursts_has_no_lag(rate_hz):
    def lag_of(watts_of):
        bench = Bench(load_bursts(rate_hz), 5)
        t_ns, watts = bench.read(rate_hz, 0.3)
        return bench.lag((t_ns, watts_of(bench.rng, t_ns, watts)))

    for watts_of in (
        lambda rng, t_ns, watts: np.full(len(t_ns), 5.0),
        lambda rng, t_ns, watts: rng.normal(5, 1, len(t_ns)),
        lambda rng, t_ns, watts: 10 - watts,  # power that falls as the load rises
    ):
        lag = lag_of(watts_of)
        assert (lag.lag_ns, lag.half_width_ns) == (None, None)
        assert "are not in its readings" in lag.reason


@pytest.mark.parametrize("rate_hz", RATES_HZ)
@pytest.mark.parametrize("noise_w", [0.0, 0.3])
def test_a_power_that_falls_under_load_is_told_from_one_that_rises(rate_hz, noise_w):
    for seed in range(10):
        bench = Bench(load_bursts(rate_hz), seed)
        t_ns, watts = bench.read(rate_hz, float(bench.rng.uniform(-0.3, 1.0)), noise_w=noise_w)
        rising, falling = bench.lag((t_ns, watts)), bench.lag((t_ns, 10.0 - watts))
        assert rising.correlation is not None and rising.correlation > 0.9
        assert falling.correlation is not None and falling.correlation < -0.9
        assert falling.lag_ns is None and "a falling power explains them better" in falling.reason


def test_a_lag_beyond_what_is_searched_is_none():
    bench = Bench(load_bursts(100.0), 1)
    lag = bench.lag(bench.read(100.0, 2.6))
    assert lag.lag_ns is None
    assert lag.reason


def test_a_load_that_beats_like_the_bursts_is_no_lag():
    bench = Bench(load_bursts(20.0), 1)
    t_ns, _ = bench.read(20.0, 0.0)
    begin_s, end_s = bench.bursts_s[0][0] - bench.plan.pauses_s[0], bench.bursts_s[-1][1]
    at_s = (t_ns - NOW_NS) / 1e9
    watts = np.where((at_s > begin_s) & (at_s < end_s), np.sign(np.sin(2 * np.pi * at_s / 1.6)), 0.0)
    assert bench.lag((t_ns, watts)).lag_ns is None


@pytest.mark.parametrize("bursts_a_swing", [1.7, 1.9, 2.0, 2.1, 2.4])
def test_a_power_that_swings_evenly_has_no_lag(bursts_a_swing):
    bench = Bench(load_bursts(2.0))
    swing_s = bursts_a_swing * bench.plan.burst_s
    at_s = np.arange(0.0, bench.bursts_s[-1][1] + 6, 0.5)
    for phase in np.linspace(0, 2 * np.pi, 7):
        watts = 3 + np.sin(2 * np.pi * at_s / swing_s + phase)
        assert bench.lag((NOW_NS + np.round(at_s * 1e9).astype(np.int64), watts)).lag_ns is None


def test_bursts_without_readings_have_no_lag():
    bench = Bench(load_bursts(20.0), 1)
    t_ns, watts = bench.read(20.0, 0.3)
    lost = (t_ns > NOW_NS + bench.bursts_s[1][0] * 1e9) & (t_ns < NOW_NS + bench.bursts_s[1][1] * 1e9)
    assert "have a hole of" in bench.lag((t_ns[~lost], watts[~lost])).reason
    assert bench.lag((t_ns[:0], watts[:0])).reason.startswith("0 readings came amid the load bursts")
