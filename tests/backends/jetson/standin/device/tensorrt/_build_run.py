"""One run of the builder: from a network and a configuration to a serialized engine.

It checks, disturbs itself where a test asks for that, calibrates, lowers, and tells the logger of the layers.
"""

import json
import os
import signal
import time
from typing import Dict

import numpy as np

from . import _cuda, _lowering, _messages
from ._device import has_fast_int8
from ._events import note
from ._executor import Executor
from ._lowering import FLOAT, HALF, INT8
from ._plan import plan_bytes
from ._shape import SHAPE
from ._values import log


def _fill(path):
    """Write a file until the disk is full."""
    with open(path, "wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2


class Stopped(Exception):
    """A build ends without an engine; the logger knows why."""


class BuildRun:
    """One run of the builder."""

    def __init__(self, logger, network, config):
        self._logger, self._network, self._config = logger, network, config
        self._graph = network._graph

    def run(self):
        """The engine's bytes, or None."""
        note("build")
        try:
            self._require_buildable()
            self._disturb()
            graph, layers = self._lowered()
            self._take_time(layers)
        except Stopped as stopped:
            if str(stopped):
                log(self._logger, "ERROR", str(stopped))
            return None
        self._log_layers(layers)
        data = plan_bytes(self._graph, graph, layers, self._config._profiling_verbosity, self._network._name)
        note("built", bytes=len(data))
        return data

    def _require_buildable(self):
        if self._graph is None:
            raise Stopped(_messages.NO_OUTPUT)
        if any(size is None for value in self._graph.inputs for size in value.shape):
            raise Stopped(_messages.NO_PROFILE)
        if self._network._strongly_typed():
            for name in ("FP16", "INT8"):
                if self._config._has(name):
                    raise Stopped(_messages.STRONGLY_TYPED.format(name))
            return
        for name, needed in (("FP16", _lowering.is_half), ("INT8", _lowering.is_quantised)):
            if needed(self._graph) and not self._config._has(name):
                raise Stopped(_messages.NOT_CONFIGURED.format(name.lower()))

    def _disturb(self):
        """What STANDIN_BUILD asks for: oom, kill, hang, fill; once where STANDIN_ONCE says so."""
        order = os.environ.get("STANDIN_BUILD", "")
        once = os.environ.get("STANDIN_ONCE")
        if not order or order.startswith("slow"):
            return
        if once:
            if os.path.exists(once):
                return
            with open(once, "w"):
                pass
        if order == "oom":
            log(self._logger, "WARNING", _messages.LITTLE_MEMORY)
            log(self._logger, "ERROR", _messages.OUT_OF_MEMORY)
            raise Stopped(_messages.NO_IMPLEMENTATION.format(self._graph.nodes[0].name))
        note("disturbed", order=order)
        if order.startswith("fill:"):
            return _fill(order.partition(":")[2])
        if order == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            time.sleep(1)

    def _lowered(self):
        """(graph that computes, layers)."""
        refused = os.environ.get("STANDIN_UNHONOURED", "")
        graph, config = self._graph, self._config
        if refused == "all":
            return _lowering.in_float(graph), _lowering.layers_of(graph, lambda node: FLOAT)
        wants_half = config._has("FP16") or _lowering.is_half(graph)
        wants_int8 = config._has("INT8") and not _lowering.is_quantised(graph)
        if wants_int8 and not has_fast_int8():
            log(self._logger, "WARNING", _messages.NO_NATIVE_INT8)
            wants_int8 = False
        if config._has("INT8") and not wants_int8 and not _lowering.is_quantised(graph):
            return graph, _lowering.layers_of(graph, lambda node: FLOAT)

        def precision_of(node):
            if refused and refused in node.name:
                return FLOAT
            if node.op == "Softmax":
                return FLOAT
            if wants_int8 and node.op in ("Conv", "Gemm", "MatMul"):
                return INT8
            if _lowering.is_quantised(graph) and self._reads_pairs(node):
                return INT8
            return HALF if wants_half else FLOAT

        layers = _lowering.layers_of(graph, precision_of)
        if wants_int8:
            return _lowering.quantised(graph, self._ranges()), layers
        if wants_half and not _lowering.is_half(graph) and not _lowering.is_quantised(graph):
            return _lowering.half(graph), layers
        return graph, layers

    def _reads_pairs(self, node):
        """Whether a convolution or product reads what was quantised."""
        if node.op not in ("Conv", "Gemm", "MatMul"):
            return False
        written = {each.outputs[0]: each.op for each in self._graph.nodes}
        return all(written.get(name) == "DequantizeLinear" for name in node.inputs[:2])

    def _ranges(self):
        """{tensor: largest magnitude} from the calibrator."""
        calibrator, entry = self._config._int8_calibrator, self._graph.inputs[0]
        if calibrator is None:
            log(self._logger, "WARNING", _messages.NO_CALIBRATOR)
            raise Stopped(_messages.NO_RANGES)
        cached = calibrator.read_calibration_cache()
        if cached is not None:
            return json.loads(memoryview(cached).tobytes().decode("utf-8"))
        tensors = _lowering.calibrated_tensors(self._graph)
        executor = Executor(self._graph, [name for name in tensors if name != entry.name])
        size = int(np.prod(entry.shape)) * entry.dtype.itemsize
        ranges: Dict[str, float] = {}
        batches = 0
        calibrator.get_batch_size()
        while True:
            addresses = calibrator.get_batch([entry.name])
            if not addresses:
                break
            memory = _cuda.window(int(addresses[0]), size)
            if memory is None:
                _cuda.break_device()
                raise Stopped(_messages.BAD_BATCH)
            batch = np.frombuffer(memory, entry.dtype).reshape(entry.shape).copy()
            self._widen(ranges, executor, entry.name, batch, tensors)
            batches += 1
        note("calibrated", batches=batches, patches=batches * entry.shape[0])
        if not batches:
            raise Stopped(_messages.NO_BATCHES)
        calibrator.write_calibration_cache(memoryview(json.dumps(ranges).encode("utf-8")))
        return ranges

    def _widen(self, ranges, executor, entry, batch, tensors):
        """Take in a batch; numpy, which is slow and bound to no batch, computes its first patch alone."""
        results = executor.run({entry: batch if executor.is_fixed else batch[:1]})
        seen = dict(zip([name for name in tensors if name != entry], results[len(self._graph.outputs) :]))
        seen[entry] = batch
        for name in tensors:
            ranges[name] = max(ranges.get(name, 0.0), float(np.abs(seen[name].astype(np.float32)).max()))

    def _take_time(self, layers):
        """Step by step, as slowly as STANDIN_BUILD=slow:SECONDS asks for, and as the monitor lets it."""
        order = os.environ.get("STANDIN_BUILD", "")
        pause = float(order.partition(":")[2]) / len(layers) if order.startswith("slow:") else 0.0
        monitor, phase = self._config._progress_monitor, "Building Engine"
        if monitor is not None:
            monitor.phase_start(phase, None, len(layers))
        for step, layer in enumerate(layers):
            time.sleep(pause)
            log(
                self._logger,
                "VERBOSE",
                "--------------- Timing Runner: {} ({})".format(layer.name, layer.kind),
            )
            if self._config._cache is not None:
                self._config._cache._names.add(layer.name)
            if monitor is not None and not monitor.step_complete(phase, step):
                monitor.phase_finish(phase)
                raise Stopped("Build was cancelled by the progress monitor")
        if monitor is not None:
            monitor.phase_finish(phase)

    def _log_layers(self, layers):
        """The layers as the verbose log has them, one message."""
        shapes = shapes_of(self._graph)
        lines = [
            "Layer({}): {}, Tactic: 0x{:016x}, {} -> {}".format(
                layer.kind,
                layer.name,
                index,
                self._tensors(layer, layer.reads, shapes),
                self._tensors(layer, [layer.writes], shapes),
            )
            for index, layer in enumerate(layers)
        ]
        log(self._logger, "VERBOSE", "Engine Layer Information:\n" + "\n".join(lines))

    def _tensors(self, layer, names, shapes):
        entries = {value.name for value in self._graph.inputs + self._graph.outputs}
        style = "{} ({}[{}])" if SHAPE in ("10", "11") or SHAPE == "8.6" else "{}[{}({})]"
        texts = []
        for name in names:
            kind = FLOAT if name in entries and not _lowering.is_half(self._graph) else layer.precision
            shape = ",".join(str(size) for size in shapes.get(name, self._graph.inputs[0].shape))
            texts.append(style.format(name, kind, shape))
        return ", ".join(texts)


def shapes_of(graph):
    """The shapes that are known without computing: of inputs and outputs."""
    return {value.name: value.shape for value in graph.inputs + graph.outputs}
