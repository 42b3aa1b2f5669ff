"""Paced and sustained runs in the report."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from edgebench.judge.judged import judge_folder
from edgebench.judge.trial import Estimate, Minute, Sustained
from edgebench.report.documents import document
from edgebench.report.environment import steady_part
from edgebench.report.plots.sessions import minutes_picture, sustained
from edgebench.report.renderers.html import render
from edgebench.report.renderers.markdown import export_markdown
from tests.report import samples
from tests.report.plots.drawn import svg_of
from tests.synthetic_results import made_experiment

HOT = Sustained(
    minutes=(Minute(0, 0.20, 300), Minute(1, 0.21, 290), Minute(3, 0.23, 270)),
    first_quarter_s=0.20,
    last_quarter_s=0.23,
    ratio=1.15,
    slope_per_hour=0.4,
    suspected=True,
    because=("the last quarter took up to 1.15 times the first, more than 1.05, in 1 of 3 sessions",),
)
LATE = Estimate(2 / 30, 0.01, 0.2, n=30, notes=("2 misses in 30 passes",))


def test_the_figure_has_a_point_a_minute_and_a_line_a_trial() -> None:
    trials = [samples.summary(sustained=HOT), samples.summary(0.5, sustained=HOT), samples.summary(1.0)]
    [axes] = sustained(trials)
    drawn = [np.column_stack(line.get_data()).tolist() for line in axes.lines]
    assert drawn == [[[0.5, 0.20], [1.5, 0.21], [3.5, 0.23]]] * 2
    assert "minute" in axes.get_xlabel()
    assert svg_of([axes]) == svg_of(sustained(trials))
    picture = minutes_picture(trials)
    assert picture is not None
    assert "0.200 s in the first minute, 0.230 s in the last" in picture.alt


def test_pages_show_missed_deadlines_only_where_passes_were_paced(tmp_path) -> None:
    judged = judge_folder(made_experiment(tmp_path), [])
    assert "Missed deadlines" not in render(judged) + export_markdown(judged)
    paced = replace(judged, trials=[samples.changed(trial, deadline_misses=LATE) for trial in judged.trials])
    assert "Missed deadlines, %" in render(paced)
    assert r"| 6.67 \(1.00 to 20.00\) |" in export_markdown(paced)


@pytest.mark.parametrize(
    ("period_s", "sustained_s", "sentence"),
    [
        (None, None, "3 passes"),
        (2.5, None, "3 passes, one every 2.5 s"),
        (None, 60.0, "1 minute"),
        (10.0, 1800.0, "30 minutes, one every 10 s"),
    ],
)
def test_a_sessions_steady_part_in_words(tmp_path, period_s, sustained_s, sentence) -> None:
    record = judge_folder(made_experiment(tmp_path), []).results.experiment
    changed = record.model_copy(update={"period_s": period_s, "sustained_s": sustained_s})
    assert steady_part(changed) == sentence


def test_the_document_holds_both_or_the_reason(tmp_path) -> None:
    judged = judge_folder(made_experiment(tmp_path), [])
    first, *others = judged.trials
    first = replace(samples.changed(first, deadline_misses=LATE), sustained=HOT)
    trials: Any = document(replace(judged, trials=[first, *others]))["trials"]
    misses, lone = (trial["estimates"]["deadline_misses"] for trial in trials[:2])
    assert (misses["value"], misses["n"]) == (LATE.value, 30)
    assert trials[0]["sustained"]["minutes"][2] == {"minute": 3, "median_s": 0.23, "n": 270}
    assert lone["value"] is None and "--period" in lone["reason"] and trials[1]["sustained"] is None
    json.dumps(trials, allow_nan=False)
