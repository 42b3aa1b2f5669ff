"""The first look: on a whole result, on a replay, and where figures are missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgebench.judge.judged import judge_folder
from edgebench.prepare.cache import Cache
from tests import synthetic_results
from tests.backends import replaying
from tests.notebooks.execution import execute, pictures, read, require_tidy, shown
from tests.synthetic_results import write_record

NAME = "01-first-look.ipynb"
FIGURES = 4
MOST_CODE_CELLS = 10


def test_it_is_short() -> None:
    assert sum(cell.cell_type == "code" for cell in read(NAME).cells) <= MOST_CODE_CELLS


def test_its_figures_are_those_of_the_commands(
    small_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed, values = execute(NAME, small_demo, tmp_path, monkeypatch, ["summaries", "verdicts", "drift"])
    require_tidy(executed, [tmp_path, small_demo])
    assert pictures(executed) == FIGURES
    judged = judge_folder(small_demo)
    for row, trial in zip(values["summaries"], judged.trials, strict=True):
        image_s = trial.estimate("image_s")
        assert row["image_s"] == pytest.approx(image_s.value, rel=1e-12)
        assert row["image_s_low"] == pytest.approx(image_s.low, rel=1e-12)
        assert row["accuracy"] == trial.estimate("accuracy").value
    assert [row["verdict"] for row in values["verdicts"]] == [verdict.word for verdict in judged.verdicts]
    assert {row["profile"] for row in values["verdicts"]} == {"disco-realtime"}
    # Three sessions of three passes each, of two trials: each in its own order, about its own median.
    assert len(values["drift"]) == 2 * 3 * 3
    assert {row["order"] for row in values["drift"]} == {1, 2, 3}
    assert all(0.9 < row["relative"] < 1.1 for row in values["drift"])
    text = " ".join(shown(executed).split())
    assert "replay: no figure was measured" in text
    assert "the target's description gives no mass" in text and "--board NAME" in text


@pytest.mark.slow
def test_it_runs_on_a_result_with_trials_of_every_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = synthetic_results.made_experiment(
        tmp_path,
        variants=synthetic_results.NINE,
        unsupported=[synthetic_results.NINE[0]],
        crashed_once=[synthetic_results.NINE[1]],
        not_run=[synthetic_results.NINE[2]],
    )
    executed, values = execute(NAME, result, tmp_path, monkeypatch, ["summaries"])
    require_tidy(executed, [tmp_path])
    assert pictures(executed) == FIGURES
    assert sum(row["image_s"] is None for row in values["summaries"]) == 2
    reasons = {row["reason"] for row in values["summaries"]} - {""}
    assert reasons and all(reason in " ".join(shown(executed).split()) for reason in reasons)


@pytest.mark.slow
def test_it_runs_on_own_models_whose_figures_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = synthetic_results.made_experiment(
        tmp_path, sessions=1, images=0, not_run=[synthetic_results.QUARTER[0]]
    )
    record = json.loads((result / "experiment.json").read_text())
    for trial in record["trials"]:
        trial |= {"variant": f"tower-{trial['precision']}", "depth_multiplier": None, "class_names": ["cat"]}
    write_record((result / "experiment.json"), record)
    executed, values = execute(NAME, result, tmp_path, monkeypatch, ["summaries"])
    require_tidy(executed, [tmp_path])
    assert {row["variant"] for row in values["summaries"]} == {"tower-fp32", "tower-fp16", "tower-int8"}
    assert not any("accuracy" in row for row in values["summaries"])


@pytest.mark.slow
def test_it_runs_on_a_device_that_gives_windows(
    session_cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = replaying.scenario(tmp_path, "windows = { inferences = 100 }\n")
    result = replaying.run(session_cache, tmp_path, source, name="windows")[0]
    executed, values = execute(NAME, result, tmp_path, monkeypatch, ["summaries", "drift"])
    require_tidy(executed, [tmp_path])
    [row] = values["summaries"]
    assert "image_s" not in row and row["infer_s"] > 0
    assert values["drift"] == []
