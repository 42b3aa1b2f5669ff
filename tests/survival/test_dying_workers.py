"""A worker that is killed in every stage: its session says where, the others go on, nothing stays behind."""

import psutil
import pytest

from edgebench.judge.judged import judge_folder
from tests.survival.mounts import sessions_of
from tests.survival.small import Small

pytestmark = pytest.mark.slow

# The first good session predicts the images, and no later one does: it comes first.
STAGES = ("predict", "import", "load", "golden", "scene", "first", "warmup", "steady", "end")
TOLD = {"import": "load", "first": "measure", "warmup": "measure", "steady": "measure"}

DYING = f"""

_number = int(os.environ["EDGEBENCH_SESSION_NUMBER"])
_stages = {STAGES!r}
_fate = _stages[_number // 2] if _number % 2 == 0 and _number // 2 < len(_stages) else ""


def _die_in(stage):
    if stage == _fate:
        os.kill(os.getpid(), signal.SIGKILL)


_die_in("import")
_noting = load


def load(path, options):
    _die_in("load")
    model = _noting(path, options)
    begin, close = model.begin, model.close
    measured = iter(("first", "warmup", "steady"))

    def beginning(stage):
        begin(stage)
        _die_in(next(measured, "steady") if stage == "measure" else stage)

    def closing():
        close()
        _die_in("end")

    model.begin, model.close = beginning, closing
    model.scene = lambda patches: _die_in("scene")
    return model
"""


@pytest.mark.attack("workers are killed in every stage of a session: each costs its session and no other")
def test_a_worker_that_dies_in_any_stage_costs_its_session_and_no_other(own):
    """Every second session's worker is killed, each in another stage, and each turn is tried twice."""
    before = set(psutil.Process().children(recursive=True))  # of other tests, such as their sshd
    small = Small(own, sessions=11, precisions=("int8",), extra=DYING)
    assert not small.run("one", resume=False).interrupted
    folder = small.results / "one"
    judged = judge_folder(folder)
    [trial] = judged.trials
    records = {record.n: record for record in judged.results.session_records(trial.key)}
    assert sessions_of(folder) == list(range(len(records)))
    for at, stage in enumerate(STAGES):
        record = records[2 * at]
        if stage == "end":
            assert record.status == "ok"  # everything had been measured
            continue
        assert record.status == "crash", stage
        assert record.failure is not None
        assert (record.failure.stage, record.failure.signal) == (TOLD.get(stage, stage), "SIGKILL")
    others = [record for n, record in records.items() if n % 2 or n >= 2 * len(STAGES)]
    assert {record.status for record in others} == {"ok"}
    ok = [n for n, record in records.items() if record.status == "ok"]
    assert len(trial.estimate("image_s").sessions) == len(ok)
    assert len(trial.failures) == len(STAGES) - 1
    # What a session had measured before its worker died is kept beside its failure.
    passes = judged.results.passes
    assert {0, 2 * STAGES.index("steady")} <= set(passes["session"])
    assert sorted(n for _, n in small.noted()) == sorted({*ok})
    assert set(psutil.Process().children(recursive=True)) <= before
