"""A results folder that is gone while a run writes to it: noticed as the session in hand ends."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from edgebench.errors import EXIT_ERROR, StoredResultError
from tests.survival.mounts import sessions_of
from tests.survival.quick import Quick


class Vanishing(Quick):
    """As its second session ends, something befalls the folder of the result."""

    befalls: Callable[[Path], object] = shutil.rmtree

    def tell(self, artifact: str, number: int) -> None:
        super().tell(artifact, number)
        if number == 1:
            self.befalls(self.results / "one")


def replaced(folder: Path) -> None:
    folder.rename(folder.with_name("away"))
    shutil.copytree(folder.with_name("away"), folder)


@pytest.mark.attack("the results folder is removed, renamed or replaced during a run: the next write ends it")
@pytest.mark.parametrize(
    "befalls", [shutil.rmtree, lambda folder: folder.rename(folder.with_name("away")), replaced]
)
def test_a_results_folder_that_vanishes_ends_the_run_at_the_next_write(own, befalls):
    run = Vanishing(own, sessions=4, precisions=("int8",))
    run.befalls = befalls
    with pytest.raises(StoredResultError) as caught:
        run.run("one", resume=False)
    assert caught.value.exit_code == EXIT_ERROR
    assert str(run.results / "one") in caught.value.what and "--resume" in caught.value.fix
    assert caught.value.why
    assert run.noted().total() == 2  # no session was measured that nothing could keep
    away = run.results / "away"
    if away.exists():
        shutil.rmtree(run.results / "one", ignore_errors=True)
        away.rename(run.results / "one")
        assert sessions_of(run.results / "one") == [0]
        assert Quick(own, sessions=4, precisions=("int8",)).run("one", resume=True).sessions == 3
    else:
        assert not (run.results / "one").exists()  # nothing half is made in its place
