"""Verdicts of sessions that other programs disturbed: a pass stands, a fail is judged again without them."""

from dataclasses import replace

import pytest

from edgebench.judge import cautions
from edgebench.judge import summarise as summarising
from edgebench.judge.decision import settled_by
from edgebench.judge.figure import Certainty
from edgebench.judge.summarise import summarise, trial_json
from edgebench.judge.verdict import exit_code, is_settled, judge
from tests.backends.replaying import replay, scenario
from tests.fit.summaries import meter, profile, summary, verdict

CALM = ((1.0, 1.01), (1.02, 1.01), (0.98, 0.99))
DISTURBED = ((1.6, 1.61), (1.55, 1.56), (1.7, 1.72))


def test_a_fail_from_disturbed_sessions_alone_is_undecided():
    trial = summary(DISTURBED * 3, interfered=(9, 9))
    judged = verdict(trial, quantity="image_s", limit=1.2)
    assert (judged.verdict, judged.low > 1.2) == ("inconclusive", True)
    assert "9 of 9 sessions, which other programs disturbed" in judged.reason
    assert "0 without them are too few" in judged.reason
    assert [exit_code([judged], [trial], strict) for strict in (False, True)] == [0, 4]
    assert "without other programs" in settled_by(trial, judged)
    limit = profile(quantity="image_s", limit=1.2).requirements[0]
    assert not is_settled(trial, limit, Certainty(0.95, 0.95))


@pytest.mark.parametrize(
    ("limit", "word", "code"), [(1.1, "pass", 0), (1.01, "inconclusive", 0), (0.9, "fail", 3)]
)
def test_a_fail_is_judged_again_without_the_disturbed_sessions(limit, word, code):
    slow, slower, slowest = DISTURBED
    sessions = tuple(each for calm in CALM for each in (slow, calm, slower, slowest))
    trial = summary(sessions, interfered=(9, 12), undisturbed=summary(CALM))
    whole = replace(trial, interfered=(0, 0), undisturbed=None)
    assert verdict(whole, quantity="image_s", limit=limit).verdict == "fail"
    judged = verdict(trial, quantity="image_s", limit=limit)
    assert (judged.verdict, judged.value) == (word, pytest.approx(1.0017, abs=1e-3))
    assert judged.reason.startswith("without 9 of 12 sessions, which other programs disturbed: ")
    assert exit_code([judged], [trial], False) == code


def test_a_pass_of_disturbed_sessions_stands():
    trial = summary(DISTURBED, interfered=(3, 3))
    judged = verdict(trial, quantity="image_s", limit=2.5)
    assert (judged.verdict, "disturbed" in judged.reason) == ("pass", False)


@pytest.mark.parametrize(
    ("requirement", "word"),
    [
        ({"quantity": "power_mean_w", "limit": 2}, "inconclusive"),
        ({"quantity": "power_peak_w", "limit": 2, "averaging_s": 1}, "inconclusive"),
        ({"quantity": "energy_j", "limit": 2}, "inconclusive"),
        ({"quantity": "load_s", "limit": 1}, "inconclusive"),
        ({"quantity": "accuracy", "limit": 0.9}, "fail"),
        ({"quantity": "mass_g", "limit": 10}, "fail"),
        ({"quantity": "memory_bytes", "limit": 1}, "fail"),
    ],
)
def test_disturbance_excuses_times_and_power_and_nothing_else(requirement, word):
    trial = summary(
        DISTURBED,
        power=(meter(),),
        accuracy=(10, 100),
        mass_g=100.0,
        memory_bytes_values=(10, 11, 12),
        load_s_values=(2.0, 2.1, 2.2),
        interfered=(3, 3),
    )
    assert verdict(replace(trial, interfered=(0, 0)), **requirement).verdict == "fail"
    assert verdict(trial, **requirement).verdict == word


INTERFERENCE = (
    "telemetry = { rate_hz = 10 }\ninterference = { involuntary_per_s = 200, waiting_percent = 20 }\n"
)


def test_sessions_with_interference_fail_no_limit(session_cache, tmp_path):
    results = replay(session_cache, tmp_path, scenario(tmp_path, INTERFERENCE), sessions=4, passes=10)
    [trial] = summarise(results)
    assert (trial.interfered, trial.undisturbed) == ((4, 4), None)
    [judged] = judge(trial, profile(quantity="image_s", limit=0.1))
    assert (judged.verdict, exit_code([judged], [trial], False)) == ("inconclusive", 0)


def test_a_trial_knows_its_sessions_without_interference(session_cache, tmp_path, monkeypatch):
    results = replay(session_cache, tmp_path, scenario(tmp_path), sessions=5, passes=10)
    observe = cautions.observe

    def disturbed(records, probes):
        seen = observe(records, probes)
        busy = {1, 3}
        return tuple(
            replace(one, stolen_share=0.5) if record.n in busy else one
            for record, one in zip(records, seen, strict=True)
        )

    monkeypatch.setattr(summarising, "observe", disturbed)
    [trial] = summarise(results)
    rest = trial.undisturbed
    assert trial.interfered == (2, 5)
    assert rest.image_s_values == tuple(trial.image_s_values[n] for n in (0, 2, 4))
    assert (rest.interfered, rest.undisturbed, rest.status) == ((0, 3), None, "done")
    assert not {"interfered", "undisturbed"} & set(trial_json(trial))
    [judged] = judge(trial, profile(quantity="image_s", limit=0.1))
    assert judged.verdict == "fail"
    assert judged.reason.startswith("without 2 of 5 sessions, which other programs disturbed: ")
