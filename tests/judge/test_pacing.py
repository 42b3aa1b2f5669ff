"""Paced and sustained figures of a trial, from made passes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from edgebench.judge.cautions import Observed, sustained_of
from edgebench.judge.latency import SteadyPasses, steady_passes
from edgebench.judge.metrics import METRICS
from edgebench.judge.metrics.board import share_missed
from edgebench.judge.requirements.profile import parse_profile
from edgebench.judge.trial import Estimate, EstimateKey
from edgebench.records.session import Pass
from edgebench.results import tables
from tests.fakes import made_pass
from tests.judge.trials import judge, sentences, trial
from tests.sample_tables import rows_of_frame

SECOND = 1_000_000_000


def paced_pass(index, late_ns, period_ns=2 * SECOND) -> Pass:
    plain = made_pass(index, 4, "steady")
    deadline_ns = plain.end_ns - late_ns
    return Pass(
        plain.index, "steady", plain.start_ns, plain.end_ns, plain.stages, plain.stamps_ns, plain.scores, 1,
        due_ns=deadline_ns - period_ns, deadline_ns=deadline_ns,
    )  # fmt: skip


def rows(*sessions) -> pd.DataFrame:
    frames = []
    for number, passes in enumerate(sessions):
        frame, _ = tables.pass_rows([made_pass(0, 4, "first"), *passes])
        frame.insert(0, "session", number)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def test_due_times_and_lateness_are_columns_of_the_steady_passes_alone():
    frame = rows([paced_pass(1, -5), paced_pass(2, 7)])
    assert frame["lateness_ns"].isna().tolist() == [True, False, False]
    assert frame["lateness_ns"].dropna().tolist() == [-5, 7]
    assert (frame["due_ns"].dropna() + 2 * SECOND + frame["lateness_ns"].dropna()).tolist() == [
        3 * SECOND,
        5 * SECOND,
    ]
    assert "due_ns" not in rows([made_pass(1, 4, "steady")]).columns


def test_misses_are_counted_over_all_sessions_and_said():
    frame = rows([paced_pass(1, -SECOND), paced_pass(2, SECOND // 2)], [paced_pass(1, 0), paced_pass(2, 100)])
    steady = steady_passes(rows_of_frame(frame), [0, 1], 4)
    share = share_missed(steady.lateness_s, 0.95)
    assert (share.value, share.n, share.sessions) == (0.5, 4, (0.5, 0.5))
    # They are no stages.
    assert set(steady.stages_ms) == {"patchify", "preprocess", "infer"}
    texts = [text for text in sentences([], steady) if "paced" in text]
    [text] = texts
    assert text == "2 of 4 paced passes were not done when the next had to start; the worst was 0.500 s late"


@pytest.mark.parametrize(
    ("by_session", "word", "sentence"),
    [
        (((3, 3), (2, 3), (3, 3)), "fail", "misses the limit; 8 misses in 9 passes"),
        (
            ((0, 127), (0, 127), (0, 127)),
            "pass",
            "0 misses in 381 passes; a scene every 2 s",
        ),
        (((0, 126), (0, 126), (0, 126)), "inconclusive", "inside the 95 % interval"),
        (((9, 9), (9, 9)), "inconclusive", "2 sessions"),
        # As many misses, all of them in one session: that session's luck is not the trial's.
        (((12, 100), (0, 100), (0, 100)), "inconclusive", "inside the 95 % interval"),
        (((4, 100), (4, 100), (4, 100)), "fail", "12 misses in 300 passes"),
    ],
)
def test_missed_deadlines_can_be_required(by_session, word, sentence):
    misses, passes = (sum(column) for column in zip(*by_session, strict=True))
    late_s = tuple([0.1] * missed + [-0.1] * (count - missed) for missed, count in by_session)
    key = METRICS["deadline_misses"].key()
    share = share_missed(late_s, 0.95).with_notes("a scene every 2 s")
    paced = replace(trial(estimates={key: share}), values={key: late_s})
    [verdict] = judge(paced, at_most_missed(1.0))
    assert verdict.word == word
    assert sentence in verdict.reason
    assert verdict.estimate.value == pytest.approx(misses / passes)


def test_without_a_pace_there_is_no_share_of_misses():
    unpaced = Estimate(reason="the passes were not paced (--period)")
    key = EstimateKey("deadline_misses", "share")
    [verdict] = judge(trial(estimates={key: unpaced}), at_most_missed(1.0))
    assert (verdict.word, verdict.estimate.value) == ("unknown", None)
    assert verdict.reason == "the passes were not paced (--period)"


def at_most_missed(percent):
    text = f"""name = "p"
[[requirements]]
name = "in time"
quantity = "deadline_misses"
limit = {percent}
unit = "%"
"""
    return parse_profile(text.encode(), "p.toml")


def test_in_time_is_no_warning():
    steady = steady_passes(rows_of_frame(rows([paced_pass(1, -SECOND), paced_pass(2, -SECOND // 2)])), [0], 4)
    assert share_missed(steady.lateness_s, 0.95).value == 0
    assert not any("due" in text for text in sentences([], steady))


def sessions(*levels) -> SteadyPasses:
    """Passes once a second; each session's latency from its list."""
    return SteadyPasses(
        image_s=tuple(tuple(level) for level in levels),
        infer_s=(),
        at_s=tuple(tuple(float(at) for at in range(len(level))) for level in levels),
        images={},
        stages_ms={},
        extrapolated=0,
    )


def test_a_median_a_minute_is_the_mean_over_the_sessions():
    sustained = sustained_of(sessions([1.0] * 60 + [1.1] * 60, [2.0] * 60 + [2.1] * 60), 120.0)
    assert sustained is not None
    assert [(minute.minute, minute.n) for minute in sustained.minutes] == [(0, 120), (1, 120)]
    assert [minute.median_s for minute in sustained.minutes] == pytest.approx([1.5, 1.6])
    assert (sustained.first_quarter_s, sustained.last_quarter_s) == pytest.approx((1.5, 1.6))
    assert sustained.ratio == pytest.approx(1.6 / 1.5)


def test_heat_is_suspected_where_one_session_slows_down():
    rng = np.random.default_rng(3)
    level = 1 + 0.002 * rng.standard_normal(200)
    cool = sustained_of(sessions(level), 200.0)
    assert cool is not None
    assert (cool.suspected, cool.because) == (False, ())
    hot = sustained_of(sessions(level, level * np.linspace(1, 1.2, 200)), 200.0)
    assert hot is not None
    assert hot.suspected
    assert [text.rpartition(" in ")[2] for text in hot.because] == ["1 of 2 sessions"] * 2
    assert "times the first" in hot.because[0] and "Theil-Sen" in hot.because[1]
    assert hot.slope_per_hour == pytest.approx(0.5 * 0.2 / 199 * 3600, rel=0.1)


def test_telemetry_alone_makes_heat_suspected():
    level = [1.0] * 20
    observed = [
        Observed(clock_drop=0.2, clock="gpu_clock", hottest_c=80.6),
        Observed(throttled=("under-voltage",)),
        Observed(),
    ]
    sustained = sustained_of(sessions(level, level, level), 20.0, observed)
    assert sustained is not None
    assert sustained.suspected
    assert sustained.because == (
        "throttled: under-voltage, as the board reports, in 1 of 3 sessions",
        "the GPU's clock fell by up to 20% over the steady passes in 1 of 3 sessions",
        "the hottest sensor read up to 81 °C",
    )
    cool = sustained_of(sessions(level), 20.0, [Observed(hottest_c=80.6)])
    assert cool is not None and cool.because == ()


def test_few_passes_have_minutes_and_nothing_more():
    sustained = sustained_of(sessions([1.0, 1.1]), 2.0)
    assert sustained is not None
    assert len(sustained.minutes) == 1
    assert sustained.ratio is sustained.first_quarter_s is sustained.slope_per_hour is None
    assert not sustained.suspected
    assert sustained_of(sessions([1.0]), None) is None
    assert sustained_of(sessions(), 2.0) is None
