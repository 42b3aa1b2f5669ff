"""Where figures are drawn, and what every one of them keeps to."""

from __future__ import annotations

import sys
from dataclasses import replace

import matplotlib
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from edgebench.report.plots import drawing
from edgebench.report.plots.accuracy import accuracy
from edgebench.report.plots.latency import latency, stages
from edgebench.report.renderers import html
from tests.report import samples
from tests.report.plots.drawn import HOSTILE, figure_of, is_a, points

TWO_TARGETS = [samples.summary(), replace(samples.summary(0.5), target="coral")]


def test_without_a_place_a_plot_is_one_figure_of_pyplots() -> None:
    [axes] = latency(samples.nine())
    assert pyplot.get_fignums() == [1]
    assert figure_of([axes]) is pyplot.gcf()


def test_a_report_leaves_no_figure_behind(whole) -> None:
    assert "<svg" not in html.render(whole)[:100]
    assert pyplot.get_fignums() == []


def test_a_figure_that_is_handed_in_is_filled_and_sized() -> None:
    figure = Figure()
    assert [axes.get_figure() for axes in latency(TWO_TARGETS, ax=figure)] == [figure, figure]
    assert figure.get_size_inches().tolist() == pytest.approx([7.6, 3.6])
    assert pyplot.get_fignums() == []


def test_axes_of_the_caller_are_drawn_into_and_their_figure_is_left_alone() -> None:
    figure = Figure(figsize=(9, 4))
    left, right = figure.subplots(1, 2)
    assert latency(samples.nine(), ax=left) == [left]
    assert set(points(left)) == {"fp32", "fp16", "int8"} and not points(right)
    assert left.get_legend() is not None and not figure.legends
    assert figure.get_size_inches().tolist() == [9, 4]
    assert latency(TWO_TARGETS, ax=[left, right]) == [left, right]
    part = figure.add_subfigure(figure.add_gridspec(1, 2)[1])
    assert stages(TWO_TARGETS, ax=part)[0].get_xlabel().startswith("Time per patch")


def test_fewer_axes_than_panels_are_refused_with_how_many_it_takes() -> None:
    with pytest.raises(ValueError, match=r"2 panels and ax holds 1 axes: hand in 2"):
        latency(TWO_TARGETS, ax=Figure().subplots())


def test_names_from_outside_are_text_in_axes_of_the_callers_own_look() -> None:
    with matplotlib.rc_context({"text.parse_math": True}):
        figure = Figure()
        left, right = figure.subplots(1, 2)
        accuracy([samples.summary(), replace(samples.summary(), target=HOSTILE)], ax=[left, right])
        figure.draw_without_rendering()  # as a formula it would be refused here
    assert right.get_title(loc="left").startswith("$\\frac")


def test_every_point_of_a_trial_has_an_id_of_its_own_and_its_figures_as_text() -> None:
    [axes] = latency(samples.nine(), samples.LIMITS)
    figure = figure_of([axes])
    tooltips = drawing.tooltips(figure)
    gids = [str(line.get_gid()) for line in axes.lines if is_a(line, "trial")]
    assert len(set(gids)) == 9
    assert sorted(gids) == sorted(gid for gid in tooltips if gid.startswith("trial"))
    assert "0.25 fp32: 0.322 ±0.006 s" in tooltips.values()
    svg = drawing.as_bytes(figure, "svg", outlined=False).decode()
    assert all(svg.count(f'id="{gid}"') == 1 for gid in tooltips)


def test_an_artist_without_a_figure_is_not_marked() -> None:
    with pytest.raises(ValueError, match="in no figure"):
        drawing.mark(matplotlib.lines.Line2D([], []), "trial")


def test_a_report_starts_without_pyplot() -> None:
    import subprocess

    program = "import sys, edgebench.report.renderers.html; print('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n"
