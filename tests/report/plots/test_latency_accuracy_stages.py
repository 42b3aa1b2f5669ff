from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from matplotlib.container import BarContainer

from edgebench.judge.trial import Trial
from edgebench.report.plots import drawing
from edgebench.report.plots.accuracy import accuracy
from edgebench.report.plots.latency import (
    depth_picture,
    latency,
    stages,
    stages_of,
    stages_picture,
    targets,
)  # fmt: skip
from edgebench.report.plots.sessions import sessions, sustained
from tests.report import samples
from tests.report.plots.drawn import HOSTILE, figure_of, heights, points, svg_of, texts


def test_image_s_by_depth_shows_every_trial_at_its_depth() -> None:
    trials = samples.nine()
    [axes] = latency(trials, samples.LIMITS)
    drawn = points(axes)
    assert set(drawn) == {"fp32", "fp16", "int8"}
    for precision, places in drawn.items():
        expected = [trial.estimate("image_s").value for trial in trials if trial.precision == precision]
        assert [y for _, y in places] == expected
        assert [round(x) for x, _ in places] == [0, 1, 2]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.25", "0.5", "1.0"]
    first = trials[0].estimate("image_s")
    assert any(ends == pytest.approx((first.low, first.high)) for ends in heights(axes))
    assert axes.get_yscale() == "log"


def test_an_interval_that_is_missing_draws_no_bar() -> None:
    trial = samples.summary(image_s=samples.interval(0.5, sessions=2))
    [axes] = latency([trial], by="depth")
    assert heights(axes) == [] and points(axes)["int8"] == [pytest.approx((0.0, 0.5))]
    assert "bars" not in axes.get_ylabel()
    assert axes.get_yscale() == "linear"


def test_accuracy_against_latency_shows_both_intervals() -> None:
    trial = samples.summary()
    share = trial.estimate("accuracy")
    assert share.low and share.high
    [axes] = accuracy([trial, samples.summary(0.5, accuracy=None)])
    drawn = points(axes)
    assert list(drawn) == ["int8"]
    assert drawn["int8"][0] == pytest.approx((trial.estimate("image_s").value, 95.4))
    [ends] = heights(axes)
    assert ends == pytest.approx((100 * share.low, 100 * share.high))
    assert "%" in axes.get_ylabel()


def test_stages_add_up_to_the_patch() -> None:
    trials = samples.nine()
    [axes] = stages(trials)
    bars = [container for container in axes.containers if isinstance(container, BarContainer)]
    assert [bar.get_label() for bar in bars] == ["patchify", "preprocess", "infer"]
    for row, trial in enumerate(trials):
        stages_ms = list(stages_of(trial).values())
        assert [bar.patches[row].get_width() for bar in bars] == pytest.approx(stages_ms)
        last = bars[-1].patches[row]
        assert last.get_x() + last.get_width() == pytest.approx(sum(stages_ms))


def test_a_devices_own_stage_lies_within_inference() -> None:
    stages_ms = {"patchify": 0.5, "preprocess": 1.5, "gpu": 3.0, "infer": 4.0}
    [axes] = stages([samples.summary(stages_ms=stages_ms)])
    bars = {bar.get_label(): bar.patches[0] for bar in axes.containers if isinstance(bar, BarContainer)}
    assert bars["infer"].get_x() == pytest.approx(2.0)
    assert bars["infer"].get_x() + bars["infer"].get_width() == pytest.approx(6.0)
    assert bars["gpu"].get_x() == pytest.approx(3.0)
    assert bars["gpu"].get_height() < bars["infer"].get_height()
    assert "6.00" in texts(figure_of([axes]))
    caption = stages_picture([samples.summary(stages_ms=stages_ms)]).caption
    assert "gpu, the device's own time within infer" in caption
    assert "within infer" not in stages_picture([samples.summary()]).caption


def test_a_panel_a_target_and_one_legend() -> None:
    trials = [
        replace(trial, target=target, key=f"{number:08x}{place:08x}")
        for number, target in enumerate(("cpu", "ncs2", "coral"))
        for place, trial in enumerate(samples.nine())
    ]
    for draw in (latency, accuracy, stages):
        all_axes = draw(trials)
        assert [axes.get_title(loc="left") for axes in all_axes] == ["cpu", "ncs2", "coral"]
        [legend] = figure_of(all_axes).legends
        assert len(legend.get_texts()) == 3


@pytest.mark.parametrize("trials", [[], [samples.without_figures(0.25, "int8", "failed", "it crashed")]])
def test_nothing_to_draw_is_drawn_as_nothing(trials: list[Trial]) -> None:
    for draw in (latency, accuracy, stages, sessions, sustained):
        [axes] = draw(trials)
        assert svg_of([axes]).startswith(b"<?xml")
        assert not axes.containers and "no trial" in axes.texts[0].get_text()


def test_names_from_outside_are_drawn_as_text() -> None:
    trials = [
        samples.summary(target=HOSTILE, precision="_" + HOSTILE, stages_ms={HOSTILE: 1.0, "_infer": 2.0}),
        samples.summary(target="other", precision="int8"),
    ]
    for all_axes in (latency(trials, {HOSTILE: 0.3}), accuracy(trials), stages(trials), sessions(trials)):
        assert b"<b>" not in svg_of(all_axes)
        assert all_axes[0].get_title(loc="left") == "$\\frac{1}$ <b>&_x ??"
    assert " _infer" in texts(figure_of(stages(trials)))
    assert b"<b>" not in svg_of([targets(trials)])
    names = [label.get_text() for label in targets(trials).get_yticklabels()]
    assert any(name.startswith("$\\frac{1}$ <b>&_x ??") for name in names)


def test_equal_data_give_equal_bytes_without_a_date() -> None:
    first, second = (svg_of(latency(samples.nine(), samples.LIMITS)) for _ in range(2))
    assert first == second
    assert b"dc:date" not in first


def test_the_users_matplotlib_settings_neither_show_nor_change() -> None:
    import matplotlib

    plain = svg_of(stages(samples.nine()))
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        assert svg_of(stages(samples.nine())) == plain
        assert matplotlib.rcParams["font.size"] == 30


def test_precisions_keep_their_colours() -> None:
    styles = drawing.styles(["fp32", "fp16", "int8", "w4"])
    assert drawing.styles(["int8"])["int8"] == styles["int8"]
    assert len({marker for _, marker in styles.values()}) == 4


def own(variant: str, precision: str) -> Trial:
    return replace(
        samples.summary(0.25, precision), key=f"own {variant}", variant=variant, depth_multiplier=None
    )


def test_models_that_differ_in_more_than_depth_have_a_place_each() -> None:
    trials = [*samples.nine(), own("tower-1a2b3c4d-int8", "int8")]
    [axes] = latency(trials, by="model")
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "mobilenet_v1-0.25",
        "mobilenet_v1-0.5",
        "mobilenet_v1-1.0",
        "tower-1a2b3c4d",
    ]
    assert {round(x) for x, _ in points(axes)["int8"]} == {0, 1, 2, 3}
    assert axes.get_xlabel() == "Model"


def test_a_model_of_one_width_is_left_out_where_depth_is_the_axis() -> None:
    trials = [*samples.nine(), own("tower-1a2b3c4d-int8", "int8")]
    [axes] = latency(trials, by="depth")
    assert sum(len(places) for places in points(axes).values()) == 9


def test_the_figure_is_by_depth_for_one_family_and_by_model_otherwise() -> None:
    single = depth_picture(samples.nine(), {})
    several = depth_picture([*samples.nine(), own("tower-1a2b3c4d-int8", "int8")], {})
    alone = depth_picture([own("tower-1a2b3c4d-int8", "int8")], {})
    assert "Latency per image by depth multiplier" in single.caption
    assert "Latency per image by model" in several.caption and "Latency per image by model" in alone.caption


def test_a_point_without_depth_bears_its_models_name() -> None:
    assert "tower-1a2b3c4d" in texts(figure_of(accuracy([own("tower-1a2b3c4d-int8", "int8")])))


def test_the_bars_of_several_targets_have_one_axis() -> None:
    slow = samples.summary(target="slow", key="s" * 16, stages_ms={"infer": 40.0})
    all_axes = stages([samples.summary(), slow])
    limits = {axes.get_xlim() for axes in all_axes}
    assert len(all_axes) == 2 and len(limits) == 1
    assert next(iter(limits))[1] > 40


def test_matplotlib_is_silent_where_its_folder_cannot_be_written():
    program = "import edgebench.report.plots.drawing"
    environment = {**os.environ, "MPLCONFIGDIR": "/proc/nowhere"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
