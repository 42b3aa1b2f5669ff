from dataclasses import replace

import numpy as np
import pytest

from edgebench.prepare.landcover import (
    CLASS_NAMES,
    Earth,
    View,
    commonest_class,
    render,
    render_classes,
    render_rgb,
)
from tests.data.sketch import CLASSES, SketchedEarth

VIEWS = [
    View(68.0, -36.0, 900.0, 0.4, 40.0, 1.0),
    View(-80.0, 179.9, 700.0, 5.0, 300.0, 1.4),  # across the date line
    View(0.0, 0.0, 180.0, 0.0, 0.0, 0.0),  # a clear sky, and the pixel under the camera
    View(79.5, -179.9, 900.0, 2.2, 359.9, 0.6),  # over the pole
    View(23.0, 10.0, 500.0, 3.1, 120.0, 0.6),
]


@pytest.mark.parametrize("view", VIEWS)
def test_pixels_and_classes_are_those_of_the_recipe_to_the_bit(
    earth: Earth, sketched_earth: SketchedEarth, view: View
):
    rgb, classes = render(earth, view, 96)
    expected_rgb, expected_classes = sketched_earth.render(
        view.lat_deg, view.lon_deg, view.width_km, 96, view.angle_rad, view.cloud_shift_deg, view.cloud_gain
    )
    np.testing.assert_array_equal(rgb, expected_rgb)
    np.testing.assert_array_equal(classes, expected_classes)


def test_the_parts_of_a_rendering_are_those_of_the_whole(earth: Earth):
    view = VIEWS[0]
    rgb, classes = render(earth, view, 64)
    np.testing.assert_array_equal(render_rgb(earth, view, 64), rgb)
    np.testing.assert_array_equal(render_classes(earth, view, 64), classes)
    bands = [render_rgb(earth, view, 64, slice(top, top + 20)) for top in range(0, 64, 20)]
    np.testing.assert_array_equal(np.concatenate(bands), rgb)


def test_known_places_have_the_class_that_an_atlas_gives_them(earth: Earth):
    def at(lat: float, lon: float) -> str:
        clear = View(lat, lon, 200.0, cloud_gain=0.0)
        return CLASS_NAMES[commonest_class(render_classes(earth, clear, 32))[0]]

    assert at(0.0, -30.0) == "water"  # the Atlantic
    assert at(72.0, -40.0) == "ice"  # Greenland
    assert at(-5.0, -63.0) == "vegetation"  # the Amazon
    assert at(23.0, 12.0) == "bare"  # the Sahara


def test_cloud_covers_the_ground(earth: Earth):
    cloudy = replace(VIEWS[0], cloud_gain=1e6)
    rgb, classes = render(earth, cloudy, 32)
    covered = classes == CLASS_NAMES.index("cloud")
    assert covered.any()
    assert (rgb[covered].min(axis=-1) >= 100).all()


def test_the_commonest_class_comes_with_its_share():
    assert commonest_class(np.array([[1, 1], [4, 1]], np.uint8)) == (1, 0.75)


def test_classes_keep_their_order():
    assert list(CLASS_NAMES) == CLASSES
