"""`edgebench cache` on a small cache of its own."""

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import UnavailableError, UsageError
from edgebench.prepare.cache import Cache, store, using


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    cache = Cache(tmp_path / "cache")
    made = cache.scratch() / "made"
    made.write_bytes(b"x" * 2_000_000)
    store(cache, "scene", "0" * 64, made, ".npy")
    made.parent.rmdir()
    (cache.root / "board").mkdir()
    return cache


def call(cache: Cache, *words: str):
    environment = {"EDGEBENCH_CACHE_DIR": str(cache.root), "COLUMNS": "80"}
    return CliRunner().invoke(app, ["cache", *words], env=environment)


def test_show(cache: Cache):
    done = call(cache, "show")
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "2 files, 2.00 MB" in text
    assert "scene scenes as pixels 2 2.00 MB" in text
    assert "not of the cache, and never touched: board" in text
    document = json.loads(call(cache, "show", "--json").stdout)
    assert document["schema_version"] == 1
    assert document["folder"] == str(cache.root)
    (kind,) = document["kinds"]
    assert (kind["kind"], kind["files"]) == ("scene", 2)
    assert document["size_bytes"] == kind["size_bytes"] > 2_000_000
    assert kind["last_used_utc"].endswith("Z")
    assert document["not_of_the_cache"] == ["board"]


def test_days_of_last_use_are_utc(cache: Cache, monkeypatch: pytest.MonkeyPatch):
    for zone in ("Etc/GMT+12", "Etc/GMT-14"):  # 26 hours apart: one of them has another day than UTC
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            text = " ".join(call(cache, "show").stdout.split())
        finally:
            monkeypatch.undo()
            time.tzset()
        (kind,) = json.loads(call(cache, "show", "--json").stdout)["kinds"]
        assert "last used (UTC)" in text
        assert f"scene scenes as pixels 2 2.00 MB {kind['last_used_utc'][:10]}" in text


def test_clean(cache: Cache):
    done = call(cache, "clean", "--dry-run")
    assert "would remove 2 files, 2.00 MB" in " ".join(done.stdout.split())
    document = json.loads(call(cache, "clean", "--older-than", "30d", "--json").stdout)
    assert document["removed"]["files"] == 0
    assert document["left"]["files"] == 2
    with using(cache):
        assert isinstance(call(cache, "clean").exception, UnavailableError)
    assert json.loads(call(cache, "clean", "--json").stdout)["removed"]["files"] == 2
    assert (cache.root / "board").is_dir()
    assert "removed nothing" in " ".join(call(cache, "clean").stdout.split())


@pytest.mark.parametrize("text", ["soon", "-3", "nan", "1 fortnight"])
def test_a_time_that_is_none_is_refused(cache: Cache, text: str):
    done = call(cache, "clean", f"--older-than={text}")
    assert isinstance(done.exception, UsageError)
    assert "30d" in done.exception.fix


def test_names_of_others_are_shown_printable(cache: Cache):
    (cache.root / "two\nlines\x1b[2J").touch()
    text = " ".join(call(cache, "show").stdout.split())
    assert r"'two\nlines\x1b[2J'" in text
