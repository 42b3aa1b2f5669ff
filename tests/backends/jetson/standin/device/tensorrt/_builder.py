"""The builder: makes networks and configurations, and engines of both."""

from ._build_run import BuildRun
from ._config import IBuilderConfig, IOptimizationProfile
from ._device import capability_numbers, has_fast_int8, require_device
from ._engine import ICudaEngine
from ._network import INetworkDefinition
from ._shape import Bound, attribute
from ._values import host_memory


class Builder(Bound):
    """Builds engines; TypeError where there is no device, as pybind11 has it."""

    max_batch_size = attribute("max_batch_size", int)
    gpu_allocator = attribute("gpu_allocator")
    error_recorder = attribute("error_recorder")
    max_threads = attribute("max_threads", int)

    def __init__(self, logger):
        super().__init__()
        require_device(logger)
        self._logger, self._max_batch_size, self._max_threads = logger, 1, 1
        self._gpu_allocator = self._error_recorder = None

    logger = property(lambda self: self._logger)
    platform_has_fast_fp16 = property(lambda self: capability_numbers() >= (5, 3))
    platform_has_fast_int8 = property(lambda self: has_fast_int8())
    platform_has_tf32 = property(lambda self: capability_numbers() >= (8, 0))
    num_DLA_cores = property(lambda self: 0)
    max_DLA_batch_size = property(lambda self: 0)

    def create_network(self, flags=0):
        """An empty network."""
        return INetworkDefinition(self, int(flags))

    def create_builder_config(self):
        """A configuration."""
        return IBuilderConfig()

    def create_optimization_profile(self):
        """An empty profile."""
        return IOptimizationProfile()

    def is_network_supported(self, network, config):
        """Whether it can be built."""
        return network._graph is not None

    def reset(self):
        """As it was."""

    def build_serialized_network(self, network, config):
        """The engine's bytes, or None, and the logger knows why."""
        data = BuildRun(self._logger, network, config).run()
        return None if data is None else host_memory(data)

    def build_engine(self, network, config):
        """An engine, or None."""
        data = BuildRun(self._logger, network, config).run()
        return None if data is None else ICudaEngine(data, self._logger)
