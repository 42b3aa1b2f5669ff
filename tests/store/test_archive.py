"""A result as one archive: the same figures elsewhere, no private names, and hostile archives refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import warnings
import zipfile
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.trials import trials_of
from edgebench.results import archive as archive_writing
from edgebench.results import archive as form
from edgebench.results.archive import unpack_archive
from edgebench.results.load import load
from tests.synthetic_results import QUARTER, made_experiment, write_record

write_archive = partial(archive_writing.write_archive, edgebench_version="0.3.0")
HOST, USER, SERIAL = "nano.lab.example", "annabel", "/dev/serial/by-id/usb-FTDI_A12345"


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Two trials with power whose target, meter and session name a host, a user and a port."""
    folder = made_experiment(tmp_path_factory.mktemp("made"), variants=QUARTER[:2], sessions=3, power=True)
    path = folder / "experiment.json"
    record = json.loads(path.read_text())
    record["targets"][0] |= {"host": f"{USER}@{HOST}:22", "meters": [f"um25c:{SERIAL}"]}
    record["warnings"] = [f"{HOST} was slow to answer"]
    write_record(path, record)
    paths = ["ice/1.jpg", f"/home/{USER}/water/2.jpg"]
    write_record((folder / "images.json"), {"schema_version": 3, "sets": {"ab" * 32: paths}})
    for session in folder.glob("trials/*/sessions/*/session.json"):
        record = json.loads(session.read_text())
        [info] = record["probes"]
        info |= {"kind": "um25c", "address": SERIAL}
        table = session.parent / "probes.parquet"
        samples = pd.read_parquet(table).assign(probe=f"um25c:{SERIAL}")
        pq.write_table(
            pa.Table.from_pandas(samples, schema=pq.read_schema(table), preserve_index=False), table
        )
        record["tables"]["probes"] = hashlib.sha256(table.read_bytes()).hexdigest()
        record["probe_reasons"] = {f"um25c:{SERIAL}": f"no answer from {HOST}"}
        write_record(session, record)
    return folder


@pytest.fixture(scope="module")
def packed(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("packed") / "made.zip"
    write_archive(result, path)
    return path


def texts_in(folder: Path):
    for path in folder.rglob("*"):
        if path.suffix == ".json":
            yield path.read_text()
        elif path.suffix == ".parquet":
            frame = pd.read_parquet(path)
            yield from (" ".join(map(str, frame[name].unique())) for name in frame.select_dtypes("category"))


def test_who_imports_it_gets_the_same_figures(result, packed, tmp_path):
    unpacked = unpack_archive(packed, tmp_path / "results")
    assert unpacked.path == tmp_path / "results" / "made"
    assert (unpacked.trials, unpacked.sessions) == (2, 6)
    assert unpacked.sha256 == hashlib.sha256(packed.read_bytes()).hexdigest()
    here, there = (trials_of(load(folder)) for folder in (result, unpacked.path))
    for before, after in zip(here, there, strict=True):
        assert before.rails and after.rails
        for name in ("image_s", "accuracy", "power_mean_w", "energy_j"):
            assert after.estimate(name).value == before.estimate(name).value
    assert load(unpacked.path).warnings == []
    assert load(unpacked.path).image_paths == {"ab" * 32: ("ice/1.jpg", "~/water/2.jpg")}


def test_no_host_no_user_and_no_port_leaves_the_house(result, packed, tmp_path):
    before = " ".join(texts_in(result))
    assert all(name in before for name in (HOST, USER, SERIAL)), "the result names them"
    after = " ".join(texts_in(unpack_archive(packed, tmp_path).path))
    assert [name for name in (HOST, USER, "A12345") if name in after] == []
    assert "um25c:(port)" in after and "(host) was slow to answer" in after
    assert not any(name.encode() in packed.read_bytes() for name in (HOST, USER, "A12345"))


def test_an_archive_can_be_passed_on_again_and_is_the_same(result, packed, tmp_path):
    unpacked = unpack_archive(packed, tmp_path)
    again = write_archive(unpacked.path, tmp_path / "again.zip")
    assert again.sha256 == unpacked.sha256
    assert write_archive(result, tmp_path / "anew.zip").sha256 == unpacked.sha256


def test_what_is_derived_or_private_stays_behind(result, packed):
    (result / "report.html").write_text("<p>")
    (result / ".lock").touch()
    names = zipfile.ZipFile(packed).namelist()
    assert {name for name in names if not name.startswith("trials/")} <= {
        "experiment.json", "run.json", "images.json", "scene.jpg", "manifest.json",
    }  # fmt: skip
    assert all(name == form.MANIFEST or form.is_member(name) for name in names)


def test_a_name_that_exists_is_refused_and_another_may_be_chosen(packed, tmp_path):
    unpack_archive(packed, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoredResultError, match="exists already") as caught:
        unpack_archive(packed, tmp_path)
    assert "--name" in caught.value.fix and sorted(tmp_path.rglob("*")) == before
    assert unpack_archive(packed, tmp_path, "second").path == tmp_path / "second"
    with pytest.raises(UsageError):
        unpack_archive(packed, tmp_path, "../third")


def test_a_damaged_table_is_not_passed_on(result, tmp_path):
    copy = shutil.copytree(result, tmp_path / "copy")
    table = next(copy.glob("trials/*/sessions/*/passes.parquet"))
    table.write_bytes(table.read_bytes()[:-9] + b"123456789")
    with pytest.raises(StoredResultError, match="damaged") as caught:
        write_archive(copy, tmp_path / "copy.zip")
    assert str(table.parent) in caught.value.fix and not (tmp_path / "copy.zip").exists()


def test_a_damaged_session_is_left_out_and_said(result, tmp_path):
    copy = shutil.copytree(result, tmp_path / "copy")
    next(copy.glob("trials/*/sessions/002/session.json")).write_text("{")
    packed = write_archive(copy, tmp_path / "copy.zip")
    assert packed.sessions == 5 and len(packed.warnings) == 1
    assert unpack_archive(tmp_path / "copy.zip", tmp_path / "out").sessions == 5


def changed(packed: Path, target: Path, change) -> Path:
    """The archive written anew: `change` gets its members by name, and may change them."""
    with zipfile.ZipFile(packed) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    entries = change(members) or [(zipfile.ZipInfo(name), data) for name, data in members.items()]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is in it twice
        for info, data in entries:
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return target


def manifest_with(**fields):
    def change(members):
        members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | fields).encode()

    return change


def listed(members, name, data):
    """Put a member in, and into the list, so that only what it is speaks against it."""
    manifest = json.loads(members["manifest.json"])
    manifest["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    members["manifest.json"] = json.dumps(manifest).encode()
    members[name] = data


def with_member(name):
    return lambda members: listed(members, name, b"{}")


def other_byte(members):
    members["scene.jpg"] = members["scene.jpg"][:-1] + b"x"


def link(members):
    info = zipfile.ZipInfo("scene.jpg")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    listed(members, "scene.jpg", b"/etc/passwd")
    return [(info if name == "scene.jpg" else zipfile.ZipInfo(name), data) for name, data in members.items()]


def twice(members):
    entries = [(zipfile.ZipInfo(name), data) for name, data in members.items()]
    return [*entries, (zipfile.ZipInfo("experiment.json"), b"{}")]


def newer_record(members):
    record = json.loads(members["experiment.json"]) | {"schema_version": 99}
    listed(members, "experiment.json", json.dumps(record).encode())


def earlier_record(members):
    record = json.loads(members["experiment.json"]) | {"schema_version": 1}
    listed(members, "experiment.json", json.dumps(record).encode())


def another_table(members):
    name = next(name for name in members if name.endswith("passes.parquet"))
    listed(members, name, members[name] + b" ")


def without_a_session(members):
    name = next(name for name in members if name.endswith("session.json"))
    manifest = json.loads(members["manifest.json"])
    del manifest["files"][name], members[name]
    members["manifest.json"] = json.dumps(manifest).encode()


def foreign_table(members):
    name = next(name for name in members if name.endswith("passes.parquet"))
    listed(members, name.replace("passes", "further"), members[name])


HOSTILE = {
    "a path that leads out": (with_member("../../evil.json"), "no file of a result"),
    "an absolute path": (with_member("/tmp/evil.json"), "no file of a result"),
    "a path with a backslash": (with_member("trials\\evil"), "no file of a result"),
    "a folder of its own": (with_member("trials/0/evil"), "no file of a result"),
    "a link": (link, "is a link"),
    "a name twice": (twice, "in it twice"),
    "a byte that differs": (other_byte, "checksum"),
    "a member more": (lambda members: members.update({"run.json": b"{}"}), "not in its list"),
    "a member less": (lambda members: members.pop("scene.jpg") and None, "not in the archive"),
    "no manifest": (lambda members: members.pop("manifest.json") and None, "no manifest.json"),
    "a manifest that is none": (lambda members: members.update({"manifest.json": b"["}), "not JSON"),
    "another archive's manifest": (manifest_with(format="other"), "not that of a result"),
    "a manifest of another shape": (manifest_with(files={"experiment.json": 3}), "manifest.json"),
    "a newer archive": (manifest_with(version=2), "reads up to 1"),
    "an archive of version 0": (manifest_with(version=0), "manifest.json"),
    "an archive whose version is no number": (manifest_with(version=True), "manifest.json"),
    "a newer record": (newer_record, "zip holds records of version 99"),
    "an earlier record": (earlier_record, "zip holds records of version 1"),
    "a name that leads out": (manifest_with(name="../up"), "'../up'"),
    "a table of another session": (another_table, "has another 'passes'"),
    "tables without their session": (without_a_session, "a session of trial"),
    "a table that no session knows": (foreign_table, "belongs to no session"),
    "a record that is none": (with_member("experiment.json"), "damaged"),
}  # fmt: skip


@pytest.mark.attack(
    "an archive holds a path, link, checksum, record or version that it must not: nothing is written"
)
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_leaves_nothing_behind(packed, tmp_path, what):
    change, reason = HOSTILE[what]
    file = changed(packed, tmp_path / "hostile.zip", lambda members: change(members))
    results = tmp_path / "below" / "results"
    results.parent.mkdir()
    with pytest.raises(StoredResultError) as caught:
        unpack_archive(file, results)
    assert reason in f"{caught.value.what} {caught.value.why}"
    assert caught.value.fix and caught.value.exit_code == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) in (
        ["below", "hostile.zip"], ["below", "hostile.zip", "results"],
    )  # fmt: skip


@pytest.mark.attack("an archive unfolds to a thousand times its size: refused before anything is unpacked")
def test_a_bomb_is_refused(packed, tmp_path, monkeypatch):
    bomb = changed(
        packed, tmp_path / "bomb.zip", lambda members: listed(members, "scene.jpg", bytes(80 << 20))
    )
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(StoredResultError, match="not a sound archive") as caught:
        unpack_archive(bomb, tmp_path / "out")
    assert "unfolds to" in caught.value.why and not (tmp_path / "out").exists()
    monkeypatch.setattr(form, "MOST_MEMBERS", 5)
    with pytest.raises(StoredResultError) as caught:
        unpack_archive(packed, tmp_path / "out")
    assert "files, and 5" in caught.value.why
    monkeypatch.setattr(form, "MOST_DIRECTORY_BYTES", 100)
    with pytest.raises(StoredResultError) as caught:
        unpack_archive(packed, tmp_path / "out")
    assert "list of members" in caught.value.why


@pytest.mark.attack(
    "what is imported is no archive, half of one, a pipe or a folder: said, and nothing is written"
)
def test_what_is_no_archive_is_refused(packed, tmp_path):
    cases = {"text.zip": b"not a zip", "empty.zip": b"", "half.zip": packed.read_bytes()[:5000]}
    for name, data in cases.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(StoredResultError, match="not a sound archive"):
            unpack_archive(tmp_path / name, tmp_path / "out")
    with pytest.raises(StoredResultError, match="cannot be read"):
        unpack_archive(tmp_path, tmp_path / "out")
    with pytest.raises(StoredResultError, match="cannot be read"):
        unpack_archive(tmp_path / "missing.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.attack("any byte of an archive is another: it is refused, or every figure is as it was")
def test_flipped_bytes_are_noticed(result, packed, tmp_path):
    data = packed.read_bytes()
    latencies = [trial.estimate("image_s") for trial in trials_of(load(result))]
    for number, at in enumerate(range(7, len(data), max(1, len(data) // 60))):
        (tmp_path / "flipped.zip").write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        try:
            unpacked = unpack_archive(tmp_path / "flipped.zip", tmp_path / str(number))
        except StoredResultError:
            continue
        assert [trial.estimate("image_s") for trial in trials_of(load(unpacked.path))] == latencies


def test_a_disk_without_room_is_told_before_anything_is_unpacked(packed, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr("edgebench.results.archive.shutil.disk_usage", lambda _: usage)
    with pytest.raises(StoredResultError, match="does not fit"):
        unpack_archive(packed, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_file_that_cannot_be_written_is_told(result, tmp_path):
    with pytest.raises(StoredResultError, match="cannot be written") as caught:
        write_archive(result, tmp_path / "no" / "folder.zip")
    assert "-o" in caught.value.fix


def test_a_summary_that_no_file_can_hold_stays_behind(result, tmp_path):
    copy = shutil.copytree(result, tmp_path / "copy")
    trial = next((copy / "trials").iterdir())
    (trial / "trial.json").write_text('{"variant": "\\ud800"}')
    archive_writing.write_archive(copy, tmp_path / "a.zip", edgebench_version="0")
    assert f"trials/{trial.name}/trial.json" not in zipfile.ZipFile(tmp_path / "a.zip").namelist()


def test_a_folder_whose_name_is_no_text_is_packed_and_needs_a_name(result, tmp_path):
    copy = shutil.copytree(result, tmp_path / os.fsdecode(b"a\xff"))
    archive_writing.write_archive(copy, tmp_path / "a.zip", edgebench_version="0")
    with pytest.raises(StoredResultError) as refused:
        unpack_archive(tmp_path / "a.zip", tmp_path / "out")
    assert refused.value.fix == "choose a --name"
    assert unpack_archive(tmp_path / "a.zip", tmp_path / "out", "given").path.name == "given"
