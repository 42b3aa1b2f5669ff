"""Descriptions of every column of every frame: from the schemas where these have them, else here, once each.

A name in angle brackets is a pattern: `<metric>_low` for image_s_low and the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial

import pandas as pd

from edgebench.analysis.frames import CONTEXT, BoardRow, ClassRow
from edgebench.analysis.published import PublishedRow
from edgebench.errors import UsageError
from edgebench.judge.comparisons.comparison import Difference, MetricComparison
from edgebench.judge.comparisons.pairing import ComparedTrial
from edgebench.judge.document import VerdictEntry
from edgebench.judge.metrics import METRICS
from edgebench.judge.mission import Mission
from edgebench.judge.table import EstimateRow
from edgebench.judge.trial import Rail, SceneOfTrial, Trial, Worker
from edgebench.records.described import Described, texts_of
from edgebench.records.stored import SessionRecord, TrialRecord
from edgebench.records.target import Target
from edgebench.report.missions import FIGURES as MISSION_FIGURES
from edgebench.report.schemas import schema
from edgebench.results.frames import PARTS, part_kinds
from edgebench.results.parquet import TABLE_COLUMNS
from edgebench.suggest import choose, short

Columns = Mapping[str, Described]
"""Name of a column -> what it holds, in the order of the frame."""

_TRIAL = Described("Key of the trial.", "experiment.json")
_SESSION = Described("Number of the session within its trial.", "session.json")
_ENDS = {"_low": "Lower end of its 95 % interval over sessions.", "_high": "Upper end of it."}


def columns(frame: str = "") -> pd.DataFrame:
    """Descriptions of columns, one row each: frame, column, unit, meaning, source.

    A name in angle brackets is a pattern: `<metric>_low` for image_s_low and the rest.

    Args:
        frame: of that frame of `Results` alone, such as "passes" or "summaries"; all without it.

    Raises:
        UsageError: there is no such frame.
    """
    if frame and frame not in FRAMES:
        raise UsageError(f"there is no frame {short(frame)}", fix=choose(frame, FRAMES))
    rows = [
        (name, column, text.unit, text.text, text.source)
        for name in ([frame] if frame else FRAMES)
        for column, text in columns_of(name).items()
    ]
    return pd.DataFrame(rows, columns=["frame", "column", "unit", "meaning", "source"], dtype="str")


@cache
def columns_of(frame: str) -> Columns:
    """The columns of one of FRAMES."""
    # What is null in a document is missing in a frame.
    return {
        name: replace(column, text=re.sub(r"\bnull\b", "missing", column.text))
        for name, column in _MAKERS[frame]().items()
    }


def _of_table(name: str) -> Columns:
    """Columns of a Parquet file, from its schema, and columns that loading adds."""
    table = schema("tables")["tables"][name]
    kinds = ("columns", "stage_columns", "paced_columns")
    stored = {
        column: Described(text["description"], f"{name}.parquet", text["unit"] or "")
        for kind in kinds
        for column, text in table.get(kind, {}).items()
    }
    described = {"trial": _TRIAL, "session": _SESSION}
    described |= {column: _CONTEXT[column] for column in CONTEXT[name] if column in _CONTEXT} | stored
    if name != "predictions":
        return described
    return {
        **{column: described[column] for column in ("trial", "session", "status", "worker", "set", "index")},
        "image": Described(
            "Path of the image, as its folder or CSV file names it; missing of patches of the scene, and of "
            "images that were no files.",
            "images.json",
        ),
        "label": replace(described["label"], text="Its class of the model; -1 without one, or if unknown."),
        "label_name": Described("Name of the label's class; missing where it is unknown.", "experiment.json"),
        "predicted": described.pop("predicted"),
        "predicted_name": Described("Name of the predicted class; missing if unknown.", "experiment.json"),
        **{name: text for name, text in described.items() if name != "label"},
    }


_NAMED = {
    **{name: texts_of(Trial)[name] for name in ("target", "variant", "batch", "concurrency")},
    "settings": Described(
        "Settings in which its target differs from the others of its sweep: `threads=2`; empty without.",
        "plan",
    ),
}
_IDENTITY = {"trial": _TRIAL, **_NAMED}
_CONTEXT = {
    "status": Described("How the session ended: estimates are made of those that are ok.", "session.json"),
    "scenes": Described("Scenes in it, by its patches: a warm-up may hold several.", "passes.parquet"),
    "emulated": Described("Whether it was emulated: its stamps are no device's time.", "session.json"),
}
_SIDES = {"a": "the baseline's trial", "b": "the other result's trial"}


def _of_mission() -> Columns:
    described = {**_IDENTITY, **_from(Mission)}
    for metric in MISSION_FIGURES:
        for end, meaning in {"": f"{metric.text}.", **_ENDS}.items():
            described[f"{metric.column}{end}"] = Described(meaning, "mission", metric.base_unit)
    described["reasons"] = Described("Why numbers are missing: a dict, by the column's name.", "mission")
    return described


_ENDS_OF_METRICS = {
    "<metric>_low": Described("Lower end of its 95 % interval; left out where all values are exact.", "fit"),
    "<metric>_high": Described("Upper end of it.", "fit"),
}
_METRICS_OF_PART = {
    "<metric>": Described("Estimate of a metric, which `summaries` describes, in its base unit.", "fit"),
    **_ENDS_OF_METRICS,
}


def _of_summaries() -> Columns:
    return {
        **_NAMED,
        **_from(Trial, "depth_multiplier", "precision"),
        "setting:<name>": Described("Setting in which targets of a sweep differ.", "experiment.json"),
        **_from(Trial, "status", "reason"),
        "scene": texts_of(SceneOfTrial)["text"],
        **_from(Trial, "marks"),
        **{
            name: Described(metric.sentence, metric.source, "" if metric.unit == "1" else metric.unit)
            for name, metric in METRICS.items()
            if not {"schedule", "uplink_bps"} & {*metric.conditions}  # of a profile alone
        },
        "<metric>_<part>": Described(
            "Another statistic of a metric, a stage of an image, a side of a size, or a kind of declared "
            "power, in the unit of the metric.",
            "fit",
        ),
        **_ENDS_OF_METRICS,
        **_from(Trial, "failures"),
        "warnings": Described("Warnings, one sentence each.", "sessions"),
    }


_RESULT = Described("Name of the result that is compared with the baseline.", "command line")
_MAKERS: Mapping[str, Callable[[], Columns]] = {
    "trials": lambda: {
        **_from(TrialRecord, "key", "target"),
        **_from(Target, "device"),
        **_from(TrialRecord, "variant", "depth_multiplier", "precision", "batch"),
        **{name: _NAMED[name] for name in ("concurrency", "settings")},
        **_from(Trial, "status", "reason"),
        "emulated": _CONTEXT["emulated"],
        **_from(TrialRecord, "artifact_bytes", "artifact_sha256"),
        "sessions_ok": Described("Sessions that ended well.", "sessions"),
        "sessions_failed": Described("Sessions that neither ended well nor were interrupted.", "sessions"),
        "sessions_interrupted": Described("Sessions that were interrupted.", "sessions"),
    },
    "sessions": lambda: {
        "trial": _TRIAL,
        "session": _SESSION,
        **_from(SessionRecord, "round", "status", "started_utc", "duration_s", "harness_s"),
        # Those of the parts that have a type in the frame.
        **{
            f"{part}_{name}": text
            for part, of_type in PARTS.items()
            for name, text in _from(of_type).items()
            if f"{part}_{name}" in part_kinds()
        },
    },
    **{name: partial(_of_table, name) for name in TABLE_COLUMNS},
    "estimates": lambda: _from(EstimateRow),
    "summaries": _of_summaries,
    "verdicts": lambda: {
        **_IDENTITY,
        **_from(VerdictEntry),
        "next_steps": Described(
            "Actions that would settle or change the verdict, by `;`; `relax to` has a limit.",
            "fit",
        ),
    },
    "classes": lambda: {name.rstrip("_"): text for name, text in _from(ClassRow).items()},
    "mission": _of_mission,
    "rails": lambda: {**_IDENTITY, **_from(Trial, "marks"), **_from(Rail), **_METRICS_OF_PART},
    "workers": lambda: {**_IDENTITY, **_from(Trial, "marks"), **_from(Worker), **_METRICS_OF_PART},
    "published": lambda: _from(PublishedRow),
    "boards": lambda: _from(BoardRow),
    "comparison": lambda: {
        "baseline": Described("Name of the baseline, A.", "command line"),
        "result": Described("Name of the result that is compared with it, B.", "command line"),
        **{f"target_{side}": Described(f"Target of {of}.", "plan") for side, of in _SIDES.items()},
        **_from(ComparedTrial, "variant", "batch", "concurrency"),
        **{f"trial_{side}": Described(f"Key of {of}.", "plan") for side, of in _SIDES.items()},
        **_from(MetricComparison),
    },
    "differences": lambda: {
        "result": _RESULT,
        **_from(Difference),
    },
    "unpaired": lambda: {
        "result": _RESULT,
        "side": Described("Side that has it: baseline or result.", "fit"),
        "trial": _TRIAL,
        **_from(ComparedTrial, "target", "variant", "reason"),
    },
}
FRAMES = tuple(_MAKERS)
"""Frames of `Results`, then those of `edgebench.published`, `boards` and `compare`."""


def _from(type_: type, *names: str) -> dict[str, Described]:
    """Fields of a class with their texts, by default all."""
    texts = texts_of(type_)
    return {name: texts[name] for name in names or texts}
