"""What a runner takes in beside itself: files of its own folder and of the one above, here and on a board."""

import sys

import pytest

from edgebench.agent.worker import RUNNER
from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.link.session_loop import Timeouts
from tests.fakes import agent_backend

TAKES_IN = """
from ..shared import ABOVE
from .beside import BESIDE

_plain = load


def load(path, options):
    model = _plain(path, options)
    told = model.describe()
    told.update(above=ABOVE, beside=BESIDE)
    model.describe = lambda: told
    return model
"""


@pytest.fixture
def files(tmp_path):
    """The toy's runner with two files that it takes in."""
    folder = tmp_path / "device"
    folder.mkdir()
    runner = folder / "runner.py"
    runner.write_text(agent_backend("toy").runner_files()[0].read_text() + TAKES_IN)
    (folder / "beside.py").write_text("from ..shared import ABOVE\nBESIDE = 'beside, ' + ABOVE\n")
    (tmp_path / "shared.py").write_text("ABOVE = 'above'\n")
    return runner, tmp_path / "shared.py", folder / "beside.py"


def opened(rig, files, folder=None, explain=None):
    agent, _ = agent_file(rig.cache)
    more = {} if explain is None else {"explain": explain}
    return AgentDevice(LocalLink(agent, sys.executable, folder), files, Timeouts(), **more)


@pytest.mark.parametrize("shared", [True, False], ids=["shared folders", "placed by hash"])
def test_they_travel_with_it(rig, files, tmp_path, shared):
    device = opened(rig, files, None if shared else tmp_path / "placed")
    try:
        with device.session(rig.artifact(), rig.settings()) as session:
            runtime = session.facts().runtime
    finally:
        device.close()
    assert (runtime["above"], runtime["beside"]) == ("above", "beside, above")


def test_one_that_was_not_named_is_not_there(rig, files):
    device = opened(rig, files[:2])
    try:
        with pytest.raises(SessionError) as caught, device.session(rig.artifact(), rig.settings()):
            pass
    finally:
        device.close()
    assert caught.value.status == "load_failed"
    assert f"{RUNNER}.device.beside" in caught.value.why


def test_a_failure_is_told_in_the_backends_own_words(rig, files):
    def explain(error):
        return SessionError("in other words", status=error.status, stage=error.stage, why=error.why)

    device = opened(rig, files[:2], explain=explain)
    try:
        with (
            pytest.raises(SessionError, match="in other words"),
            device.session(rig.artifact(), rig.settings()),
        ):
            pass
    finally:
        device.close()
