"""The declarations of settings: each names itself everywhere, and its default is what validation gives."""

import subprocess
import sys

import pytest
from typer.main import get_command

from edgebench.cli.main import app
from edgebench.run.config import resolve, run_config
from edgebench.run.settings import RunConfig, run_settings
from tests.plan.settings_page import PAGE, page


def test_validation_of_nothing_gives_the_defaults():
    assert run_config({}) == RunConfig()


def test_each_setting_is_an_option_of_run():
    run = get_command(app).commands["run"].load()  # type: ignore[attr-defined]
    options = {param.name: param.opts for param in run.params}
    assert all(setting.flag in options[name] for name, setting in run_settings().items())


@pytest.mark.parametrize("name", ["model", "power_mode", "meter", "profile"])
def test_lists_of_the_environment_have_commas(name):
    config = resolve({}, env={run_settings()[name].environment: "a, b"}).config
    assert getattr(config, name) == ("a", "b")


def test_one_power_mode_of_a_file_may_be_text():
    assert resolve({}, project={"power_mode": "MAXN"}).config.power_mode == ("MAXN",)


def test_the_page_of_settings_is_that_of_the_declarations():
    assert PAGE.read_text(encoding="utf-8") == page(), "renew it: python -m tests.plan.settings_page"


def test_declarations_import_no_validation():
    code = "import sys, edgebench.run.settings as s; s.run_settings(); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
