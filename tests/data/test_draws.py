from typing import Any

import numpy as np
import pytest

from benchmarks.shipped.draw_search import draw_patches, split_of
from benchmarks.shipped.footprint import Footprints
from edgebench.prepare import landcover
from edgebench.prepare.landcover import (
    CLASS_NAMES,
    PATCH,
    SHIPPED_COUNTS,
    SPLITS,
    Draws,
    Earth,
    Split,
    commonest_class,
    render_classes,
    render_patch,
    shipped_draws,
)
from tests.data.sketch import SketchedEarth


@pytest.fixture(scope="session")
def shipped() -> dict[Split, Draws]:
    return {split: shipped_draws(split) for split in SPLITS}


@pytest.mark.parametrize("split", SPLITS)
def test_each_split_has_as_many_patches_of_every_class(shipped: dict[Split, Draws], split: Split):
    draws = shipped[split]
    assert len(draws) == SHIPPED_COUNTS[split]
    assert np.bincount(draws.labels).tolist() == [len(draws) // len(CLASS_NAMES)] * len(CLASS_NAMES)
    assert draws.values.shape == (len(draws), 7)


@pytest.mark.parametrize("split", SPLITS)
def test_each_split_stays_in_its_longitudes(shipped: dict[Split, Draws], split: Split):
    assert {split_of(float(lon)) for lon in shipped[split].values[:, 1]} == {split}


@pytest.mark.parametrize(("lon", "split"), [(-80, "test"), (30, "test"), (-100, "calibration"), (-86, None)])
def test_borders_and_gaps_of_the_longitudes(lon: float, split: Split | None):
    assert split_of(lon) == split
    assert split_of(-83) is None
    assert split_of(33) is None
    assert split_of(100) == "train"


@pytest.mark.parametrize(
    ("split", "others"), [("calibration", ("train",)), ("test", ("train", "calibration"))]
)
def test_no_two_splits_show_the_same_ground(
    shipped: dict[Split, Draws], split: Split, others: tuple[Split, ...]
):
    draws = shipped[split]
    taken = Footprints([shipped[other].view(i) for other in others for i in range(len(shipped[other]))])
    assert [index for index in range(len(draws)) if taken.touches(draws.view(index))] == []


@pytest.mark.parametrize("split", SPLITS)
def test_rendered_patches_are_those_of_the_recipe_to_the_bit(
    earth: Earth, sketched_earth: SketchedEarth, shipped: dict[Split, Draws], split: Split
):
    draws = shipped[split]
    for index in (0, 1, len(draws) - 1):
        patch = render_patch(earth, draws, index)
        assert patch.shape == (PATCH, PATCH, 3)
        np.testing.assert_array_equal(patch, sketched_earth.patch(draws.values[index]))


class LongDoubles:
    """numpy, whose sines are rounded from long doubles: another processor's last bits."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        if name not in ("sin", "cos", "arcsin", "arctan2", "hypot"):
            return function
        return lambda *values: np.float64(function(*(np.asarray(value, np.longdouble) for value in values)))


def test_pixels_do_not_depend_on_the_last_bits_of_a_processors_sines(
    earth: Earth, shipped: dict[Split, Draws], monkeypatch: pytest.MonkeyPatch
):
    """These patches did, and trials had other keys on processors with AVX-512."""
    indices = (125, 210, 420, 555, 928)
    here = [render_patch(earth, shipped["test"], index) for index in indices]
    monkeypatch.setattr(landcover, "np", LongDoubles())
    there = [render_patch(earth, shipped["test"], index) for index in indices]
    np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("split", SPLITS)
def test_labels_are_the_commonest_class_of_most_pixels(
    earth: Earth, shipped: dict[Split, Draws], split: Split
):
    draws = shipped[split]
    for index in range(0, len(draws), len(draws) // 25):
        label, share = commonest_class(render_classes(earth, draws.view(index), 32))
        assert label == draws.labels[index]
        assert share >= 0.6


@pytest.mark.parametrize("split", SPLITS)
def test_the_search_goes_the_way_of_the_recipe(earth: Earth, sketched_earth: SketchedEarth, split: Split):
    """The recipe's loop, in its own words, finds what `draw_patches` finds when nothing is kept apart."""
    n = 10
    rng = np.random.default_rng([3, {"train": 0, "calibration": 1, "test": 2}[split]])
    values, labels, count = [], [], np.zeros(5, int)
    while count.sum() < n:
        lat = np.degrees(np.arcsin(rng.uniform(-0.985, 0.985)))
        lon = rng.uniform(-180, 180)
        width = np.exp(rng.uniform(np.log(180), np.log(900)))
        angle = rng.uniform(0, 2 * np.pi)
        shift = rng.uniform(0, 360)
        gain = rng.choice([0, 0.6, 1.0, 1.4])
        bright = rng.uniform(0.85, 1.15)
        if split_of(lon) != split:
            continue
        _, small = sketched_earth.render(lat, lon, width, 32, angle, shift, gain)
        share = np.bincount(small.ravel(), minlength=5) / small.size
        k = int(share.argmax())
        if share[k] < 0.6 or count[k] >= n // 5:
            continue
        values.append((lat, lon, width, angle, shift, gain, bright))
        labels.append(k)
        count[k] += 1
    order = rng.permutation(n)
    found = draw_patches(earth, split, n, seed=3)
    np.testing.assert_array_equal(found.values, np.array(values)[order])
    np.testing.assert_array_equal(found.labels, np.array(labels)[order])


def test_a_search_keeps_apart_from_what_it_is_told(earth: Earth):
    first = draw_patches(earth, "test", 10, seed=5)
    again = draw_patches(earth, "test", 10, seed=5, apart_from=[first])
    taken = Footprints([first.view(index) for index in range(len(first))])
    assert not any(taken.touches(again.view(index)) for index in range(len(again)))
    assert first.digest() != again.digest()


def test_the_shipped_draws_begin_where_their_search_begins(earth: Earth, shipped: dict[Split, Draws]):
    """The first accepted draws of a shorter search, of whatever class, are among the shipped ones."""
    few = draw_patches(earth, "train", 20)
    known = shipped["train"].values
    # exp and arcsin differ in the last bit between processors, by what numpy finds to compute them with.
    assert all(np.isclose(known, row, rtol=1e-12, atol=0).all(axis=1).any() for row in few.values)


def test_patches_are_shared_out_evenly_or_not_at_all(earth: Earth):
    with pytest.raises(ValueError, match="12 patches"):
        draw_patches(earth, "test", 12)
