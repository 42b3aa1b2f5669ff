"""Catalogue of metrics. Each file of this folder declares its own in `METRICS`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from edgebench.judge.metric import Metric, Table
from edgebench.suggest import choose

_FIRST = ("times", "accuracy", "power", "board", "schedule", "sharing")
"""Files whose metrics come first in tables; the others follow by name."""


def catalogue() -> dict[str, Metric]:
    """Metrics of all files of this folder by name, in the order of tables."""
    modules = {module.name for module in iter_modules(__path__)}
    files = [name for name in _FIRST if name in modules] + sorted(modules - set(_FIRST))
    return {metric.name: metric for file in files for metric in import_module(f"{__name__}.{file}").METRICS}


METRICS = catalogue()
"""Every metric by name."""


def required_metrics() -> dict[str, Metric]:
    """Metrics that a requirement may ask for, by name."""
    return {name: metric for name, metric in METRICS.items() if metric.required}


def compared_metrics() -> dict[str, Metric]:
    """Metrics by which two results are compared, by name."""
    return {name: metric for name, metric in METRICS.items() if metric.compared}


def metrics_in(table: Table) -> list[Metric]:
    """Metrics with a column in a table of the report, in its order."""
    return [metric for metric in METRICS.values() if table in metric.tables]


def choose_metric(text: object, choices: Mapping[str, Metric]) -> str:
    """Fix for an unknown metric: one whose label has the text (`latency`: image_s), else the nearest."""
    labelled = [name for name, metric in choices.items() if str(text).lower() in metric.words.lower()]
    if labelled and text:
        return f"did you mean {' or '.join(map(repr, labelled[:2]))}?"
    return choose(text, choices)
