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
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from edgebench import registry
from edgebench.contract import Device
from edgebench.errors import SessionError, UnsupportedError, UsageError
from edgebench.prepare.cache import canonical_hash
from edgebench.records.model import Artifact, BuiltArtifact
from edgebench.records.session import Pass
from edgebench.records.values import PRECISIONS, Finding, Variant
from edgebench.run.settings import RunConfig
from edgebench.run.targets import make_targets
from edgebench.testing.backend_kit import BackendKit, artifact_promises, runs, workers
from edgebench.testing.problems import (
    RUNTIMES,
    Promise,
    ended,
    fail,
    foreign_imports,
    is_json,
    promises,
    runs_on_python_3_6,
)
from edgebench.testing.session_contract import Contract, SessionContract

ALONE_S = 120.0
UNKNOWN = "edgebench_knows_no_such_option"
COST_PASSES = 5
BUILD_FUNCTIONS = {"build": 5, "build_version": 0}
"""What a runner that builds has, with the number of arguments (see runner_contract.py)."""


class HostContract(SessionContract):
    """What every backend promises, tried through Backend, Device and Session alone.

    Nothing in here knows an agent: derive from it where the device has none, else from BackendContract.
    """

    # What a backend says of itself: nothing is prepared and no device is opened.

    @promises()
    def test_name_description_and_precisions(self, kit: BackendKit) -> Iterable[Promise]:
        """They are what commands, tables and result files show."""
        backend, kinds = kit.backend, registry.names("edgebench.probes")
        return [
            (
                bool(re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", str(backend.name))),
                f"the name {backend.name!r} cannot be typed and stored everywhere",
                "take lower-case letters, digits, - and _, beginning with a letter",
            ),
            (
                kit.registered in (None, backend.name),
                f"it is registered as {kit.registered!r} and calls itself {backend.name!r}",
                'give the entry point under "edgebench.backends" the name of the class',
            ),
            (
                bool(backend.description.strip()) and backend.description.isprintable(),
                f"the description {backend.description!r} is not one line",
                "say in one line what is measured, and by which runtime",
            ),
            (
                bool(backend.precisions)
                and set(backend.precisions) <= set(PRECISIONS)
                and len(set(backend.precisions)) == len(backend.precisions),
                f"the precisions {backend.precisions!r} are not some of {PRECISIONS}, each once",
                "name those that the device takes",
            ),
            (
                set(backend.default_precisions) <= set(backend.precisions),
                f"the default precisions {backend.default_precisions!r} are not all among its precisions",
                "name some of those that the device takes; leave it empty for all of them",
            ),
            (
                1 <= backend.default_batch <= backend.most_batch,
                f"default_batch is {backend.default_batch!r} and most_batch is {backend.most_batch!r}",
                "name the batch of a run that asks for none, and the largest that the device takes",
            ),
            *(
                (
                    meter.partition(":")[0] in kinds
                    and not registry.is_monitor(meter)
                    and not registry.samples_on_host(meter),
                    f"{meter!r} of its meters is not a meter on the board",
                    f"name registered probes with a power channel and PLACE = 'board', among {kinds}",
                )
                for meter in backend.meters
            ),
        ]

    @promises()
    def test_concurrency(self, kit: BackendKit) -> Iterable[Promise]:
        """It is a number of inferences, the same for the same options: it is part of every key."""
        counts = [kit.backend.concurrency(kit.options) for _ in range(2)]
        return [
            (
                all(type(count) is int and count >= 1 for count in counts) and len(set(counts)) == 1,
                f"concurrency is {counts[0]!r}, then {counts[1]!r}, under the options {kit.options}",
                "return how many inferences the device has in flight: a whole number, 1 or more",
            )
        ]

    @promises()
    def test_options(self, kit: BackendKit) -> Iterator[Promise]:
        """Unknown keys are refused, defaults are valid, the model cannot be changed, JSON carries it."""
        model = kit.backend.options_model
        options = model.model_validate(kit.given_options)
        back = model.model_validate(json.loads(options.model_dump_json()))
        yield from (
            (
                bool(_reason(model, {**options.model_dump(), UNKNOWN: "1"})),
                f"an unknown option is taken: {UNKNOWN}",
                'derive from edgebench.contract.BackendOptions and leave extra="forbid" as it is',
            ),
            (
                back == options,
                f"the options {options} come back from JSON as {back}",
                "use fields of JSON's own types, or types that pydantic turns back",
            ),
            (
                not _takes_changes(options),
                "the options can be changed after they were validated",
                "derive from edgebench.contract.BackendOptions and leave frozen=True as it is",
            ),
            _refusal(kit),
        )
        for name, field in model.model_fields.items():
            if not field.is_required():
                value = field.get_default(call_default_factory=True)
                reason = _reason(model, {**options.model_dump(), name: value})
                yield (
                    not reason,
                    f"the default of {name}, {value!r}, is not valid: {reason}",
                    "give one that is",
                )
        plain = options.model_dump(mode="json")
        for name, value in plain.items():
            # Text is what --set gives: an option that only takes Python's own types cannot be set.
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                text = {**plain, name: str(value)}
                reason = _reason(model, text)
                yield (
                    not reason and model.model_validate(text) == options,
                    f"the option {name} cannot be given as text, as --set gives it: {reason or value}",
                    "take text as well: no strict types",
                )

    @promises()
    def test_prepare_inputs(self, kit: BackendKit) -> Iterator[Promise]:
        """They are JSON, the same when asked twice, and differ where the artifact differs."""
        batches = dict.fromkeys((1, kit.contract.batch))
        requests = [kit.request(variant, batch) for variant in kit.variants for batch in batches]
        began = time.perf_counter()
        inputs = [kit.backend.prepare_inputs(request) for request in requests]
        spent_us = (time.perf_counter() - began) * 1e6 / len(requests)
        kit.note(f"{kit.name}: prepare_inputs took {spent_us:.0f} us a request")
        subjects = [f"{request.variant.name} at batch {request.batch}" for request in requests]
        plain = [
            is_json(value, f"prepare_inputs of {text}") for value, text in zip(inputs, subjects, strict=True)
        ]
        yield from plain
        if not all(kept for kept, _, _ in plain):
            return
        hashes = [canonical_hash(value) for value in inputs]
        for at, (request, subject) in enumerate(zip(requests, subjects, strict=True)):
            first = hashes.index(hashes[at])
            yield from (
                (
                    kit.backend.prepare_inputs(request) == inputs[at],
                    f"prepare_inputs of {subject} differ when they are asked for twice",
                    "leave times, random numbers and paths of scratch folders out",
                ),
                (
                    first == at,
                    f"prepare_inputs are the same for {subjects[first]} and {subject}",
                    "put the variant and the batch in: they are hashed into the key of the trial",
                ),
            )
        for name, value in (kit.contract.deciding or {}).items():
            changed = replace(requests[0], options={**kit.options, name: value})
            yield (
                canonical_hash(kit.backend.prepare_inputs(changed)) != hashes[0],
                f"the option {name} decides the artifact, and prepare_inputs are the same with {value!r}",
                f"put request.options[{name!r}] in",
            )

    @promises()
    def test_looking_at_it_loads_no_runtime(self, kit: BackendKit) -> Iterable[Promise]:
        """In a process of its own: no runtime is imported, nothing is made, the inputs are the same."""
        kind = type(kit.backend)
        asked = {
            "backend": kit.registered or f"{kind.__module__}:{kind.__qualname__}",
            "options": kit.options,
            "variants": [variant.name for variant in kit.variants],
            "batch": 1,
        }
        with tempfile.TemporaryDirectory() as cache:
            paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "EDGEBENCH_CACHE_DIR": cache}
            done = subprocess.run(
                [sys.executable, "-m", "edgebench.testing.lone_backend", json.dumps(asked)],
                env={**os.environ, **paths, "PYTHONHASHSEED": "4"},
                capture_output=True,
                text=True,
                timeout=ALONE_S,
                check=False,
            )
            written = [path for path in Path(cache).rglob("*") if path.is_file()]
        if done.returncode != 0:
            fail(
                f"it cannot be loaded in a process of its own: {done.stderr[-2000:]}",
                "see what it says there",
            )
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        loaded = sorted(set(answer["modules"]) & (RUNTIMES | kit.runtime_modules))
        inputs = [kit.backend.prepare_inputs(kit.request(variant)) for variant in kit.variants]
        return [
            (
                not loaded,
                f"looking at the backend imports {', '.join(loaded)}",
                "import a runtime in the runner, or in a process that converts; never in the harness's own",
            ),
            (
                answer["hashes"] == [canonical_hash(value) for value in inputs],
                "prepare_inputs differ in another process",
                "sort what comes from sets; leave process numbers, times and object addresses out",
            ),
            (
                not written,
                f"prepare_inputs wrote {len(written)} files into the cache",
                "make things in prepare alone",
            ),
        ]

    @promises()
    def test_check_has_a_fix_for_each_problem(self, kit: BackendKit) -> Iterator[Promise]:
        """`doctor` names each obstacle, and what to do about it."""
        for finding in kit.backend.check(kit.target):
            is_finding = isinstance(finding, Finding) and finding.level in {"ok", "warning", "error"}
            fix = 'give edgebench.records.values.Finding("ok" | "warning" | "error", subject, message, fix)'
            yield is_finding, f"check gave {finding!r}", fix
            if is_finding:
                yield from (
                    (
                        bool(finding.subject.strip()) and bool(finding.message.strip()),
                        f"a finding without a subject or a message: {finding!r}",
                        "say what was looked at and what was seen",
                    ),
                    (
                        finding.level == "ok" or bool(finding.fix.strip()),
                        f"{finding.level} without a fix: {finding.subject}: {finding.message}",
                        "say what the user has to do",
                    ),
                )

    # What a backend makes: whole artifacts, once, and one outcome a request. No device is opened.

    @promises()
    def test_artifacts_are_whole(self, kit: BackendKit) -> Iterator[Promise]:
        """Files are there with the hashes that are stated; input, classes and golden patches are sound."""
        played = kit.pictures is not None
        of_batch = (kit.variants[-1], kit.contract.batch)
        for variant, batch in dict.fromkeys([*((variant, 1) for variant in kit.variants), of_batch]):
            yield from artifact_promises(kit.artifact(variant, batch), kit.request(variant, batch), played)

    @promises()
    def test_a_second_preparation_comes_from_the_cache(self, kit: BackendKit) -> Iterator[Promise]:
        """The same artifact, and its file is not written again."""
        prepared = [kit.artifact(variant) for variant in kit.variants]
        before = [_identity(artifact.path) for artifact in prepared]
        again = kit.prepare([kit.request(variant) for variant in kit.variants])
        for first, second, identity in zip(prepared, again, before, strict=True):
            yield from (
                (
                    second == first,
                    f"{first.variant} is another artifact when it is prepared again",
                    "keep what was made under the hash of prepare_inputs (Cache.note_recipe)",
                ),
                (
                    second != first or _identity(first.path) == identity,
                    f"{first.variant} was written again although the cache holds it",
                    "look into the cache first; Cache.add_bytes writes nothing twice",
                ),
            )

    @promises()
    def test_one_outcome_a_request_in_order(self, kit: BackendKit) -> Iterator[Promise]:
        """What is not supported is an UnsupportedError among the outcomes, and stops none of the others."""
        foreign = next((name for name in PRECISIONS if name not in kit.backend.precisions), "int4")
        first, last = kit.variants[0], kit.variants[-1]
        unsupported = Variant(first.depth_multiplier, foreign)
        asked = [last, unsupported, first]
        try:
            outcomes = kit.prepare([kit.request(variant) for variant in asked])
        except UnsupportedError as error:
            fail(
                f"prepare raised UnsupportedError for {unsupported.name}: {error}",
                "return it in its place: the other requests have their artifacts all the same",
            )
        if len(outcomes) != len(asked):
            words = f"prepare gave {len(outcomes)} outcomes for {len(asked)} requests"
            fail(words, "give one a request, in order")
        refused = outcomes[1]
        yield from (
            (
                isinstance(refused, UnsupportedError),
                f"prepare made {refused!r} of {unsupported.name}, which is not among the precisions",
                "return an UnsupportedError for what the device does not take",
            ),
            (
                bool(str(refused).strip()),
                "an UnsupportedError without a message",
                "say why the device cannot take the variant, with the figure where there is one",
            ),
        )
        for at in (0, 2):
            outcome = outcomes[at]
            name = outcome.variant if isinstance(outcome, Artifact) else repr(outcome)
            yield (
                name == asked[at].name,
                f"outcome {at} is {name}, expected {asked[at].name}",
                "give the outcomes in the order of the requests",
            )


class AgentContract(Contract):
    """The device's half of the contract; its tests skip where the device has no agent."""

    @promises("agent")
    def test_runner_files(self, kit: BackendKit) -> Iterator[Promise]:
        """They are there, none is named twice, and the first has `load(path, options)`."""
        files = kit.runner_files
        yield from (
            (bool(files), "runner_files() names no file", "name the runner first"),
            *(
                (file.is_file(), f"there is no runner file {file}", "ship it with the package")
                for file in files
            ),
            (
                len(set(files)) == len(files),
                f"runner_files() names a file twice: {[str(file) for file in files]}",
                "name each once",
            ),
        )
        if files and files[0].is_file():
            yield (
                argument_counts(files[0]).get("load") == 2,
                f"{files[0].name} has no function load(path, options) at its top level",
                "the worker calls it with the artifact's path and the options",
            )

    @promises("agent")
    def test_runner_is_python_3_6(self, kit: BackendKit) -> Iterable[Promise]:
        """The boards' Pythons are old; the summary names the judges."""
        fix = "no walrus, no dataclasses, no `from __future__ import annotations`, no f'{x=}'"
        return runs_on_python_3_6(kit.runner_files, kit, fix)

    @promises("agent")
    def test_runner_imports(self, kit: BackendKit) -> Iterator[Promise]:
        """The standard library, numpy and the declared runtime: nothing else is on the board."""
        fix = (
            "do without it, or declare the runtime's distribution in board_packages "
            "(or its module in runtime_modules of the test)"
        )
        for file in kit.runner_files:
            for foreign in foreign_imports(file, {"numpy"} | kit.runtime_modules, kit.runner_files):
                yield False, foreign, fix

    @promises("agent", "golden")
    def test_a_build_on_the_board(self, kit: BackendKit) -> Iterator[Promise]:
        """The device builds before it loads, and loads what it built the next time."""
        runner = kit.runner_files[0]
        arguments = argument_counts(runner)
        kit.skip_unless(
            kit.backend.builds(kit.options),
            f"{kit.name} builds nothing with the options {kit.options}"
            if "build" in arguments
            else f"the runner of {kit.name} has no build: it loads what was prepared",
        )
        for name, count in BUILD_FUNCTIONS.items():
            yield (
                arguments.get(name) == count,
                f"{runner.name} has no function {name} of {count} arguments at its top level",
                "see edgebench.agent.runner_contract, or let builds() of the backend say no",
            )
        first, second = _built(kit), _built(kit)
        yield (
            second.cached and second.sha256 == first.sha256,
            f"what was built, {first.sha256[:12]}, was not found again: {second.sha256[:12]}, "
            f"cached {second.cached}",
            "let build_version() say the same while runtime and board are the same",
        )

    @promises("agent", "golden")
    def test_a_killed_worker_is_a_crash(self, kit: BackendKit) -> Iterable[Promise]:
        """SIGKILL during measuring: the session ends as a crash, and the next one works."""
        return _signal_promises(kit, kit.device, signal.SIGKILL, "crash")

    @promises("agent", "golden")
    def test_a_stopped_worker_is_a_timeout(self, kit: BackendKit) -> Iterator[Promise]:
        """SIGSTOP during measuring: the session ends as a timeout, and the next one works."""
        with closing(kit.opened(kit.contract.pass_limit_s)) as device:
            yield from _signal_promises(kit, device, signal.SIGSTOP, "timeout")

    @promises("agent", "measured", "golden")
    def test_the_workers_cost(self, kit: BackendKit) -> Iterable[Promise]:
        """What the loop costs a patch without the runner's infer: a line of the summary, without a limit."""
        artifact = kit.artifact()
        with kit.session(artifact) as session:
            session.golden()
            passes = list(session.measure(kit.plan(artifact, COST_PASSES)))
        steady = [item for item in passes if isinstance(item, Pass) and item.phase == "steady"]
        if len(steady) != COST_PASSES:
            fail(f"{len(steady)} steady passes came, expected {COST_PASSES}", "see the passes over a scene")
        loop_us, rest_us = (
            statistics.median(outside_us(item, stages or item.stages) for item in steady)
            for stages in ((), ("infer",))
        )
        kit.note(
            f"{kit.name}: the worker's loop costs {loop_us:.1f} us a patch between the stages, "
            f"{rest_us:.1f} us with patchify and preprocess ({artifact.variant}, batch {artifact.batch})"
        )
        return ()


class BackendContract(HostContract, AgentContract):
    """Derive from it, name the backend, and pytest holds it to the contract.

    The attributes are HostContract's:

        class TestBoard(BackendContract):
            backend = "my-board"
            options = {"threads": 1}
            skips = {"test_batch_edges": "the engine takes one patch a call"}
    """


def _reason(model: Any, options: dict[str, Any]) -> str:
    """Why a model refuses options; nothing where it takes them."""
    try:
        model.model_validate(options)
    except ValidationError as error:
        return error.errors()[0]["msg"]
    return ""


def _takes_changes(options: Any) -> bool:
    for name in type(options).model_fields:
        try:
            setattr(options, name, getattr(options, name))
        except ValidationError:
            continue
        return True
    return False


def _refusal(kit: BackendKit) -> Promise:
    """As a user meets it: `--set` of a key that does not exist names those that do."""
    try:
        make_targets({kit.name: kit.backend}, RunConfig(set=(f"{UNKNOWN}=1",)))
    except UsageError as error:
        absent = [name for name in kit.backend.options_model.model_fields if name not in error.fix]
        words = f"--set of an unknown key does not name {absent}: {error.fix}"
        return not absent, words, "name every option"
    return False, "--set takes an unknown key", "do not name an option as the test does"


def _identity(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def argument_counts(file: Path) -> dict[str, int]:
    """How many arguments each function at the top level of a Python file takes."""
    try:
        body = ast.parse(file.read_text(encoding="utf-8")).body
    except SyntaxError:
        return {}
    return {node.name: len(node.args.args) for node in body if isinstance(node, ast.FunctionDef)}


def _built(kit: BackendKit) -> BuiltArtifact:
    """What a session loads over a connection of its own."""
    try:
        with closing(kit.opened()) as device, kit.session(kit.artifact(), device) as session:
            built = session.facts().built
    except SessionError as error:
        fail(*ended("a build on the board", error)[1:])
    if built is None:
        fail("facts() of the session say nothing of the build", "open the device with `builds=self.builds`")
    return built


def _signal_promises(
    kit: BackendKit, device: Device, number: signal.Signals, status: str
) -> Iterator[Promise]:
    """What becomes of a session whose worker gets a signal while it measures, and of the next one."""
    host = kit.target.host
    kit.skip_unless(host is None, f"the worker is on {host}: only one on this machine is ended on purpose")
    artifact, before, worker = kit.artifact(), workers(), 0
    error: SessionError | None = None
    try:
        with kit.session(artifact, device) as session:
            session.golden()
            passes = session.measure(kit.plan(artifact, passes=3))
            next(passes)
            started = workers() - before
            if len(started) != 1:
                fail(f"{len(started)} workers run in one session", "one session is one worker process")
            [worker] = started
            os.kill(worker, number)
            list(passes)
    except SessionError as ending:
        error = ending
    yield (
        error is not None,
        f"the session went on to its end although its worker had got {number.name}",
        "let the worker loop of the agent run the runner, in the worker's own process",
    )
    if error is not None:
        yield from (
            (
                error.status == status,
                f"after {number.name} the session ended as {error.status} ({error}), expected {status}",
                "start no process of your own in the runner that outlives the worker",
            ),
            (
                error.stage == "measure",
                f"{number.name} was reported at {error.stage}",
                "it was sent while measuring",
            ),
        )
    yield not runs(worker), f"the worker is still there after {number.name}", "ignore no signal in the runner"
    try:
        kit.try_golden(artifact, device)
    except SessionError as after:
        fix = "take no lock and leave no file that only a worker's orderly end removes"
        yield False, f"the session after {number.name} does not work: {after}", fix


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
