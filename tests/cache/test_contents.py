"""What is in the cache: listed, and cleaned by what is asked for."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from edgebench.errors import UnavailableError
from edgebench.prepare.cache import (
    GATE,
    KINDS,
    Cache,
    find,
    foreign,
    list_files,
    making,
    remove,
    select,
    store,
    totals,
    using,
)

KEYS = [f"{n:064x}" for n in range(4)]
NOW_S = float(int(time.time()))
DAY_S = 86_400.0


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """Two .tflite files of 300 and 200 bytes, one of them of two recipes; a note; a file without a recipe."""
    cache = Cache(tmp_path / "cache")
    for kind, key, content in (
        ("tflite", 0, b"a" * 300),
        ("coral", 1, b"b" * 200),
        ("tflite", 2, b"b" * 200),
    ):
        with making(cache, "prepare-tflite") as scratch:
            (scratch / "made").write_bytes(content)
            store(cache, kind, KEYS[key], scratch / "made", ".tflite")
    cache.remember("image-cost", KEYS[3], {"patch_s": 1.0})
    cache.add_bytes(b"c" * 10, ".json")
    return cache


def set_used(cache: Cache, kind: str, key: str, days_ago: float) -> None:
    os.utime(cache.root / "recipes" / kind / f"{key}.json", times=(NOW_S, NOW_S - days_ago * DAY_S))


def paths(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


def test_files_are_counted_by_what_made_them(cache: Cache):
    set_used(cache, "tflite", KEYS[2], 2)
    set_used(cache, "coral", KEYS[1], 1)
    by_kind = {total.kind: total for total in totals(list_files(cache))}
    assert set(by_kind) == {"tflite", "coral", "notes", "other"}
    assert set(by_kind) <= set(KINDS)
    assert by_kind["other"].size_bytes == 10
    assert by_kind["notes"].files == 1
    # The file of two recipes counts once, for the one that was used last.
    assert (by_kind["coral"].files, by_kind["tflite"].files) == (2, 3)
    assert by_kind["coral"].last_used_s == NOW_S - DAY_S


def test_facts_of_a_users_file_are_a_note_and_do_not_claim_its_copy(cache: Cache):
    copy = find(cache, "tflite", KEYS[0])
    assert copy is not None
    cache.note_recipe("model-facts", KEYS[0], {"format": "tflite", "sha256": copy.sha256, "size_bytes": 300})
    by_kind = {total.kind: total for total in totals(list_files(cache))}
    assert set(by_kind) == {"tflite", "coral", "notes", "other"}
    assert by_kind["notes"].files == 2
    assert [file.kind for file in list_files(cache) if file.path == copy.path] == ["tflite"]


@pytest.mark.attack("files vanish while the cache is listed: they are left out")
def test_what_vanishes_while_it_is_listed_is_left_out(cache: Cache, monkeypatch: pytest.MonkeyPatch):
    (cache.scratch() / "stderr").write_text("last words")
    before = len(list_files(cache))
    lstat = Path.lstat
    vanishing = {"stderr", f"{KEYS[0]}.json"}

    def gone(path: Path) -> os.stat_result:
        if path.name in vanishing:
            path.unlink(missing_ok=True)
        return lstat(path)

    monkeypatch.setattr(Path, "lstat", gone)
    assert len(list_files(cache)) == before - 2


def test_a_folder_that_may_not_be_listed_is_said_with_the_way_out(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
):
    scandir, closed = os.scandir, {""}

    def refused(folder: Path) -> Any:
        if Path(folder).name in closed:
            raise PermissionError(13, "Permission denied", str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refused)
    scratch = cache.scratch()
    for name in ("recipes", scratch.name):
        closed = {name}
        for act in (list_files, remove):
            with pytest.raises(UnavailableError) as caught:
                act(cache)
            assert "Permission denied" in caught.value.why
            assert "owns it" in caught.value.fix
    closed = {cache.root.name}
    with pytest.raises(UnavailableError):
        foreign(cache)


def test_looking_a_recipe_up_is_a_use_and_listing_is_none(cache: Cache):
    set_used(cache, "tflite", KEYS[0], 90)
    old = [file for file in list_files(cache) if file.last_used_s < NOW_S - 30 * DAY_S]
    assert [(file.kind, file.path.suffix) for file in old] == [("tflite", ".tflite"), ("tflite", ".json")]
    assert select(list_files(cache), NOW_S - 30 * DAY_S) == old
    assert find(cache, "tflite", KEYS[0]) is not None
    assert not [file for file in list_files(cache) if file.path in {one.path for one in old}
                and file.last_used_s == NOW_S - 90 * DAY_S]  # fmt: skip


def test_what_was_not_used_for_long_goes_and_the_rest_is_whole(cache: Cache):
    for kind, key, days in (("tflite", 0, 90), ("coral", 1, 90), ("tflite", 2, 1), ("image-cost", 3, 1)):
        set_used(cache, kind, KEYS[key], days)
    removed = remove(cache, NOW_S - 30 * DAY_S)
    assert {file.path.suffix for file in removed} == {".json", ".tflite"}
    assert find(cache, "tflite", KEYS[0]) is None
    assert find(cache, "coral", KEYS[1]) is None
    kept = find(cache, "tflite", KEYS[2])
    assert kept is not None and kept.path.read_bytes() == b"b" * 200
    assert cache.recipe("image-cost", KEYS[3]) is not None
    assert not [file for file in list_files(cache) if file.last_used_s < NOW_S - 30 * DAY_S]


def test_all_of_the_caches_own_goes_and_nothing_else(cache: Cache, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / KEYS[0]).write_text("mine")
    root = cache.root
    for name in (
        "board/agent.pyz",
        "notes.txt",
        "objects/00/readme",
        "objects/mine/x",
        "recipes/tflite/mine.txt",
        "scratch/mine/x",
        "edgetpu/mine.txt",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine")
    (root / "objects" / "01").symlink_to(outside)
    (root / "objects" / "00" / KEYS[1]).symlink_to(outside / KEYS[0])
    (root / "scratch" / "tmpabc123").symlink_to(outside)
    mine = paths(root) - {str(file.path.relative_to(root)) for file in list_files(cache)}
    left = cache.scratch()  # of a process that was killed
    (left / "deep").mkdir()
    (left / "deep" / "stderr").write_text("last words")
    (left / "link").symlink_to(outside)
    (root / "objects" / "00" / f".writing-{'0' * 16}").write_text("half")
    (root / "edgetpu" / "mobilenet_v1-0.25-int8.tflite").write_bytes(b"x")
    assert foreign(cache) == ["board", "notes.txt"]
    remove(cache)
    assert paths(root) - {f"locks/{GATE}"} == {name for name in mine if not name.startswith("locks/")}
    assert not left.exists()
    assert (outside / KEYS[0]).read_text() == "mine"
    assert list_files(cache) == []
    assert remove(cache) == []
    assert remove(Cache(tmp_path / "nowhere")) == []
    assert not (tmp_path / "nowhere").exists()


HOLDING = """
import sys
import time
from pathlib import Path
from edgebench.prepare.cache import Cache
from edgebench.prepare.cache import using
with using(Cache(Path(sys.argv[1]))):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_nothing_is_removed_while_another_process_uses_it(cache: Cache):
    before = paths(cache.root)
    command = [sys.executable, "-c", HOLDING, str(cache.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(UnavailableError):
            remove(cache)
        assert paths(cache.root) >= before
        process.kill()  # its lock file stays, and holds nobody up
    assert remove(cache)
    assert list_files(cache) == []


def test_a_preparation_and_a_run_are_uses(cache: Cache):
    with making(cache, "prepare-thing"), pytest.raises(UnavailableError):
        remove(cache)
    with using(cache), making(cache, "prepare-thing"), pytest.raises(UnavailableError):
        remove(cache)
    assert remove(cache)


def test_a_cache_that_cannot_be_written_is_used_all_the_same(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with using(Cache(tmp_path / "file" / "cache")):
        pass


def test_files_of_others_among_the_locks_stay_and_are_listed(cache: Cache):
    locks = cache.root / "locks"
    for name in ("poetry.lock", "use-1-0123.lock", "scene-ab.lock", "evaluate"):
        (locks / name).write_text("precious")
    (locks / "train-0123456789abcdef.lock").touch()
    remove(cache)
    left = {"poetry.lock", "use-1-0123.lock", "scene-ab.lock", "evaluate"}
    assert {path.name for path in locks.iterdir()} == {GATE, *left}
    assert all((locks / name).read_text() == "precious" for name in left)
    assert foreign(cache) == sorted(f"locks/{name}" for name in left)


@pytest.mark.attack("the cache's locks are a link elsewhere: refused, and nothing there is touched")
def test_locks_behind_a_link_are_refused_and_nothing_is_touched_there(tmp_path: Path):
    victim, cache = tmp_path / "victim", Cache(tmp_path / "cache")
    victim.mkdir()
    (victim / "evaluate.lock").write_text("precious")
    cache.root.mkdir()
    (cache.root / "locks").symlink_to(victim)
    for act in (lambda: remove(cache), using(cache).__enter__, making(cache, "evaluate").__enter__):
        with pytest.raises(UnavailableError) as caught:
            act()
        assert "is a link" in caught.value.why
    assert paths(victim) == {"evaluate.lock"}
    assert (victim / "evaluate.lock").read_text() == "precious"
    assert foreign(cache) == ["locks"]


def test_a_lock_that_no_cleaning_would_know_is_not_made(cache: Cache):
    with pytest.raises(ValueError), making(cache, "poetry"):
        pytest.fail("made")


@pytest.mark.attack("a recipe in the cache is damaged: it is ignored, and can be cleaned")
def test_a_damaged_recipe_is_none_and_is_cleaned(cache: Cache, monkeypatch: pytest.MonkeyPatch):
    folder = cache.root / "recipes" / "tflite"
    (folder / f"{KEYS[0]}.json").write_text("[" * 200_000)
    assert find(cache, "tflite", KEYS[0]) is None
    assert find(cache, "tflite", KEYS[2]) is not None
    monkeypatch.setattr("edgebench.prepare.cache._RECIPE_LIMIT_BYTES", 20)
    assert find(cache, "tflite", KEYS[2]) is None
    assert len(remove(cache)) == 7


def test_a_folder_that_cannot_be_is_said_when_it_is_cleaned(tmp_path: Path):
    with pytest.raises(UnavailableError) as caught:
        remove(Cache(tmp_path / ("x" * 300)))
    assert "EDGEBENCH_CACHE_DIR" in caught.value.fix
    with pytest.raises(UnavailableError):
        Cache(tmp_path / ("x" * 300)).add_bytes(b"x")


def test_the_folders_name_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", "~/x")
    assert Cache().root == tmp_path / "x"
