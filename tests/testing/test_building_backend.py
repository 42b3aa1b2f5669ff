"""A backend that builds on the board is held to that part of the contract, and found out where it fails."""

from typing import ClassVar

import pytest

from edgebench.prepare.cache import Cache
from edgebench.records.model import BuiltArtifact
from edgebench.testing import BackendContract, backend_contract
from edgebench.testing.backend_kit import BackendKit
from edgebench.testing.device_code import argument_counts
from tests.fakes import agent_backend
from tests.testing.complaints import backend_kit, judge


class TestToyThatBuilds(BackendContract):
    backend = "toy"
    options: ClassVar = {"build": True}
    variants = ("mobilenet_v1-0.25-int8",)


def test_arguments_are_counted_at_the_top_level():
    counts = argument_counts(agent_backend("toy").runner_files()[0])
    assert counts["load"] == 2 and counts["build"] == 5 and counts["build_version"] == 0
    assert "describe" not in counts


def test_a_build_that_is_never_found_again_fails(tmp_path, monkeypatch):
    builds = iter(BuiltArtifact(1.0, digit * 64, 10, cached=False) for digit in "ab")
    monkeypatch.setattr(backend_contract, "_built", lambda kit: next(builds))
    monkeypatch.setattr(BackendKit, "golden_problems", [])
    kit = backend_kit("toy", Cache(tmp_path), options={"build": True})
    with pytest.raises(pytest.fail.Exception, match=r"a{12}, .*b{12}"):
        judge("test_a_build_on_the_board", kit)
