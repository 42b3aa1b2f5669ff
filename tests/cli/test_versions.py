"""`edgebench --version`: what a report of a bug needs, from the packages' own metadata."""

import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import edgebench
from edgebench import installed
from edgebench.cli.doctor import version_lines

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_stands_first_and_alone():
    assert version_lines()[0] == f"edgebench {edgebench.__version__}"
    assert all(len(line) <= 80 for line in version_lines())


def test_packages_runtimes_and_what_is_missing_are_told():
    text = " ".join(" ".join(version_lines()).split())
    core, extras = installed.requirements()
    assert {"numpy", "pyarrow"} <= set(core) and {"ai-edge-litert", "openvino", "joulescope"} <= set(extras)
    assert not {"pytest", "mypy", "ipykernel", "edgebench"} & {*core, *extras}
    missing = text.partition("not installed: ")[2].partition(" plug-ins:")[0].split(", ")
    for name in (*core, *extras):
        try:
            assert f"{name} {version(name)}" in text
        except PackageNotFoundError:
            assert name in missing


def test_the_requirements_are_those_of_the_project():
    core, _ = installed.requirements()
    assert len(core) == len(PROJECT["dependencies"])
    assert all(
        line.startswith(name)
        for line, name in zip(sorted(PROJECT["dependencies"]), sorted(core), strict=True)
    )


class Point:
    def __init__(self, name, release):
        self.dist = type("Distribution", (), {"name": name, "version": release})


def test_plug_ins_are_named_once_and_cannot_steer_a_terminal(monkeypatch):
    points = [Point("edgebench", "1"), Point("edgebench-my-board", "2.1"), Point("evil\x1b[31m", "3\n")]
    monkeypatch.setattr(installed, "entry_points", lambda group: points)
    line = version_lines()[-1]
    assert line.startswith("plug-ins: edgebench-my-board 2.1, evil")
    assert "\x1b" not in line and line.count("edgebench-my-board") == 1


@pytest.mark.parametrize("missing", [[], None])
def test_an_installation_without_metadata_still_tells_its_version(monkeypatch, missing):
    def requires(name):
        if missing is None:
            raise PackageNotFoundError(name)
        return missing

    monkeypatch.setattr(installed, "requires", requires)
    assert version_lines()[0] == f"edgebench {edgebench.__version__}"
    assert any(line == "packages: none" for line in version_lines())


def test_nothing_heavy_is_imported_for_it():
    code = (
        "import sys; sys.argv = ['edgebench', '--version']\n"
        "from edgebench.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "assert not {'numpy', 'pandas', 'matplotlib', 'ai_edge_litert', 'tensorflow'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("edgebench ")
