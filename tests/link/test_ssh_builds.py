"""A build on a board at the end of SSH: made once, found again over another connection, gone once cleaned."""

from dataclasses import replace

import pytest


@pytest.mark.slow
def test_a_build_over_ssh_stays_until_it_is_cleaned(rig, own_board):
    artifact = rig.artifact(build=True)
    reports: list[str] = []
    settings = replace(rig.settings(build=True), report=lambda stage, done, steps: reports.append(stage))
    built = []
    for _ in range(2):
        device = rig.far(own_board)
        with device.session(artifact, settings) as session:
            session.golden()
            built.append(session.facts().built)
        device.close()
    first, second = built
    assert (first.cached, second.cached) == (False, True)
    assert replace(second, cached=False) == first
    assert reports[0] == "build" and reports[1].startswith("build: ") and "load" in reports
    assert (own_board.placed / f"{first.sha256}.json").stat().st_size == first.bytes
    device = rig.far(own_board)
    assert device.clean().left == 0
    assert not own_board.placed.exists()
