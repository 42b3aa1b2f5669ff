"""What a user of Python has of a result: summaries, reasons, verdicts, missions."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import edgebench
from edgebench.errors import UsageError
from edgebench.judge.judged import judge_folder
from edgebench.judge.profile import load_profile
from edgebench.report.forms import export_csv
from tests import synthetic_results


def test_summaries_are_the_columns_of_the_csv_with_their_figures(results: edgebench.Results) -> None:
    judged = judge_folder(results.path, [])
    rows = list(csv.DictReader(io.StringIO(export_csv(judged.summaries, []))))
    frame = results.summaries()
    assert list(frame.columns) == list(rows[0])
    assert list(frame.index) == [row["key"] for row in rows] and frame.index.name == "trial"
    for name in ("image_s_median", "accuracy_low", "mean_w", "energy_j"):
        cells = [float(row[name]) if row[name] else np.nan for row in rows]
        assert frame[name].to_numpy() == pytest.approx(cells, nan_ok=True)


def test_a_column_has_its_type_though_no_trial_has_a_figure(results: edgebench.Results) -> None:
    whole = results.summaries()
    assert whole["image_s_median"].dtype == whole["energy_j"].dtype == np.dtype("float64")
    nothing = whole[whole["status"] == "not_run"]
    assert nothing["image_s_median"].isna().all() and nothing["accuracy_k"].isna().all()
    assert isinstance(whole["target"].dtype, pd.CategoricalDtype)


def test_summaries_join_the_frames_of_samples(results: edgebench.Results) -> None:
    joined = results.passes.join(results.summaries()[["variant", "precision"]], on="trial")
    assert joined["variant"].notna().all() and len(joined) == len(results.passes)


def test_a_missing_figure_has_its_reason(results: edgebench.Results) -> None:
    reasons = results.reasons().set_index(["trial", "column"])["reason"]
    frame = results.summaries()
    [unsupported] = frame.query("status == 'unsupported' and target == 'cpu'").index
    assert "12 MB" in reasons[unsupported, "image_s_median"]
    [measured] = frame.query("variant == 'mobilenet_v1-0.25-fp32' and target == 'cpu'").index
    assert "window too short" in reasons[measured, "energy_j"]
    assert (measured, "image_s_median") not in reasons.index
    assert all(pd.isna(frame.loc[trial, column]) for trial, column in reasons.index)


def test_verdicts_are_by_default_those_of_the_run(results: edgebench.Results) -> None:
    frame = results.verdicts()
    judged = judge_folder(results.path)
    assert list(frame["verdict"]) == [verdict.verdict for verdict in judged.verdicts]
    assert set(frame["profile"]) == {"disco-arctic", "disco-greenland", "disco-realtime"}
    size = frame.query("quantity == 'size_mm'").iloc[0]
    assert np.isnan(size["limit"]) and size["value_sides"] == (100.0, 80.0, 30.0)


def test_profiles_are_names_paths_or_profiles(results: edgebench.Results, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\n[[requirements]]\nname = "t"\nquantity = "image_s"\nlimit = 1e-3\n')
    mine = results.verdicts(file)
    assert set(mine["profile"]) == {"mine"} and (mine["limit"] == 1e-3).all()
    assert "fail" in set(mine["verdict"])
    several = results.verdicts([str(file), "disco-realtime", load_profile("disco-realtime")])
    assert list(several["profile"].cat.categories) == ["mine", "disco-realtime"]
    with pytest.raises(UsageError, match="two different profiles"):
        results.verdicts([file, load_profile("disco-realtime").model_copy(update={"name": "mine"})])


def test_what_is_declared_is_judged_and_stays_out_of_the_result(results: edgebench.Results) -> None:
    declared = results.verdicts("disco-realtime", declared_power="cpu=4:maximum:its label")
    assert (declared.query("quantity == 'power_peak_w' and target == 'cpu'")["declared"] == "maximum").any()
    assert not results.verdicts("disco-realtime")["declared"].eq("maximum").any()
    summaries = results.summaries(declared=["cpu=boot_s:25:typical:stop watch"])
    assert set(summaries["boot_s"].dropna()) == {25.0}
    assert results.summaries()["boot_s"].isna().all()
    with pytest.raises(UsageError):
        results.summaries(board="no such board")


def test_a_mission_has_each_figure_with_its_interval(results: edgebench.Results) -> None:
    frame = results.mission("disco-greenland", days=10)
    assert len(frame) == 6 and set(frame["profile"]) == {"disco-greenland"}
    assert (frame["duty_cycle_low"] < frame["duty_cycle"]).all()
    assert "window too short" in frame["reasons"].iloc[0]["energy_idle_j"]
    assert frame["energy_idle_j"].isna().all()
    again = results.mission("disco-greenland", days=10, trial="mobilenet_v1-0.25-fp32")
    assert len(again) == 2
    with pytest.raises(UsageError, match="0 days"):
        results.mission("disco-greenland", days=0)


def test_without_a_profile_it_says_how_to_name_one(tmp_path: Path) -> None:
    lone = edgebench.load(
        synthetic_results.made_experiment(tmp_path, variants=[synthetic_results.QUARTER[0]])
    )
    with pytest.raises(UsageError, match="no profile to judge against"):
        lone.verdicts()
    assert list(lone.verdicts("disco-realtime")["trial"].unique()) == list(lone.summaries().index)


def test_an_open_verdict_says_what_would_settle_it(results: edgebench.Results) -> None:
    frame = results.verdicts("disco-realtime")
    is_open = frame["verdict"].isin(["unknown", "inconclusive"])
    assert (frame.loc[~is_open, "settled_by"] == "").all() and (~is_open).any()
    done = frame["trial"].isin(results.trials.query("status == 'done'")["key"])
    mass = frame[done & (frame["quantity"] == "mass_g")]
    assert set(mass["verdict"]) == {"unknown"} and set(mass["settled_by"]) == {"--board NAME"}
