"""ONNX Runtime (device side, Python 3.6 syntax): .onnx in, scores out.

The worker writes into memory that is bound to the input, and the runtime writes the scores into memory
that is bound to the output: on the processor no copy stands between preprocessing and the runtime's call.
"""

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ...device.score_rows import is_one_row
from ...device.threads import threads_of
from .plugins import Plugin, device_type, is_emulated, plugin_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

CPU = "CPUExecutionProvider"

# x86-64 processors without VNNI add two products of uint8 and int8 in 16 bits, which overflow without a word.
# With it the runtime takes slower kernels there, and only there (at the levels "extended" and "all").
NO_SATURATION = ("session.x64quantprecision", "1")

RECORD_PLACEMENT = ("session.record_ep_graph_assignment_info", "1")
LEAST_SHARE = 0.5
"""Share of the operations that a provider has to take, unless the user allows the processor."""
TOO_FEW = "take another model, another int8 form (--set int8=) or another provider"

DTYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(int8)": "int8",
    "tensor(uint8)": "uint8",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "tensor(bool)": "bool",
}
LEVELS = {
    "all": "ORT_ENABLE_ALL",
    "extended": "ORT_ENABLE_EXTENDED",
    "basic": "ORT_ENABLE_BASIC",
    "disabled": "ORT_DISABLE_ALL",
}

# At the top, so that the import is timed as import and not as load; a failure is load's to tell.
_RUNTIME: Optional[Any] = None
_WHY_NONE = ""
try:
    import onnxruntime

    _RUNTIME = onnxruntime
except ImportError as missing:
    _WHY_NONE = str(missing)


class Model:
    """A session whose input and outputs are bound to arrays that live as long as it does."""

    def __init__(self, runtime: Any, path: str, options: Dict[str, Any]) -> None:
        self._version = str(runtime.__version__)
        self._options = options
        self._threads = threads_of(options)
        self._session, self._plugin = _session(runtime, path, options, self._threads)
        self._placement, self._why_no_placement = _placement(self._session, self._version)
        self._warnings = []  # type: List[str]
        if options["provider"] != CPU and self._placement is not None:
            self._warnings = processor_warnings(self._placement, options["allow_cpu"])
        inputs = self._session.get_inputs()
        shapes = options.get("input_shapes") or [tensor.shape for tensor in inputs]
        self._names = [str(tensor.name) for tensor in inputs]
        self._dtypes = [_dtype(tensor) for tensor in inputs]
        self._shapes = [_static(name, shape) for name, shape in zip(self._names, shapes)]
        self.input_shape = self._shapes[0]
        self.input_dtype = self._dtypes[0]
        self._binding = self._session.io_binding()
        self._run = self._session.run_with_iobinding
        self._held = ()  # type: Tuple[NDArray[Any], ...]  # what is bound has to stay
        self._loose = []  # type: List[str]
        # Other providers copy an input when it is bound, Intel's even in host memory (onnxruntime issues 5857
        # and 29782): what is written into the array later they do not see.
        self._copies_inputs = options["provider"] != CPU
        self._outputs = [self._bind_output(output) for output in self._session.get_outputs()]
        self._scores = self._row()

    def describe(self) -> Dict[str, Any]:
        """The runtime, its version, and what truly carries the model out."""
        plugin = self._plugin
        return {
            "name": "onnxruntime",
            "version": self._version,
            "threads": self._threads,
            "providers": [str(name) for name in self._session.get_providers()],
            "optimisation": self._options["optimisation"],
            "provider_library": plugin and plugin.library,
            "provider_version": plugin and plugin.device.ep_metadata.get("version"),
            "provider_device": plugin and device_type(plugin.device),
            "placement": self._placement,
            "absent": {} if self._placement is not None else {"placement": self._why_no_placement},
            "warnings": self._warnings,
            "emulated": is_emulated(self._options["provider"]),
        }

    def buffers(self) -> "List[NDArray[Any]]":
        """The memory that is bound to the one input."""
        if len(self._names) != 1:
            raise ValueError("{} inputs instead of one".format(len(self._names)))
        self._bind_inputs((np.zeros(self.input_shape, self.input_dtype),))
        return list(self._held)

    def infer(self, slot: Any) -> Any:
        """Run what is in the inputs; the scores are overwritten by the next call.

        Returns:
            Scores [batch, classes], or a tuple of all outputs where they are anything else.
        """
        arrays = slot.array if isinstance(slot.array, tuple) else self._held
        if self._copies_inputs or arrays is not self._held:
            self._bind_inputs(arrays)
        for name in self._loose:  # what the last run made is bound now, and the next may be of another size
            self._binding.bind_output(name, "cpu")
        self._run(self._binding)
        if self._scores is not None:
            return self._scores
        return tuple(self._binding.copy_outputs_to_cpu() if self._loose else self._outputs)

    def _bind_inputs(self, arrays: "Tuple[NDArray[Any], ...]") -> None:
        if len(arrays) != len(self._names):
            raise ValueError("{} inputs, {} were given".format(len(self._names), len(arrays)))
        for name, dtype, shape, array in zip(self._names, self._dtypes, self._shapes, arrays):
            if array.shape != shape or array.dtype.name != dtype or not array.flags.c_contiguous:
                raise ValueError(
                    "the input {} is {} {}, {} {} was given".format(
                        name, dtype, list(shape), array.dtype, list(array.shape)
                    )
                )
            _bind(self._binding.bind_input, name, array)
        self._held = arrays

    def _bind_output(self, output: Any) -> "Optional[NDArray[Any]]":
        """The memory that is bound to an output; None where its shape is known only after a run."""
        if not _is_static(output.shape) or output.type not in DTYPES:
            self._loose.append(str(output.name))
            return None
        held: "NDArray[Any]" = np.zeros(tuple(output.shape), _dtype(output))
        _bind(self._binding.bind_output, output.name, held)
        return held

    def _row(self) -> "Optional[NDArray[Any]]":
        """A view of the one output as a row of scores for every item of the batch; None if it is not."""
        batch = self.input_shape[0] if self.input_shape else 1
        shapes = [() if held is None else held.shape for held in self._outputs]
        held = self._outputs[0] if is_one_row(shapes, batch) else None
        return None if held is None else held.reshape(batch, -1)


def _session(
    runtime: Any, path: str, options: Dict[str, Any], threads: int
) -> "Tuple[Any, Optional[Plugin]]":
    """A session of the provider, with the plug-in that has it; None if the build has it.

    Raises:
        RuntimeError: neither has the provider, or it cannot be started.
    """
    provider = options["provider"]
    extra = dict(pair.split("=", 1) for pair in options["provider_options"].split(",") if pair)
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    settings.graph_optimization_level = getattr(
        runtime.GraphOptimizationLevel, LEVELS[options["optimisation"]]
    )
    # Where int8 was made with int8 activations, nothing that matters overflows.
    by_default = "uint8" if options["int8"] == "qoperator" else "int8"
    if {"auto": by_default}.get(options["activations"], options["activations"]) == "uint8":
        settings.add_session_config_entry(*NO_SATURATION)
    settings.add_session_config_entry(*RECORD_PLACEMENT)
    plugin = None
    if provider in runtime.get_available_providers():
        if options["provider_device"]:
            raise RuntimeError(
                "provider_device chooses among the devices of a plug-in, and {} is in this build; "
                "leave it out, or choose by --set provider_options=key=value".format(provider)
            )
        wanted = [(provider, extra)] if extra else [provider]
        session = runtime.InferenceSession(path, settings, providers=wanted)
    else:
        plugin = plugin_of(runtime, options)
        settings.add_provider_for_devices([plugin.device], dict(plugin.options, **extra))
        session = runtime.InferenceSession(path, settings)
    started = [str(name) for name in session.get_providers()]
    if provider not in started and plugin is not None:
        raise RuntimeError("{} takes no operation of this model; {}".format(provider, TOO_FEW))
    # A provider whose libraries are missing is left out with a line on stderr, and the processor steps in.
    if provider not in started:
        raise RuntimeError(
            "{} could not be started, only {} could; see the runtime's own words in stderr".format(
                provider, ", ".join(started)
            )
        )
    getattr(session, "disable_fallback", lambda: None)()
    return session, plugin


def _placement(session: Any, version: str) -> "Tuple[Optional[Dict[str, int]], str]":
    """Operations by provider; None and the reason if the runtime does not tell."""
    ask = getattr(session, "get_provider_graph_assignment_info", None)
    if ask is None:
        return None, "onnxruntime {} does not tell it, 1.24 and newer do".format(version)
    operations = {}  # type: Dict[str, int]
    for part in ask():
        provider = str(part.ep_name)
        operations[provider] = operations.get(provider, 0) + len(part.get_nodes())
    return operations, ""


def processor_warnings(placement: Dict[str, int], allow_cpu: bool) -> List[str]:
    """Warnings about operations that the processor carries out; empty if there are none.

    Args:
        placement: operations by provider.
        allow_cpu: whether the processor may have more than half of the operations.

    Raises:
        RuntimeError: the provider takes no operation, or fewer than half of them.
    """
    total, left = sum(placement.values()), placement.get(CPU, 0)
    if not left:
        return []
    share = "{} of {} operations on the processor".format(left, total)
    if left == total:
        raise RuntimeError("{}: the model was not accelerated at all; {}".format(share, TOO_FEW))
    if left > LEAST_SHARE * total and not allow_cpu:
        raise RuntimeError(
            "{}, which is more than half; {}, or take it as it is with --set allow-cpu=true".format(
                share, TOO_FEW
            )
        )
    return [share]


def _is_static(shape: Sequence[Any]) -> bool:
    return all(isinstance(side, int) and side > 0 for side in shape)


def _static(name: str, shape: Sequence[Any]) -> Tuple[int, ...]:
    if not _is_static(shape):
        raise ValueError("{} has the shape {}, a fixed one is required".format(name, list(shape)))
    return tuple(shape)


def _dtype(tensor: Any) -> str:
    if tensor.type not in DTYPES:
        raise ValueError("{} is {}, which is not understood".format(tensor.name, tensor.type))
    return DTYPES[tensor.type]


def _bind(bind: Any, name: str, array: "NDArray[Any]") -> None:
    bind(name, "cpu", 0, array.dtype.type, list(array.shape), array.__array_interface__["data"][0])


def load(path: str, options: Dict[str, Any]) -> Model:
    """Read an .onnx file; `options` are those of the backend."""
    if _RUNTIME is None:
        raise ImportError("no ONNX Runtime here ({})".format(_WHY_NONE))
    return Model(_RUNTIME, path, options)
