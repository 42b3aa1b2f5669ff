"""images.json: which file each image was."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from edgebench.records.values import ImageSet
from edgebench.report.schemas import schema
from edgebench.results import record_reading as image_paths
from edgebench.results.load import load
from edgebench.results.redaction import PrivateNames
from tests.synthetic_results import QUARTER, made_experiment


def image_set(*paths: str, sha256: str = "a" * 64) -> ImageSet:
    return ImageSet("some", Path("images.npy"), sha256, len(paths), None, (), paths=paths)


def test_paths_are_kept_without_the_names_of_users() -> None:
    names = PrivateNames.of(private={"user": "jane", "home": "/data/jane"})
    record = image_paths.image_paths([image_set("water/1.png", "/data/jane/2.png", "/home/joe/3.png")], names)
    assert record is not None and record.sets == {"a" * 64: ("water/1.png", "~/2.png", "~/3.png")}
    jsonschema.validate(json.loads(record.model_dump_json()), schema("images"))


def test_images_that_are_no_files_have_none() -> None:
    assert image_paths.image_paths([image_set()], PrivateNames()) is None


def test_a_set_is_kept_once_and_one_too_large_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_paths, "MAX_CHARACTERS", 10)
    large, small = image_set("x" * 20, sha256="b" * 64), image_set("1.png", "2.png")
    record = image_paths.image_paths([large, small, small], PrivateNames())
    assert record is not None and list(record.sets) == ["a" * 64]


def test_they_come_back_by_the_set(tmp_path: Path) -> None:
    results = load(made_experiment(tmp_path, variants=[QUARTER[0]], image_paths=["a/1.png", "b/2.png"]))
    assert results.image_paths == {"ef" * 32: ("a/1.png", "b/2.png")} and not results.warnings


@pytest.mark.parametrize("text", ["{", "[]", '{"schema_version": 3, "sets": {"a": [1]}}'])
def test_a_damaged_one_is_left_out_and_told(tmp_path: Path, text: str) -> None:
    path = made_experiment(tmp_path, variants=[QUARTER[0]])
    (path / "images.json").write_text(text)
    results = load(path)
    assert results.image_paths == {}
    [warning] = results.warnings
    assert "images.json" in warning
