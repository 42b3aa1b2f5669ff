"""The whole contract of a backend: the host's half, and the device's where it has an agent."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from edgebench import registry
from edgebench.contract import Device
from edgebench.errors import SessionError, UnsupportedError, UsageError
from edgebench.prepare.cache import canonical_hash
from edgebench.records.model import Artifact, BuiltArtifact
from edgebench.records.session import Pass
from edgebench.records.values import Finding
from edgebench.records.variant import PRECISIONS, Variant
from edgebench.run.measuring.session import compare, require
from edgebench.run.targets import make_targets
from edgebench.testing import backend_kit as artifacts
from edgebench.testing.backend_kit import Asked, BackendKit, GoldenContract, runs, workers
from edgebench.testing.plugin import NOTE
from edgebench.testing.problems import (
    RUNTIMES,
    Problems,
    ended,
    fail,
    foreign_imports,
    judge_syntax,
    problems,
)
from edgebench.testing.session_contract import SessionContract

# What a backend promises whose device makes, on the board, what it loads.


BUILD_FUNCTIONS = {"build": 5, "build_version": 0}
"""What a runner that builds has, with the number of arguments (see runner_contract.py)."""


class BuildContract(GoldenContract):
    """Its test skips where the runner has no `build`, or the device builds nothing under these options."""

    def test_a_build_on_the_board(self, edgebench_backend: BackendKit) -> None:
        """The device builds before it loads, and takes what lies there the next time."""
        kit = edgebench_backend
        runner = kit.agent_backend().runner_files()[0]
        arguments = argument_counts(runner)
        if not kit.backend.builds(kit.options):
            if "build" in arguments:
                pytest.skip(f"{kit.backend.name} builds nothing with the options {kit.options}")
            pytest.skip(f"the runner of {kit.backend.name} has no build: it loads what was prepared")
        with problems() as faults:
            for name, count in BUILD_FUNCTIONS.items():
                faults.unless(
                    arguments.get(name) == count,
                    f"{runner.name} has no function {name} of {count} arguments at its top level",
                    "see edgebench.agent.runner_contract, or let builds() of the backend say no",
                )
        kit.require_golden()
        first, second = _built(kit), _built(kit)
        with problems() as faults:
            faults.unless(
                second.cached and second.sha256 == first.sha256,
                f"what was built, {first.sha256[:12]}, was not found again: {second.sha256[:12]}, "
                f"cached {second.cached}",
                "let build_version() say the same while runtime and board are the same",
            )


def argument_counts(file: Path) -> dict[str, int]:
    """How many arguments each function at the top level of a Python file takes."""
    try:
        body = ast.parse(file.read_text(encoding="utf-8")).body
    except SyntaxError:
        return {}
    return {node.name: len(node.args.args) for node in body if isinstance(node, ast.FunctionDef)}


def _built(kit: BackendKit) -> BuiltArtifact:
    """What a session loads over a connection of its own."""
    device = kit.opened()
    try:
        with device.session(kit.artifact(), kit.settings()) as session:
            built = session.facts().built
    except SessionError as error:
        fail(*ended("a build on the board", error))
    finally:
        device.close()
    if built is None:
        fail("facts() of the session say nothing of the build", "open the device with `builds=self.builds`")
    return built


# What a backend whose device runs Python promises: its runner's file, and what becomes of its workers.


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


# What a backend makes: whole artifacts, once, and one outcome a request.


class PreparationContract(Asked):
    """No device is opened."""

    def test_artifacts_are_whole(self, edgebench_backend: BackendKit) -> None:
        """Files are there with the hashes that are stated; input, classes and golden patches are sound."""
        kit = edgebench_backend
        asked = dict.fromkeys(
            [*((variant, 1) for variant in kit.variants), (kit.variants[-1], kit.subject.batch)]
        )
        with problems() as faults:
            for variant, batch in asked:
                artifact = kit.artifact(variant, batch)
                artifacts.check(faults, artifact, kit.request(variant, batch), played=kit.plays)

    def test_a_second_preparation_comes_from_the_cache(self, edgebench_backend: BackendKit) -> None:
        """The same artifact, and its file is not written again."""
        kit = edgebench_backend
        prepared = [kit.artifact(variant) for variant in kit.variants]
        before = [_identity(artifact.path) for artifact in prepared]
        again = kit.prepare([kit.request(variant) for variant in kit.variants])
        with problems() as faults:
            for first, second, identity in zip(prepared, again, before, strict=True):
                if not faults.unless(
                    second == first,
                    f"{first.variant} is another artifact when it is prepared again",
                    "keep what was made under the hash of prepare_inputs (Cache.note_recipe)",
                ):
                    continue
                faults.unless(
                    _identity(first.path) == identity,
                    f"{first.variant} was written again although the cache holds it",
                    "look into the cache first; Cache.add_bytes writes nothing twice",
                )

    def test_one_outcome_a_request_in_order(self, edgebench_backend: BackendKit) -> None:
        """What is not supported is an UnsupportedError among the outcomes, and stops none of the others."""
        kit = edgebench_backend
        supported = list(kit.variants)
        depth = supported[0].depth_multiplier
        foreign = next(
            (precision for precision in PRECISIONS if precision not in kit.backend.precisions), "int4"
        )
        asked = [supported[-1], Variant(depth, foreign), supported[0]]
        try:
            outcomes = kit.prepare([kit.request(variant) for variant in asked])
        except UnsupportedError as error:
            fail(
                f"prepare raised UnsupportedError for {asked[1].name}: {error}",
                "return it in its place: the other requests have their artifacts all the same",
            )
        with problems() as faults:
            if not faults.unless(
                len(outcomes) == len(asked),
                f"prepare gave {len(outcomes)} outcomes for {len(asked)} requests",
                "give one a request, in order",
            ):
                return faults.report()
            refused = outcomes[1]
            if faults.unless(
                isinstance(refused, UnsupportedError),
                f"prepare made {refused!r} of {asked[1].name}, which is not among the precisions",
                "return an UnsupportedError for what the device does not take",
            ):
                faults.unless(
                    bool(str(refused).strip()),
                    "an UnsupportedError without a message",
                    "say why the device cannot take the variant, with the figure where there is one",
                )
            for index in (0, 2):
                outcome = outcomes[index]
                faults.unless(
                    isinstance(outcome, Artifact) and outcome.variant == asked[index].name,
                    f"outcome {index} is {_named(outcome)}, {asked[index].name} was due",
                    "give the outcomes in the order of the requests",
                )


def _identity(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _named(outcome: object) -> str:
    return outcome.variant if isinstance(outcome, Artifact) else repr(outcome)


# What a backend says of itself: name, options, what decides its artifacts, what stands in the way.


ALONE_S = 120.0
UNKNOWN = "edgebench_knows_no_such_option"


class DeclaredContract(Asked):
    """Nothing is prepared and no device is opened."""

    def test_name_description_and_precisions(self, edgebench_backend: BackendKit) -> None:
        """They are what commands, tables and result files show."""
        backend = edgebench_backend.backend
        with problems() as faults:
            faults.unless(
                bool(re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", str(backend.name))),
                f"the name {backend.name!r} cannot be typed and stored everywhere",
                "take lower-case letters, digits, - and _, beginning with a letter",
            )
            if edgebench_backend.registered:
                registered = edgebench_backend.subject.backend
                faults.unless(
                    backend.name == registered,
                    f"it is registered as {registered!r} and calls itself {backend.name!r}",
                    'give the entry point under "edgebench.backends" the name of the class',
                )
            faults.unless(
                bool(backend.description.strip()) and backend.description.isprintable(),
                f"the description {backend.description!r} is not one line",
                "say in one line what is measured, and by which runtime",
            )
            faults.unless(
                bool(backend.precisions)
                and set(backend.precisions) <= set(PRECISIONS)
                and len(set(backend.precisions)) == len(backend.precisions),
                f"the precisions {backend.precisions!r} are not some of {PRECISIONS}, each once",
                "name those that the device takes",
            )
            faults.unless(
                set(backend.default_precisions) <= set(backend.precisions),
                f"the default precisions {backend.default_precisions!r} are not all among its precisions",
                "name some of those that the device takes, or none for all of them",
            )
            faults.unless(
                1 <= backend.default_batch <= backend.most_batch,
                f"default_batch is {backend.default_batch!r} and most_batch is {backend.most_batch!r}",
                "name the batch of a run that asks for none, and the largest that the device takes",
            )
            kinds = registry.names("edgebench.probes")
            for meter in backend.meters:
                faults.unless(
                    meter.partition(":")[0] in kinds
                    and not registry.is_monitor(meter)
                    and not registry.samples_on_host(meter),
                    f"{meter!r} of its meters is not a meter on the board",
                    f"name registered probes with a power channel and PLACE = 'board', among {kinds}",
                )

    def test_concurrency(self, edgebench_backend: BackendKit) -> None:
        """It is a number of inferences, the same for the same options: it is part of every key."""
        kit = edgebench_backend
        options = kit.backend.options_model.model_validate(dict(kit.subject.options)).model_dump(mode="json")
        counts = [kit.backend.concurrency(options) for _ in range(2)]
        with problems() as faults:
            faults.unless(
                all(type(count) is int and count >= 1 for count in counts) and len(set(counts)) == 1,
                f"concurrency is {counts[0]!r}, then {counts[1]!r}, under the options {options}",
                "return how many inferences the device has in flight: a whole number, 1 or more",
            )

    def test_options(self, edgebench_backend: BackendKit) -> None:
        """Unknown keys are refused, defaults are valid, the model cannot be changed, JSON carries it."""
        kit = edgebench_backend
        model = kit.backend.options_model
        with problems() as faults:
            options = model.model_validate(dict(kit.subject.options))
            _check_options(faults, model, options)
            _check_refusal(faults, kit)
            back = model.model_validate(json.loads(options.model_dump_json()))
            faults.unless(
                back == options,
                f"the options {options} come back from JSON as {back}",
                "use fields of JSON's own types, or types that pydantic turns back",
            )
            # Text is what --set gives: an option that only takes Python's own types cannot be set.
            for name, value in options.model_dump(mode="json").items():
                if isinstance(value, str | int | float) and not isinstance(value, bool):
                    _check_typed(
                        faults, model, {**options.model_dump(mode="json"), name: str(value)}, name, options
                    )

    def test_prepare_inputs(
        self, edgebench_backend: BackendKit, record_property: Callable[[str, object], None]
    ) -> None:
        """They are JSON, the same when asked twice, and differ where the artifact differs."""
        kit = edgebench_backend
        requests = [
            kit.request(variant, batch)
            for variant in kit.variants
            for batch in dict.fromkeys((1, kit.subject.batch))
        ]
        began = time.perf_counter()
        inputs = [kit.backend.prepare_inputs(request) for request in requests]
        spent_us = (time.perf_counter() - began) * 1e6 / len(requests)
        record_property(NOTE, f"{kit.backend.name}: prepare_inputs took {spent_us:.0f} us a request")
        with problems() as faults:
            for request, prepare_inputs in zip(requests, inputs, strict=True):
                subject = f"prepare_inputs of {request.variant.name} at batch {request.batch}"
                if not faults.unless_json(prepare_inputs, subject):
                    return faults.report()
                faults.unless(
                    kit.backend.prepare_inputs(request) == prepare_inputs,
                    f"{subject} differ when they are asked for twice",
                    "leave times, random numbers and paths of scratch folders out",
                )
            hashes = [canonical_hash(prepare_inputs) for prepare_inputs in inputs]
            for index, request in enumerate(requests):
                if (first := hashes.index(hashes[index])) < index:
                    other = requests[first]
                    faults.add(
                        f"prepare_inputs are the same for {other.variant.name} at batch {other.batch} and "
                        f"{request.variant.name} at batch {request.batch}",
                        "put the variant and the batch in: they are hashed into the key of the trial",
                    )
            for name, value in (kit.subject.deciding or {}).items():
                changed = replace(requests[0], options={**kit.options, name: value})
                faults.unless(
                    canonical_hash(kit.backend.prepare_inputs(changed)) != hashes[0],
                    f"the option {name} decides the artifact, and prepare_inputs are the same with {value!r}",
                    f"put request.options[{name!r}] in",
                )

    def test_looking_at_it_loads_no_runtime(self, edgebench_backend: BackendKit, tmp_path: Path) -> None:
        """In a process of its own: no runtime is imported, nothing is made, the inputs are the same."""
        kit = edgebench_backend
        backend = kit.backend
        kind = type(backend)
        asked = {
            "backend": backend.name if kit.registered else f"{kind.__module__}:{kind.__qualname__}",
            "options": kit.options,
            "variants": [variant.name for variant in kit.variants],
            "batch": 1,
        }
        cache = tmp_path / "cache"
        paths = os.pathsep.join(path for path in sys.path if path)
        done = subprocess.run(
            [sys.executable, "-m", "edgebench.testing.lone_backend", json.dumps(asked)],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "4", "EDGEBENCH_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            timeout=ALONE_S,
            check=False,
        )
        if done.returncode != 0:
            fail(
                f"it cannot be loaded in a process of its own: {done.stderr[-2000:]}",
                "see what it says there",
            )
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        with problems() as faults:
            loaded = set(answer["modules"]) & (RUNTIMES | kit.runtime_modules())
            faults.unless(
                not loaded,
                f"looking at the backend imports {', '.join(sorted(loaded))}",
                "import a runtime in the runner, or in a process that converts; never in the harness's own",
            )
            here = [canonical_hash(backend.prepare_inputs(kit.request(variant))) for variant in kit.variants]
            faults.unless(
                answer["hashes"] == here,
                "prepare_inputs differ in another process",
                "sort what comes from sets; leave process numbers, times and object addresses out",
            )
            written = [path for path in cache.rglob("*") if path.is_file()] if cache.exists() else []
            faults.unless(
                not written,
                f"prepare_inputs wrote {len(written)} files into the cache",
                "make things in prepare alone",
            )

    def test_check_has_a_fix_for_each_problem(self, edgebench_backend: BackendKit) -> None:
        """`doctor` says what stands in the way, and what to do about it."""
        findings = edgebench_backend.backend.check(edgebench_backend.target)
        with problems() as faults:
            for finding in findings:
                if not faults.unless(
                    isinstance(finding, Finding) and finding.level in {"ok", "warning", "error"},
                    f"check gave {finding!r}",
                    'give vocabulary.finding.Finding("ok" | "warning" | "error", subject, message, fix)',
                ):
                    continue
                faults.unless(
                    bool(finding.subject.strip()) and bool(finding.message.strip()),
                    f"a finding without a subject or a message: {finding!r}",
                    "say what was looked at and what was seen",
                )
                faults.unless(
                    finding.level == "ok" or bool(finding.fix.strip()),
                    f"{finding.level} without a fix: {finding.subject}: {finding.message}",
                    "say what the user has to do",
                )


def _check_options(faults: Problems, model: Any, options: Any) -> None:
    try:
        model.model_validate({**options.model_dump(), UNKNOWN: "1"})
    except ValidationError:
        pass
    else:
        faults.add(
            f"an unknown option is taken: {UNKNOWN}",
            'derive from edgebench.contract.BackendOptions and leave extra="forbid" as it is',
        )
    defaults = {
        name: field.get_default(call_default_factory=True)
        for name, field in model.model_fields.items()
        if not field.is_required()
    }
    for name, value in defaults.items():
        try:
            model.model_validate({**options.model_dump(), name: value})
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            faults.add(f"the default of {name}, {value!r}, is not valid: {reason}", "give one that is")
    for name in model.model_fields:
        try:
            setattr(options, name, getattr(options, name))
        except ValidationError:
            continue
        faults.add(
            "the options can be changed after they were validated",
            "derive from edgebench.contract.BackendOptions and leave frozen=True as it is",
        )
        return


def _check_refusal(faults: Problems, kit: BackendKit) -> None:
    """As a user meets it: `--set` of a key that does not exist names those that do."""
    try:
        make_targets({kit.backend.name: kit.backend}, (f"{UNKNOWN}=1",), ())
    except UsageError as error:
        absent = [name for name in kit.backend.options_model.model_fields if name not in error.fix]
        faults.unless(
            not absent, f"--set of an unknown key does not name {absent}: {error.fix}", "name every option"
        )
    else:
        faults.add("--set takes an unknown key", "do not name an option as the test does")


def _check_typed(faults: Problems, model: Any, texts: dict[str, Any], name: str, options: Any) -> None:
    try:
        same = model.model_validate(texts) == options
    except ValidationError as error:
        same, texts = False, {name: error.errors()[0]["msg"]}
    faults.unless(
        same,
        f"the option {name} cannot be given as text, as --set gives it: {texts.get(name)}",
        "take text as well: no strict types",
    )


# What every backend promises on the host, tried through Backend, Device and Session alone.


class HostContract(DeclaredContract, PreparationContract, SessionContract):
    """Nothing in here knows an agent: derive from it where the device has none, else from BackendContract."""


class BackendContract(HostContract, AgentContract):
    """Derive from it, name the backend, and pytest holds it to the contract.

    The attributes are HostContract's:

        class TestBoard(BackendContract):
            backend = "my-board"
            options = {"threads": 1}
            skips = {"test_batch_edges": "the engine takes one patch a call"}
    """
