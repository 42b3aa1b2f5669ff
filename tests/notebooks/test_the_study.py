"""The study step by step: its figures are those of the commands, and its sentences hold in the data."""

from __future__ import annotations

import json
import re
import subprocess
import sysconfig
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import edgebench
from tests import synthetic_results
from tests.notebooks.conftest import DISCO
from tests.notebooks.execution import execute, pictures, read, require_tidy, shown

pytestmark = pytest.mark.slow

NAME = "02-the-study.ipynb"
FIGURES = 2
VALUES = ["summaries", "verdicts", "both", "k", "boards", "outcomes", "origin"]


@pytest.fixture(scope="module")
def study(whole_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Any]]:
    """The notebook on the demo, executed once, and its variables."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        executed, values = execute(NAME, whole_demo, folder, patch, VALUES)
    require_tidy(executed, [folder, whole_demo])
    return executed, values


def fit(result: Path) -> Any:
    """What `edgebench fit` prints as JSON, by the study's profiles."""
    command: list[str | Path] = [Path(sysconfig.get_path("scripts")) / "edgebench", "fit", result, "--json"]
    for profile in DISCO:
        command += ["--profile", profile]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 3, 5), done.stderr
    return json.loads(done.stdout)


def test_measured_figures_are_those_of_fit(study: tuple[Any, dict[str, Any]], whole_demo: Path) -> None:
    executed, values = study
    assert pictures(executed) == FIGURES
    document = fit(whole_demo)
    trials = {trial["key"]: trial for trial in document["trials"]}
    assert len(values["summaries"]) == len(trials) == 6
    for row in values["summaries"]:
        trial = trials[row["trial"]]
        estimates = trial["estimates"]
        assert row["image_s"] == pytest.approx(estimates["image_s"]["value"], rel=1e-12)
        assert row["infer_s_low"] == pytest.approx(estimates["infer_s"]["low"], rel=1e-12)
        assert row["accuracy"] == estimates["accuracy"]["value"]
    asked = [(each["trial"], each["profile"], each["requirement"]) for each in document["verdicts"]]
    shown_verdicts = {
        (each["trial"], each["profile"], each["requirement"]): each["verdict"] for each in values["verdicts"]
    }
    assert [shown_verdicts[key] for key in asked] == [each["verdict"] for each in document["verdicts"]]
    assert len(shown_verdicts) == len(asked)


def test_published_and_measured_stand_in_columns_that_say_so(study: tuple[Any, dict[str, Any]]) -> None:
    executed, values = study
    assert values["origin"] == "replayed, not measured"
    rows = {(row["origin"], row["target"], row["variant"]): row["value"] for row in values["both"]}
    assert {origin for origin, *_ in rows} == {"replayed, not measured", "published"}
    for row in values["summaries"]:
        assert rows["replayed, not measured", "replay", row["variant"]] == row["infer_s"]
    figures = edgebench.published().figures
    numbers = figures[(figures["metric"] == "infer_s") & figures["value"].notna()]
    for figure in numbers.itertuples():
        assert rows["published", figure.target, figure.variant] == pytest.approx(figure.value)
    assert len(rows) == len(values["summaries"]) + len(numbers)
    text = " ".join(shown(executed).split())
    assert "replay: no figure was measured" in text
    assert "satisfies both latency and peak power" in text and "exceeds 5 W peak" in text


def test_the_outcome_takes_all_requirements(study: tuple[Any, dict[str, Any]]) -> None:
    executed, values = study
    for row in values["outcomes"]:
        verdicts = {
            each["verdict"]
            for each in values["verdicts"]
            if (each["trial"], each["profile"]) == (row["trial"], row["profile"])
        }
        expected = "fail" if "fail" in verdicts else "pass" if verdicts == {"pass"} else "open"
        assert row["outcome"] == expected
    text = shown(executed)
    counts = Counter(row["outcome"] for row in values["outcomes"] if row["profile"] == "disco-realtime")
    words = ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("pass", "open", "fail"))
    assert f"disco-realtime: {words}" in text
    assert "quickest that is open: replay mobilenet_v1-0.25-int8" in text


def test_its_sentences_hold_in_the_data(study: tuple[Any, dict[str, Any]]) -> None:
    _, values = study
    words = " ".join(cell.source for cell in read(NAME).cells if cell.cell_type == "markdown")
    lost = {row["depth_multiplier"]: row["int8"] - row["fp32"] for row in values["k"]}
    assert lost == {0.25: -19, 0.5: -4, 1.0: 6}
    assert "six photographs" in words and "it loses nineteen" in words
    boards = {row["board"]: row for row in values["boards"]}
    known = {name: row["fits"] for name, row in boards.items() if row["fits"] != "unknown"}
    assert [name for name, fits in known.items() if fits == "yes"] == ["coral-usb"]
    assert len(known) == 5 and all(min(boards[name]["size_mm"]) > 10 for name in known if name != "coral-usb")
    assert [name for name, row in boards.items() if row["mass_g"]] == ["raspberry-pi-3b"]
    assert min(boards["coral-dev-board-mini"]["size_mm"]) == 14.6 and "14.6 mm thick" in words
    assert min(boards["raspberry-pi-3b"]["size_mm"]) == 17 and "a host that is 17 mm" in words
    limits = {each["profile"]: each["limit"] for each in values["verdicts"] if each["metric"] == "image_s"}
    assert limits["disco-realtime"] == 4.42 and round(limits["disco-arctic"], 1) == 71.7
    smallest = next(
        row["value"]
        for row in values["both"]
        if (row["target"], row["variant"]) == ("stm32h747", "mobilenet_v1-0.25-int8")
    )
    assert 10 * limits["disco-realtime"] < smallest < limits["disco-arctic"]
    assert re.search(r"Jetson Nano and Neural Compute Stick 2 fail", words)
    judged = edgebench.published().verdicts("disco-realtime")
    failed = judged[judged["verdict"] == "fail"]
    assert set(failed.loc[failed["requirement"] == "peak power", "target"]) == {"jetson-nano", "ncs2"}
    # As they are sold, with the host that a stick needs, both Corals are too thick.
    assert {"coral-mini", "coral-usb"} <= set(failed.loc[failed["requirement"] == "size", "target"])
    assert not {"coral-mini", "coral-usb"} & set(failed.loc[failed["requirement"] != "size", "target"])


def test_a_scene_of_another_size_is_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = synthetic_results.made_experiment(
        tmp_path,
        targets=("cpu", "coral on the Pi"),
        variants=synthetic_results.NINE,
        unsupported=[synthetic_results.NINE[0]],
        crashed_once=[synthetic_results.NINE[1]],
        not_run=[synthetic_results.NINE[2]],
    )
    executed, values = execute(NAME, result, tmp_path, monkeypatch, ["origin"])
    require_tidy(executed, [tmp_path])
    assert values["origin"] == "measured"
    assert pictures(executed) == FIGURES
    assert "this one 20: its times answer another question" in shown(executed)
