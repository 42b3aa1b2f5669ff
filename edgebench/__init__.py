"""EdgeBench: which edge device, with which model, satisfies the requirements of this task?

    import edgebench

    results = edgebench.load("latest")      # or the path of a result folder
    results                                 # in a notebook: its trials as a table
    results.estimates()                     # one row per trial and metric: value, interval, unit, reason
    results.summaries()                     # the same as one row per trial
    results.verdicts("disco-realtime")      # one row per trial and requirement
    results.classes()                       # recall of each class, with its interval
    results.mission("disco-greenland")      # duty cycle, backlog, age of results, energy per cycle
    results.rails()                         # one row per trial and rail of a meter
    results.plot.latency()                  # matplotlib axes
    edgebench.compare("before", "after")    # better, worse, the same or undecided
    edgebench.concat(["before", "after"])   # several results as one
    edgebench.scan("results")               # all results of a folder, opened as a question needs them
    edgebench.published().figures           # what others published, with its sources
    edgebench.boards()                      # what makers declare of boards: mass, size, power
    edgebench.columns("summaries")          # meaning and unit of each column of a frame

Importing this package loads no runtime, starts no process and reads no device; what stands above is loaded
when it is first used. docs/python.md tells more, docs/columns.md has every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgebench.version import __version__

if TYPE_CHECKING:
    from edgebench.analysis.column_descriptions import columns
    from edgebench.analysis.comparison import Comparison, compare
    from edgebench.analysis.concatenation import concat
    from edgebench.analysis.frames import boards
    from edgebench.analysis.published import published
    from edgebench.analysis.results import Results, load
    from edgebench.analysis.scan import scan

_HOMES = {
    "Results": "results",
    "boards": "frames",
    "columns": "column_descriptions",
    "Comparison": "comparison",
    "compare": "comparison",
    "concat": "concatenation",
    "load": "results",
    "published": "published",
    "scan": "scan",
}
"""Public name -> the module of edgebench.analysis that has it."""

__all__ = [
    "Comparison",
    "Results",
    "__version__",
    "boards",
    "columns",
    "compare",
    "concat",
    "load",
    "published",
    "scan",
]


def __dir__() -> list[str]:
    """The public names, those that are loaded on first use among them."""
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """A public name on its first use, so that `import edgebench` stays light."""
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(f"edgebench.analysis.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'edgebench' has no attribute {name!r}")
