"""Mass and size that were taken from a board, and a machine that is another."""

from dataclasses import replace

import pytest

from edgebench.judge.cautions import board_doubts, cautions
from edgebench.judge.latency import SteadyPasses
from edgebench.judge.trial import Estimate, EstimateKey
from edgebench.records.stored import SessionRecord
from edgebench.records.target import DeclaredBoard, Target
from tests.judge.trials import judge, profile, trial

PI = Target(
    name="pi",
    device="cpu",
    mass_g=46.0,
    size_mm=(85.0, 56.0, 17.0),
    boards=(DeclaredBoard(title="Raspberry Pi 4 Model B", models=("Raspberry Pi 4 Model B",)),),
    from_boards=("mass_g", "size_mm"),
)


def session(board):
    return SessionRecord(
        trial="0" * 16, n=0, round=0, status="ok", started_utc="2025-03-01T12:00:00Z", duration_s=1.0,
        device={"board": board},
    )  # fmt: skip


def test_a_machine_that_is_the_board_leaves_no_doubt():
    assert board_doubts(PI, [session("Raspberry Pi 4 Model B Rev 1.4")] * 3) == {}
    assert board_doubts(PI, []) == {}
    assert board_doubts(None, [session(None)]) == {}
    assert cautions((), SteadyPasses(), board_doubts={}) == ()


@pytest.mark.parametrize(
    ("board", "words"),
    [("ThinkPad", "calls itself ThinkPad"), (None, "does not say what it is"), (7, "does not say what")],
)
def test_another_machine_is_said_at_both_verdicts_and_once_among_the_warnings(board, words):
    doubts = board_doubts(PI, [session("Raspberry Pi 4 Model B Rev 1.4"), session(board)])
    assert set(doubts) == {"mass_g", "size_mm"}
    assert PI.size_mm and PI.mass_g
    stages = zip(("longest", "middle", "shortest"), PI.size_mm, strict=True)
    keys = {EstimateKey("size_mm", "declared", stage=stage): side for stage, side in stages}
    keys[EstimateKey("mass_g", "declared")] = PI.mass_g
    declared = trial(
        estimates={
            key: Estimate.exact(number, basis="declared").with_notes(doubts[key.metric])
            for key, number in keys.items()
        }
    )
    for quantity, limit in (("mass_g", 50), ("mass_g", 40), ("size_mm", (90, 60, 20))):
        [verdict] = judge(declared, profile(quantity=quantity, limit=limit))
        assert verdict.word in ("pass", "fail")
        assert "the machine was declared as Raspberry Pi 4 Model B" in verdict.reason
        assert words in verdict.reason
    [caution] = cautions((), SteadyPasses(), board_doubts=doubts)
    assert caution.sentence().startswith("not confirmed: mass and size; the machine was declared as Raspb")


def test_a_stick_without_its_host_is_said():
    stick = replace(PI, boards=(), from_boards=("mass_g",))
    doubts = board_doubts(stick, [session("ThinkPad")])
    assert list(doubts) == ["mass_g"] and "host that they are plugged into is not counted" in doubts["mass_g"]
    assert board_doubts(replace(stick, from_boards=()), [session(None)]) == {}


def test_a_figure_of_its_own_is_not_doubted():
    weighed = replace(PI, mass_g=90.0, from_boards=("size_mm",))
    assert set(board_doubts(weighed, [session("ThinkPad")])) == {"size_mm"}
