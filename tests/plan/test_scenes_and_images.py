"""What each model of a run is timed and tested with."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from edgebench.errors import InputError, UsageError
from edgebench.files import read_regular
from edgebench.prepare import image_reading
from edgebench.prepare.cache import Cache
from edgebench.records.model import InputChoice
from edgebench.run.config import run_config
from edgebench.run.model_choice import gather, notes_of, resolve_sources
from edgebench.run.planner import build
from edgebench.run.trials import ModelData
from tests.user_models import CLASSES, SIDE, make_pictures


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    pixels = np.random.default_rng(1).integers(0, 256, (100, 150, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "scene.png")
    return tmp_path / "scene.png"


def material(
    cache: Cache, *models: Path | str, choice: InputChoice | None = None, **settings: Any
) -> tuple[ModelData, ...]:
    config = run_config({"model": tuple(str(model) for model in models), **settings})
    chosen = resolve_sources(
        config.model,
        cache=cache,
        progress=lambda _: None,
        labels=config.labels,
        choice=choice,
        calibration=config.calibration,
        inputs=config.inputs,
    )
    return gather(chosen, config, cache)


def test_the_scene_is_cut_to_the_models_input(user_models: Path, session_cache: Cache, scene: Path):
    (pictures,) = material(session_cache, user_models / "tower.tflite", scene=scene)
    assert (pictures.scene.rows, pictures.scene.columns, pictures.scene.grid) == (3, 4, {"patch": SIDE})
    assert (pictures.images, "--images" in pictures.images_reason) == (None, True)
    golden = pictures.source.golden
    assert golden is not None
    assert golden.origin == "5 patches of the scene scene.png"


def test_a_scene_of_the_users_is_never_cropped(user_models: Path, session_cache: Cache, tmp_path: Path):
    Image.fromarray(np.zeros((SIDE, 30 * SIDE, 3), np.uint8)).save(tmp_path / "wide.png")
    (pictures,) = material(session_cache, user_models / "tower.tflite", scene=tmp_path / "wide.png")
    assert (pictures.scene.columns, pictures.scene.cropped) == (30, None)


def test_the_shipped_scene_is_cropped_for_a_small_input_and_says_so(user_models: Path, session_cache: Cache):
    (pictures,) = material(session_cache, user_models / "tower.tflite")
    assert (pictures.scene.rows, pictures.scene.columns) == (20, 20)
    (note,) = (note for note in notes_of(pictures) if "cropped" in note)
    assert f"{20 * SIDE} x {20 * SIDE} pixels" in note and "400 patches" in note


@pytest.mark.parametrize("settings", [{"patch": "40x40"}, {"stride": 200}, {"whole": True}])
def test_a_cut_of_the_users_is_of_the_whole_scene(user_models: Path, session_cache: Cache, settings):
    (pictures,) = material(session_cache, user_models / "tower.tflite", **settings)
    assert (pictures.scene.height, pictures.scene.cropped) == (4512, None)


@pytest.mark.parametrize(
    ("settings", "patches", "grid"),
    [
        ({"patch": "40x20"}, 15, {"patch": 20, "patch_width": 40}),
        ({"patch": "50x50", "stride": 25}, 15, {"patch": 50, "stride": 25}),
        ({"stride": 64}, 4, {"patch": SIDE, "stride": 64}),
        ({"whole": True}, 1, {"patch": 100, "patch_width": 150}),
    ],
)
def test_the_cut_is_the_users(user_models, session_cache, scene, settings, patches, grid):
    (pictures,) = material(session_cache, user_models / "tower.tflite", scene=scene, **settings)
    assert (pictures.scene.patches, pictures.scene.grid) == (patches, grid)
    assert pictures.source.golden is not None
    held = np.load(pictures.source.golden.path)
    assert held.shape == (min(5, patches), SIDE, SIDE, 3)


def test_cuts_that_cannot_be(user_models: Path, session_cache: Cache, scene: Path):
    tower = user_models / "tower.tflite"
    with pytest.raises(UsageError):
        material(session_cache, tower, scene=scene, whole=True, patch="10x10")
    with pytest.raises(UsageError):
        material(session_cache, tower, scene=scene, whole=True, stride=5)
    with pytest.raises(InputError):
        material(session_cache, tower, scene=scene, patch="200x10")


def test_images_come_at_the_models_size_and_apart_from_calibration(
    user_models: Path, session_cache: Cache, scene: Path, tmp_path: Path
):
    tested = make_pictures(tmp_path / "test", 3)
    other = make_pictures(tmp_path / "calibration", 4)
    (pictures,) = material(
        session_cache, user_models / "tower.tflite", scene=scene, images=tested, calibration=other
    )
    assert pictures.images is not None
    assert np.load(pictures.images.path).shape == (9, SIDE, SIDE, 3)
    assert pictures.images.class_names == CLASSES
    assert pictures.source.golden is not None
    assert pictures.source.golden.origin == "5 calibration images"
    with pytest.raises(InputError, match="9 of the images"):
        material(session_cache, user_models / "tower.tflite", scene=scene, images=tested, calibration=tested)


def test_what_is_to_be_known_of_the_pictures_is_noted_once(
    user_models: Path, session_cache: Cache, scene: Path, tmp_path: Path
):
    tested = make_pictures(tmp_path / "test", 3)
    for part in (tested, make_pictures(tmp_path / "calibration", 4)):
        (part / "cat" / "notes.txt").write_text("no picture")
    config = run_config(
        {
            "device": ("cpu",),
            "model": (str(user_models / "tower.tflite"),),
            "scene": scene,
            "patch": "40x20",
            "images": tested,
            "calibration": tmp_path / "calibration",
        }
    )
    progress: list[str] = []
    notes = build(config, session_cache, progress.append).plan.notes
    for begin in (
        "test: left out 1 file",
        "calibration: left out 1 file",
        "patches of 40 x 20 are resized",
    ):
        [note] = [note for note in notes if note.startswith(begin)]
        assert progress.count(f"note: {note}") == 1


@pytest.mark.parametrize(("folder", "labels"), [(".", (0, 0, 1, 1, 2, 2)), ("cat", None)])
def test_accuracy_on_some_images_of_the_users(
    user_models: Path, session_cache: Cache, scene: Path, tmp_path: Path, folder: str, labels
):
    images = make_pictures(tmp_path / "test", seed=1, each=8)
    settings = {
        "device": ("cpu",),
        "model": (str(user_models / "tower.tflite"),),
        "scene": scene,
        "images": images / folder,
        "no_meter": True,
    }
    whole = build(run_config(settings), session_cache, lambda _: None).plan
    some = build(run_config({**settings, "accuracy_images": 6}), session_cache, lambda _: None)
    [trial], [of_all] = some.plan.trials, whole.trials
    tested = some.plan.images_of(trial)
    assert tested is not None and whole.images is not None
    assert (tested.n, tested.labels) == (6, labels)
    assert tested.name.startswith(f"{whole.images.name} (") and len(np.load(tested.path)) == tested.n
    # The artifact with its golden patches is the same; what accuracy is taken on is not.
    assert trial.inputs["artifact"] == of_all.inputs["artifact"] and trial.key != of_all.key


def opened_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the picture files that are opened from now on."""
    names: list[str] = []

    def noted(path: Path, most_bytes: int) -> bytes:
        names.append(path.name)
        return read_regular(path, most_bytes)

    monkeypatch.setattr(image_reading, "read_regular", noted)
    return names


def test_each_picture_is_opened_once_for_all_models(user_models, tmp_path, scene, monkeypatch):
    opened = opened_files(monkeypatch)
    images = make_pictures(tmp_path / "test", 3)
    settings = {"scene": scene, "patch": "40x20", "images": images / "cat"}
    data = material(Cache(tmp_path / "cache"), "mobilenet_v1", user_models / "tower.tflite", **settings)
    assert [np.load(model.images.path).shape[1] for model in data if model.images] == [224, SIDE]
    assert sorted(opened) == ["0.png", "1.png", "2.png"]


def test_a_dry_run_lists_pictures_and_opens_none(user_models, tmp_path, scene, monkeypatch):
    cache, opened = Cache(tmp_path / "cache"), opened_files(monkeypatch)
    tower = str(user_models / "tower.tflite")
    settings = {"device": ("cpu",), "model": (tower,), "scene": scene, "no_meter": True}
    pictures = {"images": make_pictures(tmp_path / "test", 3), "accuracy_images": 6}
    config = run_config({**settings, **pictures, "calibration": make_pictures(tmp_path / "other", 4)})
    listed = build(config, cache, lambda _: None, list_only=True).plan
    assert opened == []
    assert listed.images is not None
    assert (listed.images.n, listed.images.labels) == (6, (0, 0, 1, 1, 2, 2))
    assert len([note for note in listed.notes if "listed and not read" in note]) == 2
    read = build(config, cache, lambda _: None).plan
    assert len(opened) == 6 + 9
    again = build(config, cache, lambda _: None, list_only=True).plan
    assert [trial.key for trial in again.trials] == [trial.key for trial in read.trials]


def test_pictures_that_cannot_be_read_are_left_out_and_counted(user_models, session_cache, tmp_path, scene):
    images = make_pictures(tmp_path / "test", 3)
    for name in ("cat/1.png", "eel/0.png"):
        (images / name).write_bytes(b"no picture")
    tower = str(user_models / "tower.tflite")
    settings = {"device": ("cpu",), "model": (tower,), "scene": scene, "images": images, "no_meter": True}
    with pytest.raises(InputError, match="2 of 9"):
        build(run_config(settings), session_cache, lambda _: None)
    plan = build(run_config({**settings, "skip_unreadable": True}), session_cache, lambda _: None).plan
    assert plan.images is not None
    assert (plan.images.n, plan.images.unreadable, plan.images.labels) == (7, 2, (0, 0, 1, 1, 1, 2, 2))
    assert "test: 2 of 9 pictures cannot be read and are left out: cat/1.png, eel/0.png" in plan.notes


def test_the_way_of_resizing_is_in_the_key_and_the_calibration_has_the_same(
    user_models: Path, session_cache: Cache, scene: Path, tmp_path: Path
):
    side = round(SIDE / 0.875)
    settings = {
        "device": ("cpu",),
        "model": (str(user_models / "tower.keras"),),
        "precision": ("int8",),
        "scene": scene,
        "images": make_pictures(tmp_path / "test", seed=1, size=(side, side + 10)),
        "calibration": make_pictures(tmp_path / "calibration", seed=2, size=(side, side + 10)),
        "no_meter": True,
    }
    [stretched], [cropped], [closer] = (
        build(run_config({**settings, **resize}), session_cache, lambda _: None).plan.trials
        for resize in ({}, {"resize": "crop"}, {"resize": "crop", "crop_share": "100%"})
    )
    assert len({trial.key for trial in (stretched, cropped, closer)}) == 3
    assert "resize" not in stretched.inputs
    assert cropped.inputs["resize"] == ["crop", 0.875] and closer.inputs["resize"] == ["crop", 1.0]
    calibration = cropped.request.source.calibration
    assert calibration is not None
    whole = np.asarray(Image.open(sorted((tmp_path / "calibration" / "cat").iterdir())[0]).convert("RGB"))
    top, left = round((side - SIDE) / 2), round((side + 10 - SIDE) / 2)
    first = np.load(calibration.path)[0]
    np.testing.assert_array_equal(first, whole[top : top + SIDE, left : left + SIDE])


def test_a_model_of_one_channel_has_grey_pictures(user_models: Path, session_cache: Cache, tmp_path: Path):
    # Luma of ITU-R BT.601 as Pillow has it: 0.299 R + 0.587 G + 0.114 B.
    pixels = np.zeros((SIDE, 2 * SIDE, 3), np.uint8)
    pixels[:, :SIDE, 0], pixels[:, SIDE:, 1] = 255, 255
    Image.fromarray(pixels).save(tmp_path / "scene.png")
    for name, colour in (("cat", (255, 0, 0)), ("dog", (0, 255, 0)), ("eel", (0, 0, 255))):
        for folder, size in (("test", (50, 40)), ("calibration", (20, 20))):
            (tmp_path / folder / name).mkdir(parents=True)
            Image.new("RGB", size, colour).save(tmp_path / folder / name / "0.png")
    (pictures,) = material(
        session_cache,
        user_models / "grey.tflite",
        choice=InputChoice(takes_grey=True),
        scene=tmp_path / "scene.png",
        images=tmp_path / "test",
    )
    assert pictures.images is not None and pictures.images.reading is not None
    assert pictures.images.reading.channels == 1
    held = np.load(pictures.images.path)
    assert held.shape == (3, SIDE, SIDE, 1)
    assert held[:, 9, 9, 0].tolist() == [76, 150, 29]
    scene = np.load(pictures.scene.path)
    assert scene.shape == (SIDE, 2 * SIDE, 1) and scene[0, [0, -1], 0].tolist() == [76, 150]
    assert (pictures.scene.channels, pictures.scene.patches) == (1, 2)
    assert pictures.source.golden is not None
    assert np.load(pictures.source.golden.path).shape == (3, SIDE, SIDE, 1)
    (samples,) = material(session_cache, user_models / "grey.tflite")
    assert samples.scene.kind == "samples"


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"resize": "pad"}, "--images"),
        ({"crop_share": 0.9}, "--images"),
        ({"images": "test", "crop_share": 0.9}, "--resize crop"),
        ({"images": "test", "resize": "pad", "crop_share": 0.9}, "--resize crop"),
    ],
)
def test_a_way_of_resizing_without_use_is_refused(session_cache: Cache, settings: dict[str, Any], word: str):
    with pytest.raises(UsageError) as caught:
        build(run_config({"device": ("cpu",), **settings}), session_cache, lambda _: None)
    assert word in caught.value.fix


@pytest.mark.parametrize(
    ("folder", "says"),
    [("cat", "cat: the pictures have no labels"), (".", "test: all pictures are of one class")],
)
def test_what_the_images_cannot_show_is_noted(
    user_models: Path, session_cache: Cache, scene: Path, tmp_path: Path, folder: str, says: str
):
    tested = make_pictures(tmp_path / "test", 3)
    for other in ("dog", "eel"):
        shutil.rmtree(tested / other)
    (pictures,) = material(session_cache, user_models / "tower.tflite", scene=scene, images=tested / folder)
    assert [note for note in notes_of(pictures) if note.startswith(says)]


def test_calibration_images_that_nothing_uses_are_refused(session_cache: Cache, scene: Path, tmp_path: Path):
    with pytest.raises(UsageError, match="--calibration"):
        material(session_cache, "mobilenet_v1", scene=scene, calibration=make_pictures(tmp_path / "other", 4))


def test_a_model_without_pictures_is_timed_with_samples(user_models: Path, session_cache: Cache, scene: Path):
    (pictures,) = material(session_cache, user_models / "two.tflite", scene=scene)
    assert (pictures.scene.kind, pictures.scene.patches) == ("samples", 400)
    assert "2 inputs" in pictures.images_reason


def test_random_weights_take_no_images(session_cache: Cache, scene: Path, tmp_path: Path):
    tested = make_pictures(tmp_path / "test", 3)
    (pictures,) = material(session_cache, "resnet50", scene=scene, images=tested, patch="50x50")
    assert pictures.images is None
    assert "random" in pictures.images_reason
