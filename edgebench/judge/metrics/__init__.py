"""The catalogue of metrics: the quantities of a trial, each metric described once.

Requirements, the CSV's columns, the tables, the `--json` document with its reasons and the schemas'
descriptions iterate over it. Each file of this folder has its metrics in `METRICS`; a new metric is a file of
its own, or one entry in a file that is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from edgebench.judge.metric import Metric, Shown
from edgebench.suggest import choose

if TYPE_CHECKING:
    from edgebench.judge.trial_summary import TrialSummary

_FIRST = ("times", "accuracy", "power", "board", "schedule", "sharing")
"""The files whose columns come first, in this order; the others follow by name."""


def catalogue() -> dict[str, Metric]:
    """The metrics of all files of this folder by name, in the order of the CSV's columns."""
    files = dict.fromkeys((*_FIRST, *(module.name for module in iter_modules(__path__))))
    return {metric.name: metric for file in files for metric in import_module(f"{__name__}.{file}").METRICS}


METRICS = catalogue()
"""Every metric by name."""


def required_metrics() -> dict[str, Metric]:
    """Those that a requirement may be about, by name."""
    return {name: metric for name, metric in METRICS.items() if metric.statistics}


def compared_metrics() -> dict[str, Metric]:
    """Those by which two results are compared, by name."""
    return {name: metric for name, metric in METRICS.items() if metric.comparison is not None}


def choose_metric(text: object, known: Mapping[str, Metric]) -> str:
    """Fix for an unknown metric: those whose label has the text (`latency`: image_s), else the nearest."""
    labelled = [name for name, metric in known.items() if str(text).lower() in metric.words.lower()]
    if labelled and text:
        return f"did you mean {' or '.join(map(repr, labelled[:2]))}?"
    return choose(text, known)


def shown_in(table: str, trials: Sequence[TrialSummary] = ()) -> list[tuple[Metric, Shown]]:
    """The columns of a table of the report on these trials, or its tables of their own."""
    return [
        (metric, replace(shown, heading=shown.heading.replace("{label}", metric.titled)))
        for metric in METRICS.values()
        for shown in metric.shown
        if shown.table == table
        and not (shown.where_present and all(metric.value(trial) is None for trial in trials))
    ]
