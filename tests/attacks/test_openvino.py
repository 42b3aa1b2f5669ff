"""Models, caches and installations that OpenVINO cannot do with, and requests from many threads."""

from __future__ import annotations

import importlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import psutil
import pytest
from onnx import TensorProto, helper

from edgebench import registry
from edgebench.agent.timed import TimedLoop
from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.link.session_loop import Timeouts
from edgebench.prepare.cache import Cache
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from tests.backends import openvino_models as models
from tests.backends.openvino_stub import make_openvino
from tests.fakes import agent_backend
from tests.models.crafted import onnx_file

checks: Any = importlib.import_module("edgebench.backends.openvino.checks")
BACKEND: Any = registry.backend("openvino")
usb_sticks: Any = importlib.import_module("edgebench.backends.device.usb_sticks").usb_sticks
CompileCache: Any = importlib.import_module("edgebench.backends.openvino.device.library").CompileCache
BOOT_ID, READY_ID = "03e7:2485", "03e7:f63b"
OPTIONS = {
    "device": "CPU",
    "requests": 2,
    "streams": 0,
    "threads": 1,
    "hint": "auto",
    "cache": "",
    "precision": "fp32",
    "execution_precision": "auto",
}
LOAD = """
import json, sys
from edgebench.backends.openvino.device.runner import load
for path, options in json.loads(sys.argv[1]):
    try:
        model = load(path, options)
        print(json.dumps(["loaded", model.is_cold]))
        model.close()
        model.close()
    except Exception as error:
        print(json.dumps([type(error).__name__, str(error)]))
"""


def loads(*chosen: tuple[Path, dict[str, Any]], **process: Any) -> list[list[Any]]:
    """What comes of loading each, in a process of its own: the harness never loads the library."""
    asked = json.dumps([(str(path), {**OPTIONS, **options}) for path, options in chosen])
    done = subprocess.run(
        [sys.executable, "-c", LOAD, asked],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        **process,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def quantised(path: Path, scales: list[float]) -> Path:
    nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["scores"], axis=1)]
    zero = np.zeros(len(scales), np.uint8)
    constants: dict[str, Any] = {"scale": np.array(scales, np.float32), "zero": zero}
    if len(scales) == 1:
        constants = {name: array.reshape(()) for name, array in constants.items()}
    path = onnx_file(path, nodes, {"x": (1, 3)}, {"scores": (1, 3)}, constants)
    return _with_output_type(path, TensorProto.UINT8)


def non_zero(path: Path) -> Path:
    nodes = [helper.make_node("NonZero", ["x"], ["places"])]
    return _with_output_type(onnx_file(path, nodes, {"x": (1, 3)}, {"places": (2, "N")}), TensorProto.INT64)


def without_values(path: Path) -> Path:
    return onnx_file(path, [helper.make_node("Relu", ["x"], ["y"])], {"x": (0, 3)}, {"y": (0, 3)})


def plain(path: Path) -> Path:
    return onnx_file(path, [helper.make_node("Relu", ["x"], ["y"])], {"x": (1, 3)}, {"y": (1, 3)})


def _with_output_type(path: Path, element: int) -> Path:
    model = onnx.load(path)
    model.graph.output[0].type.tensor_type.elem_type = element
    onnx.save(model, path)
    return path


@pytest.mark.attack(
    "a model has an output of open shape, of no values, or of integers without a scale: refused by its name"
)
def test_outputs_that_give_no_scores_are_refused_by_name(tmp_path):
    chosen = {
        "places has an open shape": non_zero(tmp_path / "open.onnx"),
        "holds no value": without_values(tmp_path / "none.onnx"),
        "scores is stored as integers of scale": quantised(tmp_path / "zero.onnx", [0.0]),
        "scores is stored as integers of several": quantised(tmp_path / "several.onnx", [0.1, 0.2, 0.3]),
    }
    outcomes = loads(*((path, {}) for path in chosen.values()))
    for words, (kind, message) in zip(chosen, outcomes, strict=True):
        assert (kind, words in message) == ("ValueError", True), (words, message)
    assert len(outcomes) == len(chosen)


def test_a_cache_in_the_home_folder_is_the_one_that_is_used(tmp_path, monkeypatch):
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    monkeypatch.setenv("HOME", str(home))
    # Imported from the sources or the installation, whatever the tests run on; only the folder is another.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    chosen = (plain(tmp_path / "plain.onnx"), {"cache": "~/models"})
    assert loads(chosen, chosen, cwd=work) == [["loaded", True], ["loaded", False]]
    assert list(work.iterdir()) == []
    assert len(list((home / "models").iterdir())) == 1


@pytest.mark.attack(
    "a model in OpenVINO's cache folder is cut off: it is compiled again, and the load counts as a cold one"
)
def test_a_broken_file_of_the_cache_that_is_compiled_again_is_no_cached_load(tmp_path):
    (tmp_path / "1.blob").write_bytes(b"cut")
    broken = CompileCache(str(tmp_path))
    assert broken.is_unchanged()
    (tmp_path / "1.blob").write_bytes(b"compiled again")
    assert not broken.is_unchanged()


@pytest.mark.attack("a file of OpenVINO's cache folder vanishes while it is listed: it counts as not there")
def test_a_model_that_vanishes_from_a_shared_cache(tmp_path):
    (tmp_path / "1.blob").symlink_to(tmp_path / "gone")
    assert CompileCache(str(tmp_path)).models() == set()


@pytest.mark.parametrize("kind", ["fifo", "device", "folder"])
@pytest.mark.attack(
    "a pipe or a device file is called as a model in OpenVINO's cache folder: refused at once by its name"
)
def test_what_is_no_plain_file_in_a_cache(tmp_path, kind):
    model = tmp_path / "1.blob"
    {
        "fifo": lambda: os.mkfifo(model),
        "device": lambda: model.symlink_to("/dev/zero"),
        "folder": model.mkdir,
    }[kind]()
    with pytest.raises(OSError, match=r"1\.blob in it is no plain file; remove it"):
        CompileCache(str(tmp_path))


INSTALLATIONS = {
    "raises": ('raise OSError("libopenvino.so is cut off")', "libopenvino.so is cut off"),
    "syntax": ("def (", "SyntaxError"),
    "empty": ("", "openvino.runtime"),
    "bytes": ('import os; os.write(1, b"\\xff\\n"); raise SystemExit(3)', "cannot be asked"),
    "version": (
        f'class Core: available_devices = []\nget_version = lambda: "{"9" * 5000}"\n'
        "Core.get_versions = lambda self, name: {}\n",
        "999",
    ),
}


@pytest.mark.parametrize("name", INSTALLATIONS)
@pytest.mark.attack(
    "OpenVINO is installed broken (its import raises, prints bytes, misstates its version): doctor says so"
)
def test_a_broken_installation_is_a_finding(tmp_path, name):
    source, words = INSTALLATIONS[name]
    package = tmp_path / "openvino"
    package.mkdir()
    (package / "__init__.py").write_text(source)
    target = Target("openvino", "openvino", launch=Launch(env={"PYTHONPATH": str(tmp_path)}))
    findings = [finding for finding in BACKEND.check(target) if finding.subject == "openvino"]
    assert [finding.level for finding in findings] == ["warning" if name == "version" else "error"]
    assert words in findings[0].message


@pytest.mark.parametrize("number", ["inf", "nan", "1e999", "-1e400", "480 Mbit", ""])
@pytest.mark.attack("sysfs gives no number for a stick's bus or speed: the figure is missing with its reason")
def test_a_stick_with_numbers_that_are_none(tmp_path, number):
    device = tmp_path / "sys/bus/usb/devices/1-1"
    device.mkdir(parents=True)
    vendor, product = READY_ID.split(":")
    files = {"idVendor": vendor, "idProduct": product, "speed": number, "busnum": number, "devnum": "1"}
    for file, text in files.items():
        (device / file).write_text(text)
    absent: dict[str, str] = {}
    assert usb_sticks(str(tmp_path), BOOT_ID, READY_ID, absent) == [
        {"id": READY_ID, "speed_mbps": None, "firmware": True, "writable": None}
    ]
    assert "usb_speed" in absent


class Slow:
    """Scores in the memory of an input that take the longer to be copied, and other threads their turn."""

    def __init__(self, scores: Any, delay_s: float) -> None:
        self.shape = scores.shape
        self._scores, self._delay_s = scores, delay_s

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        time.sleep(self._delay_s)
        return self._scores


class Threads:
    """Requests that are ended by a thread each; their results lie in the memory of their inputs."""

    input_shape, input_dtype = (1, 2, 2, 3), "float32"

    def __init__(self, requests: int) -> None:
        self._arrays = [np.zeros(self.input_shape, np.float32) for _ in range(requests)]
        self._results = [array.reshape(1, -1)[:, :2] for array in self._arrays]

    def buffers(self):
        return self._arrays

    def describe(self):
        return {}

    def infer(self, slot):
        raise AssertionError("never in turn")

    def infer_many(self, slots, done):
        submitted: queue.Queue[Any] = queue.Queue()
        ended = threading.Semaphore(len(self._arrays))
        errors: list[BaseException] = []

        def serve():
            while (taken := submitted.get()) is not None:
                index, slot = taken
                try:
                    done(index, Slow(self._results[slot.number], index % 4 * 2e-4))
                except BaseException as error:
                    errors.append(error)
                ended.release()

        threads = [threading.Thread(target=serve) for _ in self._arrays]
        for thread in threads:
            thread.start()
        try:
            ended.acquire()
            for taken in slots:
                submitted.put(taken)
                ended.acquire()
        finally:
            for _ in threads:
                submitted.put(None)
            for thread in threads:
                thread.join()
        assert errors == []


@pytest.mark.attack(
    "eight threads report batches at once, their inputs filled again at once: every score is its patch's own"
)
def test_batches_that_are_done_in_many_threads_at_once():
    spec = {"dtype": "float32", "layout": "NHWC", "height": 2, "width": 2}
    spec |= {"divisor": 127.5, "offset": -1.0, "scale": None, "zero_point": None}
    patches = np.arange(400, dtype=np.int64) % 251
    windows = [np.full((2, 2, 3), grey, np.uint8) for grey in patches]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        loop = TimedLoop(Threads(8), spec, 1, 2, time.monotonic_ns)
        timed = loop.run(windows)
    finally:
        sys.setswitchinterval(interval)
    np.testing.assert_allclose(timed.scores[:, 0], patches / 127.5 - 1, atol=1e-5)
    stamps = np.array(timed.stamps).reshape(len(windows), len(loop.stages), 2)
    assert (stamps[:, 2, 1] > stamps[:, 2, 0]).all()
    assert (stamps[:, 2, 1] <= timed.end_ns).all()


FAULTS = {
    "never ends": ("Request.wait = lambda self, ms: time.sleep(3600)", "timeout", "2 s"),
    "fails": (
        "Request.wait = lambda self, ms: -17 if self is LAST else time.sleep(1) or 0",
        "error",
        "-17",
    ),
    "cannot start": ("LAST.async_infer = lambda: [][0]", "error", "IndexError"),
    "ends the worker": ("Request.wait = lambda self, ms: os.kill(os.getpid(), 15)", "crash", "SIGTERM"),
}


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    """A device whose measuring may take two seconds, so that a request without end is a short test."""
    agent, _ = agent_file(Cache(tmp_path_factory.mktemp("agent")))
    backend = agent_backend("ncs2")
    limits = replace(Timeouts(), measure=2.0)
    link = LocalLink(agent, sys.executable)
    opened = AgentDevice(link, backend.runner_files(), explain=backend.explain, timeouts=limits)
    yield opened
    opened.close()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.attack(
    "with four requests in flight one never ends, fails, cannot be started, or ends its process: the session "
    "fails with its reason within its limit, and no process is left of it"
)
def test_a_request_in_flight_that_goes_wrong(impatient, tmp_path, fault):
    source, status, words = FAULTS[fault]
    folder = make_openvino(tmp_path / "python", models.CHANNELS_FIRST)
    module = folder / "openvino" / "inference_engine" / "__init__.py"
    two_classes = module.read_text().replace("[1, 5]", "[1, 2]")
    module.write_text(f"import os, time\n{two_classes}\nLAST = Compiled.requests[3]\n{source}\n")
    artifact = models.artifact(models.mean_of(tmp_path / "mean.onnx"), tmp_path)
    options = agent_backend("ncs2").options_model().model_dump()
    launch = Launch(env={"PYTHONPATH": str(folder)})
    plan = MeasurePlan(models.scene(tmp_path, [models.DARK] * 8), passes=1)
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    with (
        pytest.raises(SessionError) as caught,
        impatient.session(artifact, SessionSettings(1, options, launch)) as session,
    ):
        workers = {process.pid for process in psutil.Process().children(recursive=True)} - before
        assert workers
        list(session.measure(plan))
    error = caught.value
    assert (error.status, error.stage) == (status, "measure")
    assert words in f"{error.what} {error.why} {error.signal}"
    assert [pid for pid in workers if psutil.pid_exists(pid)] == []
