import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgebench.cache.objects import Cache
from edgebench.data.files import list_files
from edgebench.errors import InputError, UnavailableError, UsageError
from edgebench.models.families.weights import read_weights, shipped_weights
from edgebench.models.train import training_run as module
from edgebench.models.train.trained_weights import source_from_weights
from edgebench.models.train.training_run import Trained, train
from edgebench.models.workers.processes import HelperError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for name, level in (("dark", 40), ("light", 200)):
        (folder / name).mkdir()
        for index in range(5):
            noise = rng.normal(level, 20, (64, 64, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(noise).save(folder / name / f"{index}.png")
    return folder


def test_the_same_seed_gives_the_same_weights(pictures: Path, session_cache: Cache, tmp_path: Path):
    said: list[str] = []

    def one(name: str) -> Trained:
        return train(
            cache=session_cache,
            output=tmp_path / f"{name}.npz",
            progress=said.append,
            data=pictures,
            init=shipped_weights(0.25).path,  # of five classes, and these are two
            epochs=1,
            full_epochs=0,
            seed=3,
        )

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(one, ("first", "second"))
    assert first.sha256 == second.sha256
    assert first.weights.read_bytes() == second.weights.read_bytes()
    arrays = read_weights(first.weights)
    assert arrays["scores/bias"].shape == (2,)
    assert first.new_head
    assert sorted(text.split(":")[0] for text in said) == [
        *["112 x 112, epoch 1 of 1"] * 2,
        *["the layer of the scores begins anew"] * 2,
    ]
    record = json.loads(first.record.read_text())
    assert record["new_head"] is True
    assert record["init_sha256"] == shipped_weights(0.25).sha256
    assert record["weights_sha256"] == first.sha256
    assert record["class_names"] == ["dark", "light"]
    assert record["recipe"]["seed"] == 3
    assert record["validation"]["n"] == 2
    assert record["data"]["train"]["n"] == 8
    assert set(record["data"]["calibration"]["indices"]) <= set(range(10))
    assert record["input"] == {"divisor": 127.5, "offset": -1.0}
    assert first.validation_csv is not None
    validation, calibration = (
        set(list_files(first.weights.with_suffix(suffix)).files)
        for suffix in (".validation.csv", ".calibration.csv")
    )
    assert set(list_files(first.validation_csv).class_names) == {"dark", "light"}
    assert len(validation) == 2
    assert len(calibration) == 8
    assert not validation & calibration
    source = source_from_weights(first.weights, session_cache)
    assert source.kind == "weights"
    assert source.name == f"first-{first.sha256[:8]}"
    assert source.class_names == ("dark", "light")
    assert source.calibration is not None
    assert source.calibration.n == 8
    assert set(record["tools"]) == {"tensorflow", "keras", "ai-edge-litert", "python"}


def test_another_family_is_trained_as_it_takes_its_pixels(
    pictures: Path, session_cache: Cache, tmp_path: Path
):
    trained = train(
        cache=session_cache,
        output=tmp_path / "w.npz",
        progress=lambda _: None,
        family="mobilenet_v3_small",
        depth_multiplier=0.75,
        data=pictures,
        epochs=1,
        full_epochs=0,
        seed=3,
    )
    assert not trained.new_head
    record = json.loads(trained.record.read_text())
    assert record["family"] == "mobilenet_v3_small"
    assert record["depth_multiplier"] == 0.75
    assert read_weights(trained.weights)["scores/bias"].shape == (2,)
    source = source_from_weights(trained.weights, session_cache)
    assert (source.family, source.width) == ("mobilenet_v3_small", 0.75)


def test_weights_of_another_width_are_refused(pictures: Path, session_cache: Cache, tmp_path: Path):
    with pytest.raises(HelperError) as caught:
        train(
            cache=session_cache,
            output=tmp_path / "w.npz",
            progress=lambda _: None,
            data=pictures,
            init=shipped_weights(0.5).path,
            epochs=1,
            full_epochs=0,
            seed=3,
        )
    assert "conv1/kernel" in caught.value.why
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"depth_multiplier": 0.75}, "no width 0.75"),
        ({"family": "resnet50", "depth_multiplier": 0.5}, "no width 0.5"),
        ({"family": "resnet5", "depth_multiplier": None}, "no model family 'resnet5'"),
        ({"epochs": 0, "full_epochs": 0}, "nothing to train"),
        ({"epochs": -1}, "nothing to train"),
        ({"output": Path("weights.h5")}, "no name for weights"),
        ({"output": Path("/no/such/folder/w.npz")}, "no folder"),
    ],
)
def test_bad_settings_are_usage_errors(session_cache: Cache, tmp_path: Path, change, what: str):
    settings = {"cache": session_cache, "output": tmp_path / "w.npz", "progress": lambda _: None}
    with pytest.raises(UsageError, match=what):
        train(**{**settings, **change})


def test_what_is_there_is_not_written_over(session_cache: Cache, tmp_path: Path):
    (tmp_path / "w.json").write_text("{}")
    with pytest.raises(UsageError, match=r"w\.json"):
        train(cache=session_cache, output=tmp_path / "w.npz", progress=lambda _: None)


def test_bad_data_is_said_before_anything_starts(
    session_cache: Cache, tmp_path: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "run_jobs", lambda *_: pytest.fail("started"))

    def start(data: Path, init: Path | None = None) -> None:
        train(cache=session_cache, output=tmp_path / "w.npz", progress=lambda _: None, data=data, init=init)

    with pytest.raises(InputError, match="does not say"):
        start(pictures / "dark")
    (tmp_path / "few" / "a").mkdir(parents=True)
    (tmp_path / "few" / "b").mkdir()
    for name in "ab":
        Image.new("RGB", (8, 8)).save(tmp_path / "few" / name / "1.png")
    with pytest.raises(InputError, match="2 images"):
        start(tmp_path / "few")
    with pytest.raises(InputError, match=r"none\.npz"):
        start(pictures, tmp_path / "none.npz")
    (tmp_path / "weights.pt").write_bytes(b"x")
    with pytest.raises(InputError, match="no weights that are known"):
        start(pictures, tmp_path / "weights.pt")
    monkeypatch.setattr(module, "version_of", lambda _: None)
    with pytest.raises(UnavailableError) as caught:
        start(pictures)
    assert "edgebench[prepare]" in caught.value.fix
