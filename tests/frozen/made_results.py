"""Results that no scenario plays: several workers, requests in flight, many sessions, declared figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from edgebench.records.session import Channel, ProbeChunk, ProbeInfo
from tests.sample_tables import write_samples
from tests.synthetic_results import METER, PACKAGE, QUARTER, made_experiment, not_easy, write_record

_WALL = {"scope": "wall"}
_UNCHANGED: Mapping[str, Any] = {}
_LATE = {
    "scope": "board",
    "place": "host",
    "clock_bound_ns": 40_000,
    "lag": {"reason": "too few load bursts"},
}

DECLARED: Mapping[str, tuple[str, dict[str, Sequence[str]]]] = {
    "steady-declared-maximum": (
        "steady",
        {
            "declared_power": ("4.9:maximum:its label",),
            "declared_conditions": (
                *("mass_g:40:weighed", "size_mm:62x28x9:measured"),
                "boot_s:20:maximum:its data sheet",
            ),
        },
    ),
    "windows-declared-typical": (
        "windows",
        {
            "declared_power": ("6.5:typical:its data sheet",),
            "declared_conditions": (
                *("mass_g:60:weighed", "size_mm:40x40x40:measured"),
                "boot_s:40:typical:its data sheet",
            ),
        },
    ),
    "slower-on-a-board": ("slower", {"boards": ("coral-usb",)}),
}
"""By name a scenario, and what is declared when it is judged."""


def _many(
    folder: Path,
    name: str,
    *,
    probe: Mapping[str, Any] = _WALL,
    board_w: float | None = None,
    session: Mapping[str, Any] = _UNCHANGED,
    **fields: Any,
) -> Path:
    """A result of many sessions with a meter of 400 Hz.

    Args:
        probe: fields of the meter's description.
        board_w: what a second meter, of the whole board, sees besides; None without one.
        session: fields of each session's record.
        fields: those of the experiment's record.
    """
    path = made_experiment(
        folder,
        name=name,
        variants=QUARTER[:1],
        sessions=12,
        passes=40,
        power=True,
        rate_hz=400.0,
    )
    _edit(path / "experiment.json", lambda record: record | fields)
    for file in sorted(path.rglob("session.json")):
        _edit(file, lambda record: record | {"probes": [record["probes"][0] | probe], **session})
        if board_w is not None:
            _add_meter(file, board_w)
    return path


def _add_meter(file: Path, board_w: float) -> None:
    """A second meter in a session: each of its readings is the mean of four of the first one's."""
    table = file.with_name("probes.parquet")
    rows = pq.read_table(table).to_pydict()
    table.unlink()
    count = len(rows["t_ns"]) // 4 * 4
    t_ns = np.array(rows["t_ns"][:count]).reshape(-1, 4)[:, -1]
    watts = np.array(rows["value"][:count]).reshape(-1, 4).mean(axis=1) + board_w
    channel = Channel("in", "power", "W", total=True)
    first, second = (
        ProbeInfo("rapl", "package", 400.0, "1 uJ", "chip", (PACKAGE,)),
        ProbeInfo("ina", "0", 100.0, "1 mW", "board", (channel,), averaging_ms=10.0),
    )
    before = ProbeChunk(METER, np.array(rows["t_ns"]), {"package": np.array(rows["value"])})
    chunks = [before, ProbeChunk(second.name, t_ns, {"in": watts})]
    write_samples(table, chunks, [first, second])
    # Without the checksums of its tables, as by hand.
    _edit(file, lambda record: record | {"probes": [*record["probes"], asdict(second)], "tables": {}})


def _edit(file: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    write_record(file, change(json.loads(file.read_text(encoding="utf-8"))))


MADE: Mapping[str, Callable[..., Path]] = {
    "not-easy": not_easy,
    "not-easy-of-six-sessions": partial(not_easy, sessions=6, passes=8),
    "requests": partial(made_experiment, batch=2, concurrency=4, sessions=10, passes=12),
    "paced": partial(made_experiment, period_s=0.3, sessions=5, passes=20, power=True, mass_g=45.0),
    "disturbed": partial(made_experiment, disturbed=True, sessions=5, size_mm=(30.0, 65.0, 8.0)),
    "many-sessions": _many,
    "many-sessions-scope-unknown": partial(_many, probe={"scope": ""}),
    "lag-unknown": partial(_many, probe=_LATE),
    "two-meters": partial(_many, probe={"scope": "chip"}, board_w=0.8),
    "short-stamps": partial(
        _many, session={"clock": {"wait": {"stamped_ns": 10**9, "waited_ns": 3 * 10**9}}}
    ),
    "coarse-clock": partial(_many, session={"tick_ns": 10_000_000}),
    "ended-by-width": partial(_many, target_ci=0.05, min_sessions=3),
    "few-images": partial(made_experiment, images=5, sessions=2, session_spread=0.2),
}
"""Makers of results by name."""


def make(folder: Path, name: str) -> Path:
    """The folder of the result of that name, made below `folder`."""
    return MADE[name](folder, name=name)
