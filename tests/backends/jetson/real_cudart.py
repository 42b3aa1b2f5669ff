"""NVIDIA's own CUDA runtimes, as the package index has them: they load and name errors without a GPU."""

from __future__ import annotations

import functools
import shutil
import sys
from pathlib import Path

import filelock
import platformdirs

from edgebench.testing.device_code import works

# The library's place in a package has changed; 10.2 came as no package.
PACKAGES = {
    "11.8": "nvidia-cuda-runtime-cu11==11.8.*",
    "12": "nvidia-cuda-runtime-cu12==12.*",
    "13": "nvidia-cuda-runtime==13.*",
}
INSTALL_S = 150


@functools.cache
def library_of(cuda: str) -> tuple[Path | None, str]:
    """Its path, or None and why there is none; kept in the user's cache folder."""
    folder = Path(platformdirs.user_cache_dir("edgebench")) / "test-libraries" / f"cuda-{cuda}"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{folder}.lock", timeout=INSTALL_S):
            if not _libraries_in(folder):
                shutil.rmtree(folder, ignore_errors=True)
                works([*install, PACKAGES[cuda]], INSTALL_S)
            libraries = _libraries_in(folder)
    except (OSError, filelock.Timeout) as error:
        return None, f"no place for {PACKAGES[cuda]}: {error}"
    return (libraries[0], "") if libraries else (None, f"{PACKAGES[cuda]} cannot be installed")


def _libraries_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("libcudart.so.*"))
