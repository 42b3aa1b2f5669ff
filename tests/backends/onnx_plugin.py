"""ONNX Runtime with a provider of its own memory, in front of the real processor's."""

import ctypes
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime

NPU = "NpuExecutionProvider"


class Binding:
    """Copies an input when it is bound, as such providers do."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self._copies: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def bind_input(
        self, name: str, device: str, number: int, dtype: Any, shape: Sequence[int], pointer: int
    ) -> None:
        held = np.frombuffer(ctypes.string_at(pointer, int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype)
        self._copies[name] = held
        at = held.__array_interface__["data"][0]
        self._real.bind_input(name, device, number, dtype, shape, at)


class Session:
    """The processor's session under the name of a provider."""

    def __init__(self, real: Any, provider: str, placement: dict[str, int] | None) -> None:
        self._real = real
        self._provider = provider
        if placement is not None:
            self.get_provider_graph_assignment_info = lambda: [
                SimpleNamespace(ep_name=name, get_nodes=lambda count=count: [None] * count)
                for name, count in placement.items()
            ]

    def __getattr__(self, name: str) -> Any:
        if name == "get_provider_graph_assignment_info":  # as before 1.24
            raise AttributeError(name)
        return getattr(self._real, name)

    def get_providers(self) -> list[str]:
        return [self._provider, "CPUExecutionProvider"]

    def io_binding(self) -> Binding:
        return Binding(self._real.io_binding())

    def run_with_iobinding(self, binding: Binding) -> None:
        self._real.run_with_iobinding(binding._real)


class Runtime:
    """The module.

    Args:
        built: providers of the build.
        devices: types of devices by provider, which are there once a library is registered.
        placement: operations by provider; None if the runtime does not tell.
        started: whether the provider's libraries are there.

    Attributes:
        registered: libraries by the name that they were registered under.
        chosen: what the session was given: provider, device and options.
    """

    def __init__(
        self,
        built: Sequence[str] = (),
        devices: Mapping[str, Sequence[str]] | None = None,
        placement: dict[str, int] | None = None,
        started: bool = True,
    ) -> None:
        self._built = built
        self._devices = devices or {}
        self._placement = placement
        self._started = started
        self.registered: dict[str, str] = {}
        self.chosen: tuple[str, str, dict[str, str]] = ("", "", {})

    def __getattr__(self, name: str) -> Any:
        return getattr(onnxruntime, name)

    def get_available_providers(self) -> list[str]:
        return [*self._built, "CPUExecutionProvider"]

    def register_execution_provider_library(self, name: str, path: str) -> None:
        self.registered[name] = path

    def get_ep_devices(self) -> list[Any]:
        return [
            SimpleNamespace(
                ep_name=name,
                ep_metadata={"version": "7"},
                device=SimpleNamespace(type=SimpleNamespace(name=kind.upper())),
            )
            for name, kinds in {"CPUExecutionProvider": ["cpu"], **self._devices}.items()
            for kind in kinds
            if name == "CPUExecutionProvider" or self.registered
        ]

    def SessionOptions(self) -> Any:
        settings = SimpleNamespace(entries={})
        settings.add_session_config_entry = settings.entries.__setitem__

        def add(devices: list[Any], options: dict[str, str]) -> None:
            [device] = devices
            self.chosen = (device.ep_name, device.device.type.name.lower(), options)

        settings.add_provider_for_devices = add
        return settings

    def InferenceSession(self, path: str, settings: Any, providers: Sequence[Any] = ()) -> Session:
        if providers:
            name, options = providers[0] if isinstance(providers[0], tuple) else (providers[0], {})
            self.chosen = (name, "", options)
        real = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return Session(real, self.chosen[0], self._placement) if self._started else real
