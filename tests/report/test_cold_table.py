"""What happens once: a session's cold figures, and the build on a board."""

from __future__ import annotations

from edgebench.records.model import BuiltArtifact
from edgebench.report import tables
from tests.report import samples

BUILT = BuiltArtifact(seconds=312.5, sha256="0" * 64, bytes=441_639, cached=True)


def test_a_build_stands_beside_the_cold_figures_of_trials_that_have_one():
    table = tables.cold([samples.summary(built=BUILT), samples.summary()])
    assert table.columns[-1].heading == "build [s]"
    built, loaded_as_it_is = table.rows
    assert (built[-1], loaded_as_it_is[-1]) == ("312", "-")
    assert "build" in table.caption


def test_where_nothing_is_built_nothing_is_said_of_it():
    table = tables.cold([samples.summary()])
    assert "build [s]" not in [column.heading for column in table.columns]
    assert "build" not in table.caption
