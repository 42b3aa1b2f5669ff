"""A user's own model and data, walked as a user does: from the file to the report; and what is no model."""

import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

import edgebench
from edgebench.report.schemas import schema
from tests.user_models import CLASSES, make_pictures
from tests.walk.conftest import Place, make_place

pytestmark = pytest.mark.slow

QUICK = ("--sessions", "1", "--passes", "1", "--no-telemetry")
Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory, user_models: Path) -> Place:
    place = make_place(tmp_path_factory.mktemp("own"))
    shutil.copytree(user_models, place.folder, dirs_exist_ok=True)
    make_pictures(place.folder / "test", 3)
    (place.folder / "wrong.txt").write_text("a\nb\n")
    (place.folder / "broken.tflite").write_bytes((place.folder / "tower.tflite").read_bytes()[:700])
    (place.folder / "notes.onnx").write_text("no model")
    (place.folder / "hollow" / "cat").mkdir(parents=True)
    return place


@pytest.fixture(scope="module")
def walked(mine: Place) -> tuple[Place, Done]:
    return mine, mine.run(
        "run", "--device", "cpu", "--model", "tower.tflite", "--model", "two.tflite", "--images", "test",
        "--labels", "labels.txt", "--input-scale", "1", "--scene", "scene.png", "--patch", "60x40",
        "--stride", "50", "--name", "mine", *QUICK,
    )  # fmt: skip


def test_models_of_the_user_stand_side_by_side(walked: tuple[Place, Done]):
    place, done = walked
    assert done.returncode == 0, done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert "tower-" in done.stdout and "two-" in done.stdout
    assert "100 (70 to 100)" in done.stdout  # 9 of 9
    results = edgebench.load(place.folder / "results" / "mine")
    tower, two = results.experiment.trials
    assert (tower.depth_multiplier, tower.class_names) == (None, CLASSES)
    scene = results.experiment.scene_of(tower)
    assert (scene.patch, scene.patch_width, scene.stride, scene.patches) == (40, 60, 50, 9 * 13)
    assert results.experiment.scene_of(two).kind == "samples"
    assert "2 inputs" in two.accuracy_reason
    steady = results.passes.query("phase == 'steady'").set_index("trial")["patches"]
    assert steady[tower.key] == 9 * 13
    assert steady[two.key] == 400
    for trial in (tower, two):
        (record,) = results.session_records(trial.key)
        assert record.golden is not None
        assert record.golden.max_abs_diff <= record.golden.tolerance
    jsonschema.validate(
        json.loads((place.folder / "results" / "mine" / "experiment.json").read_text()), schema("experiment")
    )


def test_a_model_of_one_channel_sees_grey_pictures(mine: Place):
    done = mine.run(
        "run", "--device", "cpu", "--model", "grey.keras", "--precision", "fp32", "--images", "test",
        "--labels", "labels.txt", "--resize", "crop", "--name", "grey", *QUICK,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "100 (70 to 100)" in done.stdout  # 9 of 9, which red alone does not tell apart
    results = edgebench.load(mine.folder / "results" / "grey")
    [trial] = results.experiment.trials
    scene, images = results.experiment.scene_of(trial), results.experiment.images_of(trial)
    assert scene.image_bytes == scene.height * scene.width
    assert images is not None and images.reading is not None
    assert (images.reading.mode, images.reading.channels) == ("crop", 1)
    page = (mine.folder / "results" / "grey" / "report.html").read_text()
    assert "cropped (share 87.5 %) to 32 x 32 pixels" in page


def test_every_export_shows_them(walked: tuple[Place, Done]):
    place, _ = walked
    done = place.run("show", "mine", "--json")
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema("result"))
    tower, two = document["trials"]
    accuracy = tower["estimates"]["accuracy"]
    assert (accuracy["value"], accuracy["n"]) == (1.0, 9)
    share = f"{100 * tower['scene']['covered']:.1f} %"
    assert tower["scene"]["text"].endswith(f"patches of 60 x 40, 50 apart, {share} of the scene")
    missing = two["estimates"]["accuracy"]
    assert two["scene"]["covered"] is None
    assert missing["value"] is None and "2 inputs" in missing["reason"]
    page = (place.folder / "results" / "mine" / "report.html").read_text()
    assert tower["variant"].removesuffix("-fp32") in page
    assert "Latency per image by model and precision" in page
    for format_ in ("csv", "md"):
        done = place.run("report", "mine", "-o", f"mine.{format_}")
        assert done.returncode == 0, done.stderr
        assert tower["variant"].removesuffix("-fp32") in (
            place.folder / f"mine.{format_}"
        ).read_text().replace("\\", "")


def test_what_was_assumed_of_the_input_stands_at_its_figures(mine: Place):
    words = [
        "run", "--device", "cpu", "--model", "tower.tflite", "--images", "test",
        "--scene", "scene.png", "--patch", "60x40", "--name", "assumed", "--quiet", *QUICK,
    ]  # fmt: skip
    done = mine.run(*words, "--labels", "labels.txt")
    assert done.returncode == 0, done.stderr
    said = "assumed of its input: pixels as -1..1"
    assert said in " ".join(done.stdout.split())
    assert said in (mine.folder / "results" / "assumed" / "report.html").read_text()
    (trial,) = json.loads(mine.run("show", "assumed", "--json").stdout)["trials"]
    assert trial["assumed"] == ["pixels as -1..1, since the file does not say (--input-scale, --input-mean)"]
    # Other names of the classes are another trial: its accuracy is not that of the first.
    names = (mine.folder / "labels.txt").read_text().split("\n")
    (mine.folder / "reversed.txt").write_text("\n".join(reversed(names)).strip())
    other = mine.run(*words, "--labels", "reversed.txt", "--resume")
    assert "1 of this run are not in it" in " ".join(other.stderr.split()) and other.returncode != 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--model", "tower.tflite", "--labels", "wrong.txt"], 1, "labels are 2 and tower-"),
        (["--model", "broken.tflite"], 1, "broken.tflite"),
        (["--model", "notes.onnx"], 2, "notes.onnx is not taken by cpu"),
        (["--model", "bare_saved"], 1, "no signature"),
        (["--model", "flex.tflite"], 1, "an operation that LiteRT does not have"),
        (["--model", "tower.tflite", "--precision", "int8"], 1, "taken as it is"),
        (["--model", "tower.tflite", "--images", "hollow"], 1, "class folders without a picture: cat"),
        (["--model", "two.tflite", "--input-shape", "tokens=1,7"], 2, "does not fit"),
        (["--model", "nowhere.tflite"], 1, "No such file"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_is(mine: Place, words: list[str], code, says):
    done = mine.run("run", "--device", "cpu", "--scene", "scene.png", "--name", "bad", *QUICK, *words)
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert "fix:" in done.stderr
    assert done.returncode == code, done.stderr
    assert not (mine.folder / "results" / "bad").exists()
