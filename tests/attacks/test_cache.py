"""A cache whose files are damaged under their names, and makers that are killed, hang or are ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from PIL import Image

from edgebench.errors import UnavailableError
from edgebench.files import write_atomically
from edgebench.link.local import agent_file
from edgebench.prepare import cache as caching
from edgebench.prepare import cache as use
from edgebench.prepare.cache import Cache, making, sha256_file, using
from edgebench.prepare.images import load_images, load_scene

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    path = tmp_path / "images" / "scene.png"
    Image.fromarray(np.arange(64 * 64 * 3, dtype=np.uint8).reshape(64, 64, 3)).save(path)
    return path


def flip_a_bit(path: Path) -> None:
    """In the last byte, with size and time as they were; what follows is as in a process of its own."""
    status = path.stat()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    caching._sha256_of_state.cache_clear()


@pytest.mark.attack(
    "a bit of a file in the cache is flipped, its size and time as they were: it is removed and made again, "
    "with a note"
)
@pytest.mark.parametrize("what", ["scene", "images", "agent"])
def test_a_flipped_bit(cache, picture, caplog, what):
    def make() -> tuple[Path, str]:
        if what == "agent":
            return agent_file(cache)
        of = load_scene(picture, cache, 32) if what == "scene" else load_images(picture.parent, cache, 32)
        return of.path, of.sha256

    path, digest = make()
    flip_a_bit(path)
    assert make() == (path, digest)
    assert sha256_file(path) == digest
    assert [record.getMessage() for record in caplog.records] == [
        f"{path.name} in the cache is damaged: it is removed, and made again when it is needed"
    ]
    caplog.clear()
    assert make() == (path, digest)
    assert not caplog.records


def put_a_folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_bytes(b"x")


def put_a_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def put_a_dangling_link(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


@pytest.mark.attack(
    "no regular file is under a name of the cache: it is removed, and the file made again, with a note"
)
@pytest.mark.parametrize("put", [put_a_folder, put_a_link, put_a_dangling_link, os.mkfifo])
@pytest.mark.parametrize("what", ["images", "agent"])
def test_what_is_no_regular_file(cache, picture, caplog, put, what):
    def make() -> tuple[Path, str]:
        if what == "agent":
            return agent_file(cache)
        of = load_images(picture.parent, cache, 32)
        return of.path, of.sha256

    path, digest = make()
    path.unlink()
    put(path)
    assert make() == (path, digest)
    assert path.is_file() and not path.is_symlink() and sha256_file(path) == digest
    assert "is damaged: it is removed" in caplog.text


@pytest.mark.attack(
    "a damaged file in the cache is replaced by another process while it is judged: that stays"
)
def test_a_sound_file_that_takes_the_place_of_a_damaged_one_stays(cache, monkeypatch):
    path, digest = cache.add_bytes(b"sound")
    flip_a_bit(path)
    hashed = caching._sha256_of_state

    def late(path, state):
        found = hashed(path, state)
        if found != digest:
            write_atomically(path, b"sound")
        return found

    monkeypatch.setattr(caching, "_sha256_of_state", late)
    assert cache.has_sound(path, digest)
    assert path.read_bytes() == b"sound"


def test_a_sound_file_is_hashed_once_a_process(cache, picture, monkeypatch):
    load_scene(picture, cache, 32)
    load_scene(picture, cache, 32)
    monkeypatch.setattr(caching, "sha256_file", lambda path: pytest.fail(f"{path} is hashed again"))
    load_scene(picture, cache, 32)


# As `edgebench` itself, with one more command that prepares for ever.
HANGING = """
import sys
from edgebench.cli.main import app, main
from edgebench.prepare.cache import Cache
from edgebench.prepare.cache import making
from edgebench.prepare.workers.processes import run_jobs


@app.command()
def hang() -> None:
    with making(Cache(), "prepare-thing") as scratch:
        job = {"what": "job", "n": 0, "do": "hang"}
        run_jobs("tests.models.helping", [job], scratch, lambda text: print(text, flush=True))


sys.argv = ["edgebench", "hang"]
main()
"""


@pytest.mark.attack(
    "a preparation is asked to end, or its terminal goes away: its helper processes end, no scratch is left"
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_preparation_that_is_told_to_end(cache, number):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "EDGEBENCH_CACHE_DIR": str(cache.root)}
    command = [sys.executable, "-c", HANGING]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"at 0\n"
        [helper] = psutil.Process(process.pid).children()
        process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 128 + number, errors
    assert b"interrupted" in errors
    assert not helper.is_running()
    assert list((cache.root / "scratch").iterdir()) == []


def left_behind(cache: Cache) -> Path:
    """What a process that was killed amid a preparation leaves."""
    folder = cache.scratch()
    (folder / "made.npy").write_bytes(b"half")
    locks = cache.root / use.LOCKS
    locks.mkdir(exist_ok=True)
    (locks / "use-1-0123abcd.lock").touch()
    return folder


@pytest.mark.attack(
    "a preparation is killed: its scratch folder is swept when the cache is next used by no other process"
)
def test_scratch_of_a_killed_preparation(cache):
    folder = left_behind(cache)
    (folder.parent / "mine").mkdir()
    with using(cache):
        assert [entry.name for entry in folder.parent.iterdir()] == ["mine"]
        assert len(list((cache.root / use.LOCKS).glob("use-*"))) == 1
        # What is made while another one uses the cache is not touched.
        with making(cache, "prepare-thing") as scratch, using(cache):
            assert scratch.is_dir()


@pytest.mark.attack(
    "another EdgeBench hangs during a preparation: a message says so, and the wait ends at its limit"
)
def test_a_maker_that_hangs(cache, monkeypatch, caplog):
    monkeypatch.setattr(use, "SAY_AFTER_S", 0.01)
    monkeypatch.setattr(use, "MOST_WAIT_S", 0.05)
    with (
        making(cache, "prepare-thing"),
        pytest.raises(UnavailableError, match="has not ended") as caught,
        making(cache, "prepare-thing"),
    ):
        pytest.fail("made")
    assert "EDGEBENCH_CACHE_DIR" in caught.value.fix
    assert [record.getMessage() for record in caplog.records] == [
        "waiting for another EdgeBench, which makes such files (prepare-thing), 0 min at most"
    ]


@pytest.mark.attack(
    "a lock in the cache cannot be opened: the cache counts as used, and this process holds its own lock"
)
def test_a_lock_that_cannot_be_opened(cache):
    folder = left_behind(cache)
    (cache.root / "locks" / "use-1-00000000.lock").mkdir(parents=True)
    with using(cache):
        own = cache.root / "locks" / f"use-{os.getpid()}-*.lock"
        assert len(list(own.parent.glob(own.name))) == 1
        assert folder.is_dir()
