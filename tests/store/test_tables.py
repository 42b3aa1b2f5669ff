from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgebench.errors import SessionError
from edgebench.records.session import Pass, Window
from edgebench.records.stored import BATCH_COLUMNS, PASS_COLUMNS, PREDICTION_COLUMNS, WINDOW_COLUMNS
from edgebench.results import tables
from edgebench.results.rows import union_ns

STAGES = ("patchify", "preprocess", "infer")


def one_pass(index=0, phase="first", batches=3, batch=2, patches=5, start=1000, **changes) -> Pass:
    """A pass whose stages take 10, 20 and 30 ns a batch, with 5 ns between batches."""
    edges = start + np.arange(batches)[:, None] * 65 + np.array([0, 10, 30, 60])
    stamps = np.stack([edges[:, :-1], edges[:, 1:]], axis=2).astype(np.int64)
    defaults = {
        "index": index,
        "phase": phase,
        "start_ns": start,
        "end_ns": int(stamps[-1, -1, 1]) + 2,
        "stages": STAGES,
        "stamps_ns": stamps,
        "scores": None if phase == "warmup" else np.eye(5, dtype=np.float32)[np.arange(patches) % 5],
        "batch": batch,
    }
    return Pass(**(defaults | changes))


@pytest.mark.parametrize(
    ("intervals", "covered"),
    [
        ([], 0),
        ([(5, 9)], 4),
        ([(0, 10), (10, 20)], 20),
        ([(0, 10), (30, 40)], 20),
        ([(0, 10), (5, 15)], 15),
        ([(0, 100), (10, 20), (30, 40)], 100),
        ([(30, 40), (0, 10), (5, 35)], 40),
        ([(7, 7)], 0),
    ],
)
def test_union_counts_each_moment_once(intervals, covered):
    assert union_ns(np.array(intervals, dtype=np.int64).reshape(-1, 2)) == covered


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12))
def test_union_is_the_number_of_covered_nanoseconds(pairs):
    intervals = [(start, start + length) for start, length in pairs]
    covered = {moment for start, end in intervals for moment in range(start, end)}
    assert union_ns(np.array(intervals, dtype=np.int64).reshape(-1, 2)) == len(covered)


def test_a_pass_and_its_batches():
    passes, batches = tables.pass_rows([replace(one_pass(), worker=2)])
    assert list(passes.columns) == [*PASS_COLUMNS, "patchify_ns", "preprocess_ns"]
    row = passes.iloc[0].to_dict()
    assert row == {
        "worker": 2,
        "pass": 0,
        "phase": "first",
        "start_ns": 1000,
        "end_ns": 1192,
        "image_ns": 192,
        "infer_ns": 90,
        "patches": 5,
        "patchify_ns": 30,
        "preprocess_ns": 60,
    }
    assert list(batches.columns[:6]) == list(BATCH_COLUMNS)
    assert list(batches["first_patch"]) == [0, 2, 4]
    assert list(batches["patches"]) == [2, 2, 1]  # the last is padded
    assert list(batches["infer_start_ns"]) == [1030, 1095, 1160]
    assert list(batches["infer_end_ns"] - batches["infer_start_ns"]) == [30, 30, 30]


def test_overlapping_inferences_count_once():
    stamps = one_pass().stamps_ns.copy()
    stamps[:, 2] = [(1030, 1100), (1060, 1150), (1070, 1090)]
    passes, _ = tables.pass_rows([one_pass(stamps_ns=stamps)])
    assert passes["infer_ns"][0] == 120


def test_warm_up_goes_round_the_scene():
    passes, batches = tables.pass_rows([one_pass(), one_pass(1, "warmup", batches=4)])
    assert list(passes["phase"]) == ["first", "warmup"]
    warm = batches[batches["phase"] == "warmup"]
    assert list(warm["batch"]) == [0, 1, 2, 3]
    assert list(warm["first_patch"]) == [0, 2, 4, 0]
    assert list(warm["patches"]) == [2, 2, 1, 2]
    assert passes["patches"][1] == 7


def test_a_device_without_an_infer_stage_has_no_infer_ns():
    passes, _ = tables.pass_rows([one_pass(stages=("patchify", "preprocess", "classify"))])
    assert passes["infer_ns"].isna().all()
    assert passes["classify_ns"][0] == 90


def test_no_passes_are_no_rows():
    passes, batches = tables.pass_rows([])
    assert list(passes.columns) == list(PASS_COLUMNS)
    assert list(batches.columns) == list(BATCH_COLUMNS)
    assert len(passes) == len(batches) == 0


def backwards() -> np.ndarray:
    stamps = one_pass().stamps_ns.copy()
    stamps[1, 2] = (2000, 1999)
    return stamps


@pytest.mark.parametrize(
    "changes",
    [
        {"end_ns": 999},
        {"end_ns": 1189},
        {"start_ns": 1001},
        {"stamps_ns": np.zeros((3, 2, 2), np.int64)},
        {"stamps_ns": backwards()},
        {"end_ns": 2**62},
        {"batch": 4},
        {"batch": 0},
    ],
)
def test_stamps_that_cannot_be_are_refused(changes):
    tables.require_valid_pass(one_pass(), STAGES, workers=1)
    with pytest.raises(SessionError) as caught:
        tables.require_valid_pass(one_pass(**changes), STAGES, workers=1)
    assert caught.value.status == "protocol_error"
    assert caught.value.why


def test_predictions_take_the_highest_score():
    scores = np.array([[0.1, 0.9], [0.8, 0.2], [np.nan, 1.0]], np.float32)
    rows = tables.prediction_rows("images", scores, [1, 1, 0])
    assert list(rows.columns) == list(PREDICTION_COLUMNS)
    assert rows["predicted"].tolist() == [1, 0, -1]  # a score that is no number decides nothing
    assert rows["label"].tolist() == [1, 1, 0]
    np.testing.assert_array_equal(np.stack(rows["scores"][:2].to_list()), scores[:2])


def test_unlabelled_predictions_say_so():
    rows = tables.prediction_rows("scene", np.ones((2, 3), np.float32), None)
    assert rows["label"].tolist() == [-1, -1]


def test_labels_are_as_many_as_scores():
    with pytest.raises(ValueError, match="1 labels for 2 scores"):
        tables.prediction_rows("scene", np.ones((2, 3), np.float32), [0])


def test_no_predictions_are_no_rows():
    rows = tables.prediction_rows("scene", np.ones((0, 3), np.float32), [])
    assert len(tables.concat([rows, rows])) == 0
    assert isinstance(rows, pd.DataFrame)


def window(index=0, phase="first", **changes) -> Window:
    """Ten inferences of patch 3 in 1,000 ns."""
    values = {"patch": 3, "inferences": 10, "start_ns": 5000 * index, "end_ns": 5000 * index + 1000}
    return Window(**{"index": index, "phase": phase, **values, **changes})


def test_windows_are_one_row_each():
    windows = [window(), window(1, "steady", inferences=20, instructions=2**60)]
    rows = tables.window_rows(windows, worker=1)
    assert rows["instructions"].isna().tolist() == [True, False] and rows["instructions"][1] == 2**60
    assert tuple(rows.columns) == WINDOW_COLUMNS
    assert rows.drop(columns="instructions").to_numpy().tolist() == [
        [1, 0, "first", 3, 10, 0, 1000],
        [1, 1, "steady", 3, 20, 5000, 6000],
    ]
    assert window().scene_ns(6) == 600


@pytest.mark.attack("a device gives windows that cannot be: the session fails with what is wrong with them")
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"inferences": 0}, "0 inferences"),
        ({"patch": 6}, "patch 6 of a scene of 6"),
        ({"patch": -1}, "patch -1"),
        ({"phase": "lukewarm"}, "lukewarm"),
        ({"end_ns": -1}, "ended before it started"),
        ({"end_ns": 2**62}, "out of range"),
        ({"end_ns": 0}, "took no time"),
        ({"patch": True}, "whole number"),
        ({"end_ns": 2**80}, "out of range"),
        ({"instructions": 9}, "9 instructions in 10 inferences"),
        ({"instructions": 2**62}, "instructions in 10"),
        ({"instructions": 1e9}, "whole number"),
    ],
)
def test_a_window_that_cannot_be_is_refused(changes, why):
    with pytest.raises(SessionError) as caught:
        tables.require_valid_window(window(**changes), scene_patches=6)
    assert why in caught.value.why
    assert caught.value.status == "protocol_error"


def test_predictions_of_some_patches_have_their_labels():
    scores = np.eye(3, dtype=np.float32)[:2]
    rows = tables.prediction_rows("scene", scores, [2, 1, 0, 1], patches=[1, 3])
    assert rows[["index", "label", "predicted"]].to_numpy().tolist() == [[1, 1, 0], [3, 1, 1]]
    with pytest.raises(ValueError, match="labels"):
        tables.prediction_rows("scene", scores, [2, 1, 0, 1], patches=[1, 4])
