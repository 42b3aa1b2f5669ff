"""`results.plot`: every figure of the report, by a method each."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import edgebench
from edgebench.analysis.plots import Plots, TrialPlots
from edgebench.errors import StoredResultError, UsageError
from edgebench.report import plots as figures
from edgebench.report.plots import drawing
from tests import synthetic_results

matplotlib.use("Agg")
from matplotlib import pyplot

OF_ONE_PROFILE = ("mission",)
EMPTY = ("energy", "sustained")  # of short passes without a pause
INNER = {
    "draw_against_accuracy",
    "draw_panels",
    "open_panels",
    "power_over_time",
    "ratios",
    "history",
    "timeline",
}
"""Functions of report/plots that are no method of one result: parts of figures, and figures of several."""


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def methods(kind: type = Plots) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_")]


def drawn(results: edgebench.Results, name: str, **options: object) -> list[Axes]:
    if name in OF_ONE_PROFILE:
        options["profile"] = "disco-greenland"
    axes = getattr(results.plot, name)(**options)
    return [axes] if isinstance(axes, Axes) else list(axes)


@pytest.mark.parametrize("name", methods())
def test_each_draws_and_returns_axes_of_a_figure_that_pyplot_shows(
    results: edgebench.Results, name: str
) -> None:
    axes = drawn(results, name)
    assert axes and all(isinstance(panel, Axes) for panel in axes)
    if name in EMPTY:
        assert "no trial" in axes[0].texts[0].get_text()
    else:
        assert any(panel.has_data() or panel.images for panel in axes)
    assert pyplot.get_fignums() and axes[0].get_figure(root=True) is pyplot.gcf()
    assert drawing.as_bytes(axes[0].get_figure(root=True), "svg", outlined=False)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", methods())
def test_each_draws_where_it_is_told_what_it_is_told(results: edgebench.Results, name: str) -> None:
    figure = Figure()
    axes = drawn(results, name, target="cpu", variant=synthetic_results.NINE[0], ax=figure)
    assert all(panel.get_figure(root=True) is figure for panel in axes) and not pyplot.get_fignums()
    if name in ("latency", "accuracy", "stages"):
        [panel] = drawn(results, name, target=["cpu"], ax=Figure().subplots())
        assert panel.get_title() == ""  # of one target


@pytest.mark.parametrize("name", methods())
def test_each_says_what_it_draws(name: str) -> None:
    method = getattr(Plots, name)
    assert inspect.getdoc(method) and {"target", "variant", "ax"} <= set(inspect.signature(method).parameters)


def test_every_figure_of_the_report_has_its_method() -> None:
    """A figure is a public function of report/plots that may be drawn into axes of the caller."""
    made: set[str] = set()
    for module in pkgutil.iter_modules(figures.__path__):
        functions = inspect.getmembers(
            importlib.import_module(f"{figures.__name__}.{module.name}"), inspect.isfunction
        )
        made |= {name for name, function in functions if "ax" in inspect.signature(function).parameters}
    assert {name for name in made if not name.startswith("_")} - INNER == set(methods()) - {"power"}


def test_results_and_several_of_them_list_their_figures(results: edgebench.Results) -> None:
    assert set(methods(TrialPlots)) | {"power", "scene"} == set(dir(results.plot)) & set(methods())
    assert not hasattr(edgebench.concat([results]).plot, "power")


def test_what_no_trial_has_is_refused_with_the_names_that_there_are(results: edgebench.Results) -> None:
    with pytest.raises(UsageError, match="no target 'gpu'") as caught:
        results.plot.latency(target="gpu")
    assert "coral on the Pi" in caught.value.fix
    with pytest.raises(UsageError, match="no variant"):
        results.plot.stages(variant=["mobilenet_v1-0.25-fp32", "mobilenet"])


def test_latency_has_the_limits_of_the_profiles(results: edgebench.Results, tmp_path: Path) -> None:
    def lines(**options: object) -> set[str]:
        [panel] = results.plot.latency(target="cpu", ax=Figure().subplots(), **options)  # type: ignore[arg-type]
        return {text.get_text() for text in panel.texts}

    profile = tmp_path / "near.toml"
    profile.write_text(
        'name = "near"\n[[requirements]]\nname = "t"\nquantity = "image_s"\nlimit = 300\nunit = "ms"\n'
    )
    assert any("near: 0.3 s" in text for text in lines(profile=profile))
    assert not any("near" in text for text in lines())


def test_a_figure_of_one_profile_asks_which(results: edgebench.Results) -> None:
    with pytest.raises(UsageError, match="of one profile, and there are 3") as caught:
        results.plot.mission()
    assert "disco-realtime" in caught.value.fix


def test_the_scene_of_several_workers_is_that_of_one(
    results: edgebench.Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = edgebench.Results.table

    def of_two_workers(self: edgebench.Results, *arguments: object) -> pd.DataFrame:
        rows = table(self, *arguments)  # type: ignore[arg-type]
        return pd.concat([rows, rows.assign(worker=1, predicted=0)])

    [alone] = drawn(results, "scene", ax=Figure())
    monkeypatch.setattr(edgebench.Results, "table", of_two_workers)
    [shared] = drawn(results, "scene", ax=Figure())
    assert np.array_equal(shared.images[1].get_array(), alone.images[1].get_array())  # type: ignore[arg-type]


def test_without_anything_to_draw_it_says_so(tmp_path: Path) -> None:
    folder = synthetic_results.made_experiment(tmp_path, not_run=synthetic_results.QUARTER)
    nothing = edgebench.load(folder)
    [panel] = nothing.plot.latency(ax=Figure())
    assert [text.get_text() for text in panel.texts] == ["no trial has a time"]
    with pytest.raises(StoredResultError, match="no picture of the scene"):
        nothing.plot.scene(ax=Figure())
