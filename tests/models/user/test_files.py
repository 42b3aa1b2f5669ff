"""Reading a user's model from disk: formats, hashes, and everything else."""

import shutil
from pathlib import Path

import pytest

from edgebench.errors import InputError
from edgebench.prepare import user_model as files
from edgebench.prepare.cache import Cache
from edgebench.prepare.model_file import folder_sha256, format_of
from edgebench.prepare.user_model import read_source
from edgebench.records.model import InputChoice
from tests.user_models import SIDE


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_a_tflite_file_is_named_by_its_name_and_hash(user_models: Path, cache: Cache):
    source = read_source(user_models / "tower.tflite", InputChoice(), cache)
    assert source.sha256 is not None
    assert source.name == f"tower-{source.sha256[:8]}"
    assert source.model is not None and source.model.picture is not None
    assert (source.model.picture.height, source.model.scores, source.model.precision) == (SIDE, 3, "fp32")


def test_a_saved_model_is_read_once(user_models: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch):
    source = read_source(user_models / "tower_saved", InputChoice(), cache)
    assert source.model is not None and source.model.picture is not None
    assert source.model.scores == 3
    assert source.model.macs == 9
    monkeypatch.setattr(files, "inspect_model", lambda _: pytest.fail("read again"))
    again = read_source(user_models / "tower_saved", InputChoice(), cache)
    assert again == source


def test_a_saved_model_without_signature_says_how_to_save_it(user_models: Path, cache: Cache):
    with pytest.raises(InputError, match="bare_saved") as caught:
        read_source(user_models / "bare_saved", InputChoice(), cache)
    assert "no signature serving_default" in str(caught.value)


@pytest.mark.attack("a model is larger than memory: it is not loaded")
def test_a_saved_model_larger_than_memory_is_not_loaded(
    user_models: Path, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class Free:
        available = 100

    copy = shutil.copytree(user_models / "tower_saved", tmp_path / "saved")
    monkeypatch.setattr("psutil.virtual_memory", Free)
    with pytest.raises(InputError, match="0 MiB are free"):
        read_source(copy, InputChoice(), cache)


def test_a_folders_hash_is_of_its_names_and_contents(tmp_path: Path):
    folder = tmp_path / "saved"
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"a")
    first = folder_sha256(folder)
    assert format_of(folder) == "saved_model"
    (folder / "variables" / "x").write_bytes(b"b")
    assert folder_sha256(folder) != first


@pytest.mark.attack("a user's file is not a model: a message says why")
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.tflite", b"no model", "cannot be read"),
        ("a.tflite", b"", "is empty"),
        ("a.pt", b"x", "is no model file"),
        ("a", b"x", "is no model file"),
    ],
)
def test_what_is_no_model(tmp_path: Path, cache: Cache, name: str, content: bytes, says: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=says):
        read_source(tmp_path / name, InputChoice(), cache)


def test_no_file_and_a_folder_that_is_no_saved_model(tmp_path: Path, cache: Cache):
    with pytest.raises(InputError, match=r"none\.onnx"):
        read_source(tmp_path / "none.onnx", InputChoice(), cache)
    with pytest.raises(InputError, match="no SavedModel"):
        read_source(tmp_path, InputChoice(), cache)
