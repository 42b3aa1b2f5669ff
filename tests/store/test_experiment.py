"""An experiment's folder while it is written: sessions, locks and records."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edgebench.errors import SessionError, StoredResultError, UsageError
from edgebench.records.session import Channel, ProbeChunk, ProbeInfo
from edgebench.records.stored import ExperimentRecord, SessionRecord, SessionTables
from edgebench.results.load import load
from edgebench.results.writing import ExperimentStore, require_writable
from tests.sample_tables import write_samples
from tests.synthetic_results import QUARTER, key_of, made_experiment

KEY = key_of(QUARTER[0])


@pytest.fixture
def record(experiment_path: Path) -> ExperimentRecord:
    return load(experiment_path).experiment


def session(n: int, key: str = KEY, status: str = "ok") -> SessionRecord:
    return SessionRecord.model_validate(
        {
            "trial": key,
            "n": n,
            "round": n,
            "status": status,
            "started_utc": "2025-03-01T12:00:00Z",
            "duration_s": 1.5,
        }
    )


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_unnamed_experiment_is_named_by_its_time(tmp_path, record):
    record = record.model_copy(update={"name": "cpu & <b>"})
    for expected in ("20250301-120000-cpu-b-", "20250301-120000-cpu-b--2"):
        with ExperimentStore.create(tmp_path / "a" / "b", None, record, b"jpeg") as store:
            assert store.path == tmp_path / "a" / "b" / expected
            assert load(store.path).experiment == record
            assert load(store.path).scene_jpeg == b"jpeg"


def test_a_named_experiment_is_never_overwritten(tmp_path, record):
    ExperimentStore.create(tmp_path, "mine", record).close()
    before = snapshot(tmp_path)
    with pytest.raises(StoredResultError, match="already") as caught:
        ExperimentStore.create(tmp_path, "mine", record.model_copy(update={"seed": 99}))
    assert "--resume" in caught.value.fix
    assert snapshot(tmp_path) == before


def test_a_folder_of_something_else_is_not_taken(tmp_path, record):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(StoredResultError):
        ExperimentStore.create(tmp_path, "mine", record)
    assert os.listdir(tmp_path / "mine") == ["thesis.txt"]


def test_a_name_is_free_again_when_its_run_died_before_its_plan(tmp_path, record):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / ".lock").touch()
    (folder / ".writing-experiment").write_text("{")
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        assert not list(store.path.glob(".writing-*"))
        assert load(store.path).experiment == record


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../evil",
        "a/b",
        "/etc/x",
        ".hidden",
        "a\x00b",
        "a b",
        "é",
        "x" * 81,
        "latest",
        "a\n",
        "~",
    ],
)
def test_names_never_become_paths_unchecked(tmp_path, record, name):
    with pytest.raises(UsageError) as caught:
        ExperimentStore.create(tmp_path / "results", name, record)
    assert caught.value.fix
    assert list(tmp_path.iterdir()) == []


def test_a_session_is_written_whole_and_read_back(tmp_path, record, experiment_path):
    tables = SessionTables(passes=load(experiment_path).table("passes").drop(columns=["trial", "session"]))
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        assert store.next_n(KEY) == 0
        folder = store.write_session(session(0), tables)
        assert sorted(os.listdir(folder)) == ["passes.parquet", "session.json"]
        assert folder == store.path / "trials" / KEY / "sessions" / "000"
        store.write_session(session(1, status="crash"), SessionTables())
        assert [(finished.n, finished.status) for finished in store.finished(KEY)] == [
            (0, "ok"),
            (1, "crash"),
        ]
        assert store.next_n(KEY) == 2
        assert not list(store.path.rglob(".writing-*"))


def samples(path):
    channel = Channel("in", "power", "W")
    info = ProbeInfo("m", "", 1.0, "", "usb", (channel,))
    return write_samples(path, [ProbeChunk("m:", np.array([1, 2]), {"in": np.array([2.5, 3.0])})], [info])


def test_samples_that_are_on_disk_already_are_moved_to_their_session(tmp_path, record):
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        with store.scratch() as scratch:
            tables = SessionTables(probes=samples(scratch / "probes.parquet"))
            folder = store.write_session(session(0), tables)
            assert list(scratch.iterdir()) == []
        assert sorted(os.listdir(folder)) == ["probes.parquet", "session.json"]
        assert load(store.path).table("probes")["value"].tolist() == [2.5, 3.0]  # and the hash is the file's
        assert not list(store.path.rglob(".writing-*"))


@pytest.mark.attack("a run is killed during a session: its samples are no session, and are taken away")
def test_what_a_killed_session_sampled_is_removed(tmp_path, record):
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        scratch = store.scratch()
        samples(scratch.__enter__() / "probes.parquet")  # which nobody leaves
        assert load(store.path).warnings == []
        assert len(load(store.path).table("probes")) == 0
    with ExperimentStore.open(store.path):
        assert not list(store.path.rglob(".writing-*"))
    scratch.__exit__(None, None, None)


def test_a_session_is_never_overwritten(tmp_path, record):
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        store.write_session(session(0), SessionTables())
        before = snapshot(tmp_path)
        with pytest.raises(StoredResultError, match="already"):
            store.write_session(session(0, status="error"), SessionTables())
        assert snapshot(tmp_path) == before


@pytest.mark.attack("two sessions have the same passes: the second is damaged; no device repeats its stamps")
def test_passes_of_another_session_are_refused(tmp_path):
    path = made_experiment(tmp_path, sessions=1)
    keys = [trial.key for trial in load(path).experiment.trials]
    frame = load(path).table("passes", trials=keys[:1]).drop(columns=["trial", "session"])
    record = load(path).session_records(keys[0])[0]
    for key, n in ((keys[0], 1), (keys[1], 1)):
        again = record.model_copy(update={"trial": key, "n": n})
        with ExperimentStore.open(path) as store:  # which has not read any session yet
            with pytest.raises(SessionError) as caught:
                store.write_session(again, SessionTables(passes=frame))
            assert caught.value.status == "protocol_error"
            assert caught.value.why == f"its passes are those of session 0 of trial {keys[0]}"
            assert not store.path.joinpath("trials", key, "sessions", "001").exists()
    for n, flag in enumerate(("emulated", "own_time"), start=1):  # whose stamps may be the same each time
        with ExperimentStore.open(path) as store:
            store.write_session(record.model_copy(update={"n": n, flag: True}), SessionTables(passes=frame))
    assert len(load(path).session_records(keys[0])) == 3


@pytest.mark.parametrize("beyond", ["start_ns", "end_ns"])
def test_passes_outside_their_steady_window_are_refused(tmp_path, beyond):
    path = made_experiment(tmp_path, sessions=1)
    results = load(path)
    key = results.experiment.trials[0].key
    frame = results.table("passes", trials=[key]).drop(columns=["trial", "session"])
    record = results.session_records(key)[0].model_copy(update={"n": 1})
    frame["phase"] = frame["phase"].astype(str)
    steady = np.flatnonzero(frame["phase"] == "steady")
    edge = steady[0 if beyond == "start_ns" else -1]
    frame.loc[edge, beyond] += -1 if beyond == "start_ns" else 1
    with ExperimentStore.open(path) as store:
        with pytest.raises(SessionError, match="1 of its steady passes are outside its steady window"):
            store.write_session(record, SessionTables(passes=frame))
        frame.loc[edge, "phase"] = "outside"  # of several workers
        store.write_session(record, SessionTables(passes=frame))


@pytest.mark.parametrize("key", ["f" * 16, "../../etc", "", "F" * 16])
def test_a_session_of_no_trial_is_refused(tmp_path, record, key):
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        with pytest.raises(ValueError, match="not a trial"):
            store.finished(key)
        with pytest.raises(ValueError, match="not a trial"):
            store.write_session(session(0, key=key), SessionTables())


def test_a_table_with_other_columns_is_refused_and_leaves_nothing(tmp_path, record, experiment_path):
    wrong = load(experiment_path).table("probes")  # with trial and session in front
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        with pytest.raises(ValueError, match="columns of probes"):
            store.write_session(session(0), SessionTables(probes=wrong))
        assert store.next_n(KEY) == 0
        assert os.listdir(store.path / "trials" / KEY / "sessions") == []


def test_a_trial_is_derived_and_may_be_replaced(tmp_path, record):
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        store.write_trial(KEY, {"status": "partial"})
        path = store.write_trial(KEY, {"status": "done"})
        assert json.loads(path.read_text()).items() >= {"schema_version": 3, "status": "done"}.items()
        with pytest.raises(ValueError):
            store.write_trial(KEY, {"image_s": float("nan")})
        assert json.loads(path.read_text())["status"] == "done"


def test_what_a_killed_writer_left_is_removed_when_it_is_opened(tmp_path):
    path = made_experiment(tmp_path, sessions=1)
    sound = snapshot(path)
    sessions = path / "trials" / KEY / "sessions"
    (sessions / ".writing-1").mkdir()
    (sessions / ".writing-1" / "passes.parquet").write_bytes(b"PAR1 and half a file")
    (path / "trials" / KEY / ".writing-2").write_text("{")
    (path / ".writing-3").write_text("{")
    with ExperimentStore.open(path) as store:
        assert not list(path.rglob(".writing-*"))
        assert store.next_n(KEY) == 1
    assert snapshot(path) == sound


def test_a_second_writer_is_told_who_holds_the_lock(tmp_path, record):
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        for attempt in (
            lambda: ExperimentStore.open(store.path),
            lambda: ExperimentStore.create(tmp_path, "mine", record),
        ):
            with pytest.raises(StoredResultError) as caught:
                attempt()
            assert caught.value.fix
        with pytest.raises(StoredResultError) as caught:
            ExperimentStore.open(store.path)
        assert str(os.getpid()) in caught.value.why
    ExperimentStore.open(store.path).close()


def test_a_writer_in_another_process_is_kept_out(tmp_path, record):
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from edgebench.errors import StoredResultError\n"
        "from edgebench.results.writing import ExperimentStore\n"
        "try:\n"
        "    ExperimentStore.open(Path(sys.argv[1]))\n"
        "except StoredResultError as error:\n"
        "    sys.exit(str(error))\n"
    )
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        second = subprocess.run(
            [sys.executable, "-c", code, str(store.path)], capture_output=True, text=True, timeout=60
        )
        assert second.returncode == 1
        assert f"process {os.getpid()}" in second.stderr


@pytest.mark.attack(
    "a run is killed and its folder handed on: what it noted of itself names no machine and no user"
)
def test_the_note_of_the_holder_names_no_machine(tmp_path, record):
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        note = json.loads((store.path / ".lock-holder.json").read_text())
        assert set(note) == {"pid", "started_s"}
        (store.path / ".lock-holder.json").write_text(json.dumps({**note, "started_s": 5.0}))
        with pytest.raises(StoredResultError) as caught:
            ExperimentStore.open(store.path)
        assert (
            caught.value.why
            == f"process {os.getpid()} on another machine that has this folder holds the lock"
        )
    assert not (store.path / ".lock-holder.json").exists()


@pytest.mark.parametrize(
    "note",
    [
        "",
        "{",
        "[]",
        '{"pid": "x", "started_s": 1}',
        '{"pid": 1e999, "started_s": 1}',
        "x" * 100_000,
        "[" * 4000,
    ],
)
def test_a_strange_note_of_the_holder_is_no_matter(tmp_path, record, note):
    with ExperimentStore.create(tmp_path, "mine", record) as store:
        (store.path / ".lock-holder.json").write_text(note)
        with pytest.raises(StoredResultError, match="another EdgeBench") as caught:
            ExperimentStore.open(store.path)
        assert caught.value.why == ""


def test_closing_twice_is_harmless(tmp_path, record):
    store = ExperimentStore.create(tmp_path, "mine", record)
    store.close()
    store.close()


def test_a_folder_that_cannot_be_made_is_said(tmp_path, record):
    (tmp_path / "file").write_text("")
    for attempt in (
        lambda: ExperimentStore.create(tmp_path / "file" / "results", "mine", record),
        lambda: require_writable(tmp_path / "file"),
    ):
        with pytest.raises(StoredResultError) as caught:
            attempt()
        assert caught.value.why
        assert "--output-dir" in caught.value.fix


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_read_only_folder_is_said_with_the_fix(tmp_path, record, monkeypatch, number):
    path = made_experiment(tmp_path, sessions=1)

    def refuse(*arguments, **options):
        raise OSError(number, os.strerror(number))

    real = os.open
    monkeypatch.setattr(
        os,
        "open",
        lambda file, flags, *rest, **more: (
            real(file, flags, *rest, **more) if not flags & (os.O_WRONLY | os.O_RDWR) else refuse()
        ),
    )
    for attempt in (
        lambda: ExperimentStore.create(tmp_path, "other", record),
        lambda: ExperimentStore.open(path),
        lambda: require_writable(tmp_path),
    ):
        with pytest.raises(StoredResultError) as caught:
            attempt()
        assert "permissions" in caught.value.fix


def test_a_folder_is_tried_out_and_not_made(tmp_path):
    require_writable(tmp_path / "a")
    require_writable(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_tree_of_folders_is_not_made(tmp_path):
    with pytest.raises(UsageError) as caught:
        require_writable(tmp_path / "typo" / "results")
    assert "--output-dir" in caught.value.fix
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("nth", range(4))
def test_a_full_disk_loses_only_the_session_in_hand(tmp_path, monkeypatch, nth):
    """The disk is full at the nth file that is flushed; what was there stays, and the next try works."""
    path = made_experiment(tmp_path, sessions=1)
    frames = load(path)
    tables = SessionTables(
        passes=frames.passes.drop(columns=["trial", "session"]),
        batches=frames.batches.drop(columns=["trial", "session"]),
        predictions=frames.predictions.drop(columns=["trial", "session"]),
    )
    sound = snapshot(path)
    calls = 0
    real = os.fsync

    def full(handle):
        nonlocal calls
        calls += 1
        if calls == nth + 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with ExperimentStore.open(path) as store:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StoredResultError) as caught:
            store.write_session(session(1), tables)
        assert "make room" in caught.value.fix
        assert "--resume" in caught.value.fix
        assert [finished.n for finished in store.finished(KEY)] == [0]
        monkeypatch.undo()
        written = {name: data for name, data in snapshot(path).items() if "lock" not in name}
        assert written == {name: data for name, data in sound.items() if "lock" not in name}
        store.write_session(session(1), tables)
    assert len(load(path).session_records(KEY)) == 2


def test_a_damaged_session_is_named_and_its_number_not_used_again(tmp_path):
    path = made_experiment(tmp_path, sessions=2)
    (path / "trials" / KEY / "sessions" / "001" / "session.json").write_text("{")
    with ExperimentStore.open(path) as store:
        assert [finished.n for finished in store.finished(KEY)] == [0]
        assert len(store.finished(KEY)) == 1
        assert len(store.warnings) == 1
        assert "session 1" in store.warnings[0]
        assert store.next_n(KEY) == 2
