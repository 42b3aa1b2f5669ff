from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes

from edgebench.judge.trial_summary import Verdict
from edgebench.report.plots.limits import limits, limits_picture, multiple_of
from tests.report import samples
from tests.report.plots.drawn import is_a


def latency(**changes: object) -> Verdict:
    return replace(samples.latency(samples.summary(), "disco-realtime"), **changes)  # type: ignore[arg-type]


def drawn(axes: Axes, limit: bool = False) -> list[list[float]]:
    """The ends of each line of two points: the limit's, or the intervals'."""
    lines = [np.asarray(line.get_xdata()).tolist() for line in axes.lines if is_a(line, "limit") == limit]
    return [ends for ends in lines if len(ends) == 2]


def arrows(all_axes: Sequence[Axes]) -> list[float]:
    """Which way each arrow points, in points."""
    return [text.get_position()[0] for axes in all_axes for text in axes.texts]


def test_a_figure_is_a_multiple_of_its_limit() -> None:
    multiple = multiple_of(latency(limit=4.0, value=1.0, low=0.5, high=6.0))
    assert (multiple.low, multiple.value, multiple.high) == (0.125, 0.25, 1.5)
    # A body is turned: its longest side is held against the longest that is allowed.
    body = latency(limit=(10.0, 70.0, 80.0), value=(40.0, 5.0, 77.0), low=None, high=None)
    assert multiple_of(body).ends == [pytest.approx(77 / 80)]
    assert multiple_of(latency(value=None, low=None, high=None)).ends == []


def test_every_known_requirement_has_a_panel_on_one_axis_with_the_limit_at_1() -> None:
    summaries = samples.nine()
    verdicts = samples.verdicts(summaries, ("disco-realtime",))
    power = [
        replace(each, verdict="fail", value=6.0, low=6.0, margin=-1.0, wanted=True, reason="")
        for each in verdicts
        if each.quantity == "power_peak_w"
    ]
    latencies = [each for each in verdicts if each.quantity == "image_s"]
    names = {summary.key: f"trial {number}" for number, summary in enumerate(summaries)}
    all_axes = limits({"latency": latencies, "power": power}, names)
    titles = [axes.get_title(loc="left") for axes in all_axes]
    assert titles == ["image_s median ≤ 4.42 s", "power_peak_w max ≤ 5 W, wanted"]
    for axes in all_axes:
        assert drawn(axes, limit=True) == [[1.0, 1.0]]
        assert axes.get_xscale() == "log"  # 0.05 to 1.2 times
        assert axes.get_xlim() == all_axes[0].get_xlim()
    assert len(arrows(all_axes)) == 9 and min(arrows(all_axes)) > 0  # nothing bounds the power above


def test_bounds_are_arrows_and_no_value_is_made_up() -> None:
    above = latency(value=None, low=5.0, high=None, bound="above", verdict="fail", margin=None)
    below = replace(above, low=None, high=4.0, bound="at most", verdict="pass")
    all_axes = limits({"latency": [above, below]}, {above.trial: "a"})
    first, second = arrows(all_axes)
    assert first > 0 > second
    assert drawn(all_axes[0]) == []


def test_what_is_not_above_0_is_drawn_at_the_edge_of_a_logarithmic_axis() -> None:
    share = latency(quantity="failed_sessions", unit="1", limit=0.01, value=0.0, low=0.0, high=0.4)
    all_axes = limits({"failures": [share]}, {share.trial: "a"})
    (axes,) = all_axes
    assert axes.get_xscale() == "log"
    assert drawn(axes) == [[axes.get_xlim()[0], 40.0]]


def test_the_caption_names_what_is_not_known() -> None:
    summaries = samples.nine()
    picture = limits_picture(summaries, samples.verdicts(summaries, ("disco-realtime",)), "disco-realtime")
    assert picture is not None
    assert "Not known of any trial: power_peak_w max ≤ 5 W; mass_g ≤ 150 g; size_mm" in picture.caption
    assert "0.25 fp32: pass, 0.322 ±0.006 s" in picture.alt
    many = [replace(samples.summary(), key=f"{number:016x}") for number in range(130)]
    picture = limits_picture(
        many, [samples.latency(each, "disco-realtime") for each in many], "disco-realtime"
    )
    assert picture is not None and "The first 60 trials of a requirement are drawn" in picture.caption
    unknown = samples.without_value(samples.summary(), "disco-realtime")
    assert limits_picture([samples.summary()], unknown, "disco-realtime") is None
