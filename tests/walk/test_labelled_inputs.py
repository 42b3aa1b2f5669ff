"""Models of MLPerf Tiny's shapes that take no picture, from labelled arrays to accuracy and AUC."""

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from scipy.stats import mannwhitneyu

import edgebench
from edgebench.report.schemas import schema
from tests.walk.conftest import Place, make_place

pytestmark = pytest.mark.slow

QUICK = ("--sessions", "1", "--passes", "1", "--no-telemetry")
PROFILE = """
name = "mine"
[[requirements]]
name = "detects"
quantity = "auc"
limit = 0.6
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, user_models: Path) -> Place:
    made = make_place(tmp_path_factory.mktemp("arrays"))
    rng = np.random.default_rng(4)
    for name in ("keywords.keras", "autoencoder.keras", "two.keras"):
        shutil.copy(user_models / name, made.folder)
    sounds = rng.normal(size=(30, 49, 10, 1)).astype(np.float32)
    np.savez(made.folder / "sounds.npz", x=sounds, labels=np.arange(30) % 12)
    np.savez(made.folder / "more.npz", x=rng.normal(size=(20, 49, 10, 1)))
    # A reconstruction of nothing much: its error is the power of the sample, which anomalies have more of.
    slices = rng.normal(size=(60, 640)).astype(np.float32) * np.repeat([1.0, 1.1], 30)[:, None]
    groups = np.arange(60) // 3
    np.savez(made.folder / "slices.npz", x=slices, labels=np.repeat([0, 1], 30), groups=groups)
    np.savez(made.folder / "ranges.npz", x=rng.normal(size=(20, 640)))
    (made.folder / "profile.toml").write_text(PROFILE)
    (made.folder / "two.txt").write_text("yes\nno\n")
    return made


def trials_of(place: Place, name: str) -> list[dict[str, Any]]:
    document = json.loads(place.run("show", name, "--json").stdout)
    jsonschema.validate(document, schema("result"))
    trials: list[dict[str, Any]] = document["trials"]
    return trials


def test_a_classifier_of_arrays_has_its_accuracy_on_every_runtime(place: Place):
    done = place.run(
        "run", "-d", "cpu", "-d", "onnxruntime", "-d", "openvino", "-m", "keywords.keras", "--precision",
        "fp32", "--precision", "int8", "--inputs", "sounds.npz", "--calibration", "more.npz", "--name",
        "kws", *QUICK,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trials = trials_of(place, "kws")
    assert len(trials) == 6
    for trial in trials:
        estimates, [confusion] = trial["estimates"], trial["confusions"]
        assert estimates["accuracy"]["n"] == 30 and len(confusion["counts"]) == 12
        assert estimates["auc"]["value"] is None and "anomaly detector" in estimates["auc"]["reason"]
        agreement = estimates["agreement"]["value"]
        assert agreement is None or agreement >= 0.8
    right = {trial["estimates"]["accuracy"]["value"] for trial in trials if trial["precision"] == "fp32"}
    assert len(right) == 1
    predictions = edgebench.load(place.folder / "results" / "kws").predictions.query("set == 'images'")
    rows = predictions[predictions["trial"] == trials[0]["key"]]
    assert rows["label"].tolist() == [number % 12 for number in range(30)]
    share = trials[0]["estimates"]["accuracy"]["value"]
    assert (rows["label"] == rows["predicted"]).mean() == pytest.approx(share)


def test_an_anomaly_detector_is_judged_by_its_groups(place: Place):
    done = place.run(
        "run", "-d", "cpu", "-d", "onnxruntime", "-m", "autoencoder.keras", "--precision", "fp32",
        "--precision", "int8", "--inputs", "slices.npz", "--calibration", "ranges.npz", "-p",
        "profile.toml", "--name", "ad", *QUICK,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ROC AUC" in done.stdout
    predictions = edgebench.load(place.folder / "results" / "ad").predictions.query("set == 'images'")
    for trial in trials_of(place, "ad"):
        auc, accuracy = trial["estimates"]["auc"], trial["estimates"]["accuracy"]
        assert auc["notes"] == ["10 normal and 10 anomalous"]
        rows = predictions[predictions["trial"] == trial["key"]]
        scores = np.array([row[0] for row in rows["scores"]])
        labels = rows["label"].to_numpy()
        assert auc["value"] == mannwhitneyu(scores[labels == 1], scores[labels == 0]).statistic / 100
        assert auc["value"] > 0.8
        assert accuracy["value"] is None and "judged by auc" in accuracy["reason"]
        assert (rows["predicted"] == -1).all()
    passed = place.run("fit", "ad", "-p", "profile.toml")
    assert passed.returncode == 0 and "pass" in passed.stdout
    same = json.loads(place.run("compare", "ad", "ad", "--metric", "auc", "--json").stdout)
    assert same["counts"]["same"] == 4
    followed = place.run("history", "--metric", "auc")
    assert followed.returncode == 0 and "autoencoder" in followed.stdout


@pytest.mark.attack("a run with labels or calibration that cannot be: refused, and nothing is written")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("keywords.keras", "--inputs", "sounds.npz", "--calibration", "sounds.npz"),
            "calibration samples too",
        ),
        (("keywords.keras", "--inputs", "slices.npz"), "the array for the input"),
        (("keywords.keras", "--inputs", "sounds.npz", "--labels", "two.txt"), "the labels are 2 and"),
        (("two.keras", "--inputs", "slices.npz"), "no array for the input"),
    ],
)
def test_a_run_is_refused_before_anything_starts(place: Place, arguments: tuple[str, ...], says: str):
    done = place.run("run", "-d", "cpu", "-m", *arguments, "--name", "refused", *QUICK)
    assert done.returncode in (1, 2) and says in done.stderr and "fix:" in done.stderr
    assert not (place.folder / "results" / "refused").exists()
