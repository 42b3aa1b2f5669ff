"""Energy and the mission: what is reckoned by hand is what is reported, and days are those of the command."""

from __future__ import annotations

import json
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests import synthetic_results
from tests.notebooks.execution import execute, pictures, require_tidy, shown

pytestmark = pytest.mark.slow

NAME = "03-energy-and-the-mission.ipynb"
FIGURES = 4
VALUES = ["rails", "check", "missions", "verdicts"]


def mission(result: Path) -> dict[tuple[str, str], Any]:
    """What `edgebench mission` prints as JSON for thirty days, by trial and profile."""
    command: list[str | Path] = [
        Path(sysconfig.get_path("scripts")) / "edgebench",
        "mission",
        result,
        "--days",
        "30",
        "--json",
    ]
    command += ["--profile", "disco-greenland", "--profile", "disco-arctic"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return {(trial["trial"], trial["profile"]): trial for trial in json.loads(done.stdout)["trials"]}


def test_energy_by_hand_and_the_days_of_the_command(
    whole_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed, values = execute(NAME, whole_demo, tmp_path, monkeypatch, VALUES)
    require_tidy(executed, [tmp_path, whole_demo])
    assert pictures(executed) == FIGURES
    assert "no figure below was measured" in shown(executed)

    assert len(values["check"]) == len(values["rails"]) == 6
    energies = {rail["trial"]: rail["energy_j"] for rail in values["rails"]}
    for row in values["check"]:
        assert row["reported, J"] == energies[row["trial"]]
        assert abs(row["difference, %"]) < 0.2

    played = mission(whole_demo)
    assert len(values["missions"]) == len(played) == 12
    for row in values["missions"]:
        trial = played[row["trial"], row["profile"]]
        for name in ("duty_cycle", "backlog", "age_s"):
            assert row[name] == pytest.approx(trial["estimates"][name]["value"], rel=1e-9)
        idle_j, off_j = (trial["estimates"][f"energy_j_{name}"]["value"] for name in ("idle", "off"))
        assert row["energy_j_idle"] == pytest.approx(idle_j, rel=1e-9)
        assert row["energy_j_off"] is None and off_j is None

    # The budget that the notebook makes up: 2 W over the day.
    greenland = {row["trial"]: row for row in values["missions"] if row["profile"] == "disco-greenland"}
    budget = [each for each in values["verdicts"] if each["requirement"] == "energy a day"]
    assert {each["verdict"] for each in budget} == {"pass", "fail"}
    for each in budget:
        fits = greenland[each["trial"]]["energy_j_idle_high"] <= 2 * 86_400
        assert each["verdict"] == ("pass" if fits else "fail")


def test_without_a_meter_it_says_so_and_plays_the_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = synthetic_results.made_experiment(
        tmp_path, unsupported=[synthetic_results.QUARTER[0]], crashed_once=[synthetic_results.QUARTER[1]]
    )
    executed, values = execute(NAME, result, tmp_path, monkeypatch, VALUES)
    require_tidy(executed, [tmp_path])
    assert "No meter in this result" in shown(executed)
    assert values["rails"] == values["check"] == []
    assert all(row["duty_cycle"] > 0 and row["energy_j_idle"] is None for row in values["missions"])
    energy = [each["verdict"] for each in values["verdicts"] if each["requirement"] == "energy a day"]
    assert set(energy) == {"unknown"}


def test_trials_that_failed_have_no_energy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = synthetic_results.made_experiment(
        tmp_path,
        targets=("cpu", "coral on the Pi"),
        variants=synthetic_results.NINE[:6],
        power=True,
        failed=[synthetic_results.NINE[3]],
        not_run=[synthetic_results.NINE[4]],
        unsupported=[synthetic_results.NINE[5]],
    )
    executed, values = execute(NAME, result, tmp_path, monkeypatch, VALUES)
    require_tidy(executed, [tmp_path])
    assert {rail["variant"] for rail in values["rails"]} == set(synthetic_results.NINE[:3])
    assert {rail["target"] for rail in values["rails"]} == {"cpu", "coral on the Pi"}
