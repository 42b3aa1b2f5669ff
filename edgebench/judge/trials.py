"""Trials of a result folder, from their stored sessions."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from edgebench.judge.cautions import cautions, other_machine, sustained_of
from edgebench.judge.latency import times_images
from edgebench.judge.metrics import METRICS
from edgebench.judge.power.rails import idle_drifts_of, power_doubts, rails_of
from edgebench.judge.recorded import Recorded, recorded_trials, undisturbed_trials
from edgebench.judge.trial import FULLY_COVERED, Estimate, EstimateKey, SceneOfTrial, Trial, Values
from edgebench.judge.verdicts.stopping import rule_of, with_end
from edgebench.judge.workers import workers_of
from edgebench.records.stored import SceneRecord
from edgebench.results.listing import failure_text, status_of
from edgebench.results.load import StoredResults
from edgebench.results.revisions import continuation
from edgebench.stats.warnings import Caution, Flag


def trials_of(results: StoredResults) -> list[Trial]:
    """Trials of a result in the plan's order.

    Latency, memory, times of the start and power come from the sessions that ended well; those that failed
    are listed in `failures`.

    Raises:
        StoredResultError: a stored table is damaged.
    """
    rule = rule_of(results.experiment)
    stored = recorded_trials(results, rule.confidence)
    is_metered = any(record.probes for recorded in stored.values() for record in recorded.sessions)
    # Samples of meters are numpy's work, outside the interpreter's lock.
    with ThreadPoolExecutor(2 if is_metered else 1) as pool:
        # Declared power is compared with the meters of every trial of its target.
        list(pool.map(_look_through_samples, stored.values()))
        trials = list(pool.map(trial_of, stored.values()))
    calm = undisturbed_trials(stored)
    ended = []
    for trial, recorded in zip(trials, stored.values(), strict=True):
        if recorded.has_undisturbed:
            # A contradiction of declared power holds in a disturbed session, too.
            undisturbed = replace(trial_of(calm[trial.key]), status="done", reason="", doubts=trial.doubts)
            calm[trial.key].release_samples()
            trial = replace(trial, undisturbed=undisturbed)
        ended.append(with_end(trial, recorded.sessions, rule, results.run))
    return ended


def _look_through_samples(recorded: Recorded) -> None:
    """Compute rails and telemetry of a trial, and release its samples, which are many."""
    _ = rails_of(recorded), recorded.observed
    recorded.release_samples()


def trial_with_key(results: StoredResults, key: str) -> Trial:
    """One trial, without its agreement with another and its drop below it.

    Reads no other trial but, of one with several workers, those of their variants alone.

    Raises:
        ValueError: it is no trial of the experiment.
        StoredResultError: a stored table is damaged.
    """
    experiment = results.experiment
    wanted = next((trial for trial in experiment.trials if trial.key == key), None)
    if wanted is None:
        raise ValueError(f"not a trial of this experiment: {key[:100]!r}")
    baselines = {worker.alone for worker in wanted.workers}
    trials = wanted, *(trial for trial in experiment.trials if trial.key in baselines)
    return trials_of(StoredResults(results.path, experiment.model_copy(update={"trials": trials})))[0]


def trial_of(recorded: Recorded) -> Trial:
    """One trial with the estimates of all metrics, before its ending is known."""
    planned, experiment = recorded.trial, recorded.experiment
    status, reason = status_of(planned, recorded.sessions, experiment.sessions)
    if status in ("partial", "not_run") and (later := continuation(experiment, planned.target)):
        reason += f"; {later}"
    estimates: dict[EstimateKey, Estimate] = {}
    values: dict[EstimateKey, Values] = {}
    for metric in METRICS.values():
        for key, reading in metric.readings(recorded):
            is_unexplained = reading.estimate.is_missing and not reading.estimate.reason
            estimates[key] = replace(reading.estimate, reason=reason) if is_unexplained else reading.estimate
            if reading.values:
                values[key] = reading.values
    target, scene, ticks = recorded.shown_target, recorded.scene, recorded.ticks()
    confusions = [recorded.confusion("images", worker) for worker in recorded.several_workers or (None,)]
    confusions.append(recorded.confusion("scene"))
    return Trial(
        key=planned.key,
        target=planned.target,
        variant=planned.variant,
        depth_multiplier=planned.depth_multiplier,
        precision=planned.precision,
        batch=planned.batch,
        concurrency=planned.concurrency,
        state=planned.state,
        settings=dict(target.settings) if target else {},
        requested=planned.requested,
        status=status,
        reason=reason,
        estimates=estimates,
        values=values,
        rails=rails_of(recorded),
        workers=workers_of(recorded),
        share=planned.share or "",
        confusions=tuple(filter(None, confusions)),
        sustained=sustained_of(recorded.steady(), experiment.sustained_s, recorded.observed),
        cautions=_cautions(recorded),
        failures=tuple(
            f"session {record.n:03}: {record.status}"
            + (f" in {record.failure.stage}: {failure_text(record)}" if record.failure else "")
            for record in recorded.sessions
            if record.status not in ("ok", "interrupted")
        ),
        confidence=recorded.confidence,
        ticks=ticks if ticks["load_s"] else {},
        period_s=experiment.period_s,
        scene=SceneOfTrial(
            text=scene_text(scene),
            patches=scene.patches,
            covered=scene.covered,
            measured_patches=recorded.measured_patches,
            untimed_stages=recorded.untimed_stages,
            image_bytes=scene.image_bytes,
            update_bytes=planned.artifact_bytes,
            companions=tuple(planned.companions),
        ),
        built=next((record.built for record in recorded.ok if record.built), None),
        body=recorded.target.body if recorded.target else "",
        marks=_marks(recorded),
        assumed=planned.assumed,
        doubts=_doubts(recorded),
        disturbed=(len(recorded.ok) - len(recorded.calm), len(recorded.ok)),
    )


def scene_text(scene: SceneRecord) -> str:
    """Scene of a pass in words."""
    if scene.kind == "samples":
        return f"{scene.name} (image_s is the time of {scene.patches} inferences)"
    across = scene.patch_width or scene.patch
    stride = "" if scene.stride is None else f", {scene.stride} apart"
    patches = f"{scene.patches} patches" if scene.patches != 1 else "1 patch"
    covered = scene.covered
    share = "" if covered is None or covered >= FULLY_COVERED else f", {100 * covered:.1f} % of the scene"
    size = f"{scene.width} x {scene.height} pixels"
    return f"{scene.name}, {size}, {patches} of {across} x {scene.patch}{stride}{share}"


def _marks(recorded: Recorded) -> tuple[str, ...]:
    untimed, patches = recorded.untimed_stages, recorded.measured_patches
    marks = {
        recorded.trial.mark: bool(recorded.trial.mark),
        "on a test clock": any("test_clock" in record.clock for record in recorded.ok),
        "extrapolated": not recorded.is_emulated and patches is not None and patches < recorded.scene.patches,
        f"without {' and '.join(untimed)}": bool(untimed) and times_images(untimed),
        "emulated": recorded.is_emulated,
    }
    return tuple(name for name, holds in marks.items() if holds)


def _doubts(recorded: Recorded) -> Mapping[str, str]:
    """Causes of doubt by their subject, without empty ones."""
    doubts = {
        "stamps": recorded.stamp_doubt,
        "machine": other_machine(recorded.target, recorded.ok),
        **recorded.board_doubts,
        **power_doubts(recorded),
    }
    return {subject: cause for subject, cause in doubts.items() if cause}


def _cautions(recorded: Recorded) -> tuple[Caution, ...]:
    right = recorded.confusion("images")
    counts = (sum(right.right), sum(right.n), len(right.classes)) if right else None
    workers, drifts = len(recorded.workers), idle_drifts_of(recorded)
    doubts, steady = recorded.board_doubts, recorded.steady()
    of_sessions = cautions(recorded.sessions, steady, recorded.observed, counts, doubts, workers, drifts)
    contradicted = power_doubts(recorded).get("power.maximum", "")
    return *of_sessions, *([Caution(Flag.POWER_CONTRADICTED, what=contradicted)] if contradicted else ())
