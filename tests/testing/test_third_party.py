"""The template and the wheel, as somebody else would install them: a virtual environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgebench.results.load import load
from edgebench.testing.scaffold import FILES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
INSTALL_S = 240


@dataclass
class Elsewhere:
    """A virtual environment that sees this one's packages, but not the project in it."""

    folder: Path
    wheel: Path

    def __call__(self, *words: str | Path, cwd: Path | None = None, fine: bool = True) -> str:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("EDGEBENCH_", "PYTEST"))
        }
        kept.pop("PYTHONPATH", None)
        done = subprocess.run(
            [self.folder / "bin" / "python", *words],
            cwd=cwd or self.folder,
            env=kept
            | {
                "EDGEBENCH_CACHE_DIR": str(self.folder / "cache"),
                "EDGEBENCH_BOARD_DIR": str(self.folder / "board"),
                "EDGEBENCH_BOARD_LOCK": str(self.folder),
                "XDG_CONFIG_HOME": str(self.folder / "config"),
                "COLUMNS": "100",
            },
            capture_output=True,
            text=True,
            timeout=INSTALL_S,
            check=False,
        )
        assert not fine or done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout + done.stderr

    def edgebench(self, *words: str | Path, cwd: Path | None = None) -> str:
        return self("-c", "from edgebench.cli.main import main; main()", *words, cwd=cwd)


def installed(folder: Path) -> Elsewhere:
    venv.create(folder, with_pip=False, symlinks=True)
    # Everything but the project, which an editable install would bring in by its finder: .pth files of a
    # folder that is itself named in a .pth are not read.
    site = next(folder.glob("lib/python*/site-packages"))
    here = Path(sysconfig.get_path("purelib"))
    others = folder / "others"
    others.mkdir()
    for entry in here.iterdir():
        if "edgebench" not in entry.name.lower() and entry.suffix != ".pth":
            (others / entry.name).symlink_to(entry)
    (site / "others.pth").write_text(f"{others}\n")
    return Elsewhere(folder, Path())


def pip(elsewhere: Elsewhere, *words: str | Path) -> None:
    elsewhere("-m", "pip", "--disable-pip-version-check", *words)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere")
    environment = installed(folder / "venv")
    # From a copy: building leaves folders behind.
    source = folder / "source"
    source.mkdir()
    for name in ("edgebench", "backends", "examples", "results/reference"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    options = ("--no-deps", "--no-build-isolation", "--no-index")
    pip(environment, "wheel", "-q", *options, "-w", folder / "wheels", source)
    [environment.wheel] = (folder / "wheels").glob("*.whl")
    pip(environment, "install", "-q", "--no-deps", "--no-index", environment.wheel)
    template = folder / "template"
    shutil.copytree(ROOT / "examples" / "backend-template", template)
    pip(environment, "install", "-q", *options, template)
    return environment


def test_the_wheel_holds_the_template_and_the_kit(elsewhere):
    names = zipfile.ZipFile(elsewhere.wheel).namelist()
    inside = {name for name in names if name.startswith("edgebench/template/")}
    assert inside == {f"edgebench/template/{name}" for name in FILES}
    assert {"edgebench/testing/plugin.py", "edgebench/testing/test_conformance.py"} <= set(names)
    for name in FILES:
        ours = (ROOT / "examples" / "backend-template" / name).read_bytes()
        assert zipfile.ZipFile(elsewhere.wheel).read(f"edgebench/template/{name}") == ours


def test_published_figures_are_judged_where_the_repository_is_not(elsewhere, tmp_path):
    names = {path.name for path in (ROOT / "results" / "reference").iterdir()}
    inside = {name for name in zipfile.ZipFile(elsewhere.wheel).namelist() if "/reference/" in name}
    assert inside == {f"edgebench/reference/{name}" for name in names}
    elsewhere.edgebench("report", "--reference", "-o", "theirs.json", cwd=tmp_path)
    judged = json.loads((tmp_path / "theirs.json").read_text())
    assert {verdict["verdict"] for verdict in judged["verdicts"]} == {"pass", "fail", "unknown"}


def test_it_is_the_installed_one_that_is_tried(elsewhere):
    output = elsewhere("-c", "import edgebench; print(edgebench.__file__)")
    assert Path(output.strip()).is_relative_to(elsewhere.folder)


def test_the_device_and_the_meter_are_listed(elsewhere):
    listed = json.loads(elsewhere.edgebench("devices", "--json"))
    [device] = [row for row in listed["devices"] if row["name"] == "example-board"]
    assert device["precisions"] == ["fp32", "fp16", "int8"]
    assert "threads" in device["options"]
    assert "Made-up watts" in listed["meters"]["example-board-meter"]


def test_a_run_measures_with_both(elsewhere, tmp_path):
    rng = np.random.default_rng(3)
    Image.fromarray(rng.integers(0, 256, (2 * 224, 2 * 224, 3), np.uint8)).save(tmp_path / "scene.png")
    (tmp_path / "images" / "ice").mkdir(parents=True)
    Image.fromarray(np.full((224, 224, 3), 228, np.uint8)).save(tmp_path / "images" / "ice" / "0.png")
    elsewhere.edgebench(
        "run", "--device", "example-board", "--meter", "example-board-meter",
        "--depth", "0.25", "--precision", "int8", "--quick", "--sessions", "1",
        "--scene", "scene.png", "--images", "images", "-o", tmp_path / "results", cwd=tmp_path,
    )  # fmt: skip
    [folder] = [path for path in (tmp_path / "results").iterdir() if path.is_dir() and not path.is_symlink()]
    results = load(folder)
    assert set(results.trials["variant"]) == {"mobilenet_v1-0.25-int8"}
    assert set(results.sessions["status"]) == {"ok"}
    assert (results.passes["image_ns"] > 0).all()
    made_up = results.probes[results.probes["channel"] == "made_up"]["value"]
    assert len(made_up) and ((made_up >= 1.0) & (made_up <= 3.0)).all()


def test_its_own_tests_pass(elsewhere, tmp_path):
    shutil.copytree(ROOT / "examples" / "backend-template" / "tests", tmp_path / "tests")
    output = elsewhere("-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "tests", cwd=tmp_path)
    assert " passed" in output and "failed" not in output
    assert "example-board: the worker's loop costs" in output


def test_what_new_writes_installs_and_passes(elsewhere, tmp_path):
    elsewhere.edgebench("new", "backend", "my-board", "-o", tmp_path)
    folder = tmp_path / "edgebench-my-board"
    pip(elsewhere, "install", "-q", "--no-deps", "--no-build-isolation", "--no-index", folder)
    output = elsewhere(
        "-m", "pytest", "-p", "no:cacheprovider", "--pyargs", "edgebench.testing", "-rs",
        "-k", "golden or samples or options", "--edgebench-backend", "my-board", "--edgebench-set",
        "threads=2", "--edgebench-probe", "my-board-meter",
        "--edgebench-skip", "test_golden_scores=tried elsewhere", cwd=tmp_path,
    )  # fmt: skip
    assert "failed" not in output
    assert "tried elsewhere" in output


def test_a_project_that_does_not_use_it_is_not_disturbed(elsewhere, tmp_path):
    (tmp_path / "test_other.py").write_text(
        "import sys\n\n\ndef test_other():\n"
        "    heavy = {'numpy', 'pydantic', 'edgebench.contract', 'edgebench.registry', 'psutil'}\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    output = elsewhere(
        "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "--strict-markers", cwd=tmp_path
    )
    assert "1 passed" in output
    assert "== edgebench ==" not in output


def test_without_a_name_the_kit_says_what_to_give(elsewhere, tmp_path):
    output = elsewhere(
        "-m", "pytest", "-p", "no:cacheprovider", "-rs", "--pyargs", "edgebench.testing", cwd=tmp_path
    )
    assert "--edgebench-backend NAME" in output and "failed" not in output
