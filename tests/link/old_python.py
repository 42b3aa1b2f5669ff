"""A Python 3.6 with numpy, where this machine has one: agent, worker and runner are run by it."""

import functools
import glob
import os
import shutil
import subprocess
from pathlib import Path

import filelock
import platformdirs

NUMPY = "1.19.5"


def candidates():
    found = shutil.which("python3.6")
    paths = [found] if found else []
    return paths + sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.6*/bin/python")))


def works(command, timeout=60):
    try:
        return subprocess.run(command, capture_output=True, timeout=timeout, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@functools.cache
def python36() -> tuple[str | None, str]:
    """Its path, or None and why there is none. Made once, in the user's cache."""
    asks = ["-c", "import sys; sys.exit(sys.version_info[:2] != (3, 6))"]
    base = next((path for path in candidates() if works([path, *asks])), None)
    if base is None:
        return None, "no Python 3.6 here"
    folder = Path(platformdirs.user_cache_dir("edgebench")) / "test-pythons" / f"3.6-numpy-{NUMPY}"
    python = folder / "bin" / "python"
    has_numpy = [str(python), "-c", f"import numpy; assert numpy.__version__ == '{NUMPY}'"]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{folder}.lock", timeout=100):
            if works(has_numpy):
                return str(python), ""
            shutil.rmtree(folder, ignore_errors=True)
            if not works([base, "-m", "venv", str(folder)]):
                return None, f"{base} makes no virtual environment"
            if not works([str(python), "-m", "pip", "install", "-q", f"numpy=={NUMPY}"]):
                return None, f"numpy {NUMPY} cannot be installed for Python 3.6"
            return (str(python), "") if works(has_numpy) else (None, "numpy does not run on Python 3.6")
    except (OSError, filelock.Timeout) as error:
        return None, f"no place for a Python 3.6 with numpy: {error}"
