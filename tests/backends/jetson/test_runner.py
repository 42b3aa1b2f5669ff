"""The runner on stand-ins for TensorRT and CUDA of five releases: engines built, loaded, run, let go of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from edgebench.records.model import Artifact
from tests.backends.jetson.standin import RELEASES, StandIn
from tests.fakes import agent_backend
from tests.models.crafted import onnx_file
from tests.user_models import SIDE

PATCHES = 70  # five batches of 16, the last one padded
DRIVER = ("-m", "tests.backends.jetson.engine_run")
TREE = Path(__file__).parents[3]
OPTIONS = agent_backend("jetson").options_model


@dataclass(frozen=True)
class Outcome:
    """What a program with the runner said, and what it still held of CUDA at its end."""

    results: dict[str, Any]
    report: dict[str, Any]

    @property
    def error(self) -> dict[str, Any]:
        return dict(self.results["error"])

    def held(self) -> dict[str, int]:
        return {name: self.report[name] for name in ("device_blocks", "host_blocks", "streams", "events")}


NOTHING = {"device_blocks": 0, "host_blocks": 0, "streams": 0, "events": 0}


class Bench:
    """Runs artifacts on stand-ins, each engine built once."""

    def __init__(
        self, stand_in: Callable[[str], StandIn], folder: Path, artifacts: Mapping[str, Artifact]
    ) -> None:
        self.stand_in, self.artifacts = stand_in, artifacts
        self._folder = folder
        self._engines: dict[tuple[str, str], str] = {}
        self._runs = 0

    @property
    def patches(self) -> Path:
        path = self._folder / "patches.npy"
        if not path.exists():
            (artifact, *_) = self.artifacts.values()
            golden = np.load(artifact.golden.patches)
            np.save(path, np.resize(golden, (PATCHES, *golden.shape[1:])))
        return path

    def run(
        self,
        shape: str,
        precision: str = "fp32",
        *chosen: dict[str, Any],
        env: Mapping[str, str] | None = None,
        engine: str | None = None,
    ) -> Outcome:
        """Load and run with each of the chosen options; the engine is built where there is none yet."""
        artifact = self.artifacts[precision]
        task = {
            "source": str(artifact.path),
            "companions": {name: str(companion.path) for name, companion in artifact.companions.items()},
            "precision": precision,
            "options": [
                OPTIONS.model_validate(options).model_dump(mode="json") for options in chosen or ({},)
            ],
            "engine": engine or self._engines.get((shape, precision)),
            "patches": str(self.patches),
            "input": artifact.input.model_dump(mode="json"),
            "tensors": [],
            "batch": artifact.batch,
            "classes": artifact.scores,
        }
        outcome = self.carry_out(shape, task, env or {})
        if "error" not in outcome.results:
            self._engines.setdefault((shape, precision), outcome.results["engine"])
        return outcome

    def carry_out(self, shape: str, task: Mapping[str, Any], env: Mapping[str, str]) -> Outcome:
        """Have the program do a task (see engine_run.py), in a folder of its own."""
        self._runs += 1
        folder = self._folder / f"{self._runs}"
        folder.mkdir()
        report = folder / "report.json"
        environment = {**os.environ, **self.stand_in(shape).environment, "STANDIN_REPORT": str(report), **env}
        completed = subprocess.run(
            [sys.executable, *DRIVER],
            input=json.dumps({**task, "folder": str(folder)}),
            capture_output=True,
            text=True,
            timeout=120,
            cwd=TREE,
            env=environment,
        )
        assert completed.returncode == 0, completed.stderr
        return Outcome(
            json.loads(completed.stdout), json.loads(report.read_text() if report.exists() else "{}")
        )


@pytest.fixture(scope="module")
def bench(
    stand_in: Callable[[str], StandIn],
    artifacts: dict[str, Artifact],
    tmp_path_factory: pytest.TempPathFactory,
) -> Bench:
    return Bench(stand_in, tmp_path_factory.mktemp("engines"), artifacts)


def expected(artifact: Artifact) -> Any:
    """Scores [PATCHES, classes]: the golden ones again and again."""
    return np.resize(np.array(artifact.golden.scores), (PATCHES, artifact.scores))


@pytest.mark.parametrize(
    ("shape", "precision"),
    [("8.0", "int8"), ("8.2", "fp16"), ("8.6", "int8"), ("10", "fp16"), ("11", "int8")],
)
def test_every_release_gives_the_same_scores_one_by_one_and_double_buffered(
    bench: Bench, shape: str, precision: str
):
    outcome = bench.run(shape, precision, {}, {"double_buffer": True})
    assert "error" not in outcome.results, outcome.results
    alone, doubled = outcome.results["runs"]
    artifact, release = bench.artifacts[precision], RELEASES[shape]
    np.testing.assert_allclose(alone["scores"], expected(artifact), atol=artifact.golden.tolerance)
    assert alone["scores"] == doubled["scores"]
    assert (alone["slots"], doubled["slots"]) == (1, 2)
    assert alone["overlapping"] == 0  # how many of the others' batches overlap is up to the machine
    for run in (alone, doubled):
        assert run["stages"] == ["patchify", "preprocess", "infer", "gpu"]
        assert all(duration > 0 for duration in run["gpu_ns"])
        runtime = run["runtime"]
        assert (runtime["name"], runtime["version"]) == ("tensorrt", release.version)
        assert (runtime["compute_capability"], runtime["cuda"]) == (release.capability, release.cuda)
        by_names = shape not in ("8.0", "8.2")
        assert runtime["api"] == ("execute_async_v3" if by_names else "execute_async_v2")
        assert runtime["precision"] == precision and runtime["layer_precisions"][precision] > 0
    assert [run["runtime"]["double_buffer"] for run in (alone, doubled)] == [False, True]
    assert release.version in outcome.results["version"] and release.capability in outcome.results["version"]
    assert outcome.held() == NOTHING
    assert outcome.report["pageable_copies"] == outcome.report["refused_addresses"] == 0


@pytest.mark.attack("a function of the CUDA runtime fails: the session ends with CUDA's own words")
@pytest.mark.parametrize(
    ("function", "call", "code", "name", "double_buffer"),
    [
        ("cudaEventCreateWithFlags", 1, 100, "cudaErrorNoDevice", False),
        ("cudaMemcpyAsync", 3, 700, "cudaErrorIllegalAddress", False),
        ("cudaStreamSynchronize", 2, 700, "cudaErrorIllegalAddress", False),
        ("cudaEventSynchronize", 2, 719, "cudaErrorLaunchFailure", True),
        ("cudaEventElapsedTime", 2, 719, "cudaErrorLaunchFailure", True),
    ],
)
def test_a_failed_call_ends_the_session_with_its_own_message(
    bench: Bench, function: str, call: int, code: int, name: str, double_buffer: bool
):
    bench.run("10", "fp16")  # the engine is there, whatever fails
    failing = {"STANDIN_CUDA_FAIL": f"{function}:{call}:{code}"}
    error = bench.run("10", "fp16", {"double_buffer": double_buffer}, env=failing).error
    assert error["kind"] == "CudaError"
    assert name in error["what"]
    # What a failure leaves behind fails the other thread's next call with the same words.
    assert double_buffer or error["what"].startswith(f"{function} failed: ")


@pytest.mark.parametrize(("function", "call"), [("cudaMalloc", 1), ("cudaHostAlloc", 2)])
def test_memory_that_runs_out_is_told_and_what_was_taken_is_free_again(
    bench: Bench, function: str, call: int
):
    bench.run("10", "fp16")
    outcome = bench.run("10", "fp16", env={"STANDIN_CUDA_FAIL": f"{function}:{call}:2"})
    assert outcome.error["status"] == "out_of_memory"
    assert "out of memory" in outcome.error["what"]
    assert ("MiB are free" in outcome.error["what"]) == (outcome.error["kind"] == "CudaMemoryError")
    assert outcome.held() == NOTHING


def test_the_timed_loop_allocates_nothing_of_the_size_of_a_batch(bench: Bench):
    # Without the stand-in's own work, which does allocate.
    outcome = bench.run("10", "fp32", {}, {"double_buffer": True}, env={"STANDIN_ZERO_WORK": "1"})
    batch_bytes = 16 * 3 * SIDE * SIDE * 4
    for run in outcome.results["runs"]:
        assert 0 < run["allocated_bytes"] < batch_bytes / 8


@pytest.mark.attack("an engine of another TensorRT release is on the board: load refuses it")
def test_an_engine_of_another_release_is_not_loaded(bench: Bench):
    engine = bench.run("8.2", "fp16").results["engine"]
    outcome = bench.run("10", "fp16", engine=engine)
    assert outcome.error["status"] == "load_failed"
    assert "8.2.1" in outcome.error["what"] and "10.3" in outcome.error["what"]
    assert outcome.held() == NOTHING


def test_a_model_of_several_tensors_gives_all_its_outputs_one_at_a_time(bench: Bench, tmp_path: Path):
    rng = np.random.default_rng(3)
    by_tokens, by_extra = (rng.normal(size=shape).astype(np.float32) for shape in ((6, 5), (8, 2)))
    nodes = [
        helper.make_node("Gemm", ["tokens", "v"], ["p"]),
        helper.make_node("Flatten", ["extra"], ["f"]),
        helper.make_node("Gemm", ["f", "w"], ["q"]),
    ]
    shapes = ([1, 6], [1, 2, 4])
    inputs, outputs = dict(zip(("tokens", "extra"), shapes, strict=True)), {"p": [1, 5], "q": [1, 2]}
    constants = {"v": by_tokens, "w": by_extra}
    model = onnx_file(tmp_path / "two.onnx", nodes, inputs, outputs, constants)  # type: ignore[arg-type]
    samples = [rng.normal(size=(3, *shape)).astype(np.float32) for shape in shapes]
    np.savez(tmp_path / "samples.npz", **{str(place): array for place, array in enumerate(samples)})  # type: ignore[arg-type]
    task: dict[str, Any] = {
        "source": str(model),
        "companions": {},
        "precision": "fp32",
        "options": [OPTIONS.model_validate({"double_buffer": value}).model_dump() for value in (False, True)],
        "engine": None,
        "patches": str(tmp_path / "samples.npz"),
        "input": {},
        "tensors": [{"dtype": "float32", "shape": shape} for shape in shapes],
        "batch": 1,
        "classes": 7,
    }
    log = tmp_path / "log"
    outcome = bench.carry_out("8.2", task, {"STANDIN_LOG": str(log)})
    [run] = outcome.results["runs"]
    tokens, extra = samples
    expected_outputs = tokens.reshape(3, 6) @ by_tokens, extra.reshape(3, 8) @ by_extra
    np.testing.assert_allclose(run["scores"], np.concatenate(expected_outputs, axis=1), atol=1e-4)
    assert "--set double_buffer=false" in outcome.error["what"]
    events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert events.count("plugins") == 3  # for the build and for both loads


def test_without_a_device_the_words_are_cudas(bench: Bench):
    engine = bench.run("10", "fp16").results["engine"]
    outcome = bench.run("10", "fp16", env={"STANDIN_NO_DEVICE": "1"}, engine=engine)
    assert "cudaErrorNoDevice" in outcome.error["what"]


def test_a_cuda_runtime_that_is_named_is_taken_and_a_missing_one_is_told(bench: Bench, tmp_path: Path):
    bench.run("10", "fp16")
    named = bench.stand_in("10").cudart.resolve()
    [run] = bench.run("10", "fp16", {"cudart": str(named)}).results["runs"]
    assert run["runtime"]["cuda_library"] == str(named)
    error = bench.run("10", "fp16", {"cudart": str(tmp_path / "none.so")}).error
    assert error["kind"] == "ImportError" and "--set cudart" in error["what"] and "none.so" in error["what"]
