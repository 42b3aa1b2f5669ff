"""The device is held to the contract, with a played board on loopback."""

from typing import ClassVar

import pytest

from edgebench.testing import HostContract
from tests.backends.coralmicro import sums
from tests.backends.coralmicro.played_board import PlayedBoard
from tests.backends.coralmicro.played_engines import LiteRtEngine
from tests.backends.coralmicro.played_firmware import PlayedFirmware


@pytest.fixture(scope="class", autouse=True)
def board(request):
    with PlayedBoard(PlayedFirmware(request.cls.engine, piece_bytes=1 << 20)) as board:
        request.cls.options = {**request.cls.options, "address": board.address}
        yield


class TestSums(HostContract):
    """Of made-up scores."""

    engine = staticmethod(sums.engine_of)
    backend = sums.SumBackend()
    batch = 1
    skips: ClassVar[dict[str, str]] = {"test_looking_at_it_loads_no_runtime": "it is no installed package"}


@pytest.mark.slow
class TestMobileNet(HostContract):
    """Of the shipped model, by LiteRT's reference kernels; nothing here compiles it."""

    engine = LiteRtEngine
    backend = "coral-micro"
    batch = 1
    options: ClassVar[dict[str, object]] = {"allow_cpu": True}
