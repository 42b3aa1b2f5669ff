"""A result as runs of a tracking store, and a real MLflow store that takes them."""

import json
import logging
import os
import shutil
import sqlite3

import pytest

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.judged import judge_folder
from edgebench.judge.requirements.profile import load_profiles
from edgebench.report.mlflow import PARAMETERS, record_result, tracked_runs, tracking_uri
from tests.synthetic_results import QUARTER, made_experiment


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = made_experiment(
        tmp_path_factory.mktemp("made"), variants=QUARTER, failed=QUARTER[2:], power=True, hostile=True
    )
    return judge_folder(folder, load_profiles(["disco-realtime"]))


@pytest.fixture(scope="module")
def runs(judged):
    return tracked_runs(judged.trials, judged.verdicts)


def test_a_run_has_what_was_measured_and_how(judged, runs):
    for run, trial in zip(runs[:2], judged.trials, strict=False):
        assert run.parameters["variant"] == trial.variant and run.parameters["batch"] == "1"
        assert run.metrics["image_s"] == (trial.estimate("image_s").value,)
        assert run.metrics["power_mean_w"] == (trial.estimate("power_mean_w").value,)
        assert run.metrics["image_s_of_session"] == trial.estimate("image_s").sessions
        assert run.tags["verdict.disco-realtime"] in ("pass", "fail", "inconclusive", "unknown")
        assert not set(PARAMETERS) & set(run.metrics)


def test_a_missing_number_is_no_metric(judged, runs):
    failed = runs[2]
    assert not failed.measured
    assert not any(name.startswith(("image_s", "power_mean_w")) for name in failed.metrics)
    assert failed.tags["status"] == "failed"


def test_names_are_such_as_stores_take(runs):
    for run in runs:
        for name in (*run.parameters, *run.metrics, *run.tags):
            assert name.isascii() and not set(name) & set("<>:`\n") and 0 < len(name) <= 200
        assert all("\n" not in text and "\u202e" not in text for text in run.tags.values())


# What follows writes into stores of MLflow itself.


@pytest.fixture(scope="module")
def mlflow():
    return pytest.importorskip("mlflow.tracking", reason="MLflow is not installed", exc_type=ImportError)


@pytest.fixture(params=["folder", pytest.param("database", marks=pytest.mark.slow)])
def store(request, tmp_path):
    if request.param == "folder":
        (tmp_path / "store").mkdir()
        return str(tmp_path / "store")
    (tmp_path / "store.db").touch()
    return f"sqlite:///{tmp_path / 'store.db'}"


def put(store, runs, files=(), checksum="ab" * 32):
    return record_result(
        store,
        "edgebench",
        "made",
        runs,
        {"edgebench.version": "0.3.0"},
        files,
        checksum,
        1_772_366_400.0,
    )


def test_a_real_store_has_experiment_runs_and_files(mlflow, store, runs, tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("<p>report")
    run_id = put(store, runs, [tmp_path / "report.html"])
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = mlflow.MlflowClient(tracking_uri=tracking_uri(store))
    experiment = client.get_experiment_by_name("edgebench")
    stored = client.search_runs([experiment.experiment_id])
    assert len(stored) == 1 + len(runs)
    parent = client.get_run(run_id)
    assert parent.info.status == "FINISHED" and parent.info.run_name == "made"
    assert [file.path for file in client.list_artifacts(run_id)] == ["report.html"]
    children = {run.info.run_name: run for run in stored if run.info.run_id != run_id}
    for run in runs:
        child = children[run.name]
        assert child.data.tags["mlflow.parentRunId"] == run_id
        assert child.data.params == run.parameters
        assert child.info.status == ("FINISHED" if run.measured else "FAILED")
        for name, values in run.metrics.items():
            history = sorted(
                client.get_metric_history(child.info.run_id, name), key=lambda metric: metric.step
            )
            assert [metric.value for metric in history] == pytest.approx(list(values))


def test_a_result_is_in_a_store_once(mlflow, store, runs):
    put(store, runs[:1])
    with pytest.raises(StoredResultError, match="has this result already") as caught:
        put(store, runs[:1])
    assert "--experiment" in caught.value.fix
    assert put(store, runs[:1], checksum="cd" * 32)


def test_what_was_begun_and_could_not_be_ended_is_marked_and_tried_again(mlflow, store, runs, tmp_path):
    with pytest.raises(StoredResultError, match="cannot be used"):
        put(store, runs[:1], [tmp_path / "missing.html"])
    assert put(store, runs[:1])
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    try:
        client = mlflow.MlflowClient(tracking_uri=tracking_uri(store))
        experiment = client.get_experiment_by_name("edgebench")
        statuses = sorted(run.info.status for run in client.search_runs([experiment.experiment_id]))
    finally:
        del os.environ["MLFLOW_ALLOW_FILE_STORE"]
    assert statuses == ["FAILED", "FINISHED", "FINISHED", "FINISHED"]


@pytest.mark.attack("a tracking store is of another version, no store, or not there: said, with the fix")
def test_a_store_that_cannot_be_used_is_told(mlflow, runs, tmp_path):
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "thesis.tex").touch()
    (tmp_path / "text.db").write_text("no database, but long enough")
    for store, error in [
        (str(tmp_path / "nowhere"), UsageError),
        (f"sqlite:///{tmp_path / 'nowhere.db'}", UsageError),
        (str(tmp_path / "strange"), UsageError),
        (f"sqlite:///{tmp_path / 'text.db'}", StoredResultError),
        ("http://somebody:secret@127.0.0.1:9", StoredResultError),
    ]:
        with pytest.raises(error) as caught:
            put(store, runs[:1])
        assert caught.value.fix and "secret" not in f"{caught.value.what} {caught.value.why}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["strange", "text.db"]
    database = tmp_path / "old.db"
    database.touch()
    put(f"sqlite:///{database}", runs[:1])
    other = shutil.copy(database, tmp_path / "other.db")
    with sqlite3.connect(other) as connection:
        connection.execute("update alembic_version set version_num = 'abcdef012345'")
    connection.close()
    with pytest.raises(StoredResultError, match="cannot be used") as caught:
        put(f"sqlite:///{other}", runs[:1], checksum="cd" * 32)
    assert "mlflow db upgrade" in caught.value.fix


def test_mlflow_is_kept_still_and_the_environment_as_it_was(mlflow, store, runs, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "7")
    put(store, runs[:1])
    assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "7"
    assert "MLFLOW_DISABLE_TELEMETRY" not in os.environ
    assert logging.getLogger("mlflow").level == logging.WARNING


def test_documents_of_runs_are_json(runs):
    assert json.loads(json.dumps([run.metrics for run in runs], allow_nan=False))
