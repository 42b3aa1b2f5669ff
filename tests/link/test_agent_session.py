"""A whole session over the local link, on the toy: what is measured, what is known, what is left behind."""

import itertools
import os
from contextlib import closing
from dataclasses import replace

import numpy as np
import psutil
import pytest

from edgebench.agent.timed import STAGES
from edgebench.errors import SessionError
from edgebench.records.session import ColdFigures, SessionWindows, WarmUp
from edgebench.records.target import Launch

PATCHES = 12


def agent_of(device):
    return psutil.Process(device._connection._process.pid)


@pytest.fixture(scope="module")
def measured(rig, device):
    """One session from end to end: the golden scores, the passes, the predictions, the facts."""
    with device.session(rig.artifact("int8"), rig.settings()) as session:
        golden = session.golden()
        passes = list(session.measure(rig.plan(passes=3)))
        predicted = session.predict(rig.images)
        before = session.facts()
    return golden, passes, predicted, before, session.facts()


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
@pytest.mark.parametrize(("depth", "batch"), [(1.0, 1), (0.25, 4)])
def test_golden_scores_are_the_artifacts(rig, device, precision, depth, batch):
    artifact = rig.artifact(precision, batch, depth)
    with device.session(artifact, rig.settings(batch)) as session:
        scores = session.golden()
    assert scores.dtype == np.float32
    reference = np.array(artifact.golden.scores)
    assert np.abs(scores - reference).max() <= artifact.golden.tolerance
    np.testing.assert_array_equal(scores.argmax(1), reference.argmax(1))


def test_passes_come_in_order(measured):
    passes = measured[1]
    assert [measured_pass.phase for measured_pass in passes] == [
        "first",
        "warmup",
        "steady",
        "steady",
        "steady",
    ]
    assert [measured_pass.index for measured_pass in passes] == [0, 1, 2, 3, 4]
    for earlier, later in itertools.pairwise(passes):
        assert earlier.end_ns < later.start_ns


def test_every_batch_is_stamped(measured):
    for measured_pass in measured[1]:
        assert measured_pass.stages == STAGES
        assert measured_pass.stamps_ns.dtype == np.int64
        assert measured_pass.stamps_ns.shape[1:] == (3, 2)
        assert (np.diff(measured_pass.stamps_ns.reshape(-1)) >= 0).all()
        assert measured_pass.start_ns <= measured_pass.stamps_ns.min()
        assert measured_pass.stamps_ns.max() <= measured_pass.end_ns
        if measured_pass.phase != "warmup":
            assert len(measured_pass.stamps_ns) == PATCHES


def test_scores_are_of_the_scenes_patches_row_by_row(measured):
    _, passes, predicted, _, _ = measured
    assert predicted.shape == (PATCHES, 5)
    assert len(np.unique(predicted, axis=0)) > 1
    for measured_pass in passes:
        if measured_pass.phase == "warmup":
            assert measured_pass.scores is None
        else:
            np.testing.assert_array_equal(measured_pass.scores, predicted)


def test_facts(measured):
    _, passes, _, facts, after = measured
    assert all(getattr(facts.cold, name) > 0 for name in ("import_s", "load_s", "first_inference_s"))
    assert facts.cold.first_pass_s == passes[0].image_ns / 1e9
    cold = facts.cold
    assert cold.start_s > cold.import_s + cold.load_s + cold.first_inference_s
    warm = next(measured_pass for measured_pass in passes if measured_pass.phase == "warmup")
    assert facts.warmup.batches <= len(passes[0].stamps_ns) + len(warm.stamps_ns)
    assert isinstance(facts.warmup.steady, bool)
    assert facts.memory.peak_bytes >= facts.memory.after_load_bytes > 1 << 20
    assert facts.runtime["name"] == "toy"
    assert facts.probes == ()
    assert facts.probe_reasons == {"": "no meter"}
    steady = [measured_pass for measured_pass in passes if measured_pass.phase == "steady"]
    assert facts.windows_ns == SessionWindows(None, (steady[0].start_ns, steady[-1].end_ns))
    assert "toy: loading" in facts.stderr_tail
    assert after == facts


def test_clocks_of_one_machine_agree_within_the_bound(measured):
    for edge in ("start", "end"):
        match = measured[3].clock[edge]
        assert abs(match["offset_ns"]) <= match["bound_ns"]


def test_each_session_is_a_fresh_process_and_leaves_none(rig, device):
    agent = agent_of(device)
    seen = []
    for _ in range(2):
        with device.session(rig.artifact(), rig.settings()):
            [worker] = agent.children()
            seen.append(worker)
        assert not worker.is_running()
    assert seen[0] != seen[1]
    assert agent.children(recursive=True) == []


def test_closing_the_device_ends_the_agent_twice_over(rig):
    opened = rig.device()
    agent = agent_of(opened)
    with pytest.raises(ZeroDivisionError), opened.session(rig.artifact(), rig.settings()):
        [worker] = agent.children()
        opened.close()
        opened.close()
        raise ZeroDivisionError
    assert not agent.is_running()
    assert not psutil.wait_procs([worker], timeout=20)[1]


@pytest.mark.parametrize("batch", [5, 12, 13])
def test_a_padded_batch_changes_no_score(rig, device, measured, batch):
    with device.session(rig.artifact("int8", batch), rig.settings(batch)) as session:
        measured_pass = next(session.measure(rig.plan()))
        np.testing.assert_array_equal(measured_pass.scores, measured[2])
        assert len(measured_pass.stamps_ns) == -(-PATCHES // batch)
        assert measured_pass.batch == batch


def test_a_queue_gives_the_same_scores_with_overlapping_inferences(rig, device):
    artifact = rig.artifact("fp32")
    with device.session(artifact, rig.settings(delay_us=2000)) as session:
        alone = next(session.measure(rig.plan()))
    with device.session(artifact, rig.settings(delay_us=2000, queue=3)) as session:
        queued = next(session.measure(rig.plan()))
    np.testing.assert_array_equal(queued.scores, alone.scores)
    infer = queued.stamps_ns[:, 2]
    assert (infer[1:, 0] < infer[:-1, 1]).any()
    assert (alone.stamps_ns[1:, 2, 0] > alone.stamps_ns[:-1, 2, 1]).all()


def test_a_measurement_closed_early_leaves_the_session_whole(rig, device):
    with device.session(rig.artifact(), rig.settings()) as session:
        passes = session.measure(rig.plan())
        next(passes)
        passes.close()
        assert session.facts().windows_ns.steady is None
        assert session.predict(rig.images).shape == (PATCHES, 5)


def test_no_cap_means_no_warmup_pass(rig, device):
    with device.session(rig.artifact(), rig.settings()) as session:
        passes = list(session.measure(rig.plan(warmup_cap=0)))
    assert [(measured_pass.index, measured_pass.phase) for measured_pass in passes] == [
        (0, "first"),
        (1, "steady"),
        (2, "steady"),
    ]
    assert session.facts().warmup == WarmUp(0, steady=False)


def test_the_cap_ends_a_warmup_and_counts_from_the_first_batch(rig, device):
    with device.session(rig.artifact(batch=5), rig.settings(5)) as session:
        first, warm, *_ = session.measure(rig.plan(warmup_cap=13))
    assert warm.phase == "warmup"
    assert len(first.stamps_ns) + len(warm.stamps_ns) == 13
    assert session.facts().warmup == WarmUp(13, steady=False)


# --- how a worker is launched ---

TELLING = """
import os, sys
import numpy as np
class Model:
    input_shape = {shape}
    input_dtype = "float32"
    def describe(self):
        return dict(mark=os.environ.get("EDGEBENCH_MARK"), cores=sorted(os.sched_getaffinity(0)),
                    nice=os.nice(0), stdin=os.read(0, 1).decode())
    def infer(self, slot):
        return np.zeros((1, 5), np.float32)
def load(path, options):
    print("printed by the runner")
    return Model()
"""


def telling(tmp_path, shape=(1, 224, 224, 3)):
    runner = tmp_path / "telling.py"
    runner.write_text(TELLING.replace("{shape}", repr(shape)))
    return runner


def test_a_worker_is_launched_as_specified(rig, tmp_path):
    core = min(os.sched_getaffinity(0))
    launch = Launch(env={"EDGEBENCH_MARK": "here"}, prefix=("nice", "-n", "3"), affinity=(core,))
    opened = rig.device(telling(tmp_path))
    try:
        with opened.session(rig.artifact(), rig.settings(launch=launch)) as session:
            runtime = session.facts().runtime
    finally:
        opened.close()
    assert (runtime["mark"], runtime["cores"], runtime["nice"]) == ("here", [core], os.nice(0) + 3)
    assert runtime["stdin"] == ""
    assert "printed by the runner" in session.facts().stderr_tail


@pytest.mark.parametrize(
    ("launch", "sentence"),
    [
        (Launch(python="/no/such/python"), "/no/such/python"),
        (Launch(prefix=("/no/such/prefix",)), "/no/such/prefix"),
        (Launch(affinity=(4095,)), "CPU 4095"),
    ],
)
def test_a_worker_that_cannot_be_launched(rig, device, launch, sentence):
    with pytest.raises(SessionError) as caught, device.session(rig.artifact(), rig.settings(launch=launch)):
        pass
    assert sentence in caught.value.why
    assert caught.value.stage in {"start", "load"}


def test_a_runtime_with_another_input_fails_to_load(rig, tmp_path):
    opened = rig.device(telling(tmp_path, (1, 96, 96, 3)))
    try:
        with pytest.raises(SessionError) as caught:
            opened.session(rig.artifact(), rig.settings()).__enter__()
    finally:
        opened.close()
    assert caught.value.status == "load_failed"
    assert "do not fit" in caught.value.why


def test_a_session_reports_what_it_begins(rig, tmp_path):
    """Not one report a patch: only what lies between two timed regions can be told."""
    device = rig.device(folder=tmp_path / "board")
    reports: list[tuple[str, int, int]] = []
    settings = replace(rig.settings(), report=lambda *what: reports.append(what))
    try:
        with device.session(rig.artifact(), settings) as session:
            list(session.measure(rig.plan(passes=2)))
            session.predict(rig.images)
    finally:
        device.close()
    stages = list(dict.fromkeys(stage for stage, *_ in reports))
    assert stages == ["sending scene", "first pass", "warm-up", "passes", "sending images", "images"]
    assert ("passes", 0, 2) in reports
    assert [report for report in reports if report[0] == "images"] == [("images", 0, 12), ("images", 12, 12)]


def test_the_tick_of_the_clock_is_known_from_the_load_on(measured):
    before, after = measured[3], measured[4]
    assert before.tick_ns is not None
    assert before.tick_ns == after.tick_ns > 0


EMULATOR = """
import numpy as np

class Model:
    input_shape, input_dtype = (1, 224, 224, 3), "float32"
    def describe(self): return {"name": "emulator", "version": "1", "emulated": True}
    def infer(self, slot): return np.full((1, 5), slot.array.mean(), np.float32)

def load(path, options): return Model()
"""


def test_an_emulated_runtime_runs_one_pass_and_has_no_seconds(rig, tmp_path):
    runner = tmp_path / "runner.py"
    runner.write_text(EMULATOR)
    with (
        closing(rig.device(runner)) as device,
        device.session(rig.artifact(), rig.settings(idle_s=60.0)) as session,
    ):
        golden = session.golden()
        plan = rig.plan(passes=9, least_s=60.0, sustained_s=60.0)
        [only] = session.measure(plan)
        predicted = session.predict(rig.images)
        facts = session.facts()
    assert len(golden) == len(rig.artifact().golden.scores)
    assert only.phase == "steady"
    np.testing.assert_array_equal(only.scores, predicted)
    assert facts.emulated
    assert (facts.cold, facts.warmup, facts.load_bursts) == (ColdFigures(), None, None)
    assert (facts.windows_ns.idle, facts.windows_ns.idle_after) == (None, None)
