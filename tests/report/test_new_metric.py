"""A metric with a new field of the session's record takes three files, and is then wherever metrics are."""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HOUSE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "edgebench"

RECORD = '''
    fan_rpm: float | None = None
    """Mean speed of the fan; null where it is unknown. Unit: 1/min. Source: probes."""
'''
MEASURED = "fan_rpm=1200.0 + 10 * job.n,"
METRIC = '''\
"""Speed of the fan."""

from edgebench.judge.metric import Metric, Option, Sampled, once_per_session

METRICS = (
    Metric(
        "fan_rpm",
        "Mean speed of the fan, mean over sessions.",
        {"1/min": 1.0, "1/s": 60.0},
        source="session.json",
        statistics=("median", "max"),
        read=Sampled(
            "sessions",
            lambda recorded, worker: once_per_session(
                record.fan_rpm for record in recorded.ok if record.fan_rpm is not None
            ),
            lambda recorded: "no session recorded the fan",
        ),
        label="Fan speed",
        options=(Option(("--sessions", "N")),),
        tables=("matrix", "trials", "latency", "start"),
    ),
)
'''
SCRIPT = """
import json
import shutil
from pathlib import Path

import edgebench
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.judge.document import trial_document, trial_from_document
from edgebench.judge.judged import judge_folder
from edgebench.judge.requirements.profile import load_profile
from tests.synthetic_results import write_record

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
limit = 1205
'''
Path("quiet.toml").write_text(PROFILE)


def printed(*words):
    done = CliRunner().invoke(app, [*words], env={"COLUMNS": "80"})
    assert done.exit_code in (0, 3), (words, done.output, done.exception)
    return done.stdout


Path("scenario.toml").write_text('''
schema_version = 1
name = "one"
[images]
n = 10
[default]
image_s = 0.3
[variants."mobilenet_v1-0.25-int8"]
''')
run = "run --device replay --set source=scenario.toml --sessions 3 --passes 2 --quiet".split()
printed(*run, "--name", "first")
shutil.copytree("results/first", "results/second")
for file in Path("results/second").glob("trials/*/sessions/*/session.json"):
    record = json.loads(file.read_text())
    write_record(file, record | {"fan_rpm": 2 * record["fan_rpm"]})
results = edgebench.load("results/first")
[stored] = judge_folder(Path("results/first"), [load_profile("quiet.toml")]).trials
read = trial_from_document(json.loads(json.dumps(trial_document(stored))))
for ending in ("html", "md", "csv", "json"):
    printed("report", "results/first", "--profile", "quiet.toml", "-o", f"report.{ending}")
printed("explore", "results", "-o", "site", "--profile", "quiet.toml")
print(json.dumps({
    "stored": read.estimate("fan_rpm") == stored.estimate("fan_rpm"),
    "show": printed("show", "first"),
    "fit": printed("fit", "first", "--profile", "quiet.toml", "--details"),
    "html": Path("report.html").read_text(),
    "markdown": Path("report.md").read_text(),
    "csv": Path("report.csv").read_text(),
    "json": json.loads(Path("report.json").read_text()),
    "site": Path("site/data.js").read_text(),
    "schemas": {name: json.loads(printed("schema", name)) for name in ("session", "trial", "result")},
    "columns": edgebench.columns("summaries").to_dict("records"),
    "estimates": results.estimates().to_json(orient="records"),
    "summaries": results.summaries()["fan_rpm"].tolist(),
    "verdicts": results.verdicts("quiet.toml").to_json(orient="records"),
    "compare": printed("compare", "first", "second", "--metric", "fan_rpm"),
    "comparison": edgebench.compare(
        "results/first", "results/second", metric="fan_rpm"
    ).table.to_json(orient="records"),
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


def example() -> str:
    """File of a metric that CONTRIBUTING.md prints."""
    _, section = HOUSE.split("\n## A new metric\n", 1)
    [code] = re.findall(r"```python\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    return str(code)


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
    linked(PACKAGE, folder / "edgebench", changed | {"judge/metrics/overhead.py": example()})
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
    [cells] = csv.DictReader(io.StringIO(found["csv"]))
    assert float(cells["fan_rpm"]) == 1210.0 and float(cells["fan_rpm_max"]) == 1220.0
    [trial] = found["json"]["trials"]
    estimate = trial["estimates"]["fan_rpm"]
    assert estimate["unit"] == "1/min" and estimate["low"] < estimate["value"] < estimate["high"]
    assert estimate["session_values"] == [1200.0, 1210.0, 1220.0]
    assert found["stored"]


def test_texts_and_pages_show_it(found: dict[str, Any]) -> None:
    for name in ("show", "fit", "html", "markdown"):
        text = " ".join(found[name].split())
        assert "Fan speed" in text and "1210" in text, name
    for name in ("fit", "html", "markdown"):
        assert "fan speed max" in " ".join(found[name].split()).lower(), name


def test_explore_offers_and_shows_it(found: dict[str, Any]) -> None:
    text = found["site"]
    for wanted in ("fan_rpm", "Fan speed", "1210"):
        assert wanted in text


def test_the_example_of_the_house_measures_and_shows(found: dict[str, Any]) -> None:
    [row] = [row for row in json.loads(found["estimates"]) if row["metric"] == "overhead_s"]
    by_name = {row["metric"]: row["value"] for row in json.loads(found["estimates"])}
    assert (row["unit"], row["sessions"], row["reason"]) == ("s", 3, "")
    assert row["value"] == pytest.approx(by_name["image_s"] - by_name["infer_s"], abs=0.01)
    for name in ("html", "markdown"):
        assert "Overhead" in found[name], name
    assert "overhead_s" in found["json"]["trials"][0]["estimates"] and "overhead_s" in found["site"]


def test_a_latency_passes_the_types_that_the_house_lists() -> None:
    _, section = HOUSE.split("A latency passes twelve types", 1)
    listed, _, _ = section.partition("\n## ")
    steps = re.findall(r"^(\d+)\. (.*?)(?=^\d+\. |\Z)", listed, re.MULTILINE | re.DOTALL)
    assert [int(number) for number, _ in steps] == list(range(1, 13))
    for _, step in steps:
        [path] = re.findall(r"`([a-z_/]+\.py)`", step)
        module = importlib.import_module(f"edgebench.{path.removesuffix('.py').replace('/', '.')}")
        for name in re.findall(r"`([A-Z][A-Za-z]+)`", step):
            declared = getattr(module, name)
            if declared.__module__ != module.__name__:
                assert name in ("Estimate",), (name, path)


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
    assert [(row["unit"], row["n"], row["sessions"], row["reason"]) for row in rows] == [("1/min", 3, 3, "")]
    assert [row["value"] for row in rows] == pytest.approx(found["summaries"])


def test_a_profile_judges_by_it(found: dict[str, Any]) -> None:
    verdicts = {(row["requirement"], row["verdict"]) for row in json.loads(found["verdicts"])}
    assert verdicts == {("Fan speed", "pass"), ("Fan speed max", "fail")}
    [first, *_] = found["json"]["verdicts"]
    assert (first["limit"], first["unit"]) == (25.0, "1/s")
    assert first["value"] == pytest.approx(1210.0 / 60)


def test_results_are_compared_by_it(found: dict[str, Any]) -> None:
    rows = json.loads(found["comparison"])
    assert {(row["metric"], row["word"]) for row in rows} == {("fan_rpm", "worse")}
    text = " ".join(found["compare"].split())
    assert "Fan speed, 1/min" in text and "1210" in text and "2420" in text and "worse" in text
