"""The probe of a PPK2 on a stand-in for its package: conversion, means, marks, and what is in the way."""

import sys
import types

import numpy as np
import pytest

from edgebench.probes import basics
from edgebench.probes.host import ppk2, sampling
from tests.probes import ppk2_package
from tests.probes.host_samples import closing, sample_until

VOLTS = 3.3
ADDRESS = "/dev/ttyACM0?voltage_mv=3300"


def steady(numbers):
    """100 mA, and the input D1 high for a quarter of each millisecond."""
    return np.full(len(numbers), 0.1), np.where(numbers % 100 < 25, 2, 0)


@pytest.fixture
def kits(monkeypatch):
    plugged_in = {"/dev/ttyACM0": steady}
    module = ppk2_package.package(plugged_in)
    monkeypatch.setitem(sys.modules, "ppk2_api", types.SimpleNamespace(ppk2_api=module))
    monkeypatch.setitem(sys.modules, "ppk2_api.ppk2_api", module)
    monkeypatch.setattr(basics, "CHUNK_S", 0.05)
    monkeypatch.setattr(sampling, "LOOK_S", 0.05)
    monkeypatch.setattr(ppk2, "SETTLE_S", 0.0)
    monkeypatch.setattr(sampling, "SILENCE_S", 0.2)
    return types.SimpleNamespace(ports=plugged_in, opened=module.opened, lost=module.lost)


def test_means_over_a_millisecond(kits):
    with closing(ppk2.open_probe(ADDRESS)) as probe:
        assert [channel["name"] for channel in probe.info["channels"]] == ["in", "current"]
        assert (probe.info["rate_hz"], probe.info["averaging_ms"]) == (1000.0, 1.0)
        assert probe.info["scope"] == "board"
        assert "3300 mV" in probe.info["absent"]["voltage"]
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 200)
    assert heard.columns["in"] == pytest.approx([0.1 * VOLTS] * len(heard.stamps), rel=0.02)
    assert heard.columns["current"] == pytest.approx([0.1] * len(heard.stamps), rel=0.02)
    assert probe.rejected == []


def test_a_load_faster_than_its_means_has_its_energy(kits):
    """Bursts of 0.1 ms every 0.7 ms: each millisecond has another share of them, and none is lost."""
    kits.ports["/dev/ttyACM0"] = lambda numbers: (np.where(numbers % 70 < 10, 0.7, 0.0), 0 * numbers)
    with closing(ppk2.open_probe(ADDRESS)) as probe:
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 350)
    watts = heard.columns["in"][: len(heard.columns["in"]) // 7 * 7]
    assert np.mean(watts) == pytest.approx(0.1 * VOLTS, rel=0.01)


def swinging(numbers):
    """90 to 110 mA in the rhythm of 77 samples, with marks at the inputs."""
    return 0.1 + 0.01 * np.sin(2 * np.pi * numbers / 77), numbers // 10 % 256


@pytest.mark.attack(
    "a PPK2's port loses bytes: a gap with the number of samples, and right readings after it"
)
@pytest.mark.parametrize("lost", [1, 2, 3, 4, 41, 252, 1022])
@pytest.mark.parametrize("begin", [40_000, 40_001, 40_002, 40_003])
def test_lost_bytes_are_a_gap(kits, lost, begin):
    kits.ports["/dev/ttyACM0"] = swinging
    kits.lost.update(range(begin, begin + lost))
    with closing(ppk2.open_probe(ADDRESS)) as probe:
        heard = sample_until(probe, lambda heard: heard.gaps("in") > 0 and len(heard.stamps) >= 300)
    assert 1 <= heard.gaps("in") <= 4
    readings = heard.readings("in")
    assert readings == pytest.approx([0.1 * VOLTS] * len(readings), rel=0.05)
    assert np.mean(readings[-154:]) == pytest.approx(0.1 * VOLTS, rel=0.01)
    [missing] = probe.rejected
    # The count has six bits; a sample before and after the loss may be dropped as well.
    assert (lost + 3) // 4 % 64 <= int(missing.split()[0]) <= (lost + 3) // 4 % 64 + 4
    assert "are missing" in missing


def test_a_loss_that_the_count_does_not_show_keeps_values_right(kits):
    kits.ports["/dev/ttyACM0"] = swinging
    kits.lost.update(range(40_000, 40_000 + 4 * 64))
    with closing(ppk2.open_probe(ADDRESS)) as probe:
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 300)
    assert heard.readings("in") == pytest.approx([0.1 * VOLTS] * len(heard.readings("in")), rel=0.05)


@pytest.mark.attack("what a PPK2 sends does not count up: it is no sample")
def test_bytes_that_are_no_samples(kits, monkeypatch):
    monkeypatch.setattr(
        ppk2_package, "words", lambda amperes, *rest: np.full(len(amperes), 0x12345678, "<u4")
    )
    monkeypatch.setattr(sampling, "FIRST_SAMPLES_S", 0.1)
    with pytest.raises(basics.ProbeMissing, match="sends no sample"):
        ppk2.open_probe(ADDRESS)


@pytest.mark.parametrize(("mode", "call"), [("ampere", "use_ampere_meter"), ("source", "use_source_meter")])
def test_the_kit_is_set_up_before_it_measures(kits, mode, call):
    with closing(ppk2.open_probe(f"?voltage_mv=5000&mode={mode}")):
        [api] = kits.opened
    assert api.calls == [("set_source_voltage", 5000), call, ("toggle_DUT_power", "ON"), "start_measuring"]


def test_conversion_by_the_kits_calibration():
    """I = UG (x (GS x + GI) + S V + I0) with x = (steps - O) per_step / R, by hand."""
    ranges = [str(place) for place in range(5)]
    modifiers = {
        name: {place: base + 0.1 * number for number, place in enumerate(ranges)}
        for name, base in {"O": 2.0, "R": 10.0, "GS": 0.5, "GI": 1.0, "S": 0.01, "I": 0.02, "UG": 1.5}.items()
    }
    words = np.array([100 | 0 << 14, 200 | 3 << 14 | 255 << 24, 300 | 7 << 14], "<u4")
    expected = []
    for steps, place in ((400, 0), (800, 3), (1200, 4)):
        x = (steps - 2.0 - 0.1 * place) * 0.001 / (10.0 + 0.1 * place)
        gain, offset = 1.5 + 0.1 * place, (0.01 + 0.1 * place) * VOLTS + 0.02 + 0.1 * place
        expected.append(gain * (x * ((0.5 + 0.1 * place) * x + 1.0 + 0.1 * place) + offset))
    assert ppk2.currents(words, modifiers, 0.001, VOLTS) == pytest.approx(expected)


@pytest.mark.attack("a PPK2 is unplugged during a session and plugged in again: gaps, then it goes on")
def test_unplugged_and_plugged_in_again(kits):
    before: list[int] = []

    def enough(heard):
        if not before:
            before.append(len(heard.readings("in")))
            del kits.ports["/dev/ttyACM0"]
        elif heard.gaps("in"):
            kits.ports["/dev/ttyACM0"] = steady
        return heard.gaps("in") > 0 and len(heard.readings("in")) > before[0] + 100

    with closing(ppk2.open_probe(ADDRESS)) as probe:
        heard = sample_until(probe, enough)
    assert heard.readings("in") == pytest.approx([0.1 * VOLTS] * len(heard.readings("in")), rel=0.02)
    assert probe.outages[0]


@pytest.mark.attack("a PPK2 falls silent during a session: gaps, never 0")
def test_silence_is_a_gap(kits):
    with closing(ppk2.open_probe(ADDRESS)) as probe:
        kits.ports["/dev/ttyACM0"] = lambda numbers: (np.zeros(0), np.zeros(0))
        heard = sample_until(probe, lambda heard: heard.gaps("in") > 0)
    assert min(heard.readings("in"), default=1.0) > 0.3
    assert "no sample for 0.2 s" in probe.rejected


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("/dev/ttyACM0", "the voltage is not stated"),
        ("/dev/ttyACM0?voltage_mv=3.3", "the voltage is '3.3'"),
        ("/dev/ttyACM0?voltage_mv=12000", "the voltage is '12000'"),
        (ADDRESS + "&mode=volt", "mode=volt is not known"),
        (ADDRESS + "&scope=house", "scope=house"),
        (ADDRESS + "&watts=1", "'watts' is no option"),
        ("/dev/ttyACM7?voltage_mv=3300", "there is no port /dev/ttyACM7"),
        ("/dev/busy?voltage_mv=3300", "another program uses /dev/busy"),
        ("/dev/other?voltage_mv=3300", "what answers at /dev/other is no PPK2"),
        ("?voltage_mv=3300", "several ports are a PPK2's"),
    ],
)
def test_what_is_in_the_way_is_said(kits, address, why):
    kits.ports["/dev/busy"] = OSError(16, "Device or resource busy")
    kits.ports["/dev/other"] = None
    with pytest.raises(basics.ProbeMissing, match=why) as caught:
        ppk2.open_probe(address)
    assert caught.value.fix


def test_without_a_kit_or_its_package(kits, monkeypatch):
    kits.ports.clear()
    with pytest.raises(basics.ProbeMissing, match="no PPK2 is plugged in"):
        ppk2.open_probe("?voltage_mv=3300")
    monkeypatch.setitem(sys.modules, "ppk2_api.ppk2_api", None)
    with pytest.raises(basics.ProbeMissing, match="package ppk2-api") as caught:
        ppk2.open_probe(ADDRESS)
    assert "GPL-2" in caught.value.fix
