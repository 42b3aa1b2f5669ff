"""`edgebench models`: what it lists, shows and says of what cannot be."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from edgebench.cli.main import app
from edgebench.errors import EdgeBenchError
from edgebench.prepare import families as catalogue
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact


def call(cache: Cache, *words: str) -> Result:
    environment = {"EDGEBENCH_CACHE_DIR": str(cache.root), "COLUMNS": "80"}
    return CliRunner().invoke(app, ["models", *words], env=environment)


@pytest.mark.parametrize("command", [[], ["list"], ["show"], ["prepare"]])
def test_help_fits_80_columns(session_cache: Cache, command: list[str]):
    done = call(session_cache, *command, "--help")
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_what_is_there_without_any_download_is_listed(session_cache: Cache):
    done = call(session_cache, "list")
    assert done.exit_code == 0
    for name in catalogue.known():
        assert name in done.stdout
    assert "random" in done.stdout
    lines = [line for line in done.stdout.splitlines() if ".tflite" not in line]  # paths are never wrapped
    assert max(map(len, lines)) <= 80
    document = json.loads(call(session_cache, "list", "--json").stdout)
    assert [family["name"] for family in document["families"]] == list(catalogue.known())
    assert len(document["variants"]) == 9


def test_a_prepared_variant_is_shown(prepared_quarter: dict[str, Artifact], session_cache: Cache):
    done = call(session_cache, "show", "mobilenet_v1-0.25-int8", "--json")
    model = json.loads(done.stdout)["model"]
    assert model["sha256"] == prepared_quarter["int8"].sha256
    assert model["macs"] == 40_775_552
    text = call(session_cache, "show", str(prepared_quarter["fp16"].path)).stdout
    assert "fp16 (float16 weights)" in text
    assert "211,621" in text


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["show", "no_such_model"], "no model 'no_such_model'"),
        (["show", "none.onnx"], "no model file none.onnx"),
        (["prepare", "--model", "mobilenet_v9"], "mobilenet_v9"),
        (["prepare", "--model", "resnet50", "--width", "0.5"], "resnet50 has no width 0.5"),
        (["prepare", "--model", "mobilenet_v2", "--width", "0.3"], "mobilenet_v2 has no width 0.3"),
        (["prepare", "--input-scale", "1,2"], "input-scale"),
        (["prepare", "--input-shape", "wide"], "--input-shape 'wide' is no shape"),
        (["prepare", "--layout", "NCHW"], "fits no model of this run"),
    ],
)
def test_what_there_is_not_is_said_with_its_fix(
    session_cache: Cache, words: list[str], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    done = call(session_cache, *words)
    assert isinstance(done.exception, EdgeBenchError)
    assert what in done.exception.what
    assert done.exception.fix
    assert not list(tmp_path.iterdir())


def test_prepare_takes_what_is_said_of_the_input_as_run_does(user_models: Path, session_cache: Cache):
    tower = str(user_models / "tower.tflite")
    words = ["--input-scale", "255", "--layout", "NHWC", "--labels", str(user_models / "labels.txt")]
    done = call(session_cache, "prepare", "--json", "--model", tower, *words)
    assert done.exit_code == 0
    (row,) = json.loads(done.stdout)["variants"]
    assert row["artifact"]["class_names"] == ["cat", "dog", "eel"]
    assert "reading tower.tflite" in done.stderr
    assert "is taken (--input-scale" not in done.stderr  # which is noted where nobody says it
