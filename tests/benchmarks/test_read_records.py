from pathlib import Path

import edgebench
from benchmarks.read_records import resume
from benchmarks.synthetic_records import make_experiment


def test_the_experiment_that_reading_is_timed_on_is_read_whole_and_can_be_resumed(tmp_path: Path) -> None:
    path = make_experiment(tmp_path, trials=3, sessions=2, passes=10)
    assert len(edgebench.load(path).passes) == 3 * 2 * 10
    assert resume(path) == 2
