"""`results.plot`: a method a figure."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import accuracy_figures, figures


class Plots:
    """Figures of a result; each method returns the matplotlib axes that it has drawn on, one a target."""

    def __init__(self, summaries: Callable[[], Sequence[TrialSummary]]) -> None:
        self._summaries = summaries

    def latency(self) -> list[Axes]:
        """Latency against the depth multiplier, a series a precision, with 95 % intervals."""
        return _axes(figures.latency_by_depth(self._summaries(), {}))

    def accuracy(self) -> list[Axes]:
        """Accuracy against latency, each with its 95 % interval."""
        return _axes(accuracy_figures.accuracy_against_latency(self._summaries()))

    def stages(self) -> list[Axes]:
        """Where the time of a patch goes: a stacked bar a trial, in milliseconds."""
        return _axes(figures.stages(self._summaries()))


def _axes(figure: Figure) -> list[Axes]:
    """Those of a figure that pyplot shows, as it shows its own."""
    from matplotlib import pyplot

    # matplotlib before 3.11 takes no figure that it has not made; `axes.figure` shows it then.
    with contextlib.suppress(ValueError):
        pyplot.figure(figure)
    return list(figure.axes)
