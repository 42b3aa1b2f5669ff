"""A whole Jetson as doctor sees it: stand-ins for its files, its programs, its meters and TensorRT."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from edgebench.board_catalogue import body_of
from edgebench.link.inspection import inspect_target
from edgebench.records.target import Target
from tests.backends.jetson.standin import StandIn
from tests.fakes import agent_backend
from tests.jetson_board import jetson_board
from tests.probes import jetson_board as meters

BACKEND = agent_backend("jetson")
OPTIONS = BACKEND.options_model().model_dump()


@pytest.fixture
def nano(tmp_path, monkeypatch, stand_in: Callable[[str], StandIn]) -> Target:
    """JetPack 4.6.1 in its 5 W mode with free clocks; its INA3221 is not there, its tegrastats is."""
    board = jetson_board(tmp_path / "nano", mode=1)
    (board.root / "etc/nv_tegra_release").write_text(
        "# R32 (release), REVISION: 7.1, GCID: 1, BOARD: t210ref\n"
    )
    for name, value in {**board.environment, **stand_in("8.2").environment}.items():
        monkeypatch.setenv(name, value)
    tegrastats = meters.tegrastats(tmp_path, meters.NANO)
    preferred = (f"ina3221:{tmp_path}", f"tegrastats:{tegrastats}")
    body = body_of(["jetson-nano-devkit"])
    return Target(
        "nano",
        "jetson",
        OPTIONS,
        preferred_meters=preferred,
        size_mm=body["size_mm"],
        boards=body["boards"],
        from_boards=("size_mm",),
    )


def test_all_of_a_nano(nano):
    findings = {finding.subject: finding for finding in inspect_target(nano, BACKEND).findings}
    levels_and_messages = {subject: (finding.level, finding.message) for subject, finding in findings.items()}
    assert levels_and_messages["tensorrt"][0] == "ok"
    assert levels_and_messages["jetpack"] == (
        "ok",
        "4.6.1 to 4.6.6 (L4T R32.7.1), which brings TensorRT 8.2.1 for Python 3.6",
    )
    assert levels_and_messages["gpu"] == ("ok", "57000000.gpu of the NVIDIA Jetson Nano Developer Kit")
    assert levels_and_messages["power mode"] == ("ok", "1 (5W), of 0 (MAXN), 1 (5W), 2 (15W)")
    level, message = levels_and_messages["clocks"]
    assert level == "warning" and "the GPU's (between 77 and 640 MHz) and the processor's" in message
    assert "sudo jetson_clocks" in findings["clocks"].fix
    level, message = levels_and_messages["meter"]
    assert level == "ok" and message.startswith("tegrastats:") and "no INA3221 with a rail" in message
    assert levels_and_messages["board"] == ("ok", "NVIDIA Jetson Nano Developer Kit, as declared")
    assert {subject for subject, (level, _) in levels_and_messages.items() if level == "error"} == set()
