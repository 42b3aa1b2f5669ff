"""What telemetry saw beside the sessions, as one row a trial: clocks, temperature, load, memory, waiting."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from edgebench.fit.telemetry_summary import LIMIT_SENSOR, QUANTITIES, Observed, observe
from edgebench.report import words
from edgebench.report.tables import Column, Table
from edgebench.store.load import StoredResults

_COLUMNS = (
    Column("trial"),
    Column("fastest clock, MHz", figures=True),
    Column("hottest zone, °C", figures=True),
    Column("load", figures=True),
    Column("memory left", figures=True),
    Column("involuntary context switches a second", figures=True),
    Column("waiting for a core", figures=True),
    Column("stolen", figures=True),
    Column("throttled", long=True),
)
SHOWN = QUANTITIES | {"load", "memory"}
"""What a probe may sample that this table shows, whichever probe it is."""


def telemetry(results: StoredResults, names: Mapping[str, str]) -> Table:
    """Lowest to highest over all sessions of a trial; the last four over their steady passes, the worst."""
    rows = []
    samples = results.probes
    samples = samples[samples["quantity"].isin(SHOWN) & np.isfinite(samples["value"])]
    by_trial = dict(list(samples.groupby("trial", observed=True)))
    for trial in results.experiment.trials:
        frame = by_trial.get(trial.key)
        if frame is not None and len(frame):
            ok = [session for session in results.session_records(trial.key) if session.status == "ok"]
            rows.append((names.get(trial.key, trial.key), *_cells(frame, observe(ok, frame))))
    return Table(
        "telemetry",
        _COLUMNS,
        tuple(rows),
        caption="sampled at a low rate during every session; - where the board does not report it",
    )


def _cells(frame: pd.DataFrame, seen: tuple[Observed, ...]) -> tuple[str, ...]:
    left = frame.loc[frame["quantity"] == "memory", "value"]
    rates = [session.involuntary_per_s for session in seen if session.involuntary_per_s is not None]
    shares = [session.waiting_share for session in seen if session.waiting_share is not None]
    stolen = [session.stolen_share for session in seen if session.stolen_share is not None]
    throttling = dict.fromkeys(text for session in seen for text in session.throttled)
    return (
        _range(_highest(frame[frame["quantity"] == "clock"]), 0),
        _range(_highest(_zones(frame)), 1),
        _range(frame.loc[frame["quantity"] == "load", "value"], 2),
        words.size(int(left.min())) if len(left) else words.MISSING,
        f"{max(rates):.0f}" if rates else words.MISSING,
        words.percent(max(shares)) if shares else words.MISSING,
        words.percent(max(stolen)) if stolen else words.MISSING,
        ", ".join(throttling) or _not_throttled(seen),
    )


def _not_throttled(seen: tuple[Observed, ...]) -> str:
    """That no session was throttled, as far as samples of their steady passes tell."""
    watched = sum(session.watched for session in seen)
    if not watched:
        return words.MISSING
    return "no" if watched == len(seen) else f"no, as far as {watched} of {len(seen)} sessions tell"


def _zones(frame: pd.DataFrame) -> pd.DataFrame:
    zones = frame[frame["quantity"] == "temperature"]
    return zones[~zones["channel"].astype(str).str.contains(LIMIT_SENSOR)]


def _highest(frame: pd.DataFrame) -> pd.Series:
    """The highest value of each moment, as cores and zones differ; of several probes, the highest one's."""
    moments = frame.groupby(["probe", "session", "t_ns"], observed=True)["value"].max()
    probes = [moment for _, moment in moments.groupby(level="probe", observed=True)]
    return max(probes, key=lambda series: float(series.max()), default=moments)


def _range(values: pd.Series, places: int) -> str:
    if not len(values):
        return words.MISSING
    low, high = f"{values.min():.{places}f}", f"{values.max():.{places}f}"
    return low if low == high else f"{low} to {high}"
