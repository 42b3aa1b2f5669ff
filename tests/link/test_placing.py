"""A device that does not share the host's files is sent them, each once."""

import os
from typing import Any

import psutil
import pytest

from edgebench.agent.frames import Frame
from edgebench.errors import DiskFullError, SessionError, UnavailableError
from edgebench.link import placing
from edgebench.link.placing import Placer
from edgebench.run.measuring.session import LocalDevice
from edgebench.run.measuring.session_record import Job


@pytest.fixture
def far(rig, tmp_path):
    opened = rig.device(folder=tmp_path / "device")
    yield opened
    opened.close()


def test_a_session_on_files_that_were_sent(rig, far, tmp_path, monkeypatch):
    monkeypatch.setattr(placing, "PIECE_BYTES", 1 << 20)
    artifact = rig.artifact("int8")
    with far.session(artifact, rig.settings()) as session:
        session.golden()
        passes = list(session.measure(rig.plan(passes=1)))
        assert (session.predict(rig.images) == passes[-1].scores).all()
    placed = {path.name for path in (tmp_path / "device").iterdir()}
    digests = {artifact.sha256, artifact.golden.patches_sha256, rig.scene.sha256, rig.images.sha256}
    assert digests <= {name[:64] for name in placed}
    assert not any(name.endswith(".part") for name in placed)


def test_what_is_there_is_not_sent_again(rig, far, tmp_path, monkeypatch):
    artifact = rig.artifact()
    first = Placer(far._connection, False, 30.0).place(artifact.path, artifact.sha256)
    monkeypatch.setattr(placing, "PIECE_BYTES", None)  # reading a piece would fail
    assert Placer(far._connection, False, 30.0).place(artifact.path, artifact.sha256) == first


class Hashing:
    """A connection to an agent that has every file, and hashes 20 MB/s of it before it says so."""

    def __init__(self, size):
        self.takes_s = size / 20e6

    def request(self, message, timeout_s):
        if timeout_s < self.takes_s:
            raise TimeoutError
        return Frame({"path": "there"}, b"")


@pytest.mark.attack("a slow card hashes a file of 1.5 GB that it has already: it is given the time")
def test_a_large_file_has_the_time_to_be_hashed(tmp_path):
    path = tmp_path / "large.bin"
    path.touch()
    os.truncate(path, 1_500_000_000)  # takes no room
    hashing: Any = Hashing(1_500_000_000)
    assert Placer(hashing, False, 60.0).place(path, "0" * 64) == "there"


@pytest.mark.attack("a file on the board was damaged: it is sent again")
def test_what_was_damaged_there_is_sent_again(rig, far):
    artifact = rig.artifact()
    path = Placer(far._connection, False, 30.0).place(artifact.path, artifact.sha256)
    with open(path, "wb") as file:
        file.write(b"damaged")
    assert Placer(far._connection, False, 30.0).place(artifact.path, artifact.sha256) == path
    with open(path, "rb") as file:
        assert file.read() == artifact.path.read_bytes()


def test_an_empty_file_arrives(far, tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    path = Placer(far._connection, False, 30.0).place(tmp_path / "empty.txt")
    assert path.endswith(".txt")


@pytest.mark.attack("a file is not what its hash says: it is refused")
def test_a_file_that_is_not_what_it_was_called(rig, far, tmp_path):
    other = tmp_path / "other.json"
    other.write_bytes(b"{}")
    with pytest.raises(UnavailableError) as caught:
        Placer(far._connection, False, 30.0).place(other, rig.artifact().sha256)
    assert "damaged" in caught.value.why


def test_room_is_asked_for_before_the_first_pass(rig, far, tmp_path, monkeypatch):
    monkeypatch.setattr(placing, "SPARE_BYTES", 1 << 60)  # no disk has so much
    plan = rig.plan(passes=1, images=rig.images)
    measured = LocalDevice(far).measure(Job("k" * 16, 0, 0, rig.artifact(), rig.settings(), plan))
    record = measured.record
    assert record.failure is not None
    assert (record.status, record.failure.stage) == ("disk_full", "scene")
    assert "3.5 MiB have to be placed there" in record.failure.why
    assert "edgebench targets clean" in record.failure.fix
    assert record.golden is not None and record.cold["load_s"] is not None
    placed = {path.name[:64] for path in (tmp_path / "device").iterdir()}
    assert not placed & {rig.scene.sha256, rig.images.sha256}


def test_what_is_there_needs_no_room(rig, far, monkeypatch):
    placer = Placer(far._connection, False, 30.0)
    scene = (rig.scene.path, rig.scene.sha256)
    placer.place(*scene)
    monkeypatch.setattr(placing, "SPARE_BYTES", 1 << 60)
    placer.require_room([scene])
    with pytest.raises(DiskFullError, match="nano"):
        Placer(far._connection, False, 30.0, "nano").require_room([scene, (rig.images.path, None)])


@pytest.mark.attack("a board's disk fills before the images: what was measured is kept")
def test_a_disk_that_fills_with_the_images_keeps_what_was_measured(rig, far):
    with pytest.raises(SessionError) as caught, far.session(rig.artifact(), rig.settings()) as session:
        passes = list(session.measure(rig.plan(passes=1)))
        agent = psutil.Process(far._connection._process.pid)
        agent.rlimit(psutil.RLIMIT_FSIZE, (1 << 20, agent.rlimit(psutil.RLIMIT_FSIZE)[1]))
        session.predict(rig.images)
    assert (caught.value.status, caught.value.stage) == ("disk_full", "predict")
    assert len(passes) == 3 and session.facts().clock["end"]


def test_a_board_that_is_back_with_a_full_disk_is_not_waited_for(rig, far, monkeypatch):
    def full():
        raise DiskFullError("the disk of nano is full")

    far._connection.close()
    monkeypatch.setattr(far._link, "start", full)
    with pytest.raises(SessionError) as caught:
        far.session(rig.artifact(), rig.settings())
    assert (caught.value.status, caught.value.stage) == ("disk_full", "start")
