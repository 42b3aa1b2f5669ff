"""Frames of a result: estimates, summaries, classes, verdicts, missions."""

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
from edgebench.judge.requirements.profile import load_profile
from edgebench.report.documents import export_csv
from edgebench.stats.compare import wilson
from tests import synthetic_results


def test_summaries_are_the_columns_of_the_csv_with_their_numbers(results: edgebench.Results) -> None:
    rows = list(csv.DictReader(io.StringIO(export_csv(results.trial_list(), []))))
    frame = results.summaries()
    assert ["trial", *frame.columns] == list(rows[0])
    assert list(frame.index) == [row["trial"] for row in rows] and frame.index.name == "trial"
    for name in ("image_s", "accuracy_low", "power_mean_w", "memory_bytes"):
        cells = [float(row[name]) if row[name] else np.nan for row in rows]
        assert frame[name].to_numpy() == pytest.approx(cells, nan_ok=True)


def test_summaries_are_the_tidy_table_turned_around(results: edgebench.Results) -> None:
    tidy, wide = results.estimates(), results.summaries()
    assert len(tidy) == sum(len(trial.estimates) for trial in results.trial_list())
    own = tidy[tidy["worker"].isna() & (tidy["stage"] == "") & tidy["value"].notna()]
    first = own.drop_duplicates(["trial", "metric", "statistic"]).set_index(["trial", "metric"])["value"]
    for metric in ("image_s", "accuracy", "power_mean_w", "memory_bytes"):
        turned = first.xs(metric, level="metric").astype("float64")
        assert wide[metric].dropna().to_dict() == turned.to_dict()
    assert tidy.loc[tidy["metric"] == "accuracy", "unit"].eq("1").all()
    assert wide["accuracy"].dropna().between(0, 1).all()
    asked = results.estimates("disco-greenland")
    assert set(asked["profile"]) >= {""} and len(asked) >= len(tidy)


def test_a_column_has_its_type_and_one_without_a_value_is_left_out(results: edgebench.Results) -> None:
    whole = results.summaries()
    assert whole["image_s"].dtype == whole["power_mean_w"].dtype == np.dtype("float64")
    nothing = whole[whole["status"] == "not_run"]
    assert nothing["image_s"].isna().all() and nothing["accuracy"].isna().all()
    assert isinstance(whole["target"].dtype, pd.CategoricalDtype)
    assert not {"mass_g", "energy_j", "artifact_bytes_low"} & set(whole.columns)


def test_classes_have_their_recall(results: edgebench.Results) -> None:
    classes, predictions = results.classes(), results.predictions
    assert list(classes.columns) == [
        "trial", "worker", "set", "class", "n", "right", "recall", "low", "high",
    ]  # fmt: skip
    [trial, *_] = results.trial_list()
    own = classes[(classes["trial"] == trial.key) & (classes["set"] == "images")]
    last = predictions[(predictions["trial"] == trial.key) & (predictions["set"] == "images")]
    last = last[last["session"] == last["session"].max()]
    for row in own.to_dict("records"):
        rows = last[last["label_name"] == row["class"]]
        assert (row["n"], row["right"]) == (len(rows), (rows["label"] == rows["predicted"]).sum())
        assert row["recall"] == row["right"] / row["n"] and row["low"] <= row["recall"] <= row["high"]
        assert (row["low"], row["high"]) == wilson(row["right"], row["n"])


def test_summaries_join_the_frames_of_samples(results: edgebench.Results) -> None:
    joined = results.passes.join(results.summaries()[["variant", "precision"]], on="trial")
    assert joined["variant"].notna().all() and len(joined) == len(results.passes)


def test_a_missing_number_has_its_reason(results: edgebench.Results) -> None:
    tidy, trials = results.estimates(), results.trials.set_index("key")
    missing = tidy[tidy["value"].isna() & tidy["low"].isna() & tidy["high"].isna()]
    assert (missing["reason"] != "").all()
    reasons = missing.set_index(["trial", "metric"])["reason"]
    [unsupported] = trials.query("status == 'unsupported' and target == 'cpu'").index
    assert "12 MB" in reasons[unsupported, "image_s"]
    [measured] = trials.query("variant == 'mobilenet_v1-0.25-fp32' and target == 'cpu'").index
    assert "window too short" in reasons[measured, "energy_j"]
    assert (measured, "image_s") not in reasons.index


def test_verdicts_are_by_default_those_of_the_run(results: edgebench.Results) -> None:
    frame = results.verdicts()
    judged = judge_folder(results.path)
    assert list(frame["verdict"]) == [verdict.word for verdict in judged.verdicts]
    assert set(frame["profile"]) == {"disco-arctic", "disco-greenland", "disco-realtime"}
    size = frame.query("metric == 'size_mm'").iloc[0]
    assert size["value"] in (100.0, 80.0, 30.0) and size["margin"] == size["limit"] - size["value"]


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
    peaks = declared.query("metric == 'power_peak_w' and target == 'cpu'")
    assert (peaks["basis"] == "declared maximum").any()
    assert not results.verdicts("disco-realtime")["basis"].eq("declared maximum").any()
    summaries = results.summaries(declared=["cpu=boot_s:25:typical:stop watch"])
    assert set(summaries["boot_s"].dropna()) == {25.0}
    assert "boot_s" not in results.summaries()
    with pytest.raises(UsageError):
        results.summaries(board="no such board")


def test_a_mission_has_each_figure_with_its_interval(results: edgebench.Results) -> None:
    frame = results.mission("disco-greenland", days=10)
    assert len(frame) == 6 and set(frame["profile"]) == {"disco-greenland"}
    assert (frame["duty_cycle_low"] < frame["duty_cycle"]).all()
    assert "window too short" in frame["reasons"].iloc[0]["energy_j_idle"]
    assert frame["energy_j_idle"].isna().all()
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


def test_a_verdict_has_its_next_steps(results: edgebench.Results) -> None:
    frame = results.verdicts("disco-realtime")
    assert (frame.loc[frame["verdict"] == "pass", "next_steps"] == "").all()
    done = frame["trial"].isin(results.trials.query("status == 'done'")["key"])
    mass = frame[done & (frame["metric"] == "mass_g")]
    assert set(mass["verdict"]) == {"unknown"}
    assert mass["next_steps"].str.contains("--board NAME", regex=False).all()
