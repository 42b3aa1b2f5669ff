"""A request's own latency wherever figures are shown: documents, the CSV, tables, the terminal."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import jsonschema
import pytest

from edgebench.judge.document import trial_document
from edgebench.judge.judged import Judged, judge_folder
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.verdicts.verdict import judge_all
from edgebench.report import tables
from edgebench.report.documents import document, export_csv
from edgebench.report.renderers.markdown import export_markdown
from edgebench.report.renderers.terminal import make_console
from edgebench.report.schemas import schema
from edgebench.results.layout import SCHEMA_VERSION
from tests.report import samples
from tests.report.samples import print_result
from tests.synthetic_results import QUARTER, made_experiment


@pytest.fixture(scope="module")
def queued(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Two variants with four requests in flight."""
    folder = tmp_path_factory.mktemp("queued")
    return judge_folder(
        made_experiment(folder, variants=QUARTER[:2], concurrency=4, passes=5, rows=5, columns=5)
    )


def test_it_is_in_every_document(queued: Judged) -> None:
    profile = {"name": "mine", "requirements": [{"quantity": "request_ms", "statistic": "p99", "limit": 9.0}]}
    verdicts = judge_all(queued.trials, [Profile.from_record(profile)])
    read = document(replace(queued, verdicts=verdicts))
    jsonschema.Draft202012Validator(schema("result")).validate(read)
    stored = trial_document(queued.trials[0])
    jsonschema.Draft202012Validator(schema("trial")).validate({"schema_version": SCHEMA_VERSION, **stored})
    [row, _] = csv.DictReader(io.StringIO(export_csv(queued.trials, verdicts)))
    estimates = read["trials"][0]["estimates"]
    assert estimates["request_ms"] == stored["estimates"]["request_ms"]
    assert estimates["in_flight"]["value"] == float(row["in_flight"])
    assert estimates["request_ms"]["value"] == float(row["request_ms"])
    assert estimates["request_ms_p99"]["value"] == float(row["request_ms_p99"])
    assert "request_ms_p99" not in stored["estimates"]


def test_its_median_is_in_the_matrix_and_in_the_table_of_latency(
    queued: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    table = tables.latency(queued.trials)
    headings = [column.heading for column in table.columns]
    assert headings[:4] == [
        "Trial",
        "Inference time per image, s",
        "Latency per request, ms",
        "Requests in flight",
    ]
    assert len(table.rows) == 2 and "-" not in table.rows[0]
    assert "Latency per request, ms |" in export_markdown(queued)
    file = io.StringIO()
    print_result(make_console(file), queued.trials, [], details=True)
    assert "up to 4 requests overlap" in file.getvalue()


def test_without_a_queue_there_is_no_such_column() -> None:
    headings = [column.heading for column in tables.latency(samples.nine()).columns]
    assert not any("request" in heading.lower() for heading in headings)
