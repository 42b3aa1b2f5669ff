"""docs/columns.md: every column of every frame; `python -m tests.analysis.columns_page` renews it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

import edgebench
from edgebench.analysis.column_descriptions import FRAMES, columns_of
from edgebench.analysis.frames import wide_frame
from edgebench.judge.metrics import METRICS
from edgebench.judge.published import judge_published
from tests import synthetic_results

PAGE = Path(__file__).parents[2] / "docs" / "columns.md"
HEAD = """# Columns

Columns of all pandas frames, with type, unit and meaning. `edgebench.columns("summaries")` gives those of one
frame in Python.
`python -m tests.analysis.columns_page` makes this page.

A missing number is NaN (`<NA>` of Int64 and boolean), never 0; `reason` of `Results.estimates()` says why.
Times of samples (`*_ns`) are on the device's monotonic clock. Intervals are 95 %, over sessions unless
stated. A name in angle brackets means others: `<metric>_low` for image_s_low and the rest.

No two rows of a frame have the same key. Frames of `edgebench.concat` have the index (`result`, `trial`): of
which result a row is, then its trial. Their keys are those below with `result` in front. They are joined on
both levels: two results may hold the same trial.
"""
WHAT = {
    "trials": "One row a planned trial (`Results.trials`).",
    "sessions": "One row a session, failed ones too (`Results.sessions`).",
    "passes": "One row a pass of the scene (`Results.passes`).",
    "batches": "One row a batch, warm-up included (`Results.batches`).",
    "windows": "One row a window, of devices that give windows and no passes (`Results.windows`).",
    "probes": "One row a sample and channel of a meter or monitor (`Results.probes`).",
    "predictions": "One row a session, worker, set and patch or image (`Results.predictions`).",
    "estimates": "One row per estimate of a trial (`Results.estimates()`).",
    "summaries": "One row per trial, by its key (`Results.summaries()`); the columns of the CSV.",
    "classes": "One row per trial, labelled set and class (`Results.classes()`).",
    "verdicts": "One row a trial, profile and requirement (`Results.verdicts(profiles)`).",
    "mission": "One row a trial and profile (`Results.mission(profile)`).",
    "rails": "One row a trial and rail of a meter (`Results.rails()`).",
    "workers": "One row a trial and worker, of devices that several share (`Results.workers()`).",
    "published": "One row a published figure (`edgebench.published().figures`).",
    "boards": "One row a board, by its name (`edgebench.boards()`).",
    "comparison": "One row a pair of trials and metric (`edgebench.compare(a, b).table`).",
    "differences": "One row a fact in which two results differ (`edgebench.compare(a, b).differences`).",
    "unpaired": "One row a trial without a partner (`edgebench.compare(a, b).unpaired`).",
}


KEYS: dict[str, tuple[str, ...]] = {
    "trials": ("key",),
    "sessions": ("trial", "session"),
    "passes": ("trial", "session", "worker", "pass"),
    "batches": ("trial", "session", "worker", "pass", "batch"),
    "windows": ("trial", "session", "worker", "window"),
    "probes": ("trial", "session", "probe", "channel", "t_ns"),
    "predictions": ("trial", "session", "worker", "set", "index"),
    "estimates": ("trial", "metric", "statistic", "worker", "rail", "stage", "profile"),
    "summaries": ("trial",),
    "classes": ("trial", "worker", "set", "class"),
    "verdicts": ("trial", "profile", "requirement"),
    "mission": ("trial", "profile"),
    "rails": ("trial", "name"),
    "workers": ("trial", "number"),
    "boards": ("board",),
    "comparison": ("baseline", "result", "trial_a", "trial_b", "metric"),
    "unpaired": ("result", "side", "trial"),
}
"""By frame, the columns (or levels of the index) that no two of its rows share."""


def description_of(frame: str, column: str) -> str | None:
    """Under which name a column of a frame is described; None where nothing is said of it."""
    described = columns_of(frame)
    if column in described:
        return column
    fitting = [
        name
        for name in described
        if "<" in name and re.fullmatch("".join(map(_pattern, re.split("(<[^>]+>)", name))), column)
    ]
    # The one that leaves the least open.
    return max(fitting, key=lambda name: (-name.count("<"), -name.endswith(">"), len(name)), default=None)


def _pattern(part: str) -> str:
    if part == "<metric>":
        return f"(?:{'|'.join(METRICS)})(?:_.+)?"
    return ".+" if part.startswith("<") else re.escape(part)


def page(types: dict[tuple[str, str], str]) -> str:
    """The whole page; `types` as of `types_seen`."""
    return "\n".join([HEAD, *(_section(frame, types) for frame in FRAMES)])


def _section(frame: str, types: dict[tuple[str, str], str]) -> str:
    rows = [
        f"| `{name}` | {types.get((frame, name), 'float64')} | {text.unit} | {_cell(text.text)} |"
        for name, text in columns_of(frame).items()
    ]
    head = ["| column | type | unit | meaning |", "| --- | --- | --- | --- |"]
    key = f" Key: {', '.join(f'`{name}`' for name in KEYS[frame])}." if frame in KEYS else ""
    return "\n".join([f"## {frame}\n", f"{WHAT[frame]}{key}\n", *head, *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def types_seen(folder: Path) -> dict[tuple[str, str], str]:
    """By frame and described name, the type of the columns in real frames.

    KeyError for a column that nothing is said of, ValueError where one has several types.
    """
    types: dict[tuple[str, str], str] = {}
    for name, frame in frames(folder):
        for column in frame.columns:
            described = description_of(name, column)
            if described is None:
                raise KeyError(f"{name}.{column}")
            kind = _type(frame[column])
            if types.setdefault((name, described), kind) != kind:
                raise ValueError(f"{name}.{column} is {kind} and {types[name, described]}")
    return types


def _type(values: pd.Series) -> str:
    return "category" if isinstance(values.dtype, pd.CategoricalDtype) else str(values.dtype)


def frames(folder: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """Frames of made results, which together have every column that there is."""
    made = synthetic_results.made_experiment(
        folder, variants=synthetic_results.QUARTER[:1], power=True, size_mm=(1.0, 2.0, 3.0), sessions=2
    )
    first, *others = synthetic_results.QUARTER
    failing = synthetic_results.made_experiment(folder, name="failing", failed=[first], unsupported=others)
    paced = synthetic_results.made_experiment(folder, name="paced", variants=[first], period_s=1.0)
    shared = synthetic_results.made_experiment(
        folder, name="shared", variants=[first], together=[[first, first]], sessions=2
    )
    for path in (made, failing, paced):
        results = edgebench.load(path)
        for name in ("trials", "sessions", "passes", "batches", "windows", "probes", "predictions"):
            yield name, getattr(results, name)
        yield "estimates", results.estimates("disco-greenland")
        yield "summaries", results.summaries()
        yield "classes", results.classes()
        yield "rails", results.rails()
        yield "verdicts", results.verdicts("disco-realtime")
        if path == made:
            yield "mission", results.mission("disco-greenland", days=1)
            yield "summaries", results.summaries(declared_power="cpu=9:maximum:its label")
            [trial] = results.trial_list()
            yield "summaries", wide_frame([replace(trial, settings={"threads": 2})])
    yield "workers", edgebench.load(shared).workers()
    yield "summaries", wide_frame(judge_published([]).trials)
    yield "published", edgebench.published().figures
    yield "boards", edgebench.boards()
    compared = edgebench.compare(made, synthetic_results.made_experiment(folder, name="other"))
    yield "comparison", compared.table
    yield "differences", compared.differences
    yield "unpaired", compared.unpaired


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        PAGE.write_text(page(types_seen(Path(made))), encoding="utf-8")
