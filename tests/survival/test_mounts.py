"""A disk that is really full, and one that is really read-only: small ones in a mount namespace."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def no_namespace() -> str:
    """Why this machine gives no namespace with a disk of one's own; "" when it does."""
    if shutil.which("unshare") is None:
        return "there is no unshare (util-linux)"
    words = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    return done.stderr.strip() or "a mount namespace is refused" if done.returncode else ""


@pytest.fixture(scope="module")
def disks(tmp_path_factory) -> dict[str, Any]:
    if why := no_namespace():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("disks")
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-m", "tests.survival.mounts", str(folder)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


@pytest.mark.attack("the disk is full during a run: what was finished stays, the fix is given")
def test_a_full_disk_keeps_what_was_finished_and_says_the_fix(disks):
    errors = [one["error"] for one in disks["full"] if one["error"]]
    assert errors
    for what, why, fix in errors:
        assert what.startswith("the result cannot be written to ")
        assert why == "No space left on device"
        assert "make room" in fix and "--resume" in fix
    # Some were refused before their plan was written, some after a session.
    assert {one["before"] for one in disks["full"]} >= {0, 1}


@pytest.mark.attack("a full disk gets room again: --resume measures the rest")
def test_with_room_made_it_goes_on_to_its_end(disks):
    for one in disks["full"]:
        assert one["again"] == [], one["free"]
        assert one["sessions"] == [0, 1, 2], one["free"]
        assert one["changed"] == [], one["free"]
        assert one["left"] == [], one["free"]


@pytest.mark.attack("a result is on a read-only disk: it is read, and the refusal to write is reported")
def test_a_read_only_result_is_read_and_nothing_else(disks):
    found = disks["read_only"]
    assert (found["sessions"], found["passes"]) == (3, 9)
    assert not found["resume"]  # it is finished: nothing has to be written
    for name in ("new", "open", "writable"):
        what, why, fix = found[name]
        assert what.startswith("the result cannot be written to ")
        assert why == "Read-only file system"
        assert "--output-dir" in fix
    assert found["report"][1:] == ["Read-only file system", "choose another path with -o"]
    assert found["elsewhere"]
    assert not found["changed"]
