"""A meter on the host next to a device, here and over SSH: its samples are brought to the device's clock."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import psutil
import pytest

from edgebench import registry
from edgebench.agent import clock
from edgebench.link.host_probes import HostProbes, SampleSpool, _within
from edgebench.link.inspection import check_target
from edgebench.link.local import LocalLink
from edgebench.link.session_loop import Timeouts
from edgebench.records import session as load_bursts
from edgebench.records.session import ProbeChunk
from edgebench.records.target import Target
from edgebench.results.meters import recorded_name
from edgebench.run.measuring.session import LocalDevice
from edgebench.run.measuring.session_record import Job
from edgebench.stats.clock import ClockFit
from tests.link import host_meter, sshd
from tests.probes import jetson_board
from tests.probes.csv_recorder import Recorder, five_watts
from tests.probes.um25c_meter import StandIn
from tests.sample_tables import samples_of

LEAVES_ITS_REASON = "its reason is kept, and the session is measured"
OFFSET_NS, DRIFT_PPM = 3_600_000_000_000, 400.0
MOVED = f"{OFFSET_NS},{DRIFT_PPM}"


@pytest.fixture
def meter(tmp_path, monkeypatch):
    yield host_meter.install(tmp_path / "installed", monkeypatch)
    host_meter.uninstall()


@pytest.fixture(autouse=True)
def short_bursts(monkeypatch):
    monkeypatch.setattr(load_bursts, "LEAST_BURST_S", 0.01)


@pytest.fixture
def host_probes():
    probes = HostProbes()
    yield probes
    probes.close()


@pytest.fixture
def spool(tmp_path):
    samples = SampleSpool(tmp_path / "spool")
    yield samples
    samples.close()


@pytest.fixture(params=["this machine", "ssh"])
def far_device(request, rig, tmp_path, monkeypatch):
    """A device whose clock is an hour ahead and runs away, on this machine or behind an sshd."""
    if request.param == "ssh":
        if why := sshd.missing():
            pytest.skip(why)
        board = sshd.make_board(tmp_path, environment={clock.ENVIRONMENT: MOVED})
        board.start()
        device = rig.far(board)
    else:
        board = None
        monkeypatch.setenv(clock.ENVIRONMENT, MOVED)
        device = rig.device()
    yield device
    device.close()
    if board is not None:
        board.power_off()


def job(rig, *meters, n=0):
    settings = rig.settings(idle_s=0.3, delay_us=5_000)
    return Job("k" * 16, n, n, rig.artifact(), settings, rig.plan(passes=3, warmup_cap=0), host_meters=meters)


def test_its_samples_are_on_the_devices_clock_in_every_session(far_device, rig, meter, host_probes):
    for n in range(2):
        measured = LocalDevice(far_device, host_probes=host_probes).measure(job(rig, meter, n=n))
        record, rows = measured.record, samples_of(measured)
        assert (record.status, record.probe_reasons) == ("ok", {})
        [info] = record.probes
        known: dict[str, Any] = record.clock["fit"]
        bound_ns = known["bound_ns"]
        assert (info["kind"], info["place"], info["clock_bound_ns"]) == (meter, "host", bound_ns)
        # A sample's watts are the host's seconds at which it was taken.
        host_ns = rows["value"].to_numpy() * 1e9
        due_ns = host_ns + OFFSET_NS + host_ns * DRIFT_PPM * 1e-6
        assert np.abs(rows["t_ns"].to_numpy() - due_ns).max() <= bound_ns + 1000
        times = record.load_bursts
        assert times is not None and record.windows_ns["steady"] is not None
        assert 0.3 < times.total_s < 5 and times.bursts_ns[-1][1] < record.windows_ns["steady"][0]
        for window in ("idle", "steady", "idle_after"):
            start, end = record.windows_ns[window] or (0, 0)
            assert rows["t_ns"].between(start, end).sum() >= 5, window
        fit = ClockFit(**known)
        edges_ns = fit.stamps_to_device(np.array([fit.from_ns, fit.to_ns]))
        assert rows["t_ns"].between(*edges_ns).sum() >= len(rows) - 1


def test_a_board_meter_and_a_host_meter_stand_side_by_side(device, rig, meter, host_probes, tmp_path):
    files = jetson_board.write(tmp_path / "sys", jetson_board.orin_nano())
    on_board = f"ina3221:{files}"
    both = job(rig, meter)
    both = replace(both, settings=replace(both.settings, meters=(on_board,)))
    measured = LocalDevice(device, host_probes=host_probes).measure(both)
    record, rows = measured.record, samples_of(measured)
    assert (record.status, record.probe_reasons) == ("ok", {})
    seen = {recorded_name(info): (info["place"], info["scope"]) for info in record.probes}
    assert seen == {on_board: ("board", "module"), f"{meter}:": ("host", "board")}
    start_ns, end_ns = record.windows_ns["steady"] or (0, 0)
    steady = rows[rows["t_ns"].between(start_ns, end_ns)]
    assert set(steady["probe"]) == set(seen)
    # The lag of the host's meter is told by the bursts; the board's has the clock of the passes.
    lags = {recorded_name(info): info["lag"] for info in record.probes}
    assert lags[on_board] is None and lags[f"{meter}:"] is not None


def agent_of(probes):
    return psutil.Process(probes._connection._process.pid)


def test_one_agent_samples_for_all_sessions_and_ends_with_the_last(device, rig, meter, host_probes):
    LocalDevice(device, host_probes=host_probes).measure(job(rig, meter))
    agent = agent_of(host_probes)
    sampling = [child.pid for child in agent.children()]
    LocalDevice(device, host_probes=host_probes).measure(job(rig, meter, n=1))
    assert agent_of(host_probes) == agent
    assert [child.pid for child in agent.children()] == sampling
    assert len(sampling) == 1
    host_probes.close()
    assert not agent.is_running()
    assert not psutil.pid_exists(sampling[0])


@pytest.mark.attack("a meter on the host cannot be opened: the session is measured, the reason is kept")
def test_one_that_cannot_be_opened_leaves_its_reason(device, rig, meter, host_probes):
    record = LocalDevice(device, host_probes=host_probes).measure(job(rig, f"{meter}:none")).record
    assert (record.status, record.probes) == ("ok", ())
    assert record.probe_reasons == {f"{meter}:none": f"{meter}: no meter is plugged in (plug it in)"}
    assert record.windows_ns["idle"] is None and record.windows_ns["idle_after"] is None
    assert record.load_bursts is None


@pytest.mark.attack(
    "a meter on the host dies during the session: it goes on, and the next session tries again"
)
def test_one_that_dies_leaves_its_reason_and_is_tried_again(device, rig, meter, host_probes):
    for n in range(2):
        measured = LocalDevice(device, host_probes=host_probes).measure(job(rig, f"{meter}:dies", n=n))
        record = measured.record
        assert (record.status, len(record.probes)) == ("ok", 1)
        assert record.probe_reasons == {
            f"{meter}:dies": f"{meter}:dies: its process ended during the session: SIGABRT"
        }


@pytest.mark.attack("a meter on the host opens too late: its reason is kept, and later sessions have it")
def test_one_that_opens_late_samples_for_later_sessions(meter, tmp_path):
    plugged_in = tmp_path / "plugged in"
    name = f"{meter}:after:{plugged_in}"
    probes = HostProbes(Timeouts(probe=3.0))
    try:
        assert not probes.begin_session([name])
        assert "it sent nothing within" in probes.state().reasons[name]
        [opening] = agent_of(probes).children()
        probes.begin_session([name])  # it is not begun anew, and not waited for again
        assert [child.pid for child in agent_of(probes).children()] == [opening.pid]
        plugged_in.touch()
        latest_s = time.monotonic() + 20
        while not probes.state().probes:
            assert time.monotonic() < latest_s
            time.sleep(0.05)
        assert probes.begin_session([name])
        assert probes.state().reasons == {}
    finally:
        probes.close()


@pytest.mark.attack("a meter on the host sends what is no report: its reason is kept, and it is tried again")
def test_one_that_cannot_be_understood_is_begun_anew(meter):
    name = f"{meter}:garbled"
    probes = HostProbes(Timeouts(probe=2.0))
    try:
        pids = []
        for _ in range(2):
            assert not probes.begin_session([name])
            assert "what it sends cannot be understood" in probes.state().reasons[name]
            [child] = agent_of(probes).children()
            pids.append(child.pid)
        assert pids[0] != pids[1]
    finally:
        probes.close()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        pytest.param(
            address, why, marks=pytest.mark.attack(f"a meter on the host {what}: {LEAVES_ITS_REASON}")
        )
        for address, why, what in (
            ("unannounced", "has not announced", "a meter on the host samples what it has not announced"),
            ("without a channel", "has not announced", "a meter on the host samples nothing"),
            ("out of range", "a time to come", "a meter on the host stamps beyond 62 bits"),
            ("of another clock", "a time to come", "a meter on the host stamps with the wall clock"),
        )
    ],
)
def test_one_whose_samples_cannot_be_ends_no_session(device, rig, meter, host_probes, address, why):
    name = f"{meter}:{address}"
    record = LocalDevice(device, host_probes=host_probes).measure(job(rig, name)).record
    assert (record.status, record.failure) == ("ok", None)
    assert why in record.probe_reasons[name]


def test_an_interrupt_while_the_last_samples_are_waited_for_loses_nothing(
    device, rig, meter, host_probes, monkeypatch
):
    def interrupted(self, fit, bursts):
        raise KeyboardInterrupt

    monkeypatch.setattr(HostProbes, "end_session", interrupted)
    measured = LocalDevice(device, host_probes=host_probes).measure(job(rig, meter))
    assert (measured.record.status, measured.interrupted) == ("interrupted", True)
    assert measured.tables.passes is not None
    assert (measured.tables.passes["phase"] == "steady").sum() == 3


def test_what_probes_send_is_on_disk_while_a_pass_goes_on(meter, host_probes, spool):
    assert host_probes.begin_session([meter], spool)
    latest_s = time.monotonic() + 20
    while not spool.probes:  # nobody asks for it
        assert time.monotonic() < latest_s
        time.sleep(0.05)


@pytest.mark.attack(
    "the agent on the host is killed: the session goes on, and the next one has another agent"
)
def test_an_agent_that_is_killed_leaves_its_reason(device, rig, meter, host_probes):
    assert host_probes.begin_session([meter])
    agent_of(host_probes).kill()
    agent_of(host_probes).wait(20)
    lost = host_probes.end_session(ClockFit(0, 0, None, None, 1, 0, 1, 0, 1))
    assert list(lost.reasons) == [meter]
    assert "the agent on this machine ended" in lost.reasons[meter]
    record = LocalDevice(device, host_probes=host_probes).measure(job(rig, meter, n=1)).record
    assert (record.probe_reasons, len(record.probes)) == ({}, 1)


@pytest.mark.attack("the disk that an agent on the host starts from is full: its meters' reason is kept")
def test_an_agent_that_cannot_be_started_leaves_its_reason(meter, host_probes, monkeypatch):
    def full(self):
        raise OSError("No space left on device")

    monkeypatch.setattr(LocalLink, "start", full)
    assert not host_probes.begin_session([meter])
    assert "No space left on device" in host_probes.state().reasons[meter]


def test_without_a_match_of_the_clocks_no_sample_has_a_place(meter, host_probes):
    assert host_probes.begin_session([meter])
    samples = host_probes.end_session(None)
    assert samples.chunks == {}
    assert "was not matched" in samples.reasons[meter]


@pytest.mark.attack("a meter sends no reading, or an impossible one: counted, the first kept, no figure")
def test_rejected_readings_are_counted_and_the_first_are_kept(meter, host_probes, spool):
    name = f"{meter}:noisy"
    began_ns = time.monotonic_ns()
    assert host_probes.begin_session([name], spool)
    until_ns = time.monotonic_ns() + 250_000_000
    fit = ClockFit((began_ns + until_ns) // 2, 0, None, None, 1, began_ns, until_ns, 0, 2)
    samples = host_probes.end_session(fit)
    [info] = samples.probes
    assert info.rejected >= 4
    assert info.rejected_first[:2] == ("in=-1.0", "watts: \ufffd[1m?")
    assert len(info.rejected_first) <= 5
    assert info.channels[0].total
    values = np.concatenate([chunk.values["in"] for chunk in samples.chunks[name]])
    assert np.isnan(values).any()
    assert not (values < 0).any()
    assert host_probes.begin_session([name])
    assert host_probes.state().probes[0].rejected < info.rejected  # the next session's own


def test_two_meters_of_the_host_stand_side_by_side(host_probes, spool, tmp_path):
    pytest.importorskip("serial", reason="pyserial is not installed: pip install 'edgebench[meters]'")
    usb, rows = StandIn(tmp_path / "port"), Recorder(tmp_path / "power.csv", five_watts)
    names = [f"um25c:{usb.path}", f"csv:{rows.path}?time=t_s&power=p_mw&scope=usb"]
    try:
        began_ns = time.monotonic_ns()
        assert host_probes.begin_session(names, spool)
        until_ns = time.monotonic_ns() + 300_000_000
        fit = ClockFit((began_ns + until_ns) // 2, 0, None, None, 1, began_ns, until_ns, 0, 2)
        samples = host_probes.end_session(fit)
    finally:
        host_probes.close()
        usb.unplug()
        rows.close()
    assert samples.reasons == {}
    assert [(info.kind, info.place, info.scope) for info in samples.probes] == [
        ("um25c", "host", "usb"),
        ("csv", "host", "usb"),
    ]
    for name, channel in zip(names, ("usb", "power"), strict=True):
        watts = [chunk.values[channel] for chunk in samples.chunks[name]]
        assert set(np.concatenate(watts)) == {5.0}


def test_doctor_says_of_a_meter_on_the_host_whether_it_answers(meter):
    target = Target(name="toy", device="toy", meters=(meter, f"{meter}:none", "rapl"))
    findings = check_target(target, registry.backend("toy"))
    answers, missing = [finding for finding in findings if finding.subject == "meter"]
    assert (answers.level, answers.subject) == ("ok", "meter")
    assert meter in answers.message
    assert (missing.level, missing.subject) == ("warning", "meter")
    assert "no meter is plugged in" in missing.message
    assert missing.fix


def test_the_session_and_the_sample_after_it_are_kept():
    fit = ClockFit(
        reference_ns=150, offset_ns=1000, drift_ppm=0.0, drift_bound_ppm=0.0, bound_ns=3, from_ns=100,
        to_ns=200, misfit_ns=0, n=2,
    )  # fmt: skip
    stamps = np.array([90, 100, 200, 210, 220])
    chunk = _within(ProbeChunk("m:", stamps, {"in": np.arange(5.0)}), fit)
    assert chunk is not None
    assert chunk.stamps_ns.tolist() == [1100, 1200, 1210]
    assert chunk.values["in"].tolist() == [1.0, 2.0, 3.0]
    assert _within(ProbeChunk("m:", stamps + 1000, {"in": np.arange(5.0)}), fit) is None
