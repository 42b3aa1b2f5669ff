"""A machine without fcntl, grp, pwd and termios, such as Windows: results are read, nothing is measured."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.synthetic_results import QUARTER, made_experiment

WITHOUT = """
import importlib.abc, sys

class Refusing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "grp", "pwd", "termios"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ("fcntl", "grp", "pwd", "termios"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Refusing())
"""
COMMAND = WITHOUT + "from edgebench.cli.main import main; main()"


def run(program: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *words],
        cwd=cwd, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reading")
    made_experiment(folder / "results", variants=QUARTER[:1], sessions=3, name="one")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "fit one --profile disco-realtime",
        "show one",
        "report one -o page.html",
        "compare one one",
        "history",
        "explore -o site",
        "mission one --profile disco-realtime --days 1",
        "export one -o one.zip",
        "profiles list",
        "boards list",
    ],
)
def test_commands_that_read_work(folder: Path, words: str) -> None:
    done = run(COMMAND, *words.split(), cwd=folder)
    assert done.returncode in (0, 3, 4), done.stderr
    assert "error" not in done.stderr


def test_the_python_api_reads(folder: Path) -> None:
    program = WITHOUT + "import edgebench; print(len(edgebench.load('results/one').passes))"
    done = run(program, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


@pytest.mark.parametrize(
    "words", ["run -d toy --quick", "doctor --device cpu", "meters check rapl", "meters list"]
)
def test_commands_that_measure_say_in_one_line_what_they_need(folder: Path, words: str) -> None:
    done = run(COMMAND, *words.split(), cwd=folder)
    assert done.returncode == 1
    [error] = [line for line in done.stderr.splitlines() if not line.startswith(("reading ", "scene "))]
    assert error.startswith("error: this command needs Linux or macOS: here is no module ")
