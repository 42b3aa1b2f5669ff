"""The processor's runner against made runtimes: which one it finds, and what it refuses."""

import importlib
import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edgebench import registry

# By its entry point, as the harness finds it: no checker follows the folder that it is installed from.
runner: Any = importlib.import_module(
    registry.backend("cpu").__module__.rpartition(".")[0] + ".device.runner"
)


class Interpreter:
    """A runtime in numpy that adds up its input, and may move its tensors."""

    moves = False
    output_dtype: type = np.float32
    quantization = (0.0, 0)

    def __init__(self, **arguments):
        self.arguments = arguments
        self._tensors = [np.zeros((1, 2, 2, 3), np.float32), np.zeros((1, 5), self.output_dtype)]
        self._old: list[Any] = []

    def allocate_tensors(self):
        pass

    def get_input_details(self):
        return [{"index": 0, "shape": np.array([1, 2, 2, 3]), "dtype": np.float32}]

    def get_output_details(self):
        shape = np.array([1, 5])
        return [{"index": 1, "shape": shape, "dtype": self.output_dtype, "quantization": self.quantization}]

    def resize_tensor_input(self, index, shape):
        self._tensors[index] = np.zeros(shape, np.float32)

    def tensor(self, index):
        return lambda: self._tensors[index]

    def set_tensor(self, index, value):
        self._tensors[index][:] = value

    def get_tensor(self, index):
        return self._tensors[index].copy()

    def invoke(self):
        if self.moves:
            self._old = self._tensors
            self._tensors = [tensor.copy() for tensor in self._tensors]
        self._tensors[1][:] = self._tensors[0].sum()


def runtime(kind=Interpreter, resolvers=None):
    return runner.Runtime("made", "1", kind, resolvers, None)


OPTIONS = {"threads": 3, "kernels": "xnnpack"}


def model(kind=Interpreter, options=OPTIONS, resolvers=None):
    return runner.made_by(runtime(kind, resolvers), "model.tflite", options)


def test_the_input_is_the_runtimes_own_memory_and_so_is_the_score():
    loaded = model()
    [model_input] = loaded.buffers()
    model_input[:] = 2.0
    scores = loaded.infer(SimpleNamespace(array=model_input))
    np.testing.assert_array_equal(scores, np.full((1, 5), 24.0))
    assert np.shares_memory(scores, loaded._interpreter.tensor(1)())
    assert loaded._interpreter.arguments == {"model_path": "model.tflite", "num_threads": 3}
    assert loaded.describe() == {"name": "made", "version": "1", **OPTIONS}


def test_a_sample_is_written_into_the_input():
    scores = model().infer(SimpleNamespace(array=(np.full((1, 2, 2, 3), 2, np.float32),)))
    np.testing.assert_array_equal(scores, np.full((1, 5), 24.0))


def test_without_a_number_there_is_a_thread_a_core_and_at_most_four(monkeypatch):
    for cores, threads in ((2, 2), (16, 4)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, cores=cores: set(range(cores)))
        loaded = model(options={**OPTIONS, "threads": 0})
        assert loaded._interpreter.arguments["num_threads"] == threads
        assert loaded.describe()["threads"] == threads


def test_tensors_that_move_are_noticed_at_the_first_inference():
    class Moving(Interpreter):
        moves = True

    with pytest.raises(RuntimeError):
        model(Moving).infer(SimpleNamespace(array=None))


@pytest.mark.parametrize(("dtype", "zero_point", "raw"), [(np.int8, -128, -100), (np.uint8, 3, 31)])
def test_quantised_scores_are_made_real(dtype, zero_point, raw):
    class Quantised(Interpreter):
        output_dtype = dtype
        quantization = (0.125, zero_point)

    loaded = model(Quantised)
    [model_input] = loaded.buffers()
    model_input[:] = raw / 12
    scores = loaded.infer(SimpleNamespace(array=model_input))
    np.testing.assert_array_equal(scores, np.full((1, 5), (raw - zero_point) * 0.125))


def test_an_output_of_another_kind_is_given_as_the_runtime_has_it():
    class Wide(Interpreter):
        output_dtype = np.int16
        quantization = (0.5, 2)

    loaded = model(Wide)
    (scores,) = loaded.infer(SimpleNamespace(array=np.full((1, 2, 2, 3), 2, np.float32)))
    np.testing.assert_array_equal(scores, np.full((1, 5), 24, np.int16))
    assert loaded.quantisations == [(0.5, 2)]
    assert not hasattr(loaded, "buffers")


def test_shapes_that_the_file_leaves_open_are_told_to_the_runtime():
    loaded = model(options={**OPTIONS, "input_shapes": [[4, 2, 2, 3]]})
    (scores,) = loaded.infer(SimpleNamespace(array=(np.ones((4, 2, 2, 3), np.float32),)))
    np.testing.assert_array_equal(scores, np.full((1, 5), 48.0))


def test_reference_kernels_are_asked_for_by_name_or_refused():
    reference = {"threads": 1, "kernels": "reference"}
    loaded = model(options=reference, resolvers=SimpleNamespace(BUILTIN_REF="the reference"))
    assert loaded._interpreter.arguments["experimental_op_resolver_type"] == "the reference"
    with pytest.raises(RuntimeError, match="kernels=xnnpack"):
        model(options=reference)


def fake_module(monkeypatch, name, **attributes):
    module = ModuleType(name)
    for key, value in attributes.items():
        setattr(module, key, value)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def test_the_runtime_for_boards_is_found_where_litert_is_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    inner = fake_module(
        monkeypatch, "tflite_runtime.interpreter", Interpreter=Interpreter, load_delegate=None
    )
    fake_module(monkeypatch, "tflite_runtime", __version__="2.5.0", interpreter=inner, __path__=[])
    runtime = runner._find_runtime()
    assert (runtime.name, runtime.version, runtime.interpreter) == ("tflite-runtime", "2.5.0", Interpreter)
    assert runtime.resolvers is None


def test_tensorflow_is_the_last_resort(monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    monkeypatch.setitem(sys.modules, "tflite_runtime", None)
    resolvers = SimpleNamespace(OpResolverType="resolvers", load_delegate=None)
    lite = SimpleNamespace(Interpreter=Interpreter, experimental=resolvers)
    fake_module(monkeypatch, "tensorflow", __version__="2.4.0", lite=lite)
    assert runner._find_runtime() == runner.Runtime("tensorflow", "2.4.0", Interpreter, "resolvers", None)


def test_no_runtime_says_how_to_get_one(monkeypatch):
    monkeypatch.setattr(runner, "_RUNTIME", None)
    monkeypatch.setattr(runner, "_WHY_NONE", "No module named 'tensorflow'")
    with pytest.raises(ImportError, match="No module named 'tensorflow'"):
        runner.load("model.tflite", OPTIONS)
