"""Stored files, truncated, flipped, made up, renamed: a clear error or a correct reading, nothing else.

`tests/store/fuzzing.py` holds what may never come out: a traceback, a terminal's escapes, markup in a report.
"""

import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import edgebench
from edgebench.errors import StoredResultError
from edgebench.judge.profile import shipped_profiles
from edgebench.results.writing import ExperimentStore
from tests.store.fuzzing import HOSTILE, MARK, leaves, no_markup, replaced, run_command, seal
from tests.synthetic_results import QUARTER, made_experiment

pytestmark = pytest.mark.slow

FRAMES = ("trials", "sessions", "passes", "batches", "probes", "predictions")
FORMS = (".html", ".md", ".csv", ".json")
FLIPS, VALUES, TABLES = 200, 80, 80
REPORTED = 20  # of so many changes one is also written as a report


@pytest.fixture(scope="module", autouse=True)
def narrow() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        yield


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small result with everything in it; each test leaves it as it was."""
    path = made_experiment(
        tmp_path_factory.mktemp("fuzz"),
        sessions=3,
        passes=3,
        rows=1,
        columns=2,
        variants=QUARTER[:2],
        power=True,
        rate_hz=5,
        images=4,
        profiles=[shipped_profiles()[0].as_record()],
        crashed_once=[QUARTER[1]],
        mass_g=50,
    )
    (path / "run.json").write_text('{"schema_version": 3, "started_utc": "2025-03-01T12:00:00Z"}')
    return path


@contextmanager
def changed(file: Path, data: bytes) -> Iterator[None]:
    """The file with other bytes, and its record as it may be changed meanwhile."""
    record = file.parent / "session.json"
    bytes_by_file = {
        stored_file: stored_file.read_bytes() for stored_file in {file, record} if stored_file.exists()
    }
    file.write_bytes(data)
    try:
        yield
    finally:
        for stored_file, before in bytes_by_file.items():
            stored_file.write_bytes(before)


def read_all(path: Path) -> int:
    """Every frame that can be read; how many were refused, each with a file's name and a fix."""
    refused = 0
    try:
        results = edgebench.load(path)
    except StoredResultError as error:
        assert "experiment.json" in error.what and error.fix
        return len(FRAMES)
    for line in results.warnings:
        assert "\n" not in line
    for name in FRAMES:
        try:
            getattr(results, name)
        except StoredResultError as error:
            assert str(path) in error.what and error.fix
            refused += 1
    return refused


def reported(path: Path, folder: Path) -> None:
    for form in FORMS:
        report_file = folder / f"report{form}"
        if run_command("report", str(path), "-o", str(report_file)).code == 0:
            no_markup(report_file.read_text(), form)


def files(path: Path) -> list[Path]:
    session_files = sorted(path.glob("trials/*/sessions/*/*"))
    return [path / "experiment.json", path / "run.json", *session_files]


def test_sound_it_is_read_and_reported(path, tmp_path):
    assert read_all(path) == 0
    assert run_command("show", str(path)).code == 5  # one session has failed
    assert run_command("fit", str(path), "--json").code == 5
    reported(path, tmp_path)
    assert sorted(report_file.suffix for report_file in tmp_path.iterdir()) == sorted(FORMS)


@pytest.mark.attack("a record ends at any byte: one message, or it is left out and named")
@pytest.mark.parametrize("name", ["experiment.json", "run.json", "session.json"])
def test_a_record_truncated_anywhere(path, name):
    """At each end of a word, a number or a bracket: that is where a text can look whole."""
    file = next(candidate for candidate in files(path) if candidate.name == name)
    sound = file.read_bytes()
    ends = [match.start() for match in re.finditer(rb'[{}\[\]",:\n]', sound)]
    assert len(ends) > 3
    for length in {0, 1, len(sound) - 1, *random.Random(1).sample(ends[:-1], min(len(ends) - 1, 60))}:
        with changed(file, sound[:length]):
            results = None
            try:
                results = edgebench.load(path)
            except StoredResultError as error:
                assert name == "experiment.json" and "experiment.json" in error.what
            if results is not None:
                assert len(results.warnings) == 1 and name in results.warnings[0]


@pytest.mark.attack("a table ends at any byte: one message names the file")
@pytest.mark.parametrize("table", ["passes", "batches", "probes", "predictions"])
def test_a_table_truncated_anywhere(path, table):
    """At each page, in the footer and beside the magic words, whatever the record says of its hash."""
    file = next(candidate for candidate in files(path) if candidate.name == f"{table}.parquet")
    sound = file.read_bytes()
    footer = int.from_bytes(sound[-8:-4], "little")
    chunks = pq.ParquetFile(file).metadata.row_group(0)
    pages = {chunks.column(at).data_page_offset for at in range(chunks.num_columns)}
    near = {
        offset for end in (len(sound) - 8 - footer, len(sound) - 8, len(sound)) for offset in (end - 1, end)
    }
    for length in (pages | near | {0, 3, 4, 5}) - {len(sound)}:
        with changed(file, sound[:length]):
            assert read_all(path) == 1, length
            seal(file)
            assert read_all(path) == 1, length


@pytest.mark.attack(
    "bits of any file are flipped: those of a table are found, those of a record found or sound"
)
def test_flipped_bits_are_found_or_harmless(path):
    """A bit of a table is always found; one of a record is found, or makes another sound record."""
    rng = random.Random(2)
    for _ in range(FLIPS):
        file = rng.choice(files(path))
        data = bytearray(file.read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        with changed(file, bytes(data)):
            refused = read_all(path)
        assert refused == 1 or file.suffix == ".json", file


STRANGE: tuple[Any, ...] = (
    None, [], {}, "", True, -1, 0, 1, 3.5, 10**400, -(10**30), 2**63, 2**31, 1e308, -0.0, float(2**63),
    HOSTILE, "NaN", "1", "x" * 100_000, [[]] * 3, {"a": HOSTILE}, ["a"] * 3,
)  # fmt: skip


@pytest.mark.attack("any value of a record is strange: one message, or a missing figure")
def test_a_strange_value_anywhere_in_a_record(path, tmp_path):
    """Whatever a record holds in the place of what it should hold."""
    rng = random.Random(3)
    records = [file for file in files(path) if file.suffix == ".json"]
    for number in range(VALUES):
        file = rng.choice(records)
        value = json.loads(file.read_bytes())
        at, _ = rng.choice(list(leaves(value))[1:])
        with changed(file, json.dumps(replaced(value, at, rng.choice(STRANGE))).encode()):
            run_command(*(("fit", str(path), "--json") if number % 4 == 0 else ("show", str(path))))
            if number % REPORTED == 0:
                reported(path, tmp_path)


@pytest.mark.attack("a table says whatever its columns can hold: it is refused, or shown without harm")
def test_a_table_that_says_anything(path, tmp_path):
    """Rows that are gone, doubled, shuffled, empty or beyond all bounds, in a table whose hash fits."""
    rng = random.Random(4)
    tables = [file for file in files(path) if file.suffix == ".parquet"]
    for number in range(TABLES):
        file = rng.choice(tables)
        sink = pa.BufferOutputStream()
        pq.write_table(strange_table(pq.read_table(file), rng), sink)
        with changed(file, sink.getvalue().to_pybytes()):
            seal(file)
            run_command(*(("show", str(path), "--json") if number % 4 == 0 else ("show", str(path))))
            if number % REPORTED == 0:
                reported(path, tmp_path)


def strange_table(table: pa.Table, rng: random.Random) -> pa.Table:
    rows = table.num_rows
    row_changes: list[Callable[[], pa.Table]] = [
        lambda: table.slice(0, 0),
        lambda: table.slice(rng.randrange(rows)),
        lambda: pa.concat_tables([table, table]),
        lambda: table.take([rng.randrange(rows) for _ in range(rows)]),
    ]
    if rng.random() < 0.3:
        return rng.choice(row_changes)()
    at = rng.randrange(table.num_columns)
    kind = table.schema.field(at).type
    share = rng.choice([0.3, 1.0])
    new = strange_cell(kind, rng)
    cells = [new() if rng.random() < share else cell for cell in table.column(at).to_pylist()]
    if pa.types.is_dictionary(kind):
        return table.set_column(at, table.schema.field(at), pa.array(cells, pa.string()).cast(kind))
    return table.set_column(at, table.schema.field(at), pa.array(cells, kind))


def strange_cell(kind: pa.DataType, rng: random.Random) -> Callable[[], Any]:
    if rng.random() < 0.2:
        return lambda: None
    if pa.types.is_integer(kind):
        most = 2 ** (kind.bit_width - 1) - 1
        return lambda: max(-most - 1, min(most, rng.choice([0, -1, 1, 5, 2**31, 10**18, 2**63, -(2**63)])))
    if pa.types.is_floating(kind):
        return lambda: rng.choice(
            [float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 0.0, -1.0, 5e-324]
        )
    if pa.types.is_dictionary(kind):
        return lambda: rng.choice([HOSTILE, "", "steady", "first", "power", "W", "images", "scene"])
    return lambda: rng.choice([[], [float("nan")] * 5, [1.0], [1e38] * 7])


# Fields that are checked when they are read: another text there is one message, tried by the tests above.
CHECKED = {
    "id",
    "key",
    "state",
    "status",
    "trial",
    "sha256",
    "created_utc",
    "started_utc",
    "tables",
    "profiles",
    "ended",
    "task",
}


MADE: dict[str, dict[str, Any]] = {
    "measured": {"variants": QUARTER[:2], "power": True, "disturbed": True},
    "failures": {"variants": QUARTER, "failed": QUARTER[1:2], "unsupported": QUARTER[2:]},
}


def hostile_copy(name: str, folder: Path) -> Path:
    """A made result with markup, escapes and paths behind every text of every record and table."""
    profiles = [shipped_profiles()[0].as_record()]
    path = made_experiment(folder, name=name, profiles=profiles, mass_g=50, **MADE[name])
    for file in [path / "experiment.json", *path.glob("trials/*/sessions/*/session.json")]:
        value = json.loads(file.read_text())
        for at, text in list(leaves(value)):
            checked = CHECKED & {str(part) for part in at} or tuple(at[-2:]) == ("scene", "kind")
            if isinstance(text, str) and not checked:
                value = replaced(value, at, f"../../{text}{HOSTILE}")
        file.write_text(json.dumps(value))
    for file in path.glob("trials/*/sessions/*/p*.parquet"):
        table = pq.read_table(file)
        for column, field in enumerate(table.schema):
            # The phases and sets stay, so that there are figures to show.
            if pa.types.is_dictionary(field.type) and field.name not in {"phase", "set"}:
                words = [f"{word}{HOSTILE}" for word in table.column(column).to_pylist()]
                table = table.set_column(column, field, pa.array(words, pa.string()).cast(field.type))
        pq.write_table(table, file)
        seal(file)
    return path


@pytest.mark.attack("every text of a result is markup, a formula or an escape: every output shows it as text")
@pytest.mark.parametrize("name", sorted(MADE))
def test_markup_in_every_text_is_text_everywhere(name, tmp_path):
    path = hostile_copy(name, tmp_path)
    before = set(tmp_path.rglob("*"))
    result = run_command("show", str(path))
    assert result.code in {0, 5} and MARK in result.out
    assert json.loads(run_command("show", str(path), "--json").out)["trials"]
    run_command("fit", str(path), "--profile", "disco-realtime")
    out = tmp_path / "out"
    out.mkdir()
    reported(path, out)
    texts = {form: (out / f"report{form}").read_text() for form in FORMS}
    for form, text in texts.items():
        assert MARK in text, form
    # Targets called ../../x have made nothing anywhere else.
    assert set(tmp_path.rglob("*")) - before == {out, *out.iterdir()}


@pytest.mark.attack("a profile holds markup and escapes: one printable message")
def test_markup_in_a_profile_is_one_message(tmp_path):
    path = hostile_copy("measured", tmp_path)
    file = path / "experiment.json"
    value = json.loads(file.read_text())
    for at, text in list(leaves(value["profiles"])):
        if isinstance(text, str):
            value["profiles"] = replaced(value["profiles"], at, text + HOSTILE)
    file.write_text(json.dumps(value))
    assert run_command("show", str(path)).code == 1


NAMES = (
    "<qz1 onload=x>",
    "a\x1b[2Jb",
    "line\nbreak",
    "\u202ereversed",
    "[red]x[red]",
    "--help",
    "~",
    "$(x)",
)


@pytest.mark.attack("folders have names with markup and escapes: they are shown as text")
def test_hostile_names_of_folders(path, tmp_path, monkeypatch):
    """Of results, trials and sessions: shown as text, or passed over, and no way to another place."""
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "results"
    for at, name in enumerate(NAMES):
        copy = results / name
        shutil.copytree(path, copy)
        created = f"2026-03-01T12:00:{at:02}Z"
        file = copy / "experiment.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"created_utc": created, "name": name}))
        key = next(iter((copy / "trials").iterdir()))
        for strange in NAMES:
            (copy / "trials" / strange).mkdir()
            (key / "sessions" / strange).mkdir()
        run_command("show", str(copy))
        latest = run_command("show")  # the newest of them
        assert latest.code == 5 and "is not in the plan" in latest.error
        if at < 2:
            reported(copy, tmp_path)
        (copy / "experiment.json").write_text("{")
        assert run_command("show", str(copy)).code == 1
        shutil.rmtree(copy)


@pytest.mark.attack("a file that is written is a link elsewhere: its end is untouched")
@pytest.mark.parametrize("name", ["report.html", "run.json", ".lock-holder.json", "trial.json", ".lock"])
def test_what_is_written_never_follows_a_link(path, tmp_path, name):
    """A folder from elsewhere may hold links in the places of what EdgeBench writes."""
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    precious = tmp_path / "precious"
    precious.write_text("not ours")
    trial = next(iter((copy / "trials").iterdir()))
    place = (trial if name == "trial.json" else copy) / name
    place.unlink(missing_ok=True)
    place.symlink_to(precious)
    if name == "report.html":
        assert run_command("report", str(copy)).code == 0
    try:
        with ExperimentStore.open(copy) as store:
            store.write_trial(trial.name, {"sessions": 1})
    except StoredResultError as error:
        assert name == ".lock" and error.fix
    assert precious.read_text() == "not ours"
    assert place.is_symlink() == (name in {"run.json", ".lock"})


@pytest.mark.attack("folders are where files should, and files where folders should: a message names each")
def test_foreign_files_in_every_place(path, tmp_path):
    """Folders where files should be, files where folders should be, and other programs' files."""
    places = [file.relative_to(path) for file in (*files(path), *(file.parent for file in files(path)[2:]))]
    for place in sorted(set(places)):
        copy = tmp_path / "copy"
        shutil.copytree(path, copy)
        target = copy / place
        if target.is_dir():
            shutil.rmtree(target)
            target.write_bytes(os.urandom(100))
        else:
            target.unlink()
            target.mkdir()
        run_command("show", str(copy))
        shutil.rmtree(copy)
