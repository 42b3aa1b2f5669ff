"""A metric with a new field of the session's record takes three files, and is then wherever metrics are."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "edgebench"

RECORD = '''
    fan_rpm: float | None = None
    """Mean speed of the fan; null where it is unknown. Unit: 1/min. Source: probes."""
'''
MEASURED = "fan_rpm=1200.0 + 10 * job.n,"
METRIC = '''
"""Speed of the fan."""

from edgebench.judge.metric import Metric, Sampled
from edgebench.judge.recorded import once_per_session

speed = Sampled(
    "sessions",
    lambda recorded, worker: once_per_session(
        record.fan_rpm for record in recorded.ok if worker is None and record.fan_rpm is not None
    ),
    lambda recorded: "no session recorded the fan",
)
METRICS = (
    Metric(
        "fan_rpm",
        "Mean speed of the fan, mean over sessions.",
        {"1/min": 1.0, "1/s": 60.0},
        source="session.json",
        statistics=("median", "max"),
        read=speed.read,
        estimates=speed.estimates,
        label="Fan speed",
        tables=("matrix", "trials", "latency", "start"),
    ),
)
'''
SCRIPT = """
import json, sys
from pathlib import Path

import edgebench
from edgebench.judge.document import trial_document, trial_from_document
from edgebench.judge.judged import judge_folder
from edgebench.judge.profile import load_profile
from edgebench.report.documents import document, export_csv
from edgebench.report.schemas import schema
from tests.synthetic_results import QUARTER, made_experiment, write_record

assert Path(edgebench.__file__).parents[1] == Path.cwd(), edgebench.__file__
PROFILE = '''
name = "quiet"
[[requirements]]
quantity = "fan_rpm"
limit = 25
unit = "1/s"
[[requirements]]
quantity = "fan_rpm"
statistic = "max"
limit = 1100
'''
Path("quiet.toml").write_text(PROFILE)
folders = []
for name, least in (("first", 1200.0), ("second", 2400.0)):
    folder = made_experiment(Path.cwd(), name=name, variants=QUARTER[:2], sessions=6)
    for file in folder.glob("trials/*/sessions/*/session.json"):
        record = json.loads(file.read_text())
        write_record(file, record | {"fan_rpm": least + 10 * record["n"]})
    folders.append(folder)
results = edgebench.load(folders[0])
judged = judge_folder(folders[0], [load_profile("quiet.toml")])
[stored, _] = judged.trials
read = trial_from_document(json.loads(json.dumps(trial_document(stored))))
print(json.dumps({
    "stored": read.estimate("fan_rpm") == stored.estimate("fan_rpm"),
    "csv": export_csv(judged.trials, judged.verdicts),
    "json": document(judged),
    "schemas": {name: schema(name) for name in ("session", "trial", "result")},
    "columns": edgebench.columns("summaries").to_dict("records"),
    "estimates": results.estimates().to_json(orient="records"),
    "summaries": results.summaries()["fan_rpm"].tolist(),
    "verdicts": results.verdicts("quiet.toml").to_json(orient="records"),
    "comparison": edgebench.compare(*folders, metric="fan_rpm").table.to_json(orient="records"),
}, allow_nan=False))
"""


def linked(source: Path, copy: Path, changed: dict[str, str]) -> None:
    """Links to all files of a folder but the changed ones, which are written, by their paths in it."""
    copy.mkdir()
    heads = {path.partition("/")[0] for path in changed}
    for entry in source.iterdir():
        if entry.name not in heads and entry.name != "__pycache__":
            (copy / entry.name).symlink_to(entry)
    for head in heads:
        inner = {
            path.partition("/")[2]: text for path, text in changed.items() if path.startswith(f"{head}/")
        }
        if inner:
            linked(source / head, copy / head, inner)
        else:
            (copy / head).write_text(changed[head])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Everything that EdgeBench with three changed files makes of two results."""
    folder = tmp_path_factory.mktemp("new-metric")
    record, writer = "records/stored.py", "run/measuring/session_record.py"
    texts = {path: (PACKAGE / path).read_text() for path in (record, writer)}
    [field, call] = ["    failure: Failure | None = None\n", "    return SessionRecord(\n"]
    assert texts[record].count(field) == texts[writer].count(call) == 1
    changed = {
        record: texts[record].replace(
            field, f"{RECORD.lstrip()}{field}".replace("fan_rpm:", "    fan_rpm:", 1)
        ),
        writer: texts[writer].replace(call, f"{call}        {MEASURED}\n"),
        "judge/metrics/fan.py": METRIC,
    }
    assert len(changed) == 3
    linked(PACKAGE, folder / "edgebench", changed)
    path = os.pathsep.join(map(str, (folder, REPOSITORY)))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def test_documents_hold_it(found: dict[str, Any]) -> None:
    cells, _ = csv.DictReader(io.StringIO(found["csv"]))
    assert float(cells["fan_rpm"]) == pytest.approx(1225.0, rel=1e-4)
    assert float(cells["fan_rpm_max"]) == 1250.0
    for trial in found["json"]["trials"]:
        estimate = trial["estimates"]["fan_rpm"]
        assert estimate["unit"] == "1/min" and estimate["low"] < estimate["value"] < estimate["high"]
        assert estimate["session_values"] == [1200.0, 1210.0, 1220.0, 1230.0, 1240.0, 1250.0]
    assert found["stored"]


def test_schemas_and_columns_describe_it(found: dict[str, Any]) -> None:
    sentence = "Mean speed of the fan, mean over sessions."
    session = found["schemas"]["session"]["properties"]["fan_rpm"]
    assert (session["x-unit"], session["x-source"]) == ("1/min", "probes")
    for trial in (
        found["schemas"]["trial"],
        found["schemas"]["result"]["properties"]["trials"]["items"],
    ):
        described = trial["properties"]["estimates"]["properties"]["fan_rpm"]
        assert (described["description"], described["x-unit"]) == (sentence, "1/min")
    [column] = [column for column in found["columns"] if column["column"] == "fan_rpm"]
    assert (column["meaning"], column["unit"]) == (sentence, "1/min")


def test_frames_hold_it(found: dict[str, Any]) -> None:
    rows = [row for row in json.loads(found["estimates"]) if row["metric"] == "fan_rpm"]
    assert [(row["unit"], row["n"], row["sessions"], row["reason"]) for row in rows] == [
        ("1/min", 6, 6, "")
    ] * 2
    assert [row["value"] for row in rows] == pytest.approx(found["summaries"])


def test_a_profile_judges_by_it(found: dict[str, Any]) -> None:
    verdicts = {(row["requirement"], row["verdict"]) for row in json.loads(found["verdicts"])}
    assert verdicts == {("Fan speed", "pass"), ("Fan speed max", "fail")}
    [first, *_] = found["json"]["verdicts"]
    assert (first["limit"], first["unit"]) == (25.0, "1/s")
    assert first["value"] == pytest.approx(1225.0 / 60, rel=1e-4)


def test_results_are_compared_by_it(found: dict[str, Any]) -> None:
    rows = json.loads(found["comparison"])
    assert {(row["metric"], row["word"]) for row in rows} == {("fan_rpm", "worse")}
