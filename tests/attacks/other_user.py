"""Another user of this machine: a process of its own that gives up root, for attacks on what users share."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NOBODY = 65534


def require_root() -> None:
    """Skips the test where no other user can be taken."""
    if os.geteuid() != 0:
        pytest.skip("only root can take another user's place")


@contextlib.contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder that every user reaches; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="edgebench-attack-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def as_nobody(act: Callable[[], Any]) -> Iterator[tuple[int, Any]]:
    """The process in which `act` was called as another user, and the JSON that it gave; killed at the end."""
    answer, say = os.pipe()
    child = os.fork()
    if child == 0:  # no exception and no clean-up of pytest's may run here
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(say, json.dumps(act()).encode())
            os.close(say)
            signal.pause()
        finally:
            os._exit(1)
    os.close(say)
    try:
        with os.fdopen(answer, "rb") as file:
            yield child, json.loads(file.read())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
