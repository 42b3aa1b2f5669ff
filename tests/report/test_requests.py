"""A request's own latency wherever figures are shown: documents, the CSV, tables, the terminal."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import jsonschema
import pytest

from edgebench.judge.judged import Judged, judge_folder
from edgebench.judge.summarise import trial_json
from edgebench.judge.trial_summary import RequestLatency
from edgebench.report import tables
from edgebench.report.console import make_console
from edgebench.report.document import document
from edgebench.report.forms import export_csv
from edgebench.report.markdown import export_markdown
from edgebench.report.schemas import schema
from edgebench.report.words import clean
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
    read = clean(document(queued.results, queued.summaries, queued.verdicts))
    jsonschema.Draft202012Validator(schema("result")).validate(read)
    stored = clean(trial_json(queued.summaries[0]))
    jsonschema.Draft202012Validator(schema("trial")).validate(stored)
    [row, _] = csv.DictReader(io.StringIO(export_csv(queued.summaries, queued.verdicts)))
    of_json = read["trials"][0]
    assert of_json["request_ms"] == stored["request_ms"]
    assert of_json["in_flight"] == stored["in_flight"] == float(row["in_flight"])
    assert of_json["request_ms"]["median"] == float(row["request_ms_median"])
    assert of_json["request_ms"]["p99"] == float(row["request_ms_p99"])
    assert "request_ms_values" not in stored


def test_it_has_a_table_behind_that_of_infer_s(queued: Judged) -> None:
    shown = tables.latency_tables(queued.summaries)
    assert [name for name, _, _ in shown] == ["image_s", "infer_s", "request_ms"]
    table = shown[-1][2]
    headings = [column.heading for column in table.columns]
    assert headings == ["trial", "median [ms]", "p99 [ms]", "in flight", "at most"]
    assert len(table.rows) == 2 and "-" not in table.rows[0] and table.rows[0][-1] == "4"
    assert "## request\\_ms: one request" in export_markdown(
        queued.results, queued.summaries, queued.verdicts
    )


def test_without_a_queue_there_is_no_such_table() -> None:
    assert [name for name, _, _ in tables.latency_tables(samples.nine())] == ["image_s", "infer_s"]


def test_a_row_names_its_trial_as_the_other_tables_do() -> None:
    pair = [samples.summary(target="one at a time"), samples.summary(target="queued", concurrency=4)]
    [row] = tables.requests(pair).rows
    assert row[0] == "queued: 0.25 int8 4 in flight"


def test_a_missing_p99_stands_with_its_reason() -> None:
    few = samples.summary(concurrency=2, request_ms=RequestLatency(12.34, None, 180, "n too small"))
    assert [(*row[1:3], row[-1]) for row in tables.requests([few]).rows] == [("12.3", "-", "n too small")]


def test_the_terminal_has_a_column_where_a_trial_has_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    alone = samples.summary()
    overlapping = replace(
        samples.summary(0.5), concurrency=4, in_flight=3.9, request_ms=RequestLatency(12.34, 15.2, 6000)
    )
    print_result(make_console(), [alone], [])
    assert "request" not in capsys.readouterr().out
    print_result(make_console(), [alone, overlapping], [])
    text = capsys.readouterr().out
    assert "request [ms]" in text and "12.3 (p99 15.2)" in text


@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_terminal_tells_a_lone_target_with_requests_in_flight(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    request = RequestLatency(12.34, 15.2, 6000)
    print_result(make_console(), [samples.summary(concurrency=4, in_flight=3.9, request_ms=request)], [])
    text = capsys.readouterr().out
    assert "up to 4 requests in flight at once" in text
    assert re.search("^trial ", text, re.MULTILINE), "a table has room"
    assert {"12.3", "15.2)"} <= set(text.split())
