"""Artifacts kept in the cache: found again whole, or made again."""

import json
import logging
import os
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from edgebench.errors import UnavailableError
from edgebench.prepare import cache as caching
from edgebench.prepare import cache as use
from edgebench.prepare.cache import Cache, find, making, store

KEY = "0" * 64


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def made(cache: Cache, content: bytes = b"made") -> Path:
    file = cache.scratch() / "made"
    file.write_bytes(content)
    return file


def test_what_is_kept_is_found_with_its_note(cache: Cache):
    kept = store(cache, "thing", KEY, made(cache), ".bin", {"n": 1})
    assert find(cache, "thing", KEY) == kept
    assert kept.path.read_bytes() == b"made"
    assert (kept.size_bytes, kept.note) == (4, {"n": 1})
    assert find(cache, "other", KEY) is None


@pytest.mark.attack("a file in the cache is damaged: it is found out and removed")
def test_damage_is_noticed(cache: Cache):
    path = store(cache, "thing", KEY, made(cache), ".bin").path
    path.write_bytes(b"mad")
    assert find(cache, "thing", KEY) is None
    path.write_bytes(b"evil")
    os.utime(path, ns=(1, 1))
    assert find(cache, "thing", KEY) is None
    path.write_bytes(b"made")
    os.utime(path, ns=(2, 2))
    assert find(cache, "thing", KEY) is not None
    path.write_bytes(b"evil")
    os.utime(path, ns=(2, 2))
    assert find(cache, "thing", KEY) is None
    assert not path.exists()


@pytest.mark.attack("a file's note in the cache is damaged: it is ignored")
@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "../../etc/passwd"},
        {"suffix": "/../../x"},
        {"size_bytes": "many"},
        {"note": 3},
        {"note": {"scores": [[0.5]]}},
        {"note_sha256": 3},
        {"note_sha256": None},
    ],
)
def test_a_damaged_note_counts_for_nothing(cache: Cache, change: dict[str, object]):
    store(cache, "thing", KEY, made(cache), ".bin")
    recipe = cache.recipe("thing", KEY)
    assert recipe is not None
    cache.note_recipe("thing", KEY, {**recipe, **change})
    assert find(cache, "thing", KEY) is None
    (cache.root / "recipes" / "thing" / f"{KEY}.json").write_text(json.dumps(recipe)[:20])
    assert find(cache, "thing", KEY) is None


def test_one_maker_at_a_time(cache: Cache):
    inside, most = 0, 0
    gate = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        with making(cache, "prepare-thing") as scratch:
            with gate:
                inside += 1
                most = max(most, inside)
            (scratch / "file").write_bytes(b"x" * 100_000)
            with gate:
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_what_cannot_be_noted_or_read_again_is_no_fault(cache: Cache, monkeypatch: pytest.MonkeyPatch):
    path = store(cache, "thing", KEY, made(cache), ".bin").path
    os.utime(path, ns=(1, 1))

    def refused(*_: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Cache, "note_recipe", refused)
    assert find(cache, "thing", KEY) is not None
    monkeypatch.setattr(caching, "sha256_file", refused)
    os.utime(path, ns=(2, 2))
    assert find(cache, "thing", KEY) is None


def test_nothing_is_left_of_a_making_that_failed(cache: Cache):
    with pytest.raises(RuntimeError), making(cache, "prepare-thing") as scratch:
        (scratch / "half").write_bytes(b"x")
        raise RuntimeError
    assert list((cache.root / "scratch").iterdir()) == []


def test_a_cache_that_cannot_be_used_is_said_with_the_way_out(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UnavailableError) as caught, making(Cache(tmp_path / "file"), "prepare-thing"):
        pass
    assert "EDGEBENCH_CACHE_DIR" in caught.value.fix


def test_another_makers_work_is_waited_for_and_said_once(cache: Cache, monkeypatch, caplog):
    holding = making(cache, "prepare-thing")
    assert waited_for(holding, making(cache, "prepare-thing"), monkeypatch, caplog) == [
        "waiting for another EdgeBench, which makes such files (prepare-thing), 60 min at most"
    ]


def test_a_cleaning_is_waited_for_and_said_once(cache: Cache, monkeypatch, caplog):
    folder = cache.root / use.LOCKS
    folder.mkdir(parents=True)
    holding = FileLock(folder / use.GATE, thread_local=False)
    assert waited_for(holding, use.using(cache), monkeypatch, caplog) == [
        f"waiting for another EdgeBench, which cleans the cache ({cache.root}), 60 min at most"
    ]


def waited_for(holding, waiting, monkeypatch, caplog) -> list[str]:
    """What is said while something is held that another needs; held until it is said."""
    monkeypatch.setattr(use, "SAY_AFTER_S", 0.01)
    holds, ends = threading.Event(), threading.Event()

    def other() -> None:
        with holding:
            holds.set()
            ends.wait(20)

    thread = threading.Thread(target=other)
    thread.start()
    assert holds.wait(20)

    class Ending(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            ends.set()

    logging.getLogger("edgebench").addHandler(handler := Ending())
    try:
        with waiting:
            assert ends.is_set()
    finally:
        ends.set()
        logging.getLogger("edgebench").removeHandler(handler)
        thread.join(20)
    return [record.getMessage() for record in caplog.records]


def test_a_lock_that_is_free_is_nothing_to_say(cache: Cache, caplog):
    with making(cache, "prepare-thing"):
        assert not caplog.records
