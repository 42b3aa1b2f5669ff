"""What `doctor` says of TensorRT, CUDA and JetPack, and of a Jetson's GPU, clocks and disk."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from edgebench.agent.facts import board_facts
from edgebench.agent.packages import UNTOLD
from edgebench.errors import UnavailableError
from edgebench.link.board_facts import BoardFacts
from edgebench.link.board_failures import NO_ROOM_FOR_FILES
from edgebench.link.board_findings import board_findings
from edgebench.link.library_program import ask_library
from edgebench.link.power_mode import mode_in_force, modes_text
from edgebench.models.prepare.onnx_packages import packages_finding
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json

from .explain import DRIVER_GROUP, HOW_TO_INSTALL, NAME_THE_BOARD, how_to_install
from .jetpack import RELEASES, release_of

LIBRARY = Path(__file__).parent / "device" / "library.py"
NOT_INSTALLED = "No module named 'tensorrt'"  # any other reason is of an installation that is broken
DISCRETE = "tensorrt"  # the device that is no Jetson
ENGINES_BYTES = 400 << 20  # nine variants of MobileNet, and the one that is being written
CLOCKS = (
    "sudo jetson_clocks, which lasts until the next start or change of the power mode, or --set-power-mode"
)


class Library(BaseModel):
    """What device/library.py prints."""

    version: str | None
    why_none: str = ""
    python: str | None = None


def findings(target: Target) -> list[Finding]:
    """Of this machine, with the target's Python and its environment."""
    facts: dict[str, Json] = board_facts()
    python = target.launch.python or sys.executable
    packages = {name: version for name, version in facts["packages"].items() if name != "tensorrt"}
    try:
        library = ask_library("TensorRT", LIBRARY, Library, python, target.launch.env)
    except UnavailableError as error:
        here = [Finding("error", "tensorrt", f"{error.what}: {error.why}", error.fix)]
    else:
        if library.version is not None:
            packages["tensorrt"] = library.version
        of_python: dict[str, Json] = {"python": library.python, "python_executable": python}
        here = board_check({**facts, "packages": packages, **of_python}, target)
        if library.why_none and NOT_INSTALLED not in library.why_none:
            fix = f"install it anew: {how_to_install(target.device)}"
            here[0] = Finding("error", "tensorrt", f"{python} cannot import it: {library.why_none}", fix)
    return [*here, packages_finding(), *board_findings(facts)]


def board_check(facts: Mapping[str, Json], target: Target) -> list[Finding]:
    """Of a board, by its files: nothing of TensorRT is run there."""
    known = BoardFacts.of(facts)
    checked = [_tensorrt(known, target), _cudart(known, target), _gpu(known)]
    if target.device != DISCRETE:
        checked += [_jetpack(known), *_power_mode(facts, target)]
        checked += [] if target.set_power_mode else _clocks(known)
    return [*checked, *_room(known)]


def _tensorrt(known: BoardFacts, target: Target) -> Finding:
    version = (known.packages or {}).get("tensorrt")
    files = known.nvidia_libraries
    nvinfer = files.nvinfer if files is not None else None
    if version is None:
        return _no_tensorrt(known, target)
    if version == UNTOLD:
        version = nvinfer or version
    return Finding("ok", "tensorrt", f"{version}, for Python {known.python or '(version not known)'}")


def _no_tensorrt(known: BoardFacts, target: Target) -> Finding:
    """The three ways in which it is missing: hidden from this Python, without its bindings, altogether."""
    python = known.python_executable or "python3"
    message = f"not found by {python}"
    files = known.nvidia_libraries
    if files is not None and files.system_tensorrt is not None:
        message += f", and is in {files.system_tensorrt}: a virtual environment hides it"
        fix = (
            "--python /usr/bin/python3, the system's; or make the environment with "
            "`/usr/bin/python3 -m venv --system-site-packages`"
        )
        return Finding("error", "tensorrt", message, fix)
    if files is not None and files.nvinfer is not None:
        message += f": TensorRT {files.nvinfer} is there without its Python package"
        return Finding("error", "tensorrt", message, "sudo apt install python3-libnvinfer")
    if target.device == DISCRETE:
        fix = f"{python} -m pip install tensorrt; or {NAME_THE_BOARD}"
        return Finding("error", "tensorrt", message, fix)
    if known.l4t is None:
        message += ", and this machine does not say that it is a Jetson (/etc/nv_tegra_release)"
        return Finding("error", "tensorrt", message, f"{NAME_THE_BOARD}; there, {HOW_TO_INSTALL}")
    return Finding("error", "tensorrt", message, HOW_TO_INSTALL)


def _cudart(known: BoardFacts, target: Target) -> Finding:
    if option := target.options.get("cudart"):
        return Finding("ok", "cudart", f"{option}, as the option cudart names it")
    files = known.nvidia_libraries
    if files is not None and files.cudart is not None:
        return Finding("ok", "cudart", files.cudart)
    message = "libcudart, the CUDA runtime, is not where JetPack and Debian's packages put it"
    fix = "on a Jetson: sudo apt install nvidia-jetpack; elsewhere name it: --set cudart=PATH"
    return Finding("warning", "cudart", message, fix)


def _gpu(known: BoardFacts) -> Finding:
    if known.gpu is None:
        message = "no NVIDIA GPU is seen, neither in /sys/class/devfreq nor by its driver"
        return Finding("warning", "gpu", message, f"{NAME_THE_BOARD}; in a container, hand the GPU through")
    board = f" of the {known.board}" if known.board and known.gpu.clocks_mhz else ""
    if known.gpu.usable is False:
        message = f"{known.gpu.name}{board}, whose driver this user may not open (/dev/nvmap)"
        return Finding("error", "gpu", message, DRIVER_GROUP)
    return Finding("ok", "gpu", f"{known.gpu.name}{board}")


def _jetpack(known: BoardFacts) -> Finding:
    listed = ", ".join(release.name for release in RELEASES)
    if known.l4t is None:
        message = "no /etc/nv_tegra_release: this is no Jetson, or a container that does not show it"
        return Finding(
            "warning", "jetpack", message, f"{NAME_THE_BOARD}; a discrete GPU is --device tensorrt"
        )
    release = release_of(known.l4t)
    if release is None:
        message = f"L4T {known.l4t} is none of the releases that the runner was written for: JetPack {listed}"
        return Finding("warning", "jetpack", message, "try it: the runner asks TensorRT for what it can do")
    tensorrt = f"TensorRT {release.tensorrt}" if release.tensorrt else "a TensorRT that no source confirms"
    brings = f"{tensorrt} for Python {release.python}"
    return Finding("ok", "jetpack", f"{release.name} (L4T {known.l4t}), which brings {brings}")


def _power_mode(facts: Mapping[str, Json], target: Target) -> list[Finding]:
    """The mode, where none is asked for; one that is asked for is looked at with the board itself."""
    known = BoardFacts.of(facts)
    if target.power_mode is not None or known.l4t is None:
        return []
    if known.power_mode is None:
        message = "not known: /var/lib/nvpmodel/status cannot be read"
        return [Finding("warning", "power mode", message, "see `sudo nvpmodel -q` on the board")]
    message, modes = mode_in_force(facts), modes_text(facts)
    return [Finding("ok", "power mode", f"{message}, of {modes}" if modes else message)]


def _clocks(known: BoardFacts) -> list[Finding]:
    """Whether jetson_clocks holds them: free ones follow the load, and fall between the passes."""
    pinned = known.pinned_clocks
    if pinned is None or pinned.gpu is None:
        return []
    held = known.gpu.clocks_mhz if known.gpu is not None else None
    at = f", the GPU's at {held.max:.0f} MHz" if held is not None and pinned.gpu else ""
    if pinned.gpu and pinned.cpu is not False:
        return [Finding("ok", "clocks", f"pinned{at}")]
    between = f" (between {held.min:.0f} and {held.max:.0f} MHz)" if held is not None else ""
    units = [
        *([f"the GPU's{between}"] if not pinned.gpu else []),
        *(["the processor's"] if not pinned.cpu else []),
    ]
    message = (
        f"not pinned, {' and '.join(units)}: they follow the load, and latency spreads "
        "(a Nano's p99 was seen to go from 148 to 9.4 ms by pinning alone)"
    )
    return [Finding("warning", "clocks", message, CLOCKS)]


def _room(known: BoardFacts) -> list[Finding]:
    """Whether the disk takes the engines; that it takes the scene is said of every board."""
    free = known.disk_available_bytes
    if free is None or free >= ENGINES_BYTES:
        return []
    message = f"{free >> 20} MiB free, and engines of nine variants take up to {ENGINES_BYTES >> 20} MiB"
    return [Finding("warning", "engines", message, NO_ROOM_FOR_FILES)]
