"""What the metadata in a .tflite file say of its pixels and classes."""

import random
import zipfile
from pathlib import Path

import pytest

from edgebench.prepare.cache import Cache
from edgebench.prepare.description import show
from edgebench.prepare.user_model import input_choice, input_spec, read_source
from edgebench.prepare.workers import tflite_file
from edgebench.records.model import InputChoice
from edgebench.run.model_choice import resolve_sources
from tests.models.crafted import Codes, Lite, Types, tflite, with_metadata


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


NAMES = "cat\ndog\neel\n"


def picture_model(path: Path, dtype=Types.FLOAT32, scale: float | None = None) -> Path:
    """A model of pictures of 4 x 4 pixels with three scores."""
    tensors = [Lite((1, 4, 4, 3), dtype, scale=scale), Lite((3, 48), dtype, stored=True), Lite((1, 3), dtype)]
    return tflite(path, tensors, [(Codes.FULLY_CONNECTED, [0, 1], [2])], [0], [2])


@pytest.mark.parametrize(
    ("mean", "std", "divisors", "offsets"),
    [
        ([0.0], [1.0], (1.0,), (0.0,)),
        ([127.5], [127.5], (127.5,), (-1.0,)),
        ([100.0, 110.0, 120.0], [50.0], (50.0,) * 3, (-2.0, -2.2, -2.4)),
    ],
)
def test_pixels_are_normalised_as_the_metadata_say(
    tmp_path: Path, cache: Cache, mean, std, divisors, offsets
):
    path = with_metadata(picture_model(tmp_path / "m.tflite"), mean=mean, std=std)
    model = read_source(path, InputChoice(), cache).model
    assert model is not None and model.picture is not None
    assert model.picture.divisors == divisors
    assert model.picture.offsets == pytest.approx(offsets)
    assert model.picture.told_by == "the file's metadata"
    assert model.assumed == ()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_quantised_input_takes_the_real_values_of_the_metadata(tmp_path: Path, cache: Cache, dtype: str):
    """Scale and zero point of the tensor (0.1 and 3) say what real values become, and not what pixels are."""
    types = {"int8": Types.INT8, "uint8": Types.UINT8}
    path = with_metadata(picture_model(tmp_path / "m.tflite", types[dtype], 0.1), mean=[127.5], std=[64.0])
    source = read_source(path, InputChoice(), cache)
    spec = input_spec(source, dtype, scale=0.1, zero_point=3)
    assert (spec.divisor, spec.offset, spec.scale, spec.zero_point) == (64.0, -127.5 / 64, 0.1, 3)


def test_the_user_comes_before_the_metadata_and_they_before_all_else(tmp_path: Path, cache: Cache):
    path = picture_model(tmp_path / "m.tflite", Types.UINT8, 0.5)
    told_by = []
    for choice in (InputChoice(), input_choice(scale=(2.0,))):
        for file in (
            path,
            with_metadata(picture_model(tmp_path / "n.tflite", Types.UINT8, 0.5), mean=[0.0], std=[1.0]),
        ):
            model = read_source(file, choice, cache).model
            assert model is not None and model.picture is not None
            told_by.append(model.picture.told_by)
    assert told_by == ["the input's quantisation", "the file's metadata", "the user", "the user"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_class_names_are_those_of_the_label_file(tmp_path: Path, cache: Cache, method: int):
    labels = {"de.txt": ("de", "Katze\nHund\nAal\n"), "labels.txt": ("", NAMES)}
    path = with_metadata(picture_model(tmp_path / "m.tflite"), labels=labels, method=method)
    (chosen,) = resolve_sources([str(path)], cache=cache, progress=lambda _: None)
    assert chosen.source.class_names == ("cat", "dog", "eel")
    given = tmp_path / "given.txt"
    given.write_text("a\nb\nc\n")
    (chosen,) = resolve_sources([str(path)], cache=cache, progress=lambda _: None, labels=given)
    assert chosen.source.class_names == ("a", "b", "c")


def test_names_that_do_not_fit_are_left_out_with_a_note(tmp_path: Path, cache: Cache):
    path = with_metadata(picture_model(tmp_path / "m.tflite"), labels={"labels.txt": ("", "cat\ndog\n")})
    notes: list[str] = []
    (chosen,) = resolve_sources([str(path)], cache=cache, progress=notes.append)
    assert chosen.source.class_names is None
    assert any("name 2 classes and it has 3 scores" in note for note in notes)


def test_show_names_the_source_of_each_value(tmp_path: Path, cache: Cache):
    labels = {"labels.txt": ("", NAMES)}
    path = with_metadata(picture_model(tmp_path / "m.tflite"), mean=[0.0], std=[255.0], labels=labels)
    record = show(str(path), cache)
    assert (record["input"]["divisors"], record["input"]["told_by"]) == ((255.0,), "the file's metadata")
    assert (record["class_names"], record["class_names_told_by"]) == (
        ["cat", "dog", "eel"],
        "the file's metadata",
    )
    record = show(str(picture_model(tmp_path / "n.tflite")), cache)
    assert (record["input"]["divisors"], record["input"]["told_by"]) == ((127.5,), "the default")
    assert (record["class_names"], record["class_names_told_by"]) == ([], "")


def _bomb(path: Path) -> Path:
    return with_metadata(picture_model(path), labels={"labels.txt": ("", "a" * (65 << 20))})


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: with_metadata(picture_model(path), mean=[0.0], std=[0.0]), "std [0.0]"),
        (lambda path: with_metadata(picture_model(path), mean=[0.0, 0.0], std=[1.0]), "mean [0.0, 0.0]"),
        (lambda path: with_metadata(picture_model(path), mean=[float("nan")], std=[1.0]), "mean [nan]"),
        (lambda path: with_metadata(picture_model(path), content=b"\xff" * 64), ""),
        (lambda path: with_metadata(picture_model(path), content=b"\0" * (5 << 20)), "5,242,880 bytes"),
        (
            lambda path: with_metadata(
                picture_model(path), labels={"labels.txt": ("", NAMES)}, method=zipfile.ZIP_BZIP2
            ),
            "another method",
        ),
        (lambda path: with_metadata(picture_model(path), labels={"l.txt": ("", "\x07")}), "no label"),
        (_bomb, "unfolds to 65 MiB"),
    ],
    ids=["zero", "channels", "nan", "damaged", "large", "method", "labels", "bomb"],
)
def test_metadata_that_cannot_be_used_are_named_and_the_model_is_taken(
    tmp_path: Path, cache: Cache, make, why: str
):
    model = read_source(make(tmp_path / "m.tflite"), InputChoice(), cache).model
    assert model is not None and model.picture is not None
    assert model.picture.told_by == "the default"
    assert (why in model.notes[0]) and model.notes[0].startswith("its metadata are not used")


def test_damage_anywhere_in_the_metadata_is_noted_or_harmless(tmp_path: Path):
    path = with_metadata(
        picture_model(tmp_path / "m.tflite"), mean=[0.0], std=[1.0], labels={"l": ("", NAMES)}
    )
    whole, draw = path.read_bytes(), random.Random(7)
    start, archive = whole.index(b"M001"), whole.index(b"PK")
    places = [*range(start, start + 100), *range(archive, len(whole))]
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(draw.choice((1, 4, 30))):
            content[draw.choice(places)] = draw.randrange(256)
        path.write_bytes(bytes(content))
        tflite_file.read(path)
