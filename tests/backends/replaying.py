"""Runs of the replay, from its options to results on disk, through the real plan, agent, worker and store."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import edgebench
from edgebench.judge.requirements.profile import load_profile
from edgebench.judge.trials import trials_of
from edgebench.prepare.cache import Cache
from edgebench.results.load import StoredResults
from edgebench.run.config import resolve
from edgebench.run.measuring.execution import Campaign, LocalMachines
from edgebench.run.measuring.host_queue import Outcome
from edgebench.run.measuring.progress import Observer
from edgebench.run.planner import build

QUICK = """
schema_version = 1
name = "made"

[default]
image_s = 0.3
sessions = { sd_percent = 1 }
passes = { sd_percent = 0.5, correlation = 0.4 }
cold = { load_s = 0.2, first_inference_s = 0.02 }
memory = { after_load_bytes = 50_000_000, peak_bytes = 60_000_000 }
accuracy = 0.9

[images]
n = 20

[variants."mobilenet_v1-0.25-int8"]
"""


def scenario(folder: Path, text: str = "", name: str = "made.toml") -> str:
    """A scenario's path; `text` follows QUICK, whose last table is the only variant's."""
    path = folder / name
    path.write_text(QUICK + text)
    return str(path)


def run(
    cache: Cache,
    folder: Path,
    source: str,
    *more: str,
    resume: bool = False,
    clock: Callable[[], float] = time.monotonic,
    **flags: Any,
) -> tuple[Path, Outcome]:
    """One run of `--device replay --set source=SOURCE` with these flags; the result's folder."""
    settings: dict[str, Any] = {
        "device": ["replay"],
        "set": [f"source={source}", *more],
        "sessions": 3,
        "output_dir": folder,
        **({} if "sustained" in flags else {"passes": 3}),
        **flags,
    }
    resolved = resolve(settings)
    built = build(resolved.config, cache, lambda text: None)
    campaign = Campaign(
        built=built,
        resolved=resolved,
        profiles=tuple(load_profile(name).as_record() for name in resolved.config.profile),
        command=("edgebench", "run"),
        resume=resume,
        cache=cache,
        observer=Observer(),
        machines=LocalMachines(built.backends),
        clock=clock,
    )
    return campaign.carry_out()


def replay(cache: Cache, folder: Path, source: str, *more: str, **flags: Any) -> StoredResults:
    """The same, read back."""
    return edgebench.load(run(cache, folder, source, *more, **flags)[0])


def figures(results: StoredResults) -> list[dict[str, Any]]:
    """Trials without what names their source, and without what differs between two readings."""
    left = {"key", "cautions", "cache", "undisturbed"}
    return [
        {name: value for name, value in vars(trial).items() if name not in left}
        for trial in trials_of(results)
    ]
