"""Providers that ONNX Runtime loads from libraries of their own (device side, Python 3.6 syntax).

They come in packages, or as a library that the user names. A session takes one device of one provider.
"""

import importlib
import os
import pkgutil
import platform
from typing import Any, Dict, List, NamedTuple, Tuple

QNN = "QNNExecutionProvider"
QNN_PACKAGE = "onnxruntime_qnn"
PACKAGES = "onnxruntime_ep_"

Plugin = NamedTuple("Plugin", [("library", str), ("device", Any), ("options", Dict[str, str])])
"""A device of a provider, with the path of its library and the options that it needs."""


def plugin_of(runtime: Any, options: Dict[str, Any]) -> Plugin:
    """Register a library that has the option `provider`, and choose one of its devices.

    Installed packages come first, then the option `provider_library`. Default device: the first.

    Raises:
        RuntimeError: nothing has the provider, or it has no such device here.
    """
    provider, wanted = options["provider"], options["provider_device"]
    libraries, faults = package_libraries()
    library = libraries.get(provider, options["provider_library"])
    if not library:
        built = [str(name) for name in runtime.get_available_providers()]
        raise RuntimeError(
            "{} is not in this onnxruntime {}, which has {}, nor in a plug-in package, which have {}; "
            "take one of these, install a build or a package with it, or name its library "
            "(--set provider_library=PATH)".format(
                provider, runtime.__version__, ", ".join(built), _listed(libraries, faults)
            )
        )
    devices = devices_of(runtime, provider, library)
    types = [device_type(device) for device in devices]
    if not devices:
        raise RuntimeError(
            "{} of {} supports no device of this machine; install the driver of its device, "
            "or take another provider".format(provider, library)
        )
    if wanted not in ("", *types):
        raise RuntimeError(
            "{} of {} finds no {} here, but {}; choose among these (--set provider_device=TYPE)".format(
                provider, library, wanted, ", ".join(types)
            )
        )
    device = devices[types.index(wanted) if wanted else 0]
    needed = {}
    if provider == QNN:
        backend = "libQnnGpu.so" if device_type(device) == "gpu" else "libQnnHtp.so"
        needed["backend_path"] = os.path.join(os.path.dirname(library), backend)
    return Plugin(library, device, needed)


def package_libraries() -> Tuple[Dict[str, str], Dict[str, str]]:
    """Libraries of the installed plug-in packages by provider; by package, why it gives none."""
    libraries = {}  # type: Dict[str, str]
    faults = {}  # type: Dict[str, str]
    for found in pkgutil.iter_modules():
        if found.name != QNN_PACKAGE and not found.name.startswith(PACKAGES):
            continue
        try:
            package = importlib.import_module(found.name)
            libraries.update(dict.fromkeys(map(str, package.get_ep_names()), str(package.get_library_path())))
        except (AttributeError, ImportError, OSError, RuntimeError) as error:
            faults[found.name] = "{}: {}".format(type(error).__name__, error)
    return libraries, faults


def _listed(libraries: Dict[str, str], faults: Dict[str, str]) -> str:
    broken = ["{} ({})".format(package, fault) for package, fault in faults.items()]
    return ", ".join([*libraries, *broken]) or "none"


def devices_of(runtime: Any, provider: str, library: str) -> List[Any]:
    """Devices of a provider, once its library is registered; RuntimeError if the runtime is too old."""
    if not hasattr(runtime, "register_execution_provider_library"):
        raise RuntimeError(
            "onnxruntime {} loads no plug-ins; install 1.23 or newer".format(runtime.__version__)
        )
    # Qualcomm's library calls its provider by the name that it is registered under.
    runtime.register_execution_provider_library(provider, library)
    return [device for device in runtime.get_ep_devices() if device.ep_name == provider]


def device_type(device: Any) -> str:
    """Type of a device: cpu, gpu or npu."""
    return str(device.device.type.name).lower()


def is_emulated(provider: str) -> bool:
    """Tell whether a provider emulates its device: Qualcomm's package for x86 has the NPU as a program."""
    return provider == QNN and platform.machine() in ("x86_64", "AMD64")


def plugins_found(runtime: Any, provider: str, library: str) -> Dict[str, Any]:
    """The plug-ins, for `doctor`: `plugins`, device types by provider; `faults`, by provider or package.

    Args:
        runtime: the module onnxruntime.
        provider: the one that the user names.
        library: the user's `provider_library`.
    """
    libraries, faults = package_libraries()
    if library:
        libraries.setdefault(provider, library)
    plugins = {}
    for name, path in libraries.items():
        try:
            plugins[name] = [device_type(device) for device in devices_of(runtime, name, path)]
        except Exception as error:  # of any type: it is the library's own
            faults[name] = "{}: {}".format(type(error).__name__, error)
    return {"plugins": plugins, "faults": faults}
