"""A run on a machine of a fleet against the same run here; the proofs on two cores against one."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from benchmarks.pairs import abba
from benchmarks.row import Row, ratio_row
from edgebench.prepare.cache import Cache
from tests.fleet.labs import QUICK, Lab, lab_of, target
from tests.walk.conftest import make_place

RUN_BAR, IMAGE_BAR = 1.15, 1.03
CORES_BAR = 1 / 1.5
"""What two cores take of what one does."""

SESSIONS, BLOCKS = 20, 2
TIMEOUT_S = 300.0


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Three rows: two of four pairs, not taken without `distributed`, which stderr says; proofs, of two."""
    taken = []
    if find_spec("distributed") is None:
        print("fleets: not taken: pip install 'edgebench[fleet]'", file=sys.stderr)
    else:
        with tempfile.TemporaryDirectory() as folder, lab_of(make_place(Path(folder))) as lab:
            cpu = target("processor").replace("toy", "cpu")
            lab.start_worker("machine", target("toy") + cpu)
            taken = [_run(lab), _image(lab)]
    return [*taken, _cores()]


def _taken(lab: Lab, where: list[str], name: str, *words: str) -> tuple[float, Path]:
    """Seconds of a run, and its result of that name."""
    start_s = time.perf_counter()
    done = lab.place.run("run", *where, *QUICK, "--name", name, *words, timeout=TIMEOUT_S)
    lasted_s = time.perf_counter() - start_s
    assert done.returncode == 0, done.stderr
    return lasted_s, lab.place.folder / "results" / name


def _run(lab: Lab) -> Row:
    near, far = ["--targets-file", "machine.toml"], ["--scheduler", lab.address]
    numbers = itertools.count()

    def take(where: list[str]) -> float:
        words = ("--target", "toy", "--sessions", str(SESSIONS))
        return _taken(lab, where, f"toy-{next(numbers)}", *words)[0]

    take(near), take(far)  # what is prepared and sent once
    paired = abba(lambda: take(far), lambda: take(near), 2 * BLOCKS)
    return ratio_row(f"a run of {SESSIONS} toy sessions through a fleet / here", paired, RUN_BAR)


def _image(lab: Lab) -> Row:
    near, far = ["--targets-file", "machine.toml"], ["--scheduler", lab.address]
    numbers = itertools.count()

    def take(where: list[str]) -> float:
        words = ("--target", "processor", "--sessions", "3", "--passes", "40")
        _, path = _taken(lab, where, f"cpu-{next(numbers)}", *words)
        [trial] = path.glob("trials/*/trial.json")
        return float(json.loads(trial.read_text())["image_s"]["median"])

    take(near), take(far)
    paired = abba(lambda: take(far), lambda: take(near), 2 * BLOCKS)
    return ratio_row("image_s of the processor through a fleet / here", paired, IMAGE_BAR)


def _cores() -> Row:
    """All topics, as `make proof` runs them, at small size: two minutes in one process."""

    def take(processes: int) -> float:
        command = [sys.executable, "-m", "proofs", "--size", "small", "--processes", str(processes)]
        start_s = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT_S)
        return time.perf_counter() - start_s

    paired = abba(lambda: take(2), lambda: take(1), 2)
    return ratio_row("time of proofs by two processes / by one", paired, CORES_BAR)
