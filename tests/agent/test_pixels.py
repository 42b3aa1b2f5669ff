"""Patchify and preprocess: exact to the last bit, for every pixel value."""

import numpy as np
import pytest

from edgebench.agent.pixels import channels_of, preprocessing, resizing, table_for, windows


def spec(dtype, scale=None, zero_point=None, layout="NHWC", divisor=127.5, offset=-1.0):
    return {
        "dtype": dtype,
        "layout": layout,
        "divisor": divisor,
        "offset": offset,
        "scale": scale,
        "zero_point": zero_point,
    }


@pytest.fixture
def patches():
    pixels = np.random.default_rng(3).integers(0, 256, (2, 16, 16, 3), np.uint8)
    pixels[0].reshape(-1)[:256] = np.arange(256)
    return pixels


def test_windows_go_row_by_row_and_leave_the_rest():
    scene = np.arange(7 * 9 * 3, dtype=np.uint8).reshape(7, 9, 3)
    cut = windows(scene, 3)
    assert len(cut) == 6
    assert all(np.shares_memory(window, scene) for window in cut)
    np.testing.assert_array_equal(cut[4], scene[3:6, 3:6])


def test_float32_is_numpys_own_divide_then_add(patches):
    target = np.empty(patches.shape, np.float32)
    preprocessing(spec("float32"), patches, target)()
    expected = patches.astype(np.float32) / np.float32(127.5) + np.float32(-1.0)
    np.testing.assert_array_equal(target, expected)
    assert target.min() == -1.0
    assert target.max() == 1.0


@pytest.mark.parametrize("scale", [1 / 127.5, 0.007843137718737125])
def test_int8_of_the_shipped_models_is_the_pixel_less_128(patches, scale):
    target = np.empty(patches.shape, np.int8)
    preprocessing(spec("int8", scale, -1), patches, target)()
    np.testing.assert_array_equal(target, patches.astype(np.int16) - 128)


@pytest.mark.parametrize(
    ("dtype", "scale", "zero_point"), [("int8", 0.02, 3), ("uint8", 0.01, 120), ("int8", 0.001, 0)]
)
def test_any_other_affine_rounds_and_saturates(patches, dtype, scale, zero_point):
    target = np.empty(patches.shape, dtype)
    preprocessing(spec(dtype, scale, zero_point), patches, target)()
    limits = np.iinfo(dtype)
    for pixel, value in zip(patches.reshape(-1)[:256], target.reshape(-1)[:256], strict=True):
        due = round((float(pixel) / 127.5 - 1.0) / scale) + zero_point
        assert value == min(max(due, limits.min), limits.max)


def test_uint8_that_needs_no_change_is_copied(patches):
    target = np.empty(patches.shape, np.uint8)
    preprocessing(spec("uint8", 1.0, 0, divisor=1.0, offset=0.0), patches, target)()
    np.testing.assert_array_equal(target, patches)


@pytest.mark.parametrize(("dtype", "zero_point", "less"), [("int8", -1, 128), ("uint8", 127, 0)])
def test_the_middle_of_the_pixels_needs_no_rounding(patches, dtype, zero_point, less):
    target = np.empty(patches.shape, dtype)
    preprocessing(spec(dtype, 1 / 127.5, zero_point), patches, target)()
    np.testing.assert_array_equal(target.astype(int), patches.astype(int) - less)


def test_float16_rounds_the_float32_result(patches):
    target = np.empty(patches.shape, np.float16)
    preprocessing(spec("float16"), patches, target)()
    expected = (patches.astype(np.float32) / np.float32(127.5) - np.float32(1)).astype(np.float16)
    np.testing.assert_array_equal(target, expected)


def test_channels_first(patches):
    target = np.empty((2, 3, 16, 16), np.float32)
    preprocessing(spec("float32", layout="NCHW"), patches, target)()
    expected = (patches.astype(np.float32) / np.float32(127.5) - np.float32(1)).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(target, expected)


def test_an_input_that_does_not_fit_is_refused(patches):
    with pytest.raises(ValueError, match=r"\(2, 8, 8, 3\)"):
        preprocessing(spec("float32"), patches, np.empty((2, 8, 8, 3), np.float32))
    with pytest.raises(ValueError, match="float32"):
        preprocessing(spec("float32"), patches, np.empty(patches.shape, np.int8))
    with pytest.raises(ValueError, match="scale None"):
        table_for("int8", 127.5, -1.0, None, None)
    with pytest.raises(ValueError, match=r"scale 0\.0"):
        table_for("int8", 127.5, -1.0, 0.0, 0)


def test_windows_may_be_oblong_and_overlap():
    scene = np.arange(7 * 9 * 3, dtype=np.uint8).reshape(7, 9, 3)
    cut = windows(scene, 3, 4, 2)
    assert len(cut) == 3 * 3
    np.testing.assert_array_equal(cut[4], scene[2:5, 2:6])
    assert len(windows(scene, 7, 9)) == 1
    assert windows(scene, 8) == []


@pytest.mark.parametrize("size", [(5, 8), (16, 16), (37, 9)])
def test_resizing_takes_the_nearest_pixel_as_pillow_does(patches, size):
    from PIL import Image

    place = np.zeros((*size, 3), np.uint8)
    resizing((16, 16, 3), size)(place, patches[1])
    expected = Image.fromarray(patches[1]).resize(size[::-1], Image.Resampling.NEAREST)
    np.testing.assert_array_equal(place, np.asarray(expected))


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_grey_patches_have_one_channel(patches, layout):
    grey = np.ascontiguousarray(patches[..., :1])
    place = np.zeros((2, 8, 1), np.uint8)
    resizing((16, 16, 1), (2, 8))(place, grey[0])
    np.testing.assert_array_equal(place, grey[0, 4::8, 1::2])
    own = {**spec("int8", 0.5, 3, layout), "divisors": (2.0,), "offsets": (-4.0,)}
    assert channels_of(own) == 1 and channels_of(spec("int8")) == 3
    target = np.empty((2, 16, 16, 1) if layout == "NHWC" else (2, 1, 16, 16), np.int8)
    preprocessing(own, grey, target)()
    due = np.minimum(grey.astype(np.int16) - 5, 127)  # (p / 2 - 4) / 0.5 + 3
    np.testing.assert_array_equal(target.reshape(due.shape), due)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize(("dtype", "scale", "zero_point"), [("float32", None, None), ("int8", 0.02, 5)])
def test_channels_with_numbers_of_their_own(patches, layout, dtype, scale, zero_point):
    own = {"divisors": (58.0, 57.0, 56.0), "offsets": (-2.0, -1.0, 0.5)}
    shape = patches.shape if layout == "NHWC" else patches.transpose(0, 3, 1, 2).shape
    target = np.empty(shape, dtype)
    preprocessing({**spec(dtype, scale, zero_point, layout), **own}, patches, target)()
    real = patches / np.array(own["divisors"]) + np.array(own["offsets"])
    expected = real if scale is None else np.clip(np.rint(real / scale) + zero_point, -128, 127)
    pixels = target if layout == "NHWC" else target.transpose(0, 2, 3, 1)
    np.testing.assert_allclose(pixels, expected, atol=1e-6 if scale is None else 1)
    assert (np.abs(pixels - expected) > 1e-6).mean() < 0.01
