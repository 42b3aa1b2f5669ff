"""A board at a serial line that deceives, floods, falls silent or is unplugged: each ends in bounded time."""

import importlib

import pytest

from edgebench.link.clock_match import BoardFault, WrappingClock
from tests.backends.cortexm.scripted_line import BenchmarkFirmware, ScriptedLine, lines

conversation = importlib.import_module("edgebench.backends.cortexm.conversation")
faults = importlib.import_module("edgebench.backends.cortexm.line")
messages = importlib.import_module("edgebench.backends.cortexm.line")

LAPS = "m-lap-us-1", "m-lap-us-20000"
MOST_S = 60.0
MOST_WORDS = 1200


def attack(*values, what, name):
    return pytest.param(*values, marks=pytest.mark.attack(what), id=name)


def infer(board):
    return board.infer(10, 0, 1.0, 3)


def answer(count="10", laps=LAPS, scores="0.1,0.8,0.1"):
    return lines(
        "m-warmup-start-0",
        "m-warmup-done",
        f"m-infer-start-{count}",
        *laps,
        "m-infer-done",
        f"m-results-[{scores}]",
    )


@pytest.mark.parametrize("use", ["resynchronise", "profile", "timestamp", "infer", "load"])
@pytest.mark.parametrize(
    "forever",
    [
        attack(b"\xa5\x00\xff\x1b[2J%" * 50, what="garbage without an end: a fault says what", name="noise"),
        attack(b"x" * 4000, what="a line without an end: cut, and a fault", name="long line"),
        attack(b"m-ready\r\n" * 20, what="`m-ready` for ever: no answer is taken from it", name="m-ready"),
        attack(b"\r\n" * 500, what="empty lines for ever: a fault ends the wait", name="empty lines"),
        attack(b"m-nack-0\r\n", what="a binary load that never ends asks for its frames", name="m-nack"),
        attack(b"m-info-[a=b]\r\n" * 90, what="infos for ever: a fault ends the wait", name="infos"),
    ],
)
def test_a_board_that_never_stops(forever, use):
    line = ScriptedLine(forever=forever)
    board = conversation.Conversation(line, 921_600, line.clock_ns)
    calls = {"infer": lambda: infer(board), "load": lambda: board.load(bytes(100))}
    start_ns = line.now_ns
    with pytest.raises(faults.LineFault) as raised:
        calls.get(use, getattr(board, use))()
    assert (line.now_ns - start_ns) / 1e9 < MOST_S
    text = str(raised.value)
    assert text.replace("\n", "").isprintable()
    assert len(text) < MOST_WORDS


@pytest.mark.parametrize(
    ("lie", "kind"),
    [
        attack(answer("9"), "BadAnswer", what="a board counts fewer inferences than asked", name="N"),
        attack(answer("4294967296"), "BadAnswer", what="a board counts 2^32 inferences", name="huge N"),
        attack(answer(laps=LAPS[:1]), "BadAnswer", what="a board leaves out a lap", name="one lap"),
        attack(answer(laps=LAPS * 2), "BadAnswer", what="a board sends four laps", name="four laps"),
        attack(answer(scores="nan,0.5,0.5"), "BadAnswer", what="scores are nan: no result", name="nan"),
        attack(answer(scores="inf,0.5,0.5"), "BadAnswer", what="scores are infinite: no result", name="inf"),
        attack(answer(scores="0.5,0.5"), "BadAnswer", what="too few scores: no result", name="few scores"),
        attack(answer(scores=",".join(["0.5"] * 2000)), "BadAnswer", what="2,000 scores for 3", name="many"),
        attack(answer(scores="0.1,0.2,0x3"), "BadAnswer", what="a score that is no number", name="word"),
        attack(answer(scores="0.1,,0.2"), "BadAnswer", what="a score is missing: no result", name="missing"),
        attack(answer(scores="1e400,0.2,0.3"), "BadAnswer", what="a score beyond all numbers", name="1e400"),
        attack(
            answer(laps=("m-lap-us--5", "m-lap-us--1")), "BadAnswer", what="laps below 0", name="laps < 0"
        ),
        attack(answer()[:-30], "AnswerTimeout", what="a board stalls during its scores", name="stall"),
        attack(b"", "AnswerTimeout", what="a board stalls before its answer", name="silence"),
        attack(
            answer()[:40] + lines("m-timestamp-mode-performance", "m-init-done"),
            "BoardReset",
            what="a board is reset during its inferences: named, and no lap is taken",
            name="reset",
        ),
    ],
)
def test_inferences_that_are_none(lie, kind):
    line = ScriptedLine(BenchmarkFirmware({"infer": lie}))
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    with pytest.raises(faults.LineFault) as raised:
        infer(board)
    assert type(raised.value).__name__ == kind
    assert len(str(raised.value)) < MOST_WORDS


@pytest.mark.attack("a board's laps are an hour apart in an answer of a second: refused")
def test_laps_that_lie():
    line = ScriptedLine(BenchmarkFirmware({"infer": answer(laps=("m-lap-us-5", "m-lap-us-4"))}))
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    laps = infer(board)
    with pytest.raises(BoardFault):
        WrappingClock().stamps_us(laps.sent_ns, laps.laps_us, laps.received_ns)


@pytest.mark.attack("a board takes 4 s for each command of a load of hours: given up within minutes")
def test_a_load_that_never_gets_done():
    answers = BenchmarkFirmware()
    line = ScriptedLine(lambda command: [(4.0, answers(command))])
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    start_ns = line.now_ns
    with pytest.raises(faults.LoadFailed) as raised:
        board.load(bytes(150_528))
    assert (line.now_ns - start_ns) / 1e9 < 900
    assert "of 150,528 bytes" in raised.value.why


@pytest.mark.attack("a board sends `m-ready` for ever once a load is tried again: it is passed over")
def test_a_second_attempt_that_is_flooded():
    answers = BenchmarkFirmware()
    digits = 0

    def answer_to(command):
        nonlocal digits
        digits += command.startswith("db 0")
        if digits == 1 and command.startswith("db 0"):
            return lines("e-[Invalid hex digit 'xy']")
        if digits == 2:
            line.forever = b"m-ready\r\n"
        return answers(command)

    line = ScriptedLine(answer_to)
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    start_ns = line.now_ns
    board.load(bytes(400))
    assert line.written.count("db load 400") == 2
    assert (line.now_ns - start_ns) / 1e9 < 2 * MOST_S


@pytest.mark.attack("a board is unplugged during an answer or a load: the line is lost, and that is reported")
@pytest.mark.parametrize("reads", range(8))
def test_unplugged(reads):
    line = ScriptedLine(BenchmarkFirmware(), lost_after=reads)
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    with pytest.raises(faults.LineLost):
        board.resynchronise()
        board.load(bytes(40))
        infer(board)
        infer(board)


@pytest.mark.attack("a profile with 10,000 infos and terminal escapes: what is kept is bounded and printable")
def test_a_profile_that_floods():
    infos = [f"m-info-[name{number}=\x1b]0;owned\x07{'v' * 500}]" for number in range(10_000)]
    flood = lines("m-profile-[\x1b[2Jfirmware\u202e]".encode().decode("latin-1"), "m-model-[m]", *infos)
    line = ScriptedLine(BenchmarkFirmware({"profile": flood}))
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    profile = board.profile()
    assert len(profile.infos) == conversation.MOST_INFOS
    texts = [profile.firmware, profile.model_id, *profile.infos, *profile.infos.values()]
    assert all(text.isascii() and text.isprintable() for text in texts)
    assert max(map(len, texts)) <= messages.MOST_VALUE_CHARACTERS


@pytest.mark.attack("an error answer with terminal escapes: its words are printed without them")
def test_an_error_that_steers_the_terminal():
    error = lines("e-[\x1b]52;c;b3duZWQ=\x07" + "x" * 5000 + "]")
    line = ScriptedLine(BenchmarkFirmware({"infer": error}))
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    with pytest.raises(faults.ErrorAnswer) as raised:
        infer(board)
    assert raised.value.what.isprintable()
    assert len(str(raised.value)) < MOST_WORDS
