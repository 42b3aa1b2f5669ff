import pytest

from edgebench.judge.estimates import STATED
from edgebench.judge.verdict import is_settled
from edgebench.records.target import DeclaredBoot
from tests.fit.summaries import profile, summary, verdict


@pytest.mark.parametrize(
    ("kind", "limit", "word", "reason"),
    [
        ("maximum", 30, "pass", "the declared maximum boot time of 25 s (sheet) meets the limit"),
        ("maximum", 20, "inconclusive", "may never be reached"),
        ("typical", 20, "fail", "the declared typical boot time of 25 s (sheet) misses the limit"),
        ("typical", 30, "inconclusive", "it can fail this limit, never pass it"),
    ],
)
def test_a_declared_boot_passes_where_it_is_a_bound_and_fails_where_it_is_usual(kind, limit, word, reason):
    trial = summary(boot_s=DeclaredBoot(25.0, kind, "sheet"))
    judged = verdict(trial, quantity="boot_s", limit=limit)
    assert (judged.verdict, judged.value, judged.declared, judged.margin) == (word, 25.0, kind, limit - 25)
    assert reason in judged.reason
    assert is_settled(trial, profile(quantity="boot_s", limit=limit).requirements[0], STATED)


def test_what_nobody_declared_is_unknown():
    judged = verdict(summary(), quantity="boot_s", limit=30)
    assert (judged.verdict, judged.declared) == ("unknown", "")
    assert judged.reason == "the target's description gives no boot time"


def test_another_machine_than_the_declared_board_is_said():
    doubts = {"boot_s": "the machine was a ThinkPad"}
    trial = summary(boot_s=DeclaredBoot(25.0, "maximum", "sheet"), board_doubts=doubts)
    assert verdict(trial, quantity="boot_s", limit=30).reason.endswith("; the machine was a ThinkPad")
