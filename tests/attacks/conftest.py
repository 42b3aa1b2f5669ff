"""What several edges share."""

import pytest

from edgebench.link import clock_match as clockmatch
from tests.attacks.lying_device import Time


@pytest.fixture
def host_time(monkeypatch):
    time = Time()
    monkeypatch.setattr(clockmatch, "time", time)
    return time
