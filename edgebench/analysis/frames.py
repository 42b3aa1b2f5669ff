"""Summaries, missions, rails, verdicts and predictions as frames, always of the same types (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.board_catalogue import Board, known_boards
from edgebench.errors import UsageError
from edgebench.judge.columns import (
    Column,
    csv_fields,
    document_fields,
    missing_reasons,
    trial_columns,
    unmeasured_reason,
)
from edgebench.judge.decision import settled_by
from edgebench.judge.metrics import METRICS
from edgebench.judge.mission import Mission
from edgebench.judge.profile import Profile, load_profiles
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.judge.verdict import WORDS
from edgebench.records.stored import SessionRecord, SessionStatus, TrialRecord
from edgebench.records.target import settings_text
from edgebench.results.frames import frame_of, series
from edgebench.results.load import StoredResults

# The trial of a row: what its frames share, in front.


_TRIAL_KINDS = {
    **dict.fromkeys(("trial", "target", "variant"), "str"),
    **dict.fromkeys(("batch", "concurrency"), "int64"),
    "settings": "str",
}


def _trial_fields(trial: TrialSummary) -> dict[str, Any]:
    """The columns of _TRIAL_KINDS."""
    names = ("target", "variant", "batch", "concurrency")
    fields = {name: getattr(trial, name) for name in names}
    return {"trial": trial.key, **fields, "settings": settings_text(trial.settings)}


# Missions: one row a trial and profile, each figure with the ends of its interval.


FIGURES = {
    **{name: name for name in ("duty_cycle", "backlog", "backlog_p99", "storage_bytes", "storage_bytes_p99")},
    **{name: name for name in ("age_s", "oldest_s", "missed")},
    **{f"energy_{name}_j": f"energy_j.{name}" for name in ("active", "idle", "off")},
    "break_even_s": "break_even_s",
}
"""Column -> which figure of a mission it is."""
_SIDES = {"": "value", "_low": "low", "_high": "high"}


def mission_frame(missions: Sequence[Mission], summaries: Sequence[TrialSummary]) -> pd.DataFrame:
    """By trial, then profile. Figures are float64, NaN where missing; `reasons` says why, by column."""
    ends = {f"{name}{end}": (place, side) for name, place in FIGURES.items() for end, side in _SIDES.items()}
    kinds = {
        **_TRIAL_KINDS,
        **dict.fromkeys(("profile", "mark"), "str"),
        **{"load": "float64", "overloaded": "boolean", "cycles": "int64"},
        **dict.fromkeys(ends, "float64"),
        "reasons": "object",
    }
    trials = {summary.key: summary for summary in summaries}
    rows = [
        vars(mission)
        | _trial_fields(trials[mission.trial])
        | {column: getattr(mission.figures[place], side) for column, (place, side) in ends.items()}
        | {
            "reasons": {
                name: mission.figures[place].reason
                for name, place in FIGURES.items()
                if mission.figures[place].value is None
            }
        }
        for mission in missions
    ]
    return frame_of(rows, kinds)


# Rows of tables with what their sessions and trials say of them (pure).


_STATUSES = pd.Index(get_args(SessionStatus), dtype="str")
CONTEXT = {
    "passes": ("status", "scenes"),
    "batches": ("status",),
    "windows": ("status", "emulated"),
    "probes": ("status",),
    "predictions": ("status", "image", "label_name", "predicted_name"),
}
"""By table, the columns that `with_context` adds to those of its file."""
CONTEXT_OF = {"passes": ("patches",), "predictions": ("worker", "set", "index", "label", "predicted")}
"""By table, the columns of its file that `with_context` takes, besides trial and session."""


StoredSession = tuple[StoredResults, TrialRecord, SessionRecord]
"""A session with its result and its trial."""


def with_context(
    name: str, rows: pd.DataFrame, sessions: Sequence[StoredSession], place: NDArray[np.integer[Any]]
) -> pd.DataFrame:
    """The rows of a table with the columns of CONTEXT, and with labels that count in the model's classes.

    A label is -1 where the model has no such class. The frame itself is left as it is.

    Args:
        name: of the table.
        rows: with the columns of CONTEXT_OF.
        sessions: those of the rows.
        place: which of them is each row's, int [rows].
    """
    codes = np.array([_STATUSES.get_loc(record.status) for *_, record in sessions], np.int8)
    after, rows = 2 * ("session" in rows), rows.copy(deep=False)
    rows.insert(after, "status", pd.Series(pd.Categorical.from_codes(codes[place], _STATUSES)))
    if name == "windows":
        rows["emulated"] = np.array([record.emulated for *_, record in sessions], bool)[place]
    if name == "passes":
        scenes = [results.experiment.scene_of(trial).patches for results, trial, _ in sessions]
        rows.insert(after + 1, "scenes", rows["patches"] / np.array(scenes, np.float64)[place])
    return _with_names(rows, sessions, place) if name == "predictions" else rows


def _with_names(
    rows: pd.DataFrame, sessions: Sequence[StoredSession], place: NDArray[np.integer[Any]]
) -> pd.DataFrame:
    """Predictions with image, label_name and predicted_name: categories, the latter two with the same ones.

    A name is missing for labels and predictions outside the classes (such as -1), and the path of an image
    for patches of the scene, which are no files.
    """
    groups: Mapping[Any, Any] = rows.groupby([place, "worker", "set"], observed=True).indices
    known: dict[str, list[tuple[Any, Sequence[str]]]] = {"index": [], "label": [], "predicted": []}
    labels = rows["label"].to_numpy().copy()
    for (number, worker, set_name), at in groups.items():
        results, trial, _ = sessions[number]
        classes = (trial.workers[worker] if worker < len(trial.workers) else trial).class_names
        image_set = results.experiment.images_of(trial)
        labelled = results.experiment.scene_of(trial) if set_name == "scene" else image_set
        names = labelled.class_names if labelled is not None else ()
        known["predicted"].append((at, classes))
        known["label"].append((at, names))
        if set_name != "scene" and image_set is not None:
            known["index"].append((at, results.image_paths.get(image_set.sha256, ())))
            if image_set.task != "classes":  # a label tells the normal from the anomalous, and is no class
                continue
        class_numbers = {name: number for number, name in reversed([*enumerate(classes)])}
        translated = np.array([*(class_numbers.get(name, -1) for name in names), -1], labels.dtype)
        labels[at] = translated[_within(labels[at], names)]
    both = [*known["predicted"], *known["label"]]  # the classes of the models come first, in their order
    for column, of_categories in (("index", known["index"]), ("label", both), ("predicted", both)):
        categories = list(dict.fromkeys(name for _, names in of_categories for name in names))
        code_by_name = {name: code for code, name in enumerate(categories)}
        numbers, codes = rows[column].to_numpy(), np.full(len(rows), -1, dtype=np.int32)
        for at, names in known[column]:
            of_names = np.array([*(code_by_name[name] for name in names), -1], dtype=np.int32)
            codes[at] = of_names[_within(numbers[at], names)]
        named = pd.Categorical.from_codes(codes.tolist(), categories=pd.Index(categories, dtype="str"))
        name = "image" if column == "index" else f"{column}_name"
        rows.insert([*rows.columns].index(column) + 1, name, pd.Series(named))
    return rows.assign(label=labels)


def _within(numbers: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.int64]:
    """The numbers, and that behind the last name in place of those that have none."""
    return np.where((numbers >= 0) & (numbers < len(names)), numbers, len(names))


# Rails of meters as a frame: one row a trial and rail, where a summary has the primary one alone (pure).


_RAIL_KINDS = {
    **_TRIAL_KINDS,
    **dict.fromkeys(("mark", "meter", "channel", "scope"), "str"),
    **dict.fromkeys(("primary", "total"), "bool"),
    **dict.fromkeys(("rate_hz", "effective_hz", "averaging_ms", "longest_gap_s", "window_s"), "float64"),
    **dict.fromkeys(("samples", "rejected", "sessions"), "int64"),
    **dict.fromkeys(
        ("mean_w", "mean_low_w", "mean_high_w", "peak_w", "peak_high_w", "p99_w", "idle_w", "idle_drift_w",
         "energy_j", "energy_low_j", "energy_high_j", "net_energy_j", "net_low_j", "net_high_j",
         "together_energy_j", "together_low_j", "together_high_j"),
        "float64",
    ),
    **{"reason": "str", "uncovered": "str", "unknown_lag_s": "float64", "pauses": "float64"},
}  # fmt: skip


def rail_frame(summaries: Sequence[TrialSummary]) -> pd.DataFrame:
    """By trial, then meter and rail, in the order of the record. Figures are float64, NaN where missing."""
    rows = [
        {
            **vars(rail),
            **_trial_fields(summary),
            "mark": summary.mark,
            "sessions": len(rail.mean_w_sessions),
        }
        for summary in summaries
        for rail in summary.power or ()
    ]
    return frame_of(rows, _RAIL_KINDS)


# Workers that shared a device: one row a trial and worker, where a summary has one a trial (pure).


_INTERVALS = ("image_s", "infer_s", "slowdown")
WORKER_KINDS = {
    **_TRIAL_KINDS,
    **{"worker": "int64", "share": "str", "cores": "object", "alone": "str"},
    **{f"{name}{end}": "float64" for name in _INTERVALS for end in ("", "_low", "_high")},
    **dict.fromkeys(("load_s", "memory_bytes", "in_flight"), "float64"),
    **dict.fromkeys(("accuracy", "accuracy_low", "accuracy_high"), "float64"),
    **{"accuracy_n": "Int64", "slowdown_reason": "str"},
}


def worker_frame(summaries: Sequence[TrialSummary]) -> pd.DataFrame:
    """By trial, then worker. Figures are float64, NaN where missing."""
    rows = []
    for summary in summaries:
        for worker in summary.workers if summary.sharing else ():
            row = {**_trial_fields(summary), **worker}
            row["share"] = summary.sharing.share if summary.sharing else ""
            for name in _INTERVALS:
                figure = worker[name] or {}
                row |= {name: figure.get("median"), f"{name}_low": figure.get("low")}
                row[f"{name}_high"] = figure.get("high")
            right = worker["accuracy"] or {}
            row |= {f"accuracy_{name}": right.get(name) for name in ("low", "high", "n")}
            rows.append(row | {"accuracy": right["k"] / right["n"] if right.get("n") else None})
    return frame_of(rows, WORKER_KINDS)


# Frames of several results under one another, with a column that says of which result a row is (pure).


def stacked(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The rows of all frames by result and trial; types stay as they are, also where a frame lacks a column.

    Two results may hold a trial of the same key: a join on `trial` alone raises ValueError. Categories are
    those of all frames; whole numbers that a frame lacks become Int64 and truth values boolean, so that
    neither turns into floats.

    Args:
        frames: by the name of their result, each with its trials' keys as index or in `trial` or `key`.
    """
    columns = list(dict.fromkeys(column for frame in frames.values() for column in frame.columns))
    fitted = {name: frame.copy(deep=False) for name, frame in frames.items()}
    for column in columns:
        _fit_types(column, list(fitted.values()))
    for name, frame in fitted.items():
        keys = frame.index if frame.index.name == "trial" else frame["trial" if "trial" in frame else "key"]
        names = pd.Categorical([name] * len(frame), categories=list(frames))
        frame.insert(0, "result", pd.Series(names, index=frame.index))
        frame["trial"] = keys
    whole = pd.concat(list(fitted.values()), ignore_index=True)
    return whole.set_index(["result", "trial"])[[column for column in columns if column != "trial"]]


def _fit_types(column: str, frames: Sequence[pd.DataFrame]) -> None:
    holders = [frame for frame in frames if column in frame.columns]
    kinds = [frame[column].dtype for frame in holders]
    if all(isinstance(kind, pd.CategoricalDtype) for kind in kinds):
        categories = [name for frame in holders for name in frame[column].cat.categories]
        for frame in holders:
            frame[column] = frame[column].cat.set_categories(pd.Index(dict.fromkeys(categories), dtype="str"))
    elif len(holders) < len(frames):
        for frame, kind in zip(holders, kinds, strict=True):
            if kind.kind in "ib":
                frame[column] = frame[column].astype("Int64" if kind.kind == "i" else "boolean")


# Summaries of trials as a frame: the columns of the CSV, always of the same types (pure).


_SUMMARY_KINDS = {
    **dict.fromkeys(("target", "variant", "precision", "status", "mark"), "category"),
    **dict.fromkeys(("batch", "concurrency"), "int64"),
    **dict.fromkeys(("extrapolated", "emulated", "requested"), "bool"),
}
_KINDS = {"flag": "boolean", "text": "str", "number": "float64"}


def summary_frame(summaries: Sequence[TrialSummary]) -> pd.DataFrame:
    """One row a trial, in the order given, by its key: the index, which is called `trial`.

    Figures are float64, NaN where missing; names are categories, reasons and sources texts.
    """
    columns = {
        column.heading: _summary_series(column, [column.value(summary) for summary in summaries])
        for column in trial_columns(summaries)
    }
    frame = pd.DataFrame(columns)
    frame.index = pd.Index([summary.key for summary in summaries], dtype="str", name="trial")
    return frame


def _summary_series(column: Column, values: Sequence[Any]) -> pd.Series:
    kind = _SUMMARY_KINDS.get(column.heading) or _KINDS.get(column.kind)
    if kind is None:  # the trials decide
        of_texts = all(isinstance(value, str | None) for value in values)
        of_numbers = not any(isinstance(value, str | bool) for value in values)
        kind = "str" if of_texts else "float64" if of_numbers else "object"
    return series(values, kind)


def reason_frame(summaries: Sequence[TrialSummary]) -> pd.DataFrame:
    """Why figures are missing: one row a trial and column of `summary_frame`; trial, column, reason."""
    columns = {column.heading: column for column in trial_columns(summaries)}
    missing = []
    keys = {
        name: dict.fromkeys(key for summary in summaries for key in metric.value(summary) or {})
        for name, metric in METRICS.items()
        if metric.keyed
    }
    for summary in summaries:
        stated, rail = missing_reasons(summary), summary.primary_rail
        fields = document_fields(summary)
        for name, metric in METRICS.items():
            place = f"sharing.{name}" if metric.json_place == "sharing" else metric.json_place
            of_figure = stated.get(metric.json_place) or stated.get(place)
            of_rail = rail.reason if rail is not None and metric.rail else ""
            # Stages and cold figures share a field, which is there without them.
            of_many = unmeasured_reason(summary) if isinstance(fields[metric.json_place], Mapping) else ""
            headings = csv_fields(metric)
            if metric.keyed:
                headings = {heading.format(key=key): "" for key in keys[name] for heading in headings}
            for heading, part in headings.items():
                of_end = stated.get(f"{place}.{'p99' if part == 'p99' else 'interval'}")
                reason = of_figure or of_end or of_rail or metric.missing(summary) or of_many
                if reason and heading in columns and columns[heading].value(summary) is None:
                    missing.append((summary.key, heading, reason))
    return pd.DataFrame(missing, columns=["trial", "column", "reason"], dtype="str")


# Verdicts as a frame: one row a trial and requirement (pure).


_VERDICT_KINDS = {
    **_TRIAL_KINDS,
    **dict.fromkeys(("target", "variant", "profile", "requirement", "quantity", "statistic"), "category"),
    **{"limit": "float64", "unit": "category"},
    **dict.fromkeys(("value", "low", "high", "margin"), "float64"),
    **dict.fromkeys(("verdict", "reason", "settled_by"), "str"),
    "wanted": "bool",
    **dict.fromkeys(("declared", "bound", "scope"), "str"),
    "averaging_s": "float64",
    **dict.fromkeys(("limit_sides", "value_sides"), "object"),
}


def verdict_frame(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """By trial, then profile, then requirement, in the order of the verdicts.

    Numbers are in `unit`. A body's limit and value are three sides each: `limit_sides` and `value_sides`
    hold them as tuples, and `limit` and `value` are NaN.
    """
    trials = {summary.key: summary for summary in summaries}
    frame = frame_of([_verdict_row(verdict, trials[verdict.trial]) for verdict in verdicts], _VERDICT_KINDS)
    frame["verdict"] = pd.Categorical(frame["verdict"], categories=WORDS)
    return frame


def _verdict_row(verdict: Verdict, trial: TrialSummary) -> dict[str, Any]:
    judged = {"limit": verdict.limit, "value": verdict.value}
    return {
        **vars(verdict),
        **_trial_fields(trial),
        "settled_by": settled_by(trial, verdict),
        **{name: None if isinstance(value, tuple) else value for name, value in judged.items()},
        **{f"{name}_sides": value if isinstance(value, tuple) else None for name, value in judged.items()},
    }


# Names as a user of Python gives them: one, or several.


def several(names: str | Iterable[str]) -> tuple[str, ...]:
    """One name, or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


Profiles = str | Path | Profile | Iterable[str | Path | Profile]
"""A shipped profile's name, the path of a profile's file, a Profile, or several of these."""


def named_profiles(profiles: Profiles) -> tuple[Profile, ...]:
    """Those profiles; UsageError for one that cannot be read."""
    return load_profiles([profiles] if isinstance(profiles, str | Path | Profile) else list(profiles))


def chosen_profiles(
    profiles: Profiles | None, of_run: Sequence[Profile], purpose: str
) -> tuple[Profile, ...]:
    """Those that are named, else those of the run; UsageError where one is missing or cannot be read."""
    chosen = tuple(of_run) if profiles is None else named_profiles(profiles)
    if not chosen:
        raise UsageError(
            f"there is no profile to {purpose}",
            why="the result was run without a profile and none is named",
            fix='name one, such as "disco-realtime"; `edgebench profiles list` names them',
        )
    return chosen


# `edgebench.boards`: what makers declare of boards, with the source of each figure, as a frame.


def boards() -> pd.DataFrame:
    """One row a board that `board=` and `--board` take, by its name: the index, which is called `board`.

    `edgebench.columns("boards")` describes the columns. What no source gives is NaN.
    """
    by_name = dict(sorted(known_boards().items()))
    frame = frame_of([_board_row(board) for board in by_name.values()], _BOARD_KINDS)
    frame.index = pd.Index(list(by_name), dtype="str", name="board")
    return frame


_BOARD_KINDS = {
    **{"title": "str", "plugged_in": "bool", "mass_g": "float64", "mass_source": "str"},
    **{"size_mm": "object", "size_source": "str"},
    **{"power_maximum_w": "float64", "power_maximum_source": "str"},
    **{"power_typical_w": "float64", "power_typical_source": "str"},
    **{"boot_s": "float64", "boot_source": "str", "note": "str"},
}


def _board_row(board: Board) -> dict[str, Any]:
    row: dict[str, Any] = {column: getattr(board, column, None) for column in _BOARD_KINDS}
    for fact in ("mass_g", "size_mm", "boot_s"):
        if stated := row[fact]:
            row |= {fact: stated.value, f"{fact.partition('_')[0]}_source": stated.source}
    for power in board.power:
        row |= {f"power_{power.kind}_w": power.watts, f"power_{power.kind}_source": power.source}
    return row
