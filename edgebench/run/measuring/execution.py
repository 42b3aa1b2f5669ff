"""One `edgebench run`, from a plan to a finished folder: prepare, record, measure."""

from __future__ import annotations

import os
import platform
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from pydantic import BaseModel

from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError, UnsupportedError, UsageError
from edgebench.files import reason
from edgebench.installed import versions_of
from edgebench.interruption import GO_ON
from edgebench.judge.document import trial_document
from edgebench.judge.judged import verdict_counts
from edgebench.judge.trials import trials_of
from edgebench.link.host_probes import HostProbes
from edgebench.link.session_loop import Timeouts
from edgebench.prepare.cache import Cache
from edgebench.prepare.formats import refusal_of
from edgebench.prepare.pictures import scene_preview
from edgebench.records.model import Artifact, Companion, Prepared
from edgebench.records.stored import (
    ExperimentRecord,
    ImagesRecord,
    RunEnd,
    RunRecord,
    SceneRecord,
    TrialRecord,
    WorkerPlan,
)
from edgebench.records.target import Target
from edgebench.records.values import ImageSet, Progress, Scene
from edgebench.results.listing import find_unfinished, is_finished
from edgebench.results.load import load
from edgebench.results.record_reading import image_paths, read_experiment
from edgebench.results.redaction import PrivateNames, written
from edgebench.results.writing import ExperimentStore
from edgebench.run.config import Resolved
from edgebench.run.forecast import note_times, noted_times
from edgebench.run.measuring.host_queue import Experiment, Machines, Outcome
from edgebench.run.measuring.host_trials import TargetRevisions, settled_on_disk
from edgebench.run.measuring.preflight import preflight
from edgebench.run.measuring.progress import Observer
from edgebench.run.measuring.session import LocalDevice
from edgebench.run.measuring.session_record import traceback_text, utc_text
from edgebench.run.planner import Built
from edgebench.run.settings import RunConfig
from edgebench.run.trials import Plan, PlannedTrial
from edgebench.texts import share_text
from edgebench.this_machine import UNAVAILABLE_ERRORS
from edgebench.version import __version__

# What preparation made of each trial: its artifact, or why it has none.


PreparedTrials = Mapping[str, Prepared]
"""By trial key."""


def prepare_trials(built: Built, cache: Cache, progress: Progress) -> PreparedTrials:
    """Every target's artifacts, or why they are missing; `progress` receives what cannot be made.

    A target without any artifact fails its own trials where there are others; alone its error
    is raised. UsageErrors are always raised.
    """
    prepared: dict[str, Prepared] = {}
    for target in built.targets:
        trials = [trial for trial in built.plan.trials if trial.target is target and not trial.alone]
        try:
            backend = built.backends[target.device]
            taken = [trial.request for trial in trials if not refusal_of(backend, trial.request)]
            made = iter(backend.prepare(taken, cache, progress))
            outcomes = [refusal_of(backend, trial.request) or next(made) for trial in trials]
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
    for trial in built.plan.trials:
        if trial.alone:  # workers load what is prepared for each alone
            parts = [prepared[each.key] for each in trial.alone]
            _require_supported(trial, parts)
            prepared[trial.key] = next((part for part in parts if not isinstance(part, Artifact)), parts[0])
    return prepared


def _require_supported(trial: PlannedTrial, parts: Sequence[Prepared]) -> None:
    """UsageError for a variant of --with that the device does not take next to one that it does take."""
    for alone, part in zip(trial.alone, parts, strict=True):
        if isinstance(parts[0], Artifact) and isinstance(part, UnsupportedError):
            raise UsageError(
                f"--with: {alone.target.name} does not take {alone.variant.name}",
                why=part.what + (f" ({part.why})" if part.why else ""),
                fix=part.fix or "leave that --with out, or name another variant",
            )


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


def unsupported_requests(plan: Plan, prepared: PreparedTrials, config: RunConfig) -> frozenset[str]:
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


# What is known of the machine that the harness runs on; each fact is absent when it cannot be had.


_PACKAGES = ("ai-edge-litert", "onnxruntime", "tensorflow", "openvino", "numpy", "scipy", "pyarrow", "pandas")


def host_facts() -> dict[str, Any]:
    """Operating system, processor, memory, load and versions; no host or user name.

    A fact that cannot be had is null, and `absent` (left out where all can) has the reason by its name.
    """
    facts: dict[str, Any] = {}
    absent: dict[str, str] = {}
    for name, find in _FINDERS.items():
        try:
            facts[name] = find()
        except (*UNAVAILABLE_ERRORS, AttributeError, NotImplementedError) as error:
            facts[name] = None
            place = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
            absent[name] = place + reason(error)
    return facts | ({"absent": absent} if absent else {})


def _cpu_model() -> str | None:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        if platform.processor():
            return platform.processor()
        raise
    return platform.processor() or None


def _cpu_mhz() -> float | None:
    frequency = psutil.cpu_freq()
    return round(frequency.current, 1) if frequency else None


_FINDERS: Mapping[str, Callable[[], Any]] = {
    "system": platform.system,
    "kernel": platform.release,
    "os": lambda: platform.freedesktop_os_release().get("PRETTY_NAME"),
    "machine": platform.machine,
    "cpu_model": _cpu_model,
    "cpus": os.cpu_count,
    "cpus_available": lambda: len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
    "cpu_mhz": _cpu_mhz,
    "memory_bytes": lambda: psutil.virtual_memory().total,
    "memory_free_bytes": lambda: psutil.virtual_memory().available,
    "load_average": lambda: list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
    "python": platform.python_version,
    "python_implementation": lambda: sys.implementation.name,
    "packages": lambda: {name: number for name, number in versions_of(_PACKAGES).items() if number},
}


@dataclass
class LocalMachines:
    """Devices of this machine, and of the hosts and ports that it reaches itself."""

    backends: Mapping[str, Backend]
    _timeouts: Timeouts = field(default_factory=Timeouts.from_environment, init=False)
    _host_probes: dict[str, HostProbes] = field(default_factory=dict, init=False)  # by host

    def of(self, trial: PlannedTrial) -> str:
        """The trial's host."""
        return trial.target.host or ""

    def open(self, trial: PlannedTrial) -> LocalDevice:
        """The device, with the probes on this machine that sample for all devices of its host."""
        backend = self.backends[trial.target.device]
        host_probes = self._host_probes.setdefault(self.of(trial), HostProbes(self._timeouts))
        return LocalDevice(backend.open(trial.target), backend.explain, host_probes)

    def await_turn(self, machine: str, over: Callable[[], bool]) -> bool:
        """Devices that are in use are waited for as they are opened."""
        return True

    def leave(self, machine: str) -> None:
        """End the probes on this machine."""
        if machine in self._host_probes:
            self._host_probes[machine].close()

    def preflight(self, targets: Sequence[Target]) -> list[dict[str, Any]]:
        """Findings of doctor."""
        return preflight(targets, self.backends)


@dataclass(frozen=True)
class Campaign:
    """What one run needs to know besides its plan."""

    built: Built
    resolved: Resolved
    profiles: tuple[dict[str, Any], ...]
    command: tuple[str, ...]
    resume: bool
    cache: Cache
    observer: Observer
    machines: Machines
    clock: Callable[[], float] = time.monotonic

    def carry_out(self) -> tuple[Path, Outcome]:
        """Prepare, open the folder, measure; returns the folder and how it ended.

        A finished experiment is left as it is.
        """
        plan = self.built.plan
        folder = None
        if self.resume:
            config, keys = self.resolved.config, [trial.key for trial in plan.trials]
            folder = find_unfinished(config.output_dir, config.name, keys)
        if folder is not None and is_finished(folder, record := read_experiment(folder)):
            begun_with = _as_begun(plan, record)
            counts = "" if begun_with == plan else f" with what it was begun with ({_numbers(begun_with)})"
            self.observer.note(
                f"{folder} is finished{counts}: nothing is left to measure; to measure again, run without "
                "--resume" + ("" if self.resolved.config.name is None else ", with another --name")
            )
            return folder, Outcome(interrupted=False, sessions=0)
        prepared = prepare_trials(self.built, self.cache, self.observer.note)
        require_any(plan, prepared)
        if folder is not None:
            record = read_experiment(folder)
            if changed := _changed(record, prepared):
                self.observer.note(f"starting a new folder next to {folder.name}: {changed}")
                folder = None
            else:
                # The experiment that goes on was planned once: its own numbers count.
                asked, plan = plan, _as_begun(plan, record)
                if plan != asked:
                    self.observer.note(f"{folder.name} keeps what it was begun with: {_numbers(plan)}")
        store = self._store(folder, prepared)
        try:
            experiment = Experiment(
                plan=plan,
                artifacts={
                    key: artifact for key, artifact in prepared.items() if isinstance(artifact, Artifact)
                },
                machines=self.machines,
                store=store,
                observer=self.observer,
                times=noted_times(self.cache, plan, plan.trials),
                note_times=partial(note_times, self.cache, plan),
                explain=lambda trial: self.built.backends[trial.target.device].explain,
                settled=settled_on_disk(store),
                revise=TargetRevisions(store, self.observer.note),
                clock=self.clock,
            )
            begun = RunRecord(started_utc=utc_text(datetime.now(UTC)), max_time_s=plan.max_time_s)
            store.write_run(begun)
            outcome = experiment.run()
            over = _run_record(begun, outcome, self._private_names())
            store.write_run(over)
            store.write_run(over.model_copy(update=_conclude(store)))
            return store.path, outcome
        except KeyboardInterrupt:
            raise KeyboardInterrupt(GO_ON) from None
        finally:
            store.close()

    def _store(self, folder: Path | None, prepared: PreparedTrials) -> ExperimentStore:
        if folder is not None:
            self.observer.note(f"going on with {folder}")
            store = ExperimentStore.open(folder)
            for warning in store.warnings:
                self.observer.note(f"warning: {warning}")
            return store
        config = self.resolved.config
        record = self._record(prepared)
        plan = self.built.plan
        preview = scene_preview(plan.scene) if plan.scene.kind == "picture" else None
        of_trials = (trial.model_data.images for trial in plan.trials if trial.model_data is not None)
        image_sets = (images for images in (plan.images, *of_trials) if images is not None)
        paths = image_paths(image_sets, self._private_names())
        return ExperimentStore.create(config.output_dir, config.name, record, preview, paths)

    def _record(self, prepared: PreparedTrials) -> ExperimentRecord:
        plan, config = self.built.plan, self.resolved.config
        requested_keys = unsupported_requests(plan, prepared, config)
        record = ExperimentRecord(
            id=secrets.token_hex(16),
            name=config.name
            or "-".join(dict.fromkeys(target.declared_name for target in self.built.targets)),
            created_utc=utc_text(datetime.now(UTC)),
            edgebench_version=__version__,
            command=self.command,
            config=self.resolved.as_record(),
            **{name: getattr(plan, name) for name in (*_PLANNED_ONCE, *_PLANNED)},
            scene=_scene_record(plan.scene),
            images=_images_record(plan.images),
            images_reason="" if plan.images else "no images were given (--images)",
            targets=self.built.targets,
            trials=tuple(
                _trial_record(trial, prepared, plan, requested=trial.key in requested_keys)
                for trial in plan.trials
            ),
            profiles=self.profiles,
            host=host_facts(),
            preflight=tuple(self.machines.preflight(self.built.targets)),
            warnings=plan.notes,
        )
        return written(record, self._private_names())

    def _private_names(self) -> PrivateNames:
        """The private names in the record's targets."""
        return PrivateNames.of_this_machine() | PrivateNames.of_targets(self.built.targets)


_PLANNED_ONCE = ("sessions", "passes", "seed", "target_ci", "decide", "min_sessions")
"""What an experiment that goes on keeps of its plan: fields of a Plan and of an ExperimentRecord."""

_PLANNED = ("max_time_s", "period_s", "sustained_s")


def _as_begun(plan: Plan, record: ExperimentRecord) -> Plan:
    """The plan of an experiment that goes on: it was planned once, and its own numbers count.

    Not its `max_time_s`, which is what one run is given.
    """
    recorded = {trial.key: trial.passes or record.passes for trial in record.trials}
    return replace(
        plan,
        trials=tuple(replace(trial, passes=recorded.get(trial.key, record.passes)) for trial in plan.trials),
        **{name: getattr(record, name) for name in _PLANNED_ONCE},
    )


def _numbers(plan: Plan) -> str:
    """Amount that is measured of each trial, in words."""
    most = "at most " if plan.adaptive else ""
    sessions = "1 session" if plan.sessions == 1 else f"{plan.sessions} sessions"
    clauses = [f"{most}{sessions} of {plan.steady_text}, seed {plan.seed}"]
    if plan.target_ci is not None:
        clauses.append(f"until a half-width of {share_text(plan.target_ci)}")
    if plan.decide:
        clauses.append("until every verdict that can be settled is settled")
    return ", ".join(clauses)


def _conclude(store: ExperimentStore) -> dict[str, Any]:
    """Write the estimates of each trial.

    Returns the fields of the run's record that follow from them: the keys of the trials that a rule ended,
    and how many trials got which verdict of each profile.
    """
    trials = trials_of(load(store.path))
    for trial in trials:
        store.write_trial(trial.key, trial_document(trial))
    settled = tuple(trial.key for trial in trials if trial.ended is not None and trial.ended.by == "rule")
    return {"settled": settled, "verdicts": verdict_counts(trials, store.record)}


def _run_record(begun: RunRecord, outcome: Outcome, names: PrivateNames) -> RunRecord:
    ended: RunEnd | None = (
        "interrupted" if outcome.interrupted else "time" if outcome.out_of_time else "complete"
    )
    faults = tuple(traceback_text(fault) for fault in outcome.faults)
    record = begun.model_copy(
        update={
            "ended": None if faults and not outcome.interrupted else ended,
            "elapsed_s": outcome.elapsed_s,
            "sessions": outcome.sessions,
            "faults": faults,
        }
    )
    return written(record, names)


def _scene_record(scene: Scene) -> SceneRecord:
    return SceneRecord(**_same_fields(scene, SceneRecord))


def _same_fields(source: object, record: type[BaseModel]) -> dict[str, Any]:
    """Fields that a record takes from an object under the same names."""
    return {name: getattr(source, name) for name in record.model_fields if hasattr(source, name)}


def _images_record(images: ImageSet | None) -> ImagesRecord | None:
    if images is None:
        return None
    return ImagesRecord(labelled=images.labels is not None, **_same_fields(images, ImagesRecord))


def _trial_record(
    trial: PlannedTrial, outcomes: PreparedTrials, plan: Plan, *, requested: bool
) -> TrialRecord:
    prepared = outcomes[trial.key]
    common: dict[str, Any] = {
        **_same_fields(trial.variant, TrialRecord),
        **_same_fields(trial, TrialRecord),
        "target": trial.target.name,
        "variant": trial.variant.name,
        "passes": None if trial.passes == plan.passes else trial.passes,
        "workers": tuple(_worker_plan(each, outcomes[each.key]) for each in trial.alone),
    }
    if trial.model_data is not None:
        scene, images = trial.model_data.scene, trial.model_data.images
        # What the experiment says already is not said again.
        common |= {
            "scene": None if scene == plan.scene else _scene_record(scene),
            "images": None if images == plan.images else _images_record(images),
            "images_reason": ""
            if images
            else trial.model_data.images_reason or "no images were given (--images)",
        }
    if isinstance(prepared, EdgeBenchError):
        common |= {"reason": reason_of(prepared), "requested": requested}
        return TrialRecord(
            **common, status="unsupported" if isinstance(prepared, UnsupportedError) else "failed"
        )
    common |= {
        **{name: getattr(prepared, name) for name in _OF_ARTIFACT},
        "artifact_bytes": prepared.size_bytes,
        "artifact_sha256": prepared.sha256,
        "companions": _hashes(prepared.companions),
    }
    return TrialRecord(**common)


def _worker_plan(alone: PlannedTrial, prepared: Prepared) -> WorkerPlan:
    common = {**_same_fields(alone.variant, WorkerPlan), "variant": alone.variant.name, "alone": alone.key}
    if isinstance(prepared, Artifact):
        common |= {"artifact_bytes": prepared.size_bytes, "artifact_sha256": prepared.sha256}
        common["class_names"] = prepared.class_names
    return WorkerPlan(**common)


_OF_ARTIFACT = ("class_names", "accuracy_reason", "assumed", "state", "mark", "provenance")
"""Fields of an Artifact and of a TrialRecord."""


def _hashes(companions: Mapping[str, Companion]) -> dict[str, str]:
    return {name: companion.sha256 for name, companion in companions.items()}


def _changed(record: ExperimentRecord, prepared: PreparedTrials) -> str:
    """Artifact of an unfinished experiment that has changed, or "" when none has.

    What came out of preparation is recorded, not hashed into the key; sessions on another artifact must not
    join those that are there. What a device is, its own sessions recorded: see `TargetRevisions`.
    """
    for trial in record.trials:
        artifact = prepared.get(trial.key)
        if isinstance(artifact, Artifact) and trial.status != "planned":
            return f"{trial.variant} could not be prepared for it, and now it can"
        if isinstance(artifact, Artifact) and artifact.sha256 != trial.artifact_sha256:
            return f"the artifact of {trial.variant} is not the one that it measured"
        if isinstance(artifact, Artifact) and _hashes(artifact.companions) != trial.companions:
            return f"a companion of the artifact of {trial.variant} is not the one that it measured"
    return ""
