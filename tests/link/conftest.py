import pytest

from tests.link.rig import make_rig


@pytest.fixture(scope="session")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


@pytest.fixture(scope="module")
def device(rig):
    opened = rig.device()
    yield opened
    opened.close()
