"""A wish that is missed is marked wherever verdicts are shown."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from edgebench.judge.judged import Judged
from edgebench.judge.trial import Estimate
from edgebench.judge.verdicts.verdict import Verdict
from edgebench.report.documents import document, export_csv
from edgebench.report.renderers.html import render
from edgebench.report.renderers.markdown import export_markdown
from edgebench.report.renderers.terminal import make_console
from edgebench.report.words import limit
from tests.report import samples
from tests.report.samples import print_result


def _with_a_missed_wish() -> list[Verdict]:
    """Latency passes; the peak power, which is wanted alone, is missed."""
    latency, power, *_ = samples.verdicts([samples.summary()], ("disco-realtime",))
    wish = power.requirement.model_copy(update={"wanted": True})
    missed = replace(power, requirement=wish, word="fail", estimate=Estimate(6.0), margin=-1.0)
    return [latency, replace(missed, reason="too much")]


def test_the_formula_says_it() -> None:
    _, wish = _with_a_missed_wish()
    assert limit(wish.requirement) == "peak power ≤ 5 W, wanted"


def test_the_terminal_shows_it_below_a_whole_that_passes() -> None:
    file = io.StringIO()
    print_result(make_console(file), [samples.summary()], _with_a_missed_wish(), details=True)
    text = " ".join(file.getvalue().split())
    assert "0.25 int8 satisfies it." in text and "✓ pass" in text
    assert "W, wanted" in text and "✓ +4.19 s ✕ -1.00 W" in text
    assert "fail: too much" in text


def test_csv_and_json(whole: Judged) -> None:
    trials, verdicts = [samples.summary()], _with_a_missed_wish()
    (row,) = csv.DictReader(io.StringIO(export_csv(trials, verdicts)))
    assert row["verdict:disco-realtime"] == "pass"
    assert row[f"verdict:disco-realtime:{verdicts[1].requirement.name}:wanted"] == "fail"
    assert row["verdict:disco-realtime:latency"] == "pass"
    judged = replace(whole, profiles=(), trials=trials, verdicts=verdicts)
    assert [verdict["wanted"] for verdict in document(judged)["verdicts"]] == [False, True]


def test_html_and_markdown(whole: Judged) -> None:
    verdicts = [
        replace(verdict, requirement=verdict.requirement.model_copy(update={"wanted": True}))
        for verdict in whole.verdicts
    ]
    judged = replace(whole, verdicts=verdicts)
    assert "g, wanted" in export_markdown(judged)
    assert "g, wanted" in render(judged)
