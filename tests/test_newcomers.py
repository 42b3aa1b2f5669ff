"""A new device is one folder and one line, a new meter one module and one line: a copy with both is run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgebench.results.load import load

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "examples" / "backend-template" / "src" / "edgebench_example_board"
RUN_S = 240
TOO_NEW = "\n\nif (seen := 1):\n    pass\n"  # Python 3.8


def renamed(file):
    text = (TEMPLATE / file).read_text()
    for old, new in (
        ("example-board-meter", "new-meter"),
        ("example-board", "new-board"),
        ("example_board", "new_board"),
        ("ExampleBoard", "NewBoard"),
    ):
        text = text.replace(old, new)
    return text


def insert_line(file, group, line):
    """Put a line behind the heading of a group of entry points."""
    heading = f'[project.entry-points."{group}"]\n'
    text = file.read_text()
    assert text.count(heading) == 1
    file.write_text(text.replace(heading, f"{heading}{line}\n"))


def run(*command, cwd, **environment):
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=RUN_S,
        check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The copy with both newcomers, as setuptools would install it."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("edgebench", "backends", "examples", "results/reference"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "setup.py", "Makefile", "README.md", "LICENSE", "constraints.txt"):
        shutil.copy(ROOT / name, tree / name)

    folder = tree / "backends" / "new_board"
    (folder / "device").mkdir(parents=True)
    for file in ("__init__.py", "backend.py", "device/__init__.py", "device/runner.py"):
        (folder / file).write_text(renamed(file))
    backend = "edgebench.backends.new_board.backend:NewBoardBackend"
    insert_line(tree / "pyproject.toml", "edgebench.backends", f'new-board = "{backend}"')

    # On the host, so that the run shows who samples there too.
    meter = renamed("device/meter.py").replace('PLACE = "board"', 'PLACE = "host"')
    (tree / "edgebench" / "probes" / "new_meter.py").write_text(meter)
    insert_line(tree / "pyproject.toml", "edgebench.probes", 'new-meter = "edgebench.probes.new_meter"')

    done = run(sys.executable, "setup.py", "-q", "egg_info", cwd=tree)
    assert done.returncode == 0, done.stderr[-4000:]
    # What an installation does by copying: edgebench.backends lies within edgebench.
    (tree / "edgebench" / "backends").symlink_to(tree / "backends")
    return tree


def edgebench(tree, folder, *words):
    done = run(
        sys.executable, "-c", "from edgebench.cli.main import main; main()", *map(str, words), cwd=folder,
        PYTHONPATH=str(tree), EDGEBENCH_CACHE_DIR=str(folder / "cache"), EDGEBENCH_BOARD_LOCK=str(folder),
        XDG_CONFIG_HOME=str(folder / "config"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_both_are_packages_without_being_listed(tree):
    sources = (tree / "edgebench.egg-info" / "SOURCES.txt").read_text().split()
    assert {"backends/new_board/backend.py", "backends/new_board/device/runner.py"} <= set(sources)
    assert "edgebench/probes/new_meter.py" in sources


def test_both_are_listed(tree, tmp_path):
    listed = json.loads(edgebench(tree, tmp_path, "devices", "--json"))
    assert "new-board" in [row["name"] for row in listed["devices"]]
    assert "new-meter" in listed["meters"]


def test_a_run_measures_with_both(tree, tmp_path):
    rng = np.random.default_rng(3)
    Image.fromarray(rng.integers(0, 256, (2 * 224, 2 * 224, 3), np.uint8)).save(tmp_path / "scene.png")
    (tmp_path / "images" / "ice").mkdir(parents=True)
    Image.fromarray(np.full((224, 224, 3), 228, np.uint8)).save(tmp_path / "images" / "ice" / "0.png")
    edgebench(
        tree, tmp_path, "run", "--device", "new-board", "--meter", "new-meter", "--depth", "0.25",
        "--precision", "int8", "--quick", "--sessions", "1", "--scene", "scene.png", "--images", "images",
        "-o", "results",
    )  # fmt: skip
    [folder] = [path for path in (tmp_path / "results").iterdir() if path.is_dir() and not path.is_symlink()]
    results = load(folder)
    assert set(results.sessions["status"]) == {"ok"}
    [record] = results.session_records(results.trials["key"].iloc[0])
    assert record.probe_reasons == {}
    assert [info["place"] for info in record.probes if info["kind"] == "new-meter"] == ["host"]
    idle = record.windows_ns["idle"]
    assert idle is not None
    watts = results.probes[results.probes["channel"] == "made_up"]
    assert watts["t_ns"].between(*idle).sum() > 10


@pytest.mark.parametrize("file", ["backends/new_board/device/runner.py", "edgebench/probes/new_meter.py"])
def test_lint_holds_what_travels_to_the_boards_python(tree, file):
    ruff = Path(sys.prefix) / "bin" / "ruff"
    sound = run(ruff, "check", "--no-cache", file, cwd=tree)
    assert sound.returncode == 0, sound.stdout
    text = (tree / file).read_text()
    try:
        (tree / file).write_text(text + TOO_NEW)
        broken = run(ruff, "check", "--no-cache", file, cwd=tree)
    finally:
        (tree / file).write_text(text)
    assert "Python 3.7" in broken.stdout
    commands = run("make", "-n", "lint", f"VENV={sys.prefix}", cwd=tree).stdout
    [vermin] = re.findall(r"^.*/vermin (?:.*\\\n)*.*$", commands, re.MULTILINE)
    assert any(file.startswith(f"{folder}/") for folder in vermin.split())
