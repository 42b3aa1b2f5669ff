"""`results.plot`: a method a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report.plots.accuracy import accuracy
from edgebench.report.plots.energy import energy
from edgebench.report.plots.idle_power import idle_power
from edgebench.report.plots.latency import latency
from edgebench.report.plots.panels import Place
from edgebench.report.plots.stages import stages
from edgebench.report.plots.sustained import sustained


class Plots:
    """Figures of a result; each method returns the matplotlib axes that it has drawn on, one a panel.

    `ax` is where to draw: a figure, axes or a list of them. Without it a figure of pyplot's is made, which a
    notebook shows once.
    """

    def __init__(self, summaries: Callable[[], Sequence[TrialSummary]]) -> None:
        self._summaries = summaries

    def latency(self, *, ax: Place = None) -> list[Axes]:
        """Latency by depth multiplier, or by model where they differ otherwise; 95 % intervals."""
        return latency(self._summaries(), ax=ax)

    def accuracy(self, *, ax: Place = None) -> list[Axes]:
        """Accuracy against latency, each with its 95 % interval."""
        return accuracy(self._summaries(), ax=ax)

    def stages(self, *, ax: Place = None) -> list[Axes]:
        """Where the time of a patch goes: a stacked bar a trial, in milliseconds."""
        return stages(self._summaries(), ax=ax)

    def energy(self, *, ax: Place = None) -> list[Axes]:
        """Accuracy against energy an image in J, each with its 95 % interval."""
        return energy(self._summaries(), ax=ax)

    def idle_power(self, *, ax: Place = None) -> list[Axes]:
        """Idle against active power in W: a pair of bars a trial."""
        return idle_power(self._summaries(), ax=ax)

    def sustained(self, *, ax: Place = None) -> list[Axes]:
        """The median latency of each minute of sustained sessions, in s."""
        return sustained(self._summaries(), ax=ax)
