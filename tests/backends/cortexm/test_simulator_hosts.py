"""The host's conversation with a simulated board under each fault: it goes on, or names it."""

import importlib
import random

import pytest

from tests.backends.cortexm.board_faults import FAULTS
from tests.backends.cortexm.host_programs import INPUT_BYTES
from tests.backends.cortexm.simulated import BAUD, MODEL_ID, SimulatedLine, line_faults

conversations = importlib.import_module("edgebench.backends.cortexm.conversation")
TENSOR = random.Random(7).randbytes(INPUT_BYTES)
INFERENCE_MS = 100.0


def rounds(*faults, count=3, **board):
    """What becomes of so many rounds of a load and a window, "" or the fault's name; the seconds in all."""
    line = SimulatedLine(*faults, inference_ms=INFERENCE_MS, **board)
    conversation = conversations.Conversation(line, BAUD, line.clock_ns)
    outcomes = []
    for _ in range(count):
        try:
            load_and_infer(conversation)
            outcomes.append("")
        except line_faults.LineFault as fault:
            assert fault.why or fault.what
            outcomes.append(type(fault).__name__)
    return outcomes, line.clock_ns() / 1e9


def load_and_infer(conversation):
    conversation.resynchronise()
    conversation.profile()
    conversation.load(TENSOR)
    done = conversation.infer(100, 1, 100 * INFERENCE_MS / 1e3, 5)
    assert (done.laps_us[1] - done.laps_us[0]) % 2**32 == 100 * 100_000
    conversation.timestamp()


WHOLE = ["", "", ""]

OUTCOMES = {
    "lost-bytes:3000": WHOLE,  # frames are sent again
    "lost-bytes:1000": WHOLE,
    "lost-answer-bytes:5000": WHOLE,
    "lost-answer-bytes:310": ["", "AnswerTimeout", "BadAnswer"],
    "doubled-ready:1": WHOLE,
    "stray-ready:1": WHOLE,
    "garbage-lines:1": WHOLE,
    "garbage-bytes:14": ["", "", "AnswerTimeout"],
    "garbage-bytes:1": ["AnswerTimeout"] * 3,
    "unplug": ["LineLost"] * 3,
    "unplug:3": ["", "", "LineLost"],
    "reset-in-infer:2": ["", "BoardReset", ""],
    "reset-in-load:2": ["", "BoardReset", ""],
    "abort:2": ["", "BoardReset", ""],
    "stall": ["AnswerTimeout"] * 3,
    "stall:16": ["", "", "AnswerTimeout"],
    "stall-in-infer:2": ["", "AnswerTimeout", "AnswerTimeout"],
    "load-error": ["RefusedLoad"] * 3,
    "wrong-count": ["BadAnswer"] * 3,
    "truncated-results": ["BadAnswer"] * 3,
    "nan-results": ["BadAnswer"] * 3,
    "other-results": WHOLE,  # golden patches tell
    "other-model": WHOLE,  # the model id tells
    "no-binary-load": WHOLE,
    "foreign": WHOLE,
    "energy": ["EnergyBuild"] * 3,
}
LONGEST_ROUND_S = 60.0  # of the host's clock, which goes by without waiting


@pytest.mark.attack(
    "a board or its line does any of the simulator's faults: a host goes on, or names it in time"
)
@pytest.mark.parametrize("fault", OUTCOMES)
def test_a_host_under_each_fault(fault):
    outcomes, seconds = rounds(fault)
    assert outcomes == OUTCOMES[fault]
    assert seconds < LONGEST_ROUND_S * len(outcomes)


def test_a_host_is_tried_under_every_fault():
    assert {fault.partition(":")[0] for fault in OUTCOMES} == set(FAULTS)


@pytest.mark.parametrize(
    ("fault", "outcomes"),
    [
        ("lost-bytes:3000", ["LoadFailed"] * 3),  # each attempt by digits is longer than that
        ("lost-bytes:400000", WHOLE),
        ("doubled-ready:1", WHOLE),
        ("stray-ready:1", WHOLE),
        ("lost-answer-bytes:300", ["LoadFailed"] * 3),
        ("reset-in-load:2", ["", "BoardReset", ""]),
    ],
)
def test_a_host_that_loads_by_digits(fault, outcomes):
    assert rounds(fault, "no-binary-load")[0] == outcomes


def test_a_clock_that_wraps_in_the_second_window():
    assert rounds(start_us=2**32 - 15_000_000)[0] == WHOLE


def test_what_a_host_reads_of_a_board():
    line = SimulatedLine()
    conversation = conversations.Conversation(line, BAUD, line.clock_ns)
    conversation.resynchronise()
    profile = conversation.profile()
    assert profile.name == "edgebench"
    assert (profile.firmware, profile.model_id) == ("edgebench-cortexm 1", MODEL_ID)
    assert profile.infos["board"] == "simulator" and profile.infos["scores"] == "5"
