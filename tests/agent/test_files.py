"""Files that travel: named by hash, verified, in place only when whole."""

import errno
import hashlib
import os

import pytest

from edgebench.agent.files import FileStore, remove_tree

DATA = b"an artifact" * 1000
NAME = hashlib.sha256(DATA).hexdigest() + ".tflite"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "new" / "folder"


@pytest.fixture
def store(folder):
    file_store = FileStore(str(folder))
    yield file_store
    file_store.forget()


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


@pytest.mark.attack("a file is damaged while it is sent: it is refused and removed")
def test_a_damaged_file_is_refused_and_forgotten(store, folder):
    with pytest.raises(ValueError):
        store.put(NAME, 0, DATA[:-1] + b"x", last=True)
    assert store.have(NAME) is None
    assert list(folder.iterdir()) == []


def test_a_file_is_hashed_once(store, monkeypatch):
    store.put(NAME, 0, DATA, last=True)
    monkeypatch.setattr("edgebench.agent.files.sha256_of", None)  # hashing would fail
    assert store.have(NAME)


def test_what_was_verified_before_a_reboot_is_hashed_again(store, folder, monkeypatch):
    path = store.put(NAME, 0, DATA, last=True)
    monkeypatch.setattr("edgebench.agent.files.boot", lambda: "another boot")
    assert store.have(NAME) == path
    with open(path, "r+b") as file:
        file.write(bytes(len(DATA)))  # as long as it was, and empty: what a power cut leaves
    assert store.have(NAME) is None


@pytest.mark.attack("a placed file is changed, with its size and date kept: it is not used")
def test_a_file_changed_within_its_size_and_time_is_not_had(store):
    path = store.put(NAME, 0, DATA, last=True)
    before = os.stat(path)
    with open(path, "r+b") as file:
        file.write(b"A")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert store.have(NAME) is None


@pytest.mark.attack("a symbolic link replaces a placed file: it is not used")
def test_a_link_is_no_file(store, folder, tmp_path):
    folder.mkdir(parents=True)
    (tmp_path / "other").write_bytes(DATA)
    (folder / NAME).symlink_to(tmp_path / "other")
    assert store.have(NAME) is None


@pytest.mark.attack("the disk is full: no part of a file is left")
def test_a_full_disk_leaves_nothing(store, folder, monkeypatch):
    store.put(NAME, 0, DATA[:100], last=False)

    class Full:
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            pass

    store._coming._file.close()
    store._coming._file = Full()
    with pytest.raises(OSError, match="No space"):
        store.put(NAME, 100, DATA[100:], last=True)
    assert list(folder.iterdir()) == []


def test_a_transfer_given_up_leaves_nothing(store, folder):
    store.put(NAME, 0, DATA[:100], last=False)
    store.forget()
    assert list(folder.iterdir()) == []


def test_what_a_killed_agent_left_is_swept(store, folder):
    store.put(NAME, 0, DATA, last=True)
    (folder / f"{NAME}.123.part").write_bytes(b"half")
    (folder / "mine.part").write_bytes(b"the user's")
    store.sweep()
    assert {path.name for path in folder.iterdir()} == {NAME, f"{NAME}.ok", "mine.part"}


def test_cleaning_removes_what_was_put_and_nothing_else(store, folder):
    assert store.clean() == (0, 0, 0)
    store.put(NAME, 0, DATA, last=True)
    (folder / "lock").write_bytes(b"")
    (folder / "notes.txt").write_bytes(b"the user's")
    removed = store.clean()
    assert removed.files == 3
    assert len(DATA) < removed.size < len(DATA) + 500
    assert removed.left == 1
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    (folder.parent / "other").write_bytes(b"")
    store.clean()
    assert not folder.exists()
    assert folder.parent.exists()


def test_a_file_changed_on_the_device_is_not_had(store):
    path = store.put(NAME, 0, DATA, last=True)
    with open(path, "ab") as file:
        file.write(b"more")
    assert store.have(NAME) is None


def test_a_missing_piece_is_named(store):
    store.put(NAME, 0, DATA[:100], last=False)
    with pytest.raises(ValueError, match="byte 200"):
        store.put(NAME, 200, DATA[200:], last=True)


@pytest.mark.attack("a file's name leads out of the folder: it is refused")
@pytest.mark.parametrize("name", ["../x", "a" * 64 + "/x", "a" * 64 + ".t/x", "A" * 64, "a" * 63, "", None])
def test_only_hashes_are_names(store, name):
    with pytest.raises(ValueError):
        store.have(name)


def test_how_much_room_there_is_and_what_is_kept(store, folder, tmp_path):
    assert store.free_bytes() > 0 and not folder.exists()
    assert store.kept_bytes() == 0
    path = store.put(NAME, 0, DATA, last=True)
    (folder / "notes.txt").write_text("somebody else's")
    assert store.kept_bytes() == len(DATA) + os.path.getsize(path + ".ok")


def test_a_folder_that_changes_while_it_is_removed_ends_nothing(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    (scratch / "layers").mkdir(parents=True)

    def vanished(path, mode):
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "chmod", vanished)
    remove_tree(str(scratch))
    assert not scratch.exists()
