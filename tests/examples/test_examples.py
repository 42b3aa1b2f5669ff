"""The examples run as they stand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgebench.judge.requirements.profile import load_profile
from edgebench.run.targets_file import read_targets

EXAMPLES = Path(__file__).parents[2] / "examples"
STEADY = ("--device", "replay", "--set", "source=steady")


def run(*command, cwd, **environment):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd, env={**os.environ, "PATH": path, **environment}, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip


def test_the_readme_names_every_example():
    text = (EXAMPLES / "README.md").read_text()
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name[0] not in "._"}
    assert all(f"({folder}/" in text for folder in folders)


def test_the_lab_has_three_boards_of_three_kinds():
    declared = read_targets(EXAMPLES / "lab" / "targets.toml").targets
    assert {target.name: target.device for target in declared} == {
        "nano": "jetson", "coral": "coral", "nucleo": "cortex-m",
    }  # fmt: skip


def test_the_profile_is_sound():
    profile = load_profile(str(EXAMPLES / "profile" / "bird-feeder.toml"))
    assert [requirement.quantity for requirement in profile.requirements] == [
        "image_s", "power_mean_w", "accuracy", "mass_g",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    """What `edgebench export` writes of a replayed result."""
    folder = tmp_path_factory.mktemp("baseline")
    measured = run("edgebench", "run", "--name", "before", "--sessions", "5", *STEADY, cwd=folder)
    assert measured.returncode == 0, measured.stderr
    packed = run("edgebench", "export", "before", "-o", "baseline.zip", cwd=folder)
    assert packed.returncode == 0, packed.stderr
    return folder / "baseline.zip"


@pytest.mark.slow
def test_the_job_passes_where_nothing_is_slower(baseline, tmp_path):
    done = run(EXAMPLES / "ci-regression" / "check.sh", baseline, *STEADY, "--set", "seed=5", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "now against baseline" in (tmp_path / "comparison.md").read_text()


@pytest.mark.slow
def test_the_job_fails_on_a_regression(baseline, tmp_path):
    scenario = (EXAMPLES / "two-boards" / "quick-board.toml").read_text()
    (tmp_path / "slow.toml").write_text(scenario.replace("image_s = 0.2\n", "image_s = 0.4\n"))
    words = ("--device", "replay", "--set", "source=slow.toml")
    done = run(EXAMPLES / "ci-regression" / "check.sh", baseline, *words, cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "worse" in (tmp_path / "comparison.md").read_text()


@pytest.mark.slow
def test_the_study_ends_with_a_figure_and_tables(tmp_path):
    study = EXAMPLES / "two-boards" / "study.py"
    done = run(sys.executable, study, "--results", "results", "-o", "figures", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 comparisons: 2 better" in done.stdout
    figures = tmp_path / "figures"
    assert (figures / "targets.pdf").read_bytes().startswith(b"%PDF")
    assert len((figures / "trials.csv").read_text().splitlines()) == 5
    again = run(sys.executable, study, "--results", "results", "-o", "figures", cwd=tmp_path)
    assert again.returncode == 0 and "session 1" not in again.stderr, "what is measured is not measured again"
    listed = json.loads(run("edgebench", "results", "--json", cwd=tmp_path).stdout)
    assert len(listed["results"]) == 2
