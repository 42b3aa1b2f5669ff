"""Pictures as the bytes of a model's input."""

import numpy as np
import pytest

from edgebench.link.window_session import input_bytes, size_bytes
from edgebench.records.model import InputSpec, TensorInput
from tests.fakes import made_artifact

PATCH = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3) * 14


def spec(dtype, zero_point=0, scale=1 / 127.5, layout="NHWC"):
    return InputSpec(dtype=dtype, height=2, width=3, scale=scale, zero_point=zero_point, layout=layout)


def test_int8_is_pixel_minus_128():
    sent = np.frombuffer(input_bytes(spec("int8", -1), PATCH), np.int8)
    assert np.array_equal(sent, PATCH.reshape(-1).astype(int) - 128)


def test_uint8_is_the_pixel():
    assert input_bytes(spec("uint8", 127), PATCH) == PATCH.tobytes()


def test_channels_first():
    sent = np.frombuffer(input_bytes(spec("uint8", 127, layout="NCHW"), PATCH), np.uint8)
    assert np.array_equal(sent.reshape(3, 2, 3), PATCH.transpose(2, 0, 1))


def test_a_patch_of_another_size_is_resized_by_the_nearest_pixel():
    doubled = PATCH.repeat(2, 0).repeat(2, 1)
    assert input_bytes(spec("uint8", 127), doubled) == PATCH.tobytes()


@pytest.mark.parametrize(("dtype", "width"), [("float32", 4), ("int8", 1)])
def test_its_size_is_known_beforehand(dtype, width):
    picture = made_artifact().model_copy(update={"input": spec(dtype, -1)})
    assert size_bytes(picture) == len(input_bytes(spec(dtype, -1), PATCH)) == 18 * width


def test_a_samples_size_is_that_of_all_its_inputs():
    tensors = (
        TensorInput(name="sound", dtype="int8", shape=(1, 49, 10, 1)),
        TensorInput(name="gain", dtype="float32", shape=(1, 3)),
    )
    assert size_bytes(made_artifact().model_copy(update={"tensors": tensors})) == 490 + 12
