import pytest

from edgebench.judge.metrics.board import boot_estimate
from edgebench.judge.trial import STATED
from edgebench.judge.verdicts.verdict import is_settled
from edgebench.records.target import DeclaredBoot
from tests.judge.trials import profile, trial, verdict


@pytest.mark.parametrize(
    ("kind", "limit", "word", "reason"),
    [
        ("maximum", 30, "pass", "meets the limit; declared maximum boot time of 25 s (sheet)"),
        ("maximum", 20, "inconclusive", "may never be reached"),
        ("typical", 20, "fail", "misses the limit; declared typical boot time of 25 s (sheet)"),
        ("typical", 30, "inconclusive", "it can fail this limit, never pass it"),
    ],
)
def test_a_declared_boot_passes_where_it_is_a_bound_and_fails_where_it_is_usual(kind, limit, word, reason):
    declared = trial(estimates={"boot_s": boot_estimate(DeclaredBoot(25.0, kind, "sheet"))})
    judged = verdict(declared, quantity="boot_s", limit=limit)
    assert (judged.word, judged.estimate.value, judged.margin) == (word, 25.0, limit - 25)
    assert judged.estimate.basis == f"declared {kind}"
    assert reason in judged.reason
    assert is_settled(declared, profile(quantity="boot_s", limit=limit).requirements[0], STATED)


def test_what_nobody_declared_is_unknown():
    undeclared = trial(estimates={"boot_s": boot_estimate(None)})
    judged = verdict(undeclared, quantity="boot_s", limit=30)
    assert (judged.word, judged.estimate.basis) == ("unknown", "")
    assert judged.reason == "the target's description gives no boot time"


def test_another_machine_than_the_declared_board_is_said():
    doubted = boot_estimate(DeclaredBoot(25.0, "maximum", "sheet"), "the machine was a ThinkPad")
    judged = verdict(trial(estimates={"boot_s": doubted}), quantity="boot_s", limit=30)
    assert judged.reason.endswith("; the machine was a ThinkPad")
