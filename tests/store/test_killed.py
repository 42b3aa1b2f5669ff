"""kill -9 at any moment: what was finished is there, what was not leaves no trace."""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import edgebench
from edgebench.records.stored import SessionTables
from edgebench.results.load import load
from edgebench.results.writing import ExperimentStore
from tests.synthetic_results import QUARTER, key_of, made_experiment

KEY = key_of(QUARTER[0])

WRITER = """
import sys
from pathlib import Path

from dataclasses import replace
from edgebench.results.load import load
from edgebench.results.writing import ExperimentStore
from edgebench.records.stored import SessionTables

path, key = Path(sys.argv[1]), sys.argv[2]
results = load(path)
first = results.session_records(key)[0]

def rows(name):
    frame = results.table(name)
    mine = (frame["trial"] == key) & (frame["session"] == 0)
    return frame[mine].drop(columns=["trial", "session"]).reset_index(drop=True)

tables = SessionTables(rows("passes"), rows("batches"), None, rows("predictions"))
store = ExperimentStore.open(path)
print("ready", flush=True)
for line in sys.stdin:
    n = store.next_n(key)
    own = replace(tables, passes=tables.passes.assign(infer_ns=tables.passes["infer_ns"] + n))
    store.write_session(first.model_copy(update={"n": n}), own)
    store.write_trial(key, {"sessions": n})
    print(n, flush=True)
"""


@pytest.mark.attack("the harness is killed while it writes: whole sessions or none")
def test_killed_while_writing(tmp_path):
    path = made_experiment(tmp_path, sessions=1, variants=QUARTER[:1])
    rows = len(edgebench.load(path).passes)
    rng = random.Random(5)
    on_disk = 1
    for _ in range(4):
        acknowledged = write_and_kill(path, rng)
        with ExperimentStore.open(path) as store:  # the dead writer's lock is no obstacle
            assert not list(path.rglob(".writing-*"))
            assert store.warnings == []
            numbers = [record.n for record in store.finished(KEY)]
        # All that the writer told of, and at most the one that it had not come to tell of.
        assert numbers == list(range(len(numbers)))
        assert on_disk + acknowledged <= len(numbers) <= on_disk + acknowledged + 1
        on_disk = len(numbers)
        results = edgebench.load(path)
        assert len(results.passes) == len(numbers) * rows
        assert len(results.predictions.groupby(["trial", "session"], observed=True)) == len(numbers)
        assert results.warnings == []


def write_and_kill(path: Path, rng: random.Random) -> int:
    """Let a writer write, and kill it somewhere in a session; returns how many it told of."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        acknowledged = rng.randint(1, 4)
        for _ in range(acknowledged):
            writer.stdin.write("\n")
            writer.stdin.flush()
            assert writer.stdout.readline().strip().isdigit()
        # Another one is begun; how far it comes is up to the system and this little work.
        writer.stdin.write("\n")
        writer.stdin.flush()
        for _ in range(rng.randint(0, 60_000)):
            pass
        writer.send_signal(signal.SIGKILL)
        writer.wait(timeout=60)
    return acknowledged


@pytest.mark.attack("the harness is killed at every step of storing a session: it is whole or not there")
def test_killed_at_every_step_of_a_session(tmp_path, monkeypatch):
    """The same without luck: the writer stops dead at each call that touches the disk in turn."""
    path = made_experiment(tmp_path, sessions=1, variants=QUARTER[:1])
    results = load(path)
    tables = {name: results.table(name).drop(columns=["trial", "session"]) for name in ("passes", "batches")}
    record = results.session_records(KEY)[0]
    steps = 0
    while True:
        before = [session.n for session in edgebench.load(path).session_records(KEY)]
        tables["passes"]["infer_ns"] += 1
        stopped = stop_at(path, record.model_copy(update={"n": len(before)}), tables, steps, monkeypatch)
        reloaded = edgebench.load(path)
        numbers = [session.n for session in reloaded.session_records(KEY)]
        assert numbers in (before, [*before, len(before)])
        assert reloaded.warnings == []
        assert reloaded.passes["session"].nunique() == len(numbers)
        if not stopped:
            break
        steps += 1
    assert steps >= 8
    assert numbers == [*before, len(before)]


class Dead(BaseException):
    """Stands for the moment of death: nothing after it may touch the disk."""


def stop_at(path, record, tables, step, monkeypatch) -> bool:
    """Write a session in which the disk stops answering after `step` calls; whether it did."""
    calls = 0

    def dying(real):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls > step:
                raise Dead
            return real(*arguments, **options)

        return call

    with ExperimentStore.open(path) as store, monkeypatch.context() as patch:
        store.finished(KEY)  # else storing reads every session before it, one step more for each
        for name in ("fsync", "rename", "mkdir", "open"):
            patch.setattr(os, name, dying(getattr(os, name)))
        patch.setattr(Path, "open", dying(Path.open))
        patch.setattr(shutil, "rmtree", lambda *arguments, **options: None)  # the dead tidy nothing
        try:
            store.write_session(record, SessionTables(**tables))
        except Dead:
            patch.undo()
            return True
    return False
