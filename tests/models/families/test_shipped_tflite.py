"""The shipped .tflite files: what their provenance says, and all that a run takes where nothing converts."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgebench
from edgebench import installed
from edgebench.errors import InputError, UnavailableError
from edgebench.prepare import shipped
from edgebench.prepare.cache import Cache, sha256_file
from edgebench.prepare.description import list_variants
from edgebench.prepare.landcover import ASSETS
from edgebench.prepare.shipped import MANIFEST, read_manifest, shipped_weights
from edgebench.prepare.shipped import TFLITE_FOLDER as FOLDER
from edgebench.prepare.tflite import TfliteChain
from edgebench.prepare.workers import litert
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.values import DEPTH_MULTIPLIERS, PRECISIONS, Variant
from edgebench.run.config import resolve
from edgebench.run.planner import build
from tests.walk.conftest import make_place

ROOT = Path(__file__).parents[3]
WITHOUT_TENSORFLOW = """
import importlib.metadata, sys
GONE = ("tensorflow", "keras", "tf2onnx", "onnx", "onnxruntime")
version = importlib.metadata.version
def present(name):
    if name in GONE:
        raise importlib.metadata.PackageNotFoundError(name)
    return version(name)
importlib.metadata.version = present
sys.modules.update(dict.fromkeys(GONE))  # an import of them is an ImportError
from edgebench.cli.main import main
main()
"""


def requests() -> list[PrepareRequest]:
    return [
        PrepareRequest(Variant(depth, precision), 1, {})
        for depth in DEPTH_MULTIPLIERS
        for precision in PRECISIONS
    ]


def test_the_files_are_what_the_manifest_says():
    artifacts = read_manifest().artifacts
    assert [one.file.removesuffix(".xz") for one in artifacts] == [
        f"{one.variant.name}.tflite" for one in requests()
    ]
    assert {path.name for path in FOLDER.iterdir()} == {
        MANIFEST,
        "WEIGHTS.md",
        *(one.file for one in artifacts),
    }
    for artifact in artifacts:
        assert len(artifact.content()) == artifact.size_bytes
    assert sum(path.stat().st_size for path in (*FOLDER.iterdir(), *ASSETS.iterdir())) < 40_000_000


def test_a_compressed_file_is_unpacked_into_the_cache_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cache, request = Cache(tmp_path), PrepareRequest(Variant(1.0, "fp32"), 1, {})
    (artifact,) = TfliteChain().prepare([request], cache, lambda _: None)
    assert isinstance(artifact, Artifact)
    packed = shipped_weights(1.0)
    assert packed.is_compressed and artifact.sha256 == packed.sha256 == sha256_file(artifact.path)
    monkeypatch.setattr(shipped.ShippedArtifact, "content", lambda _: pytest.fail("unpacked again"))
    assert TfliteChain().prepare([request], cache, lambda _: None) == [artifact]


def test_they_stand_under_todays_recipe_and_the_pinned_tools():
    pinned = dict(
        re.findall(r"^([A-Za-z0-9._-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    )
    for request, artifact in zip(requests(), read_manifest().artifacts, strict=True):
        assert artifact.inputs == TfliteChain().recipe(request).inputs
        assert artifact.inputs["tools"] == {tool: pinned[tool] for tool in artifact.inputs["tools"]}


def test_int8_computes_its_golden_scores_exactly(session_cache: Cache):
    request = PrepareRequest(Variant(0.5, "int8"), 1, {})
    (artifact,) = TfliteChain().prepare([request], session_cache, lambda _: None)
    assert isinstance(artifact, Artifact)
    assert artifact.path.parent == FOLDER
    scores = litert.score(
        artifact.path, np.load(artifact.golden.patches), artifact.input.model_dump(), kernels=litert.REFERENCE
    )
    np.testing.assert_array_equal(scores, np.array(artifact.golden.scores, np.float32))


def test_a_damaged_file_is_said_and_the_others_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "tflite"
    shutil.copytree(FOLDER, folder)
    monkeypatch.setattr(shipped, "TFLITE_FOLDER", folder)
    broken, sound, *_, packed = requests()[:7]
    for name in (f"{broken.variant.name}.tflite", f"{packed.variant.name}.tflite.xz"):
        with (folder / name).open("r+b") as file:
            file.write(b"damage")
    cache = Cache(tmp_path / "cache")
    first, second, third = TfliteChain().prepare([broken, sound, packed], cache, lambda _: None)
    for damaged in (first, third):
        assert isinstance(damaged, InputError) and "install EdgeBench again" in damaged.fix
    assert isinstance(second, Artifact)


@pytest.mark.parametrize("damage", ["", '{"schema_version": 2, "artifacts": []}', "[" * 200_000, None])
def test_a_damaged_manifest_is_said_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str | None
):
    if damage is None:
        (tmp_path / MANIFEST).mkdir()
    else:
        (tmp_path / MANIFEST).write_text(damage)
    monkeypatch.setattr(shipped, "TFLITE_FOLDER", tmp_path)
    with pytest.raises(InputError) as caught:
        TfliteChain().recipe(requests()[0])
    assert "install EdgeBench again" in caught.value.fix


@pytest.fixture
def without_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    version = importlib.metadata.version

    def present(name: str) -> str:
        if name in ("tensorflow", "keras", "tf2onnx"):
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(installed, "version", present)


@pytest.mark.usefixtures("without_tensorflow")
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"device": ["cpu"], "batch": [4]}, "mobilenet_v1-0.25-fp32 cannot be prepared: tensorflow, keras"),
        ({"device": ["cpu"], "model": ["mobilenet_v2"]}, "mobilenet_v2-1.0-fp32 cannot be prepared"),
        ({"device": ["onnxruntime"]}, "cannot be prepared: tensorflow, keras, tf2onnx are"),
        (
            {"device": ["cpu", "onnxruntime"], "depth": [0.25]},
            "cannot be prepared: tensorflow, keras, tf2onnx",
        ),
    ],
)
def test_without_tensorflow_what_was_named_is_an_error_on_one_line_before_anything_is_done(
    tmp_path: Path, asked: dict[str, Any], words: str
):
    cache = Cache(tmp_path / "cache")
    with pytest.raises(UnavailableError) as caught:
        build(resolve(asked).config, cache, lambda text: pytest.fail(text))
    (line,) = str(caught.value).splitlines()
    assert words in line and "pip install 'edgebench[prepare," in line
    assert not cache.root.exists()


@pytest.mark.usefixtures("without_tensorflow")
def test_without_tensorflow_what_is_not_shipped_is_left_out_with_a_note(tmp_path: Path):
    place = make_place(tmp_path)
    flags = {
        "device": ["cpu", "onnxruntime"],
        "scene": place.folder / "scene.png",
        "images": place.folder / "images",
    }
    said: list[str] = []
    built = build(resolve(flags).config, Cache(tmp_path / "cache"), said.append)
    plan = built.plan
    assert [target.name for target in built.targets] == ["cpu"]
    assert [trial.variant for trial in plan.trials] == [request.variant for request in requests()]
    (note,) = [note for note in plan.notes if "left out" in note]
    assert note.startswith("onnxruntime is left out: mobilenet_v1-0.25-fp32 cannot be prepared: tensorflow")
    assert f"note: {note}" in said


def test_a_run_measures_nine_variants_without_tensorflow_keras_and_onnx(tmp_path: Path):
    place = make_place(tmp_path)
    words = [
        "run", "--device", "cpu", "--scene", "scene.png", "--images", "images", "--sessions", "1",
        "--passes", "1", "--no-telemetry", "--name", "shipped",
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW, *words],
        cwd=place.folder,
        env=place.environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    trials = edgebench.load(place.folder / "results" / "shipped").experiment.trials
    assert [(trial.artifact_sha256, trial.inputs["artifact"]) for trial in trials] == [
        (artifact.sha256, artifact.inputs) for artifact in read_manifest().artifacts
    ]


def test_a_damaged_file_is_a_row_of_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "tflite"
    shutil.copytree(FOLDER, folder)
    monkeypatch.setattr(shipped, "TFLITE_FOLDER", folder)
    broken, sound = requests()[:2]
    (folder / f"{broken.variant.name}.tflite").unlink()
    rows = {row["variant"]: row for row in list_variants(Cache(tmp_path / "cache"))}
    assert "is not the file that came with EdgeBench" in rows[broken.variant.name]["reason"]
    assert rows[broken.variant.name]["artifact"] is None
    assert rows[sound.variant.name]["artifact"] is not None
