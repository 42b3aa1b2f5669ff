import errno
import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmarks.shipped.make_assets import SCENE_PIXELS, SCENE_VIEW, patch_labels, search, write_draws
from edgebench import registry
from edgebench.errors import UnavailableError
from edgebench.prepare.cache import Cache, sha256_file
from edgebench.prepare.image_reading import write_images
from edgebench.prepare.image_sets import images_identity, shipped_images, shipped_scene, shipped_scene_for
from edgebench.prepare.images import load_images
from edgebench.prepare.landcover import ASSETS, CLASS_NAMES, Earth, render_patch, shipped_draws

# By its entry point, as the harness finds it: no checker follows the folder that it is installed from.
pictures: Any = importlib.import_module(
    registry.backend("replay").__module__.rpartition(".")[0] + ".scenario_source"
)


def test_the_scene_has_400_labelled_patches(session_cache: Cache):
    scene = shipped_scene(session_cache)
    assert (scene.height, scene.width, scene.patches) == (4512, 4512, 400)
    assert scene.class_names == CLASS_NAMES
    assert scene.labels is not None
    assert np.bincount(scene.labels).tolist() == [280, 64, 28, 6, 22]
    pixels = np.load(scene.path, mmap_mode="r")
    assert pixels.shape == (4512, 4512, 3)
    assert pixels.dtype == np.uint8
    assert scene.sha256 == sha256_file(scene.path)


@pytest.mark.parametrize(
    ("size", "cut", "pixels"),
    [
        ((32, 32), (20, 20), (640, 640)),
        ((32, 320), (20, 14), (640, 4480)),
        ((208, 208), (20, 20), (4160, 4160)),
    ],
)
def test_for_small_inputs_it_is_its_middle(session_cache: Cache, size, cut, pixels):
    whole, scene = shipped_scene(session_cache), shipped_scene_for(session_cache, *size)
    assert (scene.rows, scene.columns) == cut
    assert (scene.height, scene.width) == pixels
    assert scene.sha256 != whole.sha256
    assert scene.cropped == pytest.approx(pixels[0] * pixels[1] / 4512**2)
    top, left = ((4512 - side) // 2 for side in pixels)
    np.testing.assert_array_equal(
        np.load(scene.path, mmap_mode="r")[:50],
        np.load(whole.path, mmap_mode="r")[top : top + 50, left : 4512 - left],
    )


def test_for_the_published_input_and_larger_ones_it_is_whole(session_cache: Cache):
    whole = shipped_scene(session_cache)
    assert shipped_scene_for(session_cache, 224, 224) == whole
    large = shipped_scene_for(session_cache, 448, 448)
    assert (large.patches, large.sha256, large.cropped) == (100, whole.sha256, None)


def test_the_shipped_scene_is_what_its_view_shows(session_cache: Cache, earth: Earth):
    from edgebench.prepare.landcover import render

    band = slice(20 * 100, 20 * 100 + 224)
    rgb, classes = render(earth, SCENE_VIEW, SCENE_PIXELS, band)
    stored = np.load(shipped_scene(session_cache).path, mmap_mode="r")[band]
    assert np.abs(stored.astype(int) - rgb).mean() < 3  # a JPEG
    labels = shipped_scene(session_cache).labels
    assert labels is not None
    band = slice(9 * 224, 10 * 224)
    _, classes = render(earth, SCENE_VIEW, SCENE_PIXELS, band)
    assert patch_labels(classes) == labels[9 * 20 : 10 * 20]


def test_images_are_rendered_once_from_the_draws(session_cache: Cache, earth: Earth):
    images = shipped_images(session_cache, "calibration")
    draws = shipped_draws("calibration")
    assert (images.n, images.class_names, images.overlapping) == (250, CLASS_NAMES, True)
    assert images.labels == tuple(draws.labels.tolist())
    pixels = np.load(images.path, mmap_mode="r")
    assert pixels.shape == (250, 224, 224, 3)
    np.testing.assert_array_equal(pixels[17], render_patch(earth, draws, 17))
    made = images.path.stat()
    again = shipped_images(session_cache, "calibration")
    assert again == images
    assert again.path.stat().st_mtime_ns == made.st_mtime_ns


@pytest.mark.parametrize("damage", ["truncated", "other content", "gone"])
def test_a_damaged_scene_is_made_again(tmp_path: Path, damage: str):
    cache = Cache(tmp_path)
    whole = shipped_scene(cache)
    if damage == "truncated":
        os.truncate(whole.path, 1000)
    elif damage == "gone":
        whole.path.unlink()
    else:
        content = bytearray(whole.path.read_bytes())
        content[-1] ^= 1
        whole.path.write_bytes(content)
        os.utime(whole.path, ns=(0, 0))
    again = shipped_scene(cache)
    assert again == whole
    assert sha256_file(again.path) == whole.sha256


def test_a_sets_identity_needs_no_rendering_and_tells_sets_apart():
    assert len({images_identity(split) for split in ("train", "calibration", "test")}) == 3


def test_written_draws_are_read_back(tmp_path: Path, earth: Earth):
    found = search(earth, {"train": 10, "calibration": 5, "test": 5}, seed=11)
    write_draws(tmp_path / "draws.npz", found)
    for split, draws in found.items():
        read = shipped_draws(split, tmp_path / "draws.npz")
        assert read.digest() == draws.digest()


def test_what_is_shipped_says_where_it_comes_from():
    text = (ASSETS / "SOURCE.md").read_text()
    for file in ASSETS.iterdir():
        assert file.name == "SOURCE.md" or file.name in text


@pytest.mark.parametrize("maker", ["shipped", "own", "replay"])
def test_a_full_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maker: str):
    def full(*call: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def make(cache: Cache) -> object:
        if maker == "shipped":
            return shipped_images(cache, "test")
        if maker == "own":
            return load_images(tmp_path / "images", cache)
        return pictures.stand_in_images(cache, name="x", n=2, patch=8, class_names=("a", "b"))

    (tmp_path / "images").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "images" / "a.png")
    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", full)
    monkeypatch.setattr(np, "save", full)
    with pytest.raises(UnavailableError) as caught:
        make(Cache(tmp_path / "cache"))
    assert "No space left" in caught.value.why


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full here")
def test_a_disk_that_fills_up_while_images_are_written_refuses():
    with pytest.raises(OSError) as caught:
        write_images(Path("/dev/full"), (100, 100, 3), [np.zeros((100, 100, 3), np.uint8)])
    assert caught.value.errno == errno.ENOSPC


def test_images_are_written_as_numpy_has_them(tmp_path: Path):
    pixels = np.random.default_rng(0).integers(0, 256, (12, 5, 4, 3), np.uint8)
    write_images(tmp_path / "new.npy", (5, 4, 3), [pixels[0], pixels[1:4], *pixels[4:]])
    np.save(tmp_path / "right.npy", pixels)
    assert (tmp_path / "new.npy").read_bytes() == (tmp_path / "right.npy").read_bytes()
