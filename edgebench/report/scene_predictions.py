"""Which class each trial predicted for each patch of its scene."""

from __future__ import annotations

from edgebench.store.load import StoredResults


def scene_predictions(results: StoredResults) -> dict[str, list[int]]:
    """By key of a trial one class index a patch, row by row: the first set that is whole.

    Sets are those of a session's workers, session after session. A trial without a whole one is left out.
    """
    experiment = results.experiment
    patches = {trial.key: experiment.scene_of(trial).patches for trial in experiment.trials}
    frame = results.table("predictions", ["worker", "set", "index", "predicted"])
    frame = frame[frame["set"] == "scene"]
    predictions: dict[str, list[int]] = {}
    for (trial, _session, _worker), rows in frame.groupby(
        ["trial", "session", "worker"], sort=True, observed=True
    ):
        key, ordered = str(trial), rows.sort_values("index")
        if key not in predictions and ordered["index"].tolist() == list(range(patches[key])):
            predictions[key] = [int(item) for item in ordered["predicted"]]
    return predictions
