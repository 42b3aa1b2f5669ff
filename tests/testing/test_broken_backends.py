"""The kit can fail: backends with one fault each are caught by the test that is there for it."""

from __future__ import annotations

import importlib
import inspect
import os
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import ConfigDict, Field

from edgebench.contract import BackendOptions
from edgebench.errors import UnsupportedError
from edgebench.testing import BackendContract
from edgebench.testing.backend_kit import BackendKit
from edgebench.testing.subject import BackendSubject
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.finding import Finding
from tests.testing import template


def complaint(test, backend, cache, tmp_path, **subject):
    """What one test of the contract says of a backend; nothing where it is content."""
    kit = BackendKit(BackendSubject(**{"backend": backend, "options": {}, "batch": 3, **subject}), cache)
    if test != "test_golden_scores":
        kit.golden_faults = ()  # looked at once a class, and of no interest to the other tests
    method = getattr(BackendContract(), test)
    fixtures = {"edgebench_backend": kit, "record_property": lambda name, value: None, "tmp_path": tmp_path}
    wanted = inspect.signature(method).parameters
    try:
        method(**{name: value for name, value in fixtures.items() if name in wanted})
    except pytest.fail.Exception as failure:
        return str(failure)
    finally:
        kit.close()
    return ""


@pytest.fixture
def caught(edgebench_cache, tmp_path):
    def check(test, backend, words, **subject):
        text = complaint(test, backend, edgebench_cache, tmp_path, **subject)
        assert words in text
        assert text.count("mend: ") >= 1

    return check


# --- what it says of itself ---


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"name": "My Board"}, "cannot be typed"),
        ({"description": " "}, "is not one line"),
        ({"description": "two\nlines"}, "is not one line"),
        ({"precisions": ()}, "are not some of"),
        ({"precisions": ("fp32", "fp32")}, "are not some of"),
        ({"precisions": ("float",)}, "are not some of"),
        ({"meters": ("wattmeter",)}, "is not a meter on the board"),
        ({"meters": ("telemetry:1",)}, "is not a meter on the board"),
    ],
)
def test_names(caught, members, words):
    caught("test_name_description_and_precisions", template.backend(**members), words)


def test_a_name_that_is_not_the_entry_points(caught, monkeypatch):
    monkeypatch.setattr("edgebench.registry.backend", lambda name: template.backend())
    caught("test_name_description_and_precisions", "another", "calls itself 'example-board'")


class Open(BackendOptions):
    model_config = ConfigDict(extra="allow")
    repeat: int = 1


class Changing(BackendOptions):
    model_config = ConfigDict(frozen=False)
    repeat: int = 1


class Invalid(BackendOptions):
    repeat: int = Field(default=0, ge=1)


class Strict(BackendOptions):
    repeat: int = Field(default=1, strict=True)


class Lossy(BackendOptions):
    repeat: int = 1
    seen: object = Field(default_factory=lambda: 1, exclude=True)


@pytest.mark.parametrize(
    ("model", "subject", "words"),
    [
        (Open, {}, "an unknown option is taken"),
        (Changing, {}, "can be changed after they were validated"),
        (Invalid, {"options": {"repeat": 1}}, "the default of repeat, 0, is not valid"),
        (Strict, {}, "the option repeat cannot be given as text"),
        (Lossy, {"options": {"seen": 2}}, "come back from JSON as"),
    ],
)
def test_options(caught, model, subject, words):
    caught("test_options", template.backend(options_model=model), words, **subject)


@pytest.mark.parametrize(
    ("inputs", "subject", "words"),
    [
        (
            lambda request: {"at": time.time_ns(), "name": request.variant.name},
            {},
            "when they are asked for twice",
        ),
        (lambda request: {"recipe": 1}, {}, "are the same for mobilenet_v1-0.25-fp32 at batch 1 and"),
        (
            lambda request: {"name": request.variant.name},
            {},
            "fp32 at batch 1 and mobilenet_v1-0.25-fp32 at batch 3",
        ),
        (lambda request: {"names": {"a"}}, {}, "is not JSON"),
        (lambda request: {1: request.variant.name}, {}, "JSON turns its keys"),
        (
            lambda request: {"name": request.variant.name, "batch": request.batch},
            {"deciding": {"repeat": 2}},
            "the option repeat decides the artifact",
        ),
    ],
)
def test_inputs(caught, inputs, subject, words):
    backend = template.backend(prepare_inputs=lambda self, request: inputs(request))
    caught("test_prepare_inputs", backend, words, **subject)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import tensorrt", "imports tensorrt"),
        ("FROM_A_SET = hash('text')", "differ in another process"),
        ("from edgebench.cache.objects import Cache", "wrote 1 files"),
    ],
)
def test_looking(caught, tmp_path, monkeypatch, body, words):
    (tmp_path / "tensorrt.py").write_text("")
    module = f"broken_{words.split()[0]}"
    extra = {"FROM": '"set": FROM_A_SET', "from": '"made": Cache().add_bytes(b"x")[1]'}.get(body[:4], "")
    (tmp_path / f"{module}.py").write_text(
        f"{body}\nfrom edgebench_example_board.backend import ExampleBoardBackend\n\n\n"
        "class Broken(ExampleBoardBackend):\n"
        "    def prepare_inputs(self, request):\n"
        f"        return {{**super().prepare_inputs(request), {extra}}}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(tmp_path / "own"))
    template.backend_module()
    broken = importlib.import_module(module).Broken
    caught("test_looking_at_it_loads_no_runtime", broken(), words)


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (Finding("error", "runtime", "is missing"), "error without a fix"),
        (Finding("warning", "governor", "", "set it"), "without a subject or a message"),
        ("all is well", "check gave 'all is well'"),
    ],
)
def test_checks(caught, finding, words):
    backend = template.backend(check=lambda self, target: [finding])
    caught("test_check_has_a_fix_for_each_problem", backend, words)


# --- preparation ---


def preparing(change):
    """A backend whose artifacts are changed."""
    base = template.backend_module().ExampleBoardBackend

    def prepare(self, requests, cache, progress):
        outcomes = base.prepare(self, requests, cache, progress)
        return [change(outcome, cache) if isinstance(outcome, Artifact) else outcome for outcome in outcomes]

    return template.backend(prepare=prepare)


def updated(**members):
    return lambda artifact, cache: artifact.model_copy(update=members)


def golden(**members):
    return lambda artifact, cache: artifact.model_copy(
        update={"golden": artifact.golden.model_copy(update=members)}
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (updated(sha256="0" * 64), "sha256 is not that of its file"),
        (updated(path=Path("/no/such/artifact")), "there is no file"),
        (updated(size_bytes=1), "size_bytes is 1"),
        (updated(variant="mobilenet_v1-1.0-fp32"), "says that it is mobilenet_v1-1.0-fp32"),
        (updated(batch=7), "at batch 7"),
        (updated(format=""), "has no format"),
        (updated(class_names=("water", "water")), "the class names"),
        (updated(provenance={"at": {1}}), "the provenance is not JSON"),
        (golden(patches_sha256="0" * 64), "patches_sha256 is not that"),
        (golden(scores=((0.5, 0.5),)), "golden scores of [2] columns for 5 classes"),
        (golden(tolerance=2.0), "catches nothing"),
        (golden(reference=""), "the golden scores have no reference"),
        (
            lambda artifact, cache: artifact.model_copy(
                update={"input": artifact.input.model_copy(update={"dtype": "int8", "scale": None})}
            ),
            "without scale and zero point",
        ),
    ],
)
def test_artifacts(caught, change, words):
    caught("test_artifacts_are_whole", preparing(change), words)


def test_an_artifact_that_is_another_each_time(caught):
    def change(artifact, cache):
        return artifact.model_copy(update={"provenance": {"at": time.time_ns()}})

    caught("test_a_second_preparation_comes_from_the_cache", preparing(change), "is another artifact")


def test_an_artifact_that_is_written_each_time(caught):
    def change(artifact, cache):
        data = artifact.path.read_bytes()
        artifact.path.unlink()
        return artifact.model_copy(update={"path": cache.add_bytes(data, ".json")[0]})

    caught("test_a_second_preparation_comes_from_the_cache", preparing(change), "was written again")


def _reversed(self, requests, cache, progress):
    return template.backend().prepare(requests, cache, progress)[::-1]


def _leaving_out(self, requests, cache, progress):
    outcomes = template.backend().prepare(requests, cache, progress)
    return [outcome for outcome in outcomes if isinstance(outcome, Artifact)]


def _raising(self, requests, cache, progress):
    for outcome in template.backend().prepare(requests, cache, progress):
        if isinstance(outcome, UnsupportedError):
            raise outcome
    return []


def _obliging(self, requests, cache, progress):
    outcomes = template.backend().prepare(requests, cache, progress)
    return [outcome if isinstance(outcome, Artifact) else outcomes[0] for outcome in outcomes]


def _silent(self, requests, cache, progress):
    outcomes = template.backend().prepare(requests, cache, progress)
    return [outcome if isinstance(outcome, Artifact) else UnsupportedError("") for outcome in outcomes]


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (_reversed, "outcome 0 is mobilenet_v1-0.25-fp32, mobilenet_v1-0.25-int8 was due"),
        (_leaving_out, "gave 2 outcomes for 3 requests"),
        (_raising, "prepare raised UnsupportedError"),
        (_obliging, "which is not among the precisions"),
        (_silent, "without a message"),
    ],
)
def test_outcomes(caught, prepare, words):
    caught("test_one_outcome_a_request_in_order", template.backend(prepare=prepare), words)


# --- sessions ---


@pytest.mark.parametrize(
    ("test", "old", "new", "words"),
    [
        ("test_the_device_describes_itself", '"version": np.__version__, ', "", "has no version"),
        ("test_golden_scores", "near = -(", "near = (", "the order of rows and classes"),
        (
            "test_golden_scores",
            "return Model(",
            "raise OSError('no such device')\n        Model(",
            "no such device",
        ),
        (
            "test_a_pass_over_a_scene",
            "near = -(",
            "self._centroids = np.roll(self._centroids, 1, axis=0)\n        near = -(",
            "scores the patches of the scene otherwise",
        ),
        (
            "test_batch_edges",
            "near = -(",
            "seen = seen + seen.mean(axis=0) - seen[:1]\n        near = -(",
            "patches alone score otherwise than at the head of 4",
        ),
        (
            "test_batch_edges",
            "        return scores\n\n\n",
            "        return scores[::-1]\n\n\n",
            "patches alone score",
        ),
        (
            "test_a_wrong_number_of_scores_is_refused",
            "        return scores\n\n\n",
            "        import os\n        os.abort()\n\n\n",
            "the worker crashed (SIGABRT) where a message was due",
        ),
    ],
)
def test_runners_in_sessions(caught, tmp_path, test, old, new, words):
    caught(test, template.with_runner(tmp_path, (old, new)), words)


WRONG_ORDER = ("return scores\n\n\n", "return scores[:, ::-1].copy()\n\n\n")
TOO_FEW = ("return scores\n\n\n", "return scores[:, 1:].copy()\n\n\n")


def gated():
    """The tests of the contract that need a device that computes what it should."""
    return [
        name
        for name, test in inspect.getmembers(BackendContract, inspect.isfunction)
        if "require_golden" in test.__code__.co_names
    ]


@pytest.mark.parametrize(
    ("fault", "words"),
    [(WRONG_ORDER, "largest difference"), (TOO_FEW, "scores are [1, 4], [1, 5]")],
    ids=["order", "shape"],
)
def test_a_wrong_result_is_one_failure_and_the_rest_is_not_tried(edgebench_cache, tmp_path, fault, words):
    kit = BackendKit(BackendSubject(template.with_runner(tmp_path, fault), {}, batch=3), edgebench_cache)
    fixtures = {"edgebench_backend": kit, "record_property": lambda name, value: None}
    try:
        with pytest.raises(pytest.fail.Exception) as failure:
            BackendContract().test_golden_scores(kit)
        assert words in str(failure.value)
        assert len(gated()) == 9
        # This backend builds nothing on the board: that test is skipped for a reason of its own.
        for name in set(gated()) - {"test_a_build_on_the_board"}:
            method = getattr(BackendContract(), name)
            with pytest.raises(pytest.skip.Exception, match="because test_golden_scores fails: mobilenet"):
                method(**{name: fixtures[name] for name in inspect.signature(method).parameters})
    finally:
        kit.close()


def test_golden_scores_that_are_left_out_hold_up_nothing(edgebench_cache):
    left_out = BackendSubject(template.backend(), {}, skips=frozenset(["test_golden_scores"]))
    kit = BackendKit(left_out, edgebench_cache)
    kit.golden_faults = (("wrong", "mend it"),)
    assert kit.require_golden() is kit


class Contract(BackendContract):
    """For pytest to collect, under a name that it does not collect by itself."""


def test_golden_scores_are_asked_first(request):
    module = request.node.getparent(pytest.Module)
    collected = pytest.Class.from_parent(module, name="Contract").collect()
    assert next(iter(collected)).name == "test_golden_scores"


class Obliging:
    """A device that takes any artifact for the sound one, and is closed once at most."""

    placement_cost = "cheap"

    def __init__(self, device, sound, facts):
        self._device, self._sound, self._facts, self._closed = device, sound, facts, False

    def describe(self):
        return self._facts

    @contextmanager
    def session(self, artifact, settings):
        with self._device.session(self._sound, settings) as session:
            yield session

    def close(self):
        if self._closed:
            raise RuntimeError("closed already")
        self._closed = True
        self._device.close()


def obliging(cache, facts=None):
    base = template.backend_module().ExampleBoardBackend
    sound = template.backend()

    def opened(self, target):
        request = BackendKit(BackendSubject(sound, {}), cache).artifact()
        return Obliging(base.open(self, target), request, facts or {})

    return template.backend(open=opened)


@pytest.mark.parametrize(
    ("test", "facts", "words"),
    [
        (
            "test_the_device_describes_itself",
            {"usable_cores": {0, 1}},
            "describe() of the device is not JSON",
        ),
        ("test_the_device_describes_itself", {"kernel": "Linux"}, "names no board, soc or cpu"),
        (
            "test_an_artifact_that_contradicts_the_runner_is_refused",
            {},
            "int8 for a model of float32: no error was raised",
        ),
        ("test_closing_twice", {}, "a second time raised RuntimeError: closed already"),
    ],
)
def test_devices(caught, edgebench_cache, test, facts, words):
    caught(test, obliging(edgebench_cache, facts), words)


# --- the runner's file and its worker ---


@pytest.mark.parametrize(
    ("test", "old", "new", "words"),
    [
        ("test_runner_files", "def load(path", "def loads(path", "has no function load(path, options)"),
        ("test_runner_files", "def load(path: str, options", "def load(options", "has no function load"),
        (
            "test_runner_is_python_3_6",
            "def load(",
            "assert (n := 1)\n\n\ndef load(",
            "is not valid Python 3.6",
        ),
        (
            "test_runner_is_python_3_6",
            "import json",
            "from __future__ import annotations\nimport json",
            "is Python 3.7",
        ),
        ("test_runner_imports", "import json", "import json\nimport pandas", "line 8: pandas"),
        ("test_runner_imports", "import json", "import json\nfrom . import meter", "a relative import"),
        (
            "test_runner_imports",
            "import json",
            "import json\nimport dataclasses",
            "dataclasses is not in Python 3.6",
        ),
        (
            "test_runner_imports",
            "    with open(path)",
            "    import edgebench\n    with open(path)",
            ": edgebench",
        ),
    ],
)
def test_runner_files(caught, tmp_path, test, old, new, words):
    caught(test, template.with_runner(tmp_path, (old, new)), words)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ((), "names no file"),
        (("no/runner.py",), "there is no runner file"),
        (("a/r.py", "a/r.py"), "names a file twice"),
    ],
)
def test_lists_of_runner_files(caught, files, words):
    backend = template.backend(runner_files=lambda self: tuple(Path(file) for file in files))
    caught("test_runner_files", backend, words)


@pytest.mark.parametrize(
    ("test", "number"),
    [
        ("test_a_killed_worker_is_a_crash", "SIGKILL"),
        ("test_a_stopped_worker_is_a_timeout", "SIGSTOP"),
    ],
)
def test_a_lock_that_outlives_its_worker(caught, tmp_path, test, number):
    runner = template.with_runner(
        tmp_path,
        ("    with open(path)", f"    open({str(tmp_path / 'lock')!r}, 'x').close()\n    with open(path)"),
        (
            "    def describe(self)",
            "    def close(self) -> None:\n"
            "        import os\n"
            f"        os.unlink({str(tmp_path / 'lock')!r})\n\n"
            "    def describe(self)",
        ),
    )
    caught(test, runner, f"the session after {number} does not work", pass_limit_s=1.0)
    os.unlink(tmp_path / "lock")


def test_a_declared_runtime_may_be_imported(edgebench_cache, tmp_path):
    runner = template.with_runner(tmp_path, ("import json", "import json\nimport madeup.api"))
    assert complaint("test_runner_imports", runner, edgebench_cache, tmp_path)
    assert not complaint(
        "test_runner_imports", runner, edgebench_cache, tmp_path, runtime_modules=("madeup",)
    )
