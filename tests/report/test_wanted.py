"""A wish that is missed is marked wherever verdicts are shown."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from edgebench.judge.decision import decisions
from edgebench.judge.judged import Judged
from edgebench.judge.trial_summary import Verdict
from edgebench.report import words
from edgebench.report.console import make_console
from edgebench.report.document import document
from edgebench.report.forms import export_csv
from edgebench.report.html import render
from edgebench.report.listings import requirement
from edgebench.report.markdown import export_markdown
from edgebench.report.verdict_matrix import matrices
from edgebench.report.words import limit, required
from tests.report import samples
from tests.report.samples import print_result


def _with_a_missed_wish() -> list[Verdict]:
    """Latency passes; the peak power, which is wanted alone, is missed."""
    latency, power, *_ = samples.verdicts([samples.summary()], ("disco-realtime",))
    return [latency, replace(power, verdict="fail", value=6.0, margin=-1.0, reason="too much", wanted=True)]


def test_the_formula_says_it() -> None:
    _, wish = _with_a_missed_wish()
    assert limit(wish) == "power_peak_w max ≤ 5 W, wanted"
    assert required(wish) == ("power_peak_w max, wanted", "≤ 5 W")
    record = {"quantity": "mass_g", "limit": 50.0, "unit": "g", "wanted": True, "weight": 2.0}
    assert requirement(record) == "mass_g ≤ 50 g, wanted"


def test_the_terminal_shows_it_below_a_whole_that_passes() -> None:
    file = io.StringIO()
    trials, verdicts = [samples.summary()], _with_a_missed_wish()
    print_result(make_console(file), trials, verdicts, decisions(trials, verdicts, []), figures=False)
    text = " ".join(file.getvalue().split())
    assert "power_peak_w max ≤ 5 W, wanted: fail, 6.00 W, margin -1.00 W: too much" in text
    assert "0.25 int8 satisfies it" in text and "✓ pass ✓ +4.19 ✕ -1.00" in text


def test_its_column_in_the_matrix_is_marked() -> None:
    latency, power = _with_a_missed_wish()
    wish, need = replace(latency, verdict="fail", wanted=True), replace(power, verdict="pass", wanted=False)
    file = io.StringIO()
    print_result(make_console(file), [samples.summary()], [wish, need], figures=False)
    lines = file.getvalue().splitlines()
    (marked,) = [line for line in lines if "median, wanted" in line]
    (row,) = [line for line in lines if line.startswith("0.25 int8 ") and "satisfies" not in line]
    place = marked.index("median, wanted")
    assert row[place:].startswith("✕ ") and "✓ pass" in row[:place]
    (matrix,) = matrices([samples.summary()], [wish, need]).values()
    assert [column.formula for column in matrix.columns] == [words.limit(wish), words.limit(need)]
    (row_of_page,) = matrix.rows
    assert row_of_page.whole.word == "pass"
    assert [cell.word for cell in row_of_page.cells if cell] == ["fail", "pass"]


def test_csv_and_json(whole: Judged) -> None:
    summaries, verdicts = [samples.summary()], _with_a_missed_wish()
    (row,) = csv.DictReader(io.StringIO(export_csv(summaries, verdicts)))
    assert row["verdict:disco-realtime"] == "pass"
    heading = f"verdict:disco-realtime:{verdicts[1].requirement}"
    assert (row[heading], row[f"{heading}:wanted"]) == ("fail", "wanted")
    assert "verdict:disco-realtime:latency:wanted" not in row
    judged = document(whole.results, summaries, verdicts)["verdicts"]
    assert [verdict["wanted"] for verdict in judged] == [False, True]


def test_html_and_markdown(whole: Judged) -> None:
    verdicts = [replace(verdict, wanted=verdict.requirement == "mass") for verdict in whole.verdicts]
    assert any(verdict.wanted for verdict in verdicts)
    assert "g, wanted" in export_markdown(whole.results, whole.summaries, verdicts)
    assert "g, wanted" in render(whole.results, whole.summaries, verdicts)
