"""The catalogue of boards: every figure has a source, and what is no catalogue is refused in words."""

from pathlib import Path

import pytest

from edgebench import registry
from edgebench.board_catalogue import BOARD_FACTS, Board, known_boards, read_board
from edgebench.errors import UsageError

STUDY = (
    "disco-cortex-m7", "jetson-nano-devkit", "coral-dev-board-micro", "coral-dev-board-mini", "coral-usb",
    "ncs2",
)  # fmt: skip
OTHERS = (
    "jetson-orin-nano-devkit", "raspberry-pi-3b", "raspberry-pi-4b", "raspberry-pi-5", "coral-dev-board",
    "coral-m2-ae", "nucleo-h743zi2",
)  # fmt: skip


@pytest.mark.parametrize("name", known_boards())
def test_every_figure_has_a_source_of_its_own(name):
    board = known_boards()[name]
    stated = [fact for name in BOARD_FACTS if (fact := getattr(board, name))]
    assert all(len(fact.source) > 5 for fact in stated)
    assert all(power.source for power in board.power)
    assert stated or board.note


def test_the_boards_of_the_study_and_common_others_are_known():
    assert set(STUDY) | set(OTHERS) <= set(known_boards())


def test_what_is_plugged_in_has_no_model_and_a_host_has_one():
    for name, entry in known_boards().items():
        if entry.plugged_in:
            assert not entry.models, name
        if not entry.devices:
            assert entry.models and not entry.plugged_in, name


def test_devices_of_boards_are_devices():
    devices = {device for entry in known_boards().values() for device in entry.devices}
    assert devices <= set(registry.names("edgebench.backends"))


BOARD = '[boards.mine]\ntitle = "Mine"\n'


def read(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return read_board(path)


def test_a_board_has_what_its_file_says(tmp_path):
    body = read(
        tmp_path,
        f"schema_version = 1\n{BOARD}"
        'processor = { value = "8051", source = "its lid" }\n'
        'mass_g = { value = 61, source = "scale" }\n'
        'size_mm = { value = [85, 56.5, 17], source = "scale" }\n'
        'boot_s = { value = 21.5, source = "stop watch" }\n'
        'power = [{ watts = 7.5, kind = "maximum", source = "page 3" }]\n',
    )
    assert (body.processor.value, body.memory, body.mass_g.value) == ("8051", None, 61.0)
    assert body.size_mm.value == (85.0, 56.5, 17.0)
    assert body.mass_g.source == "scale"
    assert [(power.watts, power.kind) for power in body.power] == [(7.5, "maximum")]
    assert (body.boot_s.value, body.boot_s.source) == (21.5, "stop watch")


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("boards = 3\n", "boards", "[boards.NAME]"),
        ("", "boards is missing", "[boards.NAME]"),
        ("[boards]\n", "boards", "[boards.NAME]"),
        ("schema_version = 2\n" + BOARD, "schema_version", "schema_version = 1"),
        ("[board.mine]\n", "unknown key 'board'", "did you mean 'boards'"),
        ("[boards.mine]\n", "boards.mine: title is missing", "add title ="),
        ("[boards.'../x']\ntitle = 'x'\n", "boards", "small letters"),
        (BOARD + "mass = 3\n", "unknown key 'mass'", "did you mean 'mass_g'"),
        (BOARD + "mass_g = 61.5\n", "mass_g: 61.5 is not a table", "mass_g = { value = 61.5"),
        (BOARD + "mass_g = { value = 61.5 }\n", "source is missing", "add source ="),
        (BOARD + "mass_g = { value = 61.5, source = '' }\n", "boards.mine.mass_g.source", "1 to 1000"),
        (BOARD + "mass_g = { value = -1, source = 'x' }\n", "-1 is not above 0", "mass_g = {"),
        (BOARD + "mass_g = { value = nan, source = 'x' }\n", "mass_g", "mass_g = {"),
        (BOARD + "mass_g = { value = '61', source = 'x' }\n", "'61' is not a number", "mass_g = {"),
        (BOARD + "mass_g = { value = 6, source = 'x', unit = 'g' }\n", "unknown key 'unit'", "value, source"),
        (BOARD + "size_mm = { value = [1, 2], source = 'x' }\n", "too few entries", "size_mm = {"),
        (BOARD + "mass_g = { value = 1e300, source = 'x' }\n", "1e+300 is not at most 1e+09", "mass_g = {"),
        (BOARD + "boot_s = { value = 0, source = 'x' }\n", "0 is not above 0", "boot_s = {"),
        (BOARD + "plugged_in = 'yes'\n", "plugged_in", "true or false"),
        (
            BOARD + "power = { watts = 7000, kind = 'maximum', source = 'x' }\n",
            "7000 is not at most",
            "watts",
        ),
        (BOARD + "power = { watts = 7, kind = 'peak', source = 'x' }\n", "'peak'", "power = {"),
        (
            BOARD + "power = [{ watts = 7, kind = 'typical', source = 'x' },"
            " { watts = 5, kind = 'maximum', source = 'x' }]\n",
            "above the maximum",
            "leave one",
        ),
        (BOARD + "note = 'a\\u001bb'\n".replace("'", '"'), "note", ""),
        (f'{BOARD}[boards.other]\ntitle = "Other"\n', "has 2 boards: mine, other", "a file for each"),
        (f"{BOARD}{BOARD}", "not TOML", ""),
    ],
)
@pytest.mark.attack(
    "a file of boards that is malformed: refused, with the board, the field and what would do"
)
def test_what_is_no_board_is_refused(tmp_path, text, what, fix):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert what in caught.value.what + caught.value.why
    assert fix in caught.value.fix
    assert "mine.toml" in caught.value.what


def test_every_field_of_a_board_can_be_left_out_but_its_title():
    assert Board(title="x").mass_g is None


def test_the_documented_example_is_a_board(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "boards.md").read_text(encoding="utf-8")
    example = text.partition("```toml\n[boards.")[2].partition("```")[0]
    body = read(tmp_path, f"[boards.{example}")
    assert (body.title, body.mass_g.value, body.models) == ("My Board", 61.5, ("Maker Board X",))
