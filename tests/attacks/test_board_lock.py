"""Two measure on one machine: as two users, by two folders, or under two names of one machine."""

from __future__ import annotations

import getpass
import os
import pwd
import socket
import subprocess
import sys

import pytest

from edgebench.agent import bootstrap, lock
from edgebench.agent.lock import BoardLock
from edgebench.errors import UnavailableError
from edgebench.link.agent_device import _Holder
from edgebench.results.redaction import PrivateNames
from tests.attacks.other_user import NOBODY, as_nobody, require_root, shared_folder
from tests.link.rig import make_rig

HARNESS = """
import sys
from pathlib import Path
from tests.link.rig import make_rig
device = make_rig(Path(sys.argv[1])).device()
print("held", flush=True)
sys.stdin.read()
device.close()
"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


@pytest.mark.attack(
    "two users measure on one board at once: the second waits, then hears the first one's user and process"
)
def test_one_lock_a_machine_whoever_measures(tmp_path):
    require_root()
    with shared_folder() as shared:
        (shared / "place").mkdir()
        (shared / "theirs").mkdir()
        os.chown(shared / "theirs", NOBODY, NOBODY)
        (shared / "theirs").chmod(0o700)
        place = str(shared / "place")
        theirs = BoardLock(str(shared / "theirs"), place)
        ours = BoardLock(str(tmp_path / "ours"), place)
        with as_nobody(lambda: theirs.take({"user": "eve", "host": "their-desk"})) as (pid, holder):
            assert holder is None
            # By what the kernel says of it: what they told their own is not for us.
            assert ours.take({}) == {"pid": pid, "user": pwd.getpwuid(NOBODY).pw_name}
        assert ours.take({"host": "our-desk"}) is None
        with as_nobody(lambda: theirs.take({})) as (_, holder):
            assert holder == {"pid": os.getpid(), "user": "root"}
        ours.release()


@pytest.mark.attack(
    "another user wants to create the lock's file first: there is no file, as the lock is on the folder /"
)
def test_what_is_locked_cannot_be_occupied(monkeypatch):
    monkeypatch.delenv(lock.ENVIRONMENT)
    assert lock.lock_place() == "/"
    require_root()
    with as_nobody(lambda: os.close(os.open(lock.lock_place(), os.O_RDONLY))) as (_, answer):
        assert answer is None


@pytest.mark.attack(
    "two harnesses with two EDGEBENCH_BOARD_DIR measure at once: the second waits, then is refused"
)
def test_two_board_folders_have_one_lock(rig, tmp_path, monkeypatch):
    monkeypatch.setenv(lock.ENVIRONMENT, str(tmp_path))
    monkeypatch.setenv(bootstrap.ENVIRONMENT, str(tmp_path / "first"))
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS, str(tmp_path / "rig")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout and other.stdout.readline() == b"held\n"
        monkeypatch.setenv(bootstrap.ENVIRONMENT, str(tmp_path / "second"))
        with pytest.raises(UnavailableError, match="is in use") as caught:
            rig.device(lock=0.2)
        assert caught.value.why.startswith(f"held by user {getpass.getuser()}, process ")
        assert socket.gethostname() not in caught.value.why
        other.kill()


@pytest.mark.attack(
    "one run measures a machine under two addresses, side by side: the second target is refused with the fix"
)
def test_one_machine_under_two_names_is_one_machine(rig, tmp_path, monkeypatch):
    monkeypatch.setenv(lock.ENVIRONMENT, str(tmp_path))
    first = rig.device()
    try:
        rig.device().close()  # by the same name: sessions take turns
        monkeypatch.setattr("edgebench.link.local.LocalLink.name", "ann@localhost")
        with pytest.raises(UnavailableError, match="measures as this machine") as caught:
            rig.device()
        assert "one host" in caught.value.fix
    finally:
        first.close()


@pytest.mark.parametrize(
    "held",
    [
        _Holder(user="eve", pid=4711),
        _Holder(user="eve", host="desk.example", pid=4711, since_utc="2026-05-01T10:00:00Z"),
    ],
)
def test_who_held_a_board_is_not_in_a_record(held):
    text = PrivateNames().text(f"held by {held.words()}")
    assert text.startswith("held by user (user), process 4711")
    assert "desk" not in text


def test_a_holder_that_is_not_known_is_said_to_be_none():
    assert _Holder().words() == "a process that the board does not name"
