"""Own pictures: listed, chosen by class, and only those read; each file opened once, kept in parts."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgebench.errors import InputError
from edgebench.files import read_regular
from edgebench.prepare import image_reading
from edgebench.prepare import images as sets
from edgebench.prepare.cache import Cache
from edgebench.prepare.image_lists import list_files, stratified
from edgebench.prepare.image_sets import load_calibration, subset
from edgebench.prepare.images import ReadingOptions, load_image_sets, load_images, picture_reading

CLASSES = {"ant": 4, "bee": 8, "cat": 12}
SKIP = ReadingOptions(skip_unreadable=True)


def some(*counts: int | None, **more) -> ReadingOptions:
    return ReadingOptions(counts=frozenset(counts), **more)


def colour(number: int) -> tuple[int, int, int]:
    return 100 + number, 2 * number, 200 - number


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """24 pictures in the order of their names, each of a colour by its number."""
    number = 0
    for name, n in CLASSES.items():
        (tmp_path / "set" / name).mkdir(parents=True)
        for at in range(n):
            Image.new("RGB", (9, 7), colour(number)).save(tmp_path / "set" / name / f"{at:02}.png")
            number += 1
    return tmp_path / "set"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the picture files that are opened."""
    names: list[str] = []

    def noted(path: Path, most_bytes: int) -> bytes:
        names.append(f"{path.parent.name}/{path.name}")
        return read_regular(path, most_bytes)

    monkeypatch.setattr(image_reading, "read_regular", noted)
    return names


def colours(path: Path) -> list[tuple[int, ...]]:
    return [tuple(pixels[0, 0].tolist()) for pixels in np.load(path)]


def test_only_the_chosen_pictures_are_opened(folder: Path, cache: Cache, opened: list[str]):
    images = load_images(folder, cache, 4, some(6))
    assert images.labels == (0, 1, 1, 2, 2, 2)  # by class as its share: 4, 8 and 12 of 24
    assert sorted(opened) == sorted(images.paths)
    listed = list_files(folder)
    places = stratified(listed.labels or (), 6, 7, listed.digest)
    assert images.paths == tuple(listed.names[place] for place in places)
    assert colours(images.path) == [colour(place) for place in places]
    assert (images.name, images.n) == ("set (6 of 24, seed 7)", 6)
    assert load_images(folder, cache, 4, some(6, seed=8)).paths != images.paths


def test_the_choice_does_not_depend_on_contents(folder: Path, cache: Cache):
    first = load_images(folder, cache, 4, some(6))
    for file in folder.rglob("*.png"):
        Image.new("RGB", (5, 5), (1, 2, 3)).save(file)
    again = load_images(folder, cache, 4, some(6))
    assert again.paths == first.paths
    assert set(colours(again.path)) == {(1, 2, 3)}


@pytest.mark.parametrize("counts", [(6, None), (6, 12)])
def test_devices_that_take_fewer_have_what_a_run_of_their_own_has(folder: Path, cache: Cache, counts):
    together = load_images(folder, cache, 4, some(*counts))
    own = load_images(folder, cache, 4, some(6))
    assert together.n == 24 if None in counts else 12 <= together.n <= 13
    taken = subset(together, 6, 7, cache)
    assert (taken.name, taken.paths, taken.labels, taken.sha256) == (
        own.name,
        own.paths,
        own.labels,
        own.sha256,
    )


def test_the_limit_counts_what_is_read(folder: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sets, "MAX_IMAGES", 6)
    assert load_images(folder, cache, 4, some(6)).n == 6
    with pytest.raises(InputError) as caught:
        load_images(folder, cache, 4, some(7))
    assert "at most 6" in caught.value.why
    assert "--accuracy-images" in caught.value.fix


def test_calibration_opens_only_what_it_takes(folder, cache, opened, monkeypatch):
    monkeypatch.setattr("edgebench.prepare.image_sets.MOST", 4)
    chosen = load_calibration(folder, cache, 4)
    assert colours(chosen.path) == [colour(place) for place in (0, 8, 15, 23)]
    assert len(opened) == 4


def test_a_file_is_opened_once_for_all_sizes(folder: Path, cache: Cache, opened: list[str]):
    readings = [picture_reading(size, sets.ALL) for size in ((4, 4), (6, 5))]
    images = load_image_sets(folder, cache, readings)
    assert [np.load(images[reading].path).shape[1:3] for reading in readings] == [(4, 4), (6, 5)]
    assert set(Counter(opened).values()) == {1}
    assert len(opened) == 24
    assert load_image_sets(folder, cache, readings) == images
    assert load_images(folder, cache, (6, 5)) == images[readings[1]]
    assert len(opened) == 24


def test_hashes_are_kept_while_a_file_stays_the_same(folder: Path, cache: Cache, opened: list[str]):
    first = load_images(folder, cache, 4)
    opened.clear()
    # The same name, size and times with another inode: it is another file.
    file = folder / "bee" / "03.png"
    shutil.copy2(file, folder / "copy")
    (folder / "copy").replace(file)
    assert load_images(folder, cache, 4) == first
    assert "bee/03.png" in opened
    opened.clear()
    assert load_images(folder, cache, 4) == first
    assert opened == []


def test_an_interruption_loses_one_part(folder, cache, opened, monkeypatch, tmp_path):
    monkeypatch.setattr(image_reading, "PART", 10)
    told: list[tuple[str, int, int]] = []

    def interrupt(name: str, done: int, total: int) -> None:
        told.append((name, done, total))
        if done == 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_images(folder, cache, 4, ReadingOptions(report=interrupt))
    assert told[-1] == ("set", 15, 24)
    assert not list((cache.root / "scratch").iterdir())
    opened.clear()
    told.clear()
    images = load_images(folder, cache, 4, ReadingOptions(report=lambda *step: told.append(step)))
    assert colours(images.path) == [colour(number) for number in range(24)]
    assert len(opened) == 14
    assert (told[0], told[-1]) == (("set", 11, 24), ("set", 24, 24))
    assert not list((cache.root / "objects").rglob("*.part"))
    monkeypatch.setattr(image_reading, "PART", 1000)
    assert load_images(folder, Cache(tmp_path / "other"), 4).sha256 == images.sha256


def test_a_listing_opens_nothing_until_the_pictures_were_read(folder, cache, opened):
    listed = load_images(folder, cache, 4, some(6, list_only=True))
    assert opened == []
    assert (listed.is_read, listed.n, listed.labels) == (False, 6, (0, 1, 1, 2, 2, 2))
    assert ["listed and not read" in note for note in listed.notes] == [True]
    assert subset(listed, 3, 7, cache).n == 3
    read = load_images(folder, cache, 4, some(6))
    assert listed.paths == read.paths
    assert load_images(folder, cache, 4, some(6, list_only=True)) == read


# Files that cannot be read.


@pytest.fixture
def damaged(folder: Path) -> Path:
    for name in ("ant/01.png", "bee/00.png", "cat/11.png"):
        (folder / name).write_bytes(b"no picture")
    return folder


@pytest.mark.parametrize("part", [10, 1000])
def test_all_bad_files_are_named_by_the_first_reading(damaged, cache, opened, monkeypatch, part):
    monkeypatch.setattr(image_reading, "PART", part)
    with pytest.raises(InputError) as caught:
        load_images(damaged, cache, 4)
    assert len(opened) == 24
    assert "3 of 24" in caught.value.what
    for name in ("ant/01.png", "bee/00.png", "cat/11.png"):
        assert name in caught.value.why
    assert "--skip-unreadable" in caught.value.fix


@pytest.mark.parametrize("part", [10, 1000])
def test_a_run_goes_on_without_bad_files(damaged, cache, opened, monkeypatch, part):
    monkeypatch.setattr(image_reading, "PART", part)
    images = load_images(damaged, cache, 4, SKIP)
    assert colours(images.path) == [colour(number) for number in range(24) if number not in (1, 4, 23)]
    assert images.labels == (0,) * 3 + (1,) * 7 + (2,) * 11
    assert (images.n, images.unreadable, len(images.paths)) == (21, 3, 21)
    assert images.notes == (
        "set: 3 of 24 pictures cannot be read and are left out: ant/01.png, bee/00.png, cat/11.png",
    )
    opened.clear()
    assert load_images(damaged, cache, 4, SKIP) == images
    assert opened == []
    fewer = subset(images, 12, 7, cache)
    assert fewer.n == 12 - len({"ant/01.png", "bee/00.png", "cat/11.png"} & set(chosen_names(damaged, 12)))


def chosen_names(folder: Path, n: int) -> list[str]:
    listed = list_files(folder)
    return [listed.names[place] for place in stratified(listed.labels or (), n, 7, listed.digest)]


def test_files_that_are_not_there_are_left_out_too(folder: Path, cache: Cache, opened: list[str]):
    path = folder.with_suffix(".csv")
    path.write_text("path,label\nset/ant/00.png,ant\nset/ant/gone.png,ant\nset/bee/00.png,bee\n")
    images = load_images(path, cache, 4, SKIP)
    assert (images.n, images.labels, images.unreadable) == (2, (0, 1), 1)
    assert colours(images.path) == [colour(0), colour(4)]
    opened.clear()
    assert load_images(path, cache, 4, SKIP) == images
    assert opened == []
    shutil.copy(folder / "cat" / "00.png", folder / "ant" / "gone.png")
    assert load_images(path, cache, 4, SKIP).n == 3


def test_a_set_of_bad_files_alone_is_an_error(tmp_path: Path, cache: Cache):
    (tmp_path / "set").mkdir()
    for number in range(12):
        (tmp_path / "set" / f"{number:02}.jpg").write_bytes(b"no picture")
    with pytest.raises(InputError, match="12 of 12") as caught:
        load_images(tmp_path / "set", cache, 4, SKIP)
    assert caught.value.why.endswith("and 2 more")


# What a user should know of the pictures, one line for each kind.


def test_the_same_content_under_two_labels_is_noted(folder: Path, cache: Cache):
    shutil.copy(folder / "ant" / "00.png", folder / "cat" / "twin.png")
    shutil.copy(folder / "bee" / "00.png", folder / "bee" / "twin.png")  # under one label: nothing to say
    assert load_images(folder, cache, 4).notes == (
        "set: 2 of 26 pictures have the content of another one with another label: ant/00.png, cat/twin.png",
    )


def test_further_frames_and_pages_are_noted(folder: Path, cache: Cache):
    frames = [Image.new("RGB", (9, 9), (number, 0, 0)) for number in (10, 20)]
    for name in ("a.gif", "b.tif", "c.png", "d.webp"):
        frames[0].save(folder / "ant" / name, save_all=True, append_images=frames[1:])
    frames[0].save(folder / "ant" / "e.mpo", save_all=True, append_images=frames[1:])  # as phones write them
    frames[0].save(folder / "ant" / "f.gif")
    [note] = load_images(folder, cache, 4).notes
    assert note == (
        "set: 4 of 30 pictures are the first of several frames or pages, and the others are not read: "
        "ant/a.gif, ant/b.tif, ant/c.png and 1 more"
    )


def test_dropped_transparency_is_noted(folder: Path, cache: Cache):
    Image.new("RGBA", (9, 9), (1, 2, 3, 255)).save(folder / "ant" / "opaque.png")
    Image.new("RGBA", (9, 9), (1, 2, 3, 254)).save(folder / "ant" / "veil.png")
    Image.new("P", (9, 9), 0).save(folder / "ant" / "keyed.gif", transparency=0)
    Image.new("LA", (9, 9), (5, 0)).save(folder / "ant" / "grey.png")
    assert load_images(folder, cache, 4).notes == (
        "set: 3 of 28 pictures had transparency, which is dropped: ant/grey.png, ant/keyed.gif, ant/veil.png",
    )


HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100)


def test_heic_is_noted_with_its_count(folder: Path, cache: Cache):
    for name in ("a.heic", "b.HEIC", "c.heif"):
        (folder / "ant" / name).write_bytes(HEIC)
    (folder / "ant" / "notes.txt").write_text("hello")
    assert load_images(folder, cache, 4).notes == (
        "set: left out 1 file with no picture: ant/notes.txt",
        "set: left out 3 pictures in HEIC, which is not read (save as JPEG): ant/a.heic, ant/b.HEIC, "
        "ant/c.heif",
    )
    (folder / "ant" / "named.jpg").write_bytes(HEIC)
    with pytest.raises(InputError) as caught:
        load_images(folder, cache, 4)
    assert caught.value.why == "it is in HEIC"


def test_a_folder_of_heic_alone_says_so(tmp_path: Path, cache: Cache):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.heic").write_bytes(HEIC)
    with pytest.raises(InputError) as caught:
        load_images(tmp_path / "set", cache, 4)
    assert "HEIC" in caught.value.fix
