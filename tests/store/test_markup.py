"""Markup, formulas and terminal escapes in every text of a result: every output shows them as text."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edgebench.judge.requirements.profile import shipped_profiles
from tests.store.command_texts import HOSTILE, MARK, leaves, no_markup, replaced, run_command, seal
from tests.synthetic_results import QUARTER, made_experiment, write_record

pytestmark = pytest.mark.slow

FORMS = (".html", ".md", ".csv", ".json")


@pytest.fixture(scope="module", autouse=True)
def narrow() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        yield


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small result with everything in it."""
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


def reported(path: Path, folder: Path) -> None:
    for form in FORMS:
        report_file = folder / f"report{form}"
        if run_command("report", str(path), "-o", str(report_file)).code == 0:
            no_markup(report_file.read_text(), form)


# Fields that are checked when they are read: another text there is one message.
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
        write_record(file, value)
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
    write_record(file, value)
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
        write_record(file, json.loads(file.read_text()) | {"created_utc": created, "name": name})
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
