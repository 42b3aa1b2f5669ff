"""TensorRT as this Python has it (device side, Python 3.6 syntax); as a program it prints its version."""

import json
import platform
import sys
from typing import Any, List, NamedTuple, Optional, Tuple

MAX_TEXT = 400

Library = NamedTuple("Library", [("module", Any), ("version", str)])

NONE_HERE = (
    "no TensorRT here ({}): on a Jetson it comes with JetPack, for the system's own Python: `sudo apt-get "
    "install python3-libnvinfer`, then --python /usr/bin/python3 (this is {}, Python {}); "
    "a board that is not this machine is named with --host"
)


def find() -> Tuple[Optional[Library], str]:
    """TensorRT, else None and the reason."""
    try:
        import tensorrt
    except Exception as error:  # a broken installation raises whatever its parts raise
        kind = "" if isinstance(error, ImportError) else type(error).__name__ + ": "
        return None, "{}{}".format(kind, " ".join(str(error).split()))[:MAX_TEXT]
    return Library(tensorrt, str(tensorrt.__version__)), ""


def require(library: Optional[Library], why_none: str) -> Library:
    """The library; ImportError, with how to install it, if it is missing."""
    if library is None:
        python = "{}.{}".format(*sys.version_info[:2])
        raise ImportError(NONE_HERE.format(why_none, sys.executable, python))
    return library


def register_plugins(library: Any, logger: Any) -> None:
    """Have what TensorRT brings as plugins: some of ONNX's operations are.

    Args:
        library: the package.
        logger: kept for the rest of the process, because TensorRT's registry keeps a bare pointer to it.
    """
    _LOGGERS.append(logger)
    library.init_libnvinfer_plugins(logger, "")


_LOGGERS: List[Any] = []


if __name__ == "__main__":
    _library, _why_none = find()
    _version = _library.version if _library else None
    print(json.dumps({"version": _version, "why_none": _why_none, "python": platform.python_version()}))
