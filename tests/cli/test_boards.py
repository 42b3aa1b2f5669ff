"""`edgebench boards`: the catalogue at 80 columns and as JSON, and a board of one's own."""

import json

import pytest
from typer.testing import CliRunner

from edgebench.board_catalogue import BOARD_FACTS, known_boards
from edgebench.cli.main import app
from edgebench.errors import UsageError
from tests.synthetic_results import made_experiment


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def call(*words):
    return CliRunner().invoke(app, ["boards", *map(str, words)])


def test_all_boards_are_listed_within_80_columns():
    done = call("list")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    rows = {line.split()[0]: line for line in lines if line.strip()}
    assert set(known_boards()) <= set(rows)
    assert "45 g" in rows["raspberry-pi-3b"] and "2.04 W typical" in rows["raspberry-pi-3b"]
    assert "88 x 60 x 24 mm" in rows["coral-dev-board"]


@pytest.mark.parametrize("name", ["raspberry-pi-4b", "coral-usb", "jetson-orin-nano", "coral-mini-pcie"])
def test_each_figure_is_shown_with_its_source_or_as_not_known(name):
    done = call("show", name)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    body = known_boards()[name]
    absent = sum(getattr(body, fact) is None for fact in BOARD_FACTS) + 2 - len(body.power)
    assert done.stdout.count("not known") == absent
    squeezed = "".join(done.stdout.split())
    assert "".join(body.title.split()) in squeezed
    if body.plugged_in:
        assert "pluggedintoahost" in squeezed


def test_a_board_as_json_has_each_figure_with_its_source():
    board = json.loads(call("show", "raspberry-pi-4b", "--json").stdout)["board"]
    assert board["mass_g"]["value"] == 46.0 and "Halfacree" in board["mass_g"]["source"]
    assert board["boot_s"] is None
    [power] = board["power"]
    assert (power["watts"], power["kind"]) == (3.06, "typical") and "bare board" in power["source"]
    listed = json.loads(call("list", "--json").stdout)["boards"]
    assert board in listed and len(listed) == len(known_boards())


def test_a_file_of_ones_own_is_shown(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[boards.mine]\ntitle = "Mine"\nboot_s = { value = 21.5, source = "stop watch" }\n')
    text = call("show", path).stdout
    assert "21.5 s" in text and "stop watch" in text


def test_a_stored_result_is_judged_with_a_board_and_is_left_as_it_was(tmp_path):
    folder = made_experiment(tmp_path, variants=("mobilenet_v1-0.25-int8",), power=True)
    profile = tmp_path / "mass.toml"
    profile.write_text(
        'name = "mass"\n[[requirements]]\nname = "mass"\nquantity = "mass_g"\nlimit = 50\nunit = "g"\n'
    )
    before = (folder / "experiment.json").read_bytes()
    words = ("fit", str(folder), "--profile", str(profile), "--json")
    plain = CliRunner().invoke(app, words)
    assert [each["verdict"] for each in json.loads(plain.stdout)["verdicts"]] == ["unknown"]
    done = CliRunner().invoke(app, [*words, "--board", "raspberry-pi-4b"])
    assert done.exit_code == 0, done.output
    assert "note: " in done.stderr and "declared power of Raspberry Pi 4" in done.stderr
    [verdict] = json.loads(done.stdout)["verdicts"]
    assert (verdict["verdict"], verdict["value"]) == ("pass", 46.0)
    assert "declared as Raspberry Pi 4 Model B" in verdict["reason"]
    page = tmp_path / "out.md"
    done = CliRunner().invoke(app, ["report", str(folder), "-o", str(page), "--board", "coral-m2-bm"])
    assert done.exit_code == 0, done.output
    assert "note: " in done.stderr
    assert (folder / "experiment.json").read_bytes() == before


def test_an_unknown_board_is_refused_with_the_nearest_name():
    done = call("show", "coral-dev-bord-mini")
    assert isinstance(done.exception, UsageError)
    assert "'coral-dev-bord-mini'" in done.exception.what
    assert "did you mean 'coral-dev-board-mini'" in done.exception.fix
