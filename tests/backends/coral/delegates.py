"""The stand-in for libedgetpu, compiled from C at test time: one that claims no nodes, and ones that die."""

from __future__ import annotations

import functools
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("libedgetpu.c")
COMPILE_S = 60.0
SONAME = "libedgetpu.so.1"

PLAIN: tuple[str, ...] = ()
NO_DEVICE = ("DEVICES=0",)
TWO_DEVICES = ("DEVICES=2",)
ABORTS = ("DIES_AT_CREATE=SIGABRT",)
FAULTS = ("DIES_AT_CREATE=SIGSEGV",)
FAULTS_LATER = ("DIES_AT_PREPARE=SIGSEGV",)


@dataclass(frozen=True)
class Built:
    """Where compiled libraries go, and why there can be none, if so."""

    folder: Path

    def library(self, *defined: str) -> Path:
        """A file named as Google's package names it, in a folder of its own, built with these definitions."""
        path = self.folder / ("-".join(defined).replace("=", "-") or "plain") / SONAME
        if not path.exists():
            path.parent.mkdir(parents=True)
            compiler = shutil.which("cc")
            assert compiler, why_none()
            flags = ["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
            words = [*flags, f"-Wl,-soname,{SONAME}", *(f"-D{definition}" for definition in defined)]
            subprocess.run([compiler, *words, "-o", str(path), str(SOURCE)], check=True, timeout=COMPILE_S)
        return path


@functools.cache
def why_none() -> str:
    """Why C cannot be compiled here; nothing where it can."""
    compiler = shutil.which("cc")
    if compiler is None:
        return "no C compiler here (apt-get install gcc libc6-dev)"
    tried = subprocess.run(
        [compiler, "-fsyntax-only", "-x", "c", "-"],
        input=b"#include <stdio.h>\n",
        capture_output=True,
        timeout=COMPILE_S,
        check=False,
    )
    return "" if tried.returncode == 0 else "no C headers here (apt-get install libc6-dev)"
