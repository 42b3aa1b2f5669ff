"""The kit can fail: runners, devices and workers with one fault each are caught by their test."""

from __future__ import annotations

import inspect
import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgebench.records.session import Window
from edgebench.testing import BackendContract
from tests.testing import faulty
from tests.testing.complaints import backend_kit, complaint, judge

pytestmark = pytest.mark.slow

# --- sessions ---


@pytest.mark.parametrize(
    ("test", "old", "new", "words"),
    [
        ("test_the_device_describes_itself", '"version": "1", ', "", "has no version"),
        ("test_golden_scores", "near = -(", "near = (", "the order of rows and classes"),
        (
            "test_golden_scores",
            "return Model(",
            "raise OSError('no such device')\n    Model(",
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
            "offsets = offsets + offsets.mean(axis=0) - offsets[:1]\n        near = -(",
            "patches alone score otherwise than at the head of 4",
        ),
        (
            "test_batch_edges",
            "        return scores\n\n",
            "        return scores[::-1]\n\n",
            "patches alone score",
        ),
        (
            "test_an_artifact_that_contradicts_the_runner_is_refused",
            "        return scores\n\n",
            "        os.abort()\n\n",
            "the worker crashed (SIGABRT), expected a message",
        ),
        (
            "test_two_workers",
            "return Model(",
            "__import__('fcntl').flock(os.open(path, os.O_RDONLY), 6)  # exclusive\n    return Model(",
            "a session of two workers",
        ),
    ],
)
def test_runners_in_sessions(caught, tmp_path, test, old, new, words):
    caught(test, faulty.with_runner(tmp_path, (old, new)), words)


WRONG_ORDER = ("return scores\n\n", "return scores[:, ::-1].copy()\n\n")
TOO_FEW = ("return scores\n\n", "return scores[:, 1:].copy()\n\n")


def gated():
    """The tests of the contract that need a device that computes what it should."""
    return [
        name
        for name, test in inspect.getmembers(BackendContract, inspect.isfunction)
        if "golden" in getattr(test, "needs", ())
    ]


@pytest.mark.parametrize(
    ("fault", "words"),
    [(WRONG_ORDER, "largest difference"), (TOO_FEW, "scores are [1, 4], [1, 5]")],
    ids=["order", "shape"],
)
def test_a_wrong_result_is_one_failure_and_the_rest_is_not_tried(edgebench_cache, tmp_path, fault, words):
    kit = backend_kit(faulty.with_runner(tmp_path, fault), edgebench_cache, batch=3)
    try:
        with pytest.raises(pytest.fail.Exception) as failure:
            judge("test_golden_scores", kit)
        assert words in str(failure.value)
        assert len(gated()) == 8
        for name in gated():
            with pytest.raises(pytest.skip.Exception, match="because test_golden_scores fails: mobilenet"):
                judge(name, kit)
    finally:
        kit.close()


def test_golden_scores_that_are_left_out_hold_up_nothing(edgebench_cache):
    kit = backend_kit(faulty.backend(), edgebench_cache, skips={"test_golden_scores": "elsewhere"})
    kit.golden_problems = ["wrong"]
    assert not kit.obstacle("golden")


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
    base = faulty.Toy
    sound = faulty.backend()

    def opened(self, target):
        request = backend_kit(sound, cache).artifact()
        return Obliging(base.open(self, target), request, facts or {})

    return faulty.backend(open=opened)


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


# --- passes and windows ---


class ChangedSession:
    """A session whose measurements and facts are changed."""

    def __init__(self, session, change, facts):
        self._session, self._change, self._facts = session, change, facts

    def __getattr__(self, name):
        return getattr(self._session, name)

    def measure(self, plan):
        return iter(self._change(list(self._session.measure(plan))))

    def facts(self):
        return self._facts(self._session.facts())


def measuring(change=lambda passes: passes, facts=lambda facts: facts):
    """A backend whose sessions give other passes, or windows in their place."""
    base = faulty.Toy

    def opened(self, target):
        device = base.open(self, target)
        sound = device.session

        @contextmanager
        def session(artifact, settings):
            with sound(artifact, settings) as inner:
                yield ChangedSession(inner, change, facts)

        device.session = session
        return device

    return faulty.backend(open=opened)


def last(**members):
    """The last pass with other values; a function is called with the pass."""

    def change(passes):
        values = {name: value(passes[-1]) if callable(value) else value for name, value in members.items()}
        return [*passes[:-1], replace(passes[-1], **values)]

    return change


def windows(**members):
    """A window for each pass, of its first patch; the last one with other values."""

    def change(passes):
        kept = [
            Window(at, item.phase, 0, 3, item.start_ns, item.end_ns, passes[0].scores[0])
            for at, item in enumerate(passes)
        ]
        values = {name: value(kept) if callable(value) else value for name, value in members.items()}
        return [*kept[:-1], replace(kept[-1], **values)]

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda passes: passes[:-1], "the passes came as"),
        (lambda passes: passes[::-1], "the passes came as"),
        (last(phase="warmup"), "the passes came as"),
        (last(phase="last"), "its phase is 'last'"),
        (last(index=-1), "its number is out of range"),
        (last(stages=("a", "b", "c")), "stages ('a', 'b', 'c') after"),
        (last(stamps_ns=lambda item: item.stamps_ns.astype(float)), "stamps are float64"),
        (last(stamps_ns=lambda item: item.stamps_ns[0]), "stamps of shape (3, 2)"),
        (last(stamps_ns=lambda item: item.stamps_ns[:, :, ::-1]), "ended before it started"),
        (last(stamps_ns=lambda item: item.stamps_ns[1:]), "11 batches of 1"),
        (last(start_ns=lambda item: item.end_ns), "lies outside the pass"),
        (last(end_ns=lambda item: item.start_ns), "lies outside the pass"),
        (last(scores=None), "scores are None, expected [12, 5]"),
        (last(scores=lambda item: item.scores[:, 1:]), "scores are [12, 4], expected [12, 5]"),
        (last(scores=lambda item: item.scores * np.nan), "not finite numbers"),
        (last(scores=lambda item: item.scores[::-1]), "otherwise than the same images"),
        (lambda passes: [*passes, *windows()(passes)], "both passes and windows"),
        (lambda passes: windows()(passes)[:-1], "the windows came as"),
        (windows(index=7), "the windows are numbered"),
        (windows(start_ns=lambda kept: kept[-2].end_ns - 1), "started before the last one had ended"),
        (windows(end_ns=lambda kept: kept[-1].start_ns), "took no time"),
        (windows(inferences=0), "it holds 0 inferences"),
        (windows(patch=12), "patch 12 of a scene of 12"),
        (windows(patch=1), "otherwise than the same images"),
        (windows(scores=lambda kept: kept[-1].scores[None]), "scores of shape (1, 5)"),
        (windows(scores=lambda kept: kept[-1].scores[1:]), "4 scores after 5"),
        (windows(scores=lambda kept: kept[-1].scores * np.inf), "not finite numbers"),
    ],
)
def test_measurements(caught, change, words):
    caught("test_a_pass_over_a_scene", measuring(change), words)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (lambda facts: None, "facts() of the session gave NoneType"),
        (lambda facts: replace(facts, clock={"end": {1}}), "facts() of the session is not JSON"),
    ],
)
def test_facts(caught, facts, words):
    caught("test_a_pass_over_a_scene", measuring(facts=facts), words)


def test_windows_in_the_place_of_passes(edgebench_cache):
    assert not complaint("test_a_pass_over_a_scene", measuring(windows()), edgebench_cache)


# --- the runner's file and its worker ---


@pytest.mark.parametrize(
    ("test", "old", "new", "words"),
    [
        ("test_runner_files", "def load(path", "def loads(path", "has no function load of 2 arguments"),
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
        ("test_runner_imports", "import json", "import json\nimport pandas", "line 7: pandas"),
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
    caught(test, faulty.with_runner(tmp_path, (old, new)), words)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ((), "names no file"),
        (("no/runner.py",), "there is no runner file"),
        (("a/r.py", "a/r.py"), "names a file twice"),
    ],
)
def test_lists_of_runner_files(caught, files, words):
    backend = faulty.backend(runner_files=lambda self: tuple(Path(file) for file in files))
    caught("test_runner_files", backend, words)


@pytest.mark.parametrize(
    ("test", "number"),
    [
        ("test_a_killed_worker_is_a_crash", "SIGKILL"),
        ("test_a_stopped_worker_is_a_timeout", "SIGSTOP"),
    ],
)
def test_a_lock_that_outlives_its_worker(caught, tmp_path, test, number):
    runner = faulty.with_runner(
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
    runner = faulty.with_runner(tmp_path, ("import json", "import json\nimport madeup.api"))
    assert complaint("test_runner_imports", runner, edgebench_cache)
    assert not complaint("test_runner_imports", runner, edgebench_cache, runtime_modules=("madeup",))
