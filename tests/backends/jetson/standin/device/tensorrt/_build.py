"""One run of the builder: it disturbs itself where a test asks for that, calibrates, and logs its layers."""

import importlib.util
import json
import os
import pickle
import signal
import subprocess
import threading
import time
from typing import Any, Dict

import numpy as np

from . import _cuda
from ._names import RELEASE, SEVERITY, SHAPE, VERSION

_lock = threading.Lock()
_computing: Dict[str, Any] = {}


def compute(name, *arguments):
    """A function of compute.py: here where `onnx` is installed, else in the tests' own Python."""
    with _lock:
        if not _computing:
            _begin()
        if "module" in _computing:
            return getattr(_computing["module"], name)(*arguments)
        program = _computing["program"]
        pickle.dump((name, arguments), program.stdin, 4)
        program.stdin.flush()
        return pickle.load(program.stdout)


def _begin():
    if importlib.util.find_spec("onnx") is not None:
        spec: Any = importlib.util.spec_from_file_location("standin_compute", RELEASE["compute"])
        _computing["module"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(_computing["module"])
        return
    command, pipe = [RELEASE["python"], "-I", RELEASE["compute"]], subprocess.PIPE
    _computing["program"] = subprocess.Popen(command, stdin=pipe, stdout=pipe)


def note(event, **more):
    """A line in STANDIN_LOG, for tests: what a build or an engine has done."""
    path = os.environ.get("STANDIN_LOG")
    if path:
        with open(path, "a") as file:
            facts = dict(more, event=event, pid=os.getpid(), version=VERSION)
            file.write(json.dumps(facts, sort_keys=True) + "\n")


def capability():
    """The compute capability of the device, as text."""
    return os.environ.get("STANDIN_CAPABILITY", "7.2")


def has_fast_int8():
    """Whether the device computes with integers of 8 bits itself."""
    numbers = tuple(int(part) for part in capability().split("."))
    return numbers >= (6, 1) and numbers != (6, 2)


class Stopped(Exception):
    """A build ends without an engine; the logger is told why."""


def _fill(path):
    """Write a file until the disk is full."""
    with open(path, "wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2


class Build:
    """Of a network: its file, what was read of it, and the configuration."""

    def __init__(self, logger, model, read, config):
        self._logger, self._model, self._read, self._config = logger, model, read, config

    def run(self, floats):
        """(header, file that computes), or None; layers of the names `floats` stay float."""
        note("build")
        try:
            self._require_buildable()
            self._disturb()
            wants_int8 = "INT8" in self._config._flags and not self._read["has_pairs"]
            wants_half = "FP16" in self._config._flags
            refused = os.environ.get("STANDIN_UNHONOURED", "")
            layers, graph = compute("plan", self._model, wants_half, wants_int8, refused, floats)
            if wants_int8 and refused != "all":
                graph = compute("quantised", self._model, self._ranges())
            self._take_time(layers)
        except Stopped as stopped:
            self._logger.log(SEVERITY.ERROR, str(stopped))
            return None
        self._log_layers(layers)
        header = {"capability": capability(), "layers": layers}
        header.update(inputs=self._read["inputs"], outputs=self._read["outputs"])
        return header, graph

    def _require_buildable(self):
        if any(size is None for _, _, shape in self._read["inputs"] for size in shape):
            raise Stopped(
                "4: Network has dynamic or shape inputs, but no optimization profile has been defined."
            )
        if SHAPE == "11":
            return
        for name, is_needed in (("FP16", self._read["is_half"]), ("INT8", self._read["has_pairs"])):
            if is_needed and name not in self._config._flags:
                raise Stopped("4: {} precision is not configured in the builder".format(name))

    def _disturb(self):
        """What STANDIN_BUILD asks for: oom, kill, hang, fill; once where STANDIN_ONCE says so."""
        order = os.environ.get("STANDIN_BUILD", "")
        once = os.environ.get("STANDIN_ONCE")
        if not order or order.startswith("slow") or (once and os.path.exists(once)):
            return None
        if once:
            with open(once, "w"):
                pass
        if order == "oom":
            raise Stopped("2: [virtualMemoryBuffer.cpp] Error Code 2: OutOfMemory (no further information)")
        note("disturbed", order=order)
        if order.startswith("fill:"):
            return _fill(order.partition(":")[2])
        if order == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            time.sleep(1)

    def _ranges(self):
        """{tensor: largest magnitude} from the calibrator."""
        calibrator, [(name, _, shape)] = self._config.int8_calibrator, self._read["inputs"]
        ranges: Dict[str, float] = {}
        batches = 0
        calibrator.get_batch_size()
        calibrator.read_calibration_cache()
        while True:
            addresses = calibrator.get_batch([name])
            if not addresses:
                break
            memory = _cuda.window(int(addresses[0]), 4 * int(np.prod(shape)))
            if memory is None:
                _cuda.break_device()
                raise Stopped("1: Error Code 1: Cuda Runtime (an illegal memory access was encountered)")
            for tensor, largest in compute("ranges", self._model, memory.raw).items():
                ranges[tensor] = max(ranges.get(tensor, 0.0), largest)
            batches += 1
        note("calibrated", batches=batches)
        if not batches:
            raise Stopped("2: Error Code 2: Internal Error (Calibration failure: no batches)")
        calibrator.write_calibration_cache(memoryview(json.dumps(ranges).encode("utf-8")))
        return ranges

    def _take_time(self, layers):
        """Step by step, as slowly as STANDIN_BUILD=slow:SECONDS asks for, and as the monitor lets it."""
        order = os.environ.get("STANDIN_BUILD", "")
        pause = float(order.partition(":")[2]) / len(layers) if order.startswith("slow:") else 0.0
        monitor = getattr(self._config, "progress_monitor", None)
        phase = "Building Engine"
        if monitor is not None:
            monitor.phase_start(phase, None, len(layers))
        for step, layer in enumerate(layers):
            time.sleep(pause)
            text = "--------------- Timing Runner: {} ({})".format(layer["name"], layer["kind"])
            self._logger.log(SEVERITY.VERBOSE, text)
            if monitor is not None and not monitor.step_complete(phase, step):
                raise Stopped("Build was cancelled by the progress monitor")
        if monitor is not None:
            monitor.phase_finish(phase)

    def _log_layers(self, layers):
        """The layers as the verbose log has them, one message."""
        shape = ",".join(map(str, self._read["inputs"][0][2]))
        style = "{0}[{1}({2})]" if SHAPE in ("8.0", "8.2") else "{0} ({1}[{2}])"
        ends = {name for name, _, _ in self._read["inputs"] + self._read["outputs"]}
        lines = ["Engine Layer Information:"]
        for layer in layers:
            reads, writes = (
                ", ".join(
                    style.format(name, "Float" if name in ends else layer["precision"], shape)
                    for name in names
                )
                for names in (layer["reads"], [layer["writes"]])
            )
            lines.append("Layer({kind}): {name}, Tactic: 0x01, ".format(**layer) + reads + " -> " + writes)
        self._logger.log(SEVERITY.VERBOSE, "\n".join(lines))
