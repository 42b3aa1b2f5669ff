"""What `doctor` says of TensorRT, CUDA and JetPack, and of a Jetson's GPU, clocks and disk."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from edgebench.agent.facts import UNTOLD, board_facts
from edgebench.errors import SessionError, UnavailableError
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.board_findings import board_findings, mode_in_force, modes_text
from edgebench.link.failures import Cause, explain_by_causes
from edgebench.link.inspection import ask_library
from edgebench.link.local import NO_ROOM_FOR_FILES
from edgebench.prepare.onnx import packages_finding
from edgebench.records.board_facts import BoardFacts
from edgebench.records.target import Target
from edgebench.records.values import Finding, Json

# Why TensorRT or CUDA fails, in words that know the Jetson.


NAME_THE_BOARD = "name the board where TensorRT is, by --host USER@BOARD or a target"
HOW_TO_INSTALL = {
    "jetson": "it comes with JetPack: sudo apt install python3-libnvinfer, and name the system's Python "
    "(--python /usr/bin/python3), since a virtual environment sees TensorRT only with --system-site-packages",
    "tensorrt": "pip install tensorrt, for the Python that runs there",
}
"""What brings TensorRT to the Python of a device of `edgebench devices`."""

DRIVER_GROUP = "sudo usermod -aG video $USER on the board, and log in again"
"""What lets a user open a Jetson's GPU."""

_MOST_STDERR = 4000  # characters of a worker's stderr that are searched, from its end
_FREE_MEMORY = (
    "end other programs, take a smaller --batch, or have building take less (--set workspace_mb=256)"
)
_IN_CONTAINER = f"{NAME_THE_BOARD}; in a container, start it with --runtime nvidia"

# The words of the runner, of CUDA (cudaGetErrorString) and of TensorRT; the first that fits counts. The
# driver's own words are printed next to another error, and say more than that does.
_CAUSES = (
    Cause(
        r"NvRmMemInitNvmap failed with Permission denied|/dev/nv\w+[^\n]{0,40}Permission denied",
        "this user may not open the GPU's driver",
        "{line}",
        DRIVER_GROUP,
    ),
    Cause(
        r"no TensorRT here \((?P<reason>[^\n)]{1,400})\)",
        "the Python that runs there has no TensorRT",
        "{reason}",
        f"{HOW_TO_INSTALL['tensorrt']}; where this is not the board, {NAME_THE_BOARD}",
        {"jetson": f"{HOW_TO_INSTALL['jetson']}; where this is not the board, {NAME_THE_BOARD}"},
    ),
    Cause(
        r"CUDA initialization failure with error:? 100\b"
        r"|no CUDA-capable device is detected|cudaErrorNoDevice",
        "CUDA finds no GPU there",
        "{line}",
        _IN_CONTAINER,
        {"jetson": f"{_IN_CONTAINER}; or the user may not open the driver: {DRIVER_GROUP}"},
    ),
    Cause(
        r"CUDA initialization failure with error:? 35\b"
        r"|CUDA driver version is insufficient|cudaErrorInsufficientDriver",
        "the GPU's driver is too old for this CUDA",
        "{line}",
        "install the driver that this CUDA needs (`nvidia-smi` tells both)",
        {
            "jetson": "take the CUDA that came with the board's own JetPack, not one of the package index "
            "(--set cudart=PATH); a newer one takes a newer JetPack"
        },
    ),
    Cause(
        r"out of memory|OutOfMemory|cudaErrorMemoryAllocation|memory ran out while"
        r"|GPU memory \(\d+ bytes\) could not be allocated|NvMapMemAllocInternalTagged",
        "the GPU's memory does not suffice",
        "{line}",
        _FREE_MEMORY,
        {
            "jetson": f"{_FREE_MEMORY}; GPU and processor share it, so a desktop counts "
            "(sudo systemctl isolate multi-user.target)"
        },
    ),
)


# The releases of JetPack that the runner was written for, and what each brings.


class JetPack(NamedTuple):
    """One release, or a few that bring the same.

    Attributes:
        name: as NVIDIA numbers it.
        l4t: how /etc/nv_tegra_release begins, such as R32.7.
        python: of its Ubuntu, for which alone it has TensorRT.
        tensorrt: empty where no source confirms it.
    """

    name: str
    l4t: str
    python: str
    tensorrt: str


RELEASES = (
    JetPack("4.6", "R32.6", "3.6", "8.0.1"),
    JetPack("4.6.1 to 4.6.6", "R32.7", "3.6", "8.2.1"),
    JetPack("5.0.2", "R35.1", "3.8", ""),
    JetPack("5.1", "R35.2", "3.8", "8.5.2"),
    JetPack("5.1.1", "R35.3", "3.8", "8.5.2"),
    JetPack("5.1.2", "R35.4", "3.8", "8.5.2"),
    JetPack("5.1.3", "R35.5", "3.8", ""),
    JetPack("5.1.4 or 5.1.5", "R35.6", "3.8", ""),
    JetPack("6.0, developer preview", "R36.2", "3.10", ""),
    JetPack("6.0", "R36.3", "3.10", ""),
    JetPack("6.1 or 6.2", "R36.4", "3.10", "10.3"),
    JetPack("7.0 or 7.1", "R38", "3.12", "10.13"),
    JetPack("7.2", "R39.2", "3.12", ""),
)


def release_of(l4t: str) -> JetPack | None:
    """The release of an L4T such as R32.7.1; None for one that is not listed."""
    return next((release for release in RELEASES if re.match(rf"{re.escape(release.l4t)}(\.|$)", l4t)), None)


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


def _tensorrt(known: BoardFacts, target: Target) -> Finding:
    """It is missing in three ways: hidden from this Python, without its bindings, altogether."""
    python, files = known.python_executable or "python3", known.nvidia_libraries
    nvinfer, hidden = (files.nvinfer, files.system_tensorrt) if files is not None else (None, None)
    if version := (known.packages or {}).get("tensorrt"):
        version = nvinfer or version if version == UNTOLD else version
        return Finding("ok", "tensorrt", f"{version}, for Python {known.python or '(version not known)'}")
    message, fix = "", HOW_TO_INSTALL["jetson"]
    if hidden is not None:
        message = f", and is in {hidden}: a virtual environment hides it"
        fix = (
            "--python /usr/bin/python3, the system's; or make the environment with "
            "`/usr/bin/python3 -m venv --system-site-packages`"
        )
    elif nvinfer is not None:
        message = f": TensorRT {nvinfer} is there without its Python package"
        fix = "sudo apt install python3-libnvinfer"
    elif target.device == DISCRETE:
        fix = f"{python} -m pip install tensorrt; or {NAME_THE_BOARD}"
    elif known.l4t is None:
        message = ", and this machine does not say that it is a Jetson (/etc/nv_tegra_release)"
        fix = f"{NAME_THE_BOARD}; there, {fix}"
    return Finding("error", "tensorrt", f"not found by {python}{message}", fix)


def _cudart(known: BoardFacts, target: Target) -> Finding:
    if option := target.options.get("cudart"):
        return Finding("ok", "cudart", f"{option}, as the option cudart names it")
    if known.nvidia_libraries is not None and known.nvidia_libraries.cudart is not None:
        return Finding("ok", "cudart", known.nvidia_libraries.cudart)
    return Finding(
        "warning",
        "cudart",
        "libcudart, the CUDA runtime, is not where JetPack and Debian's packages put it",
        "on a Jetson: sudo apt install nvidia-jetpack; elsewhere name it: --set cudart=PATH",
    )


def _gpu(known: BoardFacts) -> Finding:
    if known.gpu is None:
        message = "no NVIDIA GPU is seen, neither in /sys/class/devfreq nor by its driver"
        return Finding("warning", "gpu", message, f"{NAME_THE_BOARD}; in a container, hand the GPU through")
    name = known.gpu.name + (f" of the {known.board}" if known.board and known.gpu.clocks_mhz else "")
    if known.gpu.usable is False:
        message = f"{name}, whose driver this user may not open (/dev/nvmap)"
        return Finding("error", "gpu", message, DRIVER_GROUP)
    return Finding("ok", "gpu", name)


def _jetpack(known: BoardFacts) -> Finding:
    if known.l4t is None:
        message = "no /etc/nv_tegra_release: this is no Jetson, or a container that does not show it"
        fix = f"{NAME_THE_BOARD}; a discrete GPU is --device tensorrt"
        return Finding("warning", "jetpack", message, fix)
    release = release_of(known.l4t)
    if release is None:
        listed = ", ".join(release.name for release in RELEASES)
        message = f"L4T {known.l4t} is not among the releases that the runner knows: JetPack {listed}"
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
    if pinned.gpu and pinned.cpu is not False:
        at = f", the GPU's at {held.max:.0f} MHz" if held is not None else ""
        return [Finding("ok", "clocks", f"pinned{at}")]
    between = f" (between {held.min:.0f} and {held.max:.0f} MHz)" if held is not None else ""
    units = {f"the GPU's{between}": pinned.gpu, "the processor's": pinned.cpu}
    free = " and ".join(unit for unit, is_pinned in units.items() if not is_pinned)
    message = (
        f"not pinned, {free}: they follow the load, and latency spreads "
        "(a Nano's p99 was seen to go from 148 to 9.4 ms by pinning alone)"
    )
    return [Finding("warning", "clocks", message, CLOCKS)]


class TensorRtChecks(AgentBackend):
    """What a board, this machine and a failed session say of TensorRT."""

    def check(self, target: Target) -> list[Finding]:
        """Findings on this machine, with the target's Python and its environment."""
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
            here = self.board_check({**facts, "packages": packages, **of_python}, target)
            if library.why_none and NOT_INSTALLED not in library.why_none:
                fix = f"install it again: {HOW_TO_INSTALL[target.device]}"
                here[0] = Finding("error", "tensorrt", f"{python} cannot import it: {library.why_none}", fix)
        return [*here, packages_finding(), *board_findings(facts)]

    def runtime_finding(self, facts: Mapping[str, Json], target: Target) -> Finding:
        """Finding about TensorRT, by its Python package."""
        return _tensorrt(BoardFacts.of(facts), target)

    def board_check(self, facts: Mapping[str, Json], target: Target) -> list[Finding]:
        """Findings on a board, by its files: nothing of TensorRT is run there."""
        known = BoardFacts.of(facts)
        checked = [_tensorrt(known, target), _cudart(known, target), _gpu(known)]
        if target.device != DISCRETE:
            checked += [_jetpack(known), *_power_mode(facts, target)]
            checked += [] if target.set_power_mode else _clocks(known)
        free = known.disk_available_bytes
        if free is not None and free < ENGINES_BYTES:
            message = (
                f"{free >> 20} MiB free, and engines of nine variants take up to {ENGINES_BYTES >> 20} MiB"
            )
            checked.append(Finding("warning", "engines", message, NO_ROOM_FOR_FILES))
        return checked

    def explain(self, error: SessionError) -> SessionError | None:
        """A failure whose cause is known by its words; None for any other."""
        return explain_by_causes(error, _CAUSES, (error.why, error.stderr_tail[-_MOST_STDERR:]), self.name)
