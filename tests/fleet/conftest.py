"""A lab of three machines that tests share as long as they only measure on it."""

from collections.abc import Iterator

import pytest

from tests.fleet.labs import Lab, lab_of, target
from tests.link import sshd
from tests.walk.conftest import make_place, place

__all__ = ["lab", "place"]


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Machines with `one` and `two`, with `far` behind an sshd, and with `bare` without its runtime."""
    pytest.importorskip("distributed")
    if why := sshd.missing():
        pytest.skip(why)
    place = make_place(tmp_path_factory.mktemp("lab"))
    folder = tmp_path_factory.mktemp("board")
    board = sshd.make_board(folder)
    board.start()
    try:
        with lab_of(place) as made:
            made.start_worker("first", target("one") + target("two", "options = { delay_us = 2000 }"))
            far = target("far", f'host = "{board.address}"')
            made.start_worker("second", far, EDGEBENCH_SSH_CONFIG=str(board.config))
            made.start_worker("third", target("bare").replace("toy", "tensorrt") + target("twin"))
            yield made
    finally:
        board.power_off()
