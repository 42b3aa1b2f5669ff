"""Label files and lists as Coral, Teachable Machine, ImageNet, MLPerf and Kaggle write them."""

from pathlib import Path

import pytest
from PIL import Image

from edgebench.errors import UsageError
from edgebench.prepare.cache import Cache
from edgebench.prepare.images import load_images
from edgebench.prepare.labels import fitted, matched, read_labels

SYNSETS = """n01440764 tench, Tinca tinca
n01443537 goldfish, Carassius auratus
n02012849 crane
n03126707 crane
"""
FISH = ("tench, Tinca tinca", "goldfish, Carassius auratus", "crane (2)", "crane (3)")


def named(folder: Path, text: str) -> tuple[str, ...]:
    path = folder / "labels.txt"
    path.write_text(text)
    return read_labels(path)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cat\ndog\n", ("cat", "dog")),
        ("0  cat\n1  dog\n", ("cat", "dog")),
        ("0 cat\n1 dog\n", ("cat", "dog")),
        ("1: dog\n0: cat\n", ("cat", "dog")),
        ("2: cat\n\n0:dog", ("dog", "class 1", "cat")),
        ("tench, Tinca tinca\ngoldfish, Carassius auratus\ncrane\ncrane\n", FISH),
    ],
)
def test_a_label_file_names_classes_by_line_or_number(tmp_path, text, names):
    assert named(tmp_path, text) == names


def pictures(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(folder / name)


def classes_of(path: Path, names, scores, offset=None) -> dict[str, int]:
    """The class of each picture of a set, by the picture's name."""
    images = load_images(path, Cache(path.parent / "cache"), 4)
    found = matched(images, names, scores, offset, "net")
    assert found.labels is not None
    return dict(zip((Path(name).name for name in found.paths), found.labels, strict=True))


RIGHT = {"a.png": 1, "b.png": 0}


@pytest.mark.parametrize(
    ("text", "of_a", "of_b"),
    [
        ("cat\ndog\n", "dog", "cat"),
        ("Cat\nDOG\n", "dog", "cat"),
        ("0  cat\n1  dog\n", "1", "0"),
        ("cat\ndog\n", "01", "00"),
        (SYNSETS, "n01443537", "n01440764"),
        (SYNSETS, "Carassius auratus", "tench"),
        (SYNSETS, "goldfish, Carassius auratus", "tinca tinca"),
        ("tench, Tinca tinca\ngoldfish, Carassius auratus\n", "goldfish", "tench"),
    ],
)
def test_folders_find_their_classes(tmp_path, text, of_a, of_b):
    pictures(tmp_path / "set", f"{of_a}/a.png", f"{of_b}/b.png")
    names = named(tmp_path, text)
    assert classes_of(tmp_path / "set", names, len(names)) == RIGHT


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("set.csv", "path,label\na.png,dog\nb.png,cat\n"),
        ("set.csv", "\ufefffilename;class\na.png;dog\nb.png;cat\n"),
        ("set.csv", "Image_Path\tCategory\na.png\tdog\nb.png\tcat\n"),
        ("set.csv", "id,target,file_name\n1,1,a.png\n2,0,b.png\n"),
        ("set.csv", "a.png,dog\nb.png,cat\n"),
        ("set.csv", "a.png;1\nb.png;0\n"),
        ("val_map.txt", "a.png 1\nb.png 0\n"),
        ("val.txt", "a.png dog\n\nb.png cat\n"),
    ],
)
def test_lists_find_their_pictures_and_classes(tmp_path, name, text):
    pictures(tmp_path, "a.png", "b.png")
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert classes_of(tmp_path / name, ("cat", "dog"), 2) == RIGHT


def test_class_numbers_need_no_names(tmp_path):
    pictures(tmp_path / "set", "1/a.png", "0/b.png")
    assert classes_of(tmp_path / "set", None, 2) == RIGHT
    images = load_images(tmp_path / "set", Cache(tmp_path / "cache"), 4)
    assert matched(images, None, 2, None, "net") is images
    found = matched(images, ("cat", "dog"), 2, None, "net")
    assert (found.class_names, found.labels_by, found.label_offset) == (("cat", "dog"), "number", 0)


def test_an_offset_shifts_class_numbers_and_a_missing_background_is_suggested(tmp_path):
    pictures(tmp_path / "set", "1/a.png", "0/b.png")
    with pytest.raises(UsageError) as caught:
        classes_of(tmp_path / "set", None, 3)
    assert caught.value.what == "set has 2 classes and net has 3"
    assert "--label-offset 1" in caught.value.fix
    assert classes_of(tmp_path / "set", None, 3, 1) == {"a.png": 2, "b.png": 1}
    assert classes_of(tmp_path / "set", None, 3, 0) == RIGHT
    assert fitted(("cat", "dog"), 3, 1) == ("background", "cat", "dog")
    assert fitted(("cat", "dog"), 2, 1) == ("cat", "dog")


@pytest.mark.parametrize(
    ("of_a", "names", "scores", "offset", "words"),
    [
        ("tree", ("cat", "dog"), 2, None, "the labels are tree; the classes are cat, dog"),
        ("tree", tuple("abcdefg"), 7, None, "a, b, c, d, e and 2 more"),
        ("7", ("cat", "dog"), 2, None, "the label 7 of set is no class of net"),
        ("1", ("cat", "dog"), 2, 1, "the label 1 of set shifted by 1 is no class of net"),
        ("dog", ("cat", "dog"), 2, 1, "--label-offset shifts class numbers"),
        ("crane", ("crane (0)", "crane (1)"), 2, None, "the label 'crane' of set fits several classes"),
    ],
)  # fmt: skip
def test_labels_of_no_class_are_refused(tmp_path, of_a, names, scores, offset, words):
    pictures(tmp_path / "set", f"{of_a}/a.png")
    with pytest.raises(UsageError) as caught:
        classes_of(tmp_path / "set", names, scores, offset)
    assert words in str(caught.value)


def test_pictures_of_classes_that_the_model_lacks_count_in_no_accuracy(tmp_path):
    pictures(tmp_path / "set", "dog/a.png", "tree/b.png")
    images = load_images(tmp_path / "set", Cache(tmp_path / "cache"), 4)
    found = matched(images, ("cat", "dog"), 2, None, "net")
    assert found.labels == (1, -1)
    assert "set: 1 pictures count in no accuracy, since net lacks their classes: tree" in found.notes
