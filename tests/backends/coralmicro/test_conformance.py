"""The device is held to the contract, with a played board on loopback."""

from typing import ClassVar

import pytest

from edgebench.testing import BackendContract
from tests.backends.coralmicro import sums
from tests.backends.coralmicro.core_board import CoreBoard, CoreFirmware, core_library
from tests.backends.coralmicro.played_board import PlayedBoard
from tests.backends.coralmicro.played_engines import LiteRtEngine
from tests.backends.coralmicro.played_firmware import PlayedFirmware


@pytest.fixture(scope="class", autouse=True)
def board(request, tmp_path_factory):
    with request.cls.board_in(tmp_path_factory) as board:
        request.cls.options = {**request.cls.options, "address": board.address}
        yield


def played(engine_of):
    return lambda folders: PlayedBoard(PlayedFirmware(engine_of, piece_bytes=1 << 20))


def core(folders):
    return CoreBoard(CoreFirmware(core_library(folders.mktemp("core")), sums.engine_of))


class TestSums(BackendContract):
    """Of made-up scores."""

    board_in = staticmethod(played(sums.engine_of))
    backend = sums.SumBackend()
    batch = 1
    skips: ClassVar[dict[str, str]] = {"test_looking_at_it_loads_no_runtime": "it is no installed package"}


@pytest.mark.slow
class TestCore(TestSums):
    """The same answered by the core of the firmware, compiled for this machine."""

    board_in = staticmethod(core)


@pytest.mark.slow
class TestMobileNet(BackendContract):
    """Of the shipped model, by LiteRT's reference kernels; nothing here compiles it."""

    board_in = staticmethod(played(LiteRtEngine))
    backend = "coral-micro"
    batch = 1
    options: ClassVar[dict[str, object]] = {"allow_cpu": True}
