"""Results written by version 1 load for ever, and give the figures that they gave."""

import csv
import json
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

import edgebench
from edgebench.fit.judged_experiment import Judged, judge_folder
from edgebench.fit.profile import load_profile
from edgebench.fit.summarise import trial_json
from edgebench.report.document import document
from edgebench.report.export import export
from edgebench.report.forms import FORMS
from edgebench.report.json_values import clean
from edgebench.store.experiment import ExperimentStore
from edgebench.store.records import SessionRecord
from edgebench.store.schemas import schema

KEPT = Path(__file__).parent / "version1"
EXPECTED = json.loads((KEPT / "expected.json").read_text())
NAMES = sorted(EXPECTED)


@pytest.fixture(scope="module")
def judged() -> dict[str, Judged]:
    return {name: judge_folder(KEPT / name) for name in NAMES}


def as_expected(actual: Any, expected: Any, place: str) -> None:
    """Every figure that is expected is there; a later version may say more, never something else."""
    if isinstance(expected, dict):
        assert isinstance(actual, dict), place
        for name, value in expected.items():
            as_expected(actual.get(name), value, f"{place}.{name}")
    elif isinstance(expected, list):
        assert isinstance(actual, list) and len(actual) == len(expected), place
        for at, (item, value) in enumerate(zip(actual, expected, strict=True)):
            as_expected(item, value, f"{place}[{at}]")
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=1e-9), place
    else:
        assert actual == expected, place


def test_it_is_kept_whole():
    assert {path.name for path in KEPT.iterdir() if path.is_dir()} == set(NAMES)
    statuses = {status for name in NAMES for _, _, status in EXPECTED[name]["sessions"]}
    left_out = {"ok", "crash", "timeout", "out_of_memory", "lost_connection", "protocol_error", "load_failed"}
    assert statuses == left_out | {"golden_mismatch", "error", "interrupted"}


@pytest.mark.parametrize("name", NAMES)
def test_its_sessions_and_rows_are_all_there(name):
    results = edgebench.load(KEPT / name)
    assert results.warnings == []
    sessions = [
        [record.trial, record.n, record.status]
        for trial in results.experiment.trials
        for record in results.session_records(trial.key)
    ]
    assert sessions == EXPECTED[name]["sessions"]
    for table, rows in EXPECTED[name]["rows"].items():
        assert len(getattr(results, table)) == rows, table
    assert results.scene_jpeg is not None


@pytest.mark.parametrize("name", NAMES)
def test_its_files_fit_the_schemas_of_today(name):
    folder = KEPT / name
    jsonschema.validate(json.loads((folder / "experiment.json").read_text()), schema("experiment"))
    for path in folder.glob("trials/*/sessions/*/session.json"):
        jsonschema.validate(json.loads(path.read_text()), schema("session"))
    for path in folder.glob("trials/*/trial.json"):
        jsonschema.validate(json.loads(path.read_text()), schema("trial"))
    described = schema("tables")["tables"]
    for path in folder.glob("trials/*/sessions/*/*.parquet"):
        columns = pq.read_schema(path).names
        assert columns[: len(described[path.stem]["columns"])] == list(described[path.stem]["columns"])


@pytest.mark.parametrize("name", NAMES)
def test_its_figures_and_verdicts_are_what_they_were(name, judged):
    result = judged[name]
    result_document = document(result.results, result.summaries, result.verdicts)
    jsonschema.validate(result_document, schema("result"))
    trials = {trial["key"]: trial for trial in result_document["trials"]}
    as_expected(trials, EXPECTED[name]["trials"], name)
    as_expected(result_document["verdicts"], EXPECTED[name]["verdicts"], name)
    for key, failures in EXPECTED[name]["failures"].items():
        assert trials[key]["failures"] == failures


@pytest.mark.parametrize("name", NAMES)
def test_its_trials_can_be_derived_again(name, judged):
    for summary in judged[name].summaries:
        again = json.loads(json.dumps(clean(trial_json(summary))))
        jsonschema.validate(again, schema("trial"))
        before = json.loads((KEPT / name / "trials" / summary.key / "trial.json").read_text())
        for figure in ("accuracy", "status", "image_s_values", "infer_s_values", "load_s_values"):
            as_expected(again[figure], before[figure], figure)
        # What is made of these values follows the statistics of today, as expected.json does.
        expected = EXPECTED[name]["trials"][summary.key]
        for figure in ("image_s", "infer_s", "stages_ms", "cold", "memory_bytes"):
            as_expected(again[figure], expected.get(figure, before[figure]), figure)


def test_it_can_be_judged_by_another_profile():
    result = judge_folder(KEPT / "measured", [load_profile("disco-arctic")])
    assert {verdict.profile for verdict in result.verdicts} == {"disco-arctic"}
    latency = [verdict for verdict in result.verdicts if verdict.quantity == "image_s"]
    assert [verdict.verdict for verdict in latency] == ["pass", "pass"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", [form.endings[0] for form in FORMS.values() if form.is_text])
def test_every_report_of_it_shows_its_figures(name, form, judged, tmp_path):
    text = export(judged[name], tmp_path / f"report{form}").read_text()
    expected = EXPECTED[name]["trials"].values()
    medians = [trial["image_s"]["median"] for trial in expected if "image_s" in trial]
    if form == ".json":
        as_expected(
            {stored_trial["key"]: stored_trial for stored_trial in json.loads(text)["trials"]},
            EXPECTED[name]["trials"],
            name,
        )
    elif form == ".csv":
        rows = list(csv.DictReader(text.splitlines()))
        assert [float(row["image_s_median"]) for row in rows if row["image_s_median"]] == medians
    else:
        for median in medians:
            assert f"{median:#.3g}" in text
    for trial in expected:
        assert trial["target"] in text.replace("\\", "")


def test_a_stopped_one_can_be_gone_on_with(tmp_path):
    """Its writer is long gone; the next session gets the next number."""
    folder = tmp_path / "paced"
    for path in (KEPT / "paced").rglob("*"):
        if path.is_file():
            copy = folder / path.relative_to(KEPT / "paced")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    with ExperimentStore.open(folder) as store:
        key = store.record.trials[0].key
        records = store.finished(key)
        assert [record.status for record in records] == ["ok", "ok", "interrupted"]
        assert store.next_n(key) == 3
        assert store.warnings == []
    assert all(isinstance(record, SessionRecord) for record in records)
