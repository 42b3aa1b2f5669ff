"""`run` and `predict` of the firmware's core: preprocessing, scores, stamps, errors."""

import base64

import numpy as np
import pytest

from tests.backends.coralmicro.firmware.micro_core import (
    MEMORY,
    CoreProgram,
    b64,
    mean_model,
    mean_scores,
    sha256,
)


def patches(count, size=12, seed=1):
    return np.random.default_rng(seed).integers(0, 256, (count, size), np.uint8)


def loaded(core, pixels, block="scene", table=bytes(range(256)), **model):
    assert "error" not in core.load("model", mean_model(**model), table)
    assert "error" not in core.load(block, pixels.tobytes())


def scores(answer):
    return base64.b64decode(answer["scores"])


def stamps(answer):
    return np.frombuffer(base64.b64decode(answer["stamps"]), "<u4").reshape(-1, 3)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_pass_gives_scores_and_stamps_of_each_patch(core, n):
    pixels = patches(5)
    loaded(core, pixels)
    answer = core.result("run", n=n)
    assert sorted(answer) == ["end_us", "n", "scores", "stamps", "start_us"]
    assert answer["n"] == n
    assert scores(answer) == mean_scores(pixels[:n].tolist())
    laps = stamps(answer)
    assert laps.shape == (n, 3)
    moments = [answer["start_us"], *laps.ravel().tolist(), answer["end_us"]]
    assert np.diff(moments).tolist() == [7] * (3 * n + 1)


def test_stamps_wrap_at_32_bits(core_program):
    pixels = patches(5)
    with CoreProgram(core_program, start_us=2**32 - 50) as core:
        loaded(core, pixels)
        answer = core.result("run", n=5)
    moments = np.asarray([answer["start_us"], *stamps(answer).ravel(), answer["end_us"]], np.uint32)
    assert moments[0] > 2**31 > moments[-1]
    assert np.diff(moments).tolist() == [7] * 16


def test_passes_repeat_though_the_engine_changes_its_input(core):
    pixels = patches(5)
    loaded(core, pixels)
    assert scores(core.result("run", n=5)) == scores(core.result("run", n=5)) == mean_scores(pixels.tolist())


def test_pixels_go_through_the_table(core):
    pixels = patches(3)
    table = np.random.default_rng(2).permutation(256).astype(np.uint8).tobytes()
    loaded(core, pixels, table=table)
    assert scores(core.result("run", n=3)) == mean_scores(pixels.tolist(), table=table)


def test_each_channel_has_its_table(core):
    pixels = patches(3)
    table = np.random.default_rng(3).integers(0, 256, 768, np.uint8).tobytes()
    loaded(core, pixels, table=table)
    assert scores(core.result("run", n=3)) == mean_scores(pixels.tolist(), table=table)


def test_another_table_for_the_same_model(core):
    pixels = patches(2)
    loaded(core, pixels)
    shifted = bytes((value + 128) % 256 for value in range(256))
    model = mean_model()
    named = {"block": "model", "sha256": sha256(model), "size": len(model), "table": b64(shifted)}
    assert core.result("load", **named)["held"] == len(model)
    assert scores(core.result("run", n=2)) == mean_scores(pixels.tolist(), table=shifted)


def test_float_scores(core):
    pixels = patches(4)
    loaded(core, pixels, output_type="float32", classes=3)
    given = np.frombuffer(scores(core.result("run", n=4)), "<f4").reshape(4, 3)
    assert given.tolist() == [[row[first::3].sum() for first in range(3)] for row in pixels.astype(int)]


def test_images_are_predicted_without_times(core):
    pixels = patches(6)
    loaded(core, pixels, "images")
    answer = core.result("predict", n=4)
    assert sorted(answer) == ["n", "scores"]
    assert answer["n"] == 4
    assert scores(answer) == mean_scores(pixels[:4].tolist())


def test_images_leave_the_scene_as_it_is(core):
    scene, images = patches(5), patches(4, seed=2)
    loaded(core, scene)
    core.load("images", images.tobytes())
    assert scores(core.result("predict", n=4)) == mean_scores(images.tolist())
    assert scores(core.result("run", n=5)) == mean_scores(scene.tolist())


@pytest.mark.parametrize(("method", "block"), [("run", "scene"), ("predict", "images")])
def test_nothing_is_loaded(core, method, block):
    assert core.error(method, n=1) == (-32001, None)
    core.load("model", mean_model())
    assert core.error(method, n=1) == (-32001, None)
    content = bytes(24)
    core.call("load", block=block, sha256=sha256(content), size=24)
    assert core.error(method, n=1) == (-32001, None)
    core.load(block, content)
    assert core.result(method, n=2)["n"] == 2


@pytest.mark.parametrize("n", [0, -1, 1.0, "1", None, [1], 2**32, True])
@pytest.mark.parametrize("method", ["run", "predict"])
def test_counts_that_are_none(core, method, n):
    assert core.error(method, n=n) == (-32602, "n")


@pytest.mark.parametrize("method", ["run", "predict"])
def test_parameters_that_a_pass_does_not_have(core, method):
    assert core.error(method) == (-32602, "n")
    assert core.error(method, n=1, times=2) == (-32602, "times")


def test_more_patches_than_are_there(core):
    loaded(core, patches(3))
    assert core.error("run", n=4) == (-32002, 3)
    loaded(core, np.zeros((1, 35), np.uint8))
    assert core.error("run", n=3) == (-32002, 2)
    assert core.result("run", n=2)["n"] == 2


@pytest.mark.parametrize("method", ["run", "predict"])
@pytest.mark.parametrize(("records", "answer"), [(500, 100_000), (100_000, 3000)])
def test_more_patches_than_records_or_the_answer_hold(core_program, method, records, answer):
    block = {"run": "scene", "predict": "images"}[method]
    with CoreProgram(core_program, records=records, answer=answer, **{block: 12_000}) as core:
        loaded(core, patches(1000), block)
        code, most = core.error(method, n=1000)
        assert code == -32002
        assert 20 < most < 1000
        assert core.result(method, n=most)["n"] == most
        assert core.error(method, n=most + 1) == (-32002, most)


def test_an_inference_that_fails_is_named(core):
    pixels = patches(5)
    pixels[:, 0] = [1, 2, 3, 200, 5]
    loaded(core, pixels, fails_at=200)
    assert core.error("run", n=5) == (-32005, 3)
    assert scores(core.result("run", n=3)) == mean_scores(pixels[:3].tolist())


def test_memory_is_used_to_its_last_byte(core):
    pixels = patches(MEMORY["scene"] // 12)
    loaded(core, pixels)
    assert core.result("describe")["scene"] == sha256(pixels.tobytes())
    assert core.result("run", n=10)["n"] == 10
