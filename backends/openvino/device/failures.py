"""Why a device does not take a model, with what this build has (device side, Python 3.6 syntax)."""

from typing import Any

from .library import PLUGINS, Library, devices, plugin
from .settings import family_of, in_one_line

BY_OTHERS = ("AUTO",)  # devices that are made of the ones that are found

NO_READER = (
    "OpenVINO {} does not read .tflite, releases from 2023.0 on do: "
    "give the model as .onnx or .keras, or take the device cpu"
)


def unreadable(error: BaseException) -> ValueError:
    """The library's own words."""
    return ValueError("the library cannot read the model: {}".format(in_one_line(error)))


def device_failure(library: Library, core: Any, device: str, error: BaseException) -> RuntimeError:
    """The library's own words, and where the device is missing the ones that are there."""
    words = in_one_line(error)
    family = family_of(device)
    version, why_not = plugin(core, family)
    found = devices(core)
    if version is None and not why_not:
        states = {name: plugin(core, name) for name in PLUGINS}
        there = ", ".join(name for name, state in states.items() if any(state))
        return RuntimeError(
            "OpenVINO {} has no plugin for {}; it has {} ({})".format(library.version, device, there, words)
        )
    listed = "devices found: {}".format(", ".join(found) or "none")
    if version is None:
        return RuntimeError("the plugin for {} cannot be loaded ({}): {}".format(family, listed, words))
    names = found + [family_of(name) for name in found] + list(BY_OTHERS)
    if device not in names:
        return RuntimeError("no {} is found here ({}): {}".format(device, listed, words))
    return RuntimeError("{} does not take the model: {}".format(device, words))
