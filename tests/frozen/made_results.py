"""Results that no scenario plays: several workers, requests in flight, many sessions, declared figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.synthetic_results import QUARTER, made_experiment, not_easy, write_record

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


def _many(folder: Path, name: str, scope: str = "wall", **fields: Any) -> Path:
    """A result of many sessions with a meter of 400 Hz that covers `scope`; `fields` are of its record."""
    path = made_experiment(
        folder,
        name=name,
        variants=(QUARTER[0], QUARTER[2]),
        sessions=12,
        passes=40,
        power=True,
        rate_hz=400.0,
    )
    _edit(path / "experiment.json", lambda record: record | fields)
    for file in sorted(path.rglob("session.json")):
        _edit(file, lambda record: _covering(record, scope))
    return path


def _covering(record: dict[str, Any], scope: str) -> dict[str, Any]:
    return record | {"probes": [probe | {"scope": scope} for probe in record["probes"]]}


def _edit(file: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    write_record(file, change(json.loads(file.read_text(encoding="utf-8"))))


MADE: Mapping[str, Callable[..., Path]] = {
    "not-easy": not_easy,
    "not-easy-of-six-sessions": partial(not_easy, sessions=6, passes=8),
    "requests": partial(made_experiment, batch=2, concurrency=4, sessions=10, passes=12),
    "paced": partial(made_experiment, period_s=0.3, sessions=5, passes=20, power=True, mass_g=45.0),
    "disturbed": partial(made_experiment, disturbed=True, sessions=5, size_mm=(30.0, 65.0, 8.0)),
    "many-sessions": _many,
    "many-sessions-scope-unknown": partial(_many, scope=""),
    "ended-by-width": partial(_many, target_ci=0.05, min_sessions=3),
    "few-images": partial(made_experiment, images=5, sessions=2, session_spread=0.2),
}
"""Makers of results by name."""


def make(folder: Path, name: str) -> Path:
    """The folder of the result of that name, made below `folder`."""
    return MADE[name](folder, name=name)
