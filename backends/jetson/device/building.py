"""An engine out of a model, on the board that runs it (device side, Python 3.6 syntax)."""

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import engine_file
from .build_source import (
    BY_CALIBRATOR,
    BuildFailed,
    BuildLog,
    BuildRefused,
    Source,
    logger_of,
    no_engine,
    opened,
    source_of,
)
from .cudart import Cuda, CudaError
from .library import register_plugins
from .network import WeightLayers, empty_network, parse, read_layers, verified, weight_layers

if TYPE_CHECKING:
    from numpy.typing import NDArray


# How far a build is, for the host (device side, Python 3.6 syntax).


class Steps:
    """Counts what has been done. The number of TensorRT's steps is not known. Thread-safe.

    TensorRT calls it from threads of its own, in functions that end the process when an exception leaves
    them.

    Args:
        progress: of the runner contract.

    Attributes:
        failure: what `progress` raised; the build is then ended.
    """

    def __init__(self, progress: Callable[..., None]) -> None:
        self.failure: Optional[BaseException] = None
        self._progress = progress
        self._lock = threading.Lock()
        self._done = 0
        self._sizes: Dict[str, int] = {}

    def step(self, text: str) -> bool:
        """One step further, to what `text` names; whether the build goes on."""
        with self._lock:
            try:
                self._done += 1
                self._progress(self._done, 0, text)
            except BaseException as error:
                self.failure = self.failure or error
        return self.failure is None

    def begin(self, text: str) -> None:
        """The same outside of TensorRT's calls: whatever `progress` raises."""
        if not self.step(text) and self.failure is not None:
            raise self.failure

    def phase(self, name: str, steps: int) -> None:
        """A phase of TensorRT's begins, with that many steps."""
        self._sizes[name] = steps
        self.step(name)

    def phase_step(self, name: str, step: int) -> bool:
        """A phase's step is done; whether the build goes on."""
        return self.step("{} {}/{}".format(name, step + 1, self._sizes.get(name, "?")))


def monitor_of(trt: Any, steps: Steps) -> Any:
    """A progress monitor for TensorRT's builder (TensorRT 10 on)."""

    class Monitor(trt.IProgressMonitor):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)

        def phase_start(self, phase_name: str, parent_phase: Optional[str], num_steps: int) -> None:
            steps.phase(phase_name, num_steps)

        def step_complete(self, phase_name: str, step: int) -> bool:
            return steps.phase_step(phase_name, step)

        def phase_finish(self, phase_name: str) -> None:
            pass

    return Monitor()


# int8's ranges by TensorRT's own entropy calibrator (device side, Python 3.6 syntax).


class Batches:
    """The calibration pictures, batch by batch, in one place of the device's memory.

    The last batch is filled up from the first pictures: every picture counts.

    Args:
        path: a .npy of float32, [n, channels, height, width], as the model takes them.
        shape: of the model's input, with the batch.
        allocate: gives that many bytes of the device, as an address.
        copy: copies an array to an address of the device and returns when it is there.
        step: called with a text for each batch.

    Attributes:
        address: of the place on the device.
        count, taken: batches in all, and those that TensorRT has taken.
        failure: what went wrong while it took them.

    Raises:
        BuildRefused: the pictures do not fit the input.
    """

    def __init__(
        self,
        path: str,
        shape: Tuple[int, ...],
        allocate: Callable[[int], int],
        copy: "Callable[[int, NDArray[Any]], None]",
        step: Callable[[str], None],
    ) -> None:
        self._pictures: "NDArray[Any]" = np.load(path, mmap_mode="r")
        pictures = self._pictures
        if pictures.dtype != np.float32 or pictures.shape[1:] != tuple(shape[1:]) or not len(pictures):
            raise BuildRefused(
                "the calibration pictures are {} {}, the model takes float32 {}: they are of another model; "
                "remove the copy in the cache and run again".format(
                    pictures.dtype, pictures.shape, tuple(shape)
                )
            )
        self.batch = int(shape[0])
        self.pictures = len(pictures)
        self.count = -(-self.pictures // self.batch)
        self.taken = 0
        self.failure: Optional[BaseException] = None
        self._buffer: "NDArray[Any]" = np.empty(shape, np.float32)
        self._copy = copy
        self._step = step
        self.address = allocate(self._buffer.nbytes)

    def next(self) -> Optional[List[int]]:
        """The address of the next batch; None at the end, and where something failed (see `failure`).

        Nothing is raised: an exception that leaves TensorRT's call ends the process.
        """
        if self.failure is not None or self.taken == self.count:
            return None
        try:
            first = self.taken * self.batch
            self._buffer[...] = self._pictures[np.arange(first, first + self.batch) % self.pictures]
            self._copy(self.address, self._buffer)
            self.taken += 1
            self._step("calibration batch {} of {}".format(self.taken, self.count))
        except BaseException as error:
            self.failure = error
            return None
        return [self.address]

    def facts(self) -> Dict[str, int]:
        """For the record."""
        return {"pictures": self.pictures, "batch": self.batch, "batches": self.count}


def calibrator_of(trt: Any, batches: Batches) -> Any:
    """The entropy calibrator over these batches.

    It reads and writes no cache of its own: the engine that it makes is what is kept.
    """

    class Calibrator(trt.IInt8EntropyCalibrator2):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.IInt8EntropyCalibrator2.__init__(self)

        def get_batch_size(self) -> int:
            return batches.batch

        def get_batch(self, names: List[str]) -> Optional[List[int]]:
            return batches.next()

        def read_calibration_cache(self) -> None:
            return None

        def write_calibration_cache(self, cache: Any) -> None:
            return None

    return Calibrator()


ENGINE = "model.engine"
DEFAULT_WORKSPACE_MB = 256
"""Where TensorRT takes none by itself (before 8.4): without any, many implementations are left out."""

NO_INT8 = "this GPU has no int8 arithmetic, TensorRT would compute in float: measure --precision fp16 or fp32"
FEW_BATCHES = (
    "TensorRT took {} of the {} calibration batches, so that its int8 ranges are not those of the pictures: "
    "take the Q/DQ model (--set int8=qdq)"
)

Product = NamedTuple(
    "Product",
    [
        ("engine", Any),  # serialized: memory of TensorRT's
        ("weights", WeightLayers),
        ("flags", List[str]),
        ("workspace_bytes", Optional[int]),
        ("batches", Optional[Batches]),  # of calibration
    ],
)


class Builder:
    """One build.

    Args:
        trt: the library.
        device: the CUDA runtime with the GPU that the engine is for.
        options: of the backend, with `precision` and `companions`.
        progress: of the runner contract.
    """

    def __init__(
        self, trt: Any, device: Cuda, options: Dict[str, Any], progress: Callable[..., None]
    ) -> None:
        self._trt = trt
        self._device = device
        self._precision, self._options = str(options["precision"]), options
        self._steps = Steps(progress)
        self._has_monitor = hasattr(trt, "IProgressMonitor")
        self._log = BuildLog(None if self._has_monitor else self._steps.step)
        self._logger = logger_of(trt, self._log)
        register_plugins(trt, self._logger)
        # TensorRT calls them without owning them.
        self._monitor: Any = None
        self._calibrator: Any = None

    def build(self, artifact: str, calibration: Optional[str], folder: str) -> str:
        """Build the engine of an artifact into a folder; the path of its file.

        Raises:
            BuildRefused, ParseFailed: this TensorRT or this GPU does not take what was asked for.
            BuildFailed: TensorRT gave no engine (OutOfMemory), or one of another precision
                (PrecisionNotHonoured).
            OSError: the disk is full.
        """
        began = time.monotonic()
        version = str(self._trt.__version__)
        source = source_of(
            self._trt,
            artifact,
            self._precision,
            str(self._options["int8"]),
            self._options.get("companions") or {},
            calibration,
        )
        product = self._product(source)
        self._steps.begin("reading the layers' precisions")
        read = read_layers(self._trt, self._logger, self._log, product.engine)
        header = verified(version, self._precision, source, product.weights, read)
        batches = product.batches
        if batches is not None and batches.taken != batches.count:
            raise BuildFailed(FEW_BATCHES.format(batches.taken, batches.count))
        header.update(
            tensorrt=version,
            gpu=self._device.gpu,
            precision=self._precision,
            precision_from=source.kind,
            flags=product.flags,
            workspace_bytes=product.workspace_bytes,
            calibration=batches.facts() if batches else None,
            build_s=round(time.monotonic() - began, 3),
        )
        self._steps.begin("writing the engine")
        path = os.path.join(folder, ENGINE)
        engine_file.write(path, header, product.engine)
        return path

    def _product(self, source: Source) -> Product:
        """All of the building itself; what it takes of memory is free again afterwards."""
        trt = self._trt
        self._steps.begin("reading the model")
        builder = opened(trt, "Builder", self._logger, self._log)
        if self._precision == "int8" and getattr(builder, "platform_has_fast_int8", True) is False:
            raise BuildRefused(NO_INT8)
        network = empty_network(trt, builder)
        parser = parse(trt, self._logger, network, source.path)
        weights = weight_layers(network)
        config = builder.create_builder_config()
        flags = _set_flags(trt, config, source, weights)
        workspace_bytes = _limit_workspace(trt, config, self._device, int(self._options["workspace_mb"]))
        if hasattr(trt.ProfilingVerbosity, "DETAILED"):
            config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
        if self._has_monitor:
            self._monitor = monitor_of(trt, self._steps)
            config.progress_monitor = self._monitor
        batches = self._calibrate(source, network, config) if source.calibration else None
        self._steps.begin("building the engine")
        try:
            engine = builder.build_serialized_network(network, config)
        finally:
            if batches is not None:
                self._device.free(batches.address)
        # What went wrong inside TensorRT's calls, where nothing can be raised.
        failure = (batches.failure if batches else None) or self._steps.failure
        if failure is not None:
            raise failure
        if engine is None:
            raise no_engine(str(trt.__version__), self._precision, source, self._log)
        del parser  # it held the weights until here
        weights = weights._replace(layers=[])  # each holds the network
        return Product(engine, weights, flags, workspace_bytes, batches)

    def _calibrate(self, source: Source, network: Any, config: Any) -> Batches:
        if network.num_inputs != 1:
            text = "the calibrator takes models with one input, this one has {}: take --set int8=qdq"
            raise BuildRefused(text.format(network.num_inputs))
        batches = Batches(
            str(source.calibration),
            tuple(network.get_input(0).shape),
            self._device.allocate,
            self._device.copy,
            self._steps.begin,
        )
        self._calibrator = calibrator_of(self._trt, batches)
        config.int8_calibrator = self._calibrator
        return batches


def _set_flags(trt: Any, config: Any, source: Source, weights: WeightLayers) -> List[str]:
    """Set what obliges TensorRT to the precision; the flags by name."""
    flags = []
    if hasattr(trt.BuilderFlag, "TF32"):
        config.clear_flag(trt.BuilderFlag.TF32)  # it is on by default: fp32 with the mantissa of fp16
    if source.flag:
        flags.append(source.flag)
    if source.layer_precision:
        names = ("OBEY_PRECISION_CONSTRAINTS", "STRICT_TYPES")
        flags += [name for name in names if hasattr(trt.BuilderFlag, name)][:1]
        for layer in weights.layers:
            # A calibrator ranges only what is computed. A product with a constant lacks that scale, and
            # TensorRT finds no implementation in int8 for it (NVIDIA/TensorRT, issue 3659).
            if source.kind == BY_CALIBRATOR and layer.name in weights.by_constant:
                continue
            layer.precision = getattr(trt.DataType, source.layer_precision)
    for name in flags:
        config.set_flag(getattr(trt.BuilderFlag, name))
    return flags


def _limit_workspace(trt: Any, config: Any, device: Cuda, megabytes: int) -> Optional[int]:
    """Limit what implementations may take of memory, in bytes, to what is free and what was asked for.

    None: TensorRT's own limit, all of the device's memory, where CUDA does not say what is free.
    """
    has_pools = hasattr(config, "set_memory_pool_limit")
    limits = [megabytes << 20] if megabytes else [] if has_pools else [DEFAULT_WORKSPACE_MB << 20]
    with contextlib.suppress(CudaError):
        limits.append(device.available())
    if not limits:
        return None
    if has_pools:
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, min(limits))
    else:
        config.max_workspace_size = min(limits)
    return min(limits)
