"""The temporary folder, which all users share: names that another takes first."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile

import psutil
import pytest

from edgebench.agent.supervisor import RUN_TOKEN
from edgebench.probes import replay
from tests.link.rig import make_rig

Samples = importlib.import_module("edgebench.backends.replay.device.play_samples").Samples
INFOS = {"": {"rate_hz": 1.0, "resolution": "none", "scope": "board", "channels": []}}


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A temporary folder, and the token of one agent."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(RUN_TOKEN, "0123456789abcdef")
    return tmp_path


@pytest.mark.attack(
    "another user takes the name of the replay's folder in /tmp: replays do not use that name"
)
@pytest.mark.parametrize("uid", [os.getuid(), 65534])
def test_no_name_that_can_be_foretold_is_used(shared, monkeypatch, uid):
    (shared / f"edgebench-replay-{uid}").write_text("occupied")
    samples = Samples(INFOS)
    (path,) = shared.glob("*.samples")
    assert path.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv(replay.WORKER_PID, str(os.getpid()))
    probe = replay.open_probe("")
    samples.close()
    assert not path.exists()
    probe.stop()
    assert list(probe) == []


def test_each_agent_has_a_token_of_its_own(tmp_path):
    rig = make_rig(tmp_path)
    devices = [rig.device(), rig.device()]
    tokens = []
    for device in devices:
        with device.session(rig.artifact(), rig.settings()):
            (worker,) = psutil.Process(device._connection._process.pid).children()
            tokens.append(worker.environ()[RUN_TOKEN])
        device.close()
    assert len(set(tokens)) == 2
    assert all(len(token) == 32 for token in tokens)


def test_what_killed_sessions_left_is_removed_and_nothing_else(shared):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    left = shared / f"edgebench-replay-feedbeef-{ended.pid}.samples"
    running = shared / f"edgebench-replay-feedbeef-{os.getppid()}.samples"
    for path in (left, running, shared / "edgebench-replay-feedbeef-x.samples", shared / "other.samples"):
        path.write_text(json.dumps({}))
    Samples(INFOS).close()
    assert {path.name for path in shared.iterdir()} == {running.name, "other.samples"}
