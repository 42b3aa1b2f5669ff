"""Jetsons of every JetPack over SSH: agent, builder, worker and runner on the Python and TensorRT of each.

The TensorRT and the CUDA runtime are stand-ins; engines are built from the files that are sent, and compute.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from edgebench.errors import SessionError
from edgebench.installed import version_of
from edgebench.link.agent_device import AgentDevice
from edgebench.link.session_loop import Timeouts
from edgebench.prepare.cache import sha256_file
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch
from edgebench.records.values import Scene, Variant
from edgebench.run.measuring import session as golden
from tests.backends.jetson import standin
from tests.backends.jetson.conftest import PRECISIONS
from tests.fakes import agent_backend
from tests.link import sshd
from tests.link.old_python import JETPACK_5, JETPACK_6, JETPACK_7, TOY, python_of
from tests.link.rig import Rig, make_rig

BACKEND = agent_backend("jetson")
PYTHONS = {"8.0": TOY, "8.2": TOY, "8.6": JETPACK_5, "10": JETPACK_6, "11": JETPACK_7}
BATCH = 4
WEIGHT_LAYERS = 28  # the network's convolutions, and its last product


class Jetson:
    """A board at the end of SSH, with a stand-in in the shape of one release.

    Attributes:
        placed: EdgeBench's folder there.
        log, report: what the stand-in says of its builds, and of what processes held at their ends.
    """

    def __init__(self, folder: Path, rig: Rig, shape: str) -> None:
        python, why = python_of(PYTHONS[shape])
        if python is None:
            pytest.skip(why)
        self._folder, self._rig, self._shape, self._python = folder, rig, shape, python
        self._stand_in = standin.write(folder / "standin", shape)
        self.log, self._report = folder / "log", folder / "report"
        environment = {
            **self._stand_in.environment,
            "STANDIN_LOG": str(self.log),
            "STANDIN_REPORT": str(self._report),
        }
        self._board = sshd.make_board(folder, environment=environment)
        self._board.start()
        self.placed = self._board.placed
        self._device: AgentDevice | None = None

    @property
    def device(self) -> AgentDevice:
        if self._device is None:
            self._device = self._opened(Timeouts())
        return self._device

    def _opened(self, timeouts: Timeouts) -> AgentDevice:
        link = self._rig.link(self._board, self._python)
        files, builds = BACKEND.runner_files(), BACKEND.builds
        return AgentDevice(link, files, timeouts, explain=BACKEND.explain, builds=builds)

    def impatient(self, build_s: float) -> AgentDevice:
        """A connection that waits so long for a step of a build; until `leave` the one that there is."""
        self.leave()
        self._device = self._opened(Timeouts(build=build_s))
        return self._device

    def leave(self) -> None:
        """End the connection: the next session has one of its own, and asks what lies there."""
        if self._device is not None:
            self._device.close()
        self._device = None

    def upgrade(self, version: str) -> None:
        """Another TensorRT of the same shape."""
        self.leave()
        standin.write(self._folder / "standin", self._shape, version)

    def end(self) -> None:
        self.leave()
        self._board.power_off()

    def files(self) -> set[str]:
        """What lies in EdgeBench's folder there."""
        return {path.name for path in self.placed.iterdir()}

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [event for event in map(json.loads, lines) if event["event"] == name]

    def held(self) -> dict[str, int]:
        """What processes had not given back of the CUDA runtime at their ends, all together."""
        reports = [json.loads(line) for line in self._report.read_text().splitlines()]
        names = ("device_blocks", "host_blocks", "streams", "events", "refused_addresses", "pageable_copies")
        return {name: sum(report[name] for report in reports) for name in names}


NOTHING = dict.fromkeys(
    ("device_blocks", "host_blocks", "streams", "events", "refused_addresses", "pageable_copies"), 0
)


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return make_rig(tmp_path_factory.mktemp("rig"))


@pytest.fixture(scope="module")
def jetson(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Jetson]]:
    """A board by the release on it, kept for all tests."""
    for why in filter(None, (sshd.missing(), standin.missing())):
        pytest.skip(why)
    boards: dict[str, Jetson] = {}

    def board(shape: str) -> Jetson:
        if shape not in boards:
            boards[shape] = Jetson(tmp_path_factory.mktemp("jetson"), rig, shape)
        return boards[shape]

    yield board
    for each in boards.values():
        each.end()


@pytest.fixture(scope="module")
def quarter(rig: Rig) -> dict[str, Artifact]:
    """The study's network at a depth multiplier of 0.25, by precision."""
    if version_of("tensorflow") is None:
        pytest.skip("conversion takes tensorflow")
    requests = [PrepareRequest(Variant(0.25, precision), BATCH, {}) for precision in PRECISIONS]
    outcomes = BACKEND.prepare(requests, rig.cache, lambda _: None)
    prepared = [outcome for outcome in outcomes if isinstance(outcome, Artifact)]
    assert len(prepared) == len(PRECISIONS), outcomes
    return dict(zip(PRECISIONS, prepared, strict=True))


def settings(artifact: Artifact, env: dict[str, str] | None = None, **options: Any) -> SessionSettings:
    chosen = BACKEND.options_model.model_validate(options).model_dump(mode="json")
    return SessionSettings(artifact.batch, chosen, Launch(env=env or {}))


def measured(device: AgentDevice, artifact: Artifact, scene: Scene, **options: Any) -> tuple[Any, Any]:
    """A session: its outputs are held against the artifact's, then a pass; scores and facts."""
    chosen = settings(artifact, **options)
    plan = MeasurePlan(scene, 1, warmup_floor=1, warmup_cap=1)
    with device.session(artifact, chosen) as session:
        golden.require(golden.compare(session.golden(), artifact.golden, chosen.options))
        passes = list(session.measure(plan))
        facts = session.facts()
    return passes[-1].scores, facts


def suffixes(names: set[str]) -> set[str]:
    return {name.rpartition(".")[2] for name in names}


def small_scene(artifact: Artifact, folder: Path) -> Scene:
    """The golden patches of a small model in a row, over and over: two batches and a part of one."""
    patches = np.load(artifact.golden.patches)
    row = np.concatenate([patches[i % len(patches)] for i in range(2 * artifact.batch + 5)], axis=1)
    path = folder / "scene.npy"
    np.save(path, row)
    return Scene(path, sha256_file(path), row.shape[0], row.shape[1], patch=row.shape[0])


def test_the_oldest_jetson_builds_checks_and_measures(jetson, artifacts, tmp_path):
    """Python 3.6 and TensorRT 8.0: int8 by its calibrator, one batch after another and double-buffered."""
    board, artifact = jetson("8.0"), artifacts["int8"]
    scene = small_scene(artifact, tmp_path)
    scores, facts = measured(board.device, artifact, scene)
    doubled, again = measured(board.device, artifact, scene, double_buffer=True)
    board.leave()
    np.testing.assert_array_equal(scores, doubled)
    assert (facts.built.cached, again.built.cached) == (False, True)
    assert facts.runtime["version"] == "8.0.1.6" and facts.runtime["python"].startswith("3.6.")
    assert set(facts.runtime["weight_layer_precisions"]) == {"int8", "fp32"}  # the dense layer stays float
    assert board.held() == NOTHING


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shape", PYTHONS)
def test_every_precision_on_a_jetson_of_each_age(jetson, rig, quarter, shape, precision):
    board, artifact = jetson(shape), quarter[precision]
    calibrated = len(board.events("calibrated"))
    scores, facts = measured(board.device, artifact, rig.scene)
    runtime = facts.runtime
    assert not facts.built.cached
    assert runtime["version"] == standin.RELEASES[shape].version
    assert runtime["python"].startswith(PYTHONS[shape].version + ".")
    assert runtime["gpu"] == standin.RELEASES[shape].gpu
    has_calibrator = shape != "11"
    dense = {"fp32": 1} if has_calibrator and precision == "int8" else {}
    assert runtime["weight_layer_precisions"] == {precision: WEIGHT_LAYERS - len(dense), **dense}
    assert len(board.events("calibrated")) - calibrated == (has_calibrator and precision == "int8")
    if precision == "fp16":
        doubled, again = measured(board.device, artifact, rig.scene, double_buffer=True)
        np.testing.assert_array_equal(scores, doubled)
        assert again.built.cached
    board.leave()
    assert board.events("refused") == []
    assert board.held() == NOTHING


@pytest.mark.slow
@pytest.mark.attack("a board's JetPack is replaced: the engine is built again, the other one is never loaded")
def test_an_engine_of_another_version_is_built_anew_and_never_loaded(jetson, artifacts, tmp_path):
    board, artifact = jetson("8.2"), artifacts["fp16"]
    scene = small_scene(artifact, tmp_path)
    cached = []
    for version in ("8.2.1.8", "8.2.5.1", "8.2.1.8"):
        board.upgrade(version)
        _, facts = measured(board.device, artifact, scene)
        assert facts.runtime["version"] == version
        cached.append(facts.built.cached)
    assert cached == [False, False, True]
    assert board.events("refused") == []


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["8.0", "10", "11"])
@pytest.mark.attack("TensorRT accepts a precision and builds float: the trial fails and says which layers")
def test_a_precision_that_is_not_honoured_fails_the_trial(jetson, artifacts, shape):
    board, artifact = jetson(shape), artifacts["fp16"]
    assert board.device.describe()
    before = board.files()
    with pytest.raises(SessionError) as caught:
        board.device.session(artifact, settings(artifact, {"STANDIN_UNHONOURED": "all"})).__enter__()
    assert caught.value.stage == "build"
    assert "fp16" in str(caught.value) and "in fp32" in caught.value.why
    assert "built" not in suffixes(board.files() - before)


@pytest.mark.slow
@pytest.mark.attack(
    "memory runs out while TensorRT builds: the session is out_of_memory, the next one builds"
)
def test_memory_that_runs_out_while_building(jetson, artifacts, tmp_path):
    board, artifact = jetson("8.6"), artifacts["fp16"]
    with pytest.raises(SessionError) as caught:
        board.device.session(artifact, settings(artifact, {"STANDIN_BUILD": "oom"})).__enter__()
    assert (caught.value.status, caught.value.stage) == ("out_of_memory", "build")
    _, facts = measured(board.device, artifact, small_scene(artifact, tmp_path))
    assert not facts.built.cached


@pytest.mark.slow
@pytest.mark.attack(
    "a build is killed: the session fails with the signal, nothing is left, the next one builds"
)
def test_a_build_that_is_killed(jetson, artifacts, tmp_path):
    board, artifact = jetson("10"), artifacts["fp32"]
    assert board.device.describe()
    before = board.files()
    with pytest.raises(SessionError) as caught:
        board.device.session(artifact, settings(artifact, {"STANDIN_BUILD": "kill"})).__enter__()
    assert (caught.value.stage, caught.value.signal) == ("build", "SIGKILL")
    left = board.files() - before
    assert "built" not in suffixes(left) and not [name for name in left if (board.placed / name).is_dir()]
    _, facts = measured(board.device, artifact, small_scene(artifact, tmp_path))
    assert not facts.built.cached


@pytest.mark.slow
@pytest.mark.attack(
    "a build gets no further: it is ended after a step's time, nothing is left, the next one builds"
)
def test_a_build_that_hangs_is_ended(jetson, artifacts, tmp_path):
    board, artifact = jetson("8.6"), artifacts["fp32"]
    device = board.impatient(build_s=8.0)
    before = board.files()
    with pytest.raises(SessionError) as caught:
        device.session(artifact, settings(artifact, {"STANDIN_BUILD": "hang"})).__enter__()
    assert (caught.value.status, caught.value.stage) == ("timeout", "build")
    board.leave()
    [hanging] = board.events("disturbed")
    assert not psutil.pid_exists(hanging["pid"])
    assert "built" not in suffixes(board.files() - before)
    _, facts = measured(board.device, artifact, small_scene(artifact, tmp_path))
    assert not facts.built.cached


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["8.0", "10"])
def test_a_slow_build_says_how_far_it_is(jetson, artifacts, shape):
    """By the verbose log, and from TensorRT 10 on by a progress monitor."""
    board, artifact = jetson(shape), artifacts["fp32"]
    reports: list[str] = []
    chosen = settings(artifact, {"STANDIN_BUILD": "slow:2"}, workspace_mb=100)
    chosen = replace(chosen, report=lambda stage, done, steps: reports.append(stage))
    with board.device.session(artifact, chosen) as session:
        assert not session.facts().built.cached
    steps = {report for report in reports if report.startswith("build: ")}
    named = {"8.0": "Conv_c", "10": "Building Engine"}[shape]
    assert any(named in step for step in steps)
    assert len(steps) >= 3


@pytest.fixture
def small_disk(rig: Rig, tmp_path: Path) -> Iterator[Jetson]:
    """A board whose folder is a disk of its own, of 64 MiB."""
    for why in filter(None, (sshd.missing(), standin.missing())):
        pytest.skip(why)
    board = Jetson(tmp_path, rig, "8.0")
    board.placed.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "none", str(board.placed)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        board.end()
        pytest.skip("only root mounts a small disk")
    try:
        yield board
    finally:
        board.end()
        with contextlib.suppress(subprocess.CalledProcessError):
            subprocess.run(["umount", "-l", str(board.placed)], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.attack(
    "the board's disk fills while TensorRT builds: disk_full, nothing is left, the next one builds"
)
def test_a_disk_that_fills_while_building(small_disk, artifacts, tmp_path):
    board, artifact = small_disk, artifacts["fp32"]
    filler = board.placed / "filler"
    with pytest.raises(SessionError) as caught:
        board.device.session(artifact, settings(artifact, {"STANDIN_BUILD": f"fill:{filler}"})).__enter__()
    assert (caught.value.status, caught.value.stage) == ("disk_full", "build")
    assert board.events("built") and "built" not in suffixes(board.files())
    filler.unlink()
    _, facts = measured(board.device, artifact, small_scene(artifact, tmp_path))
    assert not facts.built.cached
