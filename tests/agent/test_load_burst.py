"""Bursts of load: how long they are on a counted clock, and what a worker answers who is asked for some."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from edgebench.agent.frames import FrameStream
from edgebench.agent.timed import MOST_BATCHES, load_burst
from edgebench.link.local import agent_file
from edgebench.link.placing import code_at
from tests.fakes import agent_backend
from tests.link.rig import make_rig

SECOND_NS = 1_000_000_000


class Loop:
    """A timed loop whose batches take as long as they are said to, and nothing else any time."""

    def __init__(self, batch, *batch_ns):
        self.batch = batch
        self.now_ns = 5 * SECOND_NS
        self.runs = []
        self._batch_ns = list(batch_ns)

    def run(self, patches):
        assert len(patches) % self.batch == 0
        start_ns = self.now_ns
        for _ in range(len(patches) // self.batch):
            self.now_ns += self._batch_ns.pop(0) if len(self._batch_ns) > 1 else self._batch_ns[0]
        self.runs.append(patches)
        return SimpleNamespace(start_ns=start_ns, end_ns=self.now_ns)


def burst(loop: Any) -> tuple[int, int]:
    return load_burst(loop, ["a", "b", "c"], SECOND_NS)


@pytest.mark.parametrize("batch_ns", [1_000, 1_000_000, 30_000_000, 400_000_000])
def test_a_burst_ends_with_the_batch_that_fills_its_time(batch_ns):
    loop = Loop(2, batch_ns)
    start_ns, end_ns = burst(loop)
    assert start_ns == 5 * SECOND_NS
    assert SECOND_NS <= end_ns - start_ns < SECOND_NS + batch_ns
    assert max(len(run) for run in loop.runs) <= 2 * MOST_BATCHES
    inferred = [patch for run in loop.runs for patch in run]
    assert inferred == [("a", "b", "c")[n % 3] for n in range(len(inferred))]


def test_a_batch_that_takes_longer_is_all_of_a_burst():
    loop = Loop(1, 7 * SECOND_NS)
    assert burst(loop) == (5 * SECOND_NS, 12 * SECOND_NS)
    assert loop.runs == [["a"]]


def test_a_device_that_slows_down_overruns_by_what_was_in_hand():
    loop = Loop(1, *[100_000_000] * 4, 500_000_000)
    start_ns, end_ns = burst(loop)
    assert [len(run) for run in loop.runs] == [1, 1, 2, 4]
    assert end_ns - start_ns == 2_400_000_000


def test_a_clock_that_moves_in_steps_ends_it_all_the_same():
    loop = Loop(1, *[0] * 50, 250_000_000)
    start_ns, end_ns = burst(loop)
    assert end_ns - start_ns >= SECOND_NS


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


@pytest.fixture
def worker(rig, tmp_path):
    """A worker's process, the toy loaded: `ask(op, ...)` gives its notes and its reply."""
    agent, _ = agent_file(rig.cache)
    process = subprocess.Popen(
        [sys.executable, str(agent), "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path
    )
    assert process.stdin is not None and process.stdout is not None
    stream = FrameStream(process.stdout.fileno(), process.stdin.fileno())

    def ask(operation, **fields):
        stream.write({"op": operation, "id": operation, **fields})
        notes: list[int] = []
        while True:
            frame = stream.read()
            assert frame is not None
            if "progress" not in frame.message:
                return notes, frame.message
            notes.append(frame.message["progress"])

    yield ask
    process.kill()
    process.wait(20)
    process.stdin.close()
    process.stdout.close()


def load(worker, rig, batch=1):
    artifact = rig.artifact(batch=batch)
    code = code_at(agent_backend("toy").runner_files(), lambda path, sha256: str(path))
    options = {**rig.options(), "precision": "fp32"}
    fields = {"input": artifact.input.model_dump(), "batch": artifact.batch, "classes": artifact.scores}
    _, reply = worker("load", code=code, artifact=str(artifact.path), options=options, **fields)
    assert "error" not in reply, reply
    return {"path": str(artifact.golden.patches), "sha256": artifact.golden.patches_sha256}


@pytest.mark.parametrize("batch", [1, 4])
def test_a_worker_runs_as_many_as_it_is_asked_for_with_their_pauses(worker, rig, batch):
    golden = load(worker, rig, batch)
    pauses_s = [0.02, 0.05, 0.01]
    notes, reply = worker("burst", burst_ns=20_000_000, pauses_s=pauses_s, **golden)
    assert notes == [1, 2, 3]
    idle_from_ns = reply["start_ns"]
    for (start_ns, end_ns), pause_s in zip(reply["bursts"], pauses_s, strict=True):
        assert start_ns - idle_from_ns >= pause_s * 1e9
        assert end_ns - start_ns >= 20_000_000
        idle_from_ns = end_ns


def test_bursts_of_files_that_were_swapped_or_before_a_load_fail(worker, rig):
    asked = {"burst_ns": 1, "pauses_s": [0.0], "path": "none.npy"}
    assert "nothing is loaded" in worker("burst", **asked)[1]["error"]["what"]
    golden = load(worker, rig)
    _, reply = worker("burst", **{**asked, **golden, "sha256": "0" * 64})
    assert "WrongContent" in reply["error"]["what"]
