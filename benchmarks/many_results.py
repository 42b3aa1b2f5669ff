"""10,000 results of 1,000 passes each: listing them against bare looks at their records, reading 1 % of them.

pyarrow is given the files of that 1 % and reads them as one dataset; finding them is not counted for it. Ours
selects them by a condition on `result`, reads the records of their sessions and checks each file.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as pads

import edgebench
from benchmarks.pairs import abba
from benchmarks.row import Row, ratio_row
from benchmarks.synthetic_records import make_experiment
from edgebench.prepare.cache import Cache
from edgebench.results.listing import list_results

RESULTS, PASSES, WANTED = 10_000, 1_000, 100
LIST_BAR, READ_BAR = 5.0, 1.5


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Time of a listing whose index is there, and of reading the passes of 100 results."""
    with tempfile.TemporaryDirectory() as scratch:
        before = os.environ.get("EDGEBENCH_CACHE_DIR")
        os.environ["EDGEBENCH_CACHE_DIR"] = f"{scratch}/cache"
        try:
            return _rows(_made(Path(scratch)), pairs)
        finally:
            if before is None:
                del os.environ["EDGEBENCH_CACHE_DIR"]
            else:
                os.environ["EDGEBENCH_CACHE_DIR"] = before


def _rows(lab: Path, pairs: int) -> list[Row]:
    scanned = edgebench.scan(lab)
    names = [f"r{number}" for number in range(0, RESULTS, RESULTS // WANTED)]
    condition = pads.field("result").isin(names)
    files = [str(path) for path in scanned.passes.files(condition)]
    listed = abba(lambda: _timed(lambda: _listed(lab)), lambda: _timed(lambda: _looked_at(lab)), pairs)
    read = abba(
        lambda: _timed(lambda: _counted(scanned.passes.to_table(filter=condition).num_rows)),
        lambda: _timed(lambda: _counted(pads.dataset(files).to_table().num_rows)),
        pairs,
    )
    return [
        ratio_row(
            "time of listing 10,000 results by the index against looking at their records", listed, LIST_BAR
        ),
        ratio_row(
            "time of reading 1 % of 10 million passes in 10,000 results against pyarrow", read, READ_BAR
        ),
    ]


def _made(folder: Path) -> Path:
    """10,000 results, each with the files of one."""
    one = make_experiment(folder / "one", trials=1, sessions=1, passes=PASSES)
    for number in range(RESULTS):
        shutil.copytree(one, folder / "lab" / f"r{number}", copy_function=os.link)
    return folder / "lab"


def _timed(do: Callable[[], object]) -> float:
    gc.collect()
    begun_s = time.perf_counter()
    do()
    return time.perf_counter() - begun_s


def _listed(lab: Path) -> None:
    stored, unreadable = list_results(lab)
    assert (len(stored), unreadable) == (RESULTS, [])


def _looked_at(lab: Path) -> None:
    """Each record that the index is held to, looked at once."""
    for result in os.scandir(lab):
        os.stat(f"{result.path}/experiment.json")  # noqa: PTH116  # as quick as Python looks at them
        for trial in os.scandir(f"{result.path}/trials"):
            for session in os.scandir(f"{trial.path}/sessions"):
                os.stat(f"{session.path}/session.json")  # noqa: PTH116


def _counted(rows: int) -> None:
    assert rows == WANTED * PASSES
