"""The kit can fail: runners, devices and workers with one fault each are caught by their test."""

from __future__ import annotations

import inspect
import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgebench.testing import BackendContract
from tests.testing import template
from tests.testing.complaints import backend_kit, complaint, judge

pytestmark = pytest.mark.slow

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
            "the worker crashed (SIGABRT), expected a message",
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
        if "golden" in getattr(test, "needs", ())
    ]


@pytest.mark.parametrize(
    ("fault", "words"),
    [(WRONG_ORDER, "largest difference"), (TOO_FEW, "scores are [1, 4], [1, 5]")],
    ids=["order", "shape"],
)
def test_a_wrong_result_is_one_failure_and_the_rest_is_not_tried(edgebench_cache, tmp_path, fault, words):
    kit = backend_kit(template.with_runner(tmp_path, fault), edgebench_cache, batch=3)
    try:
        with pytest.raises(pytest.fail.Exception) as failure:
            judge("test_golden_scores", kit)
        assert words in str(failure.value)
        assert len(gated()) == 9
        for name in gated():
            with pytest.raises(pytest.skip.Exception, match="because test_golden_scores fails: mobilenet"):
                judge(name, kit)
    finally:
        kit.close()


def test_golden_scores_that_are_left_out_hold_up_nothing(edgebench_cache):
    kit = backend_kit(template.backend(), edgebench_cache, skips={"test_golden_scores": "elsewhere"})
    kit.golden_promises = ((False, "wrong", "mend it"),)
    kit.require_golden()


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
        request = backend_kit(sound, cache).artifact()
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
    assert complaint("test_runner_imports", runner, edgebench_cache)
    assert not complaint("test_runner_imports", runner, edgebench_cache, runtime_modules=("madeup",))
