"""The contract of a backend: its description, its preparation, its sessions, its runner and worker."""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from pydantic import ValidationError

from edgebench import registry
from edgebench.contract import Backend, Device
from edgebench.errors import SessionError, UnsupportedError
from edgebench.prepare.cache import canonical_hash
from edgebench.records.board_facts import BoardFacts
from edgebench.records.model import Artifact, BuiltArtifact, PrepareRequest
from edgebench.records.session import Pass, SessionFacts, Window
from edgebench.records.values import PRECISIONS, Finding, Variant
from edgebench.results.rows import union_ns
from edgebench.results.tables import INFER
from edgebench.run.measuring.session_record import Gathered, take_in
from edgebench.testing.backend_kit import BackendKit, images_of, patches_of, workers
from edgebench.testing.backend_rows import (
    artifact_rows,
    contradictions,
    measurement_name,
    measurement_rows,
    near,
)
from edgebench.testing.checks import FIX, Rows, check, fail, is_json, is_stated
from edgebench.testing.device_code import RUNTIMES, argument_counts, foreign_imports, python_3_6_problems

ALONE_S = 120.0
_LOOK = "from edgebench.testing.backend_contract import look; look()"
NAME = r"[a-z][a-z0-9_-]{0,39}"
UNKNOWN = "edgebench_knows_no_such_option"
BUILD_FUNCTIONS = {"load": 2, "build": 5, "build_version": 0}
"""What a runner that builds has, with the number of arguments (see runner_contract.py)."""
REFUSED_AT = ("start", "build", "load", "golden")
"""The stages at which a session may refuse an artifact: all before anything is timed."""


class BackendContract:
    """Derive from it, name the backend, and pytest tries it against the contract.

        class TestBoard(BackendContract):
            backend = "my-board"
            options = {"threads": 1}
            skips = {"test_batch_edges": "the engine takes one patch a call"}

    The tests of an agent skip where the device has no agent. The golden scores come first: where a device
    computes something else than its artifact, the other tests of sessions would fail with words about locks,
    padding or stamps, and skip instead.

    Attributes:
        backend: the name under the entry points, or a Backend that is not registered yet.
        options: as `--set` takes them.
        variants: which are tried. Default: the smallest at each precision.
        batch: patches in a batch where batches are tried, 2 or more; 1 for a device that takes no batches.
        deciding: options that decide the artifact, each with another value than it has.
        runtime_modules: what the runner imports that is not the standard library, numpy or `board_packages`.
        host, port, python: where the device is and its Python, as in `--host`, `--port` and `--python`; a
            function that finds one of them is called when a test needs it, and may skip.
        pass_limit_s: after how long a pass over twelve patches counts as hung.
        skips: tests that are left out, each with the reason that is shown.
    """

    kit_type: ClassVar[Any] = BackendKit
    backend: ClassVar[str | Backend | None] = None
    options: ClassVar[Mapping[str, Any]] = {}
    variants: ClassVar[Sequence[str]] = ()
    batch: ClassVar[int] = 4
    deciding: ClassVar[Mapping[str, Any] | None] = None
    runtime_modules: ClassVar[Sequence[str]] = ()
    host: ClassVar[str | None] = None
    port: ClassVar[str | Callable[[], str] | None] = None
    python: ClassVar[str | Callable[[], str] | None] = None
    pass_limit_s: ClassVar[float] = 3.0
    skips: ClassVar[Mapping[str, str]] = {}

    @check()
    def test_golden_scores(self, kit: BackendKit) -> Rows:
        """Each variant computes what its artifact states, before anything is timed."""
        return kit.golden_problems

    # What a backend states of itself: nothing is prepared and no device is opened.

    @check()
    def test_name_description_and_precisions(self, kit: BackendKit) -> Rows:
        """They are what commands, tables and result files show."""
        backend = kit.backend
        board_meters = [
            kind
            for kind in registry.names("edgebench.probes")
            if not registry.is_monitor(kind) and not registry.samples_on_host(kind)
        ]
        precisions, defaults = backend.precisions, backend.default_precisions
        return [
            bool(re.fullmatch(NAME, str(backend.name)))
            or f"the name {backend.name!r} cannot be typed and stored everywhere; fix: match {NAME}",
            kit.registered in (None, backend.name)
            or f"it is registered as {kit.registered!r} and calls itself {backend.name!r}; fix: use one name",
            (is_stated(backend.description) and backend.description.isprintable())
            or f"the description {backend.description!r} is not one line; fix: name what is measured",
            (precisions and set(precisions) <= set(PRECISIONS) and len(set(precisions)) == len(precisions))
            or f"the precisions {precisions!r} are not some of {PRECISIONS}, each once; fix: name those",
            set(defaults) <= set(precisions)
            or f"default_precisions {defaults!r} are not among its precisions; fix: leave it empty for all",
            1 <= backend.default_batch <= backend.most_batch
            or f"default_batch is {backend.default_batch!r} and most_batch is {backend.most_batch!r}"
            "; fix: name the batch of a run that asks for none, and the largest that the device takes",
            *(
                meter in board_meters
                or f"{meter!r} of its meters is not a meter on the board; fix: name one of {board_meters}"
                for meter in (name.partition(":")[0] for name in backend.meters)
            ),
        ]

    @check()
    def test_concurrency(self, kit: BackendKit) -> Rows:
        """It is a number of inferences, the same for the same options: it is part of every key."""
        counts = [kit.backend.concurrency(kit.options) for _ in range(2)]
        return [
            (all(type(count) is int and count >= 1 for count in counts) and len(set(counts)) == 1)
            or f"concurrency is {counts[0]!r}, then {counts[1]!r}, under the options {kit.options}"
            "; fix: return how many inferences the device has in flight: a whole number, 1 or more"
        ]

    @check()
    def test_options(self, kit: BackendKit) -> Iterator[object]:
        """Unknown keys are refused, defaults are valid, the model cannot be changed, JSON carries it."""
        model = kit.backend.options_model
        options = model.model_validate(kit.given_options)
        back = model.model_validate(json.loads(options.model_dump_json()))
        plain = options.model_dump(mode="json")
        yield from (
            bool(_refusal(model, {**plain, UNKNOWN: "1"}))
            or f'an unknown option is taken: {UNKNOWN}; fix: derive from BackendOptions: extra="forbid"',
            back == options
            or f"the options {options} come back from JSON as {back}; fix: use fields of JSON's own types",
            bool(model.model_config.get("frozen"))
            or "the options can be changed after they were validated; fix: derive from BackendOptions "
            "and keep frozen=True",
        )
        defaults = {
            name: field.get_default(call_default_factory=True)
            for name, field in model.model_fields.items()
            if not field.is_required()
        }
        for name, value in defaults.items():
            why = _refusal(model, {**options.model_dump(), name: value})
            yield not why or f"the default of {name}, {value!r}, is not valid: {why}; fix: give a valid one"
        for name, value in plain.items():
            # Text is what --set gives: an option that only takes Python's own types cannot be set.
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                text = {**plain, name: str(value)}
                why = _refusal(model, text) or ("" if model.model_validate(text) == options else repr(value))
                yield not why or f"the option {name} cannot be given as text: {why}; fix: use no strict types"

    @check()
    def test_prepare_inputs(self, kit: BackendKit) -> Iterator[object]:
        """They are JSON, the same when asked twice, and differ where the artifact differs."""
        batches = dict.fromkeys((1, self.batch))
        requests = [kit.request(variant, batch) for variant in kit.variants for batch in batches]
        subjects = [f"{request.variant.name} at batch {request.batch}" for request in requests]
        inputs = [kit.backend.prepare_inputs(request) for request in requests]
        faults = [
            is_json(value, f"prepare_inputs of {at}") for value, at in zip(inputs, subjects, strict=True)
        ]
        yield from faults
        if any(isinstance(fault, str) for fault in faults):
            return
        hashes = [canonical_hash(value) for value in inputs]
        for at, (request, subject) in enumerate(zip(requests, subjects, strict=True)):
            first = hashes.index(hashes[at])
            yield from (
                kit.backend.prepare_inputs(request) == inputs[at]
                or f"prepare_inputs of {subject} differ when they are asked for twice"
                "; fix: leave times, random numbers and paths of scratch folders out",
                first == at
                or f"prepare_inputs are the same for {subjects[first]} and {subject}"
                "; fix: put the variant and the batch in: they are hashed into the key of the trial",
            )
        for name, value in (self.deciding or {}).items():
            changed = replace(requests[0], options={**kit.options, name: value})
            yield (
                canonical_hash(kit.backend.prepare_inputs(changed)) != hashes[0]
                or f"the option {name} decides the artifact, and prepare_inputs are the same with {value!r}"
                f"; fix: put request.options[{name!r}] in"
            )

    @check()
    def test_looking_at_it_loads_no_runtime(self, kit: BackendKit) -> Rows:
        """Check in a new process: no runtime is imported, nothing is written, the inputs are the same."""
        kind = type(kit.backend)
        backend = kit.registered or f"{kind.__module__}:{kind.__qualname__}"
        asked = json.dumps([backend, kit.options, [variant.name for variant in kit.variants]])
        with tempfile.TemporaryDirectory() as cache:
            paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "EDGEBENCH_CACHE_DIR": cache}
            done = subprocess.run(
                [sys.executable, "-c", _LOOK, asked],
                env={**os.environ, **paths, "PYTHONHASHSEED": "4"},
                capture_output=True,
                text=True,
                timeout=ALONE_S,
                check=False,
            )
            written = [path for path in Path(cache).rglob("*") if path.is_file()]
        if done.returncode != 0:
            fail(f"it cannot be loaded in a process of its own: {done.stderr[-2000:]}; fix: see the reason")
        modules, hashes = json.loads(done.stdout.strip().splitlines()[-1])
        loaded = sorted(set(modules) & (RUNTIMES | kit.runtime_modules))
        inputs = [kit.backend.prepare_inputs(kit.request(variant)) for variant in kit.variants]
        return [
            not loaded
            or f"looking at the backend imports {', '.join(loaded)}"
            "; fix: import a runtime in the runner, or in a process that converts; never in the harness",
            hashes == [canonical_hash(value) for value in inputs]
            or "prepare_inputs differ in another process"
            "; fix: sort what comes from sets; leave process numbers, times and object addresses out",
            not written
            or f"prepare_inputs wrote {len(written)} files into the cache; fix: write files in prepare alone",
        ]

    @check()
    def test_check_has_a_fix_for_each_problem(self, kit: BackendKit) -> Iterator[object]:
        """`doctor` names each obstacle, and what to do about it."""
        for finding in kit.backend.check(kit.target):
            if not isinstance(finding, Finding) or finding.level not in {"ok", "warning", "error"}:
                yield f'check gave {finding!r}; fix: give Finding("ok" | "warning" | "error", ...)'
                continue
            yield from (
                (is_stated(finding.subject) and is_stated(finding.message))
                or f"a finding without a subject or a message: {finding!r}; fix: give both",
                finding.level == "ok"
                or is_stated(finding.fix)
                or f"{finding.level} without a fix: {finding.subject}: {finding.message}; fix: give one",
            )

    # What a backend prepares: whole artifacts, once, and one outcome a request. No device is opened.

    @check()
    def test_artifacts_are_whole(self, kit: BackendKit) -> Iterator[object]:
        """Files are there with the hashes that are stated; input, classes and golden patches are sound."""
        of_batch = (kit.variants[-1], self.batch)
        for variant, batch in dict.fromkeys([*((variant, 1) for variant in kit.variants), of_batch]):
            for row in artifact_rows(
                kit.artifact(variant, batch), kit.request(variant, batch), bool(kit.pictures)
            ):
                yield (
                    f"the artifact of {variant.name} at batch {batch}: {row}" if isinstance(row, str) else row
                )

    @check()
    def test_a_second_preparation_comes_from_the_cache(self, kit: BackendKit) -> Iterator[object]:
        """The same artifact, and its file is not written again."""
        prepared = [kit.artifact(variant) for variant in kit.variants]
        before = [_identity(artifact.path) for artifact in prepared]
        again = kit.prepare([kit.request(variant) for variant in kit.variants])
        for first, second, identity in zip(prepared, again, before, strict=True):
            yield from (
                second == first
                or f"{first.variant} is another artifact when it is prepared again"
                "; fix: keep what was made under the hash of prepare_inputs (Cache.note_recipe)",
                second != first
                or _identity(first.path) == identity
                or f"{first.variant} was written again although the cache has it; fix: use Cache.add_bytes",
            )

    @check()
    def test_one_outcome_a_request_in_order(self, kit: BackendKit) -> Rows:
        """Check that an unsupported variant gives an UnsupportedError and stops no other request."""
        foreign = next((name for name in PRECISIONS if name not in kit.backend.precisions), "int4")
        first, last = kit.variants[0], kit.variants[-1]
        asked = [last, Variant(first.depth_multiplier, foreign), first]
        try:
            outcomes = kit.prepare([kit.request(variant) for variant in asked])
        except UnsupportedError as error:
            fail(f"prepare raised UnsupportedError for {asked[1].name}: {error}; fix: return it in its place")
        refused = outcomes[1]
        names = [outcome.variant if isinstance(outcome, Artifact) else repr(outcome) for outcome in outcomes]
        return [
            isinstance(refused, UnsupportedError)
            or f"prepare made {refused!r} of {asked[1].name}, which is not among the precisions"
            "; fix: return an UnsupportedError for what the device does not take",
            is_stated(str(refused)) or "an UnsupportedError without a message; fix: state the reason",
            *(
                names[at] == asked[at].name
                or f"outcome {at} is {names[at]}, expected {asked[at].name}; fix: keep the requests' order"
                for at in (0, 2)
            ),
        ]

    # Through Device and Session alone: a device at the end of a serial line passes these as well.

    @check("golden")
    def test_the_device_describes_itself(self, kit: BackendKit) -> Iterator[object]:
        """Check that the record of the board and of the runtime is JSON and names them."""
        description = kit.device.describe()
        with kit.session(kit.artifact()) as session:
            runtime = session.facts().runtime
        sound = is_json(description, "describe() of the device")
        yield sound
        if not isinstance(sound, str):
            BoardFacts.of(description)
            yield (
                any(description.get(key) for key in ("board", "soc", "cpu"))
                or f"describe() names no board, soc or cpu: {sorted(description)}; fix: name one"
            )
        yield is_json(runtime, "describe() of the runtime")
        for key in ("name", "version"):
            yield (
                is_stated(runtime.get(key))
                or f"describe() of the runtime has no {key}: {runtime}"
                "; fix: give the runtime's name and version as text: figures are compared by them"
            )

    @check("golden")
    def test_a_pass_over_a_scene(self, kit: BackendKit) -> Iterator[object]:
        """First pass, warm-up, steady passes; stamps in order; the scores of the same patches as images."""
        artifact = kit.artifact()
        plan = kit.plan(artifact)
        patches = patches_of(artifact, plan.scene.patches)
        images = kit.pictures.images if kit.pictures else images_of(patches, kit.cache)
        seen = Gathered()
        with kit.sound_session("a session of golden, measure and predict", artifact) as session:
            session.golden()
            for measurement in session.measure(plan):
                # What a run does not record ends the session here as well.
                take_in(measurement, seen, plan.scene.patches, workers=1)
            predicted = None if images is None else session.predict(images)
            facts = session.facts()
        if not isinstance(facts, SessionFacts):
            fail(f"facts() of the session gave {type(facts).__name__}; fix: give a SessionFacts")
        yield is_json(asdict(facts), "facts() of the session")
        measured = facts.measured_patches or plan.patches or plan.scene.patches
        yield from measurement_rows(seen, plan, measured, len(artifact.class_names))
        if predicted is None or kit.pictures:
            return
        items: list[Pass | Window] = [*seen.passes, *seen.windows]
        for item in items:
            if item.scores is not None:
                expected = predicted[item.patch if isinstance(item, Window) else slice(measured)]
                words = (
                    f"{measurement_name(item)} scores the patches of the scene otherwise than the same images"
                )
                yield near(item.scores, expected, artifact, words, "let no inference depend on another")
        steady = [item for item in seen.passes if item.phase == "steady" and INFER in item.stages]
        if steady and not kit.obstacle("agent"):
            cost_us = statistics.median(_outside_inference_us(item) for item in steady) / measured
            kit.note(f"{kit.name}: the worker's loop costs {cost_us:.1f} us a patch ({artifact.variant})")

    @check("measured", "golden")
    def test_batch_edges(self, kit: BackendKit) -> Rows:
        """1, a batch and a batch + 1 patches: padding changes no score, and the order is kept."""
        batch = self.batch
        artifact = kit.artifact(kit.variants[-1], batch)
        patches = patches_of(artifact, batch + 1)
        subject = f"predicting 1, {batch} and {batch + 1} patches at batch {batch}"
        with kit.sound_session(subject, artifact) as session:
            session.golden()
            whole, alone, head, turned = (
                session.predict(images_of(np.ascontiguousarray(part), kit.cache))
                for part in (patches, patches[:1], patches[:batch], patches[::-1])
            )
        fix = "let no row of a batch depend on another: the rest of a batch is padding"
        words = f"patches alone score otherwise than at the head of {batch + 1}, at batch {batch}"
        reverse = (
            f"the scores of {batch + 1} patches in the other order are not the same scores in that order"
        )
        return [
            near(alone, whole[:1], artifact, f"1 {words}", fix),
            near(head, whole[:batch], artifact, f"{batch} {words}", fix),
            near(turned, whole[::-1], artifact, reverse, "give row n of the scores for row n of the batch"),
        ]

    @check("golden")
    def test_an_artifact_that_contradicts_the_runner_is_refused(self, kit: BackendKit) -> Iterator[object]:
        """Another input, batch or number of classes than the model's is refused with a message, untimed."""
        for contradiction, wrong in contradictions(kit.artifact()):
            yield from _refusal_rows(kit, wrong, contradiction)

    @check()
    def test_closing_twice(self, kit: BackendKit) -> Iterator[object]:
        """A device is closed once too often rather than not at all."""
        device = kit.opened()
        device.close()
        try:
            device.close()
        except Exception as error:
            words = f"closing the device a second time raised {type(error).__name__}: {error}"
            yield f"{words}; fix: do nothing then"

    # The runner's files and its worker, where the device has an agent.

    @check("agent")
    def test_runner_files(self, kit: BackendKit) -> Iterator[object]:
        """They are there, no name occurs twice, and the first has `load(path, options)`."""
        files = kit.runner_files
        yield from (
            bool(files) or "runner_files() names no file; fix: name the runner first",
            *(file.is_file() or f"there is no runner file {file}; fix: ship it" for file in files),
            len(set(files)) == len(files)
            or f"runner_files() names a file twice: {[str(file) for file in files]}; fix: name each once",
        )
        if files and files[0].is_file():
            yield from _function_rows(files[0], ("load",))

    @check("agent")
    def test_runner_is_python_3_6(self, kit: BackendKit) -> Rows:
        """The boards' Pythons are old; the summary names the judges."""
        fix = "no walrus, no dataclasses, no `from __future__ import annotations`, no f'{x=}'"
        return python_3_6_problems(kit.runner_files, kit.note, fix)

    @check("agent")
    def test_runner_imports(self, kit: BackendKit) -> Iterator[object]:
        """The standard library, numpy and the declared runtime: a board has nothing else."""
        fix = "do without it, or declare its distribution in board_packages (or runtime_modules of the test)"
        for file in kit.runner_files:
            for foreign in foreign_imports(file, {"numpy"} | kit.runtime_modules, kit.runner_files):
                yield f"{foreign}{FIX}{fix}"

    @check("agent", "golden")
    def test_a_build_on_the_board(self, kit: BackendKit) -> Iterator[object]:
        """The device builds before it loads, and loads what it built the next time."""
        runner = kit.runner_files[0]
        if not kit.backend.builds(kit.options):
            pytest.skip(f"{kit.name} builds nothing with the options {kit.options}")
        yield from _function_rows(runner, BUILD_FUNCTIONS)
        first, second = _built(kit), _built(kit)
        yield (
            (second.cached and second.sha256 == first.sha256)
            or f"what was built, {first.sha256[:12]}, was not found again: {second.sha256[:12]}, "
            f"cached {second.cached}"
            "; fix: let build_version() return the same while runtime and board are the same"
        )

    @check("agent", "golden")
    def test_a_killed_worker_is_a_crash(self, kit: BackendKit) -> Rows:
        """SIGKILL during measuring: the session ends as a crash, and the next one works."""
        return _signal_rows(kit, kit.device, signal.SIGKILL, "crash")

    @check("agent", "golden")
    def test_a_stopped_worker_is_a_timeout(self, kit: BackendKit) -> Iterator[object]:
        """SIGSTOP during measuring: the session ends as a timeout, and the next one works."""
        with closing(kit.opened(self.pass_limit_s)) as device:
            yield from _signal_rows(kit, device, signal.SIGSTOP, "timeout")

    @check("agent", "golden")
    def test_two_workers(self, kit: BackendKit) -> Iterator[object]:
        """Two on one device: golden scores of each, passes that overlap, and the end of one ends both."""
        if not kit.backend.shares_device:
            pytest.skip(f"{kit.name} does not declare shares_device")
        artifact, before = kit.artifact(), workers()
        golden, plan = artifact.golden, kit.plan(artifact)
        subject = "a session of two workers"
        with kit.sound_session(subject, artifact, others=(artifact,)) as session:
            for place, scores in enumerate(np.split(session.golden(), 2)):
                words = f"worker {place} of two computes other golden scores"
                fix = "let no process depend on another's files, buffers or device memory"
                yield near(scores, np.array(golden.scores), artifact, words, fix)
            steady = [timed for timed in session.measure(plan) if timed.phase == "steady"]
        by_worker = [[timed for timed in steady if getattr(timed, "worker", 0) == n] for n in (0, 1)]
        yield (
            all(len(mine) >= plan.passes for mine in by_worker)
            or f"{subject}: {[len(mine) for mine in by_worker]} passes overlapped, {plan.passes} were due"
            "; fix: let two processes infer at the same time, or leave shares_device out"
        )
        if kit.target.host is None:
            yield from _killed_rows(kit, artifact, workers() - before)


def _killed_rows(kit: BackendKit, artifact: Artifact, left: set[int]) -> Iterator[object]:
    """Check two workers of which one is killed; `left` are those of a session before."""
    yield not left or f"{len(left)} workers outlive a session of two; fix: let each end with its session"
    before, error = workers(), None
    try:
        with kit.session(artifact, others=(artifact,)) as session:
            session.golden()
            passes = session.measure(kit.plan(artifact, passes=1000))
            next(passes)
            os.kill(max(workers() - before), signal.SIGKILL)
            list(passes)
    except SessionError as ending:
        error = ending
    yield (
        (error is not None and error.status == "crash")
        or f"one of two workers was killed, and the session ended with {error}, expected a crash"
        "; fix: let no worker carry on the work of another"
    )
    yield workers() <= before or "a worker outlives the other one; fix: let it end with its session"


def look() -> None:
    """Load one backend, ask for its inputs and print as JSON the loaded modules and the inputs' hashes.

    It is called in a process of its own, with the backend (a name, or `module:class`), its options and the
    names of variants as JSON.
    """
    name, options, variants = json.loads(sys.argv[1])
    module, _, kind = name.partition(":")
    backend: Backend = (
        getattr(__import__(module, fromlist=[kind]), kind)() if kind else registry.backend(module)
    )
    requests = [PrepareRequest(Variant.parse(variant), 1, options) for variant in variants]
    hashes = [canonical_hash(backend.prepare_inputs(request)) for request in requests]
    # What a backend prints while it is imported must not precede the answer on its line.
    sys.stdout.write(f"\n{json.dumps([sorted({name.partition('.')[0] for name in sys.modules}), hashes])}\n")


def _refusal(model: Any, options: dict[str, Any]) -> str:
    """Reason that a model refuses options; empty where it takes them."""
    try:
        model.model_validate(options)
    except ValidationError as error:
        return error.errors()[0]["msg"]
    return ""


def _identity(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _outside_inference_us(scene_pass: Pass) -> float:
    """Microseconds of a pass in which the runner does not infer."""
    infer = union_ns(scene_pass.stamps_ns[:, scene_pass.stages.index(INFER)])
    return (scene_pass.image_ns - infer) / 1e3


def _refusal_rows(kit: BackendKit, wrong: Artifact, subject: str) -> list[object]:
    """An artifact that does not fit ends its session with a reason before anything is timed."""
    try:
        kit.try_golden(wrong)
    except SessionError as error:
        return [
            (error.stage in REFUSED_AT and error.status != "timeout")
            or f"{subject}: the session ended at {error.stage} ({error.status}), not before the timing"
            "; fix: compare the input's shape and dtype in load",
            error.status != "crash"
            or f"{subject}: the worker crashed ({error.signal}), expected a message"
            "; fix: compare before the runtime touches memory, and raise ValueError with both sides",
            is_stated(error.why) or f"{subject}: refused without a reason; fix: raise with both sides",
        ]
    return [
        f"{subject}: no error was raised; fix: give the model's true input_shape and input_dtype, the "
        "runtime's own arrays as buffers(), and the scores as the model gives them"
    ]


def _function_rows(runner: Path, names: Sequence[str] | Mapping[str, int]) -> list[object]:
    counts = argument_counts(runner)
    return [
        counts.get(name) == BUILD_FUNCTIONS[name]
        or f"{runner.name} has no function {name} of {BUILD_FUNCTIONS[name]} arguments at its top level"
        "; fix: see edgebench.agent.runner_contract"
        for name in names
    ]


def _built(kit: BackendKit) -> BuiltArtifact:
    """Artifact that a session loads over a connection of its own."""
    with (
        closing(kit.opened()) as device,
        kit.sound_session("a build on the board", kit.artifact(), device) as session,
    ):
        built = session.facts().built
    if built is None:
        fail("facts() of the session lack the build; fix: open the device with `builds=self.builds`")
    return built


def _signal_rows(kit: BackendKit, device: Device, number: signal.Signals, status: str) -> Iterator[object]:
    """Check a session whose worker gets a signal while it measures, and the next session."""
    if kit.target.host is not None:
        pytest.skip(f"the worker is on {kit.target.host}: only one on this machine is ended on purpose")
    artifact, before, worker = kit.artifact(), workers(), 0
    error: SessionError | None = None
    try:
        with kit.session(artifact, device) as session:
            session.golden()
            passes = session.measure(kit.plan(artifact, passes=3))
            next(passes)
            started = workers() - before
            if len(started) != 1:
                fail(
                    f"{len(started)} workers run in one session; fix: start one worker process for a session"
                )
            [worker] = started
            os.kill(worker, number)
            list(passes)
    except SessionError as ending:
        error = ending
    yield from (
        error is not None
        or f"the session went on to its end although its worker had got {number.name}"
        "; fix: let the worker loop of the agent run the runner, in the worker's own process",
        (error is None or (error.status == status and error.stage == "measure"))
        or f"after {number.name} the session ended as {error.status} at {error.stage} ({error}), "
        f"expected {status} at measure; fix: start no process in the runner that outlives the worker",
        worker not in workers()
        or f"the worker still runs after {number.name}; fix: ignore no signal in the runner",
    )
    try:
        kit.try_golden(artifact, device)
    except SessionError as after:
        fix = "take no lock and leave no file that only a worker's orderly end removes"
        yield f"the session after {number.name} does not work: {after}{FIX}{fix}"
