"""The table of telemetry: ranges over sessions, the worst of the steady passes, signs for what is absent."""

from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest

from edgebench.records.stored import PROBE_COLUMNS
from edgebench.report.environment import telemetry
from tests.judge.test_telemetry import RECORDS, SECOND, rows
from tests.sample_tables import rows_of_frame

KEY = "0" * 16


def results(samples: dict[str, tuple[str, list[float]]]) -> Any:
    rows = [
        (
            "telemetry:1",
            name,
            quantity,
            "bits" if quantity == "throttle" else "",
            (100 + second) * SECOND,
            value,
        )
        for name, (quantity, values) in samples.items()
        for second, value in enumerate(values)
    ]
    probes = pd.DataFrame(rows, columns=list(PROBE_COLUMNS)).assign(session=0, trial=KEY)
    trials = (SimpleNamespace(key=KEY), SimpleNamespace(key="1" * 16))
    return cast(
        Any,
        SimpleNamespace(
            rows_of_trials=lambda name: lambda key: rows_of_frame(probes[probes["trial"] == key]),
            experiment=SimpleNamespace(trials=trials),
            session_records=lambda key: RECORDS if key == KEY else (),
        ),
    )


def test_a_board_that_tells_everything():
    sampled = results(
        {
            "cpu_clock_max": ("clock", [1500.0, 1400.4, 1500.0]),
            "temperature.0-cpu": ("temperature", [50.0, 61.5, float("nan")]),
            "temperature.1-gpu": ("temperature", [52.0, 55.0, 54.0]),
            "temperature.2-PMIC-Die": ("temperature", [100.0, 100.0, 100.0]),
            "load_1min": ("load", [0.5, 1.25, 1.0]),
            "memory_available": ("memory", [2e9, 1.5e9, 1.6e9]),
            "involuntary_switches": ("context_switches", [0.0, 10.0, 30.0]),
            "worker_running": ("time", [0.0, 9e8, 1.8e9]),
            "worker_waiting": ("time", [0.0, 1e8, 2e8]),
            "cores_busy": ("time", [0.0, 9e8, 1.8e9]),
            "cores_stolen": ("time", [0.0, 0.0, 2e8]),
            "throttle_flags": ("throttle", [0.0, 5.0, 5.0]),
        }
    )
    [row] = telemetry(sampled, {KEY: "0.25 int8"}).rows
    assert row == (
        "0.25 int8",
        "1400 to 1500",
        "52.0 to 61.5",
        "0.50 to 1.25",
        "1.50 GB",
        "15",
        "10.0 %",
        "10.0 %",
        "under-voltage, throttled",
    )


def test_a_board_that_tells_little():
    [row] = telemetry(results({"load_1min": ("load", [0.5])}), {}).rows
    assert row == (KEY, "-", "-", "0.50", "-", "-", "-", "-", "-")


@pytest.mark.attack("telemetry that dies before the steady passes: no claim that there was no throttling")
@pytest.mark.parametrize("channel", ["throttle_flags", "throttle_count", "cooling_state"])
@pytest.mark.parametrize(
    ("starts_s", "throttling"),
    [((90, 90, 90), "-"), ((110, 90, 110), "no, as far as 2 of 3 sessions tell"), ((110, 110, 110), "no")],
)
def test_no_throttling_is_said_of_windows_with_samples_alone(channel, starts_s, throttling):
    sampled = results({})
    probes = pd.concat(
        [rows(channel, [0.0] * 9, session, start_s) for session, start_s in enumerate(starts_s)]
    ).assign(trial=KEY)
    sampled.rows_of_trials = lambda name: lambda key: rows_of_frame(probes[probes["trial"] == key])
    [row] = telemetry(sampled, {}).rows
    assert row[-1] == throttling


def test_without_telemetry_there_is_no_row(whole):
    assert telemetry(whole.results, {}).rows == ()
