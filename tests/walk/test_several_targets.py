"""Several targets in one run: this machine, one behind an sshd, and one that is not there."""

import json
import os
import signal
import socket
import subprocess
import time

import pytest

import edgebench
from tests.link import sshd
from tests.walk.conftest import COMMAND

pytestmark = pytest.mark.slow

QUICK = ("--scene", "scene.png", "--images", "images", "--sessions", "3", "--passes", "2", "--depth", "0.25",
         "--precision", "int8")  # fmt: skip


@pytest.fixture
def boards(place, tmp_path):
    """The command line in a folder whose targets.toml names `here`, `far` and `gone`."""
    if why := sshd.missing():
        pytest.skip(why)
    folder = tmp_path / "board"
    folder.mkdir()
    board = sshd.make_board(folder)
    board.start()
    with socket.socket() as nobody:  # bound and never listening: refused at once
        nobody.bind(("127.0.0.1", 0))
        gone = f"127.0.0.1:{nobody.getsockname()[1]}"
        (place.folder / "targets.toml").write_text(
            "\n".join(
                f'[[targets]]\nname = "{name}"\ndevice = "toy"\noptions = {{ delay_us = 5000 }}\n{host}'
                for name, host in (
                    ("here", ""),
                    ("far", f'host = "{board.address}"\n'),
                    ("gone", f'host = "{gone}"\n'),
                )
            )
        )

        def start(*words):
            return subprocess.Popen(
                [*COMMAND, "run", *QUICK, *words],
                cwd=place.folder,
                env=place.environment | {"EDGEBENCH_SSH_CONFIG": str(board.config)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )

        yield start, place.folder / "results"
    board.power_off()


def test_hosts_are_measured_together_and_one_that_is_gone_fails_alone(boards):
    start, results = boards
    run = start("--target", "here", "--target", "far", "--target", "gone", "--name", "all")
    output, error = run.communicate(timeout=120)
    assert run.returncode == 5, error
    loaded = edgebench.load(results / "all")
    names = dict(zip(loaded.trials["key"], loaded.trials["target"], strict=True))
    status = {
        target: sorted(rows["status"].astype(str))
        for target, rows in loaded.sessions.groupby(loaded.sessions["trial"].astype(str).map(names))
    }
    assert status == {"here": ["ok"] * 3, "far": ["ok"] * 3, "gone": ["lost_connection"]}
    # Side by side: the passes of both lie in the same stretch of the (one) machine's clock.
    steady = loaded.passes[loaded.passes["phase"] == "steady"]
    spans = steady.groupby(steady["trial"].astype(str).map(names)).agg({"start_ns": "min", "end_ns": "max"})
    assert spans["start_ns"].max() < spans["end_ns"].min()
    for name in ("here", "far", "gone"):
        assert f"{name}: MobileNet v1" in output or f"{name}: " in output
    lines = error.splitlines()
    for target in ("here", "far"):
        assert sum(line.startswith("session ") and f" {target} " in line for line in lines) == 3, error


def test_the_only_target_that_is_gone_is_a_clear_error(boards):
    start, results = boards
    run = start("--target", "gone", "--name", "alone")
    _, error = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "Traceback" not in error
    assert "Connection refused" in error
    assert not results.exists()
    assert not list(results.parent.glob("cache/recipes/*"))  # nothing was prepared


def test_ctrl_c_reaches_every_host_and_resume_does_the_rest(boards):
    start, results = boards
    words = ("--target", "here", "--target", "far", "--name", "stopped", "--json")
    run = start(*words)
    deadline = time.monotonic() + 60
    while len(list(results.glob("stopped/trials/*/sessions/[0-9]*"))) < 2:
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGINT)
    output, error = run.communicate(timeout=60)
    assert run.returncode == 130, error
    assert len(json.loads(output)["trials"]) == 2
    sessions = edgebench.load(results / "stopped").sessions
    assert set(sessions["status"].astype(str)) <= {"ok", "interrupted"}
    again = start(*words, "--resume")
    _, error = again.communicate(timeout=120)
    assert again.returncode == 0, error
    sessions = edgebench.load(results / "stopped").sessions
    assert (sessions["status"] == "ok").sum() == 6
