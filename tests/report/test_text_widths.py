"""Columns of printed tables: within the line, whatever they hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgebench.report.text_widths import column_blocks

TEXTS = st.text(alphabet="ab \n", max_size=60)


@given(st.integers(1, 12).flatmap(lambda n: st.lists(st.tuples(*[TEXTS] * n), min_size=1, max_size=4)))
def test_every_column_stands_once_and_no_block_is_wider_than_the_line(rows: list[tuple[str, ...]]) -> None:
    blocks = column_blocks(rows, 40.0, len, 1.0)
    assert sorted(place for block in blocks for place in block.places if place) == list(
        range(1, len(rows[0]))
    )
    for block in blocks:
        assert block.places[0] == 0
        assert sum(block.widths) <= 40 + 1e-9 and all(width > 0 for width in block.widths)


def test_a_table_that_fits_is_as_wide_as_its_texts() -> None:
    [block] = column_blocks([("trial", "median"), ("a b", "1.25")], 40.0, len, 1.0)
    assert block.widths == (6.0, 7.0)


def test_sentences_are_folded_before_figures() -> None:
    [block] = column_blocks([("trial", "1.25", "a sentence that is longer than the line")], 30.0, len, 1.0)
    assert block.widths[1] == 5.0 and sum(block.widths) == pytest.approx(30.0)
