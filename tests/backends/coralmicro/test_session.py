"""Sessions on a played board: what is sent, what is timed, what is known then, and how they end early."""

import base64
import importlib
import time
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from edgebench.errors import SessionError, UnavailableError
from edgebench.records.model import InputSpec
from edgebench.records.session import LoadBursts, MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.run.measuring.session_record import Gathered, take_in
from edgebench.testing.backend_kit import images_of, scene_of
from tests.backends.coralmicro import played_faults, sums
from tests.backends.coralmicro.conftest import HASTY, PATIENT
from tests.backends.coralmicro.played_board import PlayedBoard
from tests.backends.coralmicro.played_engines import FloatEngine, RefusedModel
from tests.backends.coralmicro.played_firmware import Held, PlayedFirmware

device_of = importlib.import_module("edgebench.backends.coralmicro.backend").CoralMicroDevice
SETTINGS = SessionSettings(1, {}, Launch())
PATCH_BYTES = sums.SIDE**2 * 3


def played(**firmware):
    return PlayedBoard(PlayedFirmware(sums.engine_of, **firmware))


@pytest.fixture
def board():
    with played() as board:
        yield board


@pytest.fixture
def artifact(session_cache):
    return sums.artifact_of(session_cache)


@pytest.fixture
def plan(artifact, session_cache):
    return MeasurePlan(scene_of(artifact, session_cache), 2, warmup_floor=40, warmup_cap=60)


def device(board, limits=PATIENT, **timed):
    return device_of(Target("micro", "coral-micro", {"address": board.address}), limits, **timed)


def whole_session(device, artifact, plan, settings=SETTINGS):
    """Golden patches and passes, as a run takes them in; the facts at its end, and the passes."""
    with device.session(artifact, settings) as session:
        session.golden()
        with closing(session.measure(plan)) as passes:
            gathered = Gathered()
            for taken in passes:
                take_in(taken, gathered, plan.scene.patches, workers=1)
        return session.facts(), gathered.passes


def ending(device, artifact, plan):
    with pytest.raises(SessionError) as caught:
        whole_session(device, artifact, plan)
    return caught.value


def calls(board, *names):
    return [call for call in board.firmware.calls if call[0] in names]


# --- what is measured ---


def test_passes_over_the_patches_that_are_asked_for(board, artifact, plan):
    facts, passes = whole_session(device(board), artifact, replace(plan, patches=8))
    first, warm, *steady = passes
    assert [scene_pass.phase for scene_pass in passes] == ["first", "warmup", "steady", "steady"]
    assert first.stages == ("preprocess", "infer")
    assert first.stamps_ns.shape == (8, 2, 2) and first.scores is not None and len(first.scores) == 8
    assert warm.scores is None and len(warm.stamps_ns) >= 40 - 8
    assert [scene_pass.index for scene_pass in passes] == [0, 1, 2, 3]
    assert facts.warmup is not None and facts.warmup.batches <= 60
    for before, after in pairwise(passes):
        assert before.end_ns <= after.start_ns
    infer_ns = first.stamps_ns[0, 1]
    assert facts.cold.first_inference_s == (infer_ns[1] - infer_ns[0]) / 1e9
    assert facts.cold.first_pass_s is None  # of a part of the scene
    assert facts.untimed_stages == ("patchify",)
    assert facts.clock["fit"]["misfit_ns"] == 0 and facts.warnings == ()
    assert facts.runtime["name"] == "tflite-micro" and "edgebench-coral-micro 1.0" in facts.runtime["version"]
    assert (steady[-1].scores == first.scores).all()


def test_a_pass_is_of_what_the_board_holds(artifact, plan):
    with played(room={"scene": 5 * PATCH_BYTES + 3}) as board:
        facts, passes = whole_session(device(board), artifact, replace(plan, patches=9))
    [warning] = facts.warnings
    assert "5 patches" in warning and "9" in warning
    assert {len(scene_pass.scores) for scene_pass in passes if scene_pass.scores is not None} == {5}


def test_scores_are_those_of_the_scenes_first_patches(board, artifact, plan):
    _, (first, *_) = whole_session(device(board), artifact, plan)
    pixels = np.load(plan.scene.path)
    side = sums.SIDE
    due = [sums.scores_of(pixels[:side, at * side : (at + 1) * side]) for at in range(plan.scene.columns)]
    assert first.scores is not None
    np.testing.assert_allclose(first.scores[: plan.scene.columns], due)


def test_the_clock_is_read_between_passes_and_never_within(board, artifact, plan):
    whole_session(device(board), artifact, replace(plan, warmup_floor=0, warmup_cap=0))
    order = "".join("r" if call[0] == "run" else "d" for call in calls(board, "run", "describe"))
    assert "ddrdddrdddrd" in order
    assert len(calls(board, "run")) == 3


def test_firmware_that_times_inference_alone(artifact, plan):
    with played(times="inference") as board:
        facts, passes = whole_session(device(board), artifact, plan)
    assert {scene_pass.stages for scene_pass in passes} == {("infer",)}
    assert passes[0].stamps_ns.shape == (12, 1, 2)
    assert facts.untimed_stages == ("patchify", "preprocess")


def test_images_are_predicted_in_blocks_that_fit(artifact, session_cache):
    images = images_of(np.concatenate([sums.golden_patches()] * 3)[:13], session_cache)
    with played(room={"images": 4 * PATCH_BYTES}) as board:
        with device(board).session(artifact, SETTINGS) as session:
            golden = session.golden()
            scores = session.predict(images)
        assert len(calls(board, "predict")) == 1 + 2 + 4
    np.testing.assert_allclose(golden, artifact.golden.scores)
    np.testing.assert_allclose(scores, np.concatenate([golden] * 3)[:13])


def test_patches_of_another_size_are_resized(board, artifact, session_cache):
    larger = replace(scene_of(artifact, session_cache), patch=2 * sums.SIDE)
    _, passes = whole_session(device(board), artifact, MeasurePlan(larger, 1, warmup_cap=0))
    pixels = np.load(larger.path)
    assert passes[0].scores is not None
    np.testing.assert_allclose(passes[0].scores[0], sums.scores_of(pixels[1:16:2, 1:16:2]))


def test_a_models_own_normalisation_goes_with_it(board, artifact):
    """Channels that differ: 768 bytes; the firmware's sums are then of another input."""
    channels = InputSpec(
        dtype="int8",
        height=sums.SIDE,
        width=sums.SIDE,
        scale=1 / 127.5,
        zero_point=-1,
        divisors=(127.5, 255.0, 127.5),
        offsets=(-1.0, 0.0, -1.0),
    )
    with device(board).session(artifact.model_copy(update={"input": channels}), SETTINGS) as session:
        other = session.golden()
    assert len(board.firmware.table) == 768
    assert not np.allclose(other, artifact.golden.scores)
    with device(board).session(artifact, SETTINGS) as session:  # the same file, by the table of its own
        np.testing.assert_allclose(session.golden(), artifact.golden.scores)


def test_with_a_meter_the_board_idles_and_runs_bursts(board, artifact, plan):
    settings = replace(
        SETTINGS, host_metering=True, idle_s=0.02, bursts=LoadBursts(0.005, (0.01, 0.02, 0.015))
    )
    facts, passes = whole_session(device(board), artifact, replace(plan, least_s=0.01), settings)
    windows = facts.windows_ns
    assert windows.idle and windows.steady and windows.idle_after
    assert windows.idle[1] <= passes[0].start_ns and passes[-1].end_ns <= windows.idle_after[0]
    assert facts.load_bursts is not None and len(facts.load_bursts.bursts_ns) == 3
    for start_ns, end_ns in facts.load_bursts.bursts_ns:
        assert passes[1].end_ns <= start_ns < end_ns <= windows.steady[0]
    steady_ns = sum(scene_pass.image_ns for scene_pass in passes if scene_pass.phase == "steady")
    assert steady_ns >= 0.01 * 1e9


@pytest.mark.attack("a board's stamps say that patches take no time: a burst of load ends none the less")
def test_a_burst_of_patches_that_take_longer_than_they_say(board, artifact, plan):
    def say_no_time(answer):
        result = answer["result"]
        stamps = result["start_us"] + np.repeat(np.arange(result["n"]), 3) + [0, 0, 1] * result["n"]
        result["stamps"] = base64.b64encode((stamps % 2**32).astype("<u4").tobytes()).decode()
        result["end_us"] = (result["start_us"] + result["n"]) % 2**32

    board.befall("run", played_faults.answered(say_no_time), times=10**5)
    settings = replace(SETTINGS, host_metering=True, bursts=LoadBursts(0.1, (0.01,)))
    before_s = time.monotonic()
    facts, _ = whole_session(device(board), artifact, replace(plan, patches=1), settings)
    assert time.monotonic() - before_s < 10
    assert facts.load_bursts is not None and len(facts.load_bursts.bursts_ns) == 1


def test_sustained_passes_go_on_for_as_long_as_they_were_asked_for(board, artifact, plan):
    _, passes = whole_session(device(board), artifact, replace(plan, sustained_s=0.05))
    steady = [scene_pass for scene_pass in passes if scene_pass.phase == "steady"]
    assert steady[-1].end_ns - steady[0].start_ns >= 0.05e9 > steady[-2].end_ns - steady[0].start_ns


# --- what is sent ---


def test_what_is_there_is_not_sent_again(board, artifact, plan):
    micro = device(board)
    first, _ = whole_session(micro, artifact, plan)
    sent = len(board.firmware.calls)
    second, _ = whole_session(micro, artifact, plan)
    begun = [call[1:] for call in board.firmware.calls[sent:] if call[0] == "load"]
    assert first.cold.load_s is not None and first.cold.load_s > 0
    assert second.cold.load_s is None
    assert begun == [("model", "begin"), ("images", "begin"), ("images", "begin"), ("scene", "begin")]


def test_another_model_takes_the_place_of_the_one_that_is_there(board, artifact, plan, session_cache):
    other = sums.artifact_of(session_cache, model=sums.OTHER_MODEL)
    micro = device(board)
    loads = [whole_session(micro, which, plan)[0].cold.load_s for which in (artifact, other, artifact)]
    assert all(loads)


@pytest.mark.attack("a board restarts between two sessions: the second one loads it again")
def test_a_board_that_restarted_between_sessions_is_loaded_again(board, artifact, plan):
    micro = device(board)
    whole_session(micro, artifact, plan)
    board.firmware.restart()
    facts, passes = whole_session(micro, artifact, plan)
    assert facts.cold.load_s is not None and len(passes) >= 3


# --- how it ends early ---


@pytest.mark.attack(
    "a board restarts during its passes: the session ends by that name, with the passes so far"
)
def test_a_restart_amid_passes_is_a_crash(board, artifact, plan):
    board.before("run", board.firmware.restart, skip=1)
    error = ending(device(board), artifact, plan)
    assert (error.status, error.stage) == ("crash", "measure")


FAULTS = {
    "half an answer": (played_faults.half, "lost_connection"),
    "reset": (played_faults.reset, "lost_connection"),
    "no JSON": (played_faults.body(b"<html>"), "protocol_error"),
    "another id": (played_faults.answered(lambda answer: answer.update(id=7)), "protocol_error"),
    "stall": (played_faults.stall, "timeout"),
}


@pytest.mark.attack(
    "a board's answer to a pass is halved, reset, no JSON, another's, or never comes: a named end"
)
@pytest.mark.parametrize("name", FAULTS)
def test_a_pass_that_is_not_answered_as_it_should_be(board, artifact, plan, name, monkeypatch):
    monkeypatch.setenv("EDGEBENCH_STAGE_TIMEOUT_S", "3")
    fault, status = FAULTS[name]
    board.befall("run", fault)
    limits = HASTY if name == "stall" else PATIENT
    error = ending(device(board, replace(limits, answer_s=1.0)), artifact, plan)
    assert (error.status, error.stage) == (status, "measure")
    assert error.fix


def test_an_inference_that_fails(board, artifact, plan):
    board.firmware.invoke_fails = True
    error = ending(device(board), artifact, plan)
    assert (error.status, error.stage) == ("error", "golden")


def test_a_model_that_the_firmware_refuses(artifact, plan):
    def refusing(content):
        raise RefusedModel("its operator BATCH_MATMUL is not there")

    with PlayedBoard(PlayedFirmware(refusing)) as board:
        error = ending(device(board), artifact, plan)
    assert (error.status, error.stage) == ("load_failed", "load")
    assert "BATCH_MATMUL" in f"{error.what} {error.why}"


@pytest.mark.parametrize("room, figure", [("model", "1,000"), ("scene", "100"), ("images", "100")])
def test_what_does_not_fit_says_both_figures(artifact, plan, room, figure):
    with played(room={room: int(figure.replace(",", ""))}) as board:
        error = ending(device(board), artifact, plan)
    assert (error.status, error.stage) == ("load_failed", "load")
    due_bytes = artifact.size_bytes if room == "model" else PATCH_BYTES
    assert figure in error.why and f"{due_bytes:,}" in error.why


def test_a_model_that_is_not_the_artifacts(artifact, plan):
    with PlayedBoard(PlayedFirmware(FloatEngine)) as board:  # of 12 bytes a patch
        error = ending(device(board), artifact, plan)
    assert (error.status, error.stage) == ("load_failed", "load")
    assert f"12 there and {PATCH_BYTES} here" in error.why


def test_a_compiled_model_that_the_board_runs_on_its_processor(board, artifact, plan):
    more = artifact.model_copy(update={"provenance": {"operations": {"edgetpu": 2, "cpu": {}}}})
    error = ending(device(board), more, plan)
    assert error.status == "load_failed" and "Edge TPU is 1 there and 2 here" in error.why


@pytest.mark.attack("a board's stamps stand still: no figure of such passes is one")
def test_a_pass_without_time(board, artifact, plan):
    board.befall("run", played_faults.edited(stamps=lambda stamps: "A" * len(stamps), start_us=0, end_us=0))
    error = ending(device(board), artifact, plan)
    assert (error.status, error.stage) == ("protocol_error", "measure")


@pytest.mark.attack("a board's pass is outside the time in which it was asked for: the session fails")
def test_a_pass_of_another_time(board, artifact, plan):
    def earlier(stamp_us):
        return (stamp_us - 1_000_000) % 2**32

    def earlier_stamps(stamps):
        values = np.frombuffer(base64.b64decode(stamps), "<u4").astype(np.int64)
        return base64.b64encode(earlier(values).astype("<u4").tobytes()).decode()

    board.befall("run", played_faults.edited(start_us=earlier, end_us=earlier, stamps=earlier_stamps))
    error = ending(device(board), artifact, plan)
    assert (error.status, error.stage) == ("protocol_error", "measure")
    assert "asked for after" in error.why


@pytest.mark.attack("another program loads a board before its images are predicted: no scores of others")
@pytest.mark.parametrize("block", ["images", "model"])
def test_scores_of_what_another_program_loaded_are_none(board, artifact, session_cache, block):
    def load_others():
        held = board.firmware.blocks[block]
        board.firmware.blocks[block] = other = Held("0" * 64, held.size)
        other.data = bytearray(255 - value for value in held.data)

    images = images_of(sums.golden_patches(), session_cache)
    with device(board).session(artifact, SETTINGS) as session:
        session.golden()
        board.before("predict", load_others)
        with pytest.raises(SessionError) as caught:
            session.predict(images)
    assert (caught.value.status, caught.value.stage) == ("crash", "predict")
    assert f"the {block}" in caught.value.why and "another program" in caught.value.why


# --- the device ---


def test_the_device_says_what_it_is(board):
    facts = device(board).describe()
    assert facts["board"] == "Coral Dev Board Micro"
    assert "800 MHz" in facts["cpu"] and "Edge TPU at 250 MHz" in facts["cpu"]
    assert facts["temperatures_c"] == {"Edge TPU": 41.5}
    assert board.address not in str(facts)


def test_nobody_there_is_said_at_once():
    with played() as board:
        micro = device(board)
    with pytest.raises(UnavailableError) as caught:
        micro.connect()
    assert caught.value.why and caught.value.fix


def test_a_board_that_answered_before_is_waited_for(artifact, monkeypatch):
    monkeypatch.setenv("EDGEBENCH_RECONNECT_S", "0.01")
    naps: list[float] = []
    with played() as board:
        micro = device(board, sleep=naps.append)
        micro.connect()
    with pytest.raises(SessionError) as caught, micro.session(artifact, SETTINGS):
        pass
    assert (caught.value.status, caught.value.stage) == ("lost_connection", "start")
    assert naps


@pytest.mark.attack("other firmware answers at a board's address: the session ends before anything is loaded")
def test_other_firmware_is_left_alone(board, artifact, plan):
    board.befall("describe", played_faults.edited(firmware="camera-streaming"))
    error = ending(device(board), artifact, plan)
    assert (error.status, error.stage) == ("protocol_error", "start")
    assert "camera-streaming" in error.why and not calls(board, "load")
