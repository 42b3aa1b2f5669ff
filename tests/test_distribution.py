"""The source distribution and the wheel: built, installed into an empty environment, measured with."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import edgebench

ROOT = Path(__file__).parents[1]
BUILD = "from setuptools import build_meta; print(build_meta.build_{kind}({folder!r}))"

pytestmark = pytest.mark.slow


def built(kind, tree, folder):
    """The file that the build backend writes for a tree."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD.format(kind=kind, folder=str(folder))],
        cwd=tree, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The source distribution of what git holds, changes that are not committed included."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout: what belongs to a source distribution is not known")
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True, timeout=60,
    ).stdout.decode()  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    return built("sdist", tree, out)


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    """The wheel that is built of the source distribution, and of nothing else."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(source) as archive:
        archive.extractall(unpacked, filter="data")
    [tree] = unpacked.iterdir()
    return built("wheel", tree, tmp_path_factory.mktemp("wheels"))


def test_a_source_distribution_holds_what_builds_and_explains_it(source):
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert source.name == f"edgebench-{edgebench.__version__}.tar.gz"
    papers = {
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CITATION.cff",
        "SECURITY.md",
        "pyproject.toml",
        "setup.py",
    }
    assert papers <= names
    assert not any(name.startswith("tests/") for name in names)
    assert source.stat().st_size < 50e6


def test_a_wheel_holds_the_package_and_its_licence_alone(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"edgebench", f"edgebench-{edgebench.__version__}.dist-info"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "edgebench/prepare/assets/SOURCE.md" in names, "the notice of what the imagery came with"


def clean_environment():
    """This process's environment without what would change an installation or EdgeBench."""
    foreign = ("EDGEBENCH", "PYTHON", "VIRTUAL_ENV", "COV_", "UV_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def require_package_index(python, folder):
    """Skip the test if no package can be downloaded."""
    reachable = subprocess.run(
        [python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder / "probe", "mdurl"],
        capture_output=True, text=True, timeout=120, env=clean_environment(),
    )  # fmt: skip
    if reachable.returncode:
        pytest.skip("no package index can be reached")


def test_an_empty_environment_measures_with_it(wheel, tmp_path):
    """No repository, no TensorFlow: `edgebench[cpu]` and the models that come along."""
    home, clean = tmp_path / "environment", clean_environment()
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    require_package_index(python, tmp_path)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", f"{wheel}[cpu]"],
        check=True, capture_output=True, timeout=900, env=clean,
    )  # fmt: skip

    def edgebench_command(*words):
        return subprocess.run(
            [home / "bin" / "edgebench", *words],
            cwd=tmp_path, capture_output=True, text=True, timeout=300, env=clean,
        )  # fmt: skip

    version = edgebench_command("--version").stdout
    assert version.startswith(f"edgebench {edgebench.__version__}\n")
    assert "tensorflow" in version.partition("not installed:")[2]
    run = edgebench_command(
        "run", "--device", "cpu", "--depth", "0.25", "--precision", "int8", "--sessions", "1",
        "--passes", "1", "--accuracy-images", "20", "--json",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    [trial] = json.loads(run.stdout)["trials"]
    estimates = trial["estimates"]
    assert trial["status"] == "done" and estimates["image_s"]["value"] > 0
    assert estimates["accuracy"]["n"] == 20
    listed = edgebench_command("fit", "--reference", "--json")
    assert listed.returncode in (0, 3) and json.loads(listed.stdout)["trials"]
    template = edgebench_command("new", "backend", "my-board")
    assert template.returncode == 0 and (tmp_path / "edgebench-my-board" / "pyproject.toml").is_file()


def test_the_lowest_declared_versions_work_without_warnings(wheel, tmp_path):
    beside = Path(sys.executable).with_name("uv")
    uv = shutil.which("uv") or (str(beside) if beside.is_file() else None)
    if uv is None:
        pytest.skip("uv is neither on PATH nor beside this Python: pip install uv")
    require_package_index(sys.executable, tmp_path)
    python, clean = tmp_path / "environment" / "bin" / "python", clean_environment()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    # uv takes the lowest version of what is named on its command line, not of what a wheel requires.
    direct = [*project["dependencies"], *project["optional-dependencies"]["cpu"]]
    install = ["pip", "install", "--quiet", "--resolution", "lowest-direct"]
    for words in (
        ["venv", "--quiet", "--python", sys.executable, tmp_path / "environment"],
        [*install, "--python", python, f"{wheel}[cpu]", *direct],
    ):
        done = subprocess.run([uv, *words], capture_output=True, text=True, timeout=900, env=clean)
        assert done.returncode == 0, done.stderr[-3000:]
    listed = subprocess.run(
        [uv, "pip", "freeze", "--python", python], capture_output=True, text=True, timeout=60, env=clean
    )
    installed = dict(line.split("==") for line in listed.stdout.split() if "==" in line)
    for requirement in map(Requirement, direct):
        [bound] = requirement.specifier
        assert Version(installed[requirement.name]).release[:2] == (*Version(bound.version).release, 0)[:2]

    def edgebench_command(*words):
        done = subprocess.run(
            [python.with_name("edgebench"), *words],
            cwd=tmp_path, capture_output=True, text=True, timeout=300, env=clean,
        )  # fmt: skip
        assert done.returncode in (0, 3) and "Warning" not in done.stderr, (words, done.stderr[-3000:])
        return done.stdout

    for command in ("", "run", "fit", "compare", "mission", "explore", "doctor", "models show"):
        assert "Usage: edgebench" in edgebench_command(*command.split(), "--help")
    replay = (
        "run",
        "--device",
        "replay",
        "--depth",
        "0.25",
        "--precision",
        "int8",
        "--accuracy-images",
        "10",
    )
    for name in ("first", "second"):
        edgebench_command(*replay, "--sessions", "3", "--passes", "3", "--name", name)
    document = json.loads(edgebench_command("fit", "first", "--profile", "disco-arctic", "--json"))
    assert [trial["status"] for trial in document["trials"]] == ["done"]
    assert "image_s" in edgebench_command("compare", "first", "second", "--json")
    assert json.loads(edgebench_command("mission", "first", "--profile", "disco-arctic", "--json"))
    edgebench_command("explore", "--output", "site")
    assert (tmp_path / "site" / "index.html").is_file()
    assert "ok" in edgebench_command("doctor", "--device", "cpu")
