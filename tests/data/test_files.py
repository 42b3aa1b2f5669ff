"""Sets of images by CSV: paths and labels from outside."""

import os
from pathlib import Path

import pytest
from PIL import Image

from edgebench.errors import InputError
from edgebench.prepare import images as files
from edgebench.prepare.cache import Cache
from edgebench.prepare.image_lists import list_files
from edgebench.prepare.images import load_images, load_scene


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "set.csv"
    path.write_text(text, encoding=encoding)
    return path


def test_paths_are_relative_to_the_csv_and_labels_are_classes(tmp_path: Path):
    listed = list_files(written(tmp_path, "label,path\ndog,a/1.png\ncat,/abs/2.png\n", "utf-8-sig"))
    assert listed.files == (tmp_path / "a/1.png", Path("/abs/2.png"))
    assert (listed.class_names, listed.labels) == (("cat", "dog"), (1, 0))


def test_a_tilde_in_a_path_is_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert list_files(written(tmp_path, "path\n~/1.png\n")).files == (Path("/home/ada/1.png"),)


def test_without_labels_they_are_unlabelled(tmp_path: Path):
    for text in ("path\n1.png\n", "path,label\n1.png,\n"):
        assert list_files(written(tmp_path, text)).labels is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no column of paths"),
        ("1.png,cat\n", "no column of paths"),
        ("path,label\n", "no images"),
        ("path,label\n,cat\n", "line 2"),
        ("path,label\na\x00b.png,cat\n", "cannot"),
        ("path,label\n1.png,cat\n2.png,\n", "some have none"),
        ("path,label\n1.png,c\x07t\n", "line 2"),
        ('path,label\n"1.png,cat\n', "cannot be read as a list"),
        ("path,label\n1.png,cat\n2.png,cat\n1.png,dog\n", "repeats 1 of its files: .*/1.png"),
        ("path\na/1.png\na/../a/./1.png\n", "repeats 1"),
        ("path,label\n" + "x" * 200_000 + ",cat\n", "cannot be read as a list"),
    ],
)
def test_a_list_that_cannot_be_used_says_where(tmp_path: Path, text: str, says: str):
    with pytest.raises(InputError, match=says):
        list_files(written(tmp_path, text))


def test_too_many_rows_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "MAX_IMAGES", 2)
    names = [f"{number}.png" for number in range(5)]
    listed = written(tmp_path, "path\n" + "\n".join(names))
    assert len(list_files(listed).files) == 5
    with pytest.raises(InputError) as caught:
        load_images(listed, Cache(tmp_path / "cache"))
    assert "at most 2" in caught.value.why
    assert "--accuracy-images" in caught.value.fix


def test_what_it_names_is_read_and_what_is_missing_is_named(tmp_path: Path):
    Image.new("RGB", (10, 20), (1, 2, 3)).save(tmp_path / "1.png")
    cache = Cache(tmp_path / "cache")
    images = load_images(written(tmp_path, "path,label\n1.png,cat\n"), cache, (6, 8))
    assert (images.n, images.name, images.class_names) == (1, "set.csv", ("cat",))
    with pytest.raises(InputError, match=r"none\.png"):
        load_images(written(tmp_path, "path\nnone.png\n"), cache)


def test_what_a_list_names_is_read_whatever_it_is_and_all_that_is_wrong_is_said(tmp_path: Path):
    Image.new("RGB", (10, 20)).save(tmp_path / "1.png")
    (tmp_path / "notes.txt").write_text("hello")
    listed = written(tmp_path, "path,label\n1.png,cat\nnotes.txt,cat\nnone.png,dog\n")
    with pytest.raises(InputError, match="2 of 3 images") as caught:
        load_images(listed, Cache(tmp_path / "cache"))
    assert "notes.txt cannot be read as an image" in caught.value.why
    assert "none.png cannot be read (No such file" in caught.value.why


def test_a_pipe_is_never_opened_and_a_link_to_nothing_is_a_bad_file(tmp_path: Path):
    folder = tmp_path / "set"
    folder.mkdir()
    Image.new("RGB", (10, 20)).save(folder / "1.png")
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.png")
    cache = Cache(tmp_path / "cache")
    images = load_images(folder, cache)
    assert images.n == 1
    assert images.notes[0] == "set: left out 2 files with no picture: pipe, pipe.png"
    listed = written(tmp_path, "path\nset/pipe.png\n")
    for load, path in ((load_images, listed), (load_scene, folder / "pipe")):
        with pytest.raises(InputError, match="it is a pipe"):
            load(path, cache)
    (folder / "moved").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match="moved"):
        load_images(folder, cache)


def test_a_picture_is_no_set_of_images(tmp_path: Path):
    Image.new("RGB", (10, 20)).save(tmp_path / "1.png")
    with pytest.raises(InputError, match="no folder of images"):
        list_files(tmp_path / "1.png")


def test_other_columns_are_shown(tmp_path: Path):
    with pytest.raises(InputError) as caught:
        list_files(written(tmp_path, "picture;breed\n1.png;cat\n"))
    assert "'picture;breed'" in caught.value.why
    assert "file_name" in caught.value.fix and "class_id" in caught.value.fix


def test_a_csv_in_another_encoding_is_said_with_its_line(tmp_path: Path):
    with pytest.raises(InputError, match="line 1 "):
        list_files(written(tmp_path, "path\n1.png\n", "utf-16"))


def test_a_pipe_is_no_folder_of_images(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="it is a pipe"):
        list_files(tmp_path / "pipe")
