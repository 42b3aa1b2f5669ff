"""A device that does not share the host's files is sent them, each once."""

import pytest

from edgebench.errors import UnavailableError
from edgebench.link import placing
from edgebench.link.placing import Placer


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


def test_a_file_that_is_not_what_it_was_called(rig, far, tmp_path):
    other = tmp_path / "other.json"
    other.write_bytes(b"{}")
    with pytest.raises(UnavailableError, match="cannot be placed") as caught:
        Placer(far._connection, False, 30.0).place(other, rig.artifact().sha256)
    assert "damaged" in caught.value.why
