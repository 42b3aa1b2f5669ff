"""What a backend whose device runs Python promises: its runner's file, and what becomes of its workers."""

from __future__ import annotations

import os
import signal
import statistics
from collections.abc import Callable

import numpy as np
import pytest

from edgebench.contract import Device
from edgebench.errors import SessionError
from edgebench.measure.golden import compare, require
from edgebench.testing.backend_kit import BackendKit
from edgebench.testing.build_contract import BuildContract, argument_counts
from edgebench.testing.imports import foreign_imports
from edgebench.testing.plugin import NOTE
from edgebench.testing.problems import fail, problems
from edgebench.testing.pythons import judge_syntax
from edgebench.testing.workers import runs, workers
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.passes import Pass

COST_PASSES = 5


class AgentContract(BuildContract):
    """The device's half of the contract; its tests skip where the device has no agent."""

    def test_runner_files(self, edgebench_backend: BackendKit) -> None:
        """They are there, none is named twice, and the first has `load(path, options)`."""
        files = edgebench_backend.agent_backend().runner_files()
        with problems() as faults:
            if not faults.unless(bool(files), "runner_files() names no file", "name the runner first"):
                return faults.report()
            for file in files:
                faults.unless(file.is_file(), f"there is no runner file {file}", "ship it with the package")
            faults.unless(
                len(set(files)) == len(files),
                f"runner_files() names a file twice: {[str(file) for file in files]}",
                "name each once",
            )
            if files[0].is_file():
                faults.unless(
                    argument_counts(files[0]).get("load") == 2,
                    f"{files[0].name} has no function load(path, options) at its top level",
                    "the worker calls it with the artifact's path and the options",
                )

    def test_runner_is_python_3_6(
        self, edgebench_backend: BackendKit, record_property: Callable[[str, object], None]
    ) -> None:
        """The boards' Pythons are old; who looked stands in the summary."""
        kit = edgebench_backend
        with problems() as faults:
            for file in kit.agent_backend().runner_files():
                verdict = judge_syntax(file)
                judges = ", ".join(verdict.judges)
                record_property(NOTE, f"{kit.backend.name}: {file.name} was held to Python 3.6 by {judges}")
                for problem in verdict.problems:
                    faults.add(
                        f"{file.name} is not valid Python 3.6: {problem}",
                        "no walrus, no dataclasses, no `from __future__ import annotations`, no f'{x=}'",
                    )

    def test_runner_imports(self, edgebench_backend: BackendKit) -> None:
        """The standard library, numpy and the declared runtime: nothing else is on the board."""
        kit = edgebench_backend
        files = kit.agent_backend().runner_files()
        allowed = {"numpy"} | kit.runtime_modules()
        with problems() as faults:
            for file in files:
                for foreign in foreign_imports(file, allowed, files):
                    faults.add(
                        foreign,
                        "do without it, or declare the runtime's distribution in board_packages "
                        "(or its module in runtime_modules of the test)",
                    )

    def test_a_killed_worker_is_a_crash(self, edgebench_backend: BackendKit) -> None:
        """SIGKILL amid the measuring: the session ends as a crash, and the next one works."""
        kit = edgebench_backend
        kit.agent_backend()
        kit.require_golden()
        _check_end(kit, kit.device, signal.SIGKILL, "crash")

    def test_a_stopped_worker_is_a_timeout(self, edgebench_backend: BackendKit) -> None:
        """SIGSTOP amid the measuring: the session ends as a timeout, and the next one works."""
        kit = edgebench_backend
        kit.agent_backend()
        kit.require_golden()
        device = kit.impatient()
        try:
            _check_end(kit, device, signal.SIGSTOP, "timeout")
        finally:
            device.close()

    def test_the_workers_cost(
        self, edgebench_backend: BackendKit, record_property: Callable[[str, object], None]
    ) -> None:
        """What the loop costs a patch beside the runner's infer: a line of the summary, judged by nobody."""
        kit = edgebench_backend
        kit.agent_backend()
        if kit.plays:
            pytest.skip(f"{kit.backend.name} plays the times that it was given: nothing is measured")
        kit.require_golden()
        artifact = kit.artifact()
        with kit.device.session(artifact, kit.settings()) as session:
            session.golden()
            passes = list(session.measure(kit.plan(artifact, COST_PASSES)))
        steady = [
            steady_pass
            for steady_pass in passes
            if isinstance(steady_pass, Pass) and steady_pass.phase == "steady"
        ]
        if len(steady) != COST_PASSES:
            fail(f"{len(steady)} steady passes came, {COST_PASSES} were due", "see the passes over a scene")
        loop_us = statistics.median(outside_us(steady_pass, steady_pass.stages) for steady_pass in steady)
        rest_us = statistics.median(outside_us(steady_pass, ("infer",)) for steady_pass in steady)
        record_property(
            NOTE,
            f"{kit.backend.name}: the worker's loop costs {loop_us:.1f} us a patch between the stages, "
            f"{rest_us:.1f} us with patchify and preprocess ({artifact.variant}, batch {artifact.batch})",
        )


def _check_end(kit: BackendKit, device: Device, number: signal.Signals, status: str) -> None:
    if kit.subject.host is not None:
        pytest.skip(f"the worker is on {kit.subject.host}: only one on this machine is ended on purpose")
    artifact = kit.artifact()
    error, worker = _ended_by(kit, device, artifact, number)
    with problems() as faults:
        if faults.unless(
            error is not None,
            f"the session went on to its end although its worker had got {number.name}",
            "let the worker loop of the agent run the runner, in the worker's own process",
        ):
            assert error is not None
            faults.unless(
                error.status == status,
                f"after {number.name} the session ended as {error.status} ({error}), {status} was due",
                "start no process of your own in the runner that outlives the worker",
            )
            faults.unless(
                error.stage == "measure",
                f"{number.name} was reported at {error.stage}",
                "it was sent while measuring",
            )
        faults.unless(
            not runs(worker),
            f"the worker is still there after {number.name}",
            "ignore no signal in the runner",
        )
        try:
            with device.session(artifact, kit.settings()) as session:
                require(compare(session.golden(), artifact.golden, kit.options))
        except SessionError as after:
            faults.add(
                f"the session after {number.name} does not work: {after}",
                "take no lock and leave no file that only a worker's orderly end removes",
            )


def _ended_by(
    kit: BackendKit, device: Device, artifact: Artifact, number: signal.Signals
) -> tuple[SessionError | None, int]:
    before = workers()
    worker = 0
    try:
        with device.session(artifact, kit.settings()) as session:
            session.golden()
            passes = session.measure(kit.plan(artifact, passes=3))
            next(passes)
            started = workers() - before
            if len(started) != 1:
                fail(f"{len(started)} workers run in one session", "one session is one worker process")
            [worker] = started
            os.kill(worker, number)
            for _ in passes:
                pass
    except SessionError as error:
        return error, worker
    return None, worker


def outside_us(scene_pass: Pass, stages: tuple[str, ...]) -> float:
    """Microseconds a patch in which none of these stages runs; overlapping ones count once."""
    chosen = [index for index, name in enumerate(scene_pass.stages) if name in stages]
    spans = scene_pass.stamps_ns[:, chosen, :].reshape(-1, 2)
    spans = spans[np.argsort(spans[:, 0])]
    reached = np.maximum.accumulate(spans[:, 1])
    begins = np.maximum(spans[1:, 0], reached[:-1])
    covered = spans[0, 1] - spans[0, 0] + np.maximum(spans[1:, 1] - begins, 0).sum()
    patches = 0 if scene_pass.scores is None else len(scene_pass.scores)
    return float(scene_pass.image_ns - covered) / 1e3 / max(patches, 1)
