"""The help of `edgebench run`: every option in a panel, readable at 80 columns."""

import re

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.run.settings import PANELS, run_settings


@pytest.fixture(scope="module")
def help_text():
    done = CliRunner().invoke(app, ["run", "--help-all"], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert done.exit_code == 0, done.exception
    return done.stdout


def test_every_option_is_in_a_panel():
    command = get_command(app)
    assert isinstance(command, TyperGroup)
    run = command.commands["run"].load()  # type: ignore[attr-defined]
    panels = {param.name: getattr(param, "rich_help_panel", None) for param in run.params}
    assert set(panels.values()) == set(PANELS)
    assert {name: panels[name] for name in run_settings()} == {
        name: setting.declaration.panel for name, setting in run_settings().items()
    }


def test_each_panel_has_room_for_its_help(help_text):
    places = [help_text.index(f" {panel} ") for panel in PANELS]
    assert places == sorted(places)
    lines = help_text.splitlines()
    assert all(len(line) <= 80 for line in lines)
    # One column of narrow help made twice as many.
    assert len(lines) < 210


def test_the_short_help_has_the_options_that_most_people_use():
    done = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert done.exit_code == 0, done.exception
    shown = set(re.findall(r"^│ (--[a-z-]+)", done.stdout, re.MULTILINE))
    assert shown - {"--help", "--help-all"} == {
        "--device", "--target", "--host", "--model", "--depth", "--precision", "--images", "--profile",
        "--meter", "--quick", "--name", "--resume", "--labels", "--calibration", "--sessions", "--dry-run",
        "--output-dir",
    }  # fmt: skip
    assert "--help-all" in shown
    assert len(done.stdout.splitlines()) < 75


def test_no_help_shows_a_type_of_python():
    for command in ("fit", "compare", "report", "show", "mission", "explore", "history", "export", "import"):
        done = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80", "NO_COLOR": "1"})
        assert done.exit_code == 0, done.exception
        assert not re.search(r"<(str|int|float|path|list|Path)", done.stdout), command


def test_flags_have_no_word_for_their_type(help_text):
    assert "--quick" in help_text
    assert "bool" not in help_text
