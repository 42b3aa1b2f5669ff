"""Result folders that someone else made: damaged, foreign, or meant to do harm."""

import hashlib
import json
import os
import random
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import edgebench
from edgebench.errors import StoredResultError
from edgebench.results import load as frames
from edgebench.results import record_reading
from edgebench.results.rows import Rows
from edgebench.results.writing import ExperimentStore
from tests.synthetic_results import QUARTER, key_of, made_experiment

pytestmark = pytest.mark.slow

KEY = key_of(QUARTER[0])
FRAMES = ("trials", "sessions", "passes", "batches", "probes", "predictions")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made_experiment(tmp_path, sessions=2, power=True)


def session(path: Path, n: int = 1) -> Path:
    return path / "trials" / KEY / "sessions" / f"{n:03}"


def edit(file: Path, **fields) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def seal(file: Path) -> None:
    """Put the hash of a changed table into its session's record, as whoever means harm would."""
    record = json.loads((file.parent / "session.json").read_text())
    hashes = record["tables"] | {file.stem: hashlib.sha256(file.read_bytes()).hexdigest()}
    edit(file.parent / "session.json", tables=hashes)


def read_all(path: Path) -> list[str]:
    """Every frame; StoredResultError is the only error that may come out of it."""
    results = edgebench.load(path)
    for name in FRAMES:
        assert isinstance(getattr(results, name), pd.DataFrame)
    return results.warnings


@pytest.mark.attack(
    "experiment.json is empty, torn or something else: one message that names it, with its fix"
)
@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"   ",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"schema_version": "1"}',
        b'{"schema_version": true}',
        b'{"schema_version": 0}',
        b'{"schema_version": 1}',
        b'{"schema_version": 3}',
        b'{"schema_version": 999999999999999999999}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
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


@pytest.mark.attack("experiment.json has fields that cannot be: one message with its fix")
@pytest.mark.parametrize(
    "change",
    [
        {"trials": [{"key": "../../../etc/passwd"}]},
        {"trials": "many"},
        {"sessions": 0},
        {"sessions": 10**30},
        {"unknown_field": 1},
        {"scene": None},
    ],
)
def test_an_experiment_that_lies_is_one_message(path, change):
    edit(path / "experiment.json", **change)
    try:
        read_all(path)
    except StoredResultError as error:
        assert error.fix
    else:
        assert change == {"sessions": 10**30}  # strange, and no reader's trouble


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
    [b"", b"{", b"[]", b'{"schema_version": 1}', b'{"schema_version": 3}', b"\xff" * 50, b"[" * 100_000],
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


@pytest.mark.attack("session.json has words for numbers: those figures are missing")
def test_figures_of_a_strange_type_are_missing(path):
    edit(
        session(path) / "session.json",
        warmup={"batches": "lots", "steady": "yes"},
        memory={"peak_bytes": 10**30},
        started_utc="the other day",
        round=10**30,
    )
    row = edgebench.load(path).sessions.query("trial == @KEY and session == 1").iloc[0]
    for column in ("warmup_batches", "warmup_steady", "memory_peak_bytes", "started_utc", "round"):
        assert pd.isna(row[column])


@pytest.mark.attack("the folder holds unplanned trials: they are left out and named")
def test_what_is_not_in_the_plan_is_left_out_and_named(path):
    (path / "trials" / "0123456789abcdef" / "sessions" / "000").mkdir(parents=True)
    (path / "trials" / "notes.txt").write_text("")
    warnings = read_all(path)
    assert len(warnings) == 2
    for name in ("1", "00001", "-01", "002.old", "１２３"):
        (session(path).parent / name).mkdir()
    assert len(edgebench.load(path).session_records(KEY)) == 2


@pytest.mark.attack("a table ends too soon: one message names the file and how to measure it again")
@pytest.mark.parametrize("table", ["passes", "batches", "probes", "predictions"])
@pytest.mark.parametrize("keep", [0, 3, 8, 0.5, 0.99])
def test_a_truncated_table_names_its_file(path, table, keep):
    file = session(path) / f"{table}.parquet"
    data = file.read_bytes()
    file.write_bytes(data[: int(keep if keep >= 1 else keep * len(data))])
    with pytest.raises(StoredResultError) as caught:
        getattr(edgebench.load(path), table)
    assert str(file) in caught.value.what
    assert "--resume" in caught.value.fix
    assert len(edgebench.load(path).sessions) == 6  # the records are as they were


@pytest.mark.attack("bits of a table are flipped, one at a time: each is found by the table's hash")
def test_a_flipped_bit_in_a_table_is_always_found(path):
    file = session(path) / "passes.parquet"
    sound = file.read_bytes()
    rng = random.Random(3)
    for _ in range(40):
        damaged = bytearray(sound)
        damaged[rng.randrange(len(sound))] ^= 1 << rng.randrange(8)
        file.write_bytes(damaged)
        with pytest.raises(StoredResultError) as caught:
            _ = edgebench.load(path).passes
        assert str(file) in caught.value.what


@pytest.mark.attack("a table was made to do harm and sealed with its hash: one message")
@pytest.mark.parametrize("table", ["passes", "predictions"])
def test_a_table_that_was_made_to_do_harm_is_one_message(path, table):
    """Where the hash fits the damage: a frame, or an error that names the file, and nothing else."""
    file = session(path) / f"{table}.parquet"
    sound = file.read_bytes()
    rng = random.Random(4)
    refused = 0
    for _ in range(400):
        damaged = bytearray(sound)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(sound))] = rng.randrange(256)
        file.write_bytes(damaged)
        sources = [frames.Source(0, 1, file, path, hashlib.sha256(damaged).hexdigest())]
        try:
            assert isinstance(frames.read_rows(table, sources, [KEY]), Rows)
        except StoredResultError as error:
            assert str(file) in error.what
            refused += 1
    assert refused > 200


@pytest.mark.attack("a table is gone: one message names it")
def test_a_table_that_is_gone_is_said(path):
    (session(path) / "passes.parquet").unlink()
    with pytest.raises(StoredResultError, match=r"passes\.parquet") as caught:
        _ = edgebench.load(path).passes
    assert "missing" in caught.value.why


@pytest.mark.attack("bits of a record are flipped: one message, or no message where nothing changed")
def test_flipped_bits_in_a_record_are_one_message_or_none(path):
    rng = random.Random(4)
    for file in (path / "experiment.json", session(path) / "session.json"):
        sound = file.read_bytes()
        for _ in range(30):
            damaged = bytearray(sound)
            damaged[rng.randrange(len(sound))] ^= 1 << rng.randrange(8)
            file.write_bytes(damaged)
            try:
                read_all(path)
            except StoredResultError as error:
                assert error.fix
        file.write_bytes(sound)


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
    monkeypatch.setattr(frames, "MAX_ROWS", 3)
    with pytest.raises(StoredResultError, match="batches") as caught:
        _ = edgebench.load(path).batches
    assert "rows" in caught.value.why
    monkeypatch.setattr(frames, "MAX_BYTES", 100)
    with pytest.raises(StoredResultError, match="predictions") as caught:
        _ = edgebench.load(path).predictions
    assert "larger" in caught.value.why
    monkeypatch.setattr(record_reading, "MAX_JSON_BYTES", 100)
    with pytest.raises(StoredResultError, match=r"experiment\.json") as caught:
        edgebench.load(path)
    assert "more than" in caught.value.why


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


@pytest.mark.attack("names are markup and commands: they are data, and come back as they were")
def test_markup_is_data_and_comes_back_as_it_was(experiment_path):
    results = edgebench.load(experiment_path)
    assert "<script>" in results.trials["target"][0]
    assert "<script>" in results.sessions["failure_what"].dropna().iloc[0]
