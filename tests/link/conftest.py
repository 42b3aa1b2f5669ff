import pytest

from tests.link import sshd
from tests.link.rig import make_rig


@pytest.fixture(scope="session")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


@pytest.fixture(scope="module")
def device(rig):
    opened = rig.device()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def ssh_board(tmp_path_factory):
    """This machine behind an sshd that stays up; tests that stop or starve theirs make one of their own."""
    if why := sshd.missing():
        pytest.skip(why)
    board = sshd.make_board(tmp_path_factory.mktemp("sshd"))
    board.start()
    yield board
    board.power_off()


@pytest.fixture
def own_board(tmp_path):
    """An sshd of one test's own, started."""
    if why := sshd.missing():
        pytest.skip(why)
    board = sshd.make_board(tmp_path)
    board.start()
    yield board
    board.power_off()
