import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import edgebench
from edgebench.errors import StoredResultError
from edgebench.records.stored import SessionTables
from edgebench.results.frames import table_frame
from edgebench.results.load import load
from edgebench.results.parquet import MOST_NS, first_fault, joined_rows
from edgebench.results.rows import Rows
from edgebench.results.writing import ExperimentStore
from tests.sample_tables import rows_of_frame
from tests.synthetic_results import QUARTER, key_of, made_experiment

WORD = pa.dictionary(pa.int32(), pa.string())


def words(*values: str | None) -> pa.Array:
    return pa.array(values, pa.string()).cast(WORD)


def table(**columns: pa.Array) -> pa.Table:
    return pa.table(columns)


FIRST = table(a=pa.array([1, 2], pa.int32()), w=words("x", "y"), v=pa.array([0.5, None], pa.float64()))
SECOND = table(
    a=pa.array([3], pa.int32()), w=words("z"), v=pa.array([1.5], pa.float64()), late=pa.array([2**53 + 1])
)
THIRD = table(a=pa.array([4, 5], pa.int32()), w=words("y", None), late=pa.array([7, None], pa.int64()))


def test_tables_with_columns_of_other_stages_are_joined():
    frame = table_frame(joined_rows("passes", [FIRST, SECOND, THIRD]))
    assert frame["a"].tolist() == [1, 2, 3, 4, 5] and frame["a"].dtype == np.int32
    assert frame["w"].cat.categories.tolist() == ["x", "y", "z"]
    assert frame["w"].cat.codes.tolist() == [0, 1, 2, 1, -1]
    assert frame["v"].fillna(-1).tolist() == [0.5, -1, 1.5, -1, -1]
    assert frame["late"].isna().tolist() == [True, True, False, False, True]
    assert frame["late"].dropna().tolist() == [2**53 + 1, 7]  # whole, though some are missing


PASSES = {"pass": [0, 1], "start_ns": [0, 10], "image_ns": [5, 5], "infer_ns": [4, 4], "load_ns": [1, 1]}


def faulty(**changes: object) -> tuple[int, str] | None:
    columns = {name: np.array(values) for name, values in PASSES.items()} | {
        "phase": pd.Categorical(["warmup", "steady"])
    }
    return first_fault("passes", rows_of_frame(pd.DataFrame({**columns, **changes})))


def test_sound_rows_have_no_fault():
    assert faulty() is None
    assert faulty(lateness_ns=np.array([-5, 3])) is None  # done in time
    assert faulty(image_ns=np.array([0, 5])) is None  # a short warm-up by a coarse clock
    assert faulty(infer_ns=pd.array([1, None], "Int64")) is None
    assert faulty(load_ns=pd.array([1, None], "Int64")) is None


@pytest.mark.parametrize(
    ("column", "values", "row", "word"),
    [
        ("image_ns", np.array([5, -1]), 1, "image_ns"),
        ("load_ns", np.array([-1, 5]), 0, "load_ns"),
        ("infer_ns", pd.array([None, -3], "Int64"), 1, "infer_ns"),
        ("start_ns", np.array([0, MOST_NS + 1]), 1, "start_ns"),
        ("start_ns", pd.array([0, None], "Int64"), 1, "gaps"),
        ("pass", np.array([-1, 0]), 0, "pass"),
        ("phase", pd.Categorical(["a", None]), 1, "gaps"),
        ("image_ns", np.array([5, 0]), 1, "'image_ns' of a steady pass is 0"),
    ],
)
def test_a_row_that_cannot_be_is_found(column, values, row, word):
    fault = faulty(**{column: values})
    assert fault is not None
    assert fault[0] == row and word in fault[1]


def instructions(*counts: int | None) -> Rows:
    return rows_of_frame(pd.DataFrame({"instructions": pd.array(counts, "Int64")}))


def test_instructions_may_be_missing_and_are_never_none_at_all():
    assert first_fault("windows", instructions(None, 7)) is None
    assert first_fault("windows", instructions(None, 0)) == (1, "'instructions' of a row is 0")


def test_a_window_takes_time():
    moments = {"start_ns": np.array([3, 5]), "end_ns": np.array([5, 5])}
    fault = first_fault("windows", rows_of_frame(pd.DataFrame(moments)))
    assert fault == (1, "'end_ns' of a row is not after its 'start_ns'")


def test_the_file_of_a_row_that_cannot_be_is_named_when_it_is_read(tmp_path):
    path = made_experiment(tmp_path, sessions=2, variants=QUARTER[:1])
    results = load(path)
    frame = results.batches[results.batches["session"] == 0].drop(columns=["trial", "session"])
    record = results.session_records(key_of(QUARTER[0]))[0].model_copy(update={"n": 2})
    with ExperimentStore.open(path) as store:
        store.write_session(record, SessionTables(batches=frame.assign(patches=-1)))
    with pytest.raises(StoredResultError, match=r"sessions/002/batches\.parquet") as caught:
        _ = edgebench.load(path).batches
    assert "'patches' of a row is -1" in caught.value.why
