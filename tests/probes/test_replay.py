"""The probe of a replay: what the worker left for it, once, and nothing of anybody else's."""

import json
import os
import stat
import tempfile
from pathlib import Path

import pytest

from edgebench.probes import basics, replay

SAMPLES = "edgebench-replay-0123456789abcdef-4711.samples"
INFO = {
    "rate_hz": 50.0,
    "resolution": "none",
    "scope": "board",
    "channels": [{"name": "board", "quantity": "power", "unit": "W"}],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("EDGEBENCH_WORKER_PID", "4711")
    monkeypatch.setenv("EDGEBENCH_RUN_TOKEN", "0123456789abcdef")
    return tmp_path


def left(folder, *lines):
    path = Path(folder) / SAMPLES
    whole = [{"probes": {"": INFO}}, *lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in whole))
    return path


def test_it_gives_what_was_left_for_it_though_the_file_is_gone(folder):
    path = left(folder)
    probe = replay.open_probe("")
    assert probe.info["kind"] == "replay" and probe.info["address"] == ""
    with path.open("a") as file:
        for to, watts in (("", 3.5), ("telemetry", 9.0), ("", float("nan"))):
            file.write(json.dumps({"to": to, "t": [1, 2], "values": {"board": [watts, 1.0]}}) + "\n")
    path.unlink()
    probe.start()
    probe.stop()
    chunks = list(probe)
    assert [stamps for stamps, _ in chunks] == [[1, 2], [1, 2]]
    assert chunks[0][1] == {"board": [3.5, 1.0]}
    assert chunks[1][1]["board"][0] != chunks[1][1]["board"][0]


def test_long_series_come_in_chunks(folder):
    left(folder, {"to": "", "t": list(range(10_000)), "values": {"board": [1.0] * 10_000}})
    probe = replay.open_probe("")
    probe.stop()
    sizes = [len(stamps) for stamps, _ in probe]
    assert sizes == [4096, 4096, 1808]


def test_what_is_not_played_is_missing_with_what_there_is(folder):
    left(folder)
    with pytest.raises(basics.ProbeMissing) as caught:
        replay.open_probe("telemetry")
    assert caught.value.fix == "it has replay"


@pytest.mark.parametrize("pid", [None, "4712", "0"])
def test_beside_no_replay_there_is_nothing(folder, monkeypatch, pid):
    if pid is None:
        monkeypatch.delenv("EDGEBENCH_WORKER_PID")
    else:
        monkeypatch.setenv("EDGEBENCH_WORKER_PID", pid)
    with pytest.raises(basics.ProbeMissing) as caught:
        replay.open_probe("")
    assert "--device replay" in caught.value.fix


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_plain_file_is_not_read(folder, tmp_path, kind):
    path = folder / SAMPLES
    if kind == "link":
        (tmp_path / "other").write_text("{}")
        path.symlink_to(tmp_path / "other")
    elif kind == "pipe":
        os.mkfifo(path)
        assert stat.S_ISFIFO(path.lstat().st_mode)
    else:
        path.mkdir()
    with pytest.raises(basics.ProbeMissing):
        replay.open_probe("")


def test_damaged_samples_are_an_error_and_no_sample(folder):
    path = left(folder)
    with path.open("a") as file:
        file.write('{"to": "", "t": [1')
    probe = replay.open_probe("")
    probe.stop()
    with pytest.raises(json.JSONDecodeError):
        list(probe)
