"""The figure of a history: values with intervals by date, a level between changes, the changes marked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from edgebench.judge.comparisons.history import history as followed
from edgebench.report.plots import drawing
from edgebench.report.plots.history import history
from edgebench.results.listing import list_results
from tests.judge.histories import put_series, template
from tests.report.plots.drawn import HOSTILE


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    put_series(folder / "results", template(folder / "made"), [1.0] * 5 + [1.1, 1.101, 1.1, 1.099, 1.1])
    return followed(list_results(folder / "results")[0])


def test_a_panel_a_series_with_levels_and_the_change(series) -> None:
    all_axes = history(series, ax=Figure())
    assert [axes.get_title(loc="left") for axes in all_axes] == [f"cpu: {each.variant}" for each in series]
    axes, each = all_axes[0], series[0]
    [values, *_] = axes.lines
    assert np.asarray(values.get_ydata()).tolist() == pytest.approx([point.value for point in each.results])
    drawn = [np.asarray(line.get_ydata()) for line in axes.lines if line.get_linestyle() == "-"]
    levels = [ends[0] for ends in drawn if len(ends) == 2]
    assert levels == pytest.approx([each.changes[0].before, each.changes[0].after])
    [mark] = [text.get_text() for text in axes.texts]
    assert mark == "+10.0 % worse"
    assert axes.get_ylabel() == "Latency per image, s\nbars: 95 % intervals"
    assert all_axes[-1].get_xlabel() == "begun (UTC)"


def test_what_has_no_date_is_drawn_in_its_order(series) -> None:
    undated = replace(series[0], results=tuple(replace(point, begun_utc="") for point in series[0].results))
    [axes] = history([undated], ax=Figure())
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == list(range(10))
    assert axes.get_xlabel() == "results, oldest first"


def test_a_value_without_an_interval_has_no_caps(series) -> None:
    first, *others = series[0].results
    bare = replace(first, low=None, high=None)
    [axes] = history([replace(series[0], results=(bare, *others))], ax=Figure())
    _, lower_caps, upper_caps, *_ = axes.lines
    for caps in (lower_caps, upper_caps):
        assert np.isnan(np.asarray(caps.get_ydata(), dtype=float)).tolist() == [True, *[False] * len(others)]


def test_hostile_names_and_nothing_at_all_are_drawn(series) -> None:
    figure = Figure()
    history([replace(series[0], variant=HOSTILE, target=HOSTILE), series[1]], ax=figure)
    assert b"<script" not in drawing.as_bytes(figure, "svg")
    [axes] = history([], ax=Figure())
    assert [text.get_text() for text in axes.texts] == ["no result has the metric"]
