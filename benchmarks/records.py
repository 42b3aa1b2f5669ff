"""A result of 1,000 trials: its 10 million passes against pandas on the same files, and how a resume begins.

pandas is given the list of files at once (`pd.read_parquet(files)`), which is quicker than one by one and
`concat`; finding the files is not counted for it. Ours finds them, reads 5,000 records, checks every file
against its SHA-256 and adds the columns `trial` and `session`.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.pairs import Paired, abba
from benchmarks.row import Row, ratio_row
from benchmarks.synthetic_records import PASSES, SESSIONS, TRIALS, make_experiment
from edgebench.prepare.cache import Cache

READ_BAR, RESUME_BAR_S = 1.5, 1.0
MOST_PAIRS = 6  # of several seconds each
RESUMES = 5


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Time and highest memory of reading, each a process of its own, and the resume's seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = make_experiment(Path(folder))
        files = Path(folder) / "files"
        files.write_text("\n".join(map(str, sorted(path.glob("trials/*/sessions/*/passes.parquet")))))
        peaks: dict[str, list[float]] = {"load": [], "pandas": []}

        def take(how: str) -> float:
            figures = _read(how, path, files)
            assert figures["rows"] == TRIALS * SESSIONS * PASSES
            peaks[how].append(figures["peak_bytes"])
            return figures["seconds"]

        times = abba(lambda: take("load"), lambda: take("pandas"), max(4, min(pairs, MOST_PAIRS)))
        resumed = [_read("resume", path) for _ in range(RESUMES)]
    assert all(figures["rows"] == SESSIONS for figures in resumed)
    seconds = [figures["seconds"] for figures in resumed]
    memory = Paired(tuple(peaks["load"]), tuple(peaks["pandas"]))
    size = "10 million passes of 1,000 trials against pandas"
    return [
        ratio_row(f"time of reading {size}", times, READ_BAR),
        ratio_row(f"memory of reading {size}", memory, READ_BAR),
        Row(
            "a resume of 1,000 trials to its next session",
            statistics.median(seconds),
            "s",
            RESUME_BAR_S,
            None,
            {"seconds": seconds},
        ),
    ]


def _read(how: str, path: Path, *files: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.read_records", how, str(path), *map(str, files)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures
