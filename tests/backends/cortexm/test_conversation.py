"""The host's side of the serial protocol, against firmware of other vendors and lines that do wrong."""

import importlib

import numpy as np
import pytest

from tests.backends.cortexm.scripted_line import BenchmarkFirmware, ScriptedLine, lines

conversation = importlib.import_module("edgebench.backends.cortexm.conversation")
faults = importlib.import_module("edgebench.backends.cortexm.line")
upload_frames = importlib.import_module("edgebench.backends.cortexm.line")

BANNER = lines("m-timestamp-mode-performance", "m-init-done")
STRAY = b"m-ready\r\n"
LAPS = "m-lap-us-1", "m-lap-us-2"
INFER = "m-warmup-start-1", "m-warmup-done", "m-infer-start-3"
RESULTS = "m-results-[0.125,0.500,0.375]"


def conversation_with(answers=None, **line):
    board = ScriptedLine(BenchmarkFirmware(answers), **line)
    return conversation.Conversation(board, 115_200, board.clock_ns), board


def infer(board):
    return board.infer(3, 1, 0.1, 3)


def test_firmware_that_knows_the_benchmark_alone():
    board, line = conversation_with()
    board.resynchronise()
    profile = board.profile()
    assert (profile.name, profile.firmware, profile.model_id) == (
        *("vendor", "ULPMark for tinyML Firmware V0.0.1", "vww01"),
    )
    assert dict(profile.infos) == {}
    assert board.help() == ("ULPMark for tinyML Firmware V0.0.1", "help : Print this information")
    sent_ns, lap_us, received_ns = board.timestamp()
    assert lap_us == 123
    assert sent_ns < received_ns
    inferences = infer(board)
    assert inferences.laps_us == (20_123, 80_123)
    np.testing.assert_array_equal(inferences.scores, np.array([0.125, 0.5, 0.375], np.float32))
    assert inferences.scores.dtype == np.float32
    assert line.written == ["name", "name", "profile", "help", "timestamp", "infer 3 1"]


def test_infos_are_the_firmwares_own_words():
    answer = lines(
        "m-profile-[x]", "m-info-[board=b]", "m-info-[a=1]", "m-info-[a=2]", "m-model-[y]", "other"
    )
    board, _ = conversation_with({"profile": answer})
    assert dict(board.profile().infos) == {"board": "b", "a": "1"}


def test_firmware_under_a_benchmarks_id_says_its_model():
    answer = lines("m-profile-[x]", "m-model-[vww01]", "m-info-[model=mobilenet_v1-0.25-int8:00ff]")
    board, _ = conversation_with({"profile": answer})
    assert board.profile().model_id == "mobilenet_v1-0.25-int8:00ff"


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(STRAY, id="stray"),
        pytest.param(STRAY * 3, id="strays"),
        pytest.param(b"\xff\x00garbage\r\n" + STRAY, id="garbage"),
        pytest.param(lines("m-load-done"), id="late answer"),
    ],
)
@pytest.mark.parametrize("behind", [b"", STRAY], ids=["", "doubled"])
def test_answers_are_matched_by_content(before, behind):
    """As when each answer comes with what another command left behind."""
    board, _ = conversation_with({"": lambda own: before + own + behind})
    assert board.profile().model_id == "vww01"
    assert board.timestamp()[1] == 123
    inferences = infer(board)
    assert inferences.laps_us == (20_123, 80_123)
    board.resynchronise()
    assert board.profile().name == "vendor"


@pytest.mark.parametrize(
    "behind", [(*LAPS, "m-infer-done", RESULTS), ("m-infer-done", *LAPS, RESULTS), (*LAPS, RESULTS)]
)
def test_laps_come_before_the_end_or_behind_it(behind):
    board, _ = conversation_with({"infer": lines(*INFER, *behind)})
    assert infer(board).laps_us[1] == 2


def test_a_clock_that_wraps_between_two_laps():
    board, _ = conversation_with({"infer": lines(*INFER, "m-lap-us-4294967290", "m-lap-us-10", RESULTS)})
    assert infer(board).laps_us == (2**32 - 6, 10)


@pytest.mark.parametrize("boots_s", [0.0, 0.3, 2.0, 8.0])
def test_a_board_that_resets_when_its_port_is_opened(boots_s):
    firmware = BenchmarkFirmware()
    line = ScriptedLine(coming=[(boots_s, b"\x00\xffboot\r\n" + BANNER)])
    booted_ns = line.now_ns + round(boots_s * 1e9)
    line.answer = lambda command: firmware(command) if line.now_ns >= booted_ns else b""
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    board.resynchronise()
    assert board.profile().name == "vendor"
    assert board.timestamp()[1] == 123


def test_a_command_that_noise_had_begun_is_said_again():
    answers = iter([lines("e-[Unknown command: ?name]")])
    board, line = conversation_with({"name": lambda own: next(answers, own)})
    board.resynchronise()
    assert line.written == ["name", "name"]


def test_late_answers_to_repeated_commands_are_awaited():
    board, line = conversation_with({"name": lambda own: [(2.0, own)]})
    board.resynchronise()
    line.drop_input()
    assert line.read(5.0) == b""


def test_a_load_that_another_host_left_is_given_up():
    board, line = conversation_with(coming=[(0.05, b"m-nack-17\r\n")])
    board.resynchronise()
    assert upload_frames.give_up_frame() in line.sent


@pytest.mark.parametrize(
    ("answers", "ask", "kind", "came"),
    [
        pytest.param({"name": b""}, "profile", "AnswerTimeout", (), id="silence"),
        pytest.param({"name": STRAY * 9}, "profile", "AnswerTimeout", ("m-ready",) * 5, id="only m-ready"),
        pytest.param(
            {"name": b"m-name-dut-[x]\r\nm-rea"},
            "profile",
            "AnswerTimeout",
            ("m-name-dut-[x]", "m-rea"),
            id="cut",
        ),
        pytest.param(
            {"profile": lines("m-profile-[x]")},
            "profile",
            "AnswerTimeout",
            ("m-profile-[x]", "m-ready"),
            id="half a profile",
        ),
        pytest.param(
            {"timestamp": b"m-lap-us-99"}, "timestamp", "AnswerTimeout", ("m-lap-us-99",), id="half a lap"
        ),
        pytest.param({"timestamp": lines("m-lap-us-")}, "timestamp", "AnswerTimeout", None, id="no number"),
        pytest.param({"timestamp": STRAY}, "timestamp", "EnergyBuild", ("m-ready",), id="stamps by pulses"),
        pytest.param(
            {"name": BANNER},
            "profile",
            "BoardReset",
            ("m-timestamp-mode-performance",),
            id="reset for an answer",
        ),
        pytest.param(
            {"profile": b"m-profile-[x]\r\n" + BANNER},
            "profile",
            "BoardReset",
            ("m-profile-[x]", "m-timestamp-mode-performance"),
            id="reset amid an answer",
        ),
        pytest.param(
            {"name": lines("e-[Unknown command: name]")}, "profile", "ErrorAnswer", None, id="error answer"
        ),
    ],
)
def test_faults_of_short_answers(answers, ask, kind, came):
    board, _ = conversation_with(answers)
    with pytest.raises(faults.LineFault) as raised:
        getattr(board, ask)()
    assert type(raised.value).__name__ == kind
    assert raised.value.awaited
    if came is not None:
        assert raised.value.came == came


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        pytest.param(lines(*INFER[:2], "m-infer-start-2", *LAPS, RESULTS), "BadAnswer", id="N"),
        pytest.param(lines("m-warmup-start-10", *INFER[1:], *LAPS, RESULTS), "BadAnswer", id="W"),
        pytest.param(lines(*INFER, INFER[2], *LAPS, RESULTS), "BadAnswer", id="twice N"),
        pytest.param(lines(*INFER[:2], *LAPS, RESULTS), "AnswerTimeout", id="no N"),
        pytest.param(lines(*INFER, "m-lap-us-1", RESULTS), "BadAnswer", id="one lap"),
        pytest.param(lines(*INFER, *["m-lap-us-1"] * 3, RESULTS), "BadAnswer", id="three laps"),
        pytest.param(lines(*INFER, "m-infer-done", RESULTS), "EnergyBuild", id="no laps"),
        pytest.param(lines(*INFER, *LAPS), "AnswerTimeout", id="no scores"),
        pytest.param(lines(*INFER, *LAPS, "m-results-[0.1,0.2"), "AnswerTimeout", id="cut scores"),
        pytest.param(lines(*INFER, *LAPS, "m-results-[0.1,0.2]"), "BadAnswer", id="too few scores"),
        pytest.param(
            lines(*INFER, *LAPS, "m-results-[0.1,0.2,0.3,0.4]"),
            "BadAnswer",
            id="too many",
        ),
        pytest.param(lines(*INFER, *LAPS, "m-results-[0.1,nan,0.3]"), "BadAnswer", id="nan"),
        pytest.param(
            lines(*INFER, *LAPS, f"m-results-[0.1,{'9' * 39},0.3]"),
            "BadAnswer",
            id="beyond float32",
        ),
        pytest.param(lines(*INFER, "m-lap-us-1", "e-[An inference failed]"), "ErrorAnswer", id="error"),
        pytest.param(b"m-warmup-start-1\r\n" + BANNER, "BoardReset", id="reset"),
    ],
)
def test_faults_of_inferences(answer, kind):
    board, _ = conversation_with({"infer": answer})
    with pytest.raises(faults.LineFault) as raised:
        infer(board)
    assert type(raised.value).__name__ == kind
    assert raised.value.awaited and raised.value.came


def test_an_energy_build_is_known_by_its_banner():
    board, line = conversation_with(
        {"name": lambda own: lines("m-timestamp-mode-energy", "m-init-done") + own}
    )
    board.resynchronise()
    line.written.clear()
    for ask in (board.timestamp, lambda: infer(board)):
        with pytest.raises(faults.EnergyBuild):
            ask()
    assert line.written == []


def test_a_slow_inference_is_awaited():
    board, _ = conversation_with({"infer": lambda own: [(0.1, own[:30]), (55.0, own[30:])]})
    assert board.infer(3, 1, 20.0, 3).laps_us[1] == 80_123


def test_a_board_that_never_answers_ends_the_resynchronising():
    board, line = conversation_with({"name": b""})
    start_ns = line.now_ns
    with pytest.raises(faults.AnswerTimeout, match=r"the board at /dev/ttyACM3 does not answer") as raised:
        board.resynchronise()
    assert raised.value.came == ()
    assert line.now_ns - start_ns < 30e9
