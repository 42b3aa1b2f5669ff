"""What is understood of a user's model, by facts alone."""

import pytest

from edgebench.errors import InputError, UsageError
from edgebench.prepare.user_model import (
    input_choice,
    input_spec,
    plain_stem,
    require_labels_fit,
    understand,
)
from edgebench.records.model import InputChoice, ModelFacts, ModelSource, TensorFacts


def tensor(*shape, name="x", dtype="float32", scale=None, zero_point=None):
    return TensorFacts(name, dtype, shape, scale, zero_point)


ROW = tensor(1, 5, name="y")


def facts(*inputs, outputs=(ROW,), operations=()):
    return ModelFacts(
        format="tflite",
        inputs=inputs,
        outputs=outputs,
        operations=dict.fromkeys(operations, 1),
        macs=7,
        parameters=None,
        precision="fp32",
    )


def known(*inputs, choice=None, **more):
    return understand(facts(*inputs, **more), choice or InputChoice(), "net.tflite")


@pytest.mark.parametrize(
    ("shape", "layout", "size"),
    [
        ((1, 96, 64, 3), "NHWC", (96, 64)),
        ((1, 3, 96, 64), "NCHW", (96, 64)),
        ((None, 96, 64, 3), "NHWC", (96, 64)),
        ((1, None, None, 3), "NHWC", (224, 224)),
    ],
)
def test_a_picture_is_known_by_its_three_channels(shape, layout, size):
    picture = known(tensor(*shape)).picture
    assert picture is not None
    assert (picture.layout, picture.height, picture.width) == (layout, *size)


def test_open_sides_take_the_default_and_say_so_or_what_was_given():
    assert any("224" in text for text in known(tensor(1, None, None, 3)).assumed)
    given = known(tensor(1, None, None, 3), choice=input_choice(shapes=("1,64,48,3",)))
    assert given.picture is not None
    assert (given.picture.height, given.picture.width) == (64, 48)
    assert not any("224" in text for text in given.assumed)


def test_where_either_axis_could_be_the_channels_the_layout_decides():
    both = tensor(1, 3, 8, 3)
    choices = ((InputChoice(layout="NHWC"), (3, 8)), (InputChoice(layout="NCHW"), (8, 3)))
    for choice, size in choices:
        picture = known(both, choice=choice).picture
        assert picture is not None
        assert (picture.height, picture.width) == size


@pytest.mark.parametrize(
    ("shape", "choice", "layout", "size"),
    [
        ((1, 96, 64, 1), InputChoice(takes_grey=True), "NHWC", (96, 64)),
        ((1, 1, 96, 64), InputChoice(takes_grey=True), "NCHW", (96, 64)),
        ((1, 1, 96, 1), InputChoice(layout="NCHW"), "NCHW", (96, 1)),
        ((1, 49, 10, 1), InputChoice(layout="NHWC"), "NHWC", (49, 10)),
    ],
)
def test_one_channel_is_a_grey_picture_where_pictures_or_a_layout_are_given(shape, choice, layout, size):
    assert known(tensor(*shape)).picture is None
    model = known(tensor(*shape), choice=choice)
    picture = model.picture
    assert picture is not None and picture.channels == 1
    assert (picture.layout, picture.height, picture.width) == (layout, *size)
    assert model.inputs[0].shape == shape
    spec = input_spec(ModelSource(model=model), "float32")
    assert (spec.channels, spec.divisors, spec.offsets) == (1, (127.5,), (-1.0,))


def test_three_channels_come_before_one():
    picture = known(tensor(1, 3, 96, 1), choice=InputChoice(takes_grey=True)).picture
    assert picture is not None and (picture.layout, picture.channels) == ("NCHW", 3)


def test_a_grey_picture_has_one_scale():
    with pytest.raises(UsageError, match="3 numbers"):
        known(tensor(1, 9, 9, 1), choice=InputChoice(scale=(1.0, 2.0, 3.0), takes_grey=True))


def test_a_normalisation_that_nothing_tells_is_assumed():
    model = known(tensor(1, 8, 8, 3))
    assert model.picture is not None
    assert (model.picture.divisors, model.picture.offsets) == ((127.5,), (-1.0,))
    assert any("-1..1" in text and "--input-scale" in text for text in model.assumed)


@pytest.mark.parametrize(
    ("given", "operations", "divisor", "offset", "by"),
    [
        (tensor(1, 8, 8, 3), ("Rescaling",), 1.0, 0.0, "the model's own rescaling"),
        (
            tensor(1, 8, 8, 3, dtype="int8", scale=1 / 127.5, zero_point=-1),
            (),
            127.5,
            -127 / 127.5,
            "the input's quantisation",
        ),
        (
            tensor(1, 8, 8, 3, dtype="uint8", scale=1 / 255, zero_point=0),
            (),
            255.0,
            0.0,
            "the input's quantisation",
        ),
        (tensor(1, 8, 8, 3, dtype="uint8"), (), 1.0, 0.0, "the input's type"),
        (tensor(1, 8, 8, 3, dtype="int8"), (), 1.0, -128.0, "the input's type"),
        # Real numbers that the first operation quantises.
        (tensor(1, 8, 8, 3, scale=1 / 255, zero_point=0), (), 255.0, 0.0, "the input's quantisation"),
    ],
)
def test_normalisation_is_read_from_the_model(given, operations, divisor, offset, by):
    model = known(given, operations=operations)
    assert model.picture is not None
    assert model.picture.divisors == (pytest.approx(divisor),)
    assert model.picture.offsets == (pytest.approx(offset),)
    assert model.picture.told_by == by
    assert model.assumed == ()


@pytest.mark.parametrize(
    ("dtype", "scale", "zero_point", "range_"),
    [
        ("int8", 0.31 / 255, -128, "0..0.31"),  # 0..1, calibrated on dark pictures
        ("int8", 1 / 255, 127, "-1..0"),  # -1..1, likewise: a usual width at another place
        ("uint8", 4.76 / 255, 114, "-2.13..2.63"),  # a mean and a deviation for each channel
    ],
)
def test_an_unusual_range_of_a_quantised_input_is_assumed(dtype, scale, zero_point, range_):
    quantised = tensor(1, 8, 8, 3, dtype=dtype, scale=scale, zero_point=zero_point)
    (assumption,) = known(quantised).assumed
    assert f"pixels as {range_}," in assumption and "--input-scale" in assumption
    assert known(quantised, choice=InputChoice(scale=(1.0,))).assumed == ()


@pytest.mark.parametrize(
    ("dtype", "scale", "zero_point"),
    [("int8", 1.0, -128), ("int8", 1.0, 0), ("uint8", 2 / 255, 128), ("int8", 1 / 255, 0)],
)
def test_a_usual_range_of_a_quantised_input_is_taken(dtype, scale, zero_point):
    assert known(tensor(1, 8, 8, 3, dtype=dtype, scale=scale, zero_point=zero_point)).assumed == ()


def test_real_numbers_keep_the_default_where_their_quantisation_has_an_unusual_range():
    model = known(tensor(1, 8, 8, 3, scale=0.31 / 255, zero_point=0))
    assert model.picture is not None and model.picture.divisors == (127.5,)
    assert (model.inputs[0].scale, model.inputs[0].zero_point) == (None, None)
    assert "--input-scale" in model.assumed[0]


def test_the_user_says_the_normalisation_channel_by_channel():
    choice = InputChoice(scale=(58.0,), mean=(116.0, 58.0, 0.0))
    model = known(tensor(1, 8, 8, 3), choice=choice)
    source = ModelSource(name="net-1", kind="tflite", model=model)
    spec = input_spec(source, "float32")
    assert spec.divisors == (58.0, 58.0, 58.0)
    assert spec.offsets == (-2.0, -1.0, 0.0)


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ((tensor(1, 8, 8, 3), tensor(1, 4)), "2 inputs"),
        ((tensor(1, 128),), "no picture of three channels"),
        ((tensor(1, 8, 8, 1),), "no picture of three channels"),
        ((tensor(1, 8, 8, 3, dtype="int64"),), "int64"),
    ],
)
def test_what_takes_no_picture_has_no_accuracy_with_the_reason(inputs, why):
    model = known(*inputs)
    assert model.picture is None
    assert why in model.accuracy_reason


def test_open_axes_of_other_inputs_are_one_and_noted_or_given():
    model = known(tensor(None, None, name="tokens", dtype="int32"))
    assert model.inputs[0].shape == (1, 1)
    assert any("tokens" in text for text in model.assumed)
    choice = input_choice(shapes=("tokens=1,128",))
    model = known(tensor(None, None, name="serving_default_tokens:0", dtype="int32"), choice=choice)
    assert model.inputs[0].shape == (1, 128)
    assert model.assumed == ()


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        (input_choice(shapes=("1,9",)), "does not fit"),
        (input_choice(shapes=("x=1,128,1",)), "does not fit"),
    ],
)
def test_shapes_that_the_file_does_not_leave_open_are_usage_errors(choice, says):
    with pytest.raises(UsageError, match=says):
        known(tensor(1, 128), choice=choice)


def test_what_was_said_of_another_models_input_is_left_alone():
    choice = InputChoice(layout="NCHW", mean=(1.0,), shapes=(("other", (1, 2)),))
    assert known(tensor(1, 128), choice=choice) == known(tensor(1, 128))


def test_a_shape_that_is_none():
    for text in ("", "a", "1,0", "x=", "1,-1", "1,2,3,4,5,6,7,8,9"):
        with pytest.raises(UsageError, match="--input-shape"):
            input_choice(shapes=(text,))


def test_outputs_that_are_no_row_of_scores_have_no_accuracy():
    model = known(tensor(1, 8, 8, 3), outputs=(tensor(1, 4, 4, 7, name="map"),))
    assert model.scores is None
    assert "map [1, 4, 4, 7]" in model.accuracy_reason
    assert known(tensor(1, 8, 8, 3), outputs=(tensor(1, 1, 1, 7),)).scores == 7


def test_an_input_too_large_to_be_is_refused():
    with pytest.raises(InputError, match="1048576"):
        known(tensor(1, 1 << 20, 1 << 20))


def test_labels_have_to_be_as_many_as_the_scores():
    source = ModelSource(name="net-1", kind="tflite", model=known(tensor(1, 8, 8, 3)))
    with pytest.raises(InputError, match=r"(?s)4 and net-1 has 5.*background"):
        require_labels_fit(ModelSource(name="net-1", model=source.model, class_names=("a", "b", "c", "d")))
    require_labels_fit(source)


def test_a_fixed_batch_and_an_open_one():
    assert known(tensor(4, 8, 8, 3)).fixed_batch == 4
    assert known(tensor(None, 8, 8, 3)).fixed_batch is None
    assert known(tensor(None, 8, 8, 3)).shapes(2) == ((2, 8, 8, 3),)


@pytest.mark.parametrize(
    ("inputs", "shapes"),
    [
        ((tensor(16),), ((16,),)),
        ((tensor(1, 16), tensor(2, 1, 128)), ((1, 16), (2, 1, 128))),
        ((tensor(None, 16), tensor(2, 1, 16), tensor()), ((1, 16), (2, 1, 16), ())),
        ((tensor(8, 224),), ((8, 224),)),
    ],
)
def test_without_a_batch_axis_the_whole_shape_is_a_sample(inputs, shapes):
    model = known(*inputs)
    assert not model.has_batch
    assert model.shapes(1) == shapes
    assert model.fixed_batch is None


@pytest.mark.parametrize(
    ("inputs", "shapes"),
    [
        ((tensor(None, 4),), ((2, 4),)),
        ((tensor(1, 16), tensor(None, 3), tensor()), ((2, 16), (2, 3), ())),
        ((tensor(8, 224, 224, 3),), ((2, 224, 224, 3),)),
    ],
)
def test_axis_0_is_a_batch_where_it_is_1_or_open_or_of_pictures(inputs, shapes):
    model = known(*inputs)
    assert model.has_batch
    assert model.shapes(2) == shapes


def test_a_shape_that_the_user_gives_an_open_first_axis_is_a_sample():
    model = known(tensor(None), choice=input_choice(shapes=("15600",)), outputs=(tensor(1, 521),))
    assert not model.has_batch
    assert (model.shapes(1), model.scores) == (((15600,),), 521)


@pytest.mark.parametrize(("shape", "scores"), [((1, 4), 4), ((16,), 16), ((16, 1), 16), ((16, 2), None)])
def test_the_scores_of_a_sample_without_batch_axis_may_be_without_one(shape, scores):
    assert known(tensor(16), outputs=(tensor(*shape),)).scores == scores


@pytest.mark.parametrize(
    ("name", "stem"),
    [("tower.tflite", "tower"), ("my net (2).onnx", "my_net_2"), ("..x.keras", "x"), ("ä.onnx", "model")],
)
def test_a_files_name_becomes_part_of_a_variants(tmp_path, name, stem):
    assert plain_stem(tmp_path / name) == stem
