"""A file of its own in the catalogue's folder is all that a metric takes to appear wherever metrics do."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from markupsafe import escape
from typer.testing import CliRunner

import edgebench
from edgebench.analysis.column_descriptions import columns_of
from edgebench.cli.main import app
from edgebench.judge import metrics
from edgebench.judge.judged import judge_folder
from edgebench.judge.metric import Metric
from edgebench.report.schemas import schema
from edgebench.results.load import load
from tests.synthetic_results import QUARTER, made_experiment

FILE = '''
"""What of a scene's time is not the runtime's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgebench.judge.estimates import over_medians
from edgebench.judge.figure import Certainty, Figure
from edgebench.judge.metric import TIME_UNITS, Asked, BySession, Metric, Sampled, Shown
from edgebench.stats.intervals import session_medians

if TYPE_CHECKING:
    from edgebench.judge.trial_summary import TrialSummary


def overheads_s(trial: TrialSummary) -> list[list[float]]:
    return [
        [image - infer for image, infer in zip(*session, strict=True)]
        for session in zip(trial.image_s_values, trial.infer_s_values, strict=True)
    ]


def least_s(trial: TrialSummary) -> float | None:
    return min((value for session in overheads_s(trial) for value in session), default=None)


def figure(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    values = overheads_s(trial)
    return over_medians(session_medians(values), certainty) if values else Figure(reason="no pass was timed")


TABLES = ("matrix", "trials", "latency", "start", "accuracy", "power")
METRICS = (
    Metric(
        "overhead_s",
        "What of a scene's time is not the runtime's, the least of all passes.",
        TIME_UNITS,
        read=least_s,
        source="passes.parquet",
        label="overhead",
        statistics=("median",),
        judged=figure,
        compared=BySession(overheads_s),
        missing=lambda trial: "no pass was timed" if trial.infer_s else "",
        brought_by="--sessions N",
        shown=tuple(Shown(table) for table in TABLES),
    ),
    Metric(
        "sampled_overhead_s",
        "The same, judged by the values of the sessions.",
        TIME_UNITS,
        read=least_s,
        source="passes.parquet",
        statistics=("median", "max"),
        judged=Sampled(overheads_s, "passes", absent="no pass was timed"),
    ),
)
'''
PROFILE = """
name = "mine"
[[requirements]]
name = "gap"
quantity = "overhead_s"
limit = "1 us"
[[requirements]]
name = "largest gap"
quantity = "sampled_overhead_s"
statistic = "max"
limit = "1 us"
[[requirements]]
name = "roomy"
quantity = "sampled_overhead_s"
limit = "1 h"
"""
CACHES = (schema, columns_of)


@pytest.fixture(autouse=True)
def overhead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Metric]:
    """The metric of a file that was put into the catalogue's folder."""
    (tmp_path / "overhead.py").write_text(FILE)
    monkeypatch.setattr(metrics, "__path__", [*metrics.__path__, str(tmp_path)])
    for name, metric in metrics.catalogue().items():
        monkeypatch.setitem(metrics.METRICS, name, metric)
    for function in CACHES:
        function.cache_clear()
    yield metrics.METRICS["overhead_s"]
    for function in CACHES:
        function.cache_clear()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two results; the scenes of the second take twice as long."""
    folder = tmp_path_factory.mktemp("results")
    slow = dict.fromkeys(QUARTER, 0.6)
    return (
        made_experiment(folder, name="first", power=True, sessions=6),
        made_experiment(folder, name="second", power=True, sessions=6, image_s=slow),
    )


def call(*words: object, exit_code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "300"})
    assert done.exit_code == exit_code, done.output
    return done.stdout


def expected(folder: Path, metric: Metric) -> list[float]:
    return [metric.value(trial) for trial in judge_folder(folder).summaries]


def test_the_terminal_and_the_page_show_it(results, overhead, tmp_path):
    assert "overhead, s" in call("show", results[0])
    assert call("show", results[0], "--details").count("overhead, s") >= 3  # matrix, trials and power
    assert call("report", results[0], "--format", "md").count("overhead, s") >= 4
    call("report", results[0], "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("overhead, s") >= 4 and escape(overhead.sentence) in page


def test_csv_json_and_frame_hold_it(results, overhead):
    values = expected(results[0], overhead)
    rows = list(csv.DictReader(io.StringIO(call("report", results[0], "--format", "csv"))))
    assert [float(row["overhead_s"]) for row in rows] == values
    document = json.loads(call("show", results[0], "--json"))
    assert [trial["overhead_s"] for trial in document["trials"]] == values
    Draft202012Validator(schema("result")).validate(document)
    frame = edgebench.load(results[0]).summaries()
    assert frame["overhead_s"].tolist() == values
    assert frame["overhead_s"].dtype == "float64"


def test_what_is_missing_has_its_reason(tmp_path):
    folder = made_experiment(tmp_path, not_run=QUARTER)
    for trial in json.loads(call("show", folder, "--json"))["trials"]:
        assert trial["overhead_s"] is None
        assert trial["reasons"]["overhead_s"] == "no session has run"
    reasons = edgebench.load(folder).reasons()
    assert set(reasons.loc[reasons["column"] == "overhead_s", "reason"]) == {"no session has run"}


def test_schemas_and_documentation_describe_it(overhead):
    described = {
        "type": ["number", "null"],
        "description": overhead.sentence,
        "x-unit": "s",
        "x-source": "passes.parquet",
    }
    assert schema("trial")["properties"]["overhead_s"] == described
    assert schema("result")["properties"]["trials"]["items"]["properties"]["overhead_s"] == described
    page = edgebench.columns("summaries")
    [row] = page[page["column"] == "overhead_s"].to_dict("records")
    assert (row["unit"], row["meaning"]) == ("s", overhead.sentence)


def test_fit_judges_by_it(results, tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text(PROFILE)
    document = json.loads(call("fit", results[0], "--profile", profile, "--json", exit_code=3))
    found = {(verdict["requirement"], verdict["verdict"]) for verdict in document["verdicts"]}
    assert found == {("gap", "fail"), ("largest gap", "fail"), ("roomy", "pass")}
    assert all(verdict["low"] for verdict in document["verdicts"])
    relaxed = {entry["requirement"] for nearest in document["nearest"] for entry in nearest["relax"]}
    assert relaxed == {"gap"}  # a maximum takes more passes
    assert "overhead ≤" in call("fit", results[0], "--profile", profile, "--details", exit_code=3)
    profile.write_text(PROFILE.replace('"max"', '"p99"'))
    assert "unknown statistic" in CliRunner().invoke(app, ["profiles", "check", str(profile)]).output
    call("profiles", "new", "new", "--limit", "overhead_s=1 s", "-o", tmp_path / "new.toml")
    assert 'quantity = "overhead_s"' in (tmp_path / "new.toml").read_text()


def test_results_are_compared_by_it(results):
    text = call("compare", *results, "--metric", "overhead_s")
    assert "overhead_s [s], lower is better" in text and "slower" in text
    document = json.loads(call("compare", *results, "--metric", "overhead_s,sampled_overhead_s", "--json"))
    [result] = document["results"]
    words = [each["word"] for pair in result["pairs"] for each in pair["comparisons"]]
    assert words == ["worse"] * 2 * len(QUARTER)
    assert load(results[0]).experiment.name == "first"
