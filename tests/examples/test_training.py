"""The training examples, for one epoch on a few images: run measures what they write."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgebench.installed import version_of
from edgebench.prepare.cache import Cache
from edgebench.prepare.families import count_parameters
from edgebench.prepare.user_model import source_from_weights
from tests.cli.conftest import Field, make_field

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples" / "training"
CLASSES = ("daisy", "dandelion", "roses", "sunflowers", "tulips")
EACH = 15


class Garden(Field):
    """A place with a flowers folder, whose cache is the test session's."""

    cache: Path

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"EDGEBENCH_CACHE_DIR": str(self.cache)}


@pytest.fixture
def garden(tmp_path: Path, session_cache: Cache) -> Garden:
    if version_of("tensorflow") is None:
        pytest.skip("training takes tensorflow")
    made = Garden(make_field(tmp_path).folder)
    made.cache = session_cache.root
    rng = np.random.default_rng(3)
    photos = tmp_path / "flower_photos"
    for place, name in enumerate(CLASSES):
        (photos / name).mkdir(parents=True)
        for number in range(EACH):
            size = (*rng.integers(40, 90, 2), 3)
            pixels = rng.normal(40 + 40 * place, 20, size).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(photos / name / f"{number:03}.jpg")
    (photos / "LICENSE.txt").write_text("of the photographs")
    return made


def train(script: str, *words: str, field: Garden) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, EXAMPLES / script, *words],
        cwd=field.folder,
        env={**os.environ, **field.environment},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("script", ["flowers.py", "landcover.py", "recipe.py"])
def test_each_is_one_short_program(script: str):
    assert len((EXAMPLES / script).read_text().splitlines()) <= 150


def test_flowers_are_split_as_published_and_run_measures_the_weights(garden: Garden):
    words = ("flower_photos", "--epochs", "1", "0")
    trained = train("flowers.py", *words, field=garden)
    assert trained.returncode == 0, trained.stderr
    assert "of 15 validation images" in trained.stdout
    record = json.loads((garden.folder / "mobilenet_v1-0.25.json").read_text())
    assert record["class_names"] == list(CLASSES)
    assert {name: part["n"] for name, part in record["data"].items()} == {
        "training": 60, "validation": 15, "calibration": 60,
    }  # fmt: skip
    assert count_parameters(garden.folder / "mobilenet_v1-0.25.npz") == 219_829
    done = garden.run(
        "run", "--device", "cpu", "--model", "mobilenet_v1-0.25.npz",
        "--images", "mobilenet_v1-0.25.validation.csv", "--scene", "scene.png",
        "--sessions", "1", "--passes", "1", "--name", "flowers",
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trials = [
        json.loads(path.read_text())
        for path in (garden.folder / "results" / "flowers").glob("trials/*/trial.json")
    ]
    assert {trial["variant"].rpartition("-")[2] for trial in trials} == {"fp32", "fp16", "int8"}
    assert {trial["estimates"]["accuracy"]["n"] for trial in trials} == {EACH}
    again = train("flowers.py", *words, field=garden)
    assert again.returncode == 1
    assert "is no new .npz file" in again.stderr


def test_the_same_seed_gives_the_same_land_cover_weights(garden: Garden, session_cache: Cache):
    for name in ("first", "second"):
        trained = train(
            "landcover.py", "--patches", "10", "--epochs", "1", "1", "-o", f"{name}.npz", field=garden
        )
        assert trained.returncode == 0, trained.stderr
        assert "of 250 validation images" in trained.stdout
    first, second = (garden.folder / f"{name}.npz" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    source = source_from_weights(first, session_cache)
    assert source.class_names == ("water", "ice", "vegetation", "bare", "cloud")
    assert source.calibration is not None and source.calibration.n == 250
    shown = garden.run("models", "show", "first.npz", "--json")
    assert json.loads(shown.stdout)["model"]["parameters"] == 219_829
