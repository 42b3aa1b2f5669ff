"""Meters and monitors that die, before the window that they were to see or during it."""

import dataclasses
import io
import json

import numpy as np
import pandas as pd
import psutil
import pytest

from edgebench.agent.frames import Frame
from edgebench.judge.cautions import cautions
from edgebench.judge.judged import judge_folder
from edgebench.judge.latency import SteadyPasses
from edgebench.judge.power.rails import power_of_sessions
from edgebench.judge.requirements.profile import Profile
from edgebench.link.session_probes import SessionProbes
from edgebench.report.renderers.forms import export
from edgebench.report.renderers.terminal import make_console
from edgebench.stats.warnings import Flag
from tests.judge.test_power_rails import S, _probe, _rails, _record, _samples, _steps, _times
from tests.judge.trials import judge, metered
from tests.link.rig import make_rig
from tests.report.samples import print_result
from tests.sample_tables import rows_of_frame
from tests.synthetic_results import METER, made_experiment, write_record

NO_PASSES = SteadyPasses((), (), (), {}, {}, 0)
NEVER_PASSES = "it can fail a power limit and pass none"
DIED = "ina: OSError: the bus is gone"
WATTS = {"statistic": "max", "unit": "W"}
LIMITS = (
    {"quantity": "power_peak_w", "limit": 5.0, **WATTS},
    {"quantity": "power_peak_w", "limit": 5.0, "averaging_s": 1.0, **WATTS},
    {"quantity": "power_mean_w", "limit": 5.0, "unit": "W"},
    {"quantity": "energy_j", "limit": 50.0, "unit": "J"},
)


def rails(lasts_s, watts=_steps):
    """Rails of a meter of 1 kHz whose samples end that late in each session; windows end after 12 s."""
    sessions = [_samples(watts, n=n, rate_hz=1000.0) for n in range(len(lasts_s))]
    kept = [rows[rows["t_ns"] < last_s * S] for rows, last_s in zip(sessions, lasts_s, strict=True)]
    records = [
        _record(n, [_probe(rate_hz=1000.0)], probe_reasons={} if last_s >= 12 else {"ina:0": DIED})
        for n, last_s in enumerate(lasts_s)
    ]
    images = dict.fromkeys(range(len(lasts_s)), 5.0)
    samples = rows_of_frame(pd.concat(kept))
    return power_of_sessions(records, lambda: samples, _times(records, images))


def verdicts(power, limits=LIMITS):
    trial = metered(power)
    made = [{"name": "made", "requirements": [{"name": "power", **limit}]} for limit in limits]
    return [verdict for one in made for verdict in judge(trial, Profile.from_record(one))]


def test_a_meter_that_lasts_passes():
    assert [one.word for one in verdicts(rails([13, 13, 13]))] == ["pass"] * 4


@pytest.mark.parametrize(
    ("lasts_s", "seen"),
    [
        pytest.param(
            [1.5, 1.5, 1.5],
            "0 samples are in the window",
            marks=pytest.mark.attack(
                "a meter that dies before every window: no verdict on power, with the meter's last words"
            ),
        ),
    ],
)
def test_without_a_sample_in_a_window_nothing_is_known(lasts_s, seen):
    for verdict in verdicts(rails(lasts_s)):
        assert (verdict.word, verdict.estimate.value) == ("unknown", None)
        assert seen in verdict.reason and DIED in verdict.reason


@pytest.mark.parametrize(
    ("lasts_s", "seen"),
    [
        pytest.param(
            [13, 1.5, 13, 13],
            "1 of 4 sessions: 0 samples are in the window",
            marks=pytest.mark.attack(
                "a meter that dies before one session's window: no power limit is passed"
            ),
        ),
        pytest.param(
            [13, 6, 13, 13],
            "1 of 4 sessions: the samples stop 6 s short of the window's edge",
            marks=pytest.mark.attack(
                "a meter that dies during one session's window: no power limit is passed"
            ),
        ),
    ],
)
def test_a_meter_that_missed_a_part_passes_nothing_and_still_fails(lasts_s, seen):
    power = rails(lasts_s)
    for verdict in verdicts(power):
        assert verdict.word == "inconclusive"
        assert seen in verdict.reason and DIED in verdict.reason
    low = [{**limit, "limit": 2.0} for limit in LIMITS]
    assert {one.word for one in verdicts(power, low)} == {"fail"}


def _out_of_range_at_times(value):
    """The same board with one reading in twenty that the meter cannot express."""
    return lambda at_s: np.where(np.arange(at_s.size) % 20 == 0, value, _steps(at_s))


@pytest.mark.parametrize(
    "reading",
    [
        pytest.param(
            value, marks=pytest.mark.attack(f"a meter reads {what} during its window: {NEVER_PASSES}")
        )
        for value, what in (
            (np.nan, "no number, or more than its range,"),
            (1e300, "1e300 W"),
            (np.inf, "infinite power"),
        )
    ],
)
def test_what_a_meter_could_not_read_may_have_been_above_the_limit(reading):
    power = rails([13, 13, 13], _out_of_range_at_times(reading))
    for verdict in verdicts(power):
        assert verdict.word == "inconclusive"
        assert "readings there are no number or out of range" in verdict.reason
    low = [{**limit, "limit": 2.0} for limit in LIMITS]
    assert {verdict.word for verdict in verdicts(power, low)} == {"fail"}


@pytest.mark.attack("a meter that was asked for without its colon dies: the figure has its last words")
@pytest.mark.parametrize("asked", ["rapl", "rapl:"])
def test_a_meter_without_an_address_is_known_with_and_without_its_colon(asked):
    record = _record(0, [_probe("rapl", "chip") | {"address": ""}], probe_reasons={asked: DIED})
    [power] = _rails([record], _samples(_steps, probe="rapl:").iloc[:10], {0: 5.0})
    assert DIED in power.rail.reason
    assert [one.what for one in cautions([record], NO_PASSES) if one.flag is Flag.PROBE_LOST] == [DIED]


@pytest.fixture(scope="module")
def dying(tmp_path_factory):
    """A result of which one session's meter and another's telemetry died, as their records say."""
    folder = made_experiment(tmp_path_factory.mktemp("made"), power=True, variants=["mobilenet_v1-0.25-int8"])
    reasons = {0: ("probe_reasons", METER), 1: ("monitor_reasons", "telemetry:1")}
    for n, (where, probe) in reasons.items():
        [path] = folder.glob(f"trials/*/sessions/{n:03}/session.json")
        record = json.loads(path.read_text())
        record[where] = {probe: f"{probe}: its process ended during the session: SIGKILL"}
        record["probes"] += [record["probes"][0] | {"kind": "telemetry", "address": "1", "channels": []}]
        write_record(path, record)
    return judge_folder(folder)


@pytest.mark.attack("a meter or telemetry that dies during a session: terminal and report say so")
@pytest.mark.parametrize("probe", [METER, "telemetry:1"])
def test_its_end_stands_in_terminal_and_report(dying, tmp_path, probe, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    words = f"{probe}: its process ended during the session: SIGKILL (in 1 of 3 sessions)"
    assert any(words in warning for warning in dying.trials[0].warnings)
    assert words in export(dying, tmp_path / "report.html").read_text()
    assert "during the session: SIGKILL" in export(dying, tmp_path / "report.md").read_text()
    printed = io.StringIO()
    print_result(make_console(printed), dying.trials, [])
    assert words in " ".join(printed.getvalue().split())


@pytest.mark.attack("a probe that is killed during a session: its reason is kept, and the session goes on")
def test_a_probe_that_is_killed_leaves_its_reason(tmp_path):
    rig = make_rig(tmp_path)
    device = rig.device()
    try:
        settings = dataclasses.replace(rig.settings(delay_us=5_000), monitors=("telemetry:10",))
        with device.session(rig.artifact(), settings) as session:
            passes = session.measure(rig.plan(passes=2, warmup_cap=0))
            next(passes)
            agent = psutil.Process(device._connection._process.pid)
            [probe] = [one for one in agent.children() if "probe" in one.cmdline()]
            probe.kill()
            psutil.wait_procs([probe], timeout=20)
            assert len(list(passes)) == 2
            facts = session.facts()
    finally:
        device.close()
    reason = "telemetry:10: its process ended during the session: SIGKILL"
    assert facts.monitor_reasons == {"telemetry:10": reason}


IN = {"name": "in", "quantity": "power", "unit": "W"}
INFO = {"rate_hz": 1.0, "resolution": "", "scope": "board", "channels": [IN]}
AMID = "ina:0: its process ended during the session"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"asked": True, "code": 0}, None),
        ({"code": 0}, f"{AMID}: exit code 0"),
        ({"signal": "SIGSEGV"}, f"{AMID}: SIGSEGV"),
        ({"code": 1, "stderr_tail": "Traceback\nOSError: gone\n"}, f"{AMID}: OSError: gone"),
    ],
)
def test_the_words_of_each_end(fields, reason):
    probes = SessionProbes(("ina:0",))
    for message in ({"kind": "info", "info": INFO}, {"kind": "ended", **fields}):
        probes.hear(Frame({"event": "probe", "probe": "ina:0", **message}, b""))
    assert probes.facts()[1] == ({} if reason is None else {"ina:0": reason})
