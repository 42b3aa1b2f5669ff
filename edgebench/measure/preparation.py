"""What preparation made of each trial: its artifact, or why it has none."""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.cache.objects import Cache
from edgebench.errors import EdgeBenchError, UnsupportedError, UsageError
from edgebench.plan.planner import Built
from edgebench.plan.run_settings import RunConfig
from edgebench.plan.trials import Plan, PlannedTrial
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.preparation import Prepared
from edgebench.vocabulary.values import Progress

PreparedTrials = Mapping[str, Prepared]
"""By trial key."""


def prepare_trials(built: Built, cache: Cache, progress: Progress) -> PreparedTrials:
    """Every target's artifacts, or why there are none; what cannot be made is said to `progress`.

    A target of which nothing can be prepared fails its own trials where there are others; alone its error
    is raised. UsageErrors are always raised.
    """
    prepared: dict[str, Prepared] = {}
    for target in built.targets:
        trials = [trial for trial in built.plan.trials if trial.target is target]
        try:
            requests = [trial.request for trial in trials]
            outcomes = built.backends[target.device].prepare(requests, cache, progress)
        except UsageError:
            raise
        except EdgeBenchError as error:
            if len(built.targets) == 1:
                raise
            outcomes = [error] * len(trials)
        prepared |= {trial.key: outcome for trial, outcome in zip(trials, outcomes, strict=True)}
        failures = {
            trial.variant.name: outcome
            for trial, outcome in zip(trials, outcomes, strict=True)
            if isinstance(outcome, EdgeBenchError) and not isinstance(outcome, UnsupportedError)
        }
        for variant, failure in failures.items():
            progress(f"{target.name} {variant} cannot be prepared: {reason_of(failure)}")
    return prepared


def require_any(plan: Plan, prepared: PreparedTrials) -> None:
    """The first reason, as an error, where there is nothing to measure: no folder is made.

    What a device does not take of the models that it is given by name is a result, and is recorded, unless
    all of them are the user's own.
    """
    if not prepared or any(isinstance(outcome, Artifact) for outcome in prepared.values()):
        return
    refused = [outcome for outcome in prepared.values() if isinstance(outcome, EdgeBenchError)]
    failures = [error for error in refused if not isinstance(error, UnsupportedError)]
    if failures:
        raise failures[0]
    if all(trial.request.source.is_users for trial in plan.trials):
        raise refused[0]


def requested_in_vain(plan: Plan, prepared: PreparedTrials, config: RunConfig) -> frozenset[str]:
    """The keys of unsupported trials that the command asked for by name.

    Those of a precision that was named; and those of a model or depth that was named, where the target
    takes it at none of the precisions that were tried.
    """
    supported = {
        _model(trial) for trial in plan.trials if not isinstance(prepared[trial.key], UnsupportedError)
    }
    model_named = bool(config.model or config.depth or config.width)
    return frozenset(
        trial.key
        for trial in plan.trials
        if isinstance(prepared[trial.key], UnsupportedError)
        and (config.precision or (model_named and _model(trial) not in supported))
    )


def reason_of(error: EdgeBenchError) -> str:
    """An error on one line."""
    return "; ".join(str(error).splitlines())


def _model(trial: PlannedTrial) -> tuple[str, str]:
    return trial.target.name, trial.variant.model
