"""Commands of the installed console program, carried out one after another in a fresh process.

The process has an environment of its own: no settings, caches or configuration of the user's reach it. This
file is also the program of that process, and imports nothing of the tests.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

PINNED = ("ai-edge-litert", "keras", "onnx", "onnxruntime", "openvino", "tensorflow", "tf2onnx")
"""Packages whose versions are in trial keys: a fresh process sees one version of them on every machine."""


@dataclass(frozen=True)
class Outcome:
    """What a command ended with and printed."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document on stdout; {} where there is none."""
        try:
            found = json.loads(self.stdout)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


def carry_out(folder: Path, commands: Sequence[Sequence[str]], *, pinned: bool = False) -> list[Outcome]:
    """The outcomes of these commands with `folder` as working folder, home and place of caches.

    With `pinned` the packages of PINNED are seen in one version, and no program is on the path.
    """
    environment = {
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "EDGEBENCH_BOARD_LOCK": str(folder),
        "PATH": "" if pinned else "/usr/bin:/bin",
        "COLUMNS": "200",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
    }
    if pinned:
        for package in PINNED:
            note = folder / "pinned" / f"{package.replace('-', '_')}-9.9.dist-info" / "METADATA"
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 9.9\n")
        environment["PYTHONPATH"] = str(folder / "pinned")
    done = subprocess.run(
        [sys.executable, "-P", __file__],
        input=json.dumps([list(words) for words in commands]),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    if done.returncode:
        raise RuntimeError(f"the process of the commands ended with {done.returncode}: {done.stderr[-2000:]}")
    return [Outcome(**outcome) for outcome in json.loads(done.stdout.splitlines()[-1])]


def _outcome(words: list[str]) -> dict[str, Any]:
    sys.argv = ["edgebench", *words]
    stdout, stderr, code = io.StringIO(), io.StringIO(), 0
    program = entry_points(group="console_scripts", name="edgebench")["edgebench"].load()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        try:
            program()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return {"code": code, "stdout": stdout.getvalue(), "stderr": stderr.getvalue()}


if __name__ == "__main__":
    print(json.dumps([_outcome(words) for words in json.load(sys.stdin)]))
