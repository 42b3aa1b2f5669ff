import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

import edgebench
from edgebench.cli.main import app
from edgebench.errors import StoredResultError
from edgebench.judge.document import VerdictEntry, trial_document, trial_from_document
from edgebench.judge.judged import judge_folder
from edgebench.judge.metrics import METRICS
from edgebench.judge.trials import trials_of
from edgebench.records.described import object_schema
from edgebench.records.session import Window
from edgebench.records.stored import ExperimentRecord, RunRecord, SessionRecord
from edgebench.report.documents import document
from edgebench.report.schemas import NAMES, schema
from edgebench.results.layout import SCHEMA_VERSION as RECORD_VERSION
from edgebench.results.parquet import COLUMN_TYPES, TABLE_COLUMNS, is_stage_column
from edgebench.results.tables import window_rows
from edgebench.results.writing import ExperimentStore, write_table
from tests.judge.trials import trial
from tests.synthetic_results import NINE, QUARTER, key_of, made_experiment, write_record

DOCUMENTS = ("experiment", "run", "session", "trial", "result", "meters", "recording")


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema(name))


def objects(part: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every described field in a schema, by its path."""
    if isinstance(part, dict):
        for name, field in part.get("properties", {}).items():
            yield f"{path}/{name}", field
        for name, value in part.items():
            yield from objects(value, f"{path}/{name}" if name != "properties" else path)
    elif isinstance(part, list):
        for value in part:
            yield from objects(value, path)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_schema_is_one(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_field_has_type_description_and_source(name):
    described = list(objects(schema(name)))
    assert len(described) > (8 if name == "run" else 15)
    for path, field in described:
        assert field.get("description"), path
        assert field.get("x-source"), path
        if path.endswith(("_s", "_w", "_j", "_ms", "_g", "_mm", "_ns", "_hz", "_bytes")):
            assert field.get("x-unit") or "Unit:" in field["description"] or "windows_ns" in path, path


def test_there_is_no_other_schema():
    with pytest.raises(ValueError):
        schema("../records")


class Longer(RunRecord):
    more: str = ""
    """One more field. Unit: s. Source: the harness's clock."""


class WithoutText(RunRecord):
    more: str = ""


def test_a_field_of_a_record_is_one_edit():
    schema = object_schema(Longer)
    assert schema["properties"]["more"] == {
        "type": "string", "description": "One more field.", "x-unit": "s", "x-source": "the harness's clock",
    }  # fmt: skip
    assert "more" in schema["required"]


def test_a_field_without_a_text_is_refused():
    with pytest.raises(KeyError, match=r"WithoutText\.more has no text"):
        object_schema(WithoutText)


@pytest.mark.parametrize(("name", "model"), [("experiment", ExperimentRecord), ("session", SessionRecord)])
def test_what_a_record_requires_its_schema_requires(name, model):
    described, written = schema(name), model.model_json_schema()
    assert set(described["properties"]) == set(written["properties"])
    assert set(described["required"]) == set(written["properties"])  # what is written has every field
    assert described["additionalProperties"] is False


def test_trials_and_verdicts_have_the_same_fields():
    [stored] = [trial_document(trial()) | {"schema_version": 1}]
    assert set(schema("trial")["properties"]) == set(stored)
    verdict = schema("result")["properties"]["verdicts"]["items"]
    assert set(verdict["properties"]) == {field.name for field in fields(VerdictEntry)}


def test_a_metric_is_described_by_its_declaration():
    for name, metric in METRICS.items():
        described = schema("trial")["properties"]["estimates"]["properties"][name]
        assert (described["description"], described["x-unit"]) == (metric.sentence, metric.unit)


def test_what_is_written_is_valid(experiment_path):
    validator("experiment").validate(json.loads((experiment_path / "experiment.json").read_text()))
    sessions = list(experiment_path.glob("trials/*/sessions/*/session.json"))
    assert len(sessions) == 9
    for path in sessions:
        validator("session").validate(json.loads(path.read_text()))


def test_an_experiment_without_images_is_valid(tmp_path):
    path = made_experiment(tmp_path, images=0, sessions=1)
    record = json.loads((path / "experiment.json").read_text())
    assert record["images"] is None
    validator("experiment").validate(record)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mass_g", -3.0), ("mass_g", 1e308), ("size_mm", [1.0, 0.0, 1.0]),
        ("boot_s", {"seconds": -1.0, "kind": "typical", "source": "a"}),
        ("declared_power", [{"watts": 1e9, "kind": "typical", "source": "a"}]),
    ],
)  # fmt: skip
def test_a_declared_figure_that_cannot_be_is_damage(tmp_path, name, value):
    file = made_experiment(tmp_path, sessions=1, variants=QUARTER[:1]) / "experiment.json"
    record = json.loads(file.read_text())
    record["targets"][0][name] = value
    write_record(file, record)
    with pytest.raises(StoredResultError, match=r"experiment\.json") as refused:
        edgebench.load(file.parent)
    assert name in refused.value.why and refused.value.fix
    assert list(validator("experiment").iter_errors(record))


def close(part: Any) -> Any:
    """The schema with every described object closed, so that a field without a description shows."""
    if isinstance(part, dict):
        part = {name: close(value) for name, value in part.items()}
        if part.get("properties") and "additionalProperties" not in part:
            part["additionalProperties"] = False
        return part
    return [close(value) for value in part] if isinstance(part, list) else part


def test_trials_and_the_document_are_valid(experiment_path, tmp_path):
    from edgebench.judge.requirements.profile import shipped_profiles

    for path in (experiment_path, made_experiment(tmp_path, variants=NINE, mass_g=140, size_mm=(10, 60, 70))):
        judged = judge_folder(path, shipped_profiles())
        for measured in judged.trials:
            stored = {"schema_version": RECORD_VERSION, **trial_document(measured)}
            plain = json.loads(json.dumps(stored, allow_nan=False))
            jsonschema.Draft202012Validator(close(schema("trial"))).validate(plain)
        plain = json.loads(json.dumps(document(judged), allow_nan=False))
        assert all(plain[part] for part in ("trials", "verdicts", "decisions", "pareto", "missions"))
        jsonschema.Draft202012Validator(close(schema("result"))).validate(plain)


def test_the_trial_file_is_valid(tmp_path):
    path = made_experiment(tmp_path)
    with ExperimentStore.open(path) as store:
        for measured in trials_of(edgebench.load(path)):
            file = store.write_trial(measured.key, trial_document(measured))
            written = json.loads(file.read_text())
            validator("trial").validate(written)
            read = trial_from_document(written)
            assert read.estimate("image_s").value == measured.estimate("image_s").value


@pytest.mark.parametrize(
    "change",
    [{"schema_version": 1}, {"status": "splendid"}, {"surplus": 1}, {"n": -1}, {"tables": 1}],
)
def test_the_schema_refuses_what_the_reader_refuses(experiment_path, change):
    path = experiment_path / "trials" / key_of(QUARTER[0]) / "sessions" / "000" / "session.json"
    record = json.loads(path.read_text()) | change
    with pytest.raises(ValidationError):
        SessionRecord.model_validate(record)
    assert not validator("session").is_valid(record)


def windows_of_a_session(folder):
    """A stored table of windows: no made session has one."""
    rows = window_rows([Window(0, "steady", 1, 5, 10, 20)])
    write_table(folder / "windows.parquet", rows, "windows")
    return folder / "windows.parquet"


def test_the_tables_are_as_described(experiment_path, tmp_path):
    described = schema("tables")["tables"]
    assert set(described) == set(TABLE_COLUMNS)
    for name, table in described.items():
        assert tuple(table["columns"]) == TABLE_COLUMNS[name]
        files = experiment_path.glob(f"trials/*/sessions/000/{name}.parquet")
        file = windows_of_a_session(tmp_path) if name == "windows" else next(files)
        for field in pq.read_schema(file):
            if field.name in table["columns"]:
                column = table["columns"][field.name]
                assert column["dtype"] == type_name(field.type), field.name
                assert column["description"]
                assert COLUMN_TYPES[field.name].equals(field.type)
                if field.name.endswith("_ns"):
                    assert column["unit"] == "ns"
            else:
                assert is_stage_column(name, field.name)
                assert table["stage_columns"]


def type_name(type_: Any) -> str:
    text = str(type_)
    if text.startswith("dictionary"):
        return "dictionary<string>"
    return "list<float>" if text.startswith("list") else text


def test_the_package_does_not_import_jsonschema():
    code = (
        "import sys, edgebench.results.load, edgebench.results.writing; sys.exit('jsonschema' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_the_command_prints_a_schema():
    runner = CliRunner()
    assert runner.invoke(app, ["schema"]).stdout.split() == list(NAMES)
    for name in NAMES:
        assert json.loads(runner.invoke(app, ["schema", name]).stdout) == schema(name)
    assert "sesion" in str(runner.invoke(app, ["schema", "sesion"]).exception)
