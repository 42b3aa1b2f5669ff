"""What an installed EdgeBench contains, and what the project pins."""

import contextlib
import functools
import os
import re
import runpy
import shutil
import subprocess
import tomllib
from importlib.metadata import entry_points
from importlib.metadata import version as installed_version
from pathlib import Path
from unittest import mock

import pytest

import edgebench
from edgebench.installed import shipped_folder
from edgebench.testing.scaffold import FILES

ROOT = Path(__file__).parents[1]
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text())
TOOL = SETUP["tool"]["setuptools"]


def folder_of(package):
    own = {
        "edgebench.reference": ROOT / "results" / "reference",
        "edgebench.backends": ROOT / "backends",
        "edgebench.template": ROOT / "examples" / "backend-template",
    }
    for name, folder in own.items():
        if package == name or package.startswith(f"{name}."):
            return folder.joinpath(*package.removeprefix(name).split("."))
    return ROOT.joinpath(*package.split("."))


@functools.cache
def packages():
    """What setup.py hands to setuptools."""
    with contextlib.chdir(ROOT), mock.patch("setuptools.setup") as setup:
        runpy.run_path("setup.py")
    return set(setup.call_args.kwargs["packages"])


def test_every_package_is_installed():
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.glob("edgebench/**/__init__.py")}
    found |= {
        ".".join(("edgebench", *path.parent.relative_to(ROOT).parts))
        for path in ROOT.glob("backends/**/__init__.py")
    }
    # These are no packages: their files are data, for `edgebench new` and `edgebench fit --reference`.
    assert found | {"edgebench.template", "edgebench.reference"} == packages()


def test_every_data_file_is_installed():
    listed = {
        path
        for package, patterns in TOOL["package-data"].items()
        for pattern in patterns
        for path in folder_of(package).glob(pattern)
    }
    missing = [
        str(path.relative_to(ROOT))
        for package in packages()
        for path in folder_of(package).rglob("*")
        if path.is_file() and path not in listed and path.suffix not in {".py", ".pyc"} and not left(path)
    ]
    assert not missing


def left(path):
    """What tools leave behind where the template is tried in its place."""
    return any(part.startswith(".") or part.endswith(".egg-info") for part in path.relative_to(ROOT).parts)


def test_the_template_is_installed_as_it_is_listed():
    folder = folder_of("edgebench.template")
    patterns = TOOL["package-data"]["edgebench.template"]
    assert {path.relative_to(folder).as_posix() for one in patterns for path in folder.glob(one)} == set(
        FILES
    )


@pytest.mark.parametrize(
    ("package", "inside", "checkout"),
    [("edgebench.reference", "reference", "results/reference"),
     ("edgebench.template", "template", "examples/backend-template")],
)  # fmt: skip
def test_data_is_found_in_a_checkout_and_where_it_is_installed(
    tmp_path, monkeypatch, package, inside, checkout
):
    assert shipped_folder(inside, checkout=checkout) == ROOT / checkout == folder_of(package)
    (tmp_path / "edgebench" / inside).mkdir(parents=True)
    monkeypatch.setattr("edgebench.installed.__file__", str(tmp_path / "edgebench" / "installed.py"))
    assert shipped_folder(inside, checkout=checkout) == tmp_path / "edgebench" / inside
    (tmp_path / "edgebench" / inside).rmdir()
    assert shipped_folder(inside, checkout=checkout) is None


def test_the_version_stands_in_one_place():
    assert "version" in SETUP["project"]["dynamic"]
    assert SETUP["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "edgebench.version.__version__"}
    assert installed_version("edgebench") == edgebench.__version__
    assert f"\nversion: {edgebench.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest and newest[1] == edgebench.__version__


def test_the_kit_is_a_plug_in():
    [home] = SETUP["project"]["entry-points"]["pytest11"].values()
    assert (ROOT / Path(*home.split("."))).with_suffix(".py").is_file()


@pytest.mark.parametrize("group", ["edgebench.backends", "edgebench.probes"])
def test_the_entry_points_that_are_seen_are_those_of_the_project(group):
    seen = {point.name: point.value for point in entry_points(group=group) if of_the_project(point)}
    expected = SETUP["project"]["entry-points"][group]
    assert seen == expected, "install anew, and remove edgebench.egg-info from the tree's root: CONTRIBUTING"


def of_the_project(point):
    return point.dist is not None and point.dist.name == "edgebench"


INSTALLS = """#!/bin/sh
mkdir -p .venv/bin && cp "$0" .venv/bin/python
echo "${0##*/} $*" >> calls
"""


@pytest.mark.parametrize("uv", ["", "uv"])
def test_make_installs_anew_after_an_update_and_leaves_no_stale_metadata(tmp_path, uv):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "backends").mkdir()
    (tmp_path / "examples").mkdir()
    project, calls = tmp_path / "pyproject.toml", tmp_path / "calls"
    for file in (project, tmp_path / "constraints.txt"):
        file.touch()
        os.utime(file, (0, 0))
    python = tmp_path / "python"
    for program in (python, tmp_path / "uv"):
        program.write_text(INSTALLS)
        program.chmod(0o755)

    def make(*targets):
        done = subprocess.run(
            ["make", f"PYTHON={python}", f"UV={uv and tmp_path / uv}", *targets],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    stale = tmp_path / "edgebench.egg-info"
    for installations in (1, 2):
        stale.mkdir()
        make(".venv/.installed")
        make(".venv/.installed")
        assert calls.read_text().count(".[cpu]") == installations
        assert not stale.exists()
        make("dev")
        make("dev")
        assert calls.read_text().count(".[dev]") == installations
        for stamp in (".installed", ".installed-dev"):
            os.utime(tmp_path / ".venv" / stamp, (1, 1))
        os.utime(project, (2, 2))
    installer = "uv pip install" if uv else "python -m pip install"
    assert calls.read_text().count(f"\n{installer} ") == 4
    stale.mkdir()
    make("clean")
    assert not stale.exists() and not (tmp_path / ".venv").exists()


def test_pins_are_plain_lines():
    lines = (ROOT / "constraints.txt").read_text().split()
    assert lines
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", line) for line in lines)


@pytest.mark.parametrize(
    "extra",
    [
        *("cpu", "prepare", "onnx", "openvino", "cortexm", "tensorrt", "joulescope", "meters", "notebook"),
        *("fleet", "testing", "dev"),
    ],
)
def test_extras_exist(extra):
    assert SETUP["project"]["optional-dependencies"][extra]


def test_pycoral_is_no_dependency():
    extras = SETUP["project"]["optional-dependencies"].values()
    everything = SETUP["project"]["dependencies"] + [line for extra in extras for line in extra]
    assert not [line for line in everything if line.startswith("pycoral")]


def test_the_repository_stays_small():
    tracked = [path for part in ("edgebench", "backends", "results/reference", "docs", "notebooks")
               for path in (ROOT / part).rglob("*") if path.is_file()]  # fmt: skip
    assert sum(path.stat().st_size for path in tracked) < 50_000_000
