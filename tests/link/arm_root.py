"""A Debian for arm64 in a folder, with a Python for each runtime: made once, in the user's cache folder.

Made by mmdebstrap under qemu-user-static, which takes root and, on a machine that does nothing else, some
minutes. What cannot be made is said, so that the tests can skip with the reason.
"""

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import filelock
import platformdirs

OPT_IN = "EDGEBENCH_TEST_ARM"
SUITE = "bookworm"
DEBIAN_PACKAGES = ("openssh-server", "python3", "libstdc++6")  # the last for the wheels
PYTHON = "3.11"  # of that suite
MAKE_S = 2700
DOWNLOAD_S = 600
PROGRAMS = {"mmdebstrap": "mmdebstrap", "qemu-aarch64-static": "qemu-user-static", "arch-test": "arch-test"}
WHEELS = ("2_34", "2_28", "2_27", "2_17", "2014")
"""What of manylinux the suite's C library runs."""


@dataclass(frozen=True)
class Runtime:
    """What a board has installed for one backend, in a virtual environment of its own."""

    device: str
    packages: tuple[str, ...]

    @property
    def python(self) -> str:
        """Its path on the board."""
        return f"/opt/{self.packages[0].partition('==')[0]}/bin/python"


RUNTIMES = {
    "litert": Runtime("cpu", ("ai-edge-litert==2.3.0", "numpy==2.4.6")),
    "tflite-runtime": Runtime("cpu", ("tflite-runtime==2.14.0", "numpy==1.26.4")),
    "onnxruntime": Runtime("onnxruntime", ("onnxruntime==1.31.1", "numpy==2.4.6")),
}


def missing() -> str:
    """Why there can be no such board here; nothing where there can."""
    if not os.environ.get(OPT_IN):
        return f"an emulated ARM board is tried with {OPT_IN}=1 (make test-all)"
    if os.geteuid() != 0:
        return "an emulated ARM board takes root, for its mounts"
    absent = [package for program, package in PROGRAMS.items() if shutil.which(program) is None]
    return f"apt-get install {' '.join(absent)}" if absent else ""


@functools.cache
def arm_root() -> tuple[Path | None, str]:
    """The folder, or None and why there is none."""
    folder = Path(platformdirs.user_cache_dir("edgebench")) / "test-boards" / f"arm64-{SUITE}"
    complete = folder.with_suffix(".complete")
    contents = " ".join(
        [*DEBIAN_PACKAGES, *(package for runtime in RUNTIMES.values() for package in runtime.packages)]
    )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{folder}.lock", timeout=MAKE_S):
            if complete.is_file() and complete.read_text() == contents:
                return folder, ""
            complete.unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            _make_system(folder)
            for runtime in RUNTIMES.values():
                _make_python(folder, runtime)
            complete.write_text(contents)
            return folder, ""
    except (OSError, filelock.Timeout, subprocess.SubprocessError) as error:
        return None, f"no Debian for arm64 can be made here: {_last_words(error)}"


def _make_system(folder: Path) -> None:
    options = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "locale", "doc")]
    command = [
        "mmdebstrap",
        "--architectures=arm64",
        "--variant=essential",
        f"--include={','.join(DEBIAN_PACKAGES)}",
        '--aptopt=Apt::Install-Recommends "false"',
        *options,
        SUITE,
        str(folder),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=MAKE_S, stdin=subprocess.DEVNULL)


def _make_python(folder: Path, runtime: Runtime) -> None:
    """A virtual environment, written by hand: to run pip under emulation takes minutes."""
    home = folder / Path(runtime.python).relative_to("/").parent.parent
    site = home / "lib" / f"python{PYTHON}" / "site-packages"
    platforms = [word for tag in WHEELS for word in ("--platform", f"manylinux{_dashed(tag)}_aarch64")]
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"),
            *("--python-version", PYTHON, "--implementation", "cp", *platforms),
            *("--target", str(site), *runtime.packages),
        ],
        check=True,
        capture_output=True,
        timeout=DOWNLOAD_S,
        stdin=subprocess.DEVNULL,
    )
    (home / "bin").mkdir()
    (home / "bin" / "python").symlink_to("/usr/bin/python3")
    (home / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")


def _dashed(tag: str) -> str:
    return tag if tag == "2014" else f"_{tag}"


def _last_words(error: Exception) -> str:
    output = getattr(error, "stderr", None) or b""
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else str(error)
