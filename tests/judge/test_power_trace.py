from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edgebench.judge.metrics import METRICS
from edgebench.judge.power.trace import power_traces
from edgebench.judge.trial import Trial
from edgebench.judge.trials import trials_of
from edgebench.records.session import Channel, ProbeInfo
from edgebench.records.stored import SessionRecord
from edgebench.results import layout
from edgebench.results.load import StoredResults, load
from edgebench.results.rows import Rows
from tests import synthetic_results
from tests.sample_tables import rows_of_frame

FAST = {"mobilenet_v1-0.25-int8": 0.2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("traced")
    return synthetic_results.made_experiment(parent, variants=tuple(FAST), images=0, power=True, rate_hz=200)


@pytest.fixture(scope="module")
def trial(folder: Path) -> Trial:
    return trials_of(load(folder))[0]


def test_a_trace_is_that_of_the_session_in_the_middle(folder: Path, trial: Trial) -> None:
    means_w = trial.estimate("power_mean_w").sessions
    [trace] = power_traces(load(folder), trial)
    [drawn] = trace.rails
    assert drawn.mean_w == sorted(means_w)[1]
    assert means_w[trace.session] == drawn.mean_w
    assert (trace.scope, (drawn.rail,)) == ("chip", trial.rails)
    assert len(trace.steady_s) == 3
    assert trace.idle_s[0, 1] - trace.idle_s[0, 0] == pytest.approx(3.0)
    within = (drawn.t_s >= trace.steady_s[0, 0]) & (drawn.t_s <= trace.steady_s[-1, 1])
    assert drawn.watts[within].mean() == pytest.approx(drawn.mean_w, rel=0.01)
    idle = (drawn.t_s >= trace.idle_s[0, 0]) & (drawn.t_s < trace.idle_s[0, 1])
    assert drawn.watts[idle].mean() == pytest.approx(1.5, rel=0.01)
    assert drawn.t_s[0] == 0.0


def test_no_other_sessions_samples_are_read(folder: Path, trial: Trial) -> None:
    results = load(folder)
    [trace] = power_traces(results, trial)
    hidden = [
        path
        for record in results.session_records(trial.key)
        for path in layout.session_folder(folder, trial.key, record.n).glob("probes.parquet")
        if record.n != trace.session
    ]
    for path in hidden:
        path.rename(path.with_suffix(".away"))
    try:
        [again] = power_traces(load(folder), trial)
    finally:
        for path in hidden:
            path.with_suffix(".away").rename(path)
    assert len(hidden) == 2 and again.session == trace.session


def test_where_the_session_in_the_middle_has_no_samples_the_next_one_has(
    folder: Path, trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    [trace] = power_traces(load(folder), trial)
    read = StoredResults.session_rows

    def without_that_session(results: StoredResults, name: str, session: SessionRecord) -> Rows:
        table = read(results, name, session)
        return table.take(slice(0)) if (name, session.n) == ("probes", trace.session) else table

    monkeypatch.setattr(StoredResults, "session_rows", without_that_session)
    [other] = power_traces(load(folder), trial)
    assert other.session != trace.session
    assert other.rails[0].mean_w == trial.estimate("power_mean_w").sessions[other.session]


class FewSamples(StoredResults):
    """The results of a folder, with other samples and another record than its sessions have."""

    samples: Rows
    changes: dict[str, object]

    def session_records(self, key: str) -> list[SessionRecord]:
        return [record.model_copy(update=self.changes) for record in super().session_records(key)]

    def session_rows(self, name: str, session: SessionRecord) -> Rows:
        return self.samples if name == "probes" else super().session_rows(name, session)


def rows(probe: str, channel: str, t_ns: np.ndarray, values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"probe": probe, "channel": channel, "t_ns": t_ns, "value": values})


def test_scopes_have_traces_of_their_own_and_failed_readings_and_both_idle_windows_stay(
    folder: Path, trial: Trial
) -> None:
    steady = load(folder).session_records(trial.key)[0].windows_ns["steady"]
    assert steady is not None
    start_ns, end_ns = steady
    t_ns = np.linspace(start_ns - 10**9, end_ns + 10**9, 400).astype(np.int64)
    milliwatts = np.full(400, 4000.0)
    milliwatts[200] = np.nan
    results = FewSamples(folder, load(folder).experiment)
    board = ProbeInfo("usb", "x", 100.0, "", "board", (Channel("vbus", "power", "mW"),))
    chip = ProbeInfo("rapl", "package", 50.0, "", "chip", (Channel("package", "power", "W"),))
    results.changes = {
        "probes": (asdict(chip), asdict(board)),
        "windows_ns": {"idle": (start_ns - 10**9, start_ns), "idle_after": (end_ns, end_ns + 10**9)},
    }
    backwards = rows("rapl:package", "package", t_ns[::-1], np.arange(400.0)[::-1])
    results.samples = rows_of_frame(pd.concat([backwards, rows("usb:x", "vbus", t_ns, milliwatts)]))
    [rail] = trial.rails
    board_rail = replace(rail, name="usb:x vbus", meter="usb:x", channel="vbus", scope="board")
    mean = trial.estimate("power_mean_w")
    estimates = {METRICS["power_mean_w"].key(rail=name): mean for name in (board_rail.name, rail.name)}
    metered = replace(trial, rails=(board_rail, rail), estimates=estimates)
    wide, narrow = power_traces(results, metered)
    assert (wide.scope, narrow.scope) == ("board", "chip")
    assert np.isnan(wide.rails[0].watts[200]) and np.nanmax(wide.rails[0].watts) == 4.0
    assert narrow.rails[0].watts.tolist() == list(range(400))
    assert len(wide.idle_s) == 2


def test_without_a_meter_or_samples_there_is_no_trace(folder: Path, trial: Trial) -> None:
    assert power_traces(load(folder), replace(trial, rails=())) == []
    results = FewSamples(folder, load(folder).experiment)
    results.changes = {}
    results.samples = rows_of_frame(rows("rapl:package", "package", np.empty(0, np.int64), np.empty(0)))
    assert power_traces(results, trial) == []
