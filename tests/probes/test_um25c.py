"""The probe of a UM25C on a pty: waveforms, pieces, spoilt answers, unplugging, ports that are no meters."""

import errno
import fcntl
import grp
import math
import os
import types

import numpy as np
import pytest

from edgebench.probes import basics
from edgebench.probes.host import sampling, serial_port, um25c
from edgebench.probes.host import serial_port as usb_devices
from tests.probes.host_samples import closing, energies_j, sample_until, wave_w
from tests.probes.um25c_meter import StandIn, frame


@pytest.fixture(autouse=True)
def _brisk(monkeypatch):
    """Two samples a second would be a test of minutes; none is taken without pyserial."""
    pytest.importorskip("serial", reason="pyserial is not installed: pip install 'edgebench[meters]'")
    monkeypatch.setattr(um25c, "RATE_HZ", 200.0)
    monkeypatch.setattr(um25c, "ANSWER_S", 0.2)
    monkeypatch.setattr(basics, "CHUNK_S", 0.05)


@pytest.fixture
def stand_in(tmp_path):
    meters = []

    def plug_in(answer=lambda n: [frame()]):
        meters.append(StandIn(tmp_path / "port", answer))
        return meters[-1]

    yield plug_in
    for meter in meters:
        meter.unplug()


def test_channels_and_samples(stand_in):
    meter = stand_in(lambda n: [frame(5.1, 0.5)])
    with closing(um25c.open_probe(meter.path)) as probe:
        assert [channel["name"] for channel in probe.info["channels"]] == ["usb", "voltage", "current"]
        assert probe.info["scope"] == "usb"
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 3)
    assert set(heard.columns["usb"]) == {2.55}
    assert set(heard.columns["voltage"]) == {5.1}
    assert set(heard.columns["current"]) == {0.5}
    assert probe.rejected == []


def test_the_energy_of_a_known_waveform(stand_in, monkeypatch):
    """On a clock of its own, so that a busy machine changes nothing."""
    monkeypatch.setattr(um25c, "ANSWER_S", 10.0)
    clock_ns = [77 * 10**9]
    for module in (um25c, basics):
        monkeypatch.setattr(module, "now_ns", lambda: clock_ns[0])
    sent = []

    def answer(n):
        clock_ns[0] += 5_000_000
        sent.append(wave_w(clock_ns[0], 1.0))
        whole = frame(5.0, sent[-1] / 5.0)
        return [whole[:20], whole[20:120], whole[120:]]  # as Bluetooth cuts them

    meter = stand_in(answer)
    with closing(um25c.open_probe(meter.path)) as probe:
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 200)
    assert heard.gaps("usb") == 0
    watts = heard.columns["usb"]
    np.testing.assert_allclose(watts, sent[1 : 1 + len(watts)], atol=1e-3)
    sampled_j, wave_j = energies_j(heard.stamps, watts, [(heard.stamps[0], heard.stamps[-1])], 1.0)
    assert sampled_j == pytest.approx(wave_j, rel=0.01)


def test_the_energy_of_a_known_waveform_with_faults(stand_in, monkeypatch):
    """On a clock of its own, at uneven moments: noise, cut and spoilt frames, silence, an unplugging."""
    monkeypatch.setattr(um25c, "RATE_HZ", 500.0)
    monkeypatch.setattr(um25c, "ANSWER_S", 0.1)
    monkeypatch.setattr(sampling, "LOOK_S", 0.02)
    drawn = np.random.default_rng(1)
    clock_ns = [77 * 10**9]
    for module in (um25c, basics):
        monkeypatch.setattr(module, "now_ns", lambda: clock_ns[0])
    faults = {20: "silent", 60: "watts", 90: "half", 190: "watts", 210: "half"}
    wave_hz = 0.13

    def answer(n):
        clock_ns[0] += int(drawn.uniform(0.8, 1.2) * 0.5e9)
        whole = frame(5.0, wave_w(clock_ns[0], wave_hz) * drawn.normal(1.0, 0.005) / 5.0)
        spoilt = {"silent": [], "watts": [frame(5.0, 1.0, watts=51.0)], "half": [whole[:57]]}
        cut = int(drawn.integers(1, 129))
        return spoilt[faults[n]] if n in faults else [whole[:cut], whole[cut:]]

    meter = stand_in(answer)
    edges_ns: list[int] = []  # the last sample before the meter was unplugged, the first after it was back

    def enough(heard):
        if not edges_ns and len(heard.readings("usb")) >= 120:
            meter.unplug()
            edges_ns.append(heard.stamps[-1])
        elif edges_ns and meter._thread is None and math.isnan(heard.columns["usb"][-1]):
            clock_ns[0] += 20 * 10**9
            edges_ns.append(clock_ns[0])
            meter.plug_in()
        return len(heard.readings("usb")) >= 260

    with closing(um25c.open_probe(meter.path)) as probe:
        heard = sample_until(probe, enough)
    assert heard.gaps("usb") > len(faults)  # those of the unplugging too
    assert min(heard.readings("usb")) > 2.9
    assert len(probe.rejected) >= len(faults)
    assert probe.outages[0] and probe.outages[1:] == [""]
    back_ns = min(stamp for stamp in heard.stamps if stamp > edges_ns[1])
    parts_ns = [(heard.stamps[0], edges_ns[0]), (back_ns, heard.stamps[-1])]
    sampled_j, wave_j = energies_j(heard.stamps, heard.columns["usb"], parts_ns, wave_hz)
    assert sampled_j == pytest.approx(wave_j, rel=0.01)


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        pytest.param([], "no answer", marks=pytest.mark.attack("a meter misses a request: a gap, never 0")),
        pytest.param(
            [frame()[:57]],
            "57 of 130 bytes of a frame",
            marks=pytest.mark.attack("a meter's answer ends in its middle: a gap, and the next one is read"),
        ),
        pytest.param(
            [frame(5.0, 1.0, watts=51.0)],
            "130 bytes of no believable frame",
            marks=pytest.mark.attack("a meter's watts are not its volts times amperes: a rejected reading"),
        ),
        pytest.param(
            [b"\x00" * 40, os.urandom(0), b"\x09\xc9" + b"\xaa" * 200],
            "bytes of no believable frame",
            marks=pytest.mark.attack("a meter's line brings garbage: a gap, and its frames are found again"),
        ),
        pytest.param(
            [frame(model="UM34C")],
            "an answer of a UM34C, where a UM25C was",
            marks=pytest.mark.attack(
                "another meter answers on the port during a session: a gap, not its watts"
            ),
        ),
    ],
)
def test_an_answer_that_is_none_is_a_gap(stand_in, spoilt, why):
    meter = stand_in(lambda n: spoilt if n == 3 else [frame()])
    with closing(um25c.open_probe(meter.path)) as probe:
        heard = sample_until(probe, lambda heard: len(heard.readings("usb")) >= 6)
    assert heard.gaps("usb") == 1
    assert set(heard.readings("usb")) == {5.0}
    assert len(probe.rejected) >= 1
    assert why in probe.rejected[0]


def test_garbage_before_a_frame_costs_no_sample(stand_in):
    meter = stand_in(lambda n: [b"\xff\xfe\x09", frame()])
    with closing(um25c.open_probe(meter.path)) as probe:
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 5)
    assert heard.gaps("usb") == 0
    assert "3 bytes of no believable frame: ff fe 09" in probe.rejected


@pytest.mark.attack("a meter is unplugged during a session and plugged in again: a gap, then it goes on")
def test_unplugged_and_plugged_in_again(stand_in):
    meter = stand_in()
    before: list[int] = []

    def enough(heard):
        if len(heard.readings("usb")) >= 3 and not before:
            before.append(len(heard.readings("usb")))
            meter.unplug()
        elif heard.gaps("usb") and meter._thread is None:
            meter.plug_in()
        return bool(before) and heard.gaps("usb") > 0 and len(heard.readings("usb")) > before[0] + 2

    with closing(um25c.open_probe(meter.path)) as probe:
        heard = sample_until(probe, enough)
    assert set(heard.readings("usb")) == {5.0}
    assert probe.outages[0] and probe.outages[1:] == [""]  # its loss is told, not every look for it


@pytest.mark.attack("a meter is unplugged and stays away: gaps until the stop, and the probe ends in time")
def test_unplugged_for_good(stand_in):
    meter = stand_in()

    def enough(heard):
        meter.unplug()
        return heard.gaps("usb") >= 3

    with closing(um25c.open_probe(meter.path)) as probe:
        heard = sample_until(probe, enough)
    assert math.isnan(heard.columns["usb"][-1])
    assert len(probe.outages) == 1


@pytest.mark.attack(
    "a meter stops answering and its port stays: it is opened again, and the loss is reported"
)
def test_one_that_answers_nothing_any_more(stand_in, monkeypatch):
    monkeypatch.setattr(um25c, "ANSWER_S", 0.03)
    monkeypatch.setattr(sampling, "LOOK_S", 0.05)
    answers = iter([[frame()]] * 3 + [[]] * (sampling.MOST_MISSES + 1))
    meter = stand_in(lambda n: next(answers, [frame()]))
    with closing(um25c.open_probe(meter.path)) as probe:
        heard = sample_until(probe, lambda heard: len(heard.readings("usb")) >= 5)
    assert heard.gaps("usb") >= sampling.MOST_MISSES
    assert set(heard.readings("usb")) == {5.0}
    assert "4 times in a row: no answer" in probe.outages[0] and probe.outages[1:] == [""]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(
            lambda n: [b"login: \r\n"],
            "is no UM24C, UM25C or UM34C: .*6c 6f 67 69 6e",
            marks=pytest.mark.attack(
                "another device answers on the meter's port: no meter, and its first bytes"
            ),
        ),
        pytest.param(
            lambda n: [],
            "nothing answers",
            marks=pytest.mark.attack("nothing answers on the meter's port: said"),
        ),
    ],
)
def test_a_port_without_a_meter(stand_in, monkeypatch, answer, why):
    monkeypatch.setattr(um25c, "ANSWER_S", 0.05)
    with pytest.raises(basics.ProbeMissing, match=why) as caught:
        um25c.open_probe(stand_in(answer).path)
    assert caught.value.fix


def test_a_port_that_is_not_there(tmp_path):
    with pytest.raises(basics.ProbeMissing, match="there is no port") as caught:
        um25c.open_probe(str(tmp_path / "rfcomm7"))
    assert "rfcomm bind" in caught.value.fix


def test_a_file_is_no_port(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(basics.ProbeMissing, match="is no serial port"):
        um25c.open_probe(str(tmp_path / "file"))


@pytest.mark.attack("another program has locked the meter's port: no meter, and who to look for")
def test_a_port_that_is_in_use(stand_in):
    meter = stand_in()
    with open(meter.path, "rb", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(basics.ProbeMissing, match="another program uses") as caught:
            um25c.open_probe(meter.path)
    assert "fuser" in caught.value.fix


@pytest.mark.parametrize(
    ("group", "mode", "is_of_usb", "fix"),
    [
        pytest.param(
            "tty",
            0o660,
            False,
            "sudo usermod -aG tty $USER",
            marks=pytest.mark.attack("a port that its group alone may open: the command that joins it"),
        ),
        pytest.param(
            "root",
            0o600,
            True,
            'SUBSYSTEM=="tty", ATTRS{idVendor}=="1a86", ATTRS{idProduct}=="7523"',
            marks=pytest.mark.attack("a port of USB that root alone may open: the udev rule with its ids"),
        ),
        ("root", 0o600, False, 'KERNEL=="port"'),
    ],
)
def test_a_port_that_may_not_be_opened(tmp_path, monkeypatch, group, mode, is_of_usb, fix):
    port = tmp_path / "port"
    port.touch()
    port.chmod(mode)
    if is_of_usb:
        adapter = tmp_path / "usb" / "1-2"
        (adapter / "1-2:1.0" / "port").mkdir(parents=True)
        for name, text in {"idVendor": "1a86", "idProduct": "7523", "busnum": "1", "devnum": "5"}.items():
            (adapter / name).write_text(text)
        (tmp_path / "tty" / "port").mkdir(parents=True)
        (tmp_path / "tty" / "port" / "device").symlink_to(adapter / "1-2:1.0" / "port")
    monkeypatch.setattr(usb_devices, "TTYS", str(tmp_path / "tty"))

    def refuse(path, flags, *_):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr("serial.serialposix.os.open", refuse)
    monkeypatch.setattr(grp, "getgrgid", lambda number: types.SimpleNamespace(gr_name=group, gr_mem=[]))
    with pytest.raises(basics.ProbeDenied, match="may not open") as caught:
        um25c.open_probe(str(port))
    assert (caught.value.step, caught.value.port) == ("permission", str(port))
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("number", "kind", "why"),
    [
        (errno.EHOSTDOWN, basics.ProbeMissing, "nothing answers behind"),
        (errno.EBUSY, basics.ProbeMissing, "another program uses"),
        (errno.EPERM, basics.ProbeDenied, "may not open"),
        (None, basics.ProbeMissing, "is no serial port"),
    ],
)
def test_why_a_port_is_refused(number, kind, why):
    refusal = serial_port.refusal("/dev/rfcomm0", number, "[Errno] words")
    assert type(refusal) is kind
    assert why in refusal.reason
    assert refusal.fix


def test_without_a_port_the_one_bluetooth_port_is_taken(stand_in, tmp_path, monkeypatch):
    meter = stand_in()
    monkeypatch.setattr(um25c, "BLUETOOTH_PORTS", (str(tmp_path / "por*"),))
    with closing(um25c.open_probe("")) as probe:
        assert probe.info["address"] == ""
    (tmp_path / "port1").touch()
    with pytest.raises(basics.ProbeMissing, match="several Bluetooth ports are bound"):
        um25c.open_probe("")
    monkeypatch.setattr(um25c, "BLUETOOTH_PORTS", (str(tmp_path / "none*"),))
    with pytest.raises(basics.ProbeMissing, match="no port was named"):
        um25c.open_probe("")
    assert meter.requests == 1
