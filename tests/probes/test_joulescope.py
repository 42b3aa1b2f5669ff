"""The probe of a Joulescope on a stand-in for its package: samples, silence, unplugging, refusals."""

import math
import os
import sys

import numpy as np
import pytest

from edgebench.probes import basics
from edgebench.probes.basics import ProbeDenied, ProbeMissing
from edgebench.probes.host import joulescope, sampling
from edgebench.probes.host import serial_port as usb_devices
from edgebench.stats.power import window_power
from edgebench.stats.power_curve import power_curve
from tests.probes import joulescope_package
from tests.probes.host_samples import closing, sample_until
from tests.probes.joulescope_package import Device


@pytest.fixture
def plugged_in(monkeypatch):
    """The instruments that are plugged in; a test adds and removes them."""
    everything: list[Device] = []

    class PluggedIn(list[Device]):
        def append(self, device):
            everything.append(device)
            super().append(device)

    devices = PluggedIn()
    monkeypatch.setitem(sys.modules, "joulescope", joulescope_package.package(devices))
    monkeypatch.setattr(basics, "CHUNK_S", 0.05)
    monkeypatch.setattr(sampling, "LOOK_S", 0.05)
    monkeypatch.setattr(sampling, "SILENCE_S", 0.2)
    yield devices
    for device in everything:
        device.close()


def test_channels_and_samples(plugged_in):
    plugged_in.append(Device())
    with closing(joulescope.open_probe("")) as probe:
        assert [channel["name"] for channel in probe.info["channels"]] == ["in", "voltage", "current"]
        assert (probe.info["scope"], probe.info["averaging_ms"]) == ("board", 10.0)
        assert probe.info["resolution"].startswith("JS220-001234")
        [device] = plugged_in
        assert (device.mode, device.config) == ("restore", "auto")
        assert device.settings == {"reduction_frequency": "100 Hz"}
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 10)
    assert set(heard.columns["in"]) == {5.0}
    assert set(heard.columns["current"]) == {1.0}
    assert probe.rejected == []


def test_the_energy_of_a_known_waveform(plugged_in):
    plugged_in.append(Device(power=lambda n: 5.0 + 2.0 * math.sin(2 * math.pi * n / 50)))
    with closing(joulescope.open_probe("")) as probe:
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 120)
    watts = np.array(heard.columns["in"])
    even_ns = 10_000_000 * np.arange(len(watts))
    # Over two of its periods, by the meter's own pace: a machine under load stretches the stand-in's.
    assert window_power(power_curve(even_ns, watts), 0, int(even_ns[100])).mean_w == pytest.approx(
        5.0, rel=0.01
    )
    assert heard.gaps("in") == 0


def test_the_scope_may_be_said(plugged_in):
    plugged_in.append(Device())
    with closing(joulescope.open_probe("001234?scope=module")) as probe:
        assert probe.info["scope"] == "module"
    with pytest.raises(ProbeMissing, match="scope=house"):
        joulescope.open_probe("001234?scope=house")


@pytest.mark.attack("a Joulescope is unplugged during a session and plugged in again: gaps, then it goes on")
def test_unplugged_and_plugged_in_again(plugged_in):
    plugged_in.append(Device())
    before: list[int] = []

    def enough(heard):
        if not before:
            before.append(len(heard.readings("in")))
            plugged_in.pop().close()  # the driver closes it
        elif heard.gaps("in") and not plugged_in:
            plugged_in.append(Device())
        return heard.gaps("in") > 0 and len(heard.readings("in")) > before[0] + 10

    with closing(joulescope.open_probe("")) as probe:
        heard = sample_until(probe, enough)
    assert set(heard.readings("in")) == {5.0}
    assert probe.outages[0] == "JS220-001234 is unplugged"


@pytest.mark.attack("a Joulescope falls silent during a session: gaps, and it goes on when it speaks again")
def test_silence_is_a_gap(plugged_in):
    plugged_in.append(Device(power=lambda n: None if 10 <= n < 45 else 5.0))
    with closing(joulescope.open_probe("")) as probe:
        heard = sample_until(probe, lambda heard: heard.gaps("in") and len(heard.readings("in")) > 20)
    assert set(heard.readings("in")) == {5.0}
    assert "no sample for 0.2 s" in probe.rejected


def test_what_is_plugged_in_is_said(plugged_in, monkeypatch):
    with pytest.raises(ProbeMissing, match="no Joulescope is plugged in"):
        joulescope.open_probe("")
    plugged_in.append(Device())
    plugged_in.append(Device("js110", "000042"))
    with pytest.raises(ProbeMissing, match="several are plugged in: 001234"):
        joulescope.open_probe("")
    with pytest.raises(ProbeMissing, match="there is no Joulescope '7'"):
        joulescope.open_probe("7")
    with closing(joulescope.open_probe("000042")) as probe:
        assert probe.info["resolution"].startswith("JS110")
    plugged_in[0].refusal = RuntimeError("open failed")
    with pytest.raises(ProbeMissing, match="JS220-001234 cannot be opened: open failed") as caught:
        joulescope.open_probe("001234")
    assert caught.value.step == "in use" and caught.value.fix


@pytest.mark.attack("a Joulescope that this user may not open: its node, and the udev rule with its ids")
def test_one_that_may_not_be_opened(plugged_in, tmp_path, monkeypatch):
    made = {"idVendor": "16d0", "idProduct": "10ba", "busnum": "3", "devnum": "7", "product": "JS220"}
    (tmp_path / "3-1").mkdir()
    for name, text in made.items():
        (tmp_path / "3-1" / name).write_text(f"{text}\n")
    node = tmp_path / "003" / "007"
    node.parent.mkdir()
    node.touch()
    for name in ("TREE", "NODES"):
        monkeypatch.setattr(usb_devices, name, str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(node))
    with pytest.raises(ProbeDenied, match=f"may not open {node}, JS220") as caught:
        joulescope.open_probe("")
    assert 'SUBSYSTEM=="usb", ATTR{idVendor}=="16d0", ATTR{idProduct}=="10ba"' in caught.value.fix
    assert "/etc/udev/rules.d/70-edgebench-meters.rules" in caught.value.fix


def test_one_without_samples(plugged_in, monkeypatch):
    monkeypatch.setattr(sampling, "FIRST_SAMPLES_S", 0.1)
    plugged_in.append(Device(power=lambda n: None))
    with pytest.raises(ProbeMissing, match="sends no sample"):
        joulescope.open_probe("")


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "joulescope", None)
    with pytest.raises(ProbeMissing, match="package joulescope") as caught:
        joulescope.open_probe("")
    assert "edgebench[joulescope]" in caught.value.fix
