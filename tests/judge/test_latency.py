import pandas as pd
import pytest

from edgebench.judge.latency import steady_passes
from edgebench.stats.intervals import session_interval
from tests.sample_tables import rows_of_frame


def _passes(*rows):
    names = ("session", "phase", "start_ns", "image_ns", "infer_ns", "patches", "patchify_ns")
    frame = pd.DataFrame(rows, columns=list(names))
    return rows_of_frame(frame.astype({"infer_ns": "Int64"}))


def test_only_steady_passes_of_the_given_sessions_count_in_time_order():
    passes = steady_passes(
        _passes(
            (0, "first", 0, 9_000_000_000, 8, 4, 1),
            (0, "steady", 30_000_000_000, 2_000_000_000, 1_000_000_000, 4, 40_000_000),
            (0, "steady", 10_000_000_000, 1_000_000_000, 500_000_000, 4, 20_000_000),
            (1, "steady", 0, 7_000_000_000, 7, 4, 1),
        ),
        [0, 2],
        scene_patches=4,
    )
    assert passes.image_s == ((1.0, 2.0),)
    assert passes.infer_s == ((0.5, 1.0),)
    assert passes.at_s == ((0.0, 20.0),)
    assert passes.images == {0: 2.0}
    assert passes.count == 2 and passes.extrapolated == 0
    assert passes.stages_ms == pytest.approx({"patchify": 7.5, "infer": 187.5})


def test_a_stage_is_the_mean_over_the_sessions_of_their_medians_as_infer_s_is():
    second = 1_000_000_000
    rows = [(0, "steady", n, 2 * second, second, 4, 40_000_000) for n in range(5)]
    rows += [(1, "steady", n, 10 * second, 9 * second, 4, 80_000_000) for n in range(2)]
    passes = steady_passes(_passes(*rows), [0, 1], scene_patches=4)
    assert passes.stages_ms == pytest.approx({"patchify": 15.0, "infer": 1250.0})
    # Of the passes of all sessions at once the median would be that of the session with the most of them.
    infer_s = session_interval(passes.infer_s)
    assert passes.stages_ms["infer"] * 4 / 1e3 == pytest.approx(infer_s.median) == pytest.approx(5.0)


def test_a_pass_of_fewer_patches_is_scaled_and_counted():
    rows = _passes((0, "steady", 0, 1_000_000_000, 800_000_000, 100, 10_000_000))
    passes = steady_passes(rows, [0], scene_patches=400)
    assert passes.image_s == ((4.0,),)
    assert passes.infer_s[0] == pytest.approx((3.2,))
    assert passes.extrapolated == 1
    assert passes.images == {0: 0.25}
    assert passes.stages_ms["patchify"] == pytest.approx(0.1)


def test_a_runner_without_an_infer_stage_has_no_infer_s():
    passes = steady_passes(_passes((0, "steady", 0, 1_000_000_000, None, 4, 1_000_000)), [0], 4)
    assert passes.image_s == ((1.0,),)
    assert passes.infer_s == ()
    assert list(passes.stages_ms) == ["patchify"]


def test_a_pass_of_no_patches_and_no_pass_at_all():
    passes = steady_passes(_passes((0, "steady", 0, 1_000_000_000, 1, 0, 1)), [0], 4)
    assert (passes.image_s, passes.images, passes.stages_ms, passes.count) == ((), {}, {}, 0)
