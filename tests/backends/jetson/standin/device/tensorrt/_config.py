"""How an engine is to be built: flags, limits, profiles, timing cache, progress monitor."""

import json

from ._shape import ENUMERATIONS, VERSION, Bound, attribute, incompatible
from ._values import Dims, host_memory


class IProgressMonitor(Bound):
    """What is derived from it is told how far a build is, and may end it."""

    def phase_start(self, phase_name, parent_phase, num_steps):
        """A phase begins."""

    def step_complete(self, phase_name, step):
        """A step is done; False ends the build."""
        return True

    def phase_finish(self, phase_name):
        """A phase is over."""


class IOptimizationProfile(Bound):
    """Shapes of inputs whose axes are left open."""

    extra_memory_target = attribute("extra_memory_target")

    def __init__(self):
        super().__init__()
        self._shapes, self._extra_memory_target = {}, 1.0

    def set_shape(self, input, min, opt, max):
        """The least, the usual and the largest shape."""
        self._shapes[input] = [tuple(min), tuple(opt), tuple(max)]

    def get_shape(self, input):
        """What was set."""
        return [Dims(shape) for shape in self._shapes.get(input, [])]

    def __bool__(self):
        return True


class ITimingCache(Bound):
    """What a build has learnt; it serves the version and device that it was made by."""

    def __init__(self, data=b""):
        super().__init__()
        self._names = set(json.loads(bytes(data).decode("utf-8"))["names"]) if len(bytes(data)) else set()

    def serialize(self):
        """Its bytes."""
        return host_memory(json.dumps({"version": VERSION, "names": sorted(self._names)}).encode("utf-8"))

    def combine(self, input_cache, ignore_mismatch):
        """Take in another one."""
        self._names |= input_cache._names
        return True

    def reset(self):
        """Empty it."""
        self._names.clear()
        return True


class IBuilderConfig(Bound):
    """How an engine is to be built."""

    int8_calibrator = attribute("int8_calibrator")
    max_workspace_size = attribute("max_workspace_size", int)
    min_timing_iterations = attribute("min_timing_iterations", int)
    avg_timing_iterations = attribute("avg_timing_iterations", int)
    builder_optimization_level = attribute("builder_optimization_level", int)
    engine_capability = attribute("engine_capability")
    default_device_type = attribute("default_device_type")
    hardware_compatibility_level = attribute("hardware_compatibility_level")
    algorithm_selector = attribute("algorithm_selector")
    profile_stream = attribute("profile_stream")
    quantization_flags = attribute("quantization_flags", int)
    progress_monitor = attribute("progress_monitor")
    max_aux_streams = attribute("max_aux_streams", int)
    DLA_core = attribute("DLA_core", int)

    def __init__(self):
        super().__init__()
        verbosity = ENUMERATIONS["ProfilingVerbosity"]
        self._flags = 0
        if hasattr(ENUMERATIONS["BuilderFlag"], "TF32"):
            self._flags = 1 << int(ENUMERATIONS["BuilderFlag"].TF32)
        self._int8_calibrator = self._algorithm_selector = self._progress_monitor = None
        self._max_workspace_size, self._pools = 0, {}
        self._min_timing_iterations, self._avg_timing_iterations = 1, 1
        self._builder_optimization_level, self._max_aux_streams = 3, -1
        self._engine_capability = ENUMERATIONS["EngineCapability"].STANDARD
        self._default_device_type = ENUMERATIONS["DeviceType"].GPU
        self._hardware_compatibility_level = None
        self._profile_stream, self._quantization_flags, self._DLA_core = 0, 0, -1
        self._profiles, self._cache, self._calibration_profile = [], None, None
        self._profiling_verbosity = getattr(verbosity, "LAYER_NAMES_ONLY", None) or verbosity.DEFAULT

    @property
    def flags(self):
        """All flags, a bit each."""
        return self._flags

    @flags.setter
    def flags(self, value):
        self._flags = int(value)

    @property
    def profiling_verbosity(self):
        """How much of the layers the engine keeps."""
        return self._profiling_verbosity

    @profiling_verbosity.setter
    def profiling_verbosity(self, value):
        if not isinstance(value, ENUMERATIONS["ProfilingVerbosity"]):
            raise incompatible("profiling_verbosity", value)
        self._profiling_verbosity = value

    def set_flag(self, flag):
        """Set a flag."""
        self._require_flag(flag)
        self._flags |= 1 << int(flag)

    def clear_flag(self, flag):
        """Take a flag away."""
        self._require_flag(flag)
        self._flags &= ~(1 << int(flag))

    def get_flag(self, flag):
        """Whether a flag is set."""
        self._require_flag(flag)
        return bool(self._flags >> int(flag) & 1)

    def _require_flag(self, flag):
        if not isinstance(flag, ENUMERATIONS["BuilderFlag"]):
            raise incompatible("flag", flag)

    def _has(self, name):
        flag = getattr(ENUMERATIONS["BuilderFlag"], name, None)
        return flag is not None and self.get_flag(flag)

    def set_memory_pool_limit(self, pool, pool_size):
        """The bytes of a pool."""
        if not isinstance(pool, ENUMERATIONS["MemoryPoolType"]):
            raise incompatible("set_memory_pool_limit", pool)
        self._pools[pool] = int(pool_size)

    def get_memory_pool_limit(self, pool):
        """What was set."""
        return self._pools.get(pool, 0)

    def add_optimization_profile(self, profile):
        """Its index."""
        self._profiles.append(profile)
        return len(self._profiles) - 1

    num_optimization_profiles = property(lambda self: len(self._profiles))

    def set_calibration_profile(self, profile):
        """The shapes that calibration takes."""
        self._calibration_profile = profile
        return True

    def get_calibration_profile(self):
        """What was set."""
        return self._calibration_profile

    def create_timing_cache(self, serialized_timing_cache):
        """A cache from bytes; an empty one from none."""
        return ITimingCache(memoryview(serialized_timing_cache).tobytes())

    def set_timing_cache(self, cache, ignore_mismatch):
        """Have the build use it."""
        self._cache = cache
        return True

    def get_timing_cache(self):
        """What was set."""
        return self._cache

    def set_tactic_sources(self, tactic_sources):
        """Where tactics may come from."""
        return True

    def get_tactic_sources(self):
        """All sources."""
        return 7
