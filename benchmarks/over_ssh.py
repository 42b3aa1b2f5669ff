"""A board at the end of SSH against this machine itself: placing, `image_s`, and the way to the first pass.

The board is this machine, through a real sshd on a loopback port: both sides share processor and clock.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.image_s import THREADS, ours
from benchmarks.pairs import abba
from benchmarks.row import Row, ratio_row
from edgebench import registry
from edgebench.link.connection import Connection
from edgebench.link.local import agent_file
from edgebench.link.placing import Placer
from edgebench.link.ssh import ENVIRONMENT, SshLink
from edgebench.prepare.cache import Cache
from edgebench.prepare.image_sets import shipped_scene
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.target import Launch, Target
from edgebench.records.values import Scene, Variant
from edgebench.results.load import load
from tests.link.sshd import Board, make_board, missing

PLACING_BAR, AGAIN_BAR, IMAGE_BAR, FIRST_PASS_BAR_S = 1.3, 0.05, 1.03, 3.0
PLACINGS = 10
RUNS = 3
TIMEOUT_S = 60.0
PASSES = 4


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Four rows, or none with the reason where there is no sshd."""
    if why := missing():
        print(f"over SSH: not taken: {why}", file=sys.stderr)
        return []
    scene = shipped_scene(cache)
    with _board() as board:
        return [*_placing(cache, board, scene), _image_s(cache, board, scene, pairs), _first_pass(board)]


@contextmanager
def _board() -> Iterator[Board]:
    with tempfile.TemporaryDirectory() as folder:
        board = make_board(Path(folder))
        board.start()
        before = os.environ.get(ENVIRONMENT)
        os.environ[ENVIRONMENT] = str(board.config)
        try:
            yield board
        finally:
            os.environ.pop(ENVIRONMENT)
            if before is not None:
                os.environ[ENVIRONMENT] = before
            board.stop()


def _placing(cache: Cache, board: Board, scene: Scene) -> list[Row]:
    """The scene of 61 MB to an agent that answers, against `ssh host "cat > file"`.

    Ours verifies what arrives and goes over a connection that is open, as in every run; the plain command
    opens its own, as every call of it does.
    """
    ssh = ["ssh", "-F", str(board.config), "-p", str(board.port), board.address.rpartition(":")[0]]
    copy = board.folder / "copy"
    again: list[float] = []

    def theirs() -> float:
        copy.unlink(missing_ok=True)
        with scene.path.open("rb") as file:
            start_s = time.perf_counter()
            subprocess.run([*ssh, f"cat > {copy}"], stdin=file, check=True, timeout=TIMEOUT_S)
            return time.perf_counter() - start_s

    def place() -> float:
        link = SshLink(board.address, *agent_file(cache), python=sys.executable)
        connection = Connection(link.start(), lambda frame: None)
        try:
            connection.request({"op": "hello"}, TIMEOUT_S)
            placer = Placer(connection, shares_files=False, timeout_s=TIMEOUT_S)
            start_s = time.perf_counter()
            placer.place(scene.path, scene.sha256)
            return time.perf_counter() - start_s
        finally:
            connection.close()
            link.close()

    def first() -> float:
        for placed in board.placed.rglob(f"{scene.sha256}*"):
            placed.unlink()
        taken_s = place()
        again.append(place() / taken_s)
        return taken_s

    first()
    theirs()
    again.clear()
    paired = abba(first, theirs, PLACINGS)
    return [
        ratio_row("placing a scene of 61 MB over SSH against ssh host cat > file", paired, PLACING_BAR),
        Row("placing it again, of the first time", statistics.median(again), "times", AGAIN_BAR),
    ]


def _image_s(cache: Cache, board: Board, scene: Scene, pairs: int) -> Row:
    """The same sessions by both links, 0.25 int8 on one thread."""
    backend = registry.backend("cpu")
    options = backend.options_model.model_validate({"threads": THREADS}).model_dump(mode="json")
    (artifact,) = backend.prepare([PrepareRequest(Variant(0.25, "int8"), 1, options)], cache, print)
    assert isinstance(artifact, Artifact), artifact
    here = backend.open(Target(name="here", device="cpu", options=options))
    launch = Launch(python=sys.executable)
    there = backend.open(
        Target(name="there", device="cpu", options=options, host=board.address, launch=launch)
    )
    try:
        paired = abba(
            lambda: ours(there, artifact, scene, options, PASSES),
            lambda: ours(here, artifact, scene, options, PASSES),
            pairs,
        )
    finally:
        here.close()
        there.close()
    return ratio_row("image_s over SSH against the local link, mobilenet_v1-0.25-int8", paired, IMAGE_BAR)


def _first_pass(board: Board) -> Row:
    """From the start of `edgebench run` to its first timed pass, everything cached: over SSH less locally."""
    there = ["--host", board.address, "--python", sys.executable]
    _seconds_to_first_pass([])
    _seconds_to_first_pass(there)
    local = []
    remote = []
    for _ in range(RUNS):
        local.append(_seconds_to_first_pass([]))
        remote.append(_seconds_to_first_pass(there))
    more_s = statistics.median(a - b for a, b in zip(remote, local, strict=True))
    return Row(
        "to the first timed pass, over SSH less locally",
        more_s,
        "s",
        FIRST_PASS_BAR_S,
        None,
        {"local_s": local, "remote_s": remote},
    )


def _seconds_to_first_pass(words: list[str]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-c", "from edgebench.cli.main import main; main()",
            "run", "--device", "cpu", "--depth", "0.25", "--precision", "int8", "--sessions", "1",
            "--passes", "1", "--quiet", "--output-dir", folder, "--name", "bench", *words,
        ]  # fmt: skip
        start_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        first = load(Path(folder) / "bench").passes.query("phase == 'first'")
        return (int(first["start_ns"].iloc[0]) - start_ns) / 1e9
