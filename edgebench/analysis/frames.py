"""Estimates, missions, verdicts and predictions as frames, always of the same types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.board_catalogue import Board, known_boards
from edgebench.errors import UsageError
from edgebench.judge.document import VerdictEntry, verdict_entry
from edgebench.judge.mission import Mission
from edgebench.judge.requirements.profile import Profile, load_profiles
from edgebench.judge.table import (
    EstimateRow,
    Row,
    aligned,
    estimate_cells,
    estimate_rows,
    identity_cells,
    part_of,
    wide_rows,
)
from edgebench.judge.trial import Rail, Trial, Worker
from edgebench.judge.verdicts.next_steps import next_steps, sides_of
from edgebench.judge.verdicts.verdict import WORDS, NextStep, Verdict
from edgebench.records.described import texts_of
from edgebench.records.stored import SessionRecord, SessionStatus, TrialRecord
from edgebench.results.frames import series
from edgebench.results.load import StoredResults
from edgebench.stats.compare import wilson

# Rows as frames: the types of columns are those of the fields that they show.


_DTYPES = {
    "bool": "bool",
    "int": "int64",
    "int | None": "Int64",
    "float": "float64",
    "float | None": "float64",
}


def dtypes_of(type_: type) -> dict[str, str]:
    """Type of a column for each documented field of a dataclass; empty where the values decide."""
    return {name: _DTYPES.get(type_.__annotations__[name], "") for name in texts_of(type_)}


IDENTITY = {
    **dict.fromkeys(("trial", "target", "variant"), "str"),
    **dict.fromkeys(("batch", "concurrency"), "int64"),
    "settings": "str",
}
"""Columns that say which trial a row is of, with their types."""


def rows_frame(
    rows: Sequence[Mapping[str, Any]], dtypes: Mapping[str, str], *categories: str
) -> pd.DataFrame:
    """Rows that all have the same columns. Columns without a type are of metrics, or their values decide."""
    return pd.DataFrame(
        {
            name: _series([row[name] for row in rows], "category" if name in categories else dtypes.get(name))
            for name in (rows[0] if rows else dtypes)
        }
    )


def _series(values: Sequence[Any], dtype: str | None) -> pd.Series:
    if not dtype:
        has_numbers = not any(isinstance(value, str | bool | tuple) for value in values) and dtype is None
        has_texts = all(isinstance(value, str | None) for value in values)
        dtype = "float64" if has_numbers else "str" if has_texts else "object"
    return series(values, dtype)


def _identity(trial: Trial) -> Row:
    cells = identity_cells(trial)
    return {name: cells[name] for name in IDENTITY}


# Estimates: the tidy table, and its pivots by trial, by rail and by worker.


def estimate_frame(trials: Sequence[Trial], verdicts: Sequence[Verdict] = ()) -> pd.DataFrame:
    """One row per estimate, by trial. Numbers are float64, NaN where missing; `reason` says why."""
    rows = [vars(row) for row in estimate_rows(trials, verdicts)]
    return rows_frame(rows, dtypes_of(EstimateRow), "trial", "metric", "statistic", "unit", "basis")


def wide_frame(trials: Sequence[Trial]) -> pd.DataFrame:
    """One row per trial, in the order given, by its key: the index, which is called `trial`.

    Numbers are float64, NaN where missing. Columns without any value are left out.
    """
    names = ("target", "variant", "precision", "status", "scene", "marks")
    frame = rows_frame(wide_rows(trials), IDENTITY, *names).drop(columns="trial")
    frame.index = pd.Index([trial.key for trial in trials], dtype="str", name="trial")
    return frame


def parts_frame(trials: Sequence[Trial], parts: Literal["rails", "workers"]) -> pd.DataFrame:
    """One row per trial and rail of its meters, or worker, with its fields and its estimates.

    The rail that represents the board is the first. Nothing is pooled over workers.
    """
    rows = [(trial, part) for trial in trials for part in getattr(trial, parts)]
    metrics = aligned([estimate_cells(part_of(trial.estimates.items(), part)) for trial, part in rows])
    fields = dtypes_of(Rail if parts == "rails" else Worker)
    dtypes = {**IDENTITY, "marks": "str", **fields}  # a worker's variant is its own
    cells = [
        {
            **_identity(trial),
            "marks": "; ".join(trial.marks),
            **{name: getattr(part, name) for name in fields},
        }
        for trial, part in rows
    ]
    return rows_frame([row | numbers for row, numbers in zip(cells, metrics, strict=True)], dtypes)


@dataclass(frozen=True)
class ClassRow:
    """Labelled images of one class in one trial."""

    trial: str
    """Key of the trial. Source: experiment.json."""
    worker: int | None
    """Number of the worker, of several on a device; null for a lone one. Source: session.json."""
    set: str
    """Labelled set: images, or scene for its patches. Source: predictions.parquet."""
    class_: str
    """Name of the class. Source: the artifact."""
    n: int
    """Labelled images of the class. Source: predictions.parquet."""
    right: int
    """Images of the class that were predicted right. Source: predictions.parquet."""
    recall: float | None
    """Share of right ones; null for a class that does not occur. Source: fit."""
    low: float | None
    """Lower end of the recall's 95 % Wilson interval. Source: fit."""
    high: float | None
    """Upper end of it. Source: fit."""


def class_frame(trials: Sequence[Trial]) -> pd.DataFrame:
    """One row per trial, labelled set and class: its images, right ones, and recall with its interval."""
    rows = [
        ClassRow(trial.key, confusion.worker, confusion.images, name, n, right, *recall)
        for trial in trials
        for confusion in trial.confusions
        for name, n, right in zip(confusion.classes, confusion.n, confusion.right, strict=True)
        for recall in [(right / n, *wilson(right, n)) if n else (None, None, None)]
    ]
    return rows_frame([vars(row) for row in rows], dtypes_of(ClassRow)).rename(columns={"class_": "class"})


# Missions: one row per trial and profile, each number with the ends of its interval.


def mission_frame(missions: Sequence[Mission], trials: Sequence[Trial]) -> pd.DataFrame:
    """Missions by trial, then profile. Numbers are float64, NaN where missing, with `reasons` by column."""
    by_key = {trial.key: trial for trial in trials}
    dtypes = {**IDENTITY, **dtypes_of(Mission), "is_overloaded": "boolean"}
    rows = []
    for mission in missions:
        estimates = {name.replace(".", "_"): estimate for name, estimate in mission.estimates.items()}
        row = {name: getattr(mission, name) for name in dtypes_of(Mission)} | _identity(by_key[mission.trial])
        for name, estimate in estimates.items():
            row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        missing = {name: estimate.reason for name, estimate in estimates.items() if estimate.value is None}
        rows.append({name: row[name] for name in {**dtypes, **row}} | {"reasons": missing})
    return rows_frame(rows, {**dtypes, "reasons": "object"})


# Rows of tables with what their sessions and trials say of them (pure).


_STATUSES = pd.Index(get_args(SessionStatus), dtype="str")
CONTEXT = {
    "passes": ("status", "scenes"),
    "batches": ("status",),
    "windows": ("status", "emulated"),
    "probes": ("status",),
    "predictions": ("status", "image", "label_name", "predicted_name"),
}
"""Columns that `with_context` adds to the stored ones, by table."""
CONTEXT_SOURCES = {"passes": ("patches",), "predictions": ("worker", "set", "index", "label", "predicted")}
"""Stored columns that `with_context` reads besides trial and session, by table."""


StoredSession = tuple[StoredResults, TrialRecord, SessionRecord]
"""A session with its result and its trial."""


def with_context(
    name: str, rows: pd.DataFrame, sessions: Sequence[StoredSession], place: NDArray[np.integer[Any]]
) -> pd.DataFrame:
    """The rows of a table with the columns of CONTEXT, and with labels that count in the model's classes.

    A label is -1 where the model has no such class. The frame itself is left as it is.

    Args:
        name: of the table.
        rows: with the columns of CONTEXT_SOURCES.
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
    class_names: dict[str, list[tuple[Any, Sequence[str]]]] = {"index": [], "label": [], "predicted": []}
    labels = rows["label"].to_numpy().copy()
    for (number, worker, set_name), places in groups.items():
        results, trial, _ = sessions[number]
        classes = (trial.workers[worker] if worker < len(trial.workers) else trial).class_names
        image_set = results.experiment.images_of(trial)
        labelled = results.experiment.scene_of(trial) if set_name == "scene" else image_set
        names = labelled.class_names if labelled is not None else ()
        class_names["predicted"].append((places, classes))
        class_names["label"].append((places, names))
        if set_name != "scene" and image_set is not None:
            class_names["index"].append((places, results.image_paths.get(image_set.sha256, ())))
            if image_set.task != "classes":  # a label tells the normal from the anomalous, and is no class
                continue
        class_numbers = {name: number for number, name in reversed([*enumerate(classes)])}
        labels[places] = _codes(labels[places], names, class_numbers)
    both = class_names["predicted"] + class_names["label"]  # the classes of the models come first
    for column, of_categories in (("index", class_names["index"]), ("label", both), ("predicted", both)):
        categories = list(dict.fromkeys(name for _, names in of_categories for name in names))
        code_by_name = {name: code for code, name in enumerate(categories)}
        numbers, codes = rows[column].to_numpy(), np.full(len(rows), -1, dtype=np.int32)
        for places, names in class_names[column]:
            codes[places] = _codes(numbers[places], names, code_by_name)
        named = pd.Categorical.from_codes(codes.tolist(), categories=pd.Index(categories, dtype="str"))
        name = "image" if column == "index" else f"{column}_name"
        rows.insert([*rows.columns].index(column) + 1, name, pd.Series(named))
    return rows.assign(label=labels)


def _codes(
    numbers: NDArray[np.int64], names: Sequence[str], code_by_name: Mapping[str, int]
) -> NDArray[np.int32]:
    """Codes of the names that numbers have; -1 for a number without a name and a name without a code."""
    codes = np.array([*(code_by_name.get(name, -1) for name in names), -1], dtype=np.int32)
    return codes[np.where((numbers >= 0) & (numbers < len(names)), numbers, len(names))]


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


# Verdicts as a frame: one row per trial and requirement (pure).


def verdict_frame(trials: Sequence[Trial], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Verdicts by trial, then profile, then requirement, in their order. Numbers are in `unit`."""
    by_key = {trial.key: trial for trial in trials}
    rows = []
    for verdict in verdicts:
        entry = verdict_entry(verdict, next_steps(by_key[verdict.trial], verdict))
        steps = "; ".join(map(_step_text, entry.next_steps))
        rows.append(_identity(by_key[verdict.trial]) | vars(entry) | {"next_steps": steps})
    names = ("target", "variant", "profile", "requirement", "metric", "statistic", "unit", "basis")
    frame = rows_frame(rows, {**IDENTITY, **dtypes_of(VerdictEntry)}, *names)
    frame["verdict"] = pd.Categorical(frame["verdict"], categories=WORDS)
    return frame


def _step_text(step: NextStep) -> str:
    """Action as its options, or as its kind with the limit."""
    limit = "" if step.limit is None else " x ".join(f"{side:.6g}" for side in sides_of(step.limit))
    return " ".join(step.arguments) or (f"{step.kind} to {limit}" if limit else step.kind)


# Names as a user of Python gives them: one, or several.


def several(names: str | Iterable[str]) -> tuple[str, ...]:
    """One name, or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


Profiles = str | Path | Profile | Iterable[str | Path | Profile]
"""A shipped profile's name, the path of a profile's file, a Profile, or several of these."""


def named_profiles(profiles: Profiles) -> tuple[Profile, ...]:
    """Named profiles; UsageError for one that cannot be read."""
    return load_profiles([profiles] if isinstance(profiles, str | Path | Profile) else list(profiles))


def chosen_profiles(
    profiles: Profiles | None, of_run: Sequence[Profile], purpose: str
) -> tuple[Profile, ...]:
    """Named profiles, else those of the run; UsageError where one is missing or cannot be read."""
    chosen = tuple(of_run) if profiles is None else named_profiles(profiles)
    if not chosen:
        raise UsageError(
            f"there is no profile to {purpose}",
            why="the result was run without a profile and none is named",
            fix='name one, such as "disco-realtime"; `edgebench profiles list` names them',
        )
    return chosen


# `edgebench.boards`: numbers that makers declare of boards, with their sources, as a frame.


@dataclass(frozen=True)
class BoardRow:
    """Declared numbers of one board; null where no source gives one."""

    title: str
    """Name that its maker gives it. Source: boards.toml."""
    plugged_in: bool
    """True for a stick or card, whose host is a board of its own. Source: boards.toml."""
    mass_g: float | None
    """Mass, without case, cooler and power supply. Unit: g. Source: boards.toml."""
    mass_source: str | None
    """Source of the mass. Source: boards.toml."""
    size_mm: tuple[float, ...] | None
    """Outer dimensions: a tuple of three sides. Unit: mm. Source: boards.toml."""
    size_source: str | None
    """Source of the size. Source: boards.toml."""
    power_maximum_w: float | None
    """Most that it draws. Unit: W. Source: boards.toml."""
    power_maximum_source: str | None
    """Source of that power. Source: boards.toml."""
    power_typical_w: float | None
    """Power that it draws typically. Unit: W. Source: boards.toml."""
    power_typical_source: str | None
    """Source of that power. Source: boards.toml."""
    boot_s: float | None
    """Time from power on until a program can be started. Unit: s. Source: boards.toml."""
    boot_source: str | None
    """Source of that time. Source: boards.toml."""
    note: str
    """Remarks. Source: boards.toml."""


def boards() -> pd.DataFrame:
    """One row per board that `board=` and `--board` take, by its name: the index, which is called `board`.

    `edgebench.columns("boards")` describes the columns. Numbers that no source gives are NaN.
    """
    by_name = dict(sorted(known_boards().items()))
    frame = rows_frame([vars(_board_row(board)) for board in by_name.values()], dtypes_of(BoardRow))
    frame.index = pd.Index(list(by_name), dtype="str", name="board")
    return frame


def _board_row(board: Board) -> BoardRow:
    facts: dict[str, Any] = {}
    for name in ("mass_g", "size_mm", "boot_s"):
        stated = getattr(board, name)
        facts |= {name: stated and stated.value, f"{name.partition('_')[0]}_source": stated and stated.source}
    for kind in ("maximum", "typical"):
        power = next((power for power in board.power if power.kind == kind), None)
        facts |= {f"power_{kind}_w": power and power.watts, f"power_{kind}_source": power and power.source}
    return BoardRow(board.title, board.plugged_in, note=board.note, **facts)
