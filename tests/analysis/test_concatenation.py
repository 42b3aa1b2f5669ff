"""Several results as one: the same frames, with a column that says of which result a row is."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import edgebench
from edgebench.analysis.concatenation import ConcatenatedResults
from edgebench.analysis.frames import stacked
from edgebench.errors import UsageError
from tests import synthetic_results

FRAMES = ("trials", "sessions", "passes", "batches", "windows", "probes", "predictions")
VARIANT = [synthetic_results.QUARTER[0]]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Results of one trial, of the same name, one without predictions of images and without a meter."""
    first, second = (tmp_path_factory.mktemp(name) for name in ("first", "second"))
    return (
        synthetic_results.made_experiment(first, variants=VARIANT, power=True),
        synthetic_results.made_experiment(second, variants=VARIANT, images=0, targets=("cpu", "other")),
    )


@pytest.fixture(scope="module")
def both(two: tuple[Path, Path]) -> ConcatenatedResults:
    return edgebench.concat(two)


def test_each_frame_holds_the_rows_of_both(two: tuple[Path, Path], both: ConcatenatedResults) -> None:
    first, second = map(edgebench.load, two)
    for name in FRAMES:
        whole, parts = getattr(both, name), (getattr(first, name), getattr(second, name))
        assert whole.index.names == ["result", "trial"]
        assert list(whole.index.get_level_values("result")) == ["made"] * len(parts[0]) + ["made (2)"] * len(
            parts[1]
        )
        for column in parts[0].columns.intersection(parts[1].columns).drop("trial", errors="ignore"):
            kinds = {part[column].dtype for part in (*parts, whole)}
            assert len(kinds) == 1 or all(isinstance(kind, pd.CategoricalDtype) for kind in kinds), column
            values = [value for part in parts for value in part[column].astype("object")]
            assert list(whole[column].astype("object").map(repr)) == list(map(repr, values))


def test_computed_frames_hold_both_too(both: ConcatenatedResults) -> None:
    def named(frame: pd.DataFrame) -> list[str]:
        return list(frame.index.get_level_values("result"))

    assert named(both.summaries()) == ["made", "made (2)", "made (2)"]
    assert both.summaries().index.names == ["result", "trial"] and both.summaries().index.is_unique
    assert set(named(both.verdicts("disco-realtime"))) == {"made", "made (2)"}
    assert len(both.mission("disco-greenland", days=5)) == 3
    assert set(named(both.estimates())) == {"made", "made (2)"}
    assert set(named(both.classes())) == {"made", "made (2)"}
    assert set(named(both.rails())) == {"made"}


def test_results_have_the_names_that_they_are_given(two: tuple[Path, Path]) -> None:
    named = edgebench.concat({"before": two[0], "after": edgebench.load(two[1])})
    assert list(named.results) == ["before", "after"]
    assert "before = made: 1 trial of 1 target" in repr(named)
    axes = named.plot.stages()
    titles = {panel.get_title("left") for panel in axes}
    assert titles == {"before: cpu", "after: cpu", "after: other"}


def test_a_metric_is_followed_from_result_to_result(both: ConcatenatedResults) -> None:
    panels = both.plot.history("infer_s", target="cpu", ax=Figure())
    assert len(panels) >= 1 and all(panel.has_data() for panel in panels)
    with pytest.raises(UsageError, match="there is no metric"):
        both.plot.history("infer")
    with pytest.raises(UsageError, match="no history is kept of accuracy_balanced"):
        both.plot.history("accuracy_balanced")
    with pytest.raises(UsageError, match="no result has"):
        both.plot.history(target="nano")


def test_a_date_without_a_zone_is_utc_as_in_the_list_of_results(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        edgebench.Results(path, edgebench.load(path).experiment.model_copy(update={"created_utc": created}))
        for path, created in zip(two, ("2025-03-01T12:00:00", "2025-03-01T05:00:00Z"), strict=True)
    )
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        axes, *_ = edgebench.concat([first, second]).plot.history("infer_s", target="cpu", ax=Figure())
    finally:
        monkeypatch.undo()
        time.tzset()
    earlier, later = np.asarray(axes.lines[0].get_xdata(), dtype=float)
    assert later - earlier == pytest.approx(7 / 24)


def test_whole_numbers_stay_whole_where_a_frame_lacks_a_column() -> None:
    exact = 2**53 + 1  # not a float64
    frames = {
        "a": pd.DataFrame({"trial": ["x"], "ns": [exact], "ok": [True]}),
        "b": pd.DataFrame({"trial": ["x"], "other": [0.5]}),
    }
    whole = stacked(frames)
    assert whole["ns"].iloc[0] == exact and str(whole["ns"].dtype) == "Int64" and pd.isna(whole["ns"].iloc[1])
    assert str(whole["ok"].dtype) == "boolean"


def test_nothing_cannot_be_put_together() -> None:
    with pytest.raises(UsageError, match="no results"):
        edgebench.concat([])
