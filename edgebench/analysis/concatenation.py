"""`edgebench.concat`: the frames of several results as one, by result and trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter, methodcaller
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from edgebench.analysis.frames import Profiles, several, stacked
from edgebench.analysis.plots import Names, TrialPlots
from edgebench.analysis.results import Results, headline, loaded, trial_table
from edgebench.errors import UsageError
from edgebench.judge.comparisons.history import history
from edgebench.judge.trial import Trial
from edgebench.report import words
from edgebench.report.plots.history import history as draw_history
from edgebench.report.plots.panels import Place
from edgebench.results.listing import StoredResult, created_s


class PlotsOfSeveral(TrialPlots):
    """The figures of several results: each target under the name of its result; `history` of them in time.

    Arguments of all methods: `target`, `variant` and `ax`, as in `TrialPlots`.
    """

    def __init__(self, results: Sequence[Results], trials: Callable[[], Sequence[Trial]]) -> None:
        super().__init__(trials, tuple)
        self._results = results

    def history(
        self, metric: str | None = None, *, target: Names = (), variant: Names = (), ax: Place = None
    ) -> list[Axes]:
        """A metric from result to result in order of time, changes of its level marked: a panel a trial.

        Trials are followed by target, variant, batch and settings, targets by the names that they have in
        their results. `metric` is image_s without it, or infer_s of what has no image_s. UsageError for one
        that is not followed, and where no trial has it.
        """
        targets, variants = several(target), several(variant)
        stored = [StoredResult(each.path, created_s(each.experiment)) for each in self._results]
        series = history(
            sorted(stored, key=lambda result: result.begun_s, reverse=True),
            metric=metric,
            wanted=lambda trial: (
                (not targets or trial.target in targets) and (not variants or trial.variant in variants)
            ),
        )
        if not series:
            raise UsageError("no result has a trial with that metric, target and variant")
        return draw_history(series, ax=ax)


class _Stacked(cached_property[pd.DataFrame]):
    """The frame of the same name of all results, made when it is first asked for."""

    def __init__(self, text: str) -> None:
        super().__init__(lambda several: several._stacked(attrgetter(str(self.attrname))))
        self.__doc__ = text


class ConcatenatedResults:
    """Several results as one: the frames of `Results`, each with the index (result, trial).

    Nothing is pooled: a trial that two results hold has a row of each. Frames are joined on both levels of
    the index; a join on `trial` alone raises ValueError.

    Attributes:
        results: the results by their names, as the index has them.
    """

    def __init__(self, results: Mapping[str, Results]) -> None:
        self.results = dict(results)

    trials = _Stacked("One row a planned trial, as `Results.trials`.")
    sessions = _Stacked("One row a session, as `Results.sessions`.")
    passes = _Stacked("One row a pass, as `Results.passes`.")
    batches = _Stacked("One row a batch, as `Results.batches`.")
    windows = _Stacked("One row a window, as `Results.windows`.")
    probes = _Stacked("One row a sample and channel, as `Results.probes`.")
    predictions = _Stacked("One row a patch and set, as `Results.predictions`.")

    def estimates(self) -> pd.DataFrame:
        """Table of `Results.estimates`: one row per estimate."""
        return self._stacked(methodcaller("estimates"))

    def summaries(self) -> pd.DataFrame:
        """Table of `Results.summaries`: one row per trial, by its key, which two results may share."""
        return self._stacked(methodcaller("summaries"))

    def classes(self) -> pd.DataFrame:
        """Table of `Results.classes`: one row per trial and class."""
        return self._stacked(methodcaller("classes"))

    def rails(self) -> pd.DataFrame:
        """Table of `Results.rails`: one row per trial and rail of a meter."""
        return self._stacked(methodcaller("rails"))

    def workers(self) -> pd.DataFrame:
        """Table of `Results.workers`: one row per trial and worker, of devices that several share."""
        return self._stacked(methodcaller("workers"))

    def verdicts(self, profiles: Profiles | None = None) -> pd.DataFrame:
        """Table of `Results.verdicts`; without `profiles` each result by those of its own run."""
        return self._stacked(lambda results: results.verdicts(profiles))

    def mission(
        self, profile: Profiles | None = None, *, days: float = 1000.0, seed: int = 0
    ) -> pd.DataFrame:
        """Table of `Results.mission`; without `profile` each result by those of its own run."""
        return self._stacked(lambda results: results.mission(profile, days=days, seed=seed))

    @property
    def plot(self) -> PlotsOfSeveral:
        """Figures of all results, each target under the name of its result; `plot.history()` in time."""
        return PlotsOfSeveral(list(self.results.values()), self._all_trials)

    def _stacked(self, frame_of: Callable[[Results], pd.DataFrame]) -> pd.DataFrame:
        return stacked({name: frame_of(results) for name, results in self.results.items()})

    def _all_trials(self) -> list[Trial]:
        """Trials of all results, with keys and targets that no two results share."""
        return [
            replace(trial, key=f"{place}/{trial.key}", target=f"{name}: {trial.target}")
            for place, (name, results) in enumerate(self.results.items())
            for trial in results.trial_list()
        ]

    def __repr__(self) -> str:
        lines = [
            f"  {words.plain(name)} = {headline(results.experiment)}"
            for name, results in self.results.items()
        ]
        return "\n".join([f"ConcatenatedResults of {len(self.results)}:", *lines])

    def _repr_html_(self) -> str:
        """One row a trial, for notebooks."""
        return trial_table(", ".join(self.results), self._all_trials(), [])


def concat(
    results: Iterable[Results | str | Path] | Mapping[str, Results | str | Path],
) -> ConcatenatedResults:
    """Several results as one, whose frames have the index (result, trial).

    Args:
        results: what `load` gave or takes. By name in a mapping; else each is called as its folder is, and of
            those that are called alike the second `NAME (2)`.

    Raises:
        UsageError: no results are given.
        StoredResultError: as `load`.
    """
    if isinstance(results, Mapping):
        named = {name: loaded(entry) for name, entry in results.items()}
    else:
        if isinstance(results, str | Path | Results):
            results = [results]
        named = {}
        for entry in map(loaded, results):
            named[words.unused(entry.path.resolve().name, named)] = entry
    if not named:
        raise UsageError("there are no results to put together", fix="name one at least: concat([a, b])")
    return ConcatenatedResults(named)
