"""What a backend promises whose device makes, on the board, what it loads."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from edgebench.errors import SessionError
from edgebench.testing.backend_kit import BackendKit
from edgebench.testing.golden_contract import GoldenContract
from edgebench.testing.problems import ended, fail, problems
from edgebench.vocabulary.built_artifact import BuiltArtifact

BUILD_FUNCTIONS = {"build": 5, "build_version": 0}
"""What a runner that builds has, with the number of arguments (see runner_contract.py)."""


class BuildContract(GoldenContract):
    """Its test skips where the runner has no `build`, or the device builds nothing under these options."""

    def test_a_build_on_the_board(self, edgebench_backend: BackendKit) -> None:
        """The device builds before it loads, and takes what lies there the next time."""
        kit = edgebench_backend
        runner = kit.agent_backend().runner_files()[0]
        arguments = argument_counts(runner)
        if not kit.backend.builds(kit.options):
            if "build" in arguments:
                pytest.skip(f"{kit.backend.name} builds nothing with the options {kit.options}")
            pytest.skip(f"the runner of {kit.backend.name} has no build: it loads what was prepared")
        with problems() as faults:
            for name, count in BUILD_FUNCTIONS.items():
                faults.unless(
                    arguments.get(name) == count,
                    f"{runner.name} has no function {name} of {count} arguments at its top level",
                    "see edgebench.agent.runner_contract, or let builds() of the backend say no",
                )
        kit.require_golden()
        first, second = _built(kit), _built(kit)
        with problems() as faults:
            faults.unless(
                second.cached and second.sha256 == first.sha256,
                f"what was built, {first.sha256[:12]}, was not found again: {second.sha256[:12]}, "
                f"cached {second.cached}",
                "let build_version() say the same while runtime and board are the same",
            )


def argument_counts(file: Path) -> dict[str, int]:
    """How many arguments each function at the top level of a Python file takes."""
    try:
        body = ast.parse(file.read_text(encoding="utf-8")).body
    except SyntaxError:
        return {}
    return {node.name: len(node.args.args) for node in body if isinstance(node, ast.FunctionDef)}


def _built(kit: BackendKit) -> BuiltArtifact:
    """What a session loads over a connection of its own."""
    device = kit.opened()
    try:
        with device.session(kit.artifact(), kit.settings()) as session:
            built = session.facts().built
    except SessionError as error:
        fail(*ended("a build on the board", error))
    finally:
        device.close()
    if built is None:
        fail("facts() of the session say nothing of the build", "open the device with `builds=self.builds`")
    return built
