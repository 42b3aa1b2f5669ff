import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgebench.errors import InputError, UnavailableError, UsageError
from edgebench.models import train as module
from edgebench.models.cache import Cache
from edgebench.models.processes import HelperError
from edgebench.models.train import Trained, split, train
from edgebench.models.weights import read_weights, shipped_weights


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
    assert len(said) == 2
    assert "epoch 1 of 1" in said[0]
    record = json.loads(first.record.read_text())
    assert record["weights_sha256"] == first.sha256
    assert record["class_names"] == ["dark", "light"]
    assert record["recipe"]["seed"] == 3
    assert record["validation"]["n"] == 2
    assert record["data"]["train"]["n"] == 8
    assert set(record["data"]["calibration"]["indices"]) <= set(range(10))
    assert set(record["tools"]) == {"tensorflow", "keras", "ai-edge-litert", "python"}


def test_weights_of_another_model_are_refused(pictures: Path, session_cache: Cache, tmp_path: Path):
    with pytest.raises(HelperError, match="another size") as caught:
        train(
            cache=session_cache,
            output=tmp_path / "w.npz",
            progress=lambda _: None,
            data=pictures,
            init=shipped_weights(0.25).path,  # of five classes, and these are two
            epochs=1,
            full_epochs=0,
        )
    assert "scores/kernel" in caught.value.why
    assert not list(tmp_path.iterdir())


def test_keras_has_the_published_number_of_parameters_and_takes_the_shipped_weights():
    program = (
        "from edgebench.models import mobilenet, weights\n"
        "for depth in (0.25, 0.5, 1.0):\n"
        "    model = mobilenet.build(depth)\n"
        "    mobilenet.load(model, weights.shipped_weights(depth).path)\n"
        "    print(model.count_params())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["219829", "832101", "3233989"]


def test_a_split_is_by_class_disjoint_and_from_the_seed():
    labels = [0] * 10 + [1] * 5 + [2] * 2
    training, validation = split(labels, 7)
    assert sorted(training + validation) == list(range(17))
    assert [sum(labels[i] == c for i in training) for c in range(3)] == [8, 4, 1]
    assert [sum(labels[i] == c for i in validation) for c in range(3)] == [2, 1, 1]
    assert split(labels, 7) == (training, validation)
    assert split(labels, 8) != (training, validation)
    with pytest.raises(ValueError, match="class 1"):
        split([0, 0, 1], 7)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"depth_multiplier": 0.75}, "no depth multiplier 0.75"),
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
    with pytest.raises(UsageError, match="exists"):
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
    with pytest.raises(InputError, match="too few"):
        start(tmp_path / "few")
    with pytest.raises(InputError, match="no file"):
        start(pictures, tmp_path / "none.npz")
    monkeypatch.setattr(module, "tool_versions", lambda: {"tensorflow": None})
    with pytest.raises(UnavailableError) as caught:
        start(pictures)
    assert "edgebench[prepare]" in caught.value.fix
