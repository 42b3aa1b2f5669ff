"""Verdicts on trials made by hand."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgebench.errors import EXIT_NOT_MET, EXIT_OK, EXIT_TRIALS_FAILED, EXIT_UNDECIDED
from edgebench.judge.requirements.profile import Profile, load_profile
from edgebench.judge.trial import Estimate
from edgebench.judge.verdicts.verdict import exit_code, judge_all, overall, word_of
from edgebench.stats.compare import wilson
from edgebench.stats.percentiles import percentile_over_sessions
from tests.judge.trials import STEADY, exact, judge, meter, size, trial, verdict

WINDOWS = {"image_s": Estimate(reason="measured in windows of one resident patch")}


@pytest.mark.parametrize(
    ("estimate", "limit", "at_least", "word"),
    [
        (Estimate(1.0, 0.9, 1.1), 1.1, False, "pass"),
        (Estimate(1.0, 0.9, 1.1), 1.0, False, "inconclusive"),
        (Estimate(1.0, 0.9, 1.1), 0.9, False, "inconclusive"),
        (Estimate(1.0, 0.9, 1.1), 0.89, False, "fail"),
        (Estimate(1.0, 0.9, 1.1), 0.9, True, "pass"),
        (Estimate(1.0, 0.9, 1.1), 1.2, True, "fail"),
        (Estimate(1.0, 0.9, 1.1, objection="it sees a part"), 1.2, False, "inconclusive"),
        (Estimate(1.0, 0.9, 1.1, objection="it sees a part"), 0.8, False, "fail"),
        (Estimate(low=5.0, strict=True), 5.0, False, "fail"),
        (Estimate(low=5.0), 5.0, False, "inconclusive"),
        (Estimate(high=5.0, strict=True), 5.0, False, "pass"),
        (Estimate(n=3), 1.0, False, "inconclusive"),
        (Estimate(), 1.0, False, "unknown"),
        (Estimate.exact(5.0), 5.0, False, "pass"),
        (Estimate.exact(5.0), 4.9, False, "fail"),
    ],
)
def test_the_ends_of_an_estimate_decide(estimate, limit, at_least, word):
    assert word_of(estimate, limit, at_least) == word


def test_an_interval_decides_with_its_margin():
    judged, latency = verdict(trial(), limit=1.5), trial().estimate("image_s")
    assert (judged.word, judged.estimate, judged.margin) == ("pass", latency, pytest.approx(0.5, abs=0.01))
    assert (judged.trial, judged.profile, judged.requirement.name) == ("0123456789abcdef", "mine", "it")
    assert (verdict(trial(), limit=0.5).word, verdict(trial(), limit=latency.high).word) == ("fail", "pass")
    near = verdict(trial(), limit=latency.low)
    assert (near.word, near.reason) == ("inconclusive", "the limit is inside the 95 % interval")


def test_numbers_are_in_base_units():
    judged = verdict(trial(), unit="ms", limit=1500)
    assert (judged.word, judged.limit, judged.margin) == ("pass", 1.5, pytest.approx(0.5, abs=0.01))


def test_sessions_that_resemble_the_one_before_them_decide_less():
    medians = (1.0, 1.03, 1.02, 1.05, 1.06, 1.03, 1.04, 1.0, 0.99, 1.01)
    shuffled = tuple((medians[at],) for at in (0, 9, 2, 7, 4, 5, 6, 3, 8, 1))
    assert verdict(trial(shuffled), limit=1.05).word == "pass"
    judged = verdict(trial(tuple((median,) for median in medians)), limit=1.05)
    assert judged.word == "inconclusive" and "resembles the one before it" in judged.reason


@pytest.mark.parametrize("limit", [0.1, 100.0])
def test_too_few_sessions_decide_nothing(limit):
    judged = verdict(trial(STEADY[:2]), limit=limit)
    assert judged.word == "inconclusive" and judged.reason.startswith("2 sessions are too few")
    assert judged.estimate.value is not None and judged.estimate.low is None


def test_a_missing_estimate_is_unknown_with_the_reason():
    judged = verdict(trial(()), limit=1.0)
    assert (judged.word, judged.margin, judged.reason) == ("unknown", None, "no steady pass")


def test_a_shares_interval_decides_by_its_number_of_sessions():
    def failed(k, n, **changes):
        low, high = wilson(k, n)
        estimate = Estimate(k / n, low, high, n=n, notes=(f"{k} failed of {n} sessions",))
        return trial(estimates={"failed_sessions": estimate}, **changes)

    asked = {"quantity": "failed_sessions", "unit": "%"}
    words = [
        verdict(failed(*counts), limit=limit, **asked).word for *counts, limit in ((0, 400, 1), (0, 5, 5))
    ]
    assert words == ["pass", "inconclusive"]
    judged = verdict(failed(4, 5), limit=5, **asked)
    assert judged.word == "fail" and judged.reason.endswith("; 4 failed of 5 sessions")
    # A trial whose sessions all failed is judged by that alone.
    crashed = failed(5, 5, status="failed", reason="it crashed")
    assert [verdict(crashed, limit=0.1, **asked).word, verdict(crashed, limit=1.5).word] == [
        "fail",
        "unknown",
    ]


@pytest.mark.parametrize(("limit", "word"), [(0.9, "pass"), (0.95, "inconclusive"), (0.99, "fail")])
def test_accuracy_is_at_least(limit, word):
    judged = verdict(trial(accuracy=(950, 1000)), quantity="accuracy", limit=limit)
    assert (judged.word, judged.margin) == (word, pytest.approx(0.95 - limit))
    assert verdict(trial(accuracy=(95, 100)), quantity="accuracy", unit="%", limit=80).word == "pass"


# Tails and maxima


def _many(n, sessions=3, top=1.0):
    values = [1.0 + 0.0001 * i for i in range(n - 1)] + [top]
    return tuple(tuple(values[at::sessions]) for at in range(sessions))


@pytest.mark.parametrize(("n", "limit", "word"), [
    (28, 5.0, "inconclusive"), (30, 5.0, "pass"), (30, 0.5, "fail"), (30, 1.0026, "inconclusive"),
])  # fmt: skip
def test_a_percentile_takes_its_passes(n, limit, word):
    judged = verdict(trial(_many(n)), statistic="p90", limit=limit)
    assert judged.word == word
    if n == 28:
        assert judged.reason == "n too small: p90 takes 29 values at 95 % confidence and there are 28"


@pytest.mark.parametrize("statistic", ["p99", "max"])
def test_a_stall_that_too_few_sessions_may_miss_forbids_a_pass(statistic):
    for sessions, share in ((3, 34), (5, 17), (8, 6)):
        judged = verdict(trial(_many(400, sessions)), statistic=statistic, limit=5.0)
        assert (judged.word, judged.estimate.high) == ("inconclusive", None)
        assert f"in {share} % of trials of {sessions} sessions: a tail takes 9" in judged.reason
    assert verdict(trial(_many(400, 9)), statistic=statistic, limit=5.0).word == "pass"
    assert verdict(trial(_many(400, 3)), statistic=statistic, limit=0.5).word == "fail"


def test_one_pass_above_it_fails_a_maximum():
    judged = verdict(trial(_many(9, top=2.0)), statistic="max", limit=1.5)
    assert (judged.word, judged.estimate.value, judged.margin) == ("fail", 2.0, -0.5)
    assert "the highest of 9 passes" in judged.reason


def test_a_maximum_passes_only_where_n_speaks_for_all():
    few = verdict(trial(_many(298, 9)), statistic="max", limit=2.0)
    assert few.word == "inconclusive"
    assert "298 passes cannot speak for all: a maximum takes 299" in few.reason
    enough = verdict(trial(_many(299, 9)), statistic="max", limit=2.0)
    assert enough.word == "pass" and "at most 1 % of all passes lie above the upper bound" in enough.reason


def test_a_maximum_of_sessions_that_differ_speaks_for_sessions_that_were_not_measured():
    levels = (1.0, 1.1, 1.2) * 3
    values = tuple(tuple(level + 0.0001 * n for n in range(100)) for level in levels)
    near = verdict(trial(values), statistic="max", limit=1.3)
    assert (near.word, near.estimate.low) == ("inconclusive", pytest.approx(1.2099))
    assert near.estimate.high == percentile_over_sessions(values, 0.99).high
    assert verdict(trial(values), statistic="max", limit=3.0).word == "pass"


# Parts, stamps, and numbers of the board


def test_an_untimed_image_s_is_above_infer_s():
    windows, low = trial(estimates=WINDOWS), trial().estimate("infer_s").low
    windows = replace(
        windows, values={key: kept for key, kept in windows.values.items() if key.metric != "image_s"}
    )
    failed = verdict(windows, limit=low * 0.999)
    assert (failed.word, failed.margin, failed.estimate.low) == ("fail", None, low)
    assert "infer_s, a part of image_s" in failed.reason and "windows" in failed.reason
    for statistic in ("median", "p99"):
        assert verdict(windows, limit=low * 1.001, statistic=statistic).word == "unknown"


def test_stamps_that_are_too_short_fail_a_limit_and_pass_none():
    doubted = trial(doubts={"stamps": "the stamps are short"}, values={"memory_bytes": ((5.0,),) * 3})
    passed = verdict(doubted, limit=1.5)
    assert (passed.word, passed.reason, passed.estimate.high) == (
        "inconclusive",
        "the stamps are short",
        None,
    )
    assert verdict(doubted, limit=0.5).word == "fail"
    assert verdict(doubted, quantity="memory_bytes", limit=10).word == "pass"


def test_times_of_another_machine_are_not_the_declared_boards():
    other = trial(doubts={"machine": "it is another board"}, estimates={"mass_g": exact(5)})
    assert (verdict(other, limit=1.5).word, verdict(other, limit=1.5).reason) == (
        "unknown",
        "it is another board",
    )
    assert verdict(other, quantity="mass_g", limit=9).word == "pass"


def test_declared_numbers_are_exact():
    declared = trial(estimates={"mass_g": exact(140), "artifact_bytes": exact(1000)})
    assert verdict(declared, quantity="mass_g", limit=140).margin == 0
    assert verdict(declared, quantity="mass_g", limit=0.1, unit="kg").word == "fail"
    assert verdict(declared, quantity="artifact_bytes", limit=999).margin == -1


@pytest.mark.parametrize(
    ("sides", "word", "margin", "limit"),
    [
        ((80, 10, 70), "pass", 0.0, 80),
        ((9, 69, 60), "pass", 1.0, 10),
        ((11, 20, 20), "fail", -1.0, 10),
        ((71, 80, 10), "fail", -1.0, 70),
    ],
)
def test_a_body_may_be_turned_and_the_side_with_the_least_margin_decides(sides, word, margin, limit):
    judged = verdict(trial(estimates=size(*sides)), quantity="size_mm", limit=[10, 70, 80])
    assert (judged.word, judged.margin, judged.limit) == (word, pytest.approx(margin), limit)


def test_the_first_of_several_estimates_decides_unless_another_fails_or_passes():
    board = meter()
    chip = meter(name="soc:0 vdd", scope="chip", mean_w=(5.0, 5.01, 4.99), peak_w=5.5)
    both = trial(power=(board, chip))
    asked = {"quantity": "power_mean_w", "limit": 4.0}
    assert verdict(trial(power=(board,)), **asked).word == "pass"
    assert (verdict(both, **asked).word, verdict(both, **asked).estimate.basis) == ("fail", "chip")


# Trials and profiles as a whole


@pytest.mark.parametrize("status", ["failed", "unsupported", "not_run"])
def test_a_trial_without_a_session_is_unknown(status):
    unmeasured = trial(status=status, reason="because of <this>", estimates={"mass_g": exact(10)})
    verdicts = judge(unmeasured, load_profile("disco-realtime"))
    assert [judged.word for judged in verdicts] == ["unknown"] * 4
    assert all("because of <this>" in judged.reason and judged.margin is None for judged in verdicts)
    assert verdict(trial(marks=("emulated",)), limit=9.0).word == "unknown"


def test_every_trial_meets_every_profile():
    trials = [trial(), trial(key="f" * 16)]
    verdicts = judge_all(trials, [load_profile("disco-realtime"), load_profile("disco-arctic")])
    assert [judged.profile for judged in verdicts] == (["disco-realtime"] * 4 + ["disco-arctic"] * 4) * 2
    assert [judged.trial for judged in verdicts] == ["0123456789abcdef"] * 8 + ["f" * 16] * 8
    assert judge_all([], []) == []


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["pass", "fail", "unknown", "inconclusive"], "fail"),
        (["pass", "inconclusive", "unknown"], "unknown"),
        (["inconclusive", "pass"], "inconclusive"),
        (["pass", "pass"], "pass"),
    ],
)
def test_the_weakest_word_is_the_profiles(words, word):
    judged = verdict(trial(), limit=1.5)
    (whole,) = overall([replace(judged, word=one) for one in words])
    assert (whole.trial, whole.profile, whole.verdict) == (judged.trial, "mine", word)
    assert len(whole.verdicts) == len(words)


@pytest.mark.parametrize(
    ("words", "changes", "strict", "code"),
    [
        (["pass"], {}, True, EXIT_OK),
        ([], {}, True, EXIT_OK),
        (["pass", "inconclusive", "unknown"], {}, False, EXIT_OK),
        (["pass", "inconclusive"], {}, True, EXIT_UNDECIDED),
        (["pass", "unknown"], {}, True, EXIT_UNDECIDED),
        (["unknown", "fail", "pass"], {}, True, EXIT_NOT_MET),
        (["fail"], {"status": "failed"}, True, EXIT_TRIALS_FAILED),
        (["pass"], {"status": "partial", "failures": ("session 001: crash",)}, False, EXIT_TRIALS_FAILED),
        (["pass"], {"status": "partial"}, False, EXIT_OK),
        (["pass"], {"failures": ("session 001: crash",)}, False, EXIT_OK),
        (["pass"], {"status": "unsupported"}, False, EXIT_OK),
        (["pass"], {"status": "unsupported", "requested": True}, False, EXIT_TRIALS_FAILED),
    ],
)
def test_exit_codes(words, changes, strict, code):
    verdicts = [replace(verdict(trial(), limit=1.5), word=word) for word in words]
    assert exit_code(verdicts, [trial(), trial(**changes)], strict=strict) == code


def test_a_wish_that_is_missed_is_shown_and_spoils_nothing():
    def need_and_wish(need, wish):
        wished = {"name": "wish", "statistic": "max", "limit": wish, "wanted": True}
        record = {"name": "mine", "requirements": [{"name": "need", "limit": need}, wished]}
        return judge(trial(), Profile.from_record(record))

    verdicts = need_and_wish(1.5, 0.5)
    assert [judged.word for judged in verdicts] == ["pass", "fail"]
    assert overall(verdicts)[0].verdict == "pass" and not overall(verdicts)[0].missed
    assert exit_code(verdicts, [trial()], strict=True) == EXIT_OK
    need, wish = need_and_wish(0.5, 9.0)
    assert overall([need, replace(wish, word="pass")])[0].verdict == "fail"


_SESSIONS = st.lists(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12).map(tuple), min_size=1, max_size=5
).map(tuple)
_LIMITS = st.floats(1e-4, 1e4)
_STATISTICS = st.sampled_from(["median", "p90", "p99", "max"])
_ORDER = ["fail", "inconclusive", "pass"]


@settings(deadline=None)
@given(_SESSIONS, _LIMITS, _STATISTICS)
def test_the_margins_sign_agrees_with_the_verdict(sessions, limit, statistic):
    judged = verdict(trial(sessions), statistic=statistic, limit=limit)
    if judged.word == "pass":
        assert judged.margin is not None and judged.margin >= 0
    if judged.word == "fail" and judged.margin is not None:
        assert judged.margin < 0


@settings(deadline=None)
@given(_SESSIONS, _LIMITS, st.floats(1.0, 100.0), _STATISTICS)
def test_widening_a_limit_never_makes_it_harder(sessions, limit, factor, statistic):
    tight, wide = (
        verdict(trial(sessions), statistic=statistic, limit=bound).word for bound in (limit, limit * factor)
    )
    assert _ORDER.index(wide) >= _ORDER.index(tight)


@settings(deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.01, 1.0))
def test_lowering_the_least_accuracy_never_makes_it_harder(share, limit):
    hard = verdict(trial(accuracy=share), quantity="accuracy", limit=limit)
    easy = verdict(trial(accuracy=share), quantity="accuracy", limit=limit / 2)
    assert _ORDER.index(easy.word) >= _ORDER.index(hard.word)
