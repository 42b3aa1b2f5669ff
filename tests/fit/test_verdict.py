from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgebench.errors import EXIT_NOT_MET, EXIT_OK, EXIT_TRIALS_FAILED, EXIT_UNDECIDED
from edgebench.judge.decision import settled_by
from edgebench.judge.profile import Profile, load_profile
from edgebench.judge.trial_summary import AccuracyDrop, FailedSessions
from edgebench.judge.verdict import exit_code, judge, judge_all, overall
from edgebench.stats.compare import wilson
from edgebench.stats.percentiles import percentile_over_sessions
from tests.fit.summaries import STEADY, meter, summary, verdict


def test_the_whole_interval_under_the_limit_passes():
    judged = verdict(summary(), limit=1.5)
    interval = summary().image_s
    assert judged.verdict == "pass"
    assert (judged.value, judged.low, judged.high) == (interval.median, interval.low, interval.high)
    assert judged.margin == pytest.approx(0.5)
    assert (judged.trial, judged.profile, judged.requirement) == ("0123456789abcdef", "mine", "it")
    assert (judged.quantity, judged.statistic, judged.unit, judged.limit) == ("image_s", "median", "s", 1.5)


def test_the_whole_interval_over_the_limit_fails_with_a_negative_margin():
    judged = verdict(summary(), limit=0.5)
    assert (judged.verdict, judged.margin) == ("fail", pytest.approx(-0.5))


def test_a_limit_inside_the_interval_is_inconclusive():
    judged = verdict(summary(), limit=1.001)
    assert (judged.verdict, judged.reason) == ("inconclusive", "the limit is inside the 95 % interval")


def test_sessions_that_resemble_the_one_before_them_decide_less():
    medians = (1.0, 1.03, 1.02, 1.05, 1.06, 1.03, 1.04, 1.0, 0.99, 1.01)
    shuffled = tuple((medians[at],) for at in (0, 9, 2, 7, 4, 5, 6, 3, 8, 1))
    resembling = summary(tuple((median,) for median in medians))
    assert verdict(summary(shuffled), limit=1.05).verdict == "pass"
    judged = verdict(resembling, limit=1.05)
    assert (judged.low, judged.high) == (resembling.image_s.low, resembling.image_s.high)
    assert (judged.verdict, judged.reason) == (
        "inconclusive",
        "the limit is inside the 95 % interval; "
        "each session resembles the one before it: the interval is 2.1 times as wide for that",
    )
    # That of a meter, too, and every other value a session.
    means_w = tuple(3 * median for median in medians)
    metered = summary(power=(meter(mean_w_sessions=means_w, mean_w=3.07),))
    judged = verdict(metered, quantity="power_mean_w", limit=3.15)
    assert judged.verdict == "inconclusive" and "resembles" in judged.reason


def test_a_limit_on_the_very_bound():
    high, low = summary().image_s.high, summary().image_s.low
    assert verdict(summary(), limit=high).verdict == "pass"
    assert verdict(summary(), limit=low).verdict == "inconclusive"


@pytest.mark.parametrize("limit", [0.1, 100.0])
def test_too_few_sessions_decide_nothing(limit):
    judged = verdict(summary(STEADY[:2]), limit=limit)
    assert judged.verdict == "inconclusive"
    assert judged.reason.startswith("2 sessions are too few")
    assert judged.value is not None and judged.low is None


def test_infer_s_and_image_s_are_not_mixed():
    trial = summary(infer_s_values=tuple(tuple(value / 2 for value in values) for values in STEADY))
    assert verdict(trial, quantity="infer_s", limit=0.7).verdict == "pass"
    assert verdict(trial, quantity="image_s", limit=0.7).verdict == "fail"


def test_a_missing_figure_is_unknown_with_the_reason():
    judged = verdict(summary(()), limit=1.0)
    assert (judged.verdict, judged.value, judged.margin) == ("unknown", None, None)
    assert "steady pass" in judged.reason
    assert "called infer" in verdict(summary(infer_s_values=()), quantity="infer_s", limit=1.0).reason


@pytest.mark.parametrize("quantity", ["image_s", "infer_s", "load_s", "memory_bytes"])
@pytest.mark.parametrize("wrong", [0.0, -1.0])
def test_what_nothing_takes_passes_no_limit(quantity, wrong):
    values = (1.0, wrong, 1.0)
    trial = summary((values,) * 3, load_s_values=values, memory_bytes_values=values)
    judged = verdict(trial, quantity=quantity, limit=5, unit={"memory_bytes": "MB"}.get(quantity, "s"))
    assert (judged.verdict, judged.value) == ("unknown", None)
    assert judged.reason == f"a session recorded {quantity} = {wrong:g}: only values above 0 are possible"
    assert settled_by(trial, judged) == ""  # no other quantity, and no further session


def test_the_start_of_a_process_is_judged_over_the_sessions():
    trial = summary(start_s_values=(0.4, 0.41, 0.42))
    assert verdict(trial, quantity="start_s", limit=0.5).verdict == "pass"
    assert verdict(trial, quantity="start_s", limit=300, unit="ms").verdict == "fail"


def test_without_a_start_the_reason_is_the_devices():
    measured = verdict(summary(), quantity="start_s", limit=1.0)
    assert (measured.verdict, measured.reason) == (
        "unknown",
        "no finished session says how long a start took that found nothing made before",
    )
    in_windows = summary(image_s=None, infer_s_values=STEADY, infer_s=summary().image_s)
    of_cut_patches = summary(untimed_stages=("patchify",))
    for trial in (in_windows, of_cut_patches):
        resident = verdict(trial, quantity="start_s", limit=1.0)
        assert (resident.verdict, resident.reason) == (
            "unknown",
            "its firmware is resident: no process is started",
        )


def failed(k, n, **changes):
    return summary(failed_sessions=FailedSessions(k, n, *wilson(k, n)), **changes)


def test_the_share_of_failed_sessions_is_judged_by_its_wilson_interval():
    asked = {"quantity": "failed_sessions", "unit": "%"}
    assert verdict(failed(0, 400), limit=1, **asked).verdict == "pass"
    few = verdict(failed(0, 5), limit=5, **asked)
    assert (few.verdict, few.value, few.reason) == (
        "inconclusive",
        0.0,
        "the limit is inside the 95 % interval",
    )
    judged = verdict(failed(4, 5), limit=5, **asked)
    assert (judged.verdict, judged.value) == ("fail", pytest.approx(80.0))
    assert judged.reason.startswith("the whole Wilson interval of 4 failed of 5 sessions misses")


def test_a_trial_whose_sessions_all_failed_is_judged_by_that_alone():
    trial = failed(5, 5, status="failed", reason="it crashed")
    assert verdict(trial, quantity="failed_sessions", limit=0.1).verdict == "fail"
    assert verdict(trial, limit=1.5).verdict == "unknown"
    unprepared = summary(status="failed", reason="no compiler")
    assert (
        verdict(unprepared, quantity="failed_sessions", limit=0.1).reason == "the trial failed: no compiler"
    )


def test_an_accuracy_drop_is_judged_by_its_paired_interval():
    drop = AccuracyDrop(1.0, 0.4, 1.6, 1000, 2, 12)
    assert verdict(summary(accuracy_drop=drop), quantity="accuracy_drop", limit=2).verdict == "pass"
    assert verdict(summary(accuracy_drop=drop), quantity="accuracy_drop", limit=1).verdict == "inconclusive"
    judged = verdict(summary(accuracy_drop=drop), quantity="accuracy_drop", limit=0.003, unit="1")
    assert (judged.verdict, judged.value) == ("fail", pytest.approx(0.01))
    assert "1000 images (12 right with fp32 alone and 2 with this alone)" in judged.reason
    missing = verdict(summary(accuracy_drop_reason="no fp32"), quantity="accuracy_drop", limit=1)
    assert (missing.verdict, missing.reason) == ("unknown", "no fp32")


def test_units_are_converted():
    judged = verdict(summary(), unit="ms", limit=1500)
    assert (judged.verdict, judged.unit) == ("pass", "ms")
    assert judged.value == pytest.approx(1000) and judged.margin == pytest.approx(500)


def test_a_partial_trial_says_so():
    trial = summary(status="partial", reason="3 of 5 planned sessions are there")
    assert verdict(trial, limit=1.5).reason.endswith("3 of 5 planned sessions are there")


# Tails and maxima


def _many(n, sessions=3, top=1.0):
    values = [1.0 + 0.0001 * i for i in range(n - 1)] + [top]
    return tuple(tuple(values[at::sessions]) for at in range(sessions))


def test_p90_below_its_n_is_inconclusive():
    judged = verdict(summary(_many(28)), statistic="p90", limit=5.0)
    assert (judged.verdict, judged.value) == ("inconclusive", None)
    assert judged.reason == "n too small: p90 takes 29 values at 95 % confidence and there are 28"


@pytest.mark.parametrize(("limit", "word"), [(5.0, "pass"), (0.5, "fail"), (1.0026, "inconclusive")])
def test_p90_from_its_n_on(limit, word):
    assert verdict(summary(_many(30)), statistic="p90", limit=limit).verdict == word


def test_p99_takes_299_passes():
    assert verdict(summary(_many(298, 9)), statistic="p99", limit=5.0).verdict == "inconclusive"
    assert verdict(summary(_many(299, 9)), statistic="p99", limit=5.0).verdict == "pass"


@pytest.mark.parametrize("statistic", ["p99", "max"])
def test_a_stall_that_too_few_sessions_may_miss_forbids_a_pass(statistic):
    """Nine are what shows a stall that hits 30 % of sessions at 95 %; what misses the limit fails at once."""
    for sessions, share in ((3, 34), (5, 17), (8, 6)):
        judged = verdict(summary(_many(400, sessions)), statistic=statistic, limit=5.0)
        assert (judged.verdict, judged.high) == ("inconclusive", None)
        assert judged.value is not None and judged.low is not None
        assert judged.reason == (
            f"a stall in 30 % of sessions leaves no trace in {share} % of trials of {sessions} sessions: "
            "a tail takes 9"
        )
    assert verdict(summary(_many(400, 9)), statistic=statistic, limit=5.0).verdict == "pass"
    assert verdict(summary(_many(400, 3)), statistic=statistic, limit=0.5).verdict == "fail"


def test_a_stall_that_a_session_shows_forbids_a_pass_below_it():
    stalled = (*((1.0,) * 60 for _ in range(8)), (1.0,) * 57 + (4.0,) * 3)
    for statistic in ("p99", "max"):
        assert verdict(summary(stalled), statistic=statistic, limit=3.0).verdict != "pass"


def test_a_tail_from_too_few_sessions_is_inconclusive():
    judged = verdict(summary(_many(60, sessions=2)), statistic="p90", limit=5.0)
    assert (judged.verdict, judged.low) == ("inconclusive", None)
    assert "2 sessions" in judged.reason


def test_one_pass_above_it_fails_a_maximum():
    judged = verdict(summary(_many(9, top=2.0)), statistic="max", limit=1.5)
    assert (judged.verdict, judged.value, judged.margin) == ("fail", 2.0, -0.5)
    assert judged.reason == "the highest of 9 passes misses the limit"


def test_a_maximum_passes_only_where_n_speaks_for_all():
    few = verdict(summary(_many(298, 9)), statistic="max", limit=2.0)
    assert few.verdict == "inconclusive"
    assert "298 passes cannot speak for all: a maximum takes 299" in few.reason
    enough = verdict(summary(_many(299, 9)), statistic="max", limit=2.0)
    assert enough.verdict == "pass"
    assert "at most 1 % of all passes lie above the upper bound, with 95 % confidence" in enough.reason
    assert verdict(summary(_many(400, sessions=1)), statistic="max", limit=2.0).verdict == "inconclusive"


def test_a_maximum_of_sessions_that_differ_speaks_for_sessions_that_were_not_measured():
    levels = (1.0, 1.1, 1.2) * 3
    trial = summary(tuple(tuple(level + 0.0001 * n for n in range(100)) for level in levels))
    near = verdict(trial, statistic="max", limit=1.3)
    assert (near.verdict, near.value, near.low) == ("inconclusive", near.low, pytest.approx(1.2099))
    assert near.high == percentile_over_sessions(trial.image_s_values, 0.99).high
    assert near.high is not None and near.high > 1.4
    assert verdict(trial, statistic="max", limit=3.0).verdict == "pass"
    assert verdict(trial, statistic="max", limit=1.2).verdict == "fail"


def test_a_maximum_of_one_value_a_session_takes_as_many_sessions():
    loads = tuple(1.0 + 0.001 * (n % 7) for n in range(299))
    asked = {"quantity": "load_s", "statistic": "max", "limit": 1.1}
    assert verdict(summary(load_s_values=loads), **asked).verdict == "pass"
    few = verdict(summary(load_s_values=loads[1:]), **asked)
    assert (few.verdict, few.reason.partition(",")[0]) == ("inconclusive", "none exceeds the limit")


# Accuracy, bytes, load, body


@pytest.mark.parametrize(("limit", "word"), [(0.9, "pass"), (0.95, "inconclusive"), (0.99, "fail")])
def test_accuracy_is_at_least(limit, word):
    judged = verdict(summary(accuracy=(950, 1000)), quantity="accuracy", limit=limit)
    assert judged.verdict == word
    assert judged.margin == pytest.approx(0.95 - limit)


def test_accuracy_in_per_cent_and_missing():
    judged = verdict(summary(accuracy=(95, 100)), quantity="accuracy", unit="%", limit=80)
    assert (judged.verdict, judged.value) == ("pass", pytest.approx(95.0))
    missing = verdict(summary(), quantity="accuracy", limit=0.5)
    assert (missing.verdict, missing.reason) == ("unknown", "no images were given")


def test_overlapping_crops_are_said():
    trial = summary(accuracy=(95, 100))
    overlapping = replace(trial, accuracy=replace(trial.accuracy, overlapping=True))
    assert "a little too narrow" in verdict(overlapping, quantity="accuracy", limit=0.5).reason


def test_memory_load_and_artifact():
    trial = summary(memory_bytes_values=(100, 102, 101), load_s_values=(0.1, 0.1, 0.1), artifact_bytes=1000)
    assert verdict(trial, quantity="memory_bytes", limit=200).verdict == "pass"
    assert verdict(trial, quantity="memory_bytes", statistic="max", limit=101).verdict == "fail"
    assert verdict(trial, quantity="memory_bytes", statistic="max", limit=200).verdict == "inconclusive"
    assert verdict(trial, quantity="load_s", limit=0.1).verdict == "pass"
    assert verdict(trial, quantity="load_s", limit=0.05).verdict == "fail"
    assert verdict(trial, quantity="artifact_bytes", limit=1, unit="kB").verdict == "pass"
    assert verdict(trial, quantity="artifact_bytes", limit=999).margin == -1
    for quantity in ("memory_bytes", "load_s", "artifact_bytes"):
        assert verdict(summary(), quantity=quantity, limit=1).verdict == "unknown"


def test_mass_is_what_was_declared():
    trial = summary(mass_g=140.0)
    assert (verdict(trial, quantity="mass_g", limit=150).verdict) == "pass"
    assert verdict(trial, quantity="mass_g", limit=140).margin == 0
    assert verdict(trial, quantity="mass_g", limit=0.1, unit="kg").verdict == "fail"
    unknown = verdict(summary(), quantity="mass_g", limit=150)
    assert (unknown.verdict, unknown.reason) == ("unknown", "the target's description gives no mass")


@pytest.mark.parametrize(
    ("size", "word", "margin"),
    [
        ((80, 10, 70), "pass", 0.0),
        ((9, 69, 60), "pass", 1.0),
        ((11, 20, 20), "fail", -1.0),
        ((71, 80, 10), "fail", -1),
    ],
)
def test_a_body_may_be_turned(size, word, margin):
    judged = verdict(summary(size_mm=tuple(map(float, size))), quantity="size_mm", limit=[10, 70, 80])
    assert (judged.verdict, judged.margin) == (word, pytest.approx(margin))


def test_a_size_nobody_gave_is_unknown():
    assert verdict(summary(), quantity="size_mm", limit=[10, 70, 80]).verdict == "unknown"


# Trials and profiles as a whole


@pytest.mark.parametrize("status", ["failed", "unsupported", "not_run"])
def test_of_a_trial_without_a_session_nothing_is_known(status):
    trial = summary(status=status, reason="because of <this>", mass_g=10.0)
    judgements = judge(trial, load_profile("disco-realtime"))
    assert [judgement.verdict for judgement in judgements] == ["unknown"] * 4
    assert all("because of <this>" in judgement.reason for judgement in judgements)
    assert all(judgement.value is None and judgement.margin is None for judgement in judgements)


def test_every_trial_meets_every_profile():
    trials = [summary(), summary(key="f" * 16)]
    judgements = judge_all(trials, [load_profile("disco-realtime"), load_profile("disco-arctic")])
    assert len(judgements) == 2 * 2 * 4
    assert [judgement.profile for judgement in judgements[:8]] == ["disco-realtime"] * 4 + [
        "disco-arctic"
    ] * 4
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
    judgement = verdict(summary(), limit=1.5)
    (whole,) = overall([replace(judgement, verdict=each) for each in words])
    assert (whole.trial, whole.profile, whole.verdict) == (judgement.trial, "mine", word)
    assert len(whole.verdicts) == len(words)


@pytest.mark.parametrize(
    ("words", "trial", "strict", "code"),
    [
        (["pass"], {}, True, EXIT_OK),
        ([], {}, True, EXIT_OK),
        (["pass", "inconclusive", "unknown"], {}, False, EXIT_OK),
        (["pass", "inconclusive"], {}, True, EXIT_UNDECIDED),
        (["pass", "unknown"], {}, True, EXIT_UNDECIDED),
        (["unknown", "fail", "pass"], {}, True, EXIT_NOT_MET),
        (["fail"], {}, False, EXIT_NOT_MET),
        (["fail"], {"status": "failed"}, True, EXIT_TRIALS_FAILED),
        (["pass"], {"status": "partial", "failures": ("session 001: crash",)}, False, EXIT_TRIALS_FAILED),
        (["pass"], {"status": "partial"}, False, EXIT_OK),
        (["pass"], {"failures": ("session 001: crash",)}, False, EXIT_OK),
        (["pass"], {"status": "unsupported"}, False, EXIT_OK),
        (["pass"], {"status": "unsupported", "requested": True}, False, EXIT_TRIALS_FAILED),
    ],
)
def test_exit_codes(words, trial, strict, code):
    judgement = verdict(summary(), limit=1.5)
    verdicts = [replace(judgement, verdict=word) for word in words]
    assert exit_code(verdicts, [summary(), summary(**trial)], strict=strict) == code


_SESSIONS = st.lists(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12).map(tuple), min_size=1, max_size=5
).map(tuple)
_LIMITS = st.floats(1e-4, 1e4)
_STATISTICS = st.sampled_from(["median", "p90", "p99", "max"])


@settings(deadline=None)
@given(_SESSIONS, _LIMITS, _STATISTICS)
def test_the_margins_sign_agrees_with_the_verdict(sessions, limit, statistic):
    judged = verdict(summary(sessions), statistic=statistic, limit=limit)
    if judged.verdict == "pass":
        assert judged.margin is not None and judged.margin >= 0
    if judged.verdict == "fail":
        assert judged.margin is not None and judged.margin < 0


@settings(deadline=None)
@given(_SESSIONS, _LIMITS, st.floats(1.0, 100.0), _STATISTICS)
def test_widening_a_limit_never_makes_it_harder(sessions, limit, factor, statistic):
    order = ["fail", "inconclusive", "pass"]
    tight, wide = (
        verdict(summary(sessions), statistic=statistic, limit=bound).verdict
        for bound in (limit, limit * factor)
    )
    assert order.index(wide) >= order.index(tight)


@settings(deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.01, 1.0))
def test_lowering_what_accuracy_must_reach_never_makes_it_harder(share, limit):
    order = ["fail", "inconclusive", "pass"]
    hard = verdict(summary(accuracy=share), quantity="accuracy", limit=limit)
    easy = verdict(summary(accuracy=share), quantity="accuracy", limit=limit / 2)
    assert order.index(easy.verdict) >= order.index(hard.verdict)
    assert hard.verdict != "pass" or hard.margin >= 0
    assert hard.verdict != "fail" or hard.margin < 0


def _need_and_wish(need, wish):
    needed = {"name": "need", "limit": need}
    wished = {"name": "wish", "statistic": "max", "limit": wish, "wanted": True}
    return judge(summary(), Profile.from_record({"name": "mine", "requirements": [needed, wished]}))


def test_a_wish_that_is_missed_is_shown_and_spoils_nothing():
    need, wish = _need_and_wish(1.5, 0.5)
    assert (need.verdict, need.wanted, wish.verdict, wish.wanted) == ("pass", False, "fail", True)
    for word in ("fail", "unknown", "inconclusive"):
        judged = [replace(wish, verdict=word), need]
        (whole,) = overall(judged)
        assert (whole.verdict, whole.verdicts) == ("pass", tuple(judged))
        assert exit_code(judged, [summary()], strict=True) == EXIT_OK


def test_a_wish_that_is_met_makes_no_pass():
    judged = [replace(each, verdict="pass") if each.wanted else each for each in _need_and_wish(0.5, 9.0)]
    assert overall(judged)[0].verdict == "fail"
    assert exit_code(judged, [summary()], strict=False) == EXIT_NOT_MET


def test_image_s_that_was_not_timed_is_above_what_infer_s_is():
    windows = replace(summary(), image_s=None, image_s_values=())
    low = summary().infer_s.low
    failed = verdict(windows, limit=low * 0.999)
    assert (failed.verdict, failed.value, failed.margin) == ("fail", None, None)
    assert (failed.bound, failed.low, failed.high) == ("above", pytest.approx(low), None)
    assert "infer_s median, which is a part of image_s" in failed.reason and "windows" in failed.reason
    in_ms = verdict(windows, limit=999 * low, unit="ms")
    assert (in_ms.verdict, in_ms.low) == ("fail", pytest.approx(1000 * low))


@pytest.mark.parametrize("statistic", ["median", "p99"])
def test_a_limit_that_infer_s_does_not_exceed_leaves_image_s_unknown(statistic):
    windows = replace(summary(), image_s=None, image_s_values=())
    untimed = verdict(windows, limit=summary().infer_s.low * 1.001, statistic=statistic)
    assert (untimed.verdict, untimed.bound, untimed.low) == ("unknown", "", None)
    assert "windows" in untimed.reason
    few = replace(summary(((1.0,), (1.0,))), image_s=None, image_s_values=())
    assert verdict(few, limit=0.5).verdict == "unknown"  # two sessions bound nothing
