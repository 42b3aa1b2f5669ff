"""Memory by variant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer

from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import drawing
from edgebench.report.plots.sessions import memory, memory_picture
from tests.report import samples
from tests.report.plots.drawn import HOSTILE, figure_of, svg_of, texts


def trial(depth: float = 0.25, target: str = "cpu", **changes: Any) -> TrialSummary:
    figures = {"memory_bytes": 131_000_000, "memory_bytes_values": (130_000_000, 132_000_000)}
    return replace(
        samples.summary(depth), target=target, **{**figures, "artifact_bytes": 3_460_000, **changes}
    )


def bars(axes: Axes) -> list[tuple[str, int, float]]:
    """Legend's name, row and length of every bar."""
    return [
        (str(drawn.get_label()), round(bar.get_y() + bar.get_height() / 2), bar.get_width())
        for drawn in axes.containers
        if isinstance(drawn, BarContainer)
        for bar in drawn.patches
    ]


def test_peak_and_file_of_each_trial_in_megabytes() -> None:
    [axes] = memory([trial(), trial(0.5, memory_bytes=None, memory_bytes_values=())])
    peak, file = "peak while it runs", "the model's file"
    assert bars(axes) == [(peak, 0, 131.0), (file, 0, 3.46), (file, 1, 3.46)]
    [spread] = [segment for each in axes.collections for segment in each.get_segments()]  # type: ignore[attr-defined]
    assert [x for x, _ in spread.tolist()] == [130.0, 132.0]
    assert axes.get_xlabel() == "memory, MB\nthin bars: lowest to highest session"
    assert {"131 MB", "3.46 MB", peak, file} <= texts(figure_of([axes]))
    assert "0.25 int8: peak memory 131 MB" in drawing.tooltips(figure_of([axes])).values()


def test_a_microcontroller_has_a_scale_of_its_own_and_like_targets_share_one() -> None:
    small = trial(target="mcu", memory_bytes=428_000, memory_bytes_values=(), artifact_bytes=300_000)
    other = trial(target="coral", memory_bytes=99_000_000, memory_bytes_values=())
    apart = memory([trial(), small])
    assert [axes.get_xlabel().split("\n")[0] for axes in apart] == ["memory, MB", "memory, kB"]
    alike = memory([trial(), other])
    assert alike[0].get_xlim() == alike[1].get_xlim() == pytest.approx((0, 1.3 * 132))


def test_without_figures_there_is_none() -> None:
    bare = trial(memory_bytes=None, memory_bytes_values=(), artifact_bytes=None)
    assert memory_picture([bare]) is None
    [axes] = memory([bare])
    assert [text.get_text() for text in axes.texts] == ["no trial has a figure of memory"]
    picture = memory_picture([trial(), trial(0.5, memory_bytes=None, memory_bytes_values=()), bare])
    assert picture is not None and "Without a peak: 1 trial." in picture.caption
    assert "0.25 int8: peak memory 131 MB" in picture.alt


def test_names_from_outside_are_drawn_as_text() -> None:
    all_axes = memory([trial(target=HOSTILE), trial(0.5)])
    assert b"<b>" not in svg_of(all_axes)
    assert all_axes[0].get_title(loc="left").startswith("$\\frac{1}$")
