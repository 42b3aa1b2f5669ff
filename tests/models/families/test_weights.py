import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from edgebench.errors import InputError, UnsupportedError
from edgebench.prepare.cache import sha256_file
from edgebench.prepare.families import count_parameters, read_weights, spec, write_weights
from edgebench.prepare.shipped import TFLITE_FOLDER, shipped_weights
from edgebench.prepare.workers import tflite_file
from edgebench.records.values import DEPTH_MULTIPLIERS, FAMILY


@pytest.mark.parametrize("depth", DEPTH_MULTIPLIERS)
def test_shipped_weights_are_those_of_the_published_model(depth: float):
    weights = shipped_weights(depth)
    arrays = [array for product in tflite_file.products(weights.path) for array in product]
    assert len(arrays) == 56  # 27 convolutions with their normalisations folded in, and a dense layer
    assert arrays[0].shape == (int(32 * depth), 3, 3, 3)
    assert arrays[-1].shape == (5,)
    # Folding leaves one bias a channel of four numbers.
    folded = sum(array.size for array in arrays[1:-1:2])
    assert sum(array.size for array in arrays) + 3 * folded == spec(FAMILY).parameters(depth)
    assert weights.inputs["weights_sha256"][:8] in (TFLITE_FOLDER / "WEIGHTS.md").read_text()


@pytest.mark.parametrize(("depth", "family"), [(0.75, "mobilenet_v1"), (0.25, "mobilenet_v9")])
def test_other_models_have_no_weights(depth: float, family: str):
    with pytest.raises(UnsupportedError, match=family):
        shipped_weights(depth, family)


def test_equal_weights_make_equal_files(tmp_path: Path):
    arrays = {"a/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "b/bias": np.ones(3, np.float32)}
    write_weights(tmp_path / "one.npz", arrays)
    write_weights(tmp_path / "two.npz", arrays)
    assert sha256_file(tmp_path / "one.npz") == sha256_file(tmp_path / "two.npz")
    read = read_weights(tmp_path / "one.npz")
    assert list(read) == list(arrays)
    np.testing.assert_array_equal(read["a/kernel"], arrays["a/kernel"])
    assert count_parameters(tmp_path / "one.npz") == 9


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e5])
def test_numbers_that_float16_cannot_hold_are_not_written(tmp_path: Path, value: float):
    with pytest.raises(ValueError, match="float16"):
        write_weights(tmp_path / "w.npz", {"a": np.array([value], np.float32)})


def archive(array: np.ndarray, *, allow_pickle: bool = False) -> bytes:
    inside, outside = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array(inside, array, allow_pickle=allow_pickle)
    with zipfile.ZipFile(outside, "w") as made:
        made.writestr("a.npy", inside.getvalue())
    return outside.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no archive",
        archive(np.zeros(10_000, np.float16))[:10_000],
        archive(np.array([np.nan], np.float16)),
        archive(np.array([{}], dtype=object), allow_pickle=True),
        archive(np.array(["text"])),
    ],
    ids=["empty", "text", "cut", "not finite", "pickle", "strings"],
)
def test_files_that_hold_no_weights_are_refused(tmp_path: Path, content: bytes):
    (tmp_path / "w.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"w\.npz") as caught:
        read_weights(tmp_path / "w.npz")
    assert caught.value.why
    assert caught.value.fix
