"""The commands of README and of the pages for everybody, carried out: on this machine and on replays."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.website.commands_in_pages import commands
from website.sources import ROOT

pytestmark = pytest.mark.slow

PAGES = (
    "README.md", "docs/start.md", "docs/running.md", "docs/reports.md", "docs/exchange.md", "docs/judging.md",
    "docs/mission.md",
)  # fmt: skip

# What these take is not at hand in a test; that the command and its options exist is tried by test_pages.
NOT_AT_HAND = {
    "--host": "a board",
    "--target": "boards of a targets file",
    "--board": "an Edge TPU, or a result of one",
    "--pair": "a result of two boards",
    "nano": "boards of a targets file",
    "--model": "a model and images of one's own",
    "--images": "pictures of one's own",
    "--install-completion": "the shell of a user",
    "--resume": "a run that was interrupted",
    "--max-time": "half an hour",
    "--target-ci": "as long as it takes",
    "--sustained": "half an hour",
    "--decide": "as long as it takes",
    "clean": "the cache of whoever runs the tests",
    "models prepare": "minutes, and TensorFlow",
}
FITS = {0, 3}  # 3: a requirement is not met, which is an answer


def documented():
    lines: dict[tuple[str, ...], str] = {}
    for page in PAGES:
        for number, words in commands(ROOT / page):
            lines.setdefault(tuple(words), f"{page}:{number}")
    return [
        pytest.param(list(words), id=f"{source} {shlex.join(words)}"[:90]) for words, source in lines.items()
    ]


def missing(words):
    """What a command needs that is not at hand; None where there is nothing."""
    text = " ".join(words)
    return next(
        (what for sign, what in NOT_AT_HAND.items() if sign in words or f" {sign}" in f" {text}"), None
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a result of this machine, `before`, `after`, the newest one, and `my-mission.toml`."""
    folder = tmp_path_factory.mktemp("reader")
    run(folder, "run", "--device", "cpu", "--depth", "0.25", "--precision", "int8", "--name", "measured")
    for number, name in enumerate(("before", "after", "latest-one"), start=1):
        run(folder, "run", "--device", "replay", "--set", "source=steady", "--set", f"seed={number}",
            "--name", name, "--quick", "--profile", "disco-realtime")  # fmt: skip
    profile = (ROOT / "examples" / "profile" / "bird-feeder.toml").read_text()
    (folder / "my-mission.toml").write_text(profile.replace("bird-feeder", "my-mission"))
    (folder / "mlruns").mkdir()
    (folder / "mlflow.db").touch()
    return folder


def run(folder, *words):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EDGEBENCH_")}
    # A short run of the smallest models in place of a long one: the command is tried, not the figures.
    environment |= {
        "PATH": path,
        "EDGEBENCH_SESSIONS": "1",
        "EDGEBENCH_PASSES": "1",
        "EDGEBENCH_ACCURACY_IMAGES": "10",
        "EDGEBENCH_DEPTH": "0.25",
    }
    environment["EDGEBENCH_BOARD_LOCK"] = str(folder)
    return subprocess.run(
        ["edgebench", *words],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("words", documented())
def test_a_documented_command_works(place, words):
    if what := missing(words):
        pytest.skip(f"it takes {what}")
    if words[0] == "import" or "--to" in words:
        shutil.rmtree(place / "shared", ignore_errors=True)
        pytest.importorskip("mlflow.tracking", exc_type=ImportError)
    done = run(place, *words)
    assert done.returncode in FITS, done.stdout[-2000:] + done.stderr[-2000:]


def test_most_commands_can_be_tried():
    tried = [parameter for parameter in documented() if missing(parameter.values[0]) is None]
    assert len(tried) >= 25 and len(tried) >= 0.6 * len(documented())
