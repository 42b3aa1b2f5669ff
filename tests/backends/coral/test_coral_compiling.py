"""Preparation by a stand-in for `edgetpu_compiler`: its words, log and file, and every way that it fails."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from pathlib import Path

import pytest

from edgebench import registry
from edgebench.errors import EdgeBenchError, InputError, UnavailableError, UnsupportedError, UsageError
from edgebench.prepare import edgetpu as compiler
from edgebench.records.model import Artifact, Prepared, PrepareRequest
from edgebench.records.values import Variant
from tests.backends.coral import edgetpu_compiler

VERSIONS = (f"16.0.{number}" for number in itertools.count(1))  # one a test: the cache goes by it

QUARTER = Variant(0.25, "int8")


@pytest.fixture
def install(monkeypatch, tmp_path):
    """Put a compiler that behaves so on the PATH, before any other."""

    def put(behaviour: str) -> Path:
        version = next(VERSIONS)
        folder = tmp_path / version
        program = edgetpu_compiler.install(folder, behaviour, version)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        return program

    return put


@pytest.fixture
def prepare(session_cache, int8):
    """The artifact of MobileNet 0.25 under such options."""

    def prepared(variant: Variant = QUARTER, batch: int = 1, **options: object) -> Prepared:
        backend = registry.backend("coral")
        chosen = backend.options_model.model_validate(options).model_dump()
        [outcome] = backend.prepare(
            [PrepareRequest(variant, batch, chosen)], session_cache, lambda text: None
        )
        return outcome

    return prepared


def test_the_whole_model_is_mapped(install, prepare, int8):
    program = install("whole")
    artifact = prepare()
    assert isinstance(artifact, Artifact)
    assert artifact.format == "edgetpu"
    assert edgetpu_compiler.CUSTOM_OP.encode() in artifact.path.read_bytes()
    assert artifact.provenance["operations"] == {"edgetpu": 1, "cpu": {}}
    log = artifact.provenance["compiler"]
    assert log["version"] == program.parent.name
    assert {(row["name"], row["count"]) for row in log["table"]} == {
        ("CONV_2D", 14), ("DEPTHWISE_CONV_2D", 13), ("MEAN", 1), ("FULLY_CONNECTED", 1), ("SOFTMAX", 1),
    }  # fmt: skip
    assert log["operations"] == 30 and log["subgraphs"] == 1
    assert log["on_chip_used_bytes"] == pytest.approx(int8.path.stat().st_size, rel=0.01)
    assert log["on_chip_remaining_bytes"] > 6 << 20
    assert log["off_chip_used_bytes"] == 0
    assert artifact.golden.scores == int8.golden.scores
    before = len(edgetpu_compiler.calls(program))
    again = prepare()
    assert isinstance(again, Artifact) and again.sha256 == artifact.sha256
    assert all("version" in call for call in edgetpu_compiler.calls(program)[before:])  # nothing is compiled


def test_what_stays_on_the_processor_is_told_with_the_compilers_reason(install, prepare):
    install("partial")
    artifact = prepare()
    assert isinstance(artifact, Artifact)
    assert artifact.provenance["operations"] == {"edgetpu": 1, "cpu": {"FULLY_CONNECTED": 1, "SOFTMAX": 1}}
    log = artifact.provenance["compiler"]
    assert (log["on_edgetpu"], log["on_cpu"]) == (28, 2)
    left = {row["name"]: row["status"] for row in log["table"] if "Mapped" not in row["status"]}
    assert left == {
        "FULLY_CONNECTED": edgetpu_compiler.UNSPECIFIED, "SOFTMAX": edgetpu_compiler.SECOND_GRAPH,
    }  # fmt: skip
    json.dumps(log)


def test_another_version_of_the_compiler_compiles_again(install, prepare):
    """The cache goes by content and by the compiler."""
    first = install("whole")
    assert isinstance(prepare(), Artifact)
    second = install("whole")
    assert isinstance(prepare(), Artifact)
    for program in (first, second):
        assert [call for call in edgetpu_compiler.calls(program) if "version" not in call]


def test_a_model_of_which_nothing_is_mapped_is_not_measured_quietly(install, prepare):
    install("nothing")
    outcome = prepare()
    assert isinstance(outcome, UnsupportedError)
    assert edgetpu_compiler.CUSTOM_OP in outcome.why
    allowed = prepare(allow_cpu=True)
    assert isinstance(allowed, Artifact)
    assert allowed.format != "edgetpu"
    assert "CPU" in allowed.mark


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("large", "large activation tensors"),
        ("internal", "Internal compiler error"),
        ("aborts", "SIGABRT"),
        ("silent", "it printed nothing"),
    ],
)
def test_a_compiler_that_fails_is_told_in_its_own_words(install, prepare, behaviour, words):
    install(behaviour)
    outcome = prepare()
    assert isinstance(outcome, UnsupportedError)
    assert outcome.fix
    assert re.search(words, f"{outcome.what} {outcome.why}"), outcome.why


def test_a_compiler_that_hangs_is_ended_with_all_its_processes(install, prepare, monkeypatch):
    install("hangs")
    monkeypatch.setattr(compiler, "COMPILE_S", 3.0)
    outcome = prepare()
    assert isinstance(outcome, UnsupportedError)
    assert "ended after 3 s" in outcome.what


def test_without_a_compiler_the_command_the_file_and_the_place_are_told(no_compiler, prepare, session_cache):
    with pytest.raises(UnavailableError) as caught:
        prepare()
    error = caught.value
    command = error.fix.partition("`")[2].partition("`")[0]
    assert command.startswith("edgetpu_compiler ")
    written = Path(command.split()[-1])
    assert written.is_relative_to(session_cache.root)
    assert written.name == f"{QUARTER.name}.tflite"
    assert "--artifact" in error.fix


def test_the_command_that_is_told_makes_what_is_then_taken(
    no_compiler, prepare, session_cache, tmp_path, monkeypatch
):
    """As a user does it: run the command where the compiler is, then name the folder."""
    with pytest.raises(UnavailableError) as caught:
        prepare()
    command = caught.value.fix.partition("`")[2].partition("`")[0]
    elsewhere = edgetpu_compiler.install(tmp_path / "elsewhere").parent
    subprocess.run(command, shell=True, check=True, env={"PATH": f"{elsewhere}:/usr/bin:/bin"}, timeout=60)
    folder = caught.value.fix.partition("--artifact ")[2].split()[0].rstrip(".,;)")
    for path in (folder, str(Path(folder) / f"{QUARTER.name}_edgetpu.tflite")):
        artifact = prepare(artifact=path)
        assert isinstance(artifact, Artifact)
        assert artifact.format == "edgetpu"
        assert artifact.provenance["given"] == f"{QUARTER.name}_edgetpu.tflite"


def test_files_that_are_no_compiled_model_of_the_variant(no_compiler, prepare, int8, tmp_path):
    with pytest.raises(UsageError):
        prepare(artifact=str(tmp_path / "none_edgetpu.tflite"))
    with pytest.raises(InputError):
        prepare(artifact=str(int8.path))
    words = tmp_path / "words_edgetpu.tflite"
    words.write_bytes(b"\x1c\x00\x00\x00TFL3 but not a flatbuffer edgetpu-custom-op")
    with pytest.raises(InputError):
        prepare(artifact=str(words))
    cut = tmp_path / "cut_edgetpu.tflite"
    content, _ = edgetpu_compiler.compiled(int8.path.read_bytes())
    cut.write_bytes(content[: len(content) // 3])
    with pytest.raises(EdgeBenchError):
        prepare(artifact=str(cut))


def test_a_compiled_model_of_another_one_is_refused(no_compiler, prepare, tmp_path):
    """Its outputs are others: a model of seven classes."""
    from ai_edge_litert import schema_py_generated as schema

    from tests.models.crafted import Lite, tflite

    tensors = [
        Lite((1, 224, 224, 3), schema.TensorType.INT8, scale=1 / 127.5),
        Lite((1, 7), schema.TensorType.INT8, scale=1 / 256),
    ]
    other = tflite(tmp_path / "other.tflite", tensors, [(edgetpu_compiler.CUSTOM_OP, [0], [1])], [0], [1])
    with pytest.raises(InputError) as caught:
        prepare(artifact=str(other))
    assert QUARTER.name in caught.value.what
    assert "[1, 7]" in caught.value.why or "zero point" in caught.value.why


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_only_int8_is_taken(install, prepare, precision):
    install("whole")
    outcome = prepare(Variant(0.25, precision))
    assert isinstance(outcome, UnsupportedError)
    assert "8-bit" in outcome.why


def test_no_batches(install, prepare):
    install("whole")
    outcome = prepare(batch=4)
    assert isinstance(outcome, UnsupportedError)
    assert "batch" in outcome.what + outcome.why
