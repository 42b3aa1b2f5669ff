"""Which devices an installed OpenVINO has plugins for, and the stick's firmware, by its files alone."""

import glob
import os
import re
from typing import Dict, Iterable, List

# Below a folder that Python imports from: of a wheel, and of an archive, whose Python lies in
# python/python3.9 and whose libraries in runtime/lib/PROCESSOR (in 2021 below inference_engine).
_FOLDERS = (
    "openvino/libs",
    "../../runtime/lib/*",
    "../../deployment_tools/inference_engine/lib/*",
)
_PLUGINS = (
    ("AUTO", re.compile(r"lib(AutoPlugin|openvino_auto_plugin)\.so")),
    ("CPU", re.compile(r"lib(MKLDNNPlugin|armPlugin|openvino_(intel|arm)_cpu_plugin)\.so")),
    ("GPU", re.compile(r"lib(clDNNPlugin|openvino_intel_gpu_plugin)\.so")),
    ("MYRIAD", re.compile(r"lib(myriadPlugin|openvino_intel_myriad_plugin)\.so")),
    ("NPU", re.compile(r"libopenvino_intel_npu_plugin\.so")),
)
_FIRMWARE = re.compile(r"usb-ma2(x8x|[0-9]8[0-9])\.mvcmd")  # ma2450 is the first stick's
MAX_ENTRIES = 2000


def openvino_files(path: Iterable[str]) -> Dict[str, List[str]]:
    """`plugins`: devices by name, sorted; `firmware`: files that a Neural Compute Stick 2 can be booted with.

    Args:
        path: folders such as `sys.path`; the first that has an OpenVINO counts, as in an import.

    Returns:
        Two empty lists where there is none, or where its files lie elsewhere.
    """
    for folder in path:
        if not os.path.isdir(os.path.join(folder or ".", "openvino")):
            continue
        names = [name for place in _FOLDERS for name in _names_in(os.path.join(folder or ".", place))]
        plugins = [plugin for plugin, file in _PLUGINS if any(file.match(name) for name in names)]
        return {"plugins": plugins, "firmware": sorted({name for name in names if _FIRMWARE.fullmatch(name)})}
    return {"plugins": [], "firmware": []}


def _names_in(pattern: str) -> List[str]:
    names: List[str] = []
    for folder in sorted(glob.glob(pattern))[:8]:
        try:
            names += sorted(os.listdir(folder))[:MAX_ENTRIES]
        except OSError:
            continue
    return names
