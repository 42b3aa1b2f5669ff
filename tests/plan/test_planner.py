"""Options of devices that have flags of their own."""

import pytest

from edgebench import registry
from edgebench.contract import BackendOptions
from edgebench.errors import UsageError
from edgebench.run.config import run_config
from edgebench.run.planner import choose
from tests.fakes import FakeBackend


class FirmwareOptions(BackendOptions):
    build: bool = False
    flash: bool = False
    artifact: str | None = None


class FirmwareBackend(FakeBackend):
    options_model = FirmwareOptions  # type: ignore[assignment]


@pytest.fixture
def devices(monkeypatch):
    backends = {"board": FirmwareBackend("board"), "fake": FakeBackend()}
    monkeypatch.setattr(registry, "backend", backends.__getitem__)


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {}),
        ({"build": True}, {"build": True}),
        ({"build": True, "flash": True, "set": ("flash=false",)}, {"build": True, "flash": True}),
        ({"artifact": "models"}, {"artifact": "models"}),
    ],
)
def test_a_flag_sets_the_option_of_the_devices_that_have_it(devices, settings, options):
    _, (board, fake) = choose(run_config({"device": ("board", "fake"), **settings}))
    assert board.options == {"build": False, "flash": False, "artifact": None, **options}
    assert fake.options == {"threads": 1}


@pytest.mark.parametrize("settings", [{"build": True}, {"flash": True}, {"artifact": "models"}])
def test_a_flag_is_refused_in_its_own_words_where_no_device_has_the_option(devices, settings):
    with pytest.raises(UsageError, match=f"^--{next(iter(settings))}: no device here has that option"):
        choose(run_config({"device": ("fake",), **settings}))
