import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import edgebench
from edgebench.errors import StoredResultError
from edgebench.records.stored import (
    BATCH_COLUMNS,
    PASS_COLUMNS,
    PREDICTION_COLUMNS,
    PROBE_COLUMNS,
    RunRecord,
    SessionTables,
)
from edgebench.results.frames import trial_frame
from edgebench.results.load import StoredResults, load
from edgebench.results.writing import ExperimentStore
from tests.synthetic_results import QUARTER, key_of, made_experiment

OK, ONCE, FAILED = (key_of(variant) for variant in QUARTER)
FRAMES = ("trials", "sessions", "passes", "batches", "probes", "predictions")


@pytest.fixture(scope="module")
def results(experiment_path: Path) -> StoredResults:
    return load(experiment_path)


def test_a_path_may_be_a_text(experiment_path):
    assert edgebench.load(str(experiment_path)).experiment.name == "made"


def test_trials_are_the_plan_with_what_came_of_it(results):
    trials = results.trials.set_index("key")
    assert list(trials.index) == [trial.key for trial in results.experiment.trials]
    assert trials["sessions_ok"].tolist() == [3, 2, 0, 0]
    assert trials["sessions_failed"].tolist() == [0, 1, 3, 0]
    assert trials["sessions_interrupted"].tolist() == [0, 0, 0, 0]
    assert trials["status"].tolist() == ["done", "partial", "failed", "unsupported"]
    assert trials.loc[OK, "artifact_bytes"] == 1_000_000
    assert pd.isna(trials["artifact_bytes"].iloc[3])
    assert trials.loc[OK, "device"] == "cpu"


def test_sessions_are_flat_and_missing_figures_missing(results):
    sessions = results.sessions
    assert list(sessions.columns[:4]) == ["trial", "session", "round", "status"]
    assert len(sessions) == 9
    crashed = sessions[sessions["status"] == "crash"]
    assert crashed["session"].tolist() == [1, 0, 1, 2]
    assert crashed["failure_signal"].unique().tolist() == ["SIGSEGV"]
    for column in ("cold_load_s", "warmup_batches", "memory_peak_bytes", "golden_max_abs_diff", "harness_s"):
        assert crashed[column].isna().all()
        assert sessions[sessions["status"] == "ok"][column].notna().all()
    assert sessions["started_utc"].dt.tz is not None
    assert str(sessions["memory_peak_bytes"].dtype) == "Int64"
    assert str(sessions["warmup_steady"].dtype) == "boolean"


def test_session_records_are_in_order(results):
    assert [(record.n, record.status) for record in results.session_records(ONCE)] == [
        (0, "ok"),
        (1, "crash"),
        (2, "ok"),
    ]
    with pytest.raises(ValueError):
        results.session_records("../..")


def test_every_table_has_trial_and_session_in_front(results):
    for name, columns in (
        ("passes", PASS_COLUMNS),
        ("batches", BATCH_COLUMNS),
        ("probes", PROBE_COLUMNS),
        ("predictions", PREDICTION_COLUMNS),
    ):
        frame = getattr(results, name)
        assert tuple(frame.columns[: len(columns) + 2]) == ("trial", "session", *columns)
        assert frame["trial"].cat.categories.tolist() == [trial.key for trial in results.experiment.trials]
        counts = frame.groupby(["trial", "session"], observed=True).size()
        assert list(counts.index) == [(OK, 0), (OK, 1), (OK, 2), (ONCE, 0), (ONCE, 2)]


def test_rows_are_those_of_each_file(results, experiment_path):
    for (key, n), rows in results.batches.groupby(["trial", "session"], observed=True):
        path = experiment_path / "trials" / str(key) / "sessions" / f"{n:03}" / "batches.parquet"
        expected = pd.read_parquet(path)
        loaded = rows.drop(columns=["trial", "session"]).reset_index(drop=True)
        pd.testing.assert_frame_equal(loaded, expected)


def test_the_figures_are_those_that_were_made(results):
    steady = results.passes[results.passes["phase"] == "steady"]
    medians = steady.groupby("trial", observed=True)["image_ns"].median() / 1e9
    assert medians[OK] == pytest.approx(0.29, rel=0.05)
    assert medians[ONCE] == pytest.approx(0.31, rel=0.05)
    assert (steady["infer_ns"] < steady["image_ns"]).all()


def test_dtypes(results):
    types = {name: str(kind) for name, kind in results.passes.dtypes.items()}
    assert types["trial"] == types["phase"] == "category"
    assert types["session"] == types["pass"] == types["patches"] == "int32"
    assert types["image_ns"] == types["infer_ns"] == types["patchify_ns"] == "int64"
    assert str(results.probes["value"].dtype) == "float64"
    assert results.predictions["scores"].iloc[0].dtype == np.float32


def test_some_columns_of_a_table(results):
    few = results.table("predictions", ["set", "predicted"])
    assert list(few.columns) == ["trial", "session", "set", "predicted"]
    assert few["predicted"].tolist() == results.predictions["predicted"].tolist()


def test_frames_are_read_once(results):
    assert results.passes is results.passes
    assert results.sessions is results.sessions


def test_what_needs_no_table_opens_none(experiment_path, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a Parquet file was opened")

    monkeypatch.setattr(pq, "ParquetFile", refuse)
    results = edgebench.load(experiment_path)
    assert len(results.sessions) == 9
    assert len(results.trials) == 4
    assert results.warnings == []
    assert results.scene_jpeg is not None
    with pytest.raises(AssertionError):
        _ = results.passes


def test_loading_reads_the_experiment_alone(experiment_path, monkeypatch):
    opened = []
    real = os.open

    def note(path, *arguments, **options):
        opened.append(Path(path).name)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", note)
    edgebench.load(experiment_path)
    assert opened == ["experiment.json"]


def test_nothing_measured_gives_the_same_columns_and_types(results, tmp_path):
    path = made_experiment(tmp_path, not_run=QUARTER)
    empty = load(path)
    stages = {"patchify", "preprocess", "infer"}
    for name in FRAMES:
        full, none = getattr(results, name), getattr(empty, name)
        expected = [
            column for column in full.columns if column == "infer_ns" or column.split("_")[0] not in stages
        ]
        assert list(none.columns) == expected
        assert len(none) == (3 if name == "trials" else 0)
        for column in expected:
            if isinstance(full[column].dtype, pd.CategoricalDtype):
                assert none[column].cat.categories.dtype == full[column].cat.categories.dtype
            else:
                assert none[column].dtype == full[column].dtype, (name, column)


def test_trials_without_a_stage_have_it_missing_and_whole_numbers_stay_whole(tmp_path):
    path = made_experiment(tmp_path, sessions=1)
    exact = 2**53 + 1  # not a float64
    with ExperimentStore.open(path) as store:
        frame = store_frame(path).assign(decode_ns=np.int64(exact))
        record = store.finished(OK)[0].model_copy(update={"n": 1})
        store.write_session(record, SessionTables(passes=frame))
    passes = edgebench.load(path).passes
    assert str(passes["decode_ns"].dtype) == "Int64"
    assert passes["decode_ns"].dropna().unique().tolist() == [exact]
    assert passes["decode_ns"].isna().sum() == len(passes) - len(frame)
    assert list(passes.columns[-3:]) == ["patchify_ns", "preprocess_ns", "decode_ns"]


def store_frame(path: Path) -> pd.DataFrame:
    frame = load(path).passes
    return frame[(frame["trial"] == OK)].drop(columns=["trial", "session"]).reset_index(drop=True)


def test_a_killed_writers_leftovers_do_not_show(tmp_path):
    path = made_experiment(tmp_path, sessions=1)
    leftover = path / "trials" / OK / "sessions" / ".writing-x"
    leftover.mkdir()
    (leftover / "session.json").write_text("{")
    results = edgebench.load(path)
    assert len(results.session_records(OK)) == 1
    assert results.warnings == []


def test_a_run_that_goes_on_does_not_change_what_was_loaded(tmp_path):
    path = made_experiment(tmp_path, sessions=1)
    results = edgebench.load(path)
    assert len(results.sessions) == 3
    with ExperimentStore.open(path) as store:
        record = store.finished(OK)[0].model_copy(update={"n": 1})
        frame = store_frame(path)
        store.write_session(record, SessionTables(passes=frame.assign(infer_ns=frame["infer_ns"] + 1)))
    assert results.passes["session"].unique().tolist() == [0]
    assert len(edgebench.load(path).sessions) == 4


def test_importing_edgebench_stays_light():
    code = (
        "import sys, edgebench; "
        "heavy = {'numpy', 'pandas', 'pyarrow', 'pydantic', 'filelock'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("ended", "statuses", "progress"),
    [
        ("complete", ["ok"] * 3, "done"),
        ("complete", ["ok", "crash", "ok", "ok"], "partial"),
        ("time", ["ok"] * 3, "done"),
        (None, ["ok"] * 3, "partial"),
        ("complete", ["ok"] * 2, "partial"),
        ("complete", ["ok"] * 3 + ["crash"] * 2, "partial"),
        ("interrupted", ["interrupted"], "not_run"),
        ("interrupted", [], "not_run"),
        ("complete", ["crash", "crash"], "failed"),
    ],
)
def test_a_trial_that_a_rule_ended_is_done(results, ended, statuses, progress):
    session = results.session_records(OK)[0]
    records = [session.model_copy(update={"n": n, "status": status}) for n, status in enumerate(statuses)]
    adaptive = results.experiment.model_copy(update={"sessions": 30, "target_ci": 0.01})
    settled = (OK,) if (ended, progress) == ("complete", "done") else ()
    run = RunRecord(started_utc="2025-03-01T12:00:00Z", ended=ended, settled=settled)
    frame = trial_frame(adaptive, {OK: records}, run).set_index("key")
    assert frame.loc[OK, "status"] == progress


def test_the_newest_and_a_name_are_found_as_the_commands_find_them(experiment_path, monkeypatch):
    monkeypatch.setenv("EDGEBENCH_OUTPUT_DIR", str(experiment_path.parent))
    assert edgebench.load("latest").path == edgebench.load("made").path == experiment_path
    monkeypatch.setenv("EDGEBENCH_OUTPUT_DIR", str(experiment_path / "trials"))
    with pytest.raises(StoredResultError):
        edgebench.load("latest")


def test_the_package_lists_its_public_names():
    assert {"Results", "__version__", "load"} <= set(dir(edgebench))
