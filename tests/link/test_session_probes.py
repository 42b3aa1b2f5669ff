"""Meters from a made tree to chunks on the host, and the honest word where it is absent."""

import dataclasses
from typing import Any

import numpy as np
import psutil
import pytest

from edgebench.agent.frames import Frame, encode
from edgebench.errors import SessionError, UsageError
from edgebench.link import host_lag
from edgebench.link.failures import WorkerEnded
from edgebench.link.replies import Ended
from edgebench.link.session_probes import SessionProbes
from edgebench.records import session as load_bursts
from tests.probes import jetson_board


def tree(folder, energies):
    for name, energy in energies.items():
        domain = folder / name
        domain.mkdir(parents=True)
        (domain / "name").write_text({"intel-rapl:0": "package-0", "intel-rapl:0:0": "core"}[name] + "\n")
        (domain / "energy_uj").write_text(f"{energy}\n")
        (domain / "max_energy_range_uj").write_text("262143328850\n")
    return folder


def test_samples_reach_the_host_with_both_windows_covered(rig, device, tmp_path):
    meter = f"rapl:{tree(tmp_path / 'powercap', {'intel-rapl:0': 1000, 'intel-rapl:0:0': 500})}"
    settings = rig.settings(meters=(meter,), idle_s=0.3, delay_us=20_000)
    chunks = []
    with device.session(rig.artifact(), settings) as session:
        for _ in session.measure(rig.plan(warmup_cap=0)):
            chunks += session.probe_chunks()
        chunks += session.probe_chunks()
        facts = session.facts()
    assert {chunk.probe for chunk in chunks} == {meter}
    stamps = np.concatenate([chunk.stamps_ns for chunk in chunks])
    assert (np.diff(stamps) > 0).all()
    for chunk in chunks:
        assert set(chunk.values) == {"package-0", "package-0/core"}
        # The counters of the made tree stand still.
        assert all((values == 0.0).all() for values in chunk.values.values())
    windows = facts.windows_ns
    idle, steady, idle_after = windows.idle, windows.steady, windows.idle_after
    assert min(idle[1] - idle[0], idle_after[1] - idle_after[0]) >= 300_000_000
    assert idle[1] <= steady[0] < steady[1] <= idle_after[0]
    assert stamps[0] < idle[1]
    assert stamps[-1] >= idle_after[1]
    [info] = facts.probes
    assert (info.kind, info.scope, info.is_meter) == ("rapl", "chip", True)
    assert f"{info.kind}:{info.address}" == meter
    assert facts.probe_reasons == {}


def test_the_pause_after_the_last_paced_pass_is_sampled_and_no_part_of_the_idle_window(rig, device, tmp_path):
    meter = f"rapl:{tree(tmp_path / 'powercap', {'intel-rapl:0': 1000})}"
    with device.session(rig.artifact(), rig.settings(meters=(meter,), idle_s=0.1)) as session:
        passes = list(session.measure(rig.plan(passes=2, period_s=0.4, warmup_cap=0)))
        stamps = np.concatenate([chunk.stamps_ns for chunk in session.probe_chunks()])
        facts = session.facts()
    assert stamps[-1] >= passes[-1].deadline_ns > passes[-1].end_ns
    assert facts.windows_ns.steady == (passes[-2].start_ns, passes[-1].end_ns)
    assert facts.windows_ns.idle_after[0] >= passes[-1].deadline_ns


def test_load_leaves_the_readings_of_a_boards_meter_before_it_idles(rig, device, tmp_path, monkeypatch):
    """It sees load bursts too, which tell how long that takes."""
    monkeypatch.setattr(host_lag, "UNKNOWN_REACH_S", 0.2)
    monkeypatch.setattr(load_bursts, "LEAST_BURST_S", 0.05)
    meter = f"ina3221:{jetson_board.write(tmp_path / 'sys', jetson_board.orin_nano())}"
    with device.session(rig.artifact(), rig.settings(meters=(meter,), idle_s=0.1)) as session:
        passes = list(session.measure(rig.plan(passes=2, warmup_cap=0)))
        facts = session.facts()
        chunks = list(session.probe_chunks())
    windows = facts.windows_ns
    assert windows.settling is not None and windows.idle is not None and windows.idle_after is not None
    least_ns = round(0.2e9 + 1e9 / facts.probes[0].rate_hz)
    assert windows.settling[1] == windows.idle[0] >= windows.settling[0] + least_ns
    assert windows.idle_after[0] >= passes[-1].end_ns + least_ns
    assert facts.load_bursts is not None and len(facts.load_bursts.bursts_ns) == 3
    response = host_lag.response_of(facts.probes[0], chunks, facts.load_bursts)
    assert response is not None and response.reach_ms is None
    assert response.reason  # the rails of the made tree stand still


def test_an_interrupt_ends_an_idle_window_at_once(rig, device, tmp_path):
    meter = f"rapl:{tree(tmp_path / 'powercap', {'intel-rapl:0': 1000})}"

    def report(stage, done, steps):
        heard.append((stage, steps))
        if stage == "idle window after":
            raise KeyboardInterrupt

    heard: list[tuple[str, int]] = []
    settings = dataclasses.replace(rig.settings(meters=(meter,), idle_s=0.1), report=report)
    with pytest.raises(KeyboardInterrupt), device.session(rig.artifact(), settings) as session:
        passes = session.measure(rig.plan(passes=1, warmup_cap=0))
        next(passes)
        # The window before was short; the one after the passes is a minute from here on.
        longer = dataclasses.replace(settings, idle_s=60.0)
        session._loop._settings = longer
        list(passes)
    assert heard[-1] == ("idle window after", 60)
    # What is left of the minute is nobody's: the worker has ended, and the next session begins.
    assert psutil.Process(device._connection._process.pid).children() == []
    assert session.facts().windows_ns.idle_after is None
    with device.session(rig.artifact(), rig.settings()) as session:
        assert session.golden().shape == (10, 5)


def test_a_meter_that_is_not_there_leaves_its_reason_and_the_session_goes_on(rig, device, tmp_path):
    meters = (f"rapl:{tmp_path / 'nothing'}", "rapl:no-such-domain")
    with device.session(rig.artifact(), rig.settings(meters=meters, idle_s=60.0)) as session:
        passes = list(session.measure(rig.plan(passes=1)))
        facts = session.facts()
        assert list(session.probe_chunks()) == []
    assert len(passes) >= 2
    assert facts.probes == ()
    assert set(facts.probe_reasons) == set(meters)
    assert "has no intel-rapl" in facts.probe_reasons[meters[0]]
    assert facts.windows_ns.idle is None


@pytest.mark.attack("a meter's counter vanishes during a session: the reason stays, the session goes on")
def test_a_counter_that_vanishes_leaves_its_reason(rig, device, tmp_path):
    folder = tree(tmp_path / "powercap", {"intel-rapl:0": 1000})
    meter = f"rapl:{folder}"
    with device.session(rig.artifact(), rig.settings(meters=(meter,), delay_us=50_000)) as session:
        (folder / "intel-rapl:0" / "energy_uj").unlink()
        list(session.measure(rig.plan(passes=1, warmup_cap=0)))
        reasons = session.facts().probe_reasons
    assert "FileNotFoundError" in reasons[meter]


def preferring(rig, *meters):
    return dataclasses.replace(rig.settings(idle_s=0.3, delay_us=5_000), preferred_meters=meters)


def test_of_the_preferred_meters_the_first_readable_one_is_taken(rig, device, tmp_path):
    files = jetson_board.write(tmp_path, jetson_board.orin_nano())
    meters = ("rapl:/nothing", f"ina3221:{files}", "tegrastats:/nothing")
    with device.session(rig.artifact(), preferring(rig, *meters)) as session:
        list(session.measure(rig.plan(passes=1, warmup_cap=0)))
        chunks = list(session.probe_chunks())
        facts = session.facts()
    assert {chunk.probe for chunk in chunks} == {meters[1]}
    assert facts.probe_reasons == {}
    assert facts.windows_ns.idle is not None
    [info] = facts.probes
    assert (info.kind, info.scope) == ("ina3221", "module")
    # Why the better one was not taken stands beside what the board lacks; the one after it was not tried.
    assert "intel-rapl" in info.absent[meters[0]]
    assert meters[2] not in info.absent


def test_where_none_of_the_preferred_meters_can_be_read_each_leaves_its_reason(rig, device):
    meters = ("ina3221:/nothing", "tegrastats:/nothing")
    with device.session(rig.artifact(), preferring(rig, *meters)) as session:
        list(session.measure(rig.plan(passes=1, warmup_cap=0)))
        facts = session.facts()
    assert facts.probes == ()
    assert set(facts.probe_reasons) == set(meters)
    assert facts.windows_ns.idle is None


def test_an_unknown_kind_of_meter_is_a_usage_error(rig, device):
    with pytest.raises(UsageError, match="'wattmeter'"):
        device.session(rig.artifact(), rig.settings(meters=("wattmeter:1",))).__enter__()
    with device.session(rig.artifact(), rig.settings()) as session:
        assert session.golden().shape == (10, 5)


# --- what is left of a session ---


class EndedAmidStart:
    """Connection and placer where the worker's end is heard while the second probe is started."""

    def __init__(self) -> None:
        self.operations: list[str] = []

    def place_code(self, path):
        return {"path": str(path), "sha256": "0" * 64}

    def request(self, message, timeout_s):
        self.operations.append(message["op"])
        if self.operations == ["probe_start"] * 2:
            raise WorkerEnded(Ended(signal="SIGKILL"))
        return Frame({"re": 1}, b"")


@pytest.mark.attack("a worker dies while the meters are started: those that run already are stopped")
def test_the_probes_of_a_start_that_was_cut_short_are_stopped():
    probes, board = SessionProbes(["rapl:a", "rapl:b"]), EndedAmidStart()
    connection: Any = board
    with pytest.raises(WorkerEnded):
        probes.start(connection, connection, 1.0)
    probes.stop(connection, 1.0)
    probes.stop(connection, 1.0)
    assert board.operations == ["probe_start", "probe_start", "probe_stop"]


@pytest.mark.attack("a session leaves its meter running: the agent ends it, the next session has the meter")
def test_a_meter_that_an_earlier_session_left_is_ended(rig, device, tmp_path, monkeypatch):
    meter = f"rapl:{tree(tmp_path / 'powercap', {'intel-rapl:0': 1000})}"
    settings = rig.settings(meters=(meter,))
    with monkeypatch.context() as patch, device.session(rig.artifact(), settings):
        patch.setattr(SessionProbes, "stop", lambda self, connection, timeout_s: None)
        [(_, orphan)] = _probes_of(device)
    with device.session(rig.artifact(), settings) as session:
        [(_, probe)] = _probes_of(device)
        facts = session.facts()
    assert probe != orphan
    assert (len(facts.probes), facts.probe_reasons) == (1, {})


def _probes_of(device):
    """Name and process of each probe that the agent runs."""
    children = psutil.Process(device._connection._process.pid).children()
    return [(child.name(), child.pid) for child in children if "probe" in child.cmdline()]


def arrive(device, message, payload=b""):
    """As if the agent had sent it just now."""
    device._connection._hear(b"".join(bytes(piece) for piece in encode(message, payload)))


@pytest.mark.attack("a frame of a session arrives after its end: the next session is unaffected")
def test_late_frames_of_a_session_go_to_nobody(rig, device):
    with device.session(rig.artifact(), rig.settings()) as session:
        pass
    arrive(device, {"event": "ended", "code": 1})
    assert device.describe()["python"]
    arrive(device, {"event": "probe", "probe": "rapl:", "kind": "nonsense"})
    assert list(session.probe_chunks()) == []
    with device.session(rig.artifact(), rig.settings()) as session:
        assert session.golden().shape == (10, 5)


@pytest.mark.attack("a probe sends nonsense between two requests: the session ends, protocol_error")
@pytest.mark.parametrize("ask", ["golden", "measure"])
def test_nonsense_of_a_probe_is_no_less_for_when_it_is_heard(rig, device, ask):
    with pytest.raises(SessionError) as caught, device.session(rig.artifact(), rig.settings()) as session:
        passes = session.measure(rig.plan(passes=1, warmup_cap=0))
        if ask == "measure":  # the last pass has come by then
            while next(passes).phase != "steady":
                pass
        arrive(device, {"event": "probe", "probe": "rapl:", "kind": "nonsense"})
        assert list(session.probe_chunks()) == []
        if ask == "measure":
            list(passes)
        else:
            session.golden()
    assert (caught.value.status, caught.value.stage) == ("protocol_error", ask)
