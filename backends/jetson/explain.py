"""Why TensorRT or CUDA fails, in words that know the Jetson."""

from __future__ import annotations

import re

from edgebench.errors import SessionError
from edgebench.link.known_causes import Cause, Explained, explain_by_causes

NAME_THE_BOARD = "name the board where TensorRT is, by --host USER@BOARD or a target"
HOW_TO_INSTALL = (
    "it comes with JetPack: sudo apt install python3-libnvinfer, and name the system's Python "
    "(--python /usr/bin/python3), since a virtual environment sees TensorRT only with --system-site-packages"
)
"""What brings TensorRT to a Jetson's Python."""

DRIVER_GROUP = "sudo usermod -aG video $USER on the board, and log in again"
"""What lets a user open a Jetson's GPU."""

_MOST_STDERR = 4000  # characters of a worker's stderr that are searched, from its end
_MOST_LINE = 300  # characters of a line that is repeated


def explain(error: SessionError, device: str) -> SessionError | None:
    """A failure whose cause is known by its words; None for any other.

    Args:
        error: of a session, or of a build.
        device: a name of `edgebench devices`: `jetson`, or `tensorrt` for a discrete GPU.
    """
    return explain_by_causes(error, _CAUSES, (error.why, error.stderr_tail[-_MOST_STDERR:]), device)


def how_to_install(device: str) -> str:
    """What brings TensorRT to the Python of a device of `edgebench devices`."""
    return HOW_TO_INSTALL if device == "jetson" else "pip install tensorrt, for the Python that runs there"


def _line(match: re.Match[str]) -> str:
    """The line that the words stand in."""
    start = match.string.rfind("\n", 0, match.start()) + 1
    return match.string[start:].partition("\n")[0].strip()[:_MOST_LINE]


def _no_tensorrt(match: re.Match[str], device: str) -> Explained:
    fix = f"{how_to_install(device)}; where this is not the board, {NAME_THE_BOARD}"
    return Explained("the Python that runs there has no TensorRT", match["reason"], fix)


def _no_permission(match: re.Match[str], device: str) -> Explained:
    return Explained("this user may not open the GPU's driver", _line(match), DRIVER_GROUP)


def _no_device(match: re.Match[str], device: str) -> Explained:
    fix = f"{NAME_THE_BOARD}; in a container, start it with --runtime nvidia"
    if device == "jetson":
        fix += f"; or the user may not open the driver: {DRIVER_GROUP}"
    return Explained("CUDA finds no GPU there", _line(match), fix)


def _old_driver(match: re.Match[str], device: str) -> Explained:
    fix = "install the driver that this CUDA needs (`nvidia-smi` tells both)"
    if device == "jetson":
        fix = (
            "take the CUDA that came with the board's own JetPack, "
            "not one of the package index (--set cudart=PATH); a newer one takes a newer JetPack"
        )
    return Explained("the GPU's driver is too old for this CUDA", _line(match), fix)


def _no_memory(match: re.Match[str], device: str) -> Explained:
    fix = "end other programs, take a smaller --batch, or have building take less (--set workspace_mb=256)"
    if device == "jetson":
        fix += "; GPU and processor share it, so a desktop counts (sudo systemctl isolate multi-user.target)"
    return Explained("the GPU's memory does not suffice", _line(match), fix)


def _other_engine(match: re.Match[str], device: str) -> Explained:
    fix = "measure again: it is built anew; `edgebench targets clean` removes all that was built"
    return Explained("the engine was built by another TensorRT or for another GPU", _line(match), fix)


def _not_honoured(match: re.Match[str], device: str) -> Explained:
    """The runner has named the layers, and what to do about it."""
    what = f"TensorRT {match['release']} did not build {match['precision']}, which was asked for"
    return Explained(what, match["layers"], match["fix"])


def _no_implementation(match: re.Match[str], device: str) -> Explained:
    fix = "allow building more memory (--set workspace_mb=1024), or take a model of a smaller --batch"
    return Explained("TensorRT knows no way to carry out a layer within its memory", _line(match), fix)


def _obliged(match: re.Match[str], device: str) -> Explained:
    """No implementation in a precision that the build was held to; the runner says what to do about it."""
    what = f"TensorRT has no implementation in {match['precision']} for a layer with weights"
    return Explained(what, match["reason"], match["fix"])


def _no_cudart(match: re.Match[str], device: str) -> Explained:
    fix = "install the CUDA toolkit, or name the runtime: --set cudart=PATH"
    if device == "jetson":
        fix = "sudo apt install nvidia-jetpack, or name the runtime: --set cudart=PATH"
    return Explained("the CUDA runtime cannot be loaded", match["reason"], fix)


# The words of the runner, of CUDA (cudaGetErrorString) and of TensorRT; the first that fits counts. The
# driver's own words are printed beside another error, and say more than that does.
_CAUSES: tuple[Cause, ...] = (
    (r"NvRmMemInitNvmap failed with Permission denied", _no_permission),
    (r"/dev/nv\w+[^\n]{0,40}Permission denied", _no_permission),
    (r"no TensorRT here \((?P<reason>[^\n)]{1,400})\)", _no_tensorrt),
    (r"no CUDA runtime here \((?P<reason>[^\n]{1,700}?)\): on a Jetson ", _no_cudart),
    (
        r"(?P<precision>fp16|fp32|int8) was asked for, and TensorRT (?P<release>\S{1,40}) built "
        r"(?P<layers>[^;\n]{1,2000}); (?P<fix>[^;\n]{1,300})",
        _not_honoured,
    ),
    (r"CUDA initialization failure with error:? 100\b", _no_device),
    (r"no CUDA-capable device is detected|cudaErrorNoDevice", _no_device),
    (r"CUDA initialization failure with error:? 35\b", _old_driver),
    (r"CUDA driver version is insufficient|cudaErrorInsufficientDriver", _old_driver),
    (r"not compatible with this version of TensorRT|Version tag does not match", _other_engine),
    (r"generated on an incompatible device|the engine was built for ", _other_engine),
    (r"out of memory|OutOfMemory|cudaErrorMemoryAllocation|memory ran out while", _no_memory),
    (r"GPU memory \(\d+ bytes\) could not be allocated|NvMapMemAllocInternalTagged", _no_memory),
    (
        r"(?P<reason>[^\n;]{0,300}Could not find any implementation for node[^\n;]{0,300})[^\n]{0,900}; "
        r"each layer with weights was to compute in (?P<precision>fp16|int8): (?P<fix>[^\n]{1,300})",
        _obliged,
    ),
    (r"Could not find any implementation for node", _no_implementation),
)
