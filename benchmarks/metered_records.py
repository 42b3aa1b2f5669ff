"""A result whose sessions had a meter of 1 kHz with two rails, and how long its first judging takes."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.row import Row
from benchmarks.synthetic_records import make_experiment
from edgebench.judge.judged import judge_folder
from edgebench.judge.requirements.profile import shipped_profiles
from edgebench.results import layout
from edgebench.results.parquet import TABLE_COLUMNS
from edgebench.results.writing import write_table

TRIALS, SESSIONS, PASSES = 12, 5, 1_500
"""Sessions of ten minutes: a pass takes 0.4 s."""

RATE_HZ = 1_000
BAR_S = 10.0
S = 10**9
RAILS = {"in": 5.0, "cpu": 2.0}
METER = {
    "kind": "ina3221",
    "address": "",
    "rate_hz": float(RATE_HZ),
    "scope": "board",
    "averaging_ms": 1e3 / RATE_HZ,
    "resolution": "1 mW",
    "channels": [{"name": name, "quantity": "power", "unit": "W", "total": name == "in"} for name in RAILS],
    "absent": {},
    "rejected": 0,
    "rejected_first": [],
}
_KINDS = 3  # different tables, dealt out in turn


def judging_row() -> Row:
    """The first judging, by all shipped profiles; what else runs only adds, so it is not repeated."""
    with tempfile.TemporaryDirectory() as folder:
        path = make_metered(Path(folder))
        start_s = time.perf_counter()
        judged = judge_folder(path, shipped_profiles())
        lasted_s = time.perf_counter() - start_s
    samples = sum(rail.samples for trial in judged.trials for rail in trial.rails)
    name = f"first judging of {samples:,} samples of meters at {RATE_HZ / 1000:g} kHz"
    return Row(name, lasted_s, "s", BAR_S, None, {"samples": samples})


def make_metered(folder: Path, **sizes: int) -> Path:
    """The result in a folder; `sizes` are those of `make_experiment`."""
    path = make_experiment(folder, **{"trials": TRIALS, "sessions": SESSIONS, "passes": PASSES, **sizes})
    sessions = sorted(path.glob("trials/*/sessions/*"))
    passes = pd.read_parquet(sessions[0] / "passes.parquet", columns=["phase", "start_ns", "end_ns"])
    steady = passes[passes["phase"] == "steady"]
    windows = _windows(int(steady["start_ns"].min()), int(steady["end_ns"].max()))
    tables = [_table(folder / "probes.parquet", seed, windows) for seed in range(_KINDS)]
    for at, session in enumerate(sessions):
        data, digest = tables[at % _KINDS]
        (session / "probes.parquet").write_bytes(data)
        record = json.loads((session / layout.SESSION_FILE).read_text())
        record |= {"probes": [METER], "probe_reasons": {}, "windows_ns": windows}
        record["tables"]["probes"] = digest
        (session / layout.SESSION_FILE).write_text(json.dumps(record))
    return path


def _windows(start_ns: int, end_ns: int) -> dict[str, tuple[int, int]]:
    return {
        "settling": (start_ns - 6 * S, start_ns - 4 * S),
        "idle": (start_ns - 4 * S, start_ns - S),
        "steady": (start_ns, end_ns),
        "idle_after": (end_ns + S, end_ns + 4 * S),
    }


def _table(path: Path, seed: int, windows: dict[str, tuple[int, int]]) -> tuple[bytes, str]:
    """The bytes of a probes.parquet, and their SHA-256: half a second of each rail in turn."""
    rng = np.random.default_rng(seed)
    t_ns = np.arange(windows["settling"][0], windows["idle_after"][1], S // RATE_HZ)
    t_ns = t_ns[: len(t_ns) // (RATE_HZ // 2) * (RATE_HZ // 2)] + rng.integers(0, 50_000)
    is_busy = (t_ns >= windows["steady"][0]) & (t_ns < windows["steady"][1])
    levels_w = np.array(list(RAILS.values()))[:, None]
    watts = levels_w * (0.4 + 0.6 * is_busy) + rng.normal(0, 0.1, (len(RAILS), len(t_ns)))
    in_turn: dict[str, Any] = {
        "t_ns": np.broadcast_to(t_ns, watts.shape),
        "value": watts,
        "rail": np.broadcast_to(np.arange(len(RAILS))[:, None], watts.shape),
    }
    columns = {
        name: values.reshape(len(RAILS), -1, RATE_HZ // 2).swapaxes(0, 1).ravel()
        for name, values in in_turn.items()
    }
    rails = columns.pop("rail")
    same = {"probe": "ina3221:", "quantity": "power", "unit": "W"}
    frame = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(np.zeros(len(rails), np.int8), pd.Index([text]))
            for name, text in same.items()
        }
        | {"channel": pd.Categorical.from_codes(rails, pd.Index(list(RAILS)))}
        | columns
    )
    digest = write_table(path, frame[list(TABLE_COLUMNS["probes"])], "probes")
    data = path.read_bytes()
    path.unlink()
    return data, digest
