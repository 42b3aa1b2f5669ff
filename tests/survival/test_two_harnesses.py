"""Two harnesses on one folder: the second hears it, and the first is unharmed."""

import os
import subprocess
from pathlib import Path

import pytest

import edgebench
from tests.survival.mounts import attempt, contents, sessions_of
from tests.survival.quick import Quick
from tests.walk.conftest import COMMAND


class Crowded(Quick):
    """As its second session ends, another process and another campaign want the same folder."""

    seen: list[str] | None = None

    def tell(self, artifact: str, number: int) -> None:
        super().tell(artifact, number)
        if self.seen is None and number == 1:
            before = contents(self.results / "one")
            self.seen = [
                other_process(self.folder, "--resume"),
                other_process(self.folder),
                *attempt(self, "one"),
            ]
            assert contents(self.results / "one") == before


def other_process(folder: Path, *words: str) -> str:
    """`edgebench run` of the same trials under the same name; what it says on stderr."""
    command = [
        *COMMAND, "run", "--device", "toy", "--depth", "0.25", "--precision", "int8", "--scene", "scene.png",
        "--images", "images", "--sessions", "3", "--passes", "2", "--no-telemetry", "--name", "one", "-q",
    ]  # fmt: skip
    done = subprocess.run([*command, *words], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr


@pytest.mark.attack("two harnesses write one result: the second hears it, the first unharmed")
@pytest.mark.slow
def test_the_second_is_told_and_the_first_is_unharmed(own):
    crowd = Crowded(own, sessions=3, precisions=("int8",))
    assert crowd.run("one", resume=False).sessions == 3
    assert crowd.seen is not None
    resumed, anew, *same_process = crowd.seen
    for text in (resumed, "\n".join(same_process)):
        assert f"process {os.getpid()} holds the lock" in text
        assert "wait until it ends" in text
    assert "exists already" in anew and "--resume" in anew
    assert sessions_of(crowd.results / "one") == [0, 1, 2]
    assert edgebench.load(crowd.results / "one").warnings == []
    assert crowd.noted().total() == 3
    # It has let go: whoever comes next finds nothing left to measure.
    assert crowd.run("one", resume=True).sessions == 0
