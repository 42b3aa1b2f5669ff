"""Experiments of several targets and hosts on made devices."""

import threading
import time
from dataclasses import replace
from pathlib import Path

from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact
from edgebench.records.target import Launch
from edgebench.run.measuring.host_queue import Experiment
from edgebench.run.measuring.progress import Observer
from edgebench.run.trials import Plan, choose_variants, make_trials
from tests.fakes import FakeBackend, machines_of, made_images, made_scene, make_targets
from tests.measure.test_lane_group import MemoryStore


def experiment(
    store,
    open_device,
    hosts,
    *,
    sessions=2,
    depths=(0.25,),
    observer=None,
    retries=1,
    settings=(),
    sharings=(),
):
    """One target a name in `hosts` (name -> host), each a device of its own; those of a sweep share it."""
    backend = FakeBackend(precisions=("int8",))
    backends = {"fake": backend}
    targets = [
        replace(
            target,
            name=target.name.replace(target.declared_name, name),
            host=host,
            launch=Launch(env={"BOARD": name}),
        )
        for name, host in hosts.items()
        for target in make_targets(backends, settings, [])
    ]
    trials = make_trials(
        targets,
        backends,
        {"fake": choose_variants(backend, depths, ())},
        batches=(1,),
        scene=made_scene(),
        images=made_images(),
        sharings=sharings,
    )
    plan = Plan(trials, made_scene(), made_images(), sessions=sessions, passes=2, seed=1, retries=retries)
    artifacts = backend.prepare([trial.request for trial in trials], Cache(Path("unused")), print)
    return Experiment(
        plan=plan,
        artifacts={
            trial.key: artifact
            for trial, artifact in zip(trials, artifacts, strict=True)
            if isinstance(artifact, Artifact)
        },
        machines=machines_of(open_device),
        store=store,
        observer=observer or Observer(),
        times={},
    )


DRIVES = "this machine is measured while it drives other boards: for its best figures measure it alone"


class StrictStore(MemoryStore):
    """Complains where two threads are in it at once."""

    def __init__(self):
        super().__init__()
        self._inside = threading.Lock()

    def write_session(self, record, tables):
        assert self._inside.acquire(blocking=False), "two threads write at once"
        try:
            time.sleep(0.002)
            super().write_session(record, tables)
        finally:
            self._inside.release()


def by_target(run, store):
    names = {trial.key: trial.target.name for trial in run.plan.trials}
    statuses_of: dict[str, list[str]] = {}
    for record in store.records:
        statuses_of.setdefault(names[record.trial], []).append(record.status)
    return statuses_of


class Watching(Observer):
    def __init__(self):
        self.lines = []
        self.notes = []

    def note(self, text):
        self.notes.append(text)

    def session_starts(self, run, session):
        self.lines.append((session.host, run.session, run.sessions))
