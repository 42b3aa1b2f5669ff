"""`edgebench.compare`: frames, words and a figure of results against a baseline."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

import edgebench
from edgebench.errors import UsageError
from edgebench.judge.comparisons.comparison import compare_results
from edgebench.report.comparison import as_text
from edgebench.results.load import load
from tests import synthetic_results
from tests.analysis.test_reprs import Tags
from tests.synthetic_results import QUARTER


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A result, and one with another seed that takes half the time for int8 and lacks fp16."""
    first, second = (tmp_path_factory.mktemp(name) for name in ("first", "second"))
    return (
        synthetic_results.made_experiment(first, name="before", sessions=5),
        synthetic_results.made_experiment(
            second, name="after", sessions=5, seed=8, image_s={QUARTER[2]: 0.1},
            variants=[QUARTER[0], QUARTER[2]],
        ),
    )  # fmt: skip


@pytest.fixture(scope="module")
def compared(two: tuple[Path, Path]) -> edgebench.Comparison:
    return edgebench.compare(*two, metric="image_s")


def test_the_table_has_the_columns_and_figures_of_the_csv(
    two: tuple[Path, Path], compared: edgebench.Comparison
) -> None:
    comparison = compare_results(list(map(load, two)), metrics=["image_s"])
    rows = list(csv.DictReader(io.StringIO(as_text(comparison, "csv"))))
    table = compared.table
    assert list(table.columns) == list(rows[0]) and len(table) == len(rows) == 2
    assert table["difference"].tolist() == pytest.approx([float(row["difference"]) for row in rows])
    int8 = table.query("variant == @QUARTER[2]").iloc[0]
    assert int8["word"] == "better" and "times faster" in int8["in_words"]
    assert isinstance(table["word"].dtype, pd.CategoricalDtype) and table["p"].dtype == "float64"


def test_it_says_what_it_comes_to(two: tuple[Path, Path], compared: edgebench.Comparison) -> None:
    back = edgebench.compare(two[1], two[0], metric=["image_s", "memory_bytes"])
    assert back.word == "worse" and back.regressed
    assert any("Worst" in sentence and "slower" in sentence for sentence in back.words)
    assert compared.undecided  # fp16 has no partner
    [lone] = compared.unpaired.to_dict("records")
    assert lone["side"] == "baseline" and lone["variant"] == QUARTER[1] and lone["reason"]
    assert {"subject", "fact", "a", "b"} < set(compared.differences.columns)


def test_a_result_against_itself_is_the_same(two: tuple[Path, Path]) -> None:
    same = edgebench.compare(edgebench.load(two[0]), two[0])
    assert same.word == "same" and not same.regressed and not same.undecided
    assert same.table["identical"].all() and same.unpaired.empty


def test_sessions_under_load_regress_only_where_they_are_included(
    two: tuple[Path, Path], tmp_path: Path
) -> None:
    slow = dict.fromkeys(QUARTER, 1.0)
    loaded = synthetic_results.made_experiment(
        tmp_path, name="loaded", sessions=5, seed=9, image_s=slow, disturbed=True
    )
    compared = edgebench.compare(two[0], loaded, metric="image_s")
    assert compared.word == "worse" and compared.undecided and not compared.regressed
    assert set(compared.table["gate"]) == {"contaminated: B has interference"}
    assert compared.table["warnings"].str.startswith("B: interference").all()
    page = compared._repr_html_()
    assert "interference: other work" in page and "worse, gate undecided" in page
    assert edgebench.compare(two[0], loaded, metric="image_s", include_contaminated=True).regressed


def test_text_and_notebook_show_a_table_a_metric(compared: edgebench.Comparison) -> None:
    text = repr(compared)
    assert "A: before" in text and "Latency per image, s, lower is better" in text and "times faster" in text
    tags = Tags(compared._repr_html_())
    assert "Latency per image, s, lower is better" in tags.texts and "▲ better" in tags.texts
    assert any("only in A" in sentence for sentence in tags.texts)


def test_hostile_names_stay_text(hostile: Path) -> None:
    shown = edgebench.compare(hostile, hostile)
    assert "script" not in Tags(shown._repr_html_()).names
    assert "\u202e" not in shown._repr_html_() + repr(shown)


def test_the_figure_is_drawn_where_it_is_told(compared: edgebench.Comparison) -> None:
    figure = Figure()
    [axes] = compared.plot(ax=figure)
    assert axes.get_figure() is figure and axes.has_data()


def test_what_cannot_be_compared_is_refused(two: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match="two results or more"):
        edgebench.compare(two[0])
    with pytest.raises(UsageError, match="unknown metric"):
        edgebench.compare(*two, metric="speed")
