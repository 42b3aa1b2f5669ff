from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer

from edgebench.judge.trial_summary import TrialSummary
from edgebench.report.plots.power import idle_picture, idle_power
from tests.report import samples
from tests.report.plots.drawn import HOSTILE, figure_of, is_a, svg_of, texts


def metered(depth: float = 0.25, target: str = "cpu", **changes: Any) -> TrialSummary:
    rail = replace(samples.power(), **changes)
    return samples.summary(depth, power=(replace(rail, primary=False, mean_w=99.0), rail), target=target)


def bars(axes: Axes, kind: str) -> list[tuple[int, float]]:
    """Row and length of every bar of one kind."""
    patches = [
        patch for drawn in axes.containers if isinstance(drawn, BarContainer) for patch in drawn.patches
    ]
    return [
        (round(patch.get_y() + patch.get_height() / 2), patch.get_width())
        for patch in patches
        if is_a(patch, kind)
    ]


def test_a_pair_of_bars_a_trial_with_the_figures_of_its_primary_rail() -> None:
    summaries = [metered(), metered(0.5, mean_w=8.25, mean_low_w=8.0, mean_high_w=8.5, idle_w=None)]
    [axes] = idle_power([*summaries, samples.summary(1.0), metered(1.0, mean_w=None)])
    assert bars(axes, "active") == [(0, 12.4), (1, 8.25)]
    assert bars(axes, "idle") == [(0, 3.2)]
    [interval] = [list(line.get_xdata()) for line in axes.lines]  # type: ignore[arg-type]
    assert interval == [8.0, 8.5]
    assert {"12.4", "8.25", "3.20", "idle", "active"} <= texts(figure_of([axes]))
    assert axes.get_xlabel() == "power of the chip, W\nthin bars: 95 % intervals"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0.25 int8", "0.5 int8"]


def test_scopes_and_targets_have_panels_of_their_own_and_one_scale_a_scope() -> None:
    summaries = [metered(), metered(0.5, scope="wall", mean_w=40.0), metered(target="nano", mean_w=20.0)]
    all_axes = idle_power(summaries)
    assert [axes.get_xlabel() for axes in all_axes] == [
        "power of the chip, W", "power at the wall, W", "power of the chip, W",
    ]  # fmt: skip
    scales = [axes.get_xlim()[1] for axes in all_axes]
    assert scales[0] == scales[2] == pytest.approx(22.4) and scales[1] == pytest.approx(44.8)


def test_without_a_meter_there_is_no_figure_and_without_a_mean_there_is_the_reason() -> None:
    assert idle_picture(samples.nine()) is None
    picture = idle_picture([metered(mean_w=None)])
    assert picture is not None and picture.figure is None and "no trial has a mean power" in picture.caption
    picture = idle_picture([metered(idle_w=None), metered(0.5)])
    assert picture is not None and picture.figure is not None
    assert "Without an idle power: 1 trial." in picture.caption
    assert "0.5 int8: active 12.4 W; 0.5 int8: idle 3.20 W" in picture.alt


def test_names_from_outside_are_drawn_as_text() -> None:
    summaries = [metered(scope=HOSTILE, target=HOSTILE), metered(0.5)]
    all_axes = idle_power(summaries)
    assert b"<b>" not in svg_of(all_axes)
    assert all_axes[0].get_title(loc="left").startswith("$")
