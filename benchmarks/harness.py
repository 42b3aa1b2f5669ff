"""Harness time a session: all that is not load, warm-up, measuring or accuracy, records included."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.row import Row
from edgebench.prepare.cache import Cache
from edgebench.results.load import load
from edgebench.run.config import resolve
from edgebench.run.measuring.execution import Campaign, LocalMachines
from edgebench.run.measuring.progress import Observer
from edgebench.run.planner import build

BAR_S = 1.5


def rows(cache: Cache, pairs: int) -> list[Row]:
    """A run of one trial on this machine: 5 sessions of 3 passes, taken apart by its own records."""
    with tempfile.TemporaryDirectory() as folder:
        flags = {
            "device": ["cpu"],
            "depth": [0.25],
            "precision": ["int8"],
            "sessions": 5,
            "passes": 3,
            "output_dir": Path(folder),
        }
        resolved = resolve(flags)
        built = build(resolved.config, cache, lambda text: None)
        campaign = Campaign(
            built=built,
            resolved=resolved,
            profiles=(),
            command=("bench",),
            resume=False,
            cache=cache,
            observer=Observer(),
            machines=LocalMachines(built.backends),
        )
        # Preparation is no harness time; what finding it in the cache takes is.
        built.backends["cpu"].prepare([trial.request for trial in built.plan.trials], cache, print)
        start_s = time.perf_counter()
        path, outcome = campaign.carry_out()
        wall_s = time.perf_counter() - start_s
        sessions = load(path).sessions
    assert outcome.sessions == 5 and (sessions["status"] == "ok").all()
    # What lies outside the sessions (opening the agent, writing records) is harness time too.
    own_s = sessions["harness_s"].sum() + wall_s - sessions["duration_s"].sum()
    details = {
        "inside_sessions_s": float(sessions["harness_s"].mean()),
        "outside_sessions_s": float((wall_s - sessions["duration_s"].sum()) / 5),
    }
    return [Row("harness time a session", float(own_s / 5), "s", BAR_S, None, details)]
