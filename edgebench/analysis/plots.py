"""`results.plot`: a method a figure, each drawn as in the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from edgebench.analysis.frames import Profiles, chosen_profiles, several
from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.judged import run_profiles, schedule_of
from edgebench.judge.mission import DAY_S, cycle_of, mission_of
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Trial
from edgebench.judge.verdicts.verdict import judge_all
from edgebench.report import tables, words
from edgebench.report.plots.accuracy import accuracy, energy
from edgebench.report.plots.latency import By, latency, limits_of, stages, targets
from edgebench.report.plots.panels import Place
from edgebench.report.plots.power import drawn_traces, power_limits, power_over_time
from edgebench.report.plots.scene import scene, scene_predictions
from edgebench.report.plots.sessions import mission, sessions, sustained
from edgebench.results.load import StoredResults
from edgebench.suggest import choose, short

Names = str | Iterable[str]
"""One name, or several; none means all."""


class TrialPlots:
    """Figures of trials; `dir` lists them. Each method returns the matplotlib axes that it has drawn on.

    Arguments of all methods:
        target, variant: which trials are drawn; names of targets and variants, one or several. All without.
        ax: where to draw: axes, a list of them where the figure has several panels, or a figure. Without it a
            figure of pyplot's is made, which a notebook shows.

    Figures with a panel a target draw the first six targets: name others by `target`.

    UsageError for a name that no trial has. What has no figure to draw says so in the axes.
    """

    def __init__(
        self, trials: Callable[[], Sequence[Trial]], profiles: Callable[[], Sequence[Profile]]
    ) -> None:
        self._all_trials = trials
        self._run_profiles = profiles

    def latency(
        self,
        *,
        target: Names = (),
        variant: Names = (),
        profile: Profiles | None = None,
        by: By | None = None,
        ax: Place = None,
    ) -> list[Axes]:
        """Median latency in s with 95 % intervals over sessions: a panel a target, a series a precision.

        It is image_s, or infer_s where no trial has that. Lines are what profiles allow, by default those of
        the run. `by` is "depth" or "model"; depth multipliers where all trials are of one family.
        """
        trials = self._trials(target, variant)
        return latency(trials, self._latency_limits(trials, profile), by=by, ax=ax)

    def accuracy(self, *, target: Names = (), variant: Names = (), ax: Place = None) -> list[Axes]:
        """Accuracy against latency in s, each with its 95 % interval: a panel a target."""
        return accuracy(self._trials(target, variant), ax=ax)

    def stages(self, *, target: Names = (), variant: Names = (), ax: Place = None) -> list[Axes]:
        """Stages of a patch in ms: a stacked bar per trial, a panel per target."""
        return stages(self._trials(target, variant), ax=ax)

    def energy(self, *, target: Names = (), variant: Names = (), ax: Place = None) -> list[Axes]:
        """Accuracy against energy an image in J, each with its 95 % interval: a panel a meter's scope."""
        return energy(self._trials(target, variant), ax=ax)

    def targets(
        self,
        *,
        target: Names = (),
        variant: Names = (),
        profile: Profiles | None = None,
        ax: Axes | FigureBase | None = None,
    ) -> Axes:
        """All targets on one axis: median latency in s of each trial, and its ratio to the quickest with the
        same scene.

        Intervals are 95 %, over sessions. Lines are what profiles allow, by default those of the run.
        """
        trials = self._trials(target, variant)
        return targets(trials, self._latency_limits(trials, profile), ax=ax)

    def sessions(self, *, target: Names = (), variant: Names = (), ax: Place = None) -> list[Axes]:
        """Every pass in time order, in % of the trial's median, with minimum, median and p90 of a session."""
        return sessions(self._trials(target, variant), ax=ax)

    def sustained(self, *, target: Names = (), variant: Names = (), ax: Place = None) -> list[Axes]:
        """Median latency in s of each minute of sustained work: a line a trial, a panel a target."""
        return sustained(self._trials(target, variant), ax=ax)

    def mission(
        self,
        profile: Profiles | None = None,
        *,
        days: float = 100.0,
        seed: int = 0,
        target: Names = (),
        variant: Names = (),
        ax: Place = None,
    ) -> list[Axes]:
        """Images that wait over a cycle of a profile's schedule, at each trial's median latency.

        `profile`, `days` and `seed` are those of `Results.mission`.
        """
        trials = self._trials(target, variant)
        chosen = self._one_profile(profile)
        schedule = schedule_of(chosen)
        cycles = max(1, math.ceil(days * DAY_S / schedule.cycle_s))
        played = [
            mission_of(trial, chosen.name, schedule, cycles=cycles, seed=seed)
            for trial in trials
            if trial.latency is not None
        ]
        return mission(played, {trial.key: trial for trial in trials}, cycle_of(schedule), ax=ax)

    def _trials(self, target: Names, variant: Names) -> list[Trial]:
        trials = list(self._all_trials())
        for field, wanted in (("target", target), ("variant", variant)):
            names = several(wanted)
            values = dict.fromkeys(getattr(trial, field) for trial in trials)
            if unknown := [name for name in names if name not in values]:
                raise UsageError(
                    f"there is no {field} {short(unknown[0])} in the result", fix=choose(unknown[0], values)
                )
            trials = [trial for trial in trials if not names or getattr(trial, field) in names]
        return trials

    def _latency_limits(self, trials: Sequence[Trial], profile: Profiles | None) -> dict[str, float]:
        """Profile -> what it allows for the median of the time that is drawn, in s."""
        quantity = words.latency_names(words.alike_timed(trials))
        return limits_of(judge_all(trials, self._drawn_profiles(profile)), quantity)

    def _drawn_profiles(self, profile: Profiles | None) -> Sequence[Profile]:
        return self._run_profiles() if profile is None else chosen_profiles(profile, (), "draw")

    def _one_profile(self, profile: Profiles | None) -> Profile:
        chosen = chosen_profiles(profile, self._run_profiles(), "play")
        if len(chosen) > 1:
            raise UsageError(
                f"the figure is of one profile, and there are {len(chosen)}",
                fix=f"name one: {', '.join(each.name for each in chosen)}",
            )
        return chosen[0]


class Plots(TrialPlots):
    """The figures of one result: those of its trials, and those of what its sessions recorded.

    Arguments of all methods: `target`, `variant` and `ax`, as in `TrialPlots`.
    """

    def __init__(self, results: StoredResults, trials: Callable[[], Sequence[Trial]]) -> None:
        super().__init__(trials, lambda: run_profiles(results.experiment))
        self._results = results

    def power(
        self,
        *,
        target: Names = (),
        variant: Names = (),
        profile: Profiles | None = None,
        ax: Place = None,
    ) -> list[Axes]:
        """Power in W over the time of a session: a panel a trial, of its session in the middle by mean power.

        Lines are what profiles allow, by default those of the run.
        """
        trials = self._trials(target, variant)
        limits = power_limits(self._drawn_profiles(profile))
        return power_over_time(drawn_traces(self._results, trials), tables.trial_names(trials), limits, ax=ax)

    def scene(self, *, target: Names = (), variant: Names = (), ax: Axes | FigureBase | None = None) -> Axes:
        """The scene, each patch tinted by the class that the first of the trials predicted for it.

        It is what its first session predicted. Patches whose label says otherwise are crossed.
        StoredResultError where the picture was not kept or no trial predicted all of its patches.
        """
        trials = {trial.key: trial for trial in self._results.experiment.trials}
        predictions = scene_predictions(self._results)
        picture = self._results.scene_jpeg
        for key in (drawn.key for drawn in self._trials(target, variant)):
            if key in predictions and picture is not None:
                record = self._results.experiment.scene_of(trials[key])
                return scene(picture, record, predictions[key], trials[key].class_names, ax=ax)
        raise StoredResultError(
            "there is no picture of the scene",
            why="it was not kept with the result" if picture is None else "no trial predicted all patches",
            fix="measure with the shipped scene, or with --scene FILE",
        )
