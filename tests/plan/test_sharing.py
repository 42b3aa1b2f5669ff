"""Several workers on one device: which trials they make, and what is refused."""

import os
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from edgebench.agent.worker_slots import own_cores
from edgebench.errors import UsageError
from edgebench.records.stored import ExperimentRecord, SceneRecord, TrialRecord, WorkerPlan
from edgebench.records.target import Launch
from edgebench.records.values import Variant
from edgebench.run.config import resolve
from edgebench.run.measuring.host_trials import TargetRevisions
from edgebench.run.settings import RunConfig
from edgebench.run.sharing import sharings_of
from edgebench.run.trials import make_trials
from tests.fakes import FakeBackend, made_images, made_scene, make_targets


class Shared(FakeBackend):
    shares_device = True


SMALL = (Variant(0.25, "fp32"),)


def plan(backend=None, variants=SMALL, settings=(), **config):
    backend = backend or Shared()
    backends = {backend.name: backend}
    targets = make_targets(backends, settings, [])
    return make_trials(
        targets,
        backends,
        {backend.name: variants},
        scene=made_scene(),
        images=made_images(),
        sharings=sharings_of(RunConfig(**config), backends, targets),
    )


def test_each_variant_involved_is_measured_alone_and_together_by_targets_of_their_own():
    trials = plan(with_=("1.0 int8",), share=("naive", "cores"))
    assert [(trial.target.name, trial.variant.name) for trial in trials] == [
        ("fake", "mobilenet_v1-0.25-fp32"),
        ("fake", "mobilenet_v1-1.0-int8"),
        ("fake[with=1.0-int8,share=naive]", "mobilenet_v1-0.25-fp32"),
        ("fake[with=1.0-int8,share=cores]", "mobilenet_v1-0.25-fp32"),
    ]
    own, other, naive, cores = trials
    assert naive.alone == cores.alone == (own, other)
    assert (own.share, naive.share, cores.share) == (None, "naive", "cores")
    assert len({trial.key for trial in trials}) == 4
    [alone, *_] = plan()
    assert alone.key == own.key and "sharing" not in own.inputs["settings"]


def test_workers_of_one_variant_are_counted_and_swept_settings_stay_in_the_names():
    trials = plan(workers=3, settings=["threads=1", "threads=2"])
    assert [trial.target.name for trial in trials] == [
        "fake[threads=1]",
        "fake[threads=1,workers=3,share=naive]",
        "fake[threads=2]",
        "fake[threads=2,workers=3,share=naive]",
    ]
    assert trials[1].alone == (trials[0],) * 3
    assert trials[1].target.connection == trials[0].target.connection
    assert trials[1].key != plan(workers=2, settings=["threads=1"])[1].key


def test_what_leaves_depth_or_precision_out_takes_the_trials_own():
    variants = (Variant(0.25, "fp32"), Variant(0.5, "fp32"))
    trials = plan(variants=variants, with_=("int8", "0.5"))
    names = [[each.variant.name for each in trial.alone] for trial in trials if trial.alone]
    assert names == [
        ["mobilenet_v1-0.25-fp32", "mobilenet_v1-0.25-int8", "mobilenet_v1-0.5-fp32"],
        ["mobilenet_v1-0.5-fp32", "mobilenet_v1-0.5-int8", "mobilenet_v1-0.5-fp32"],
    ]


@pytest.mark.parametrize(
    ("backend", "config", "words"),
    [
        (Shared(), {"workers": 2, "with_": ("int8",)}, "--workers and --with exclude each other"),
        (Shared(), {"share": ("cores",)}, "--share is of several workers"),
        (FakeBackend(), {"workers": 2}, "fake cannot be shared"),
        (Shared(), {"with_": ("1.0 fp16",)}, "fake does not take fp16"),
        (Shared(), {"with_": ("0.3 int8",)}, "has no width 0.3"),
        (Shared(), {"with_": ("quick",)}, "names no variant"),
        (Shared(), {"with_": ("int8 int8",)}, "names no variant"),
        (Shared(), {"with_": ("int8",) * 64}, "65 workers are too many"),
        (Shared(), {"workers": 64, "share": ("cores",)}, "64 workers and .* usable cores"),
    ],
)
def test_what_cannot_be_shared_so_is_refused_with_a_fix(backend, config, words):
    if config.get("workers") == 64 and len(os.sched_getaffinity(0)) >= 64:
        pytest.skip("this machine has cores enough")
    with pytest.raises(UsageError, match=words) as caught:
        plan(backend, **config)
    assert caught.value.fix


def test_the_launchs_cores_are_those_that_are_divided():
    backend = Shared()
    target = replace(make_targets({"fake": backend}, [], [])[0], launch=Launch(affinity=(0,)))
    with pytest.raises(UsageError, match="2 workers and 1 usable cores"):
        sharings_of(RunConfig(workers=2, share=("cores",)), {"fake": backend}, [target])


def test_a_system_without_affinities_cannot_share_cores(monkeypatch):
    monkeypatch.delattr(os, "sched_setaffinity")
    monkeypatch.delattr(os, "sched_getaffinity")
    with pytest.raises(UsageError, match="2 workers and no usable cores"):
        plan(workers=2, share=("cores",))
    with pytest.raises(RuntimeError, match="does not pin a process"):
        own_cores({"share": [0, 2]})


def test_with_is_written_so_in_a_file_and_in_the_environment():
    env = {"EDGEBENCH_WITH": "int8,1.0 int8"}
    assert resolve({}, env=env).config.with_ == ("int8", "1.0 int8")
    resolved = resolve({"workers": 2}, project={"with": ["int8"]})
    assert (resolved.config.workers, resolved.config.with_) == (2, ())
    assert "with" in resolved.as_record()


def test_a_revision_measures_the_workers_variants_alone_under_its_own_keys():
    trials = plan(with_=("1.0 int8",))
    named: dict[str, Any] = dict.fromkeys(("name", "created_utc", "edgebench_version"), "")
    counted: dict[str, Any] = dict.fromkeys(("seed", "sessions", "passes"), 1)
    store: Any = Store(
        ExperimentRecord(
            id="0" * 32,
            **named,
            **counted,
            command=(),
            targets=tuple(trial.target for trial in trials[1:]),
            scene=SceneRecord(name="s", sha256="0" * 64, height=9, width=9, patch=9, rows=1, columns=1),
            trials=tuple(recorded(trial) for trial in trials),
        )
    )
    revise = TargetRevisions(store, lambda note: None)
    alone = revise(trials[:2], {"board": "B"})
    [together] = revise(trials[2:], {"board": "B"})
    assert [each.key for each in together.alone] == [each.key for each in alone]
    assert [worker.alone for worker in store.record.trials[-1].workers] == [each.key for each in alone]
    assert store.record.trials[-1].key == together.key


class Store:
    def __init__(self, record):
        self.record = record

    def extend(self, record):
        self.record = record

    def has(self, keys):
        return False

    def finished(self, key):
        return [SimpleNamespace(device={"board": "A"}, runtime={})]


def recorded(trial):
    names = {"depth_multiplier": trial.variant.depth_multiplier, "precision": trial.variant.precision}
    workers = tuple(
        WorkerPlan(
            variant=each.variant.name,
            depth_multiplier=each.variant.depth_multiplier,
            precision=each.variant.precision,
            alone=each.key,
        )
        for each in trial.alone
    )
    return TrialRecord(
        key=trial.key,
        target=trial.target.name,
        variant=trial.variant.name,
        batch=1,
        inputs=trial.inputs,
        workers=workers,
        **names,
    )
