"""Damaged, foreign and linked files of a result: a clear error or the same data."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgebench
from edgebench.errors import StoredResultError
from edgebench.judge.comparisons.history import stored_trial
from edgebench.judge.document import trial_document
from edgebench.judge.trials import trials_of
from edgebench.records.stored import RunRecord
from edgebench.results import load as frames
from edgebench.results import record_reading
from edgebench.results.record_reading import read_experiment, read_image_paths, read_run, read_sessions
from edgebench.results.writing import ExperimentStore
from tests.store.command_texts import seal
from tests.synthetic_results import QUARTER, key_of, made_experiment, write_record

KEY = key_of(QUARTER[0])
FRAMES = ("trials", "sessions", "passes", "batches", "probes", "predictions")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made_experiment(tmp_path, sessions=2, power=True)


def session(path: Path, n: int = 1) -> Path:
    return path / "trials" / KEY / "sessions" / f"{n:03}"


def edit(file: Path, **fields) -> None:
    write_record(file, json.loads(file.read_text()) | fields)


def read_all(path: Path) -> list[str]:
    """Every frame; StoredResultError is the only error that may come out of it."""
    results = edgebench.load(path)
    for name in FRAMES:
        assert isinstance(getattr(results, name), pd.DataFrame)
    return results.warnings


# --- any changed byte of any file ---


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small result with every kind of file; each test leaves it as it was."""
    path = made_experiment(
        tmp_path_factory.mktemp("whole"), sessions=1, passes=2, rows=1, columns=2, variants=QUARTER[:1],
        power=True, rate_hz=5, images=4, image_paths=("a.png", "b.png", "c.png", "d.png"),
        targets=("cpu", "mcu"), emulated=("mcu",),
    )  # fmt: skip
    with ExperimentStore.open(path) as store:
        store.write_run(RunRecord(started_utc="2025-03-01T12:00:00Z", ended="complete", settled=()))
        for trial in trials_of(edgebench.load(path)):
            store.write_trial(trial.key, trial_document(trial))
    return path


def table_reader(name: str) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        return edgebench.load(path).table(name).to_dict("list")

    return read


def sessions_of(path: Path) -> Any:
    records, warnings = read_sessions(path, KEY)
    if warnings:
        raise StoredResultError(warnings[0])
    return records


def trial_in(path: Path) -> Any:
    """None where trial.json is damaged: it is derived, and the tables are read then."""
    trial = stored_trial(path, KEY, read_sessions(path, KEY)[0])
    if trial is None:
        raise StoredResultError("trial.json is left out")
    return trial


READERS: dict[str, Callable[[Path], Any]] = {
    "experiment.json": read_experiment,
    "run.json": read_run,
    "images.json": read_image_paths,
    "trial.json": trial_in,
    "session.json": sessions_of,
    **{
        f"{name}.parquet": table_reader(name)
        for name in ("passes", "batches", "windows", "probes", "predictions")
    },
}


def changed(whole: Path, kind: str, change: Callable[[bytes], bytes]) -> str | None:
    """The data of a changed file as text; None where it is refused with its name and a fix."""
    file = min(whole.rglob(kind), key=lambda found: KEY not in found.parts)
    sound = file.read_bytes()
    file.write_bytes(change(sound))
    try:
        return repr(READERS[kind](whole))
    except StoredResultError:
        return None
    finally:
        file.write_bytes(sound)


@pytest.mark.attack("any byte of a stored file is another one: it is refused, or its data are equal")
@pytest.mark.parametrize("kind", sorted(READERS))
@settings(max_examples=50)
@given(place=st.integers(0), flip=st.integers(1, 255))
def test_a_changed_byte_is_refused_or_harmless(whole, kind, place, flip):
    def change(sound: bytes) -> bytes:
        at = place % len(sound)
        return sound[:at] + bytes([sound[at] ^ flip]) + sound[at + 1 :]

    assert changed(whole, kind, change) in (None, changed(whole, kind, lambda sound: sound))


@pytest.mark.attack("a stored file ends at any byte: it is refused")
@pytest.mark.parametrize("kind", sorted(READERS))
@settings(max_examples=25)
@given(length=st.integers(0))
def test_a_file_that_ends_too_early_is_refused(whole, kind, length):
    assert changed(whole, kind, lambda sound: sound[: length % len(sound)]) is None


def test_an_edited_record_without_its_checksum_is_read(whole):
    def rename(sound: bytes) -> bytes:
        document = json.loads(sound) | {"name": "edited"}
        return json.dumps({name: value for name, value in document.items() if name != "sha256"}).encode()

    assert "'edited'" in str(changed(whole, "experiment.json", rename))


@pytest.mark.attack("bits of a table are flipped: its file and how to measure it again are named")
def test_a_changed_table_names_its_file_and_its_fix(path):
    file = session(path) / "passes.parquet"
    file.write_bytes(file.read_bytes()[::-1])
    with pytest.raises(StoredResultError) as caught:
        _ = edgebench.load(path).passes
    assert str(file) in caught.value.what and "--resume" in caught.value.fix
    assert len(edgebench.load(path).sessions) == 6  # the records are as they were


# --- files that are gone, foreign, of other types or impossible ---


@pytest.mark.attack(
    "experiment.json is empty, torn or something else: one message that names it, with its fix"
)
@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"{}",
        b'{"schema_version": true}',
        b'{"schema_version": 1}',
        b'{"schema_version": 3}',
        b'{"schema_version": 3, "seed": NaN}',
    ],
)
def test_an_unusable_experiment_is_one_message(path, text):
    (path / "experiment.json").write_bytes(text)
    for attempt in (edgebench.load, ExperimentStore.open):
        with pytest.raises(StoredResultError) as caught:
            attempt(path)
        assert "experiment.json" in caught.value.what
        assert caught.value.fix
        assert len(str(caught.value).splitlines()) <= 3


@pytest.mark.attack("two trials have one key: the result is called damaged")
def test_two_trials_of_one_key_are_refused(path):
    record = json.loads((path / "experiment.json").read_text())
    edit(path / "experiment.json", trials=[*record["trials"], record["trials"][0]])
    with pytest.raises(StoredResultError) as caught:
        edgebench.load(path)
    assert "same key" in caught.value.why


@pytest.mark.attack("session.json is empty, torn or something else: that session is left out and named")
@pytest.mark.parametrize(
    "text",
    [b"", b'{"schema_version": 1}', b'{"schema_version": 3}'],
)
def test_a_damaged_session_is_left_out_and_named(path, text):
    (session(path) / "session.json").write_bytes(text)
    results = edgebench.load(path)
    assert [stored.n for stored in results.session_records(KEY)] == [0]
    assert len(results.warnings) == 1
    assert f"session 1 of trial {KEY}" in results.warnings[0]
    assert set(results.passes.query("trial == @KEY")["session"]) == {0}
    assert results.trials["sessions_ok"].tolist() == [1, 2, 2]


@pytest.mark.attack("session.json is gone: that session is left out and named")
def test_a_session_without_its_record_is_left_out_and_named(path):
    (session(path) / "session.json").unlink()
    assert len(read_all(path)) == 1


@pytest.mark.attack("session.json is that of another session or status: it is left out and named")
@pytest.mark.parametrize("change", [{"n": 0}, {"trial": key_of(QUARTER[1])}, {"status": "splendid"}])
def test_a_session_of_another_place_is_left_out(path, change):
    edit(session(path) / "session.json", **change)
    results = edgebench.load(path)
    assert [stored.n for stored in results.session_records(KEY)] == [0]
    assert len(results.warnings) == 1


@pytest.mark.attack("the folder holds unplanned trials: they are left out and named")
def test_what_is_not_in_the_plan_is_left_out_and_named(path):
    (path / "trials" / "0123456789abcdef" / "sessions" / "000").mkdir(parents=True)
    (path / "trials" / "notes.txt").write_text("")
    warnings = read_all(path)
    assert len(warnings) == 2
    for name in ("1", "00001", "-01", "002.old", "１２３"):
        (session(path).parent / name).mkdir()
    assert len(edgebench.load(path).session_records(KEY)) == 2


@pytest.mark.attack("a table is gone: one message names it")
def test_a_table_that_is_gone_is_said(path):
    (session(path) / "passes.parquet").unlink()
    with pytest.raises(StoredResultError, match=r"passes\.parquet") as caught:
        _ = edgebench.load(path).passes
    assert "missing" in caught.value.why


@pytest.mark.attack("a table has other columns: it is refused by name")
@pytest.mark.parametrize(
    "table",
    [
        pa.table({"other": [1]}),
        pa.table({}),
        pa.table({"worker": pa.array(["one"])}),
    ],
)
def test_a_table_of_other_columns_is_refused(path, table):
    file = session(path) / "passes.parquet"
    pq.write_table(table, file)
    seal(file)
    with pytest.raises(StoredResultError) as caught:
        _ = edgebench.load(path).passes
    assert str(file) in caught.value.what


@pytest.mark.attack("a column is of another type: it is refused by name")
@pytest.mark.parametrize(
    ("column", "values"),
    [("image_ns", [1.5]), ("phase", [["a"]]), ("evil<script>", [1]), ("trial", ["x"]), ("load_ns", ["x"])],
)
def test_a_column_of_another_type_or_name_is_refused(path, column, values):
    file = session(path) / "passes.parquet"
    table = pq.read_table(file).slice(0, 1)
    if column in table.column_names:
        table = table.drop_columns([column])
    pq.write_table(table.append_column(column, pa.array(values)), file)
    seal(file)
    with pytest.raises(StoredResultError, match=r"passes\.parquet") as caught:
        _ = edgebench.load(path).passes
    assert column.split("<")[0] in caught.value.why


@pytest.mark.attack("a stage of a batch ends before it starts, sealed with its hash: the row is refused")
def test_a_stage_that_ends_before_it_starts_is_refused(path):
    file = session(path) / "batches.parquet"
    table = pq.read_table(file)
    starts = table["infer_start_ns"].to_numpy()
    at = table.column_names.index("infer_end_ns")
    pq.write_table(table.set_column(at, "infer_end_ns", pa.array(starts - 1)), file)
    seal(file)
    with pytest.raises(StoredResultError, match=r"batches\.parquet") as caught:
        _ = edgebench.load(path).batches
    assert caught.value.why == "'infer_end_ns' of a row is before its 'infer_start_ns'"


@pytest.mark.attack("a file promises more than a session can write: it is refused before it is read")
def test_sizes_are_bounded(path, monkeypatch):
    monkeypatch.setattr(frames, "MAX_BYTES", 100)
    with pytest.raises(StoredResultError, match="predictions") as caught:
        _ = edgebench.load(path).predictions
    assert "larger" in caught.value.why
    monkeypatch.setattr(record_reading, "MAX_JSON_BYTES", 100)
    with pytest.raises(StoredResultError, match=r"experiment\.json") as caught:
        edgebench.load(path)
    assert "more than" in caught.value.why


# --- links and pipes ---


def outside(path: Path, file: Path) -> None:
    """Move a file out of the result folder and link to it."""
    target = path.parent / "outside"
    target.mkdir(exist_ok=True)
    file.rename(target / file.name)
    file.symlink_to(target / file.name)


@pytest.mark.attack("a table is a link out of the folder: it is refused")
@pytest.mark.parametrize("table", ["passes", "predictions"])
def test_a_table_outside_is_refused(path, table):
    outside(path, session(path) / f"{table}.parquet")
    with pytest.raises(StoredResultError):
        getattr(edgebench.load(path), table)


@pytest.mark.attack("a record is a link out of the folder: it is refused")
def test_a_record_outside_is_refused(path):
    outside(path, session(path) / "session.json")
    warnings = read_all(path)
    assert len(warnings) == 1
    assert "leads out" in warnings[0]
    outside(path, path / "experiment.json")
    with pytest.raises(StoredResultError):
        edgebench.load(path)


@pytest.mark.attack("a session's folder is a link out of the result: it is refused")
@pytest.mark.parametrize("place", ["sessions/001", "sessions", ""])
def test_a_folder_outside_is_refused(path, place):
    outside(path, path / "trials" / KEY / place)
    warnings = read_all(path)
    assert warnings
    assert all("leads out" in line for line in warnings)
    assert len(edgebench.load(path).session_records(KEY)) == (1 if place == "sessions/001" else 0)


@pytest.mark.attack("a folder that is written to is a link out of the result: nothing outside is touched")
@pytest.mark.parametrize("place", ["sessions", ""])
def test_nothing_is_written_or_removed_outside(path, place):
    outside(path, path / "trials" / KEY / place)
    target = path.parent / "outside"
    precious = next(target.iterdir()) / ".writing-precious"
    precious.write_text("not ours")
    with pytest.raises(StoredResultError):
        ExperimentStore.open(path)
    assert precious.read_text() == "not ours"


def test_a_link_that_stays_inside_is_followed(path):
    file = session(path) / "passes.parquet"
    file.rename(file.with_name("kept.parquet"))
    file.symlink_to("kept.parquet")
    assert len(edgebench.load(path).passes) == 30


@pytest.mark.attack("links lead in a circle: one message")
def test_a_loop_of_links_is_one_message(path):
    file = session(path) / "session.json"
    file.unlink()
    file.symlink_to("session.json")
    assert len(read_all(path)) == 1


@pytest.mark.attack("a record is a pipe without a writer: it is refused, and nothing waits")
def test_a_pipe_does_not_block(path):
    for name in ("session.json", "passes.parquet"):
        (session(path) / name).unlink()
        os.mkfifo(session(path) / name)
    results = edgebench.load(path)
    assert "not a plain file" in results.warnings[0]
    (session(path, 0) / "passes.parquet").unlink()
    os.mkfifo(session(path, 0) / "passes.parquet")
    with pytest.raises(StoredResultError):
        _ = results.passes


@pytest.mark.attack("a file that is written is a link elsewhere: its end is untouched")
@pytest.mark.parametrize("name", [".lock-holder.json", "trial.json", ".lock"])
def test_what_is_written_never_follows_a_link(path, tmp_path, name):
    """A folder from elsewhere may hold links in the places of what EdgeBench writes."""
    precious = tmp_path / "precious"
    precious.write_text("not ours")
    trial = next(iter((path / "trials").iterdir()))
    place = (trial if name == "trial.json" else path) / name
    place.unlink(missing_ok=True)
    place.symlink_to(precious)
    try:
        with ExperimentStore.open(path) as store:
            store.write_trial(trial.name, {"sessions": 1})
    except StoredResultError as error:
        assert name == ".lock" and error.fix
    assert precious.read_text() == "not ours"
    assert place.is_symlink() == (name == ".lock")
