"""One holder at a time, named to the others, whatever becomes of it."""

import os
import subprocess
import sys

from edgebench.agent.lock import BoardLock

HOLD = """
import sys
from edgebench.agent.lock import BoardLock
lock = BoardLock(sys.argv[1])
assert lock.take({"host": "desk"}) is None
print("held", flush=True)
sys.stdin.read()
"""


def test_the_second_is_told_who_holds_it(tmp_path):
    first, second = BoardLock(str(tmp_path / "new")), BoardLock(str(tmp_path / "new"))
    assert first.take({"host": "desk", "pid": 5}) is None
    assert first.take({"host": "again"}) is None
    assert second.take({"host": "bench"}) == {"host": "desk", "pid": 5}
    assert (first.held, second.held) == (True, False)
    first.release()
    first.release()
    assert second.take({"host": "bench"}) is None
    assert first.take({}) == {"host": "bench"}
    second.release()


def test_it_ends_with_its_holder_however_that_ends(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout and holder.stdout.readline() == b"held\n"
        lock = BoardLock(str(tmp_path))
        assert lock.take({}) == {"host": "desk"}
        holder.kill()
        holder.wait()
    assert lock.take({}) is None
    lock.release()


def test_a_file_that_was_cleaned_away_is_not_the_lock(tmp_path, monkeypatch):
    first, second = BoardLock(str(tmp_path)), BoardLock(str(tmp_path))
    opened = os.open

    def cleaned(path, *more):
        descriptor = opened(path, *more)
        monkeypatch.setattr(os, "open", opened)
        os.unlink(path)
        return descriptor

    monkeypatch.setattr(os, "open", cleaned)
    assert first.take({"host": "desk"}) is None
    assert second.take({}) == {"host": "desk"}
    first.release()


def test_a_holder_that_says_nonsense(tmp_path):
    first, second = BoardLock(str(tmp_path)), BoardLock(str(tmp_path))
    first.take({})
    for nonsense in (b"", b"[1]", b"\xff\xfe", b"{" * 5000):
        (tmp_path / "lock").write_bytes(nonsense)
        assert second.take({}) == {}
    first.release()
