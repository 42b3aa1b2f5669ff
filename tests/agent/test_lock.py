"""One holder at a time, named to the others, whatever becomes of it."""

import getpass
import json
import os
import subprocess
import sys

import pytest

from edgebench.agent import lock as agent_lock
from edgebench.agent.lock import ENVIRONMENT, BoardLock, lock_place, locker

HOLD = """
import sys
from edgebench.agent.lock import BoardLock
lock = BoardLock(sys.argv[1], sys.argv[1])
assert lock.take({"host": "desk"}) is None
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path):
    """What is locked, in place of the machine's."""
    (tmp_path / "place").mkdir()
    return str(tmp_path / "place")


def test_the_second_is_told_who_holds_it(tmp_path, place):
    first, second = (BoardLock(str(tmp_path / "new"), place) for _ in range(2))
    assert first.take({"host": "desk"}) is None
    assert first.take({"host": "again"}) is None
    assert second.take({"host": "bench"}) == {"host": "desk", "pid": os.getpid()}
    assert (first.held, second.held) == (True, False)
    first.release()
    first.release()
    assert not (tmp_path / "new" / "lock").exists()
    assert second.take({"host": "bench"}) is None
    assert first.take({}) == {"host": "bench", "pid": os.getpid()}
    second.release()


def test_it_ends_with_its_holder_however_that_ends(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout and holder.stdout.readline() == b"held\n"
        lock = BoardLock(str(tmp_path), str(tmp_path))
        assert lock.take({}) == {"host": "desk", "pid": holder.pid}
        holder.kill()
        holder.wait()
    assert lock.take({}) is None
    lock.release()


def test_a_folder_that_cannot_be_made_costs_the_note_and_not_the_lock(tmp_path, place):
    (tmp_path / "file").write_bytes(b"")
    first, second = (
        BoardLock(str(tmp_path / "file" / "folder"), place),
        BoardLock(str(tmp_path / "new"), place),
    )
    assert first.take({"host": "desk"}) is None
    assert second.take({}) == {"pid": os.getpid(), "user": getpass.getuser()}
    first.release()


def test_a_note_that_a_killed_holder_left_is_not_the_next_ones(tmp_path, place):
    first, second = BoardLock(str(tmp_path / "a"), place), BoardLock(str(tmp_path / "b"), place)
    first.take({})
    (tmp_path / "b").mkdir(mode=0o700)
    (tmp_path / "b" / "lock").write_text(json.dumps({"pid": os.getpid() + 1, "host": "desk"}))
    assert second.take({}) == {"pid": os.getpid(), "user": getpass.getuser()}
    first.release()


@pytest.mark.attack(
    "a killed agent's note remains and the system names no holder: the dead one is not called the holder"
)
def test_where_the_system_names_no_holder_only_a_living_ones_note_counts(tmp_path, place, monkeypatch):
    monkeypatch.setattr(agent_lock, "locker", lambda locked: None)
    first, second = BoardLock(str(tmp_path / "a"), place), BoardLock(str(tmp_path / "b"), place)
    first.take({})
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / "b").mkdir(mode=0o700)
    for pid, lives in [(ended.pid, False), ("1", False), (-1, False), (10**30, False), (os.getpid(), True)]:
        note = {"pid": pid, "host": "desk"}
        (tmp_path / "b" / "lock").write_text(json.dumps(note))
        assert second.take({}) == (note if lives else {})
    first.release()


@pytest.mark.parametrize("nonsense", [b"", b"[1]", b"\xff\xfe", b"{" * 5000, b"[" * 4000, None])
def test_a_holder_that_says_nonsense(tmp_path, place, nonsense):
    first, second = (BoardLock(str(tmp_path / "new"), place) for _ in range(2))
    first.take({})
    note = tmp_path / "new" / "lock"
    note.unlink()
    if nonsense is not None:
        note.write_bytes(nonsense)
    assert second.take({}) == {"pid": os.getpid(), "user": getpass.getuser()}
    first.release()


def test_the_machines_lock_is_that_of_its_root_unless_another_is_named(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT)
    assert lock_place() == "/"
    monkeypatch.setenv(ENVIRONMENT, "/run")
    assert lock_place() == "/run"
    monkeypatch.setenv(ENVIRONMENT, "here")
    with pytest.raises(OSError, match=f"{ENVIRONMENT}=here"):
        lock_place()


@pytest.mark.parametrize(
    ("table", "pid"),
    [
        ("1: FLOCK  ADVISORY  WRITE {} {}:{} 0 EOF", 7),
        ("1: FLOCK  ADVISORY  WRITE {} 00:63:{1} 0 EOF", 7),  # btrfs and layers: another device than stat's
        ("1: POSIX  ADVISORY  WRITE {} {}:{} 0 EOF", None),
        ("1: FLOCK  ADVISORY  READ  {} {}:{} 0 EOF", None),
        ("1: -> FLOCK  ADVISORY  WRITE {} {}:{} 0 EOF", None),
        ("1: FLOCK  ADVISORY  WRITE {} {}:1{} 0 EOF", None),
        ("1: FLOCK  ADVISORY  WRITE 8 00:63:{2} 0 EOF\n2: FLOCK  ADVISORY  WRITE {0} {1}:{2} 0 EOF", 7),
        ("1: FLOCK  ADVISORY  WRITE 8 00:63:{2} 0 EOF\n2: FLOCK  ADVISORY  WRITE 9 00:64:{2} 0 EOF", None),
        ("", None),
    ],
)
def test_who_holds_it_is_read_from_the_kernels_table(tmp_path, table, pid):
    about = tmp_path.stat()
    device = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}"
    inode = about.st_ino
    words = table.replace("00:63:{1}", f"00:63:{inode}").format(7, device, inode)
    (tmp_path / "locks").write_text(words + "\n")
    assert locker(about, str(tmp_path / "locks")) == pid
    assert locker(about, str(tmp_path / "none")) is None
