"""Which of the packages that a measurement may need this Python has, without importing any of them."""

import os
import re
from typing import Dict, Iterable

# Numerical and vendor runtimes: what a runner can ask for. Everything else is none of our business.
_OF_INTEREST = re.compile(
    r"numpy|tensor|tflite|litert|openvino|onnx|pycoral|edgetpu|torch|hailo|rknn|ncnn|tvm|mnn", re.IGNORECASE
)
_METADATA = re.compile(r"(?P<name>[A-Za-z0-9._]+)-(?P<version>[^-]{1,60})(-py[0-9.]+[^/]*)?\.(dist|egg)-info")
# Vendors put bindings beside no metadata at all.
_MODULES = ("numpy", "ai_edge_litert", "tflite_runtime", "tensorrt", "openvino", "pycoral")
UNTOLD = "version not told"
MAX_ENTRIES = 20000
MAX_FOUND = 60


def packages(path: Iterable[str]) -> Dict[str, str]:
    """Version by name (lower case, with hyphens), from the folders that Python imports from.

    Args:
        path: folders such as `sys.path`; the first that has a package wins, as in an import.
    """
    versions: Dict[str, str] = {}
    for folder in path:
        try:
            entries = sorted(os.listdir(folder or "."))[:MAX_ENTRIES]
        except OSError:
            continue
        for entry in entries:
            match = _METADATA.fullmatch(entry)
            if match and _OF_INTEREST.search(match.group("name")) and len(versions) < MAX_FOUND:
                versions.setdefault(_spelling(match.group("name")), match.group("version"))
        for module in _MODULES:
            if os.path.isfile(os.path.join(folder or ".", module, "__init__.py")):
                versions.setdefault(_spelling(module), UNTOLD)
    return versions


def _spelling(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
