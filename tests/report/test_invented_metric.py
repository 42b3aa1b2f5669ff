"""A metric that is nothing but an entry in the catalogue appears wherever metrics do."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest

from edgebench.errors import UsageError
from edgebench.judge.judged import Judged
from edgebench.judge.metric import TIME_UNITS, Metric, Sampled, Shown
from edgebench.judge.metrics import METRICS
from edgebench.judge.profile import parse_profile
from edgebench.judge.summarise import trial_json
from edgebench.judge.trial_summary import TrialSummary
from edgebench.judge.verdict import judge
from edgebench.report import tables, words
from edgebench.report.document import document
from edgebench.report.forms import export_csv
from edgebench.report.markdown import escape, export_markdown
from edgebench.report.run_tables import definitions
from edgebench.report.schemas import schema

PROFILE = 'name = "mine"\n[[requirements]]\nname = "gap"\nquantity = "overhead_s"\n'


def overheads_s(trial: TrialSummary) -> list[list[float]]:
    return [
        [image - infer for image, infer in zip(*session, strict=True)]
        for session in zip(trial.image_s_values, trial.infer_s_values, strict=True)
    ]


def least_overhead_s(trial: TrialSummary) -> float | None:
    return min((value for session in overheads_s(trial) for value in session), default=None)


INVENTED = Metric(
    "overhead_s",
    "What of a scene's time is not the runtime's.",
    least_overhead_s,
    TIME_UNITS,
    source="passes.parquet",
    statistics=("median", "max"),
    judged=Sampled(overheads_s, "passes", absent="no pass was timed"),
    shown=(Shown("memory", "overhead [ms]", "milliseconds"),),
)


@pytest.fixture(autouse=True)
def _catalogued(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(METRICS, INVENTED.name, INVENTED)
    yield


def test_a_requirement_may_be_about_it(whole: Judged) -> None:
    profile = parse_profile(f'{PROFILE}limit = 1e-6\nunit = "ms"\n'.encode(), "mine.toml")
    for trial in whole.summaries:
        (verdict,) = judge(trial, profile)
        assert (verdict.verdict, verdict.statistic, verdict.unit) == ("fail", "median", "ms")
        assert verdict.low is not None
    with pytest.raises(UsageError, match="'p99' of overhead_s"):
        parse_profile(f'{PROFILE}limit = 1\nstatistic = "p99"\n'.encode(), "mine.toml")


def test_the_csv_has_its_column(whole: Judged) -> None:
    rows = list(csv.DictReader(io.StringIO(export_csv(whole.summaries, whole.verdicts))))
    for row, trial in zip(rows, whole.summaries, strict=True):
        assert float(row["overhead_s"]) == least_overhead_s(trial)


def test_the_document_has_it_or_says_why_not(whole: Judged, nothing: Judged) -> None:
    measured = document(whole.results, whole.summaries, whole.verdicts)["trials"]
    assert [trial["overhead_s"] for trial in measured] == [
        least_overhead_s(summary) for summary in whole.summaries
    ]
    assert trial_json(whole.summaries[0])["overhead_s"] == least_overhead_s(whole.summaries[0])
    for trial in document(nothing.results, nothing.summaries, nothing.verdicts)["trials"]:
        assert trial["overhead_s"] is None
        assert trial["reasons"]["overhead_s"] == "no session has run"


def test_a_table_has_its_column(whole: Judged) -> None:
    table = tables.memory(whole.summaries)
    place = [column.heading for column in table.columns].index("overhead [ms]")
    texts = [row[place] for row in table.rows]
    assert texts == [words.number(1e3 * (least_overhead_s(trial) or 0.0)) for trial in whole.summaries]
    assert escape("overhead [ms]") in export_markdown(whole.results, whole.summaries, whole.verdicts)


def test_the_page_defines_it() -> None:
    assert (INVENTED.name, INVENTED.sentence) in definitions()


def test_the_generated_schemas_describe_it() -> None:
    for described in (
        schema.__wrapped__("trial")["properties"],
        schema.__wrapped__("result")["properties"]["trials"]["items"]["properties"],
    ):
        assert described["overhead_s"] == {
            "anyOf": [{"type": "number"}, {"type": "null"}],
            "description": INVENTED.sentence,
            "x-unit": "s",
            "x-source": "passes.parquet",
        }
