"""Whole sessions with a meter on the host that is unplugged, falls silent, or sends what is no reading."""

import threading

import pandas as pd
import pytest

from edgebench.judge.cautions import cautions
from edgebench.judge.latency import SteadyPasses
from edgebench.judge.power.rails import power_of_sessions
from edgebench.judge.steady_time import steady_times
from edgebench.link.host_probes import HostProbes
from edgebench.run.measuring import session
from edgebench.run.measuring.session import LocalDevice, SessionWatch
from edgebench.run.measuring.session_record import Job
from tests.link.rig import make_rig
from tests.probes import fnb58_meter, quick_meters, um25c_meter
from tests.sample_tables import rows_of_frame, samples_of

PASSES = 5
NO_PASSES = SteadyPasses((), (), (), {}, {}, 0)
SPOILT_S = 0.2
"""For how long a meter is tampered with; it begins half of it into the stage."""


class Bench:
    """A device with one meter of the host, and sessions that are measured beside it.

    Args:
        folder: of the meter.
        kind: um25c or fnb58.
    """

    def __init__(self, folder, kind):
        self.meter: um25c_meter.StandIn | fnb58_meter.SocketStandIn
        self.spoilt = False
        self.number = 0
        self._rig = make_rig(folder / "cache")
        self._device = self._rig.device()
        self._probes = HostProbes()
        if kind == "um25c":
            self.meter = um25c_meter.StandIn(folder / "port", self._frames)
            self.name = f"um25c:{self.meter.path}"
        else:
            nodes = folder / "nodes"
            self.meter = fnb58_meter.SocketStandIn(folder / "tree", nodes, answer=self._packet)
            self.name = "fnb58"
        self.spoil = lambda: setattr(self, "spoilt", True)
        self.mend = lambda: setattr(self, "spoilt", False)

    def session(self, stage="", *actions):
        """One session, with actions once that stage has begun, SPOILT_S apart; its record and rail."""

        class Watch(SessionWatch):
            def report(self, name, done, steps):
                if name == stage and not timers:
                    for place, action in enumerate(actions):
                        timers.append(threading.Timer((place + 0.5) * SPOILT_S, action))
                        timers[-1].start()
                super().report(name, done, steps)

        timers: list[threading.Timer] = []
        settings = self._rig.settings(idle_s=0.3, delay_us=20_000)
        plan = self._rig.plan(passes=PASSES, warmup_cap=0)
        job = Job("k" * 16, self.number, 0, self._rig.artifact(), settings, plan, host_meters=(self.name,))
        measured = LocalDevice(self._device, host_probes=self._probes).measure(job, Watch(plan))
        for timer in timers:
            timer.join(20)
        self.number += 1
        record, passes = measured.record, measured.tables.passes
        assert (record.status, len(timers)) == ("ok", len(actions))
        assert passes is not None and (passes["phase"] == "steady").sum() == PASSES  # its latency is there
        return record, self._power(measured, passes)

    def close(self):
        self._probes.close()
        self._device.close()
        self.meter.unplug()

    def _frames(self, number):
        frame = um25c_meter.frame(5.0, 1.0 + number % 7 / 1000, watts=51.0 if self.spoilt else None)
        return [frame]

    def _packet(self, number):
        packet = bytearray(fnb58_meter.packet((5.0, 1.0 + number % 7 / 1000)))
        packet[9] ^= 0xFF if self.spoilt else 0
        return bytes(packet)

    def _power(self, measured, passes):
        record = measured.record
        times = steady_times(
            [record], rows_of_frame(passes.assign(session=record.n)), {record.n: float(PASSES)}
        )
        rows = pd.DataFrame(columns=["session", "probe", "channel", "t_ns", "value"])
        if measured.tables.probes is not None:
            rows = samples_of(measured).assign(session=record.n)
            assert not (rows["value"] == 0).any()  # a reading that failed is no 0
        rails = power_of_sessions([record], lambda: rows_of_frame(rows), times)
        return next((power for power in rails if power.rail.channel == "usb"), None)


@pytest.fixture(params=["um25c", pytest.param("fnb58", marks=pytest.mark.slow)])
def bench(request, tmp_path, monkeypatch):
    pytest.importorskip("serial", reason="pyserial is not installed: pip install 'edgebench[meters]'")
    quick_meters.install(tmp_path, monkeypatch)
    # The stand-ins' power follows no load, which is another test's subject.
    monkeypatch.setattr(session, "bursts_for", lambda probes: None)
    opened = Bench(tmp_path, request.param)
    yield opened
    opened.close()
    quick_meters.uninstall()


def sentences(record):
    return [caution.sentence() for caution in cautions([record], NO_PASSES)]


def recovered(bench):
    """The first of eight sessions that have no trouble with the meter and all of their energy, else the last.

    Readings are 5 ms apart here: a busy machine leaves a hole in one session now and then.
    """
    for _ in range(8):
        record, power = bench.session()
        assert record.probe_reasons == {}
        if not power.rail.uncovered and not power.rail.rejected:
            break
    return power


def is_sound(power):
    mean, energy = (power.estimates[name].value for name in ("power_mean_w", "energy_j"))
    return mean == pytest.approx(5.0, rel=0.01) and energy and not power.rail.uncovered


@pytest.mark.attack(
    "a meter is unplugged during the passes and plugged in again: latency goes on, energy of that session "
    "is unknown with the reason, the next session has its own"
)
def test_unplugged_and_plugged_in_again_amid_the_passes(bench):
    record, power = bench.session("passes", bench.meter.unplug, bench.meter.plug_in)
    why = record.probe_reasons[bench.name]
    assert why.startswith(f"{bench.name} was lost during the session: it has hung up")
    assert why.endswith("; it came back")
    for name in ("power_mean_w", "energy_j", "net_energy_j"):
        assert power.estimates[name].value is None
    assert "hole" in power.rail.reason and why in power.rail.reason and power.rail.uncovered
    assert sum(why in text for text in sentences(record)) == 1
    power = recovered(bench)
    assert is_sound(power), power


@pytest.mark.slow
@pytest.mark.attack(
    "a meter is unplugged for good: the energy of that session and the next is unknown, each with the "
    "reason; plugged in again it is found"
)
def test_unplugged_for_good_is_looked_for_by_the_next_sessions(bench):
    record, power = bench.session("passes", bench.meter.unplug)
    assert "was lost during the session" in record.probe_reasons[bench.name]
    assert "came back" not in record.probe_reasons[bench.name]
    assert power.estimates["energy_j"].value is None
    assert record.probe_reasons[bench.name] in power.rail.reason
    record, power = bench.session()
    assert "was lost before the session" in record.probe_reasons[bench.name]
    for name in ("power_mean_w", "power_peak_w", "energy_j"):
        assert power.estimates[name].value is None
    assert power.rail.samples == 0
    assert record.probe_reasons[bench.name] in power.rail.reason
    record, power = bench.session("load", bench.meter.plug_in)
    assert record.probe_reasons[bench.name].endswith("; it came back")
    power = recovered(bench)
    assert is_sound(power), power


@pytest.mark.slow
@pytest.mark.attack(
    "a meter is unplugged in the idle window alone: gross energy stands, net is reported without"
)
def test_unplugged_in_the_idle_window_alone(bench):
    record, power = bench.session("idle window", bench.meter.unplug, bench.meter.plug_in)
    assert "was lost during the session" in record.probe_reasons[bench.name]
    assert power.estimates["power_mean_w"].value == pytest.approx(5.0, rel=0.01)
    assert power.estimates["energy_j"].value


@pytest.mark.slow
@pytest.mark.attack(
    "a meter sends corrupt bytes for a while: rejected readings, that session's energy unknown"
)
def test_corrupt_bytes_for_a_while(bench):
    record, power = bench.session("passes", bench.spoil, bench.mend)
    assert record.probe_reasons == {}
    assert power.rail.rejected
    assert power.estimates["energy_j"].value is None and "hole" in power.rail.reason
    [text] = [text for text in sentences(record) if "rejected" in text]
    assert "they are not used" in text
    power = recovered(bench)
    assert is_sound(power), power
