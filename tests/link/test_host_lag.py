"""The lag of a meter on the host, by the load bursts of a session; taken off where it is sure to be one."""

import uuid
from dataclasses import replace

import numpy as np
import pytest

from edgebench.agent import clock
from edgebench.link.host_lag import bursts_for, lag_of
from edgebench.link.host_probes import HostProbes
from edgebench.records import session as load_bursts
from edgebench.records.session import LIVE_SAMPLES, BurstTimes, Channel, MeterLag, ProbeChunk, ProbeInfo
from edgebench.records.target import Launch
from edgebench.run.measuring.session import LocalDevice
from edgebench.run.measuring.session_record import Job
from edgebench.stats.clock import ClockFit
from tests.link import host_meter
from tests.sample_tables import samples_of
from tests.stats.test_burst_lag import NOW_NS, Bench

POWER = Channel("in", "power", "W")
INFO = ProbeInfo("benchtop", "", 100.0, "made up", "board", (POWER,), averaging_ms=10.0)
SHIFT_NS = 3_600_000_000_000


def fit_of(bound_ns=50_000, drift_ppm=200.0) -> ClockFit:
    """A device's clock that is an hour ahead of this one where the bursts are."""
    end_ns = NOW_NS + 60_000_000_000
    return ClockFit(NOW_NS, SHIFT_NS, drift_ppm, 1.0, bound_ns, NOW_NS - 60_000_000_000, end_ns, 0, 9)


def session(lag_s, info=INFO, channels=(1.0,), seed=1):
    """A meter's chunks on this machine's clock, and when the device ran its bursts on its own."""
    bench = Bench(load_bursts.load_bursts(info.rate_hz), seed)
    t_ns, watts = bench.read(info.rate_hz, lag_s, noise_w=0.05)
    names = [channel.name for channel in info.channels if channel.quantity == "power"]
    values = {name: watts * share for name, share in zip(names, channels, strict=True)}
    cuts = np.array_split(np.arange(len(t_ns)), 7)
    chunks = [
        ProbeChunk("benchtop:", t_ns[cut], {name: each[cut] for name, each in values.items()}) for cut in cuts
    ]
    edges_ns = [NOW_NS + round(at_s * 1e9) for burst in bench.bursts_s for at_s in burst]
    pause_ns = round(bench.plan.pauses_s[0] * 1e9)
    from_ns, *on_device = fit_of().stamps_to_device(np.array([edges_ns[0] - pause_ns, *edges_ns])).tolist()
    return chunks, BurstTimes(from_ns, tuple(zip(on_device[::2], on_device[1::2], strict=True)))


def lag(lag_s, info=INFO, bound_ns=50_000, **what) -> MeterLag:
    chunks, times = session(lag_s, info, **what)
    found = lag_of(info, chunks, fit_of(bound_ns), times)
    assert found is not None
    return found


def test_a_lag_is_taken_off_where_it_is_more_than_it_and_the_clocks_may_be_off():
    late = lag(0.4)
    assert late.lag_ms == pytest.approx(400, abs=3) and late.bound_ms is not None and late.bound_ms < 5
    assert (late.applied, late.reason) == (True, "")
    assert late.applied_ns == pytest.approx(400_000_000, abs=3_000_000)
    early = lag(-0.2)
    assert early.applied and early.applied_ns == pytest.approx(-200_000_000, abs=3_000_000)
    for small in (lag(0.0), lag(0.4, bound_ns=500_000_000)):
        assert small.lag_ms is not None and not small.applied
        assert small.applied_ns == 0


def test_the_channel_that_is_the_total_counts_else_all_of_them():
    rails = (POWER, Channel("fan", "power", "W"), Channel("volts", "voltage", "V"))
    assert lag(0.4, replace(INFO, channels=rails), channels=(1.5, -0.5)).applied
    total = (replace(POWER, total=True), *rails[1:])
    assert lag(0.4, replace(INFO, channels=total), channels=(1.0, -5.0)).applied


@pytest.mark.parametrize(
    ("changes", "bursts", "words"),
    [
        ({}, False, "ran no load bursts"),
        ({"absent": {LIVE_SAMPLES: "they are played"}}, True, "played from a recording"),
        ({"channels": (Channel("counter", "energy", "J"),)}, True, "no power channel"),
    ],
)
def test_where_there_is_none_its_reason_is_known(changes, bursts, words):
    chunks, times = session(0.4)
    found = lag_of(replace(INFO, **changes), chunks, fit_of(), times if bursts else None)
    assert found is not None and found.lag_ms is None and not found.applied
    assert words in found.reason


def test_a_monitor_has_no_lag_and_readings_without_the_bursts_say_why():
    chunks, times = session(0.4)
    assert lag_of(replace(INFO, channels=(Channel("load", "load", "%"),)), chunks, fit_of(), times) is None
    flat = [replace(chunk, values={"in": np.ones(len(chunk.stamps_ns))}) for chunk in chunks]
    found = lag_of(INFO, flat, fit_of(), times)
    assert found is not None and "are not in its readings" in found.reason
    found = lag_of(INFO, [], fit_of(), times)
    assert found is not None and "0 readings" in found.reason


def test_bursts_are_as_long_as_the_slowest_live_meter_needs():
    slow = replace(INFO, rate_hz=2.0)
    played = replace(INFO, rate_hz=0.1, absent={LIVE_SAMPLES: "they are played"})
    monitor = replace(INFO, rate_hz=0.1, channels=(Channel("load", "load", "%"),))
    assert bursts_for([INFO, slow, played, monitor]) == load_bursts.load_bursts(2.0)
    assert bursts_for([played, monitor]) is None


def test_a_moment_of_the_device_is_brought_back_to_this_clock():
    fit = fit_of(drift_ppm=5000.0)
    host_ns = np.array([NOW_NS - 50_000_000_000, NOW_NS, NOW_NS + 123_456_789])
    back_ns = [fit.to_host(int(at)) for at in fit.stamps_to_device(host_ns)]
    assert back_ns == pytest.approx(list(host_ns), abs=1)


@pytest.fixture
def meter(tmp_path, monkeypatch):
    yield host_meter.install(tmp_path / "installed", monkeypatch)
    host_meter.uninstall()


def test_the_samples_of_a_late_meter_are_where_the_load_was(rig, meter, monkeypatch):
    """It watches the worker's process from outside; the device's clock is an hour ahead."""
    monkeypatch.setattr(load_bursts, "LEAST_BURST_S", 0.4)
    monkeypatch.setenv(clock.ENVIRONMENT, f"{SHIFT_NS},400")
    word = uuid.uuid4().hex
    settings = rig.settings(idle_s=0.5, launch=Launch(env={"EDGEBENCH_TEST_WORD": word}))
    name = f"{meter}:beside:{word}"
    probes, device = HostProbes(), rig.device()
    try:
        job = Job("k" * 16, 0, 0, rig.artifact(), settings, rig.plan(passes=30), host_meters=(name,))
        measured = LocalDevice(device, host_probes=probes).measure(job)
    finally:
        probes.close()
        device.close()
    record = measured.record
    assert (record.status, record.probe_reasons) == ("ok", {})
    [info] = record.probes
    told = info["lag"]
    assert told["reason"] == "" and told["applied"]
    late_ms = host_meter.LAG_NS / 1e6
    assert told["lag_ms"] == pytest.approx(late_ms, abs=50 + told["bound_ms"])
    times, rows = record.load_bursts, samples_of(measured)
    assert times is not None
    pauses_ns = zip([times.from_ns, *(end for _, end in times.bursts_ns)], times.bursts_ns, strict=False)
    loaded, idle = (
        np.concatenate([rows["value"][rows["t_ns"].between(*span)] for span in spans])
        for spans in (times.bursts_ns, [(start_ns, burst[0]) for start_ns, burst in pauses_ns])
    )
    assert loaded.mean() > 4.0 and idle.mean() < 3.0
