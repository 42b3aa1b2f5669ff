"""What every column of every frame holds: from the schemas where these describe them, else here, each once.

A name in angle brackets is a pattern: `<stage>_ms` for patchify_ms and the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import pandas as pd

from edgebench.analysis.frames import CONTEXT, FIGURES, WORKER_KINDS
from edgebench.errors import UsageError
from edgebench.judge.columns import trial_columns
from edgebench.judge.comparison import Difference, MetricComparison
from edgebench.judge.metrics import METRICS
from edgebench.judge.mission import Mission
from edgebench.judge.pairing import ComparedTrial, Unpaired
from edgebench.judge.trial_summary import Accuracy, PowerFigure, Published, Sharing, Verdict, WorkerSummary
from edgebench.records.described import Described, texts_of
from edgebench.records.stored import SessionRecord, TrialRecord
from edgebench.records.target import Target
from edgebench.report.missions import FIGURES as MISSION_FIGURES
from edgebench.report.schemas import schema
from edgebench.results.frames import PARTS, part_kinds
from edgebench.suggest import choose, short

Columns = Mapping[str, Described]
"""Name of a column -> what it holds, in the order of the frame."""

_TRIAL = Described("Key of the trial.", "experiment.json")
_SESSION = Described("Number of the session within its trial.", "session.json")
_ENDS = {"_low": "Lower end of its 95 % interval over sessions.", "_high": "Upper end of it."}


def columns(frame: str = "") -> pd.DataFrame:
    """What every column holds: one row a column; frame, column, unit, meaning, source.

    A name in angle brackets is a pattern: `<stage>_ms` for patchify_ms, infer_ms and the rest.

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
    described = _MAKERS[frame]() if frame in _MAKERS else _of_table(frame)
    # What is null in a document is missing in a frame.
    return {
        name: replace(column, text=re.sub(r"\bnull\b", "missing", column.text))
        for name, column in described.items()
    }


def _of_table(name: str) -> Columns:
    """Those of a Parquet file, from its schema, and those that loading adds."""
    table = schema("tables")["tables"][name]
    kinds = ("columns", "stage_columns", "paced_columns")
    stored = {
        column: Described(text["description"], f"{name}.parquet", text["unit"] or "")
        for kind in kinds
        for column, text in table.get(kind, {}).items()
    }
    found = {"trial": _TRIAL, "session": _SESSION}
    found |= {column: _CONTEXT[column] for column in CONTEXT[name] if column in _CONTEXT} | stored
    if name != "predictions":
        return found
    found["label"] = replace(found["label"], text="Its class of the model; -1 without one, or if unknown.")
    found["image"] = Described(
        "Path of the image, as its folder or CSV file names it; missing of patches of the scene, and of "
        "images that were no files.",
        "images.json",
    )
    for name, of in (("label_name", "label's"), ("predicted_name", "predicted")):
        text = f"Name of the {of} class; missing where it is unknown."
        found[name] = Described(text, "experiment.json")
    order = (
        "trial", "session", "status", "worker", "set", "index", "image", "label", "label_name", "predicted",
        "predicted_name",
    )  # fmt: skip
    return {**{column: found[column] for column in order}, **found}


_NAMED = {
    "target": Described("Its target.", "plan"),
    "variant": Described("Its variant.", "plan"),
    "batch": Described("Patches in one call of the runtime.", "plan"),
    "concurrency": Described("Inferences that the device has in flight.", "experiment.json"),
    "settings": Described(
        "Settings in which its target differs from the others of its sweep: `threads=2`; empty without.",
        "plan",
    ),
}
_CONTEXT = {
    "status": Described("How the session ended: figures are made of those that are ok.", "session.json"),
    "scenes": Described("Scenes in it, by its patches: a warm-up may hold several.", "passes.parquet"),
    "emulated": Described("Whether it was emulated: its stamps are no device's time.", "session.json"),
}
_SIDES = {"a": "the baseline's trial", "b": "the other result's trial"}


def _of_mission() -> Columns:
    described = {"trial": _TRIAL, **_NAMED}
    described |= _from(Mission, "profile", "mark", "load", "overloaded", "cycles")
    figures = {figure.name: figure for figure in MISSION_FIGURES}
    for column, name in FIGURES.items():
        figure = figures[name]
        for end, meaning in {"": f"{figure.text}.", **_ENDS}.items():
            described[f"{column}{end}"] = Described(meaning, "mission", figure.base_unit)
    described["reasons"] = Described("Why figures are missing: a dict, by the column's name.", "mission")
    return described


def _of_workers() -> Columns:
    texts = {**_NAMED, **texts_of(WorkerSummary), "share": texts_of(Sharing)["share"]}
    of_accuracy = texts_of(Accuracy)
    right = "Share of the labelled images that its own artifact gets right."
    texts["accuracy"] = Described(right, "predictions.parquet")
    for name in ("low", "high", "n"):
        texts[f"accuracy_{name}"] = of_accuracy[name]
    for name in WORKER_KINDS:
        figure, _, end = name.rpartition("_")
        if name not in texts:
            texts[name] = Described(_ENDS[f"_{end}"], "passes.parquet", texts[figure].unit)
    return {name: texts[name] for name in WORKER_KINDS}


_PUBLISHED = {
    "target": "Name of the published target.", "device": "What it is.", "variant": "Its variant.",
    "depth_multiplier": "Width of the network; missing for a model of one width.",
    "precision": "fp32, fp16 or int8.", "batch": "Patches in one call of the runtime.",
    "concurrency": "Inferences in flight.", "quantity": "", "form": "number, share, bound, or picture, which "
    "gives no number.", "value": "", "low": "", "high": "", "unit": "Base unit of the quantity.",
    "bound": "", "k": "", "n": "", "patches": "Patches of the published time; a time is scaled "
    "up to the scene's 400.", "words": "", "covers": "", "source": "", "address": "Where the source is.",
}  # fmt: skip
"""Columns of `edgebench.published().figures`; empty where the schema says it."""


_RESULT = Described("Name of the result that is compared with the baseline.", "command line")
_BOARD = {
    "title": ("What its maker calls it.", ""),
    "plugged_in": ("Whether it is a stick or card, whose host is a board of its own.", ""),
    "mass_g": ("Mass, without case, cooler and power supply.", "g"),
    "size_mm": ("Outer dimensions: a tuple of three sides, None where no source gives them.", "mm"),
    "power_maximum_w": ("The most that it draws.", "W"),
    "power_typical_w": ("What it draws typically.", "W"),
    "boot_s": ("Time from power on until a program can be started.", "s"),
    "<figure>_source": ("Where that figure is from.", ""),
    "note": ("What else is to be known.", ""),
}
_MAKERS: Mapping[str, Callable[[], Columns]] = {
    "trials": lambda: {
        **_from(TrialRecord, "key", "target"),
        **_from(Target, "device"),
        **_from(TrialRecord, "variant", "depth_multiplier", "precision", "batch"),
        **{name: _NAMED[name] for name in ("concurrency", "settings")},
        "status": Described("How far it came: done, partial, failed, unsupported or not_run.", "sessions"),
        "reason": Described("What is missing of it, and why; empty where it is done.", "sessions"),
        "emulated": _CONTEXT["emulated"],
        **_from(TrialRecord, "artifact_bytes", "artifact_sha256"),
        "sessions_ok": Described("Sessions that ended well.", "sessions"),
        "sessions_failed": Described(
            "Sessions that failed: all that neither ended well nor were interrupted.", "sessions"
        ),
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
    # Those of a table of no trials, then one for each kind of those that stages and settings add.
    "summaries": lambda: {
        **{
            column.heading: Described(column.text, column.source, column.unit) for column in trial_columns([])
        },
        "<stage>_ms": _metric("stages_ms"),
        "declared_<kind>_w": _metric("declared_power"),
        "declared_<kind>_source": Described("Where that figure is from.", METRICS["declared_power"].source),
        "setting:<name>": Described("A setting in which targets of a sweep differ.", "experiment.json"),
        "rail:<meter>:<channel>:<figure>": Described(
            "A figure of a meter and rail that is not the primary one, called as in `rails`.", "sessions"
        ),
        **{
            "published:<quantity>" + ("" if part == "value" else f":{part}"): text
            for part, text in texts_of(Published).items()
            if part != "quantity"
        },
    },
    "reasons": lambda: {
        "trial": _TRIAL,
        "column": Described("Column of `summaries` that has no figure of it.", "fit"),
        "reason": Described("Why.", "fit"),
    },
    "verdicts": lambda: {
        **_from(Verdict, "trial"),
        **_NAMED,
        **_from(Verdict),
        "limit_sides": Described("Limit of a size: three sides in unit, None for all else.", "profile"),
        "value_sides": Described("Size that was judged: three sides, None for all else.", "trial"),
        "settled_by": Described(
            "What would make an open verdict a pass or a fail, such as an option of a further run; empty "
            "where it is one, and where nothing is known to.",
            "fit",
        ),
    },
    "mission": _of_mission,
    "rails": lambda: {
        "trial": _TRIAL,
        **_NAMED,
        "mark": Described("A mark for all its figures, such as `on the CPU`.", "fit"),
        "sessions": Described("Sessions whose windows the meter saw.", "sessions"),
        **{name: text for name, text in _from(PowerFigure).items() if not name.endswith("_sessions")},
    },
    "workers": _of_workers,
    "published": lambda: {
        name: Described(text, "results/reference") if text else texts_of(Published)[name]
        for name, text in _PUBLISHED.items()
    },
    "boards": lambda: {
        name: Described(text, "edgebench/boards.toml", unit) for name, (text, unit) in _BOARD.items()
    },
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
        "of": Described("Which of the two has it: baseline or result.", "fit"),
        "trial": _TRIAL,
        **_from(Unpaired, "target", "variant", "reason"),
    },
}
FRAMES = (
    "trials", "sessions", "passes", "batches", "windows", "probes", "predictions", "summaries", "reasons",
    "verdicts", "mission", "rails", "workers", "published", "boards", "comparison", "differences", "unpaired",
)  # fmt: skip
"""Those of `Results`, then those of `edgebench.published`, `boards` and `compare`."""


def _from(type_: type, *names: str) -> dict[str, Described]:
    """Fields of a class with their texts, by default all."""
    texts = texts_of(type_)
    return {name: texts[name] for name in names or texts}


def _metric(name: str) -> Described:
    metric = METRICS[name]
    return Described(metric.sentence, metric.source, metric.unit)
