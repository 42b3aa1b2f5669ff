"""A stand-in for TensorRT and the CUDA runtime: a folder that a board's Python takes for both.

`write(folder, shape)` puts a package `tensorrt` into `folder`, in the shape of one release (8.0, 8.2,
8.6, 10 or 11), and beneath it `lib/libcudart.so`, compiled from libcudart.c. The package has what the runner
calls, by the names of its release (device/tensorrt/names.txt): what the release lacks is an AttributeError.
It truly parses ONNX, lowers it to the precision that flags, calibrator or the file itself ask for, and
computes by ONNX Runtime (compute.py). Device memory is out of the host's reach, streams are threads,
addresses are checked.

What it is not: no kernel of NVIDIA's is chosen, nothing is timed, only an activation is fused with what
is before it, calibration takes the largest magnitude, and messages only resemble the library's.

Environment variables of the board, all optional:

    STANDIN_GPU, STANDIN_CAPABILITY   name of the device, and its compute capability ("7.2")
    STANDIN_MEMORY_MB                 of the device
    STANDIN_NO_DEVICE=1               there is none
    STANDIN_CUDA_FAIL=NAME:N:CODE     the Nth call of a function of the CUDA runtime gives this error
    STANDIN_BUILD                     oom, kill, hang, slow:SECONDS, or fill:FILE, until the disk is full
    STANDIN_ONCE=FILE                 all but slow happen where FILE is not there; it is made by that
    STANDIN_UNHONOURED                all, or a part of a layer's name: those stay float32 without a word
    STANDIN_ZERO_WORK=1               copies and kernels do nothing, in the calling thread
    STANDIN_LOG=FILE                  a line of JSON for what builder and runtime do
    STANDIN_REPORT=FILE               a line of JSON as a process ends: what it still holds
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import filelock
import platformdirs

HERE = Path(__file__).parent
PACKAGE = HERE / "device" / "tensorrt"
COMPILE_S = 60.0


@dataclass(frozen=True)
class Release:
    """A release of TensorRT: the version that its shape gives, and the CUDA runtime of its JetPack."""

    shape: str
    version: str
    cuda: str
    capability: str
    gpu: str


RELEASES = {
    release.shape: release
    for release in (
        Release("8.0", "8.0.1.6", "10.2", "7.2", "Xavier"),
        Release("8.2", "8.2.1.8", "10.2", "7.2", "Xavier"),
        Release("8.6", "8.6.1.6", "11.8", "8.7", "Orin"),
        Release("10", "10.3.0", "12.6", "8.7", "Orin"),
        Release("11", "11.1.0.106", "13.0", "11.0", "Thor"),
    )
}


@dataclass(frozen=True)
class StandIn:
    """A folder with a package `tensorrt` and a `libcudart.so`.

    Attributes:
        folder: for PYTHONPATH.
        release: which one it is.
    """

    folder: Path
    release: Release

    @property
    def cudart(self) -> Path:
        """The CUDA runtime, by the name that a loader knows it by."""
        return self.folder / "lib" / "libcudart.so"

    @property
    def environment(self) -> dict[str, str]:
        """What a process finds set, so that it takes the folder for what a board has installed."""
        major, minor = self.release.cuda.split(".")
        return {
            "PYTHONPATH": str(self.folder),
            "LD_LIBRARY_PATH": str(self.folder / "lib"),
            "STANDIN_GPU": self.release.gpu,
            "STANDIN_CAPABILITY": self.release.capability,
            "STANDIN_CUDA_VERSION": str(int(major) * 1000 + int(minor) * 10),
        }


def missing() -> str:
    """Why there can be no stand-in here; nothing where there can."""
    if shutil.which("gcc") is None:
        return "gcc is not installed, which compiles the stand-in for the CUDA runtime"
    return ""


def write(folder: Path, shape: str, version: str | None = None) -> StandIn:
    """Put a stand-in into a folder, which is made.

    Args:
        folder: for it.
        shape: 8.0, 8.2, 8.6, 10 or 11.
        version: what `tensorrt.__version__` is, where it is to be another one of the same shape.
    """
    release = RELEASES[shape]
    if version is not None:
        release = Release(shape, version, release.cuda, release.capability, release.gpu)
    package = folder / "tensorrt"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    facts = {"shape": shape, "version": release.version}
    facts |= {"compute": str(HERE / "compute.py"), "python": sys.executable}
    (package / "release.json").write_text(json.dumps(facts))
    library = folder / "lib"
    library.mkdir(exist_ok=True)
    name = f"libcudart.so.{release.cuda}"
    shutil.copy(compiled(release.cuda), library / name)
    for link in {"libcudart.so", f"libcudart.so.{release.cuda.partition('.')[0]}"}:
        (library / link).unlink(missing_ok=True)
        (library / link).symlink_to(name)
    return StandIn(folder, release)


@functools.cache
def compiled(cuda: str = "10.2") -> Path:
    """The library, compiled once for each content of its source, in the user's cache folder.

    Args:
        cuda: the version of the CUDA runtime, which decides what it exports.
    """
    source = HERE / "libcudart.c"
    # The header of CUDA 12 names the function so; the libraries before and after have no such name.
    defined = ["-DPROPERTIES_V2"] if cuda.startswith("12.") else []
    decides = source.read_bytes() + "".join(defined).encode()
    folder = Path(platformdirs.user_cache_dir("edgebench")) / "test-libraries"
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"libcudart-{hashlib.sha256(decides).hexdigest()[:16]}.so"
    with filelock.FileLock(folder / "lock", timeout=COMPILE_S):
        if not library.exists():
            handle, scratch = tempfile.mkstemp(dir=folder)
            os.close(handle)
            command = ["gcc", "-std=gnu11", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", *defined]
            command += ["-o", scratch, str(source), "-lpthread"]
            subprocess.run(command, check=True, timeout=COMPILE_S, capture_output=True)
            Path(scratch).replace(library)
    return library
