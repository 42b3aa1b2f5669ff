"""`edgebench --help` against a bare typer program, and `edgebench fit` of nine trials against `--help`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

from benchmarks.pairs import Paired, abba
from benchmarks.row import Row, ratio_row
from edgebench.judge.requirements.profile import shipped_profiles
from edgebench.prepare.cache import Cache
from tests.synthetic_results import NINE, made_experiment

BAR, FIT_BAR = 1.3, 5.0
ROOT = Path(__file__).parent.parent
BARE = '''
import typer
app = typer.Typer()
@app.command()
def one(name: str = "a") -> None:
    """One."""
@app.command()
def two(count: int = 1) -> None:
    """Two."""
app()
'''
OURS = "from edgebench.cli.main import main; main()"


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Whole processes, each after one that is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE)
        pythons = {"": sys.executable, ", from a wheel": str(_with_wheel(Path(folder)))}
        profiles = [profile.as_record() for profile in shipped_profiles()]
        result = made_experiment(Path(folder), variants=NINE, profiles=profiles)
        fit, shown = [sys.executable, "-c", OURS, "fit", str(result)], [sys.executable, "-c", OURS, "--help"]
        nine = abba(lambda: _seconds(fit), lambda: _seconds(shown), pairs)
        return [
            ratio_row(
                "edgebench fit of nine trials and three profiles against edgebench --help", nine, FIT_BAR
            )
        ] + [
            ratio_row(
                f"edgebench --help against a bare typer program{how}", _paired(python, bare, pairs), BAR
            )
            for how, python in pythons.items()
        ]


def _paired(python: str, bare: Path, pairs: int) -> Paired:
    ours_command = [python, "-c", OURS, "--help"]
    bare_command = [python, str(bare), "--help"]
    _seconds(ours_command)
    _seconds(bare_command)
    return abba(lambda: _seconds(ours_command), lambda: _seconds(bare_command), pairs)


def _with_wheel(folder: Path) -> Path:
    """The Python of an environment with EdgeBench from a wheel, and the packages that are installed here."""
    tree = folder / "tree"  # what a build leaves behind would hide this installation
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "tests", "build", "*.egg-info"))
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(tree)], check=True, timeout=300)
    [wheel] = folder.glob("*.whl")
    venv.create(folder / "venv", symlinks=True)
    packages = next((folder / "venv").glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(packages)  # as pip installs a wheel without scripts and data
    (packages / "here.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    return folder / "venv/bin/python"


def _seconds(command: list[str]) -> float:
    """Wall time of a process. Its output is read: waiting alone looks only every 50 ms for the end."""
    start_s = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=60)
    return time.perf_counter() - start_s
