"""The study's recipe on a small folder of the same layout: trained, then measured on its validation part."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgebench.cache.objects import Cache
from edgebench.installed import version_of
from tests.cli.conftest import Field, make_field

pytestmark = pytest.mark.slow

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


def test_the_recipe_gives_weights_and_run_gives_the_tables_rows(garden: Garden):
    trained = garden.run(
        "models", "train", "--data", "flower_photos", "--seed", "123", "--epochs", "1", "--full-epochs", "0",
        timeout=600,
    )  # fmt: skip
    assert trained.returncode == 0, trained.stderr
    assert trained.stdout == "mobilenet_v1-0.25.npz\n"
    assert "of 15 validation images" in trained.stderr
    record = json.loads((garden.folder / "mobilenet_v1-0.25.json").read_text())
    assert record["class_names"] == list(CLASSES)
    assert record["data"]["validation"]["n"] == EACH
    done = garden.run(
        "run", "--device", "cpu", "--model", "mobilenet_v1-0.25.npz",
        "--images", "mobilenet_v1-0.25.validation.csv", "--scene", "scene.png",
        "--sessions", "1", "--passes", "1", "--name", "flowers",
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if f"/{EACH} " in line]
    assert [row[:2] for row in rows] == [["0.25", one] for one in ("fp32", "fp16", "int8")]
    trials = [
        json.loads(path.read_text())
        for path in (garden.folder / "results" / "flowers").glob("trials/*/trial.json")
    ]
    assert {trial["variant"].rpartition("-")[2] for trial in trials} == {"fp32", "fp16", "int8"}
    again = garden.run("models", "train", "--data", "flower_photos", "--seed", "123")
    assert again.returncode == 2
    assert "not written over" in again.stderr
