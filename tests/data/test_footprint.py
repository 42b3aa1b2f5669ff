import pytest

from benchmarks.shipped.footprint import Footprints
from edgebench.prepare.landcover import View


@pytest.mark.parametrize(
    ("other", "touching"),
    [
        (View(0.0, 0.0, 200.0), True),  # the same
        (View(0.0, 1.0, 200.0), True),  # 111 km away
        (View(0.0, 2.0, 200.0), False),  # 222 km away
        (View(0.3, 0.2, 20.0), True),  # a small one inside
        (View(0.0, 180.0, 200.0), False),  # on the other side of the Earth
        (View(2.0, 2.0, 200.0), False),  # corner to corner
        (View(1.75, 0.0, 200.0, 0.785), True),  # 195 km away, and its corner reaches 141 km
    ],
)
def test_squares_of_ground_touch_or_not(other: View, touching: bool):
    here = View(0.0, 0.0, 200.0)
    assert Footprints([here]).touches(other) is touching
    assert Footprints([other]).touches(here) is touching


def test_longitudes_far_apart_are_near_at_the_pole():
    assert Footprints([View(79.0, 28.0, 600.0)]).touches(View(79.0, 38.0, 600.0))
    assert not Footprints([View(0.0, 28.0, 600.0)]).touches(View(0.0, 38.0, 600.0))


def test_nothing_touches_no_views():
    assert not Footprints([]).touches(View(0.0, 0.0, 200.0))
