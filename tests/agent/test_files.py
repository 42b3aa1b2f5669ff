"""Files that travel: named by hash, verified, in place only when whole."""

import hashlib

import pytest

from edgebench.agent.files import FileStore

DATA = b"an artifact" * 1000
NAME = hashlib.sha256(DATA).hexdigest() + ".tflite"


@pytest.fixture
def store(tmp_path):
    return FileStore(str(tmp_path / "new" / "folder"))


def test_a_file_in_pieces_is_there_once_the_last_has_come(store):
    assert store.have(NAME) is None
    store.put(NAME, 0, DATA[:100], last=False)
    assert store.have(NAME) is None
    path = store.put(NAME, 100, DATA[100:], last=True)
    assert store.have(NAME) == path
    with open(path, "rb") as file:
        assert file.read() == DATA


def test_a_transfer_that_broke_off_starts_again(store):
    store.put(NAME, 0, DATA[:100], last=False)
    store.put(NAME, 0, DATA, last=True)
    assert store.have(NAME)


def test_a_damaged_file_is_refused_and_forgotten(store, tmp_path):
    with pytest.raises(ValueError, match="damaged"):
        store.put(NAME, 0, DATA[:-1] + b"x", last=True)
    assert store.have(NAME) is None
    assert list((tmp_path / "new" / "folder").iterdir()) == []


def test_a_file_changed_on_the_device_is_not_had(store):
    path = store.put(NAME, 0, DATA, last=True)
    with open(path, "ab") as file:
        file.write(b"more")
    assert store.have(NAME) is None


def test_a_missing_piece_is_named(store):
    store.put(NAME, 0, DATA[:100], last=False)
    with pytest.raises(ValueError, match="before byte 200"):
        store.put(NAME, 200, DATA[200:], last=True)


@pytest.mark.parametrize("name", ["../x", "a" * 64 + "/x", "a" * 64 + ".t/x", "A" * 64, "a" * 63, "", None])
def test_only_hashes_are_names(store, name):
    with pytest.raises(ValueError, match="not a file name"):
        store.have(name)
