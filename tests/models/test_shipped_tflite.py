"""The shipped .tflite files: what their provenance says, and all that a run takes where nothing converts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgebench
from edgebench.contract import PrepareRequest
from edgebench.errors import InputError
from edgebench.models import litert, shipped_tflite
from edgebench.models.artifact import Artifact
from edgebench.models.cache import Cache, sha256_file
from edgebench.models.make_shipped_tflite import DEPTHS
from edgebench.models.prepare import prepare_inputs, prepare_tflite
from edgebench.models.shipped_tflite import FOLDER, MANIFEST, read_manifest
from edgebench.models.variant import PRECISIONS, Variant
from tests.walk.conftest import make_place

ROOT = Path(__file__).parents[2]
WITHOUT_TENSORFLOW = """
import importlib.metadata, sys
GONE = ("tensorflow", "keras", "tf2onnx")
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
    return [PrepareRequest(Variant(depth, precision), 1, {}) for depth in DEPTHS for precision in PRECISIONS]


def test_the_files_are_what_the_manifest_says():
    artifacts = read_manifest().artifacts
    assert [artifact.file for artifact in artifacts] == [f"{one.variant.name}.tflite" for one in requests()]
    assert {path.name for path in FOLDER.iterdir()} == {MANIFEST, *(one.file for one in artifacts)}
    for artifact in artifacts:
        assert sha256_file(FOLDER / artifact.file) == artifact.sha256
        assert (FOLDER / artifact.file).stat().st_size == artifact.size_bytes
    assert sum(artifact.size_bytes for artifact in artifacts) < 9_000_000


def test_they_stand_under_todays_recipe_and_the_pinned_tools():
    pinned = dict(
        re.findall(r"^([A-Za-z0-9._-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    )
    for request, artifact in zip(requests(), read_manifest().artifacts, strict=True):
        assert artifact.inputs == prepare_inputs(request)
        assert artifact.inputs["tools"] == {tool: pinned[tool] for tool in artifact.inputs["tools"]}


def test_int8_computes_its_golden_scores_exactly(session_cache: Cache):
    request = PrepareRequest(Variant(0.5, "int8"), 1, {})
    (artifact,) = prepare_tflite([request], session_cache, lambda _: None)
    assert isinstance(artifact, Artifact)
    assert artifact.path.parent == FOLDER
    scores = litert.score(artifact.path, np.load(artifact.golden.patches), reference=True)
    np.testing.assert_array_equal(scores, np.array(artifact.golden.scores, np.float32))


def test_a_damaged_file_is_said_and_the_others_serve(
    tmp_path: Path, session_cache: Cache, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "tflite"
    shutil.copytree(FOLDER, folder)
    monkeypatch.setattr(shipped_tflite, "FOLDER", folder)
    broken, sound = requests()[:2]
    with (folder / f"{broken.variant.name}.tflite").open("r+b") as file:
        file.write(b"damage")
    first, second = prepare_tflite([broken, sound], session_cache, lambda _: pytest.fail("converted"))
    assert isinstance(first, InputError) and "install EdgeBench again" in first.fix
    assert isinstance(second, Artifact)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = make_place(tmp_path_factory.mktemp("without"))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", WITHOUT_TENSORFLOW, *words]
        return subprocess.run(
            command, cwd=place.folder, env=place.environment, capture_output=True, text=True, timeout=120
        )

    run.folder = place.folder  # type: ignore[attr-defined]
    return run


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--device", "cpu", "--depth", "1.0"], "mobilenet_v1-1.0-fp32 cannot be prepared: tensorflow"),
        (["--device", "cpu", "--batch", "4"], "mobilenet_v1-0.25-fp32 cannot be prepared: tensorflow"),
        (["--device", "cpu", "--model", "mobilenet_v2"], "mobilenet_v2-1.0-fp32 cannot be prepared"),
        (["--device", "cpu", "--device", "onnxruntime"], "tensorflow, keras, tf2onnx are"),
    ],
)  # fmt: skip
def test_without_tensorflow_what_was_named_is_an_error_on_one_line_before_anything_is_done(
    without: Any, words: list[str], names: str
):
    done = without("run", *words)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("reading")]
    assert line.startswith("error: ") and names in line and "pip install 'edgebench[" in line
    assert not (without.folder / "cache" / "objects").exists()


def test_without_tensorflow_a_run_measures_what_is_shipped_and_notes_the_rest(without: Any):
    done = without(
        "run", "--device", "cpu", "--precision", "int8", "--scene", "scene.png", "--images", "images",
        "--sessions", "1", "--passes", "1", "--no-telemetry", "--name", "shipped",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "left out on cpu: mobilenet_v1-1.0-int8 cannot be prepared" in " ".join(done.stderr.split())
    record = edgebench.load(without.folder / "results" / "shipped").experiment
    assert [trial.variant for trial in record.trials] == ["mobilenet_v1-0.25-int8", "mobilenet_v1-0.5-int8"]
    assert any("1.0-int8" in warning for warning in record.warnings)
    shipped = {Path(one.file).stem: one for one in read_manifest().artifacts}
    for trial in record.trials:
        assert trial.artifact_sha256 == shipped[trial.variant].sha256
        assert trial.inputs["artifact"] == shipped[trial.variant].inputs
