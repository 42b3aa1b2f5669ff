"""run.json: how the last run of an experiment ended."""

import json

import jsonschema
import pytest

from edgebench.errors import StoredResultError
from edgebench.judge.judged import Judged
from edgebench.judge.trials import trial_with_key, trials_of
from edgebench.records.stored import RunRecord
from edgebench.report.documents import document
from edgebench.report.schemas import schema
from edgebench.results.load import load
from edgebench.results.record_reading import read_run
from edgebench.results.writing import ExperimentStore
from tests.synthetic_results import QUARTER, key_of, made_experiment

STARTED = RunRecord(started_utc="2025-03-01T12:00:00Z", max_time_s=1800)
OVER = STARTED.model_copy(update={"ended": "time", "elapsed_s": 1801.25, "sessions": 3})


@pytest.fixture
def experiment_path(tmp_path):
    return made_experiment(tmp_path, variants=QUARTER[:2], sessions=3, not_run=QUARTER[1:2])


def test_it_is_absent_in_results_of_earlier_versions(experiment_path):
    results = load(experiment_path)
    assert results.run is None
    assert not results.warnings
    assert document(Judged(results, (), trials_of(results), []))["run"] is None
    assert read_run(experiment_path) is None


def test_it_is_written_read_and_replaced(experiment_path):
    with ExperimentStore.open(experiment_path) as store:
        store.write_run(STARTED)
        assert load(experiment_path).run == STARTED
        path = store.write_run(OVER)
    kept = json.loads(path.read_text())
    jsonschema.validate(kept, schema("run"))
    assert load(experiment_path).run == OVER
    assert not list(experiment_path.glob(".writing-*"))
    results = load(experiment_path)
    written = document(Judged(results, (), trials_of(results), []))
    jsonschema.validate(written, schema("result"))
    assert written["run"]["ended"] == "time"


def test_it_says_why_a_trial_was_not_measured(experiment_path):
    with ExperimentStore.open(experiment_path) as store:
        store.write_run(OVER)
    done, not_run = trials_of(load(experiment_path))
    assert (done.status, not_run.status) == ("done", "not_run")
    assert not_run.reason == "time of 30 min over after 0 of 3 sessions"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"schema_version": 2}',
        '{"schema_version": 2, "started_utc": "x", "ended": "splendid"}',
        '{"schema_version": 2, "started_utc": "x", "surplus": 1}',
        '{"schema_version": 2, "started_utc": "x", "elapsed_s": -1}',
    ],
)
def test_a_damaged_one_is_left_out_and_told(experiment_path, text):
    (experiment_path / "run.json").write_text(text)
    with pytest.raises(StoredResultError):
        read_run(experiment_path)
    results = load(experiment_path)
    assert results.run is None
    [warning] = results.warnings
    assert "run.json" in warning
    assert [trial.status for trial in trials_of(results)] == ["done", "not_run"]


def test_a_link_out_of_the_folder_is_not_followed(experiment_path, tmp_path):
    (tmp_path / "elsewhere").write_text(OVER.model_dump_json())
    (experiment_path / "run.json").symlink_to(tmp_path / "elsewhere")
    results = load(experiment_path)
    assert results.run is None and "leads out" in results.warnings[0]


def test_one_trial_alone_is_summed_up_as_among_the_others(tmp_path):
    experiment_path = made_experiment(tmp_path, power=True)
    results = load(experiment_path)
    by_key = {trial.key: trial for trial in trials_of(results)}
    key = key_of(QUARTER[0])
    assert trial_with_key(results, key).estimates == by_key[key].estimates
    with pytest.raises(ValueError):
        trial_with_key(results, "f" * 16)
