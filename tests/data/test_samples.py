"""Samples for models that take no picture: drawn, or given by the user."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from edgebench.errors import InputError, UnsupportedError
from edgebench.prepare import samples as module
from edgebench.prepare.cache import Cache
from edgebench.prepare.families import read_weights
from edgebench.prepare.samples import GOLDEN, first_samples, random_samples, read_inputs, samples_scene
from edgebench.records.model import FixedInput

INPUTS = (FixedInput("tokens", "int32", (1, 6)), FixedInput("serving_default_extra:0", "float32", (1, 2, 4)))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_drawn_samples_are_the_same_again_and_whole_numbers_are_0_and_1(cache: Cache, tmp_path: Path):
    drawn = random_samples(INPUTS, cache)
    assert drawn.n == 400
    with np.load(drawn.path) as stored:
        assert (stored["0"].shape, stored["0"].dtype) == ((400, 1, 6), np.int32)
        assert set(np.unique(stored["0"])) == {0, 1}
        assert (stored["1"].shape, stored["1"].dtype) == ((400, 1, 2, 4), np.float32)
        assert abs(float(stored["1"].std()) - 1) < 0.1
    assert random_samples(INPUTS, Cache(tmp_path / "another")).sha256 == drawn.sha256
    scene = samples_scene(drawn, is_users=False)
    assert (scene.patches, scene.kind) == (400, "samples")


def test_of_large_inputs_fewer_are_drawn_and_a_pass_is_as_long(cache: Cache, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_MOST_BYTES", 10 * 56)
    drawn = random_samples(INPUTS, cache)
    assert drawn.n == 10
    assert samples_scene(drawn, is_users=False).patches == 400


def test_given_samples_come_by_name_from_a_folder_or_an_archive(cache: Cache, tmp_path: Path):
    tokens, extra = np.arange(18).reshape(3, 6), np.ones((3, 1, 2, 4))
    np.savez(tmp_path / "a.npz", tokens=tokens, extra=extra)
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "folder" / "tokens.npy", tokens)
    np.save(tmp_path / "folder" / "extra.npy", extra)
    one, other = (
        read_inputs(tmp_path / name, INPUTS).kept(tmp_path / name, cache) for name in ("a.npz", "folder")
    )
    assert one.sha256 == other.sha256
    assert samples_scene(one, is_users=True).patches == 3
    with np.load(one.path) as stored:
        np.testing.assert_array_equal(stored["0"], tokens[:, None])
        assert stored["1"].dtype == np.float32
    golden = first_samples(one, GOLDEN, cache)
    assert (golden.n, "first 3" in golden.origin) == (3, True)


@pytest.mark.parametrize("names", [("tokens.npy", "tokens.npy"), ("tokens.npy", "tokens")])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_two_arrays_of_one_name_is_refused(tmp_path: Path, names: tuple[str, ...]):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for value, name in enumerate((*names, "extra.npy")):
            with archive.open(name, "w") as member:
                np.lib.format.write_array(
                    member, np.full((3, 6) if value < 2 else (3, 2, 4), value, np.int32)
                )
    with pytest.raises(InputError, match="cannot be read as inputs") as refused:
        read_inputs(tmp_path / "a.npz", INPUTS)
    assert refused.value.why == "it holds 'tokens' more than once"
    with pytest.raises(InputError, match="cannot be read as weights") as refused:
        read_weights(tmp_path / "a.npz")
    assert refused.value.why == "it holds 'tokens' more than once"


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"tokens": np.zeros((3, 6), int)}, "no array for the input 'serving_default_extra:0'"),
        ({"tokens": np.zeros((3, 7), int), "extra": np.zeros((3, 2, 4))}, r"is \[3, 7\]"),
        ({"tokens": np.zeros((3, 6)), "extra": np.zeros((3, 2, 4))}, "is float64"),
        ({"tokens": np.full((3, 6), 1 << 40), "extra": np.zeros((3, 2, 4))}, "does not fit into int32"),
        ({"tokens": np.zeros((3, 6), int), "extra": np.zeros((2, 2, 4))}, "not as many"),
        ({"tokens": np.zeros((0, 6), int), "extra": np.zeros((0, 2, 4))}, "expected, n at most"),
    ],
)
def test_samples_that_do_not_fit_are_refused(cache: Cache, tmp_path: Path, arrays, says):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError) as caught:
        read_inputs(tmp_path / "a.npz", INPUTS)
    import re

    assert re.search(says, str(caught.value))


def test_what_is_no_archive_and_what_hides_code(cache: Cache, tmp_path: Path):
    (tmp_path / "a.npz").write_bytes(b"no archive")
    np.savez(tmp_path / "b.npz", tokens=np.array([{}], dtype=object))
    for name in ("a.npz", "b.npz", "none.npz"):
        with pytest.raises(InputError, match=f"{name} cannot be read"):
            read_inputs(tmp_path / name, INPUTS)


def test_text_cannot_be_drawn(cache: Cache):
    with pytest.raises(UnsupportedError, match="is of string"):
        random_samples((FixedInput("words", "string", (1,)),), cache)
