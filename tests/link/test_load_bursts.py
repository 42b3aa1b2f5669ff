"""Bursts of load in a session: of the first worker alone, ended by a limit or an interrupt."""

from dataclasses import replace

import psutil
import pytest

from edgebench.errors import SessionError
from edgebench.records.session import LoadBursts

SHORT = LoadBursts(0.02, (0.01, 0.03, 0.02))


def session_of(device, rig, workers=1, report=lambda *what: None, **chosen):
    settings = replace(
        rig.settings(**chosen), bursts=SHORT, others=(rig.artifact(),) * (workers - 1), report=report
    )
    return device.session(rig.artifact(), settings)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_worker_runs_them_when_all_are_warm(rig, device, workers):
    reports = []
    with session_of(device, rig, workers, lambda *what: reports.append(what)) as session:
        session.golden()
        passes = list(session.measure(rig.plan(passes=2)))
        facts = session.facts()
    times = facts.load_bursts
    assert times is not None and len(times.bursts_ns) == 3
    before = [run.end_ns for run in passes if run.phase in ("first", "warmup")]
    steady = [run.start_ns for run in passes if run.phase == "steady"]
    assert max(before) < times.from_ns
    assert times.bursts_ns[-1][1] < min(steady)
    stages = [stage for stage, *_ in reports]
    assert stages.index("warm-up") < stages.index("load bursts") < stages.index("passes")
    assert [what for what in reports if what[0] == "load bursts"] == [("load bursts", n, 3) for n in range(4)]


def test_the_cold_figures_and_the_warm_up_are_over_before_them(rig, device):
    with session_of(device, rig) as session:
        session.golden()
        measurements = session.measure(rig.plan(passes=1))
        for run in measurements:
            if run.phase != "steady":
                assert session.facts().load_bursts is None
        facts = session.facts()
    assert facts.load_bursts is not None
    assert facts.cold.first_pass_s and facts.warmup


@pytest.mark.attack("a board stops answering during its load bursts: ended at its limit, its passes are kept")
def test_a_worker_that_hangs_in_a_burst_is_ended(rig):
    device = rig.device(measure=2.0)
    passes = []
    try:
        with (
            pytest.raises(SessionError) as caught,
            session_of(device, rig, fault="hang", fault_stage="burst") as session,
        ):
            for run in session.measure(rig.plan(passes=1)):
                passes.append(run.phase)
        assert (caught.value.status, caught.value.stage) == ("timeout", "measure")
        assert passes[0] == "first" and "steady" not in passes
        assert session.facts().load_bursts is None
        assert psutil.Process(device._connection._process.pid).children(recursive=True) == []
    finally:
        device.close()


@pytest.mark.attack("a runtime crashes in a load burst: the session ends with its signal")
def test_a_crash_in_a_burst_ends_the_session(rig, device):
    with (
        pytest.raises(SessionError) as caught,
        session_of(device, rig, fault="abort", fault_stage="burst") as session,
    ):
        list(session.measure(rig.plan(passes=1)))
    assert (caught.value.status, caught.value.signal) == ("crash", "SIGABRT")


def test_an_interrupt_ends_them_at_once(rig, device):
    def interrupt(stage, done, steps):
        if (stage, done) == ("load bursts", 1):
            raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        session_of(device, rig, report=interrupt) as session,
    ):
        list(session.measure(rig.plan(passes=1)))
    assert psutil.Process(device._connection._process.pid).children() == []
    with session_of(device, rig) as session:
        assert len(session.golden())
