"""What is kept of outputs: one row whole, everything else thinned alike on both sides."""

import numpy as np
import pytest

from edgebench.agent import timed as outputs
from edgebench.agent.timed import ScoreRows, kept_places


def test_one_row_is_kept_whole_and_maps_are_thinned():
    assert kept_places([(1001,)]) == [None]
    assert kept_places([(1, 1, 5)]) == [None]
    (places,) = kept_places([(50, 50, 3)])
    assert places is not None
    assert len(places) == outputs.MOST_VALUES
    assert places[0] == 0
    assert places[-1] < 7500
    first, second = kept_places([(4,), (5000,)])
    assert first is None
    assert second is not None and len(second) == outputs.MOST_VALUES // 2


def test_rows_join_outputs_and_make_stored_numbers_real():
    rows = ScoreRows(2, [(0.5, 3), None])
    output_rows = rows.of([np.array([[3, 5], [1, 3]], np.int8), np.array([[[7.0]], [[8.0]]])])
    np.testing.assert_array_equal(output_rows, [[0, 1, 7], [-1, 0, 8]])
    assert output_rows.dtype == np.float32


def test_a_network_of_one_item_may_leave_the_batch_out():
    np.testing.assert_array_equal(ScoreRows(1).of([np.array([1.0, 2.0])]), [[1, 2]])
    np.testing.assert_array_equal(ScoreRows(1).of([np.array(4)]), [[4]])
    with pytest.raises(ValueError, match="batch of 2"):
        ScoreRows(2).of([np.zeros(3)])
