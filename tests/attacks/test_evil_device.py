"""A device whose every answer may be nonsense, in the harness's process, next to a good one."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

import numpy as np
import pytest

from edgebench.judge.judged import judge_folder
from edgebench.records.session import (
    Channel,
    ColdFigures,
    MemoryFigures,
    Pass,
    ProbeChunk,
    ProbeInfo,
    SessionWindows,
    Window,
)
from edgebench.records.stored import ExperimentRecord, SceneRecord, TrialRecord
from edgebench.report.renderers.forms import export
from edgebench.results.writing import ExperimentStore
from tests.fakes import FakeDevice, FakeSession
from tests.measure.lanes import experiment

CHANNEL = Channel("power", "power", "W")
METER = ProbeInfo("m", "", 1.0, "", "board", (CHANNEL,))
CHUNK = ProbeChunk("m", np.array([1], np.int64), {"power": np.array([2.5])})

SHORT = replace(CHUNK, stamps_ns=np.array([1, 2], np.int64))
LATE = replace(CHUNK, stamps_ns=np.array([2**63 - 1], np.int64))


def failing(*given: Any) -> Any:
    raise TypeError("the backend took the device's answer for granted")


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 0


@dataclass
class EvilDevice(FakeDevice):
    """Each answer goes through the function of its name in `changes`, where there is one."""

    changes: dict[str, Any] = field(default_factory=dict)

    def changed(self, name: str, answer: Any) -> Any:
        return self.changes[name](answer) if name in self.changes else answer

    def describe(self) -> dict[str, Any]:
        described: dict[str, Any] = self.changed("describe", super().describe())
        return described

    @contextmanager
    def session(self, artifact, settings):
        self.changed("session", None)
        yield EvilSession(self, "ok")
        self.changed("leave", None)

    def close(self) -> None:
        self.changed("close", None)


class EvilSession(FakeSession):
    device: EvilDevice

    def golden(self):
        return self.device.changed("golden", super().golden())

    def measure(self, plan):
        passes = self.device.changed("passes", super().measure(plan))
        return (self.device.changed("pass", one) for one in passes)

    def predict(self, images):
        return self.device.changed("predict", super().predict(images))

    def probe_chunks(self):
        return self.device.changed("chunks", super().probe_chunks())

    def facts(self):
        return self.device.changed("facts", super().facts())


def store_of(run, folder) -> ExperimentStore:
    scene = run.plan.scene
    record = ExperimentRecord(
        id="0" * 32,
        name="evil",
        created_utc="2026-11-21T12:00:00Z",
        edgebench_version="0",
        command=("edgebench", "run"),
        seed=1,
        sessions=run.plan.sessions,
        passes=run.plan.passes,
        scene=SceneRecord(
            name="scene", sha256=scene.sha256, height=448, width=672, patch=224, rows=2, columns=3
        ),
        targets=tuple(trial.target for trial in run.plan.trials),
        trials=tuple(
            TrialRecord(
                key=trial.key, target=trial.target.name, variant=trial.variant.name,
                depth_multiplier=0.25, precision="int8", batch=1,
            )
            for trial in run.plan.trials
        ),
    )  # fmt: skip
    return ExperimentStore.create(folder, "evil", record)


def with_(name: str, change: Any) -> dict[str, Any]:
    return {name: change}


def fact(**changes: Any) -> dict[str, Any]:
    return {"facts": lambda facts: replace(facts, **changes)}


def one_pass(**changes: Any) -> dict[str, Any]:
    return {"pass": lambda one: replace(one, **changes)}


def scored(one: Pass, score: float) -> Pass:
    """The pass with that score of its last patch, in steady passes."""
    assert one.scores is not None
    scores = one.scores.copy()
    scores[-1, 0] = score if one.phase == "steady" else scores[-1, 0]
    return replace(one, scores=scores)


def endless(passes: Iterator[Pass]) -> Iterator[Pass]:
    """The passes of a device, the last of them two thousand times."""
    for scene_pass in passes:
        yield scene_pass
    yield from itertools.repeat(scene_pass, 2000)


def windows(**changes: Any) -> dict[str, Any]:
    """Four windows of 50 inferences in place of the passes; a change may go by a window's number."""

    def given(_: Any) -> Iterator[Window]:
        for index in range(4):
            start_ns = index * 10**9
            window = Window(index, "steady" if index else "first", index, 50, start_ns, start_ns + 5 * 10**8)
            values = {name: value(index) if callable(value) else value for name, value in changes.items()}
            yield replace(window, **values)

    return with_("passes", given)


def stage(name: Any) -> dict[str, Any]:
    """The last of the three stages has another name."""
    return {"pass": lambda one: replace(one, stages=(*one.stages[:2], name))}


ALONE = "its sessions fail alone, with the reason"
THEN = {
    "error": ALONE,
    "protocol_error": f"{ALONE}: a protocol error",
    "golden_mismatch": f"{ALONE}: a golden mismatch",
}


CHANGES: dict[str, dict[str, Any]] = {}  # by what is wrong with the device


def attack(what: str, changes: dict[str, Any], status: str = "error", then: str = "") -> Any:
    CHANGES[what] = changes
    text = f"a device {what}: {then or THEN[status]}"
    return pytest.param(what, status, id=what, marks=pytest.mark.attack(text))


def describes(description: Any) -> dict[str, Any]:
    return with_("describe", lambda _: description)


PROTOCOL, MISMATCH = "protocol_error", "golden_mismatch"
ATTACKS = [
    # how it is reached, and what it is
    attack("cannot be opened, with an error of its own kind", with_("open", failing)),
    attack("cannot be closed", with_("close", failing), "ok", "a note says so, and nothing is lost"),
    attack("raises an error of its own kind as a session begins", with_("session", failing)),
    attack("raises an error of its own kind as a session ends", with_("leave", failing)),
    attack("raises while it describes itself", with_("describe", failing)),
    attack("describes itself by a list", describes(["fake"])),
    attack("describes itself by nothing", describes(None)),
    attack("has a lone surrogate in its facts", describes({"board": "\udce9"})),
    attack("nests its facts 250 deep", describes({"board": nested(250)})),
    attack("nests its facts 800 deep", describes({"board": nested(800)})),
    attack("has a fact that JSON cannot hold", describes({"board": object()})),
    attack("gives its private names as a list", describes({"private": ["root"]})),
    attack("has more memory than a float can count", describes({"memory_available_bytes": 10**400})),
    # golden scores
    attack("gives no golden scores", with_("golden", lambda _: None)),
    attack("gives golden scores as texts", with_("golden", lambda one: np.full(one.shape, "ice"))),
    attack("gives golden scores that are no numbers", with_("golden", lambda one: one * np.nan), MISMATCH),
    # passes
    attack("gives no iterator of passes", with_("passes", lambda _: None)),
    attack("gives no pass at all", with_("passes", lambda _: iter(())), PROTOCOL),
    attack("gives no steady pass", with_("passes", lambda passes: iter([next(passes)])), PROTOCOL),
    attack("gives passes without end", with_("passes", endless), PROTOCOL),
    attack("gives a text for a pass", with_("pass", lambda _: "a pass")),
    attack("numbers its passes beyond 32 bits", one_pass(index=2**40), PROTOCOL),
    attack("says that another worker than its only one ran a pass", one_pass(worker=1), PROTOCOL),
    attack("names a worker by no number", one_pass(worker=np.nan), PROTOCOL),
    attack("does not stamp when a pass began", one_pass(start_ns=None)),
    attack("ends a pass before it began", one_pass(end_ns=-1), PROTOCOL),
    attack("stamps a pass beyond 64 bits", one_pass(end_ns=2**80), PROTOCOL),
    attack("takes 292 years for a pass", one_pass(start_ns=1 - 2**62, end_ns=2**62 - 1), PROTOCOL),
    attack("gives words for stamps", one_pass(stamps_ns=np.array([["a"]], object)), PROTOCOL),
    attack("has batches of no patch", one_pass(batch=0), PROTOCOL),
    attack("has a pass due beyond 64 bits", one_pass(due_ns=2**70, deadline_ns=2**70), PROTOCOL),
    attack("has a pass due in 292 years", one_pass(due_ns=2**63 - 1, deadline_ns=0), PROTOCOL),
    attack("scores NaN in a timed pass", {"pass": lambda one: scored(one, np.nan)}, PROTOCOL),
    attack("scores infinity in a timed pass", {"pass": lambda one: scored(one, np.inf)}, PROTOCOL),
    attack("gives words for scores", one_pass(scores=np.array([["a", "b"]] * 6))),
    attack(
        "takes no time at all for a pass",
        one_pass(start_ns=0, end_ns=0, stamps_ns=np.zeros((6, 3, 2), np.int64)),
        PROTOCOL,
    ),
    # windows
    attack("gives windows", windows(), "ok", "they are measured and reported"),
    attack("infers in a window as often as no number says", windows(inferences=np.nan), PROTOCOL),
    attack("infers one and a half times", windows(inferences=1.5), PROTOCOL),
    attack("infers 2^63 times", windows(inferences=2**63), PROTOCOL),
    attack("takes no time at all for a window", windows(start_ns=5, end_ns=5), PROTOCOL),
    attack("takes 292 years for a window", windows(start_ns=1 - 2**62, end_ns=2**62 - 1), PROTOCOL),
    attack("begins every window before the last one had ended", windows(start_ns=0), PROTOCOL),
    attack("infers a patch between two patches", windows(patch=0.5), PROTOCOL),
    attack("numbers its windows beyond 32 bits", windows(index=2**40), PROTOCOL),
    attack("gives words for a window's scores", windows(scores=np.array(["a", "b"])), PROTOCOL),
    attack("gives one number for a window's scores", windows(scores=np.float32(1)), PROTOCOL),
    attack(
        "gives a window more scores than the last", windows(scores=lambda index: np.ones(2 + index)), PROTOCOL
    ),
    attack("scores NaN in a window", windows(scores=np.array([np.nan, 1])), PROTOCOL),
    # stages
    attack("has a stage called NMS", stage("NMS"), "ok", "it is reported under that name"),
    attack("has a stage called image", stage("image"), PROTOCOL),
    attack("has a stage called start", stage("start"), PROTOCOL),
    attack("has a stage called lateness", stage("lateness"), PROTOCOL),
    attack("has two stages of one name but for its case", stage("PATCHIFY"), PROTOCOL),
    attack("has a stage called ../x", stage("../x"), PROTOCOL),
    attack("has a stage whose name is a lone surrogate", stage("\udce9"), PROTOCOL),
    attack("has a stage called by a number", stage(5)),
    # predictions
    attack("predicts fewer images than there are", with_("predict", lambda scores: scores[:-1])),
    attack("predicts NaN", with_("predict", lambda scores: scores * np.nan), PROTOCOL),
    attack("predicts a word", with_("predict", lambda _: "ice")),
    # samples
    attack("sends samples of an unknown probe", with_("chunks", lambda _: iter([CHUNK])), PROTOCOL),
    attack("sends fewer samples than stamps", with_("chunks", lambda _: iter([SHORT])), PROTOCOL),
    attack("stamps samples beyond 62 bits", with_("chunks", lambda _: iter([LATE])), PROTOCOL),
    attack("sends nothing for samples", with_("chunks", lambda _: iter([None]))),
    attack("has no iterator of samples", with_("chunks", lambda _: None)),
    # facts of a session
    attack("raises when a session is asked for its facts", with_("facts", failing)),
    attack("knows nothing of a session", with_("facts", lambda _: None)),
    attack("gives a session's facts as a list", with_("facts", lambda _: ["cold"])),
    attack("has a lone surrogate in its runtime's name", fact(runtime={"name": "\udce9"})),
    attack("nests its runtime's settings 250 deep", fact(runtime={"name": nested(250)})),
    attack("describes its runtime by a word", fact(runtime="fake")),
    attack('loads a model in "fast" seconds', fact(cold=ColdFigures(load_s=cast(Any, "fast")))),
    attack("needs a byte and a half of memory", fact(memory=MemoryFigures(peak_bytes=cast(Any, 1.5)))),
    attack("has a steady window beyond 64 bits", fact(windows_ns=SessionWindows(steady=(0, 2**70)))),
    attack("matches its clock by a word", fact(clock={"start": "now"})),
    attack("has a probe without channels", fact(probes=[{"kind": "m"}])),
    attack("has a probe with an unknown field", fact(probes=({**asdict(METER), "smell": 1},))),
    attack(
        "has a lone surrogate in a probe's resolution", fact(probes=(replace(METER, resolution="\udce9"),))
    ),
    attack("nests a probe's channels 250 deep", fact(probes=(replace(METER, channels=nested(250)),))),
    attack("gives a number as the reason for an absent meter", fact(probe_reasons={"m": 5})),
    attack("warns by an object", fact(warnings=[{"what": "heat"}])),
]


GOOD = "good"


@pytest.fixture(scope="module")
def statuses(tmp_path_factory) -> dict[str, list[str]]:
    """One run of all of these devices and a good one: by device, after results were read and reported."""
    folder = tmp_path_factory.mktemp("evil")

    def open_device(target):
        changes = CHANGES.get(target.name, {})
        if "open" in changes:
            changes["open"](None)
        return EvilDevice(changes=changes)

    run = experiment(None, open_device, dict.fromkeys([*CHANGES, GOOD]), sessions=2)
    with store_of(run, folder) as store:
        run.store = store
        assert run.run().faults == ()
    judged = judge_folder(folder / "evil", ())
    assert judged.results.warnings == []
    for form in ("json", "md", "csv"):
        export(judged, folder / f"report.{form}")
    records = {trial.target.name: judged.results.session_records(trial.key) for trial in run.plan.trials}
    for record in itertools.chain.from_iterable(records.values()):
        assert (record.failure is None) == (record.status == "ok")
    return {name: [record.status for record in kept] for name, kept in records.items()}


@pytest.mark.parametrize(("what", "status"), ATTACKS)
def test_an_evil_device_costs_its_own_sessions(statuses, what, status):
    assert set(statuses[what]) == {status}
    assert statuses[GOOD] == ["ok", "ok"]


@pytest.mark.attack("a device gives a window that cannot be after sound ones: those are kept")
def test_what_came_before_a_bad_window_is_kept(tmp_path):
    changes = windows(inferences=lambda index: 50 if index < 3 else 0)
    run = experiment(None, lambda target: EvilDevice(changes=changes), {"evil": None}, sessions=1)
    with store_of(run, tmp_path) as store:
        run.store = store
        run.run()
    results = judge_folder(tmp_path / "evil", ()).results
    sessions = results.session_records(run.plan.trials[0].key)
    assert {record.status for record in sessions} == {"protocol_error"}
    assert results.windows["window"].tolist() == [0, 1, 2] * len(sessions)


def test_a_score_that_is_no_number_is_told_with_its_pass_stage_and_fix(tmp_path):
    changes = {"pass": lambda one: scored(one, np.nan)}
    run = experiment(None, lambda target: EvilDevice(changes=changes), {"evil": None}, sessions=1)
    with store_of(run, tmp_path) as store:
        run.store = store
        run.run()
    results = judge_folder(tmp_path / "evil", ()).results
    failure = results.session_records(run.plan.trials[0].key)[0].failure
    assert failure is not None and failure.stage == "measure" and failure.fix
    assert "pass 1" in failure.what and "1 of 6 rows" in failure.why
    assert set(results.passes["pass"]) == {0}  # what came before it is kept
