import json
import os
import threading
from pathlib import Path

import pytest

from edgebench.errors import UnavailableError
from edgebench.models.cache import Cache
from edgebench.models.keep import find, keep, making

KEY = "0" * 64


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def made(cache: Cache, content: bytes = b"made") -> Path:
    file = cache.scratch() / "made"
    file.write_bytes(content)
    return file


def test_what_is_kept_is_found_with_its_note(cache: Cache):
    kept = keep(cache, "thing", KEY, made(cache), ".bin", {"n": 1})
    assert find(cache, "thing", KEY) == kept
    assert kept.path.read_bytes() == b"made"
    assert (kept.size_bytes, kept.note) == (4, {"n": 1})
    assert find(cache, "other", KEY) is None


def test_damage_is_noticed(cache: Cache):
    path = keep(cache, "thing", KEY, made(cache), ".bin").path
    path.write_bytes(b"mad")
    assert find(cache, "thing", KEY) is None
    path.write_bytes(b"evil")
    os.utime(path, ns=(1, 1))
    assert find(cache, "thing", KEY) is None
    path.write_bytes(b"made")
    os.utime(path, ns=(2, 2))
    found = find(cache, "thing", KEY)
    assert found is not None
    recipe = cache.recipe("thing", KEY)
    assert recipe is not None
    assert recipe["mtime_ns"] == 2


@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "../../etc/passwd"},
        {"suffix": "/../../x"},
        {"size_bytes": "many"},
        {"note": 3},
        {"mtime_ns": None},
    ],
)
def test_a_damaged_note_counts_for_nothing(cache: Cache, change: dict[str, object]):
    keep(cache, "thing", KEY, made(cache), ".bin")
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
        with making(cache, "thing") as scratch:
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


def test_nothing_is_left_of_a_making_that_failed(cache: Cache):
    with pytest.raises(RuntimeError), making(cache, "thing") as scratch:
        (scratch / "half").write_bytes(b"x")
        raise RuntimeError
    assert list((cache.root / "scratch").iterdir()) == []


def test_a_cache_that_cannot_be_used_is_said_with_the_way_out(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UnavailableError) as caught, making(Cache(tmp_path / "file"), "thing"):
        pass
    assert "EDGEBENCH_CACHE_DIR" in caught.value.fix
