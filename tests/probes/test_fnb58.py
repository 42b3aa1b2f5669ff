"""The probe of a FNIRSI meter: packets, a known waveform, corrupt ones, unplugging, what is in the way."""

import math
import os
import time

import numpy as np
import pytest

from edgebench.probes import basics
from edgebench.probes.host import fnb58, sampling
from edgebench.probes.host import fnb58 as hidraw
from edgebench.probes.host.fnb58 import GO_ON, SELECT, START, crc8, samples_of
from edgebench.stats.power import window_power
from edgebench.stats.power_curve import power_curve
from tests.probes.fnb58_meter import C1, FNB48, FNB48S, FNB58, VENDOR_PAGE, StandIn, packet
from tests.probes.host_samples import closing, energies_j, sample_until, wave_w


@pytest.fixture(autouse=True)
def _brisk(monkeypatch, tmp_path):
    monkeypatch.setattr(basics, "CHUNK_S", 0.05)
    monkeypatch.setattr(sampling, "LOOK_S", 0.05)
    monkeypatch.setattr(sampling, "SILENCE_S", 0.2)
    monkeypatch.setattr(hidraw, "TREE", str(tmp_path / "hidraw"))


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    meters = []

    def plug(answer=lambda n: packet((5.0, 1.0)), **facts):
        meters.append(StandIn(tmp_path / "hidraw", answer, **facts))
        monkeypatch.setattr(hidraw, "open_node", meters[-1].open)
        return meters[-1]

    yield plug
    for meter in meters:
        meter.unplug()


def test_the_checksum():
    assert crc8(b"123456789") == 0x4B
    assert [command[-1] for command in (START, SELECT, GO_ON)] == [0x8E, 0x96, 0x9E]
    assert [command[:2] for command in (START, SELECT, GO_ON)] == [b"\xaa\x81", b"\xaa\x82", b"\xaa\x83"]
    assert {len(command) for command in (START, SELECT, GO_ON)} == {64}


def test_a_packet_has_four_samples():
    samples, why = samples_of(packet((5.12345, 0.5), (5.0, 1.0), (4.9, 2.0), (0.0, 0.0)))
    assert samples == [(5.12345, 0.5), (5.0, 1.0), (4.9, 2.0), (0.0, 0.0)]
    assert why == ""
    assert samples_of(packet((5.0, 1.0), kind=3)) == ([], "")


@pytest.mark.parametrize("place", [1, 2, 40, 62, 63])
def test_every_bit_of_a_packet_counts(place):
    for bit in range(8):
        spoilt = bytearray(packet((5.0, 1.0)))
        spoilt[place] ^= 1 << bit
        samples, why = samples_of(bytes(spoilt))
        assert samples is None
        assert "checksum" in why


@pytest.mark.parametrize("spoilt", [b"", packet((5.0, 1.0))[:-1], b"\xab" + packet((5.0, 1.0))[1:]])
def test_what_is_no_packet(spoilt):
    samples, why = samples_of(spoilt)
    assert samples is None
    assert "of no packet" in why


@pytest.mark.parametrize("ids", [FNB58, FNB48S, FNB48, C1])
def test_channels_and_samples(plug_in, ids):
    meter = plug_in(lambda n: packet((5.1, 0.5)), ids=ids)
    with closing(fnb58.open_probe("")) as probe:
        assert [channel["name"] for channel in probe.info["channels"]] == ["usb", "voltage", "current"]
        assert (probe.info["scope"], probe.info["kind"]) == ("usb", "fnb58")
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 12)
    assert heard.columns["usb"] == pytest.approx([2.55] * len(heard.stamps))
    assert set(heard.columns["voltage"]) == {5.1}
    assert probe.rejected == []
    # These two are asked again after every packet, the others once a second.
    assert (meter.written.count(GO_ON) > 2) == (ids in (FNB48, C1))


def test_the_energy_of_a_known_waveform(plug_in):
    """The stand-in sends four times as fast as it says: what counts is the samples' order and values."""
    sent = []

    def answer(n):
        watts = [5.0 + 2.0 * math.sin(2 * math.pi * (4 * n + sample) / 100) for sample in range(4)]
        sent.extend(watts)
        return packet(*((5.0, power / 5.0) for power in watts))

    plug_in(answer)
    with closing(fnb58.open_probe("")) as probe:
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 400)
    np.testing.assert_allclose(heard.columns["usb"], sent[4 : 4 + len(heard.stamps)], atol=1e-4)
    own_ns = np.arange(400) * fnb58.SAMPLE_NS
    window = window_power(power_curve(own_ns, np.array(heard.columns["usb"][:400])), 0, int(own_ns[-100]))
    assert window.mean_w == pytest.approx(5.0, rel=0.01)


def test_the_energy_of_a_known_waveform_with_faults(plug_in, monkeypatch):
    """On a clock of its own, packets late by uneven times: noise, corrupt ones, losses, an unplugging."""
    drawn = np.random.default_rng(1)
    clock_ns = [77 * 10**9]
    for module in (fnb58, basics):
        monkeypatch.setattr(module, "now_ns", lambda: clock_ns[0])
    monkeypatch.setattr(sampling, "LOOK_S", 0.0)
    meter = plug_in()
    probe = fnb58.open_probe("")
    meter.answer = lambda n: None  # from now on packets come one at a time
    assert probe._link is not None
    while probe._link.read()[0]:
        pass
    wave_hz = 1.3
    samples = basics.Samples([channel["name"] for channel in probe.info["channels"]], 0)

    def send(number):
        end_ns = clock_ns[0] = 80 * 10**9 + number * 4 * fnb58.SAMPLE_NS
        moments_ns = [end_ns - before * fnb58.SAMPLE_NS for before in (3, 2, 1, 0)]
        amperes = [wave_w(at_ns, wave_hz) * drawn.normal(1.0, 0.005) / 5.0 for at_ns in moments_ns]
        sound = packet(*((5.0, current) for current in amperes))
        clock_ns[0] += int(drawn.uniform(0.0, 5e6))
        if number % 40 == 9:
            return  # lost on its way
        meter.own_end.send(sound[:-1] + bytes([sound[-1] ^ 0x55]) if number % 40 == 19 else sound)
        probe._take(samples, time.monotonic() + 10)

    parts_ns = []
    with closing(probe):
        for first, last in ((0, 90), (150, 240)):
            send(first)
            start_ns = samples.latest_ns
            for number in range(first + 1, last):
                send(number)
            parts_ns.append((start_ns, samples.latest_ns))
            meter.unplug()
            probe._take(samples, time.monotonic() + 10)  # it is lost
            probe._take(samples, time.monotonic() + 10)  # and not there
            meter.written = []
            meter.plug_in()
            probe._take(samples, time.monotonic() + 10)
    stamps, columns = samples.chunk()
    assert np.isnan(columns["usb"]).sum() == 4 + 4  # corrupt packets; a loss and a look for it, twice
    assert np.nanmin(columns["usb"]) > 2.9
    assert [text for text in probe.rejected if "checksum" not in text] == []
    assert len(probe.rejected) == 4
    assert probe.outages == ["it has hung up", "", "it has hung up"]
    sampled_j, wave_j = energies_j(stamps, columns["usb"], parts_ns, wave_hz)
    assert sampled_j == pytest.approx(wave_j, rel=0.01)


def test_stamps_keep_the_meters_pace(plug_in, monkeypatch):
    """Packets that are read late, all at once, have the stamps of their pace, and none of a time to come."""
    meter = plug_in(lambda n: None)
    [node] = hidraw.find_nodes([FNB58])
    link = fnb58.Link(node)
    arrivals_ms = [40, 81, 139, 162, 200, 400, 440]  # after the fourth sample of each
    stamps = []
    for arrival_ms in arrivals_ms:
        monkeypatch.setattr(fnb58, "now_ns", lambda ms=arrival_ms: 10**12 + ms * 10**6)
        meter.own_end.send(packet((5.0, 1.0)))
        readings, _ = link.read()
        stamps.append([stamp - 10**12 for stamp, _ in readings])
    link.close()
    ends_ms = [packet_stamps[-1] / 1e6 for packet_stamps in stamps]
    assert ends_ms == pytest.approx([40, 80.04, 120.08, 160.12, 200, 400, 440])
    assert all(np.diff(packet_stamps).tolist() == [10**7] * 3 for packet_stamps in stamps)


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        pytest.param(
            packet((5.0, 1.0))[:-1] + b"\x00",
            "a packet of another checksum",
            marks=pytest.mark.attack(
                "a USB meter's packet has another checksum: a gap and a rejected reading"
            ),
        ),
        pytest.param(
            b"\x00" * 64,
            "64 bytes of no packet",
            marks=pytest.mark.attack("a USB meter sends garbage: a gap and a rejected reading"),
        ),
        pytest.param(
            packet((5.0, 1.0))[:30],
            "30 bytes of no packet",
            marks=pytest.mark.attack("a USB meter sends half a packet: a gap and a rejected reading"),
        ),
    ],
)
def test_a_packet_that_is_none_is_a_gap(plug_in, spoilt, why):
    plug_in(lambda n: spoilt if n == 3 else packet((5.0, 1.0)))
    with closing(fnb58.open_probe("")) as probe:
        heard = sample_until(probe, lambda heard: len(heard.readings("usb")) >= 20)
    assert heard.gaps("usb") == 1
    assert set(heard.readings("usb")) == {5.0}
    assert [text for text in probe.rejected if why in text]


@pytest.mark.attack("a USB meter falls silent during a session: gaps, and it is asked to go on")
def test_silence_is_a_gap(plug_in):
    meter = plug_in()
    meter.answer = lambda n: packet((5.0, 1.0)) if n < 3 or meter.written[3:] else None
    with closing(fnb58.open_probe("")) as probe:
        heard = sample_until(probe, lambda heard: heard.gaps("usb") and len(heard.readings("usb")) > 20)
    assert set(heard.readings("usb")) == {5.0}
    assert "no sample for 0.2 s" in probe.rejected


@pytest.mark.attack("a USB meter is unplugged and comes back as another node: a gap, then it goes on")
def test_unplugged_and_plugged_in_elsewhere(plug_in):
    meter = plug_in()
    before: list[int] = []

    def enough(heard):
        if not before:
            before.append(len(heard.readings("usb")))
            meter.unplug()
        elif heard.gaps("usb") and meter.thread is None:
            meter.node, meter.written = "hidraw7", []
            meter.plug_in()
        return heard.gaps("usb") > 0 and len(heard.readings("usb")) > before[0] + 20

    with closing(fnb58.open_probe("")) as probe:
        heard = sample_until(probe, enough)
    assert set(heard.readings("usb")) == {5.0}
    assert probe.outages == ["it has hung up", ""]


def test_what_is_plugged_in_is_said(plug_in, tmp_path):
    with pytest.raises(basics.ProbeMissing, match="no FNB58, FNB48, FNB48S or C1 is plugged in"):
        fnb58.open_probe("")
    plug_in(serial="A1")
    plug_in(serial="B2", node="hidraw4", ids=C1)
    mouse = tmp_path / "hidraw" / "hidraw5" / "device"
    mouse.mkdir(parents=True)
    (mouse / "uevent").write_text("HID_ID=0005:00002E3C:00005558\n")  # by Bluetooth
    (mouse / "report_descriptor").write_bytes(VENDOR_PAGE)
    (tmp_path / "hidraw" / "hidraw6").mkdir()
    with pytest.raises(basics.ProbeMissing, match=r"several.*FNB58 A1 \(/dev/hidraw3\), C1 B2"):
        fnb58.open_probe("")
    with pytest.raises(basics.ProbeMissing, match="there is no meter 'C3'"):
        fnb58.open_probe("C3")
    for address in ("B2", "/dev/hidraw4"):
        with closing(fnb58.open_probe(address)) as probe:
            assert probe.info["resolution"].startswith("C1")


def test_a_meter_that_may_not_be_opened(plug_in, tmp_path, monkeypatch):
    unpatched = hidraw.open_node
    plug_in()
    monkeypatch.setattr(hidraw, "open_node", unpatched)

    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(basics.ProbeDenied, match="may not open /dev/hidraw3") as caught:
        fnb58.open_probe("")
    assert 'ATTRS{idVendor}=="2e3c", ATTRS{idProduct}=="5558"' in caught.value.fix
    monkeypatch.undo()
    monkeypatch.setattr(hidraw, "TREE", str(tmp_path / "hidraw"))
    monkeypatch.setattr(hidraw, "NODES", str(tmp_path))
    with pytest.raises(basics.ProbeMissing, match="cannot be opened"):
        fnb58.open_probe("")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda n: None, "sends no sample"),
        (lambda n: b"\xff" * 64, "is no sample: 64 bytes of no packet"),
    ],
)
def test_a_meter_without_samples(plug_in, monkeypatch, answer, why):
    monkeypatch.setattr(sampling, "FIRST_SAMPLES_S", 0.3)
    plug_in(answer)
    with pytest.raises(basics.ProbeMissing, match=why) as caught:
        fnb58.open_probe("")
    assert caught.value.fix


@pytest.mark.parametrize(
    ("descriptor", "numbered"),
    [
        (VENDOR_PAGE, False),
        (VENDOR_PAGE[:7] + b"\x85\xaa" + VENDOR_PAGE[7:], True),
        (b"\xfe\x02\x00\x85\x01" + VENDOR_PAGE, False),  # within a long item
        (b"\x27\x85\x01\x85\x01", False),  # within a value of four bytes
        (b"", False),
    ],
)
def test_report_numbers(descriptor, numbered):
    assert hidraw.has_report_numbers(descriptor) is numbered
