"""OpenVINO as this Python has it: which API, which version, which devices (device side, Python 3.6 syntax).

It travels to the board beside the runner. Run as a program, by any Python, it prints what it finds as JSON.
"""

import json
import os
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

OLD, NEW = "old", "new"  # inference_engine.IECore until 2021.4; Core since 2022.1
PLUGINS = ("CPU", "GPU", "NPU", "MYRIAD", "AUTO")
MAX_TEXT = 400

Library = NamedTuple(
    "Library",
    [
        ("generation", str),
        ("module", Any),  # with IECore, or with Core
        ("version", str),
    ],
)


def find() -> Tuple[Optional[Library], str]:
    """The library, by what it offers; or None and why there is none."""
    # Its packages since 2023 send a note to their maker when they are imported, unless this one is missing.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    try:
        import openvino
    except Exception as error:
        return None, _in_words(error)
    if hasattr(openvino, "Core"):
        return Library(NEW, openvino, _version(openvino)), ""
    reasons = []
    for generation, name in ((NEW, "openvino.runtime"), (OLD, "openvino.inference_engine")):
        try:
            module: Any = __import__(name, fromlist=["get_version"])
        except Exception as error:
            reasons.append("{}: {}".format(name, _in_words(error)))
        else:
            return Library(generation, module, _version(module)), ""
    return None, "; ".join(reasons)


def _version(module: Any) -> str:
    """Of a build that does not say its own: unknown."""
    get_version = getattr(module, "get_version", None)
    return str(get_version())[:MAX_TEXT] if get_version else "unknown"


def _in_words(error: Exception) -> str:
    """An installation that is broken raises whatever its parts raise, not an ImportError alone."""
    kind = "" if isinstance(error, ImportError) else type(error).__name__ + ": "
    return "{}{}".format(kind, " ".join(str(error).split()))[:MAX_TEXT]


def core_of(library: Library) -> Any:
    """What loads plugins and models."""
    return library.module.IECore() if library.generation == OLD else library.module.Core()


def devices(core: Any) -> List[str]:
    """The devices that are there and usable, as the library names them."""
    return [str(name) for name in core.available_devices]


def plugin(core: Any, name: str) -> Tuple[Optional[str], str]:
    """A device's plugin: its version, or None and why it cannot be used ("" where this build has none).

    It is loaded for that.
    """
    try:
        versions = core.get_versions(name)
    except RuntimeError as error:
        text = " ".join(str(error).split())
        return None, "" if "is not registered" in text else text[-MAX_TEXT:]
    version = versions.get(name)
    return (str(version.build_number), "") if version else (None, "")


def folder_of(package: Any) -> str:
    """The folder that a package is imported from."""
    return os.path.dirname(os.path.abspath(str(next(iter(package.__path__)))))


def facts() -> Dict[str, Any]:
    """All of it, as plain data.

    Returns:
        `generation` (old, new, None), `version`, `why_none`; `folder`: that it is imported from; `devices`:
        those that are there; `plugins`: the version of each that this build has and that can be loaded;
        `broken_plugins`: why one cannot be.
    """
    library, why_none = find()
    if library is None:
        return {"generation": None, "version": None, "why_none": why_none}
    core = core_of(library)
    states = {name: plugin(core, name) for name in PLUGINS}
    return {
        "generation": library.generation,
        "version": library.version,
        "why_none": "",
        "folder": folder_of(sys.modules["openvino"]),
        "devices": devices(core),
        "plugins": {name: version for name, (version, _) in states.items() if version},
        "broken_plugins": {name: why for name, (_, why) in states.items() if why},
    }


if __name__ == "__main__":
    json.dump(facts(), sys.stdout)
