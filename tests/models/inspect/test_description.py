import json
from pathlib import Path

import numpy as np
import pytest

from edgebench.errors import InputError, UsageError
from edgebench.prepare import families as catalogue
from edgebench.prepare.cache import Cache, sha256_file
from edgebench.prepare.description import list_families, show
from edgebench.prepare.families import write_weights
from edgebench.prepare.model_file import folder_sha256
from edgebench.records.model import Artifact
from tests.models.crafted import Codes, Lite, tflite
from tests.user_models import SIDE


def test_a_prepared_variant_is_its_file(prepared_quarter: dict[str, Artifact], session_cache: Cache):
    told = show("mobilenet_v1-0.25-int8", session_cache)
    assert told["name"] == "mobilenet_v1-0.25-int8"
    assert told["sha256"] == prepared_quarter["int8"].sha256
    assert told["precision"] == "int8"
    assert told["macs"] == 40_775_552


def test_a_file_is_named_as_it_is(tmp_path: Path, session_cache: Cache):
    tensors = [Lite((1, 6)), Lite((4, 6), stored=True), Lite((1, 4))]
    path = tflite(tmp_path / "tower.tflite", tensors, [(Codes.FULLY_CONNECTED, [0, 1], [2])], [0], [2])
    told = show(str(path), session_cache)
    assert (told["name"], told["path"], told["macs"]) == ("tower.tflite", str(path), 24)
    json.dumps(told)


def test_a_saved_model_is_shown_with_its_work(user_models: Path, session_cache: Cache):
    folder = user_models / "tower_saved"
    told = show(str(folder), session_cache)
    assert (told["format"], told["name"], told["sha256"]) == (
        "saved_model",
        "tower_saved",
        folder_sha256(folder),
    )
    assert (told["macs"], told["parameters"], told["precision"]) == (9, 12, "fp32")
    assert told["macs_counted"] == {"MatMul": 1}
    assert [one["shape"] for one in told["inputs"]] == [[None, SIDE, SIDE, 3]]
    with pytest.raises(InputError, match="bare_saved") as caught:
        show(str(user_models / "bare_saved"), session_cache)
    assert "model.export(FOLDER)" in caught.value.fix
    with pytest.raises(InputError) as caught:
        show(str(user_models), session_cache)
    assert "saved_model.pb" in caught.value.why


def test_a_variant_that_is_not_prepared_says_how(tmp_path: Path):
    with pytest.raises(InputError) as caught:
        show("mobilenet_v2-0.5-fp16", Cache(tmp_path))
    assert caught.value.fix.endswith("models prepare --model mobilenet_v2 --precision fp16 --width 0.5")


@pytest.mark.parametrize("name", ["tower", "mobilenet_v2-0.3-fp32", "resnet50-0.5-fp32", "../x", ""])
def test_what_is_no_model_is_a_usage_error(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((UsageError, InputError)) as caught:
        show(name, Cache(tmp_path))
    assert caught.value.fix


def test_a_family_says_what_it_takes(session_cache: Cache):
    told = show("efficientnet_b0", session_cache)
    assert told["input"] == {"height": 224, "width": 224, "divisor": 1.0, "offset": 0.0}
    (only,) = told["widths"]
    assert only["width"] is None
    assert only["weights"] == "random"
    assert [family["name"] for family in list_families()] == list(catalogue.known())
    assert {one["weights"] for one in list_families()[0]["widths"]} == {"trained"}


def test_weights_are_known_by_their_record(tmp_path: Path, session_cache: Cache):
    path = tmp_path / "mine.npz"
    write_weights(path, {"scores/kernel": np.zeros((512, 5)), "scores/bias": np.zeros(5)})
    record = {
        "schema_version": 1, "family": "mobilenet_v1", "depth_multiplier": 0.5, "data": {},
        "weights_sha256": sha256_file(path), "class_names": ["a", "b", "c", "d", "e"],
    }  # fmt: skip
    path.with_suffix(".json").write_text(json.dumps(record))
    told = show(str(path), session_cache)
    assert told["class_names"] == ["a", "b", "c", "d", "e"]
    assert told["macs"] == 148_987_648
    path.with_suffix(".json").unlink()
    assert show(str(path), session_cache)["parameters"] == 512 * 5 + 5
    path.write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"mine\.npz"):
        show(str(path), session_cache)
    with pytest.raises(InputError, match=r"none\.npz"):
        show(str(tmp_path / "none.npz"), session_cache)
