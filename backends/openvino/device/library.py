"""OpenVINO as this Python has it: which API, which version, which devices (device side, Python 3.6 syntax).

It travels to the board together with the runner. As a program it prints what it finds as JSON.
"""

import json
import os
import stat
import sys
import tempfile
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

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
    """The library, by what it offers; else None and the reason."""
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
    """`unknown` for a build that does not say its own."""
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
    """A device's plugin: its version, else None and why it cannot be used ("" where this build has none).

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


# What a session asks of the library, in the library's own terms (device side, Python 3.6 syntax).


# What float operations are computed in, best first; nothing: the device's choice. Left to itself a plugin may
# take bf16 for fp32; one without 16-bit arithmetic may refuse f16, and one with nothing else f32.
PRECISIONS = {"fp32": ["f32"], "fp16": ["f16", "f32"], "int8": ["f32", ""], "mixed": ["f32", ""]}
ONLY_PRECISION = {"MYRIAD": "f16"}  # of devices that have no choice, and take no word on it

Settings = NamedTuple(
    "Settings",
    [
        ("device", str),
        ("requests", int),
        ("streams", int),  # 0: the device's choice
        ("threads", int),  # 0: the library's choice
        ("hint", str),  # latency, throughput, or nothing
        ("precisions", List[str]),  # to be tried in turn: f32, f16, bf16, or nothing, the device's choice
        ("cache", str),  # a folder, or nothing
        ("input_shapes", List[List[int]]),  # empty: the file says all
        ("weights", str),  # the path of an IR's .bin; empty for other files
    ],
)

Tensor = NamedTuple(
    "Tensor",
    [
        ("name", str),
        ("shape", Tuple[int, ...]),
        ("dtype", str),
        ("quantisation", Optional[Tuple[float, int]]),  # scale and zero point of an output of integers
    ],
)


def settings_of(options: Dict[str, Any]) -> Settings:
    """From the backend's options and the variant's precision."""
    requests = int(options["requests"])
    hint = str(options["hint"])
    if hint == "auto":
        hint = "latency" if requests == 1 else "throughput"
    precision = str(options.get("execution_precision", "auto"))
    named = [""] if precision == "device" else [precision]
    return Settings(
        device=str(options["device"]),
        requests=requests,
        streams=int(options["streams"]),
        threads=int(options.get("threads", 0)),
        hint="" if hint == "none" else hint,
        precisions=PRECISIONS[str(options["precision"])] if precision == "auto" else named,
        cache=str(options["cache"]),
        input_shapes=[list(shape) for shape in options.get("input_shapes") or []],
        weights=str((options.get("companions") or {}).get("weights.bin", "")),
    )


def require_static(kind: str, name: str, shape: Any, is_dynamic: bool) -> None:
    """ValueError for an input or output (`kind`) that leaves an axis open."""
    if is_dynamic:
        text = "the {} {} has an open shape, {}: export the model with a fixed one"
        raise ValueError(text.format(kind, name, shape))


def family_of(device: str) -> str:
    """`GPU` of `GPU.1`."""
    return device.split(".")[0]


def in_one_line(error: BaseException, skipped: Sequence[str] = ("Exception from ", "Check '")) -> str:
    """The library's words without the lines that say where in its source they were thrown."""
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [line for line in lines if line and not line.startswith(tuple(skipped))]
    return " ".join(kept or lines)


# Why a device does not take a model, with what this build has (device side, Python 3.6 syntax).


BY_OTHERS = ("AUTO",)  # devices that are made of the ones that are found

NO_READER = (
    "OpenVINO {} does not read .tflite, releases from 2023.0 on do: "
    "give the model as .onnx or .keras, or take the device cpu"
)


def read_model(read: Callable[..., Any], path: str, weights: str) -> Any:
    """What the library's own `read` makes of a file; ValueError in its words where it cannot."""
    try:
        return read(path, weights) if weights else read(path)
    except RuntimeError as error:
        raise ValueError("the library cannot read the model: {}".format(in_one_line(error))) from error


def answer(ask: Callable[..., Any], *arguments: str) -> Any:
    """What the library or a model says of a property; None where it does not know of it."""
    try:
        return ask(*arguments)
    except RuntimeError:
        return None


def number_of(value: Any) -> Optional[int]:
    """A property that is a number; None where it is not known or no number."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


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
            "OpenVINO {} has no plugin for {}; it has {}: name one with --set device=NAME ({})".format(
                library.version, device, there, words
            )
        )
    listed = "devices found: {}".format(", ".join(found) or "none")
    if version is None:
        return RuntimeError("the plugin for {} cannot be loaded ({}): {}".format(family, listed, words))
    names = found + [family_of(name) for name in found] + list(BY_OTHERS)
    if device not in names:
        return RuntimeError(
            "no {} is found here ({}): {}; install its driver, or name another device: "
            "--set device=NAME".format(device, listed, words)
        )
    return RuntimeError("{} does not take the model: {}".format(device, words))


# The folder in which the library keeps compiled models (device side, Python 3.6 syntax).


SUFFIX = ".blob"


class CompileCache:
    """A folder for compiled models, made where it is not there.

    Raises:
        OSError: it cannot be written to, or the library would wait for what is called as a model there.
    """

    def __init__(self, name: str) -> None:
        self.folder = os.path.abspath(os.path.expanduser(name))
        try:
            os.makedirs(self.folder, exist_ok=True)
            # Nothing else tells for sure: the superuser may write where permissions say no, but no one to a
            # file system that is mounted to be read.
            tempfile.TemporaryFile(dir=self.folder).close()
        except OSError as error:
            raise OSError(
                "the cache folder {} cannot be written to: {}; "
                "name another one (--set cache=FOLDER), or leave it out".format(
                    self.folder, error.strerror or error
                )
            ) from error
        for name, state in self._named_as_models():
            if not stat.S_ISREG(state.st_mode):
                raise OSError(
                    "the cache folder {} cannot be used: {} in it is no plain file; "
                    "remove it, or name another folder (--set cache=FOLDER)".format(self.folder, name)
                )
        self._before = self.models()

    def is_unchanged(self) -> bool:
        """Whether it holds compiled models, and none that was not there before."""
        now = self.models()
        return bool(now) and now <= self._before

    def models(self) -> Set[Tuple[str, int, int]]:
        """The files of the compiled models in it: name, size and last change in ns.

        One that the library could not read is compiled again under the same name.
        """
        return {(name, state.st_size, state.st_mtime_ns) for name, state in self._named_as_models()}

    def _named_as_models(self) -> Iterator[Tuple[str, os.stat_result]]:
        for name in sorted(os.listdir(self.folder)):
            if not name.endswith(SUFFIX):
                continue
            try:
                yield name, os.stat(os.path.join(self.folder, name))
            except OSError:  # another session that shares the folder put a new one in its place
                continue


if __name__ == "__main__":
    json.dump(facts(), sys.stdout)
