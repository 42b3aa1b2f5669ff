import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgebench.errors import InputError
from edgebench.prepare.cache import Cache, sha256_file
from edgebench.prepare.families import write_weights
from edgebench.prepare.user_model import read_record, source_from_weights


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """Weights with the least record that is one."""
    path = tmp_path / "my flowers.npz"
    write_weights(path, {"scores/bias": np.zeros(5)})
    write(path, {})
    return path


def write(weights: Path, change: dict[str, object]) -> None:
    record = {
        "schema_version": 1,
        "family": "mobilenet_v1",
        "depth_multiplier": 0.25,
        "weights_sha256": sha256_file(weights),
        "class_names": ["a", "b", "c", "d", "e"],
        "data": {"calibration": {"name": "flowers", "sha256": "0" * 64, "n": 3}},
        "tools": {"keras": "3"},
    }
    weights.with_suffix(".json").write_text(json.dumps(record | change))


def test_a_source_says_what_the_record_says(weights: Path, session_cache: Cache):
    source = source_from_weights(weights, session_cache)
    digest = sha256_file(weights)
    assert source.name == f"my_flowers-{digest[:8]}"
    assert (source.kind, source.family, source.width) == ("weights", "mobilenet_v1", 0.25)
    assert source.sha256 == digest
    assert source.class_names == ("a", "b", "c", "d", "e")
    assert source.calibration is None
    assert source.identity()["family"] == "mobilenet_v1"


def test_calibration_images_are_those_that_are_named_else_those_beside(
    weights: Path, session_cache: Cache, tmp_path: Path
):
    for name, n in (("beside", 2), ("named", 3)):
        (tmp_path / name).mkdir()
        for index in range(n):
            Image.new("RGB", (8, 8), (index, n, 0)).save(tmp_path / name / f"{index}.png")
    lines = "".join(f"beside/{index}.png,\n" for index in range(2))
    weights.with_suffix(".calibration.csv").write_text(f"path,label\n{lines}")
    beside = source_from_weights(weights, session_cache)
    named = source_from_weights(weights, session_cache, calibration=tmp_path / "named")
    assert beside.calibration is not None
    assert named.calibration is not None
    assert (beside.calibration.n, named.calibration.n) == (2, 3)
    assert beside.identity() != named.identity()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"schema_version": 2}, "schema_version"),
        ({"family": "vgg"}, "vgg"),
        ({"depth_multiplier": 0.3}, "no width 0.3"),
        ({"class_names": ["a", "a"]}, "same name"),
        ({"class_names": ["a", "b\u001b"]}, "cannot be shown"),
        ({"class_names": ["a"]}, "class_names"),
        ({"data": 3}, "data"),
    ],
)
def test_a_record_that_cannot_be_is_refused(weights: Path, change: dict[str, object], why: str):
    write(weights, change)
    with pytest.raises(InputError, match=r"my flowers\.json") as caught:
        read_record(weights)
    assert why in caught.value.why
    assert caught.value.fix


def test_a_record_of_other_weights_is_refused(weights: Path):
    write(weights, {"weights_sha256": "0" * 64})
    with pytest.raises(InputError, match=r"my flowers\.npz"):
        read_record(weights)


def test_weights_without_their_record_are_refused(weights: Path, session_cache: Cache, tmp_path: Path):
    weights.with_suffix(".json").unlink()
    with pytest.raises(InputError) as caught:
        source_from_weights(weights, session_cache)
    assert ".json" in caught.value.fix
    with pytest.raises(InputError, match=r"none\.npz"):
        source_from_weights(tmp_path / "none.npz", session_cache)
