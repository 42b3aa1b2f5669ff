from __future__ import annotations

import pytest

from edgebench.judge.trial import Estimate, Trial
from edgebench.report.plots.accuracy import energy, energy_picture
from tests.report import samples
from tests.report.plots.drawn import HOSTILE, bars, figure_of, heights, points, svg_of, texts

ENERGY_J = Estimate(4.3, 4.1, 4.6)


def metered(
    depth: float = 0.25,
    precision: str = "int8",
    scope: str = "board",
    target: str = "cpu",
    energy_j: Estimate = ENERGY_J,
) -> Trial:
    rail = samples.power(scope=scope, energy_j=energy_j)
    other = samples.power(channel="other", energy_j=99.0)
    return samples.summary(
        depth, precision, power=(rail, other), target=target, key=f"{target[:8]}{depth}{precision}"
    )


def test_energy_is_that_of_the_rail_that_represents_the_board_with_its_interval() -> None:
    [axes] = energy([metered(), samples.summary(0.5), metered(1.0, energy_j=Estimate(reason="no sample"))])
    assert points(axes)["int8"] == [pytest.approx((4.3, 95.4))]
    [sideways] = [x for x, (low, high) in bars(axes) if low == high]
    assert sideways == pytest.approx((4.1, 4.6))
    assert len(heights(axes)) == 1
    assert axes.get_xlabel() == "Energy per image, J\nbars: 95 % intervals" and "%" in axes.get_ylabel()
    assert "0.25" in texts(figure_of([axes]))


def test_trials_of_several_targets_are_told_apart_by_target() -> None:
    trials = [metered(), metered(0.5, "fp16", target="nano")]
    [axes] = energy(trials)
    assert set(points(axes)) == {"cpu", "nano"}
    assert {"0.25 int8", "0.5 fp16"} <= texts(figure_of([axes]))


def test_meters_of_several_scopes_have_a_panel_each() -> None:
    trials = [
        metered(),
        metered(0.5, scope="wall"),
        metered(1.0),
        metered(1.0, "fp32", scope="scope unknown"),
    ]
    all_axes = energy(trials)
    titles = [axes.get_title(loc="left") for axes in all_axes]
    assert titles == ["power of the board", "power at the wall", "power of an unknown part"]
    assert [sum(map(len, points(axes).values())) for axes in all_axes] == [2, 1, 1]
    picture = energy_picture(trials)
    assert picture is not None and "do not compare" in picture.caption and "power at the wall" in picture.alt
    one_scope = energy_picture(trials[:1])
    assert one_scope is not None and "All meters see the power of the board." in one_scope.caption


def test_without_a_meter_there_is_no_figure_and_without_energy_there_is_the_reason() -> None:
    assert energy_picture(samples.nine()) is None
    picture = energy_picture([metered(energy_j=Estimate(reason="no sample"))])
    assert picture is not None and picture.figure is None and "no trial has both" in picture.caption
    some = energy_picture([metered(), metered(0.5, energy_j=Estimate(reason="no sample"))])
    assert some is not None and "Not drawn: 1 trial without energy or accuracy." in some.caption


def test_names_from_outside_are_drawn_as_text() -> None:
    trials = [
        samples.summary(power=(samples.power(scope=HOSTILE),), target=HOSTILE),
        samples.summary(0.5, "_" + HOSTILE, power=(samples.power(),), target="other"),
    ]
    all_axes = energy(trials)
    assert b"<b>" not in svg_of(all_axes)
    assert all_axes[0].get_title(loc="left").startswith("power of the $")
