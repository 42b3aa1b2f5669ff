"""How long meters have to watch, by the rates that their modules state."""

import pytest

from edgebench.records.session import load_bursts
from edgebench.records.target import Target
from edgebench.run.meters import bursts_s, idle_window_s, least_steady_s, slowest_meter


def target(*meters, device="toy", **more):
    return Target(name="fake", device=device, meters=meters, **more)


@pytest.mark.parametrize(
    ("meters", "idle_s", "least_s"),
    [
        ((), 0.0, None),
        (("telemetry:5",), 0.0, None),
        (("um25c:/dev/ttyUSB0",), 50.0, 55.0),
        (("fnb58", "um25c"), 50.0, 55.0),  # the slowest
        (("nvml",), 10.0, 11.0),
        (("fnb58",), 2.0, 1.1),
        (("csv:power.csv", "telemetry:1"), 2.0, None),  # the address decides its rate
        (("csv:power.csv?time=t_s&power=p_w&rate_hz=4",), 25.0, 27.5),  # and states it
        (("csv:power.csv?rate_hz=no", "csv:other.csv?rate_hz=0"), 2.0, None),
        (("csv:power.csv", "tegrastats"), 5.0, 5.5),
        (("unknown:1",), 2.0, None),
    ],
)
def test_the_slowest_meter_decides(meters, idle_s, least_s):
    assert idle_window_s(target(*meters)) == idle_s
    assert least_steady_s(target(*meters)) == (least_s if least_s is None else pytest.approx(least_s))


def test_any_of_the_preferred_meters_may_be_taken():
    preferring = target(preferred_meters=("ina3221", "tegrastats"))
    slowest = slowest_meter(preferring)
    assert slowest is not None and slowest.kind == "tegrastats"
    assert idle_window_s(preferring) == 5.0 and least_steady_s(preferring) == pytest.approx(5.5)


def test_an_idle_window_is_a_minute_at_most(monkeypatch):
    monkeypatch.setattr("edgebench.probes.host.um25c.RATE_HZ", 0.5)
    assert idle_window_s(target("um25c")) == 60.0
    assert least_steady_s(target("um25c")) == pytest.approx(220.0)
    monkeypatch.setattr("edgebench.probes.host.um25c.RATE_HZ", 0.0)
    assert (idle_window_s(target("um25c")), least_steady_s(target("um25c"))) == (2.0, None)


def test_a_device_with_a_clock_of_its_own_is_not_asked_for_more():
    assert least_steady_s(target("um25c", device="replay")) is None


def test_load_bursts_are_for_the_slowest_meter():
    long_s, short_s = load_bursts(2.0).total_s, load_bursts(100.0).total_s
    assert long_s > 2 * short_s
    assert bursts_s(target("telemetry:5")) == 0.0
    assert bursts_s(target("rapl", "telemetry:5", "tegrastats")) == short_s
    assert bursts_s(target("tegrastats", "fnb58:1")) == bursts_s(target("csv:power.csv")) == short_s
    assert bursts_s(target("csv:power.csv", "fnb58:1", "um25c:2")) == long_s
