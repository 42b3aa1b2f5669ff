import numpy as np
import pandas as pd
import pytest

from edgebench.judge.power.rails import power_of_sessions
from edgebench.judge.steady_time import SteadyTime, steady_times
from edgebench.probes.host.csv_file import NOT_LIVE
from edgebench.records.stored import SessionRecord
from edgebench.results.meters import meters_reason
from tests.judge.trials import rails_trial, verdict
from tests.sample_tables import rows_of_frame

S = 1_000_000_000


def _record(n=0, probes=(), **changes):
    fields = {
        "trial": "0" * 16,
        "n": n,
        "round": n,
        "status": "ok",
        "started_utc": "2025-03-01T12:00:00Z",
        "duration_s": 1.0,
        "probes": tuple(probes),
        "windows_ns": {"idle": (0, 2 * S), "steady": (2 * S, 12 * S)},
    }
    return SessionRecord(**(fields | changes))


def _probe(kind="ina", scope="board", channels=(("in", "power", "W"),), rate_hz=100.0):
    listed = [dict(zip(("name", "quantity", "unit"), channel, strict=True)) for channel in channels]
    return {
        "kind": kind,
        "address": "0",
        "rate_hz": rate_hz,
        "resolution": "",
        "scope": scope,
        "channels": listed,
        "response": {"reach_ms": 10.0, "ahead_ms": 0.0, "reason": ""},
    }


def _samples(values, n=0, probe="ina:0", channel="in", rate_hz=100.0, until_s=13):
    """`values` of the time in seconds, sampled from -1 to 13 s."""
    at_s = np.arange(-1, until_s, 1 / rate_hz)
    return pd.DataFrame(
        {
            "session": n,
            "probe": probe,
            "channel": channel,
            "t_ns": np.round(at_s * 1e9).astype(np.int64),
            "value": values(at_s),
        }
    )


NO_PASSES = rows_of_frame(pd.DataFrame({"session": [0], "phase": ["first"]}))


def _times(records, images):
    """Each session's steady window as one pass of so many images."""
    return steady_times(records, NO_PASSES, images)


def _rails(records, probes, images):
    return power_of_sessions(records, lambda: rows_of_frame(probes), _times(records, images))


def _steps(at_s):
    return np.where(at_s < 2, 1.0, 3.0)


def test_means_over_sessions_and_the_highest_peak():
    probes = pd.concat([_samples(_steps), _samples(lambda at_s: _steps(at_s) * 1.1, n=1)])
    (found,) = _rails([_record(0, [_probe()]), _record(1, [_probe()])], probes, {0: 5.0, 1: 5.0})
    assert found.estimates["power_mean_w"].value == pytest.approx(3.15, rel=1e-3)
    assert found.estimates["power_mean_w"].sessions == pytest.approx((3.0, 3.3), rel=1e-3)
    assert found.estimates["power_peak_w"].value == pytest.approx(3.3)
    assert found.estimates["power_idle_w"].value == pytest.approx(1.05, rel=1e-2)
    assert found.estimates["energy_j"].value == pytest.approx(6.3, rel=1e-3)
    assert found.estimates["net_energy_j"].value == pytest.approx(6.3 - 2.1, rel=1e-2)
    assert (found.rail.window_s, found.rail.reason) == (10.0, "")


@pytest.mark.parametrize(
    ("channel", "values"),
    [
        (("in", "power", "mW"), lambda at_s: 1000 * _steps(at_s)),
        # A counter of energy: 1 W until 2 s, then 3 W.
        (("in", "energy", "J"), lambda at_s: 50 + at_s + 2 * np.maximum(at_s - 2, 0)),
        (("in", "energy", "uJ"), lambda at_s: 1e6 * (at_s + 2 * np.maximum(at_s - 2, 0))),
    ],
)
def test_units_and_counters(channel, values):
    (found,) = _rails([_record(0, [_probe(channels=[channel])])], _samples(values), {0: 10.0})
    assert found.estimates["power_mean_w"].value == pytest.approx(3.0, rel=2e-3)
    assert found.estimates["power_idle_w"].value == pytest.approx(1.0, rel=2e-2)
    assert found.estimates["energy_j"].value == pytest.approx(3.0, rel=2e-3)


@pytest.mark.parametrize("back_j", [18.0, 1.0, 1e6])
def test_a_counter_that_is_set_back_leaves_open_what_was_drawn_then(back_j):
    def counter(at_s):
        joules = 3.0 * at_s
        return np.where(at_s > 6, joules - back_j, joules)

    record = _record(0, [_probe(channels=[("in", "energy", "J")])])
    (found,) = _rails([record], _samples(counter), {0: 10.0})
    assert found.estimates["power_mean_w"].value == pytest.approx(3.0)
    assert found.estimates["power_peak_w"].value == pytest.approx(3.0)
    assert "1 of 1001 readings" in found.rail.uncovered


def test_a_counter_goes_on_through_readings_that_are_no_number():
    def counter(at_s):
        peaks = np.arange(at_s.size) % 7 == 0
        return np.where(peaks, np.nan, np.cumsum(np.where(peaks, 8.0, 1.0)) / 100.0)

    probe = _probe(channels=[("in", "energy", "J")])
    [found] = _rails([_record(probes=[probe])], _samples(counter), {0: 5.0})
    assert found.estimates["power_peak_w"].value == pytest.approx(4.5)  # of the two intervals that meet there
    assert found.rail.uncovered == ""


def test_the_rail_that_its_meter_marks_represents_the_board_whatever_the_others_carry():
    probe = _probe(channels=(("cpu", "power", "W"), ("in", "power", "W")))
    probe["channels"][1]["total"] = True
    probes = pd.concat([_samples(lambda at_s: 2 * _steps(at_s), channel="cpu"), _samples(_steps)])
    whole, _ = _rails([_record(0, [probe])], probes, {0: 5.0})
    assert (whole.rail.channel, whole.estimates["power_mean_w"].value) == ("in", pytest.approx(3.0, rel=1e-3))


def test_the_widest_scope_represents_the_board_and_of_its_rails_the_one_that_carries_most():
    board = _probe(
        channels=[("gpu", "power", "W"), ("in", "power", "W"), ("temperature", "temperature", "C")]
    )
    chip = _probe("rapl", "chip", [("package", "power", "W")])
    probes = pd.concat(
        [
            _samples(lambda at_s: at_s * 0 + 9.0, probe="rapl:0", channel="package"),
            _samples(lambda at_s: at_s * 0 + 1.0, channel="gpu"),
            _samples(_steps),
        ]
    )
    rails = _rails([_record(0, [chip, board])], probes, {0: 10.0})
    assert [power.rail.name for power in rails] == ["ina:0 in", "ina:0 gpu", "rapl:0 package"]


def test_a_meter_without_samples_is_there_with_the_reason():
    (found,) = _rails([_record(0, [_probe()])], _samples(_steps).iloc[:0], {0: 10.0})
    assert (
        found.estimates["power_mean_w"].value,
        found.estimates["power_peak_w"].value,
        found.estimates["energy_j"].value,
        found.rail.samples,
    ) == (None, None, None, 0)
    assert found.rail.reason == "0 samples are in the window"


def test_an_unknown_unit_or_window_is_a_reason():
    odd = _record(0, [_probe(channels=[("in", "power", "hp")])])
    assert _rails([odd], _samples(_steps), {0: 10.0})[0].rail.reason == "its unit 'hp' is not known"
    unmarked = _record(0, [_probe()], windows_ns={})
    (found,) = _rails([unmarked], _samples(_steps), {0: 10.0})
    assert (found.rail.reason, found.rail.window_s, found.estimates["power_mean_w"].value) == (
        "no steady window was recorded",
        None,
        None,
    )


def test_idle_power_is_that_of_both_windows_and_their_drift_is_told():
    both = {"idle": (0, 2 * S), "steady": (2 * S, 11 * S), "idle_after": (11 * S, 13 * S)}

    def watts(at_s):
        noise = 0.01 * np.random.default_rng(1).standard_normal(at_s.size)
        return noise + np.select([at_s < 2, at_s <= 11], [1.0, 3.0], 1.4)

    records = [_record(0, [_probe()], windows_ns=both), _record(1, [_probe()])]
    probes = pd.concat([_samples(watts), _samples(watts, n=1)])
    [found] = _rails(records, probes, {0: 9.0, 1: 10.0})
    assert found.estimates["power_idle_w"].value == pytest.approx((1.2 + 1.0) / 2, abs=0.01)
    # The second session was recorded without the window after its passes.
    assert found.rail.idle_drift_w == pytest.approx(0.4, abs=0.01)
    assert [drift.unexplained for drift in found.idle_drifts] == [True]


def test_without_an_idle_window_there_is_gross_energy_only():
    record = _record(0, [_probe()], windows_ns={"idle": None, "steady": (2 * S, 12 * S)})
    (found,) = _rails([record], _samples(_steps), {0: 10.0})
    assert found.estimates["energy_j"].value == pytest.approx(3.0, rel=1e-3)
    reason = "no idle window was sampled"
    assert found.rail.reason == reason
    for name in ("power_idle_w", "net_energy_j"):
        assert (found.estimates[name].value, found.estimates[name].reason) == (None, reason)
    for name in ("power_p99_w", "energy_j"):
        assert found.estimates[name].value is not None and reason not in found.estimates[name].reason


@pytest.mark.parametrize(
    "probes", [(), ({},), ({"channels": 3},), ({"channels": [3, {"quantity": "load"}]},)]
)
def test_what_is_no_meter_gives_no_figure(probes):
    assert power_of_sessions([_record(0, probes)], lambda: rows_of_frame(_samples(_steps)), {}) == ()


@pytest.mark.parametrize("rate_hz", [None, "fast", -1.0, float("nan")])
def test_a_rate_that_is_none_is_not_known(rate_hz):
    (found,) = _rails([_record(0, [_probe(rate_hz=rate_hz)])], _samples(_steps), {0: 10.0})
    assert found.rail.rate_hz == 0.0
    assert found.estimates["energy_j"].value == pytest.approx(3.0, rel=1e-3)


def test_reasons_are_said_once():
    records = [_record(n, probe_reasons={"": "no meter", "rapl:": "no permission"}) for n in range(3)]
    assert meters_reason(records) == "no meter; rapl:: no permission"
    assert meters_reason([_record()]) == ""


def test_figures_have_intervals_by_the_samples_and_say_what_the_meter_delivered():
    rng = np.random.default_rng(1)
    probe = _probe(rate_hz=1000.0) | {"averaging_ms": 10.0, "rejected": 2}
    probe["channels"][0]["total"] = True
    noise = rng.normal(0, 0.2, 1400)
    samples = _samples(lambda at_s: _steps(at_s) + noise)
    [one] = _rails([_record(0, [probe])], samples, {0: 5.0})
    assert (one.rail.effective_hz, one.rail.longest_gap_s) == (pytest.approx(100.0), pytest.approx(0.01))
    assert (one.rail.rate_hz, one.rail.averaging_ms, one.rail.total, one.rail.rejected) == (
        1000.0,
        10.0,
        True,
        2,
    )
    assert one.estimates["power_mean_w"].low < 3.0 < one.estimates["power_mean_w"].high
    assert one.estimates["power_mean_w"].high - one.estimates["power_mean_w"].value == pytest.approx(
        2.26 * 0.2 / np.sqrt(1000), rel=0.5
    )
    assert one.estimates["energy_j"].low < one.estimates["energy_j"].value < one.estimates["energy_j"].high
    net_j, gross_j = (
        one.estimates["net_energy_j"].high - one.estimates["net_energy_j"].low,
        one.estimates["energy_j"].high - one.estimates["energy_j"].low,
    )
    assert net_j > gross_j  # the idle window's spread is in it
    assert one.estimates["power_p99_w"].value == pytest.approx(3.0 + 2.326 * 0.2, rel=0.03)
    sessions = [
        _samples(lambda at_s, level=level: _steps(at_s) * level, n=n)
        for n, level in enumerate((0.9, 1.0, 1.1))
    ]
    three = _rails([_record(n, [probe]) for n in range(3)], pd.concat(sessions), dict.fromkeys(range(3), 5.0))
    assert (
        three[0].estimates["power_mean_w"].low < 2.5 and three[0].estimates["power_mean_w"].high > 3.5
    )  # sessions that differ so much say less
    assert three[0].rail.rejected == 6


def test_a_counter_is_the_mean_between_its_readings_and_a_session_that_does_not_say_is_not_known():
    counter = _record(0, [_probe(channels=[("in", "energy", "J")])])
    [found] = _rails([counter], _samples(lambda at_s: 3.0 * at_s), {0: 5.0})
    assert found.rail.averaging_ms == pytest.approx(10.0)
    records = [_record(0, [_probe() | {"averaging_ms": 10.0}]), _record(1, [_probe()])]
    both = pd.concat([_samples(_steps), _samples(_steps, n=1)])
    assert _rails(records, both, {0: 5.0, 1: 5.0})[0].rail.averaging_ms is None
    few = _samples(_steps, rate_hz=5.0)
    [found] = _rails([_record(0, [_probe()])], few, {0: 5.0})
    assert (found.estimates["power_p99_w"].value, found.rail.samples) == (None, 51)


def test_what_was_played_from_a_recording_leaves_open_what_was_drawn():
    live = _probe()
    played = live | {"absent": dict(NOT_LIVE)}
    frame = _samples(lambda at_s: 2.0 + 1e-9 * at_s)
    for probe, is_open in ((live, False), (played, True)):
        (found,) = _rails([_record(probes=[probe])], frame, {0: 10})
        assert found.estimates["power_mean_w"].value == pytest.approx(2.0)
        assert bool(found.rail.uncovered) == is_open
    assert "played from a recording" in found.rail.uncovered


def test_passes_in_step_with_a_meter_of_moments_have_no_interval_and_pass_no_limit():
    # Bursts of 0.1 s every second, read twice a second: always or never.
    at_s = np.arange(0, 120, 0.5) + 0.02
    frame = pd.DataFrame(
        {
            "session": 0,
            "probe": "ina:0",
            "channel": "in",
            "t_ns": np.rint(at_s * 1e9).astype(np.int64),
            "value": np.where(at_s % 1 < 0.1, 5.0, 1.0),
        }
    )
    starts_ns = np.arange(1, 100, dtype=np.int64) * S
    times = {0: SteadyTime(np.array([[S, 100 * S]]), 99.0, starts_ns=starts_ns)}
    [found] = power_of_sessions([_record(0, [_probe(rate_hz=2.0)])], lambda: rows_of_frame(frame), times)
    assert found.estimates["power_mean_w"].value == pytest.approx(3.0, rel=0.02)  # 1.4 W are true
    assert (found.estimates["power_mean_w"].low, found.estimates["power_mean_w"].high) == (None, None)
    assert "in step" in found.rail.reason
    assert "in step" in found.rail.uncovered


@pytest.mark.attack("a meter repeats one answer for ever, idle and at work: said, and it passes no limit")
def test_a_meter_that_says_one_and_the_same_may_have_hung():
    stuck, live = _samples(lambda at_s: np.full_like(at_s, 2.0)), _samples(lambda at_s: 2.0 + 1e-9 * at_s)
    frame = pd.concat([stuck, live.assign(session=1)])
    records = [_record(n, [_probe()]) for n in range(2)]
    (found,) = _rails(records, frame, {0: 10, 1: 10})
    assert found.rail.uncovered.startswith(
        "1 of 2 sessions: all 1400 readings are 2 W, idle and at work alike"
    )
    assert "may have hung (in 1 of 2 sessions)" in found.rail.reason
    (lone,) = _rails(records[:1], stuck[stuck["t_ns"] >= 2 * S], {0: 10})
    assert "hung" not in lone.rail.reason  # without a look at it before the work nobody can say


def test_sentences_that_differ_in_their_numbers_alone_stand_once():
    lag = {"lag_ms": 40.0, "applied": True}
    records = [
        _record(n, [{**_probe(), "lag": lag}], windows_ns={"idle": (0, 2 * S), "steady": (2 * S, end_ns)})
        for n, end_ns in enumerate((2 * S + S // 2, 2 * S + S // 4, 12 * S))
    ]
    frame = pd.concat([_samples(_steps).assign(session=n) for n in range(3)])
    [found] = _rails(records, frame, {0: 1, 1: 1, 2: 10})
    assert found.rail.reason == (
        "window too short: 50 sample periods, energy takes 100 (in the first of 2 such sessions of 3); "
        "a lag of 40 ms is taken off its stamps in 3 of 3 sessions"
    )


def test_what_is_to_be_known_of_a_meters_lag_stands_with_its_figure():
    lag = {"lag_ms": None, "applied": False, "reason": "the bursts are not in its readings"}
    record = _record(probes=({**_probe(), "lag": lag},))
    [found] = _rails([record], _samples(_steps), {0: 10})
    assert found.estimates["power_mean_w"].value is not None
    assert found.rail.reason == "its lag is not known in 1 of 1 sessions: the bursts are not in its readings"
    silent = _rails([record], _samples(_steps).iloc[:0], {0: 10})[0]
    assert silent.estimates["power_mean_w"].value is None and "lag" not in silent.rail.reason


LIMITS = (
    {"quantity": "power_mean_w"},
    {"quantity": "power_peak_w"},
    {"quantity": "power_peak_w", "averaging_s": 1.0},
    {"quantity": "energy_j"},
)


def _judged(power, limit):
    """Verdict on each kind of limit on power and energy."""
    return [verdict(rails_trial(power), limit=limit, **question) for question in LIMITS]


def _power(records, frame, images=10):
    return _rails(records, frame, {record.n: images for record in records})


def _unrelated(at_s):
    return 0.5 + 0.1 * np.sin(40 * at_s)


@pytest.mark.attack("a meter's poles are swapped, or it reads no load at all: its figures decide nothing")
@pytest.mark.parametrize(
    ("values", "correlation", "words"),
    [
        (lambda at_s: -_steps(at_s), None, "100% of its readings are not above 0 W, their mean is -3 W"),
        (lambda at_s: 3.0 * (-1.0) ** np.arange(len(at_s)) + 1e-3, None, "50% of its readings"),
        (
            lambda at_s: 1e-7 * (-1.0) ** np.arange(len(at_s)),
            0.02,  # the readings' sign tells more than that they do not follow the bursts
            "50% of its readings are not above 0 W",
        ),
        (lambda at_s: np.zeros(len(at_s)), None, "their mean is 0 W"),
        (_unrelated, 0.15, "do not follow the load: their correlation with the load bursts is 0.15 at most"),
    ],
)
def test_readings_that_are_of_no_load_decide_nothing(values, correlation, words):
    lag = {"lag_ms": None, "applied": False, "reason": "not in its readings", "correlation": correlation}
    records = [_record(n, [{**_probe(rate_hz=200.0), "lag": lag}]) for n in range(3)]
    frame = pd.concat([_samples(values, n, rate_hz=200.0) for n in range(3)])
    power = _power(records, frame)
    [found] = power
    assert all(estimate.is_missing for name, estimate in found.estimates.items() if name != "power_idle_w")
    for judged in (*_judged(power, 1e6), *_judged(power, 1e-6)):
        assert judged.word == "unknown"
        assert words in judged.reason and "check the meter's polarity and wiring" in judged.reason


@pytest.mark.attack("a meter is at another board: its readings fall under load, and it decides nothing")
@pytest.mark.parametrize("part", ["lag", "response"])
@pytest.mark.parametrize("falling", [1, 3])
def test_a_meter_that_falls_under_load_measures_another_board(part, falling):
    """In one session is enough: of another board's meter the others follow the load by chance."""
    parts = {"lag": {"lag_ms": None, "reason": "falls"}, "response": _probe()["response"]}
    found = [parts[part] | {"correlation": -0.98 if n < falling else 0.93} for n in range(3)]
    records = [_record(n, [{**_probe(rate_hz=200.0), part: found[n]}]) for n in range(3)]
    power = _power(records, pd.concat([_samples(_steps, n, rate_hz=200.0) for n in range(3)]))
    [found] = power
    assert (
        found.estimates["power_mean_w"].value,
        found.estimates["power_peak_w"].value,
        found.estimates["power_idle_w"].value,
        found.estimates["energy_j"].value,
    ) == (None, None, None, None)
    for judged in (*_judged(power, 1e6), *_judged(power, 1e-6)):
        assert judged.word == "unknown"
        assert "the meter does not measure this board" in judged.reason and "-0.98" in judged.reason


@pytest.mark.attack("a meter is not connected and reads 0 W throughout: no 0 W is reported")
def test_a_total_that_is_always_zero_is_not_connected():
    probe = _probe(channels=(("in", "power", "W"), ("gpu", "power", "W")))
    probe["channels"][0]["total"] = True
    frame = pd.concat([_samples(lambda at_s: np.zeros(len(at_s))), _samples(_steps, channel="gpu")])
    power = _power([_record(0, [probe])], frame)
    gpu, total = power
    assert (
        total.estimates["power_mean_w"].value,
        total.estimates["power_peak_w"].value,
        total.estimates["power_idle_w"].value,
        total.estimates["energy_j"].value,
    ) == (None, None, None, None)
    assert "not connected: all 1400 readings are 0 W" in total.rail.reason
    assert gpu.estimates["power_mean_w"].value == pytest.approx(3.0, rel=1e-3)


def test_noise_about_zero_and_readings_that_follow_the_load_decide():
    def faint(at_s):
        return _steps(at_s) * (1 + np.sin(77 * at_s)) - 0.02

    lag = {"lag_ms": 5.0, "bound_ms": 3.0, "applied": True, "correlation": 0.95}
    records = [_record(n, [{**_probe(rate_hz=200.0), "lag": lag}]) for n in range(3)]
    power = _power(records, pd.concat([_samples(faint, n, rate_hz=200.0) for n in range(3)]))
    assert {judged.word for judged in _judged(power, 100.0)} == {"pass"}


def test_one_session_with_swapped_poles_lets_no_limit_pass_and_does_not_count():
    records = [_record(n, [_probe(rate_hz=200.0)]) for n in range(4)]
    frame = pd.concat([_samples(_steps, n, rate_hz=200.0) for n in range(3)])
    frame = pd.concat([frame, _samples(lambda at_s: -_steps(at_s), 3, rate_hz=200.0)])
    power = _power(records, frame)
    [found] = power
    assert found.estimates["power_mean_w"].sessions == pytest.approx((3.0, 3.0, 3.0))
    assert found.rail.uncovered.startswith("1 of 4 sessions: 100% of its readings are not above 0 W")
    assert {judged.word for judged in _judged(power, 100.0)} == {"inconclusive"}
    assert {judged.word for judged in _judged(power, 0.01)} == {"fail"}


def test_an_idle_device_that_gives_power_leaves_no_energy_above_it():
    records = [_record(n, [_probe()]) for n in range(3)]
    frame = pd.concat([_samples(lambda at_s: np.where(at_s < 2, -0.5, 3.0), n) for n in range(3)])
    [found] = _power(records, frame)
    assert (
        found.estimates["power_idle_w"].value,
        found.estimates["net_energy_j"].value,
        found.estimates["energy_j"].value,
    ) == (None, None, pytest.approx(3.0))
    assert found.rail.reason.startswith("of the idle window: its mean is -0.")
    assert "check the meter's polarity and wiring" in found.rail.reason


def _paced(rate_hz, on_s, phase, period_s=1.0, cycles=40):
    """A session of paced passes that draw 5 W over 1 W; readings begin a part of their period after them."""
    at_s = np.arange(0, cycles * period_s + 3, 1 / rate_hz) + phase / rate_hz
    frame = pd.DataFrame(
        {
            "session": 0,
            "probe": "ina:0",
            "channel": "in",
            "t_ns": np.rint(at_s * 1e9).astype(np.int64),
            "value": np.where((at_s - 1) % period_s < on_s, 5.0, 1.0),
        }
    )
    starts_ns = np.rint((1 + np.arange(cycles) * period_s) * 1e9).astype(np.int64)
    spans_ns = np.array([[S, round((1 + cycles * period_s) * 1e9)]])
    times = {0: SteadyTime(spans_ns, float(cycles), None, 0.0, period_s, starts_ns, on_s)}
    records = [_record(0, [_probe(rate_hz=rate_hz)])]
    return power_of_sessions(records, lambda: rows_of_frame(frame), times)[0]


@pytest.mark.parametrize("cycles", [15, 40])
@pytest.mark.parametrize("phase", [0.02, 0.3, 0.5, 0.98])
@pytest.mark.parametrize(("rate_hz", "period_s"), [(50.0, 1.0), (20.0, 1.0), (20.0, 1.025), (100.0, 0.5)])
def test_the_interval_of_paced_passes_in_step_with_the_meter_holds_the_truth(
    rate_hz, period_s, phase, cycles
):
    on_s = 0.307 * period_s
    found = _paced(rate_hz, on_s, phase, period_s, cycles)
    true_w = 1.0 + 4.0 * on_s / period_s
    assert found.estimates["power_mean_w"].low is not None and found.estimates["energy_j"].low is not None
    assert found.estimates["power_mean_w"].low <= true_w <= found.estimates["power_mean_w"].high
    assert found.estimates["energy_j"].low <= true_w * period_s <= found.estimates["energy_j"].high
    assert found.estimates["power_mean_w"].high - found.estimates["power_mean_w"].low < 0.25 * true_w
    assert "the readings are of the same moments of every pass" in found.rail.reason or cycles < 40


def test_a_pass_that_falls_between_two_readings_of_each_period_has_no_interval():
    found = _paced(12.0, 0.04, 0.7)
    assert found.estimates["power_mean_w"].value == pytest.approx(1.0)  # 1.16 W are true
    assert (found.estimates["power_mean_w"].low, found.estimates["power_mean_w"].high) == (None, None)
    assert "in step" in found.rail.reason


UNKNOWN_LAG = {"lag_ms": None, "applied": False, "reason": "the bursts are not in its readings"}


def _late(lag_s=1.5, lag=UNKNOWN_LAG):
    """Three sessions of a meter of 200 Hz that is late: 4 W in the first part of the passes, then 6 W."""
    records = [_record(n, [{**_probe(rate_hz=200.0), "lag": lag}]) for n in range(3)]

    def values(at_s):
        load_s = at_s - lag_s
        return np.where(load_s < 2, 1.0, np.where(load_s < 10.8, 4.0, np.where(load_s < 12, 6.0, 1.0)))

    frame = pd.concat([_samples(values, n, rate_hz=200.0, until_s=15) for n in range(3)])
    return _power(records, frame)


def test_a_lag_that_is_not_known_prevents_a_pass_within_what_it_may_move():
    power = _late()
    [found] = power
    true_w = 4.0 + 2.0 * 1.2 / 10
    assert found.rail.unknown_lag_s == pytest.approx(2.01, abs=0.01)
    assert (
        found.estimates["power_mean_w"].value < true_w - 0.5 and found.estimates["power_peak_w"].high == 6.0
    )
    assert found.estimates["power_mean_w"].low <= true_w <= found.estimates["power_mean_w"].high
    assert found.estimates["energy_j"].low <= true_w <= found.estimates["energy_j"].high
    assert (found.estimates["net_energy_j"].low, found.estimates["net_energy_j"].high) == (None, None)
    near = _judged(power, 4.2)
    assert {judged.word for judged in near} == {"inconclusive"}
    assert all("a lag of up to 2.01 s" in judged.reason for judged in near)
    assert {judged.word for judged in _judged(power, 7.0)} == {"pass"}
    assert {judged.word for judged in _judged(power, 2.0)} == {"fail"}


def test_a_peak_that_an_unknown_lag_may_hide_is_open():
    power = _late(2.0)
    [found] = power
    assert found.estimates["power_peak_w"].value == 4.0
    mean, peak, averaged, _ = _judged(power, 5.5)
    assert (mean.word, peak.word, averaged.word) == ("pass", "inconclusive", "inconclusive")
    assert "a lag of up to 2.01 s" in peak.reason and "a lag of up to 2.01 s" in averaged.reason


def test_a_lag_that_is_known_moves_nothing():
    known = _late(0.0, {"lag_ms": 400.0, "bound_ms": 5.0, "applied": True, "reason": ""})
    [found] = known
    assert (found.rail.unknown_lag_s, found.estimates["power_peak_w"].is_exact) == (None, True)
    assert "a lag of up to" not in _judged(known, 4.3)[0].reason


@pytest.mark.attack("a meter averages and holds its readings: net energy waits for them, or is in doubt")
@pytest.mark.parametrize("response", ["measured", "unknown", "not told"])
def test_load_that_stays_in_readings_is_kept_out_of_net_energy(response):
    """422 ms of averaging, held as long: load is in the readings of the idle window that follows it."""

    def held(at_s):
        ends_s = np.floor(at_s / 0.422) * 0.422
        return (_joules(ends_s) - _joules(ends_s - 0.422)) / 0.422

    def _joules(at_s):
        return 1.0 * at_s + 4.0 * np.clip(at_s - 2, 0, 60)

    at_s = np.arange(-1, 66, 0.02)
    watts = held(at_s) + 1e-3 * np.random.default_rng(1).standard_normal(at_s.size)
    samples = pd.DataFrame(
        {"session": 0, "probe": "ina:0", "channel": "in", "t_ns": np.round(at_s * S).astype(np.int64)}
    ).assign(value=watts)
    windows_ns = {"idle": (0, 2 * S), "steady": (2 * S, 62 * S), "idle_after": (62 * S, 65 * S)}
    known = {
        "measured": {"reach_ms": 860.0, "ahead_ms": 0.0, "reason": ""},
        "unknown": None,
        "not told": {"reach_ms": None, "ahead_ms": 0.0, "reason": "the bursts are not in its readings"},
    }
    probe = _probe(rate_hz=50.0) | {"response": known[response]}
    [found] = _rails([_record(0, [probe], windows_ns=windows_ns)], samples, {0: 60.0})
    if response == "not told":
        assert (found.estimates["net_energy_j"].value, found.estimates["net_energy_j"].high) == (None, None)
        assert "no net energy" in found.rail.reason and "not in its readings" in found.rail.reason
        return
    assert (
        found.estimates["net_energy_j"].low is not None and found.estimates["net_energy_j"].high is not None
    )
    assert found.estimates["net_energy_j"].low < 4.0 < found.estimates["net_energy_j"].high
    if response == "measured":
        assert (found.estimates["net_energy_j"].value, found.rail.reason) == (
            pytest.approx(4.0, rel=5e-3),
            "",
        )
        assert found.estimates["net_energy_j"].high - found.estimates["net_energy_j"].low < 0.1
    else:
        assert (
            found.estimates["net_energy_j"].value is not None and found.estimates["net_energy_j"].value < 3.8
        )
        assert "how long load stays in its readings is not known" in found.rail.reason
