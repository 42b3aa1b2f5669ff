"""Warnings from made telemetry: each needs its steady window, and none comes from outside of it."""

import pandas as pd
import pytest

from edgebench.judge.cautions import Observed, observe
from edgebench.judge.power.rails import power_of_sessions
from edgebench.probes.jetson import ina3221, tegrastats
from edgebench.records.stored import PROBE_COLUMNS
from tests.judge.test_cautions import CALM, THREE
from tests.judge.trials import sentences
from tests.probes import jetson_board
from tests.sample_tables import rows_of_frame

SECOND = 1_000_000_000
WINDOW = (100 * SECOND, 120 * SECOND)
RECORDS = [record.model_copy(update={"windows_ns": {"idle": None, "steady": WINDOW}}) for record in THREE]


KINDS = {
    "cpu_clock_max": ("clock", "MHz"),
    "cpu_clock_min": ("clock", "MHz"),
    "throttle_flags": ("throttle", "bits"),
    "throttle_count": ("throttle", "events"),
    "cooling_state": ("throttle", "state"),
    "involuntary_switches": ("context_switches", "switches"),
}


def rows(channel, values, session=0, start_s=100, probe="telemetry:1"):
    quantity, unit = KINDS.get(channel, ("time", "ns"))
    samples = [
        (probe, channel, quantity, unit, (start_s + second) * SECOND, float(value))
        for second, value in enumerate(values)
    ]
    frame = pd.DataFrame(samples, columns=list(PROBE_COLUMNS)).assign(session=session)
    return frame.astype(dict.fromkeys(("probe", "channel", "quantity", "unit"), "str"))


def told(*frames, records=RECORDS):
    return sentences(records, CALM, observe(records, rows_of_frame(pd.concat(frames))))


FALLING = [1500.0] * 10 + [1200.0] * 11


def test_a_cool_board_has_no_warning():
    quiet = [rows("cpu_clock_max", [1500.0] * 20), rows("throttle_flags", [0x50000] * 20)]
    assert told(*quiet, rows("involuntary_switches", range(0, 100, 5)), rows("cooling_state", [0] * 20)) == ()


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (
            rows("throttle_flags", [0, 0x4, 0x40000]),
            "throttled: throttled, as the board reports, in 1 of 3",
        ),
        (rows("throttle_count", [3, 3, 9]), "throttled: throttle events counted, as the board reports"),
        (rows("cooling_state", [0, 1, 0]), "throttled: a cooling device slowed the processor"),
        (
            rows("cpu_clock_max", FALLING),
            "the processor's clock fell by up to 20% over the steady passes in 1",
        ),
        (
            rows("involuntary_switches", range(0, 3000, 150)),
            "interference: other work competed for the worker's cores in 1 of 3 sessions; "
            "the worker had up to 150 involuntary context switches a second",
        ),
    ],
)
def test_each_doubt_is_said_where_the_steady_window_shows_it(frame, expected):
    [sentence] = told(frame)
    assert expected in sentence
    assert told(frame.assign(t_ns=frame["t_ns"] - 50 * SECOND)) == ()
    assert told(frame.assign(probe="other:1")) == (sentence,)
    assert told(frame.assign(quantity="power", unit="W")) == ()
    assert told(frame.assign(session=7)) == ()


def test_of_two_sources_of_clocks_the_worse_is_told():
    steady, falling = rows("cpu_clock_max", [1500.0] * 21), rows("cpu_clock_max", FALLING, probe="other:1")
    slow = rows("cpu_clock_min", [1500.0] * 10 + [300.0] * 11)
    assert told(steady, slow) == ()  # the fastest clock of a probe decides
    [sentence] = told(steady, slow, falling)
    assert "the processor's clock fell by up to 20%" in sentence


def test_a_clock_that_its_probe_marks_decides_alone():
    marked = {"name": "cpu_clock_min", "quantity": "clock", "unit": "MHz", "total": True}
    probe = {"kind": "telemetry", "address": "1", "channels": [marked]}
    records = [record.model_copy(update={"probes": (probe,)}) for record in RECORDS]
    frames = [rows("cpu_clock_max", [1500.0] * 21), rows("cpu_clock_min", FALLING)]
    assert observe(records, rows_of_frame(pd.concat(frames)))[0].clock_drop == pytest.approx(0.2)


@pytest.fixture(params=["ina3221", "tegrastats"])
def jetson_meter(request, tmp_path, monkeypatch):
    """What each of a Jetson's meters says of itself, on a stand-in for its board."""
    if request.param == "ina3221":
        tree = jetson_board.write(tmp_path, jetson_board.orin_nano())
        return ina3221.open_probe(str(tree)).info
    monkeypatch.setattr(tegrastats, "FIRST_LINE_S", 60.0)
    probe = tegrastats.open_probe(jetson_board.tegrastats(tmp_path, jetson_board.AGX_ORIN))
    probe._process.close()
    return probe.info


def test_clock_and_temperature_of_a_jetsons_gpu_are_in_the_caution(jetson_meter):
    records = [record.model_copy(update={"probes": (jetson_meter,)}) for record in RECORDS]
    channels = {channel["name"]: channel for channel in jetson_meter["channels"]}
    [sensor] = [name for name in channels if name.startswith("temperature.") and "gpu" in name.lower()]
    # Not every sample has the clock, and the sensor of the PMIC shows its limit.
    series = {
        "gpu_clock": [nan for mhz in FALLING for nan in (mhz, float("nan"))],
        sensor: [81.0, *[float("nan")] * 41],
        "temperature.PMIC": [100.0] * 42,
    }
    probe = f"{jetson_meter['kind']}:{jetson_meter['address']}"
    frames = []
    for name, values in series.items():
        channel = channels.get(name, channels[sensor])
        samples = [
            (probe, name, channel["quantity"], channel["unit"], 100 * SECOND + at * SECOND // 4, value)
            for at, value in enumerate(values)
        ]
        frames.append(pd.DataFrame(samples, columns=list(PROBE_COLUMNS)).assign(session=0))
    observed = observe(records, rows_of_frame(pd.concat(frames)))
    assert observed[0].clock_drop == pytest.approx(0.2)
    [sentence] = sentences(records, CALM, observed)
    assert sentence.startswith("the GPU's clock fell by up to 20% ")
    assert sentence.endswith(" 1 of 3 sessions, at up to 81 °C")


def test_clocks_of_processor_and_gpu_are_each_called_what_they_are():
    gpu = rows("gpu_clock", FALLING, 2).assign(quantity="clock", unit="MHz")
    [sentence] = told(rows("cpu_clock_max", FALLING), gpu)
    assert sentence.startswith("the GPU's clock and the processor's clock fell by up to 20% ")
    [sentence] = told(rows("npu_mhz", FALLING).assign(quantity="clock", unit="MHz"))
    assert sentence.startswith("the clock npu_mhz fell by up to 20% ")


def test_sessions_are_counted_and_the_worst_is_told():
    first, second = rows("cpu_clock_max", FALLING), rows("cpu_clock_max", [1500.0] * 10 + [750.0] * 11, 2)
    [sentence] = told(first, second)
    assert "fell by up to 50% over the steady passes in 2 of 3 sessions" in sentence


def test_a_pool_that_yields_and_waits_for_nobody_is_not_interfered_with():
    switches = rows("involuntary_switches", range(0, 100_000, 5000))
    running = rows("worker_running", [n * 1e9 for n in range(20)])
    assert told(switches, running, rows("worker_waiting", [n * 1e7 for n in range(20)])) == ()
    [sentence] = told(switches, running, rows("worker_waiting", [n * 1e9 for n in range(20)]))
    assert sentence.endswith(
        "up to 5000 involuntary context switches a second, and waited for a core up to 50% of its time"
    )


SECONDS = [n * 1e9 for n in range(20)]


def test_a_process_that_takes_a_core_is_seen_where_switches_are_rare():
    running = rows("worker_running", [n / 2 for n in SECONDS])
    waiting = rows("worker_waiting", [n / 2 for n in SECONDS])
    switches = rows("involuntary_switches", range(0, 200, 10))  # long time slices
    assert told(running, waiting, switches) == ()
    [sentence] = told(running, waiting, switches, rows("cores_busy", [1.1 * n for n in SECONDS]))
    assert sentence.startswith("interference: other work competed for the worker's cores in 1 of 3 ")
    assert "up to 10 involuntary context switches a second" in sentence
    assert "and waited for a core up to 50% of its time" in sentence
    # Other work on cores that the worker does not need makes nobody wait.
    busy = rows("cores_busy", [2 * n for n in SECONDS])
    assert told(rows("worker_running", SECONDS), rows("worker_waiting", [0.0] * 20), busy) == ()


def test_other_processes_are_told_by_their_cores():
    running, waiting = rows("worker_running", SECONDS), rows("worker_waiting", [n / 4 for n in SECONDS])
    [sentence] = told(running, waiting, rows("cores_busy", [2.5 * n for n in SECONDS]))
    assert "other processes kept up to 1.5 of them busy" in sentence


def test_workers_of_one_device_are_not_blamed_for_each_other():
    shared = [record.model_copy(update={"workers": ({"worker": 0}, {"worker": 1})}) for record in RECORDS]
    running, waiting = rows("worker_running", SECONDS), rows("worker_waiting", [2 * n for n in SECONDS])
    switches = rows("involuntary_switches", range(0, 100_000, 5000))
    assert told(running, waiting, switches, records=shared) == ()
    busy = rows("cores_busy", [2.5 * n for n in SECONDS])
    [sentence] = told(running, waiting, switches, busy, records=shared)
    assert sentence.endswith("other processes kept up to 1.5 of them busy")


def test_time_stolen_by_a_hypervisor_is_interference_by_itself():
    busy = rows("cores_busy", [0.9 * n for n in SECONDS])
    [sentence] = told(busy, rows("cores_stolen", [0.1 * n for n in SECONDS]))
    assert sentence.endswith("; the hypervisor gave up to 10% of their time to others")
    assert told(busy, rows("cores_stolen", [0.01 * n for n in SECONDS])) == ()
    assert told(rows("cores_stolen", [0.1 * n for n in SECONDS])) == ()


def test_a_session_without_a_steady_window_says_nothing():
    assert observe(THREE, rows_of_frame(rows("cpu_clock_max", FALLING))) == (Observed(),) * 3
    assert observe([], rows_of_frame(rows("cpu_clock_max", []))) == ()


def test_telemetry_is_no_power():
    channels = [{"name": "cpu_clock_max", "quantity": "clock", "unit": "MHz"}]
    info = {"kind": "telemetry", "address": "1", "rate_hz": 1.0, "scope": "", "channels": channels}
    records = [record.model_copy(update={"probes": (info,)}) for record in RECORDS]
    samples = rows_of_frame(rows("cpu_clock_max", FALLING))
    assert power_of_sessions(records, lambda: samples, {}) == ()
