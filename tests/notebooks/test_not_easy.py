"""The notebooks on a result that is not the easy case, compared with its files, and with a user's model."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import edgebench
from tests import synthetic_results
from tests.notebooks.execution import execute, require_tidy, shown
from tests.synthetic_results import write_record

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_results.not_easy(tmp_path_factory.mktemp("not-easy"), passes=40)


def own_model(folder: Path) -> Path:
    """A user's model, which has no depth, quick enough that its times have no third decimal."""
    result = synthetic_results.made_experiment(
        folder, image_s=dict.fromkeys(synthetic_results.QUARTER, 0.000321), power=True
    )
    record = json.loads((result / "experiment.json").read_text())
    for trial in record["trials"]:
        trial |= {"variant": f"tower-{trial['precision']}", "depth_multiplier": None}
    write_record((result / "experiment.json"), record)
    return result


def steady_files(result: Path) -> dict[tuple[str, int, int], pd.DataFrame]:
    """The steady passes of each worker of finished sessions, from the Parquet files."""
    found = {}
    for path in result.glob("trials/*/sessions/*/passes.parquet"):
        if json.loads((path.parent / "session.json").read_text())["status"] == "ok":
            rows = pq.read_table(path).to_pandas()
            for worker, own in rows[rows["phase"] == "steady"].groupby("worker"):
                found[path.parents[2].name, int(path.parent.name), int(str(worker))] = own
    return found


def test_the_first_look_leaves_failed_sessions_out(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed, values = execute("01-first-look.ipynb", result, tmp_path, monkeypatch, ["drift", "table"])
    require_tidy(executed, [tmp_path, result])
    files = steady_files(result)
    drift = pd.DataFrame(values["drift"]).groupby(["trial", "session", "worker"])
    assert set(drift.groups) == set(files)
    for key, rows in drift:
        own = files[key]  # type: ignore[index]
        relative = own["image_ns"] / own["image_ns"].median()
        assert rows["relative"].tolist() == pytest.approx(relative.tolist())
    assert len({row["trial"] for row in values["table"]}) == 9


def test_the_study_forms_no_ratio_across_batches(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["pairs", "both", "own"]
    executed, values = execute("02-the-study.ipynb", result, tmp_path, monkeypatch, names)
    require_tidy(executed, [tmp_path, result])
    medians_s: dict[str, list[float]] = {}
    for (key, _, worker), rows in steady_files(result).items():
        if worker == 0:
            medians_s.setdefault(key, []).append(rows["image_ns"].median() / 1e9)
    pairs = [row for row in values["pairs"] if row["target"] == "cpu"]
    assert [row["batch"] for row in pairs] == [1, 7]
    for row in pairs:
        for end, variant in (("", "fp32"), (" int8", "int8")):
            key = synthetic_results.key_of(f"mobilenet_v1-0.25-{variant}", "cpu", row["batch"])
            assert row[f"image_s{end}"] == pytest.approx(sum(medians_s[key]) / len(medians_s[key]))
    measured = [row for row in values["both"] if row["origin"] == "measured"]
    assert len(measured) == len(values["own"]) == 4


def test_the_study_keeps_a_users_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = own_model(tmp_path / "own")
    names = ["pairs", "models", "side_by_side", "accuracy"]
    executed, values = execute("02-the-study.ipynb", result, tmp_path, monkeypatch, names)
    require_tidy(executed, [tmp_path])
    assert [row["model"] for row in values["pairs"]] == ["tower"] and values["models"][-1] == "tower"
    summaries = edgebench.load(result).summaries()
    for value in summaries["infer_s"]:
        assert f"{value:.4g}" in shown(executed)
    assert "tower-int8" in json.dumps(values["side_by_side"]) and "tower" in json.dumps(values["accuracy"])


def test_the_mission_keeps_every_trial_and_its_energy_is_that_of_the_files(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["check", "missions", "verdicts", "rails"]
    executed, values = execute("03-energy-and-the-mission.ipynb", result, tmp_path, monkeypatch, names)
    require_tidy(executed, [tmp_path, result])
    assert len(values["check"]) == 4 and all(abs(row["difference, %"]) < 0.2 for row in values["check"])
    latencies = edgebench.load(result).summaries()["image_s"].dropna()
    for profile in ("disco-greenland", "disco-arctic"):
        assert {row["trial"] for row in values["missions"] if row["profile"] == profile} == set(
            latencies.index
        )
    assert len({row["trial"] for row in values["verdicts"]}) == 9
    table = next(text for text in map(str, executed.cells) if "cells.pivot" in text)
    assert table.count("<tr>") >= 9


def test_the_mission_of_a_result_without_a_meter_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = synthetic_results.made_experiment(tmp_path / "own", variants=synthetic_results.QUARTER[:1])
    executed, values = execute("03-energy-and-the-mission.ipynb", result, tmp_path, monkeypatch, ["verdicts"])
    require_tidy(executed, [tmp_path])
    assert "No meter in this result" in shown(executed) and "no meter" in shown(executed)
    assert {row["verdict"] for row in values["verdicts"] if row["metric"] == "storage_bytes"} == {"pass"}
