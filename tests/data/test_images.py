from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgebench.errors import InputError
from edgebench.prepare import image_reading
from edgebench.prepare import images as files
from edgebench.prepare import pictures as picture_reading
from edgebench.prepare.cache import Cache
from edgebench.prepare.images import load_images, load_scene


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def picture(path: Path, size=(300, 250), mode="RGB", colour=(10, 200, 30)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path)
    return path


def test_a_scene_keeps_its_pixels(tmp_path: Path, cache: Cache):
    pixels = np.random.default_rng(0).integers(0, 256, (460, 700, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    scene = load_scene(tmp_path / "a.png", cache)
    np.testing.assert_array_equal(np.load(scene.path), pixels)
    assert (scene.height, scene.width, scene.rows, scene.columns) == (460, 700, 2, 3)
    assert (scene.labels, scene.name) == (None, "a.png")
    assert load_scene(tmp_path / "a.png", cache) == scene


def test_a_scene_may_be_an_array(tmp_path: Path, cache: Cache):
    pixels = np.zeros((224, 224, 3), np.uint8)
    np.save(tmp_path / "a.npy", pixels)
    scene = load_scene(tmp_path / "a.npy", cache)
    assert scene.patches == 1
    np.testing.assert_array_equal(np.load(scene.path), pixels)


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("L", 7, (7, 7, 7)),
        ("RGBA", (1, 2, 3, 0), (1, 2, 3)),
        ("1", 1, (255, 255, 255)),
        ("P", 0, (0, 0, 0)),
    ],
)
def test_other_modes_become_rgb(tmp_path: Path, cache: Cache, mode, colour, expected):
    scene = load_scene(picture(tmp_path / "a.png", mode=mode, colour=colour), cache)
    assert tuple(np.load(scene.path)[0, 0]) == expected


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
def test_grey_of_sixteen_bits_is_divided_by_257(tmp_path: Path, cache: Cache, name: str):
    values = np.full((300, 300), 40_000, np.uint16)
    values[0, :5] = [0, 128, 129, 257, 65_535]
    Image.fromarray(values).save(tmp_path / name)
    pixels = np.load(load_scene(tmp_path / name, cache).path)
    assert pixels[0, :5, 0].tolist() == [0, 0, 1, 1, 255]
    assert pixels[9, 9].tolist() == [156, 156, 156]


def test_pixels_of_real_numbers_are_refused(tmp_path: Path, cache: Cache):
    Image.fromarray(np.full((300, 300), 0.5, np.float32)).save(tmp_path / "a.tif")
    with pytest.raises(InputError, match="mode F") as caught:
        load_scene(tmp_path / "a.tif", cache)
    assert "8-bit" in caught.value.fix


@pytest.mark.parametrize(("largest", "is_dark"), [(4_095, True), (8_100, False), (65_535, False)])
def test_twelve_bits_in_sixteen_get_a_warning(tmp_path: Path, cache: Cache, largest: int, is_dark: bool):
    (tmp_path / "set").mkdir()
    for name, value in (("a.png", 100), ("b.png", largest)):
        Image.fromarray(np.full((50, 50), value, np.uint16)).save(tmp_path / "set" / name)
    notes = load_images(tmp_path / "set", cache).notes
    assert ["nearly black" in note for note in notes] == [True] * is_dark


def broken_files(folder: Path) -> dict[str, Path]:
    whole = picture(folder / "whole.png", size=(400, 400)).read_bytes()
    jpeg = picture(folder / "whole.jpg", size=(400, 400)).read_bytes()
    content = {
        "empty.png": b"",
        "text.png": b"this is no picture",
        "cut.png": whole[: len(whole) // 2],
        "cut.jpg": jpeg[: len(jpeg) // 2],
        "empty.npy": b"",
        "text.npy": b"no array either",
        "header.npy": b"\x93NUMPY\x01\x00\xff\xff{",
        "script.eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 300 300\n%%EndComments\nshowpage\n",
    }
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return {name: folder / name for name in content}


@pytest.mark.parametrize(
    "name",
    ["empty.png", "text.png", "cut.png", "cut.jpg", "empty.npy", "text.npy", "header.npy", "script.eps"],
)
def test_what_is_no_picture_is_said_with_its_name_and_a_fix(tmp_path: Path, cache: Cache, name: str):
    path = broken_files(tmp_path)[name]
    with pytest.raises(InputError) as caught:
        load_scene(path, cache)
    error = caught.value
    assert name in error.what
    assert error.why
    assert error.fix
    assert "\n" not in error.what + error.why + error.fix


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((300, 300), np.uint8),
        np.zeros((300, 300, 4), np.uint8),
        np.zeros((300, 300, 3), np.float32),
        np.array([{"a": 1}], dtype=object),
    ],
)
def test_arrays_of_other_shapes_and_types_are_refused(tmp_path: Path, cache: Cache, array):
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    with pytest.raises(InputError, match=r"a\.npy"):
        load_scene(tmp_path / "a.npy", cache)


def test_an_array_cut_short_is_refused(tmp_path: Path, cache: Cache):
    np.save(tmp_path / "a.npy", np.zeros((300, 300, 3), np.uint8))
    data = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(data[:1000])
    with pytest.raises(InputError, match=r"a\.npy"):
        load_scene(tmp_path / "a.npy", cache)


def test_missing_files_and_folders_are_said(tmp_path: Path, cache: Cache):
    with pytest.raises(InputError, match=r"no\.png"):
        load_scene(tmp_path / "no.png", cache)
    with pytest.raises(InputError, match="is a folder"):
        load_scene(tmp_path, cache)
    with pytest.raises(InputError):
        load_images(tmp_path / "no", cache)


def test_a_scene_below_one_patch_is_refused(tmp_path: Path, cache: Cache):
    with pytest.raises(InputError) as caught:
        load_scene(picture(tmp_path / "a.png", size=(224, 223)), cache)
    assert "224 x 223" in caught.value.why


def test_a_picture_that_claims_to_be_huge_is_not_decoded(tmp_path: Path, cache: Cache, monkeypatch):
    monkeypatch.setattr(picture_reading, "MAX_PIXELS", 300 * 299)
    with pytest.raises(InputError):
        load_scene(picture(tmp_path / "a.png", size=(300, 300)), cache)


def test_a_decompression_bomb_is_refused_by_its_header(tmp_path: Path, cache: Cache):
    path = picture(tmp_path / "a.png", size=(300, 300))
    data = bytearray(path.read_bytes())
    data[16:24] = (60_000).to_bytes(4, "big") * 2  # width and height in the header
    import zlib

    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        load_scene(path, cache)
    assert "million pixels" in caught.value.why


def test_a_folder_a_class_gives_labels_in_the_order_of_the_names(tmp_path: Path, cache: Cache):
    folder = tmp_path / "set"
    picture(folder / "tulip" / "b.jpg", colour=(200, 0, 0))
    picture(folder / "tulip" / "a.png", colour=(200, 0, 0))
    picture(folder / "daisy" / "x.png", colour=(0, 0, 200))
    (folder / "LICENSE.txt").write_text("beside the classes, no image")
    (folder / ".hidden").mkdir()
    (folder / "daisy" / ".DS_Store").write_text("")
    found = load_images(folder, cache)
    assert found.class_names == ("daisy", "tulip")
    assert found.labels == (0, 1, 1)
    assert (found.n, found.name, found.overlapping) == (3, "set", False)
    assert found.paths == ("daisy/x.png", "tulip/a.png", "tulip/b.jpg")
    pixels = np.load(found.path)
    assert pixels.shape == (3, 224, 224, 3)
    assert tuple(pixels[0, 0, 0]) == (0, 0, 200)


def test_a_flat_folder_is_unlabelled(tmp_path: Path, cache: Cache):
    picture(tmp_path / "set" / "b.png")
    picture(tmp_path / "set" / "a.png", colour=(9, 9, 9))
    found = load_images(tmp_path / "set", cache)
    assert (found.labels, found.class_names, found.n) == (None, (), 2)
    assert tuple(np.load(found.path)[0, 0, 0]) == (9, 9, 9)


def test_images_are_resized_bilinearly(tmp_path: Path, cache: Cache):
    pixels = np.random.default_rng(0).integers(0, 256, (448, 336, 3), np.uint8)
    (tmp_path / "set").mkdir()
    Image.fromarray(pixels).save(tmp_path / "set" / "a.png")
    found = np.load(load_images(tmp_path / "set", cache).path)[0]
    expected = Image.fromarray(pixels).resize((224, 224), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(found, np.asarray(expected))


def test_the_same_images_are_read_once_and_changed_ones_again(tmp_path: Path, cache: Cache, monkeypatch):
    picture(tmp_path / "set" / "a.png")
    first = load_images(tmp_path / "set", cache)
    with monkeypatch.context() as patch:
        patch.setattr(image_reading, "read_regular", lambda *_: pytest.fail("opened again"))
        assert load_images(tmp_path / "set", cache) == first
    picture(tmp_path / "set" / "a.png", colour=(1, 1, 1))
    assert load_images(tmp_path / "set", cache).sha256 != first.sha256


def test_bad_folders_are_said_with_what_is_wrong(tmp_path: Path, cache: Cache):
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError):
        load_images(tmp_path / "none", cache)
    picture(tmp_path / "set" / "full" / "a.png")
    (tmp_path / "set" / "void").mkdir()
    (tmp_path / "set" / "bare").mkdir()
    (tmp_path / "set" / "void" / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match="bare, void"):
        load_images(tmp_path / "set", cache)
    (tmp_path / "set" / "bare").rmdir()
    (tmp_path / "set" / "void" / "deeper").mkdir()
    with pytest.raises(InputError, match="void/deeper") as caught:
        load_images(tmp_path / "set", cache)
    assert caught.value.fix == "move them elsewhere"
    assert not list((cache.root / "scratch").glob("*"))


def test_the_folder_above_the_class_folders_is_recognised(tmp_path: Path, cache: Cache):
    for part in ("test", "train"):
        picture(tmp_path / "set" / part / "daisy" / "a.png")
    with pytest.raises(InputError) as caught:
        load_images(tmp_path / "set", cache)
    assert caught.value.fix.endswith(f"such as {tmp_path / 'set' / 'test'}")


def test_stray_files_are_passed_by_and_counted(tmp_path: Path, cache: Cache):
    folder = tmp_path / "set"
    picture(folder / "daisy" / "a.png")
    clean = load_images(folder, cache)
    Image.new("RGB", (8, 8)).save(
        folder / "daisy" / "b", "PNG"
    )  # without an ending: known by its first bytes
    (folder / "daisy" / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512))
    (folder / "daisy" / "notes.txt").write_text("P1 is the first plant")
    (folder / "README").write_text("a README")
    (folder / "ORIGIN").write_text("from somewhere")
    picture(folder / "forgotten.jpg")
    found = load_images(folder, cache)
    assert (found.n, found.labels) == (2, (0, 0))
    assert found.notes == (
        "set: left out 4 files with no picture: ORIGIN, README, daisy/Thumbs.db and 1 more",
        "set: left out 1 picture outside the class folders: forgotten.jpg",
    )
    (folder / "daisy" / "b").unlink()
    assert load_images(folder, cache).sha256 == clean.sha256


def test_strays_in_a_flat_folder(tmp_path: Path, cache: Cache):
    folder = tmp_path / "set"
    picture(folder / "a.png")
    (folder / "notes.txt").write_text("hello")
    assert load_images(folder, cache).n == 1
    (folder / "a.png").unlink()
    with pytest.raises(InputError) as caught:
        load_images(folder, cache)
    assert "notes.txt" in caught.value.why


def test_all_files_that_cannot_be_read_are_named_at_once(tmp_path: Path, cache: Cache):
    folder = tmp_path / "set"
    picture(folder / "daisy" / "a.png")
    for number in range(11):
        (folder / "daisy" / f"bad{number:02}.jpg").write_bytes(b"no picture")
    Image.fromarray(np.zeros((9, 9), np.float32)).save(folder / "daisy" / "b32.tif")
    with pytest.raises(InputError, match="12 of 13 images") as caught:
        load_images(folder, cache)
    reasons = caught.value.why
    assert reasons.startswith("daisy/b32.tif has pixels of mode F")
    assert "daisy/bad08.jpg cannot be read as an image (" in reasons
    assert reasons.endswith(" and 2 more")
    assert str(tmp_path) not in reasons


def oriented(path: Path, tag: int, pixels) -> Path:
    exif = Image.Exif()
    exif[0x0112] = tag
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, exif=exif)
    return path


def test_pictures_are_turned_upright_by_their_orientation_tag(tmp_path: Path, cache: Cache):
    pixels = np.random.default_rng(0).integers(0, 256, (300, 250, 3), np.uint8)
    turned = oriented(tmp_path / "set" / "turned.png", 6, pixels)  # the camera was held upright
    upright = np.rot90(pixels, -1)
    scene = load_scene(turned, cache)
    np.testing.assert_array_equal(np.load(scene.path), upright)
    found = load_images(tmp_path / "set", cache, (250, 300))
    np.testing.assert_array_equal(np.load(found.path)[0], upright)


def test_a_damaged_tag_does_not_cost_the_picture(tmp_path: Path, cache: Cache):
    pixels = np.zeros((230, 240, 3), np.uint8)
    path = tmp_path / "a.jpg"
    Image.fromarray(pixels).save(path, exif=b"Exif\x00\x00II*\x00\xff\xff\xff\xff")
    assert np.load(load_scene(path, cache).path).shape == pixels.shape


def test_names_that_cannot_be_shown_are_refused(tmp_path: Path, cache: Cache):
    picture(tmp_path / "set" / "evil\x1b[2J" / "a.png")
    with pytest.raises(InputError) as caught:
        load_images(tmp_path / "set", cache)
    assert "\x1b" not in str(caught.value)


def test_more_images_than_can_be_are_refused(tmp_path: Path, cache: Cache, monkeypatch):
    monkeypatch.setattr(files, "MAX_IMAGES", 1)
    picture(tmp_path / "set" / "a.png")
    picture(tmp_path / "set" / "b.png")
    with pytest.raises(InputError, match="2 files"):
        load_images(tmp_path / "set", cache)
