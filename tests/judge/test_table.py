"""Tidy and wide tables of estimates."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgebench.judge.metrics import METRICS
from edgebench.judge.table import column_of, estimate_rows, key_of, wide_rows
from edgebench.judge.trial import Estimate, EstimateKey
from tests.judge.trials import judge, meter, profile, trial

STAGE = EstimateKey("stages_ms", "median", stage="patchify")


def wide(*arguments: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in wide_rows(*arguments)]


def test_the_tidy_table_has_one_row_per_estimate() -> None:
    measured = trial(accuracy=(3, 4), power=(meter(), meter(name="ina:0 cpu", scope="chip")))
    rows = list(estimate_rows([measured]))
    assert len(rows) == len(measured.estimates)
    [share] = [row for row in rows if row.metric == "accuracy"]
    assert (share.value, share.unit, share.n, share.sessions, share.basis) == (0.75, "1", 4, 0, "")
    power = [row for row in rows if row.metric == "power_mean_w"]
    assert [(row.rail, row.basis, row.sessions) for row in power] == [
        ("ina:0 in", "board", 3), ("ina:0 cpu", "chip", 3),
    ]  # fmt: skip


def test_a_missing_value_has_its_reason() -> None:
    [row] = [row for row in estimate_rows([trial()]) if row.metric == "accuracy"]
    assert row.value is row.low is None and row.reason == "no images were given"


def test_the_wide_table_is_a_pivot_with_ends_where_a_value_is_not_exact() -> None:
    mass = Estimate.exact(140.0, basis="declared")
    measured = trial(estimates={"mass_g": mass, STAGE: Estimate(0.1)}, accuracy=(3, 4))
    [row] = wide([measured])
    assert (row["mass_g"], row["accuracy"], row["stages_ms_patchify"]) == (140.0, 0.75, 0.1)
    assert row["image_s_low"] < row["image_s"] < row["image_s_high"]
    assert not {"mass_g_low", "mass_g_high", "stages_ms_patchify_low"} & set(row)


def test_columns_without_any_value_are_left_out_and_rows_have_the_same_columns() -> None:
    rows = wide([trial(), trial((), key="f" * 16, power=(meter(),)), trial(settings={"threads": 4})])
    assert len({tuple(row) for row in rows}) == 1
    assert "accuracy" not in rows[0] and "setting:threads" in rows[0]
    assert rows[0]["power_mean_w"] is None and rows[1]["image_s"] is None
    assert rows[2]["settings"] == "threads=4" and rows[2]["setting:threads"] == 4
    metrics = [name for name in rows[0] if name in METRICS]
    assert metrics == sorted(metrics, key=list(METRICS).index)


def test_the_first_rail_stands_for_the_board() -> None:
    measured = trial(power=(meter(mean_w=(3.0, 3.0, 3.0)), meter(name="ina:0 cpu", mean_w=(1.0, 1.0, 1.0))))
    [row] = wide([measured])
    assert row["power_mean_w"] == 3.0


def test_another_statistic_is_there_where_a_profile_asks_for_it() -> None:
    measured = trial([[1.0 + 0.001 * (i % 7) for i in range(200)]] * 12)
    asked = profile(quantity="image_s", statistic="p99", limit=2.0)
    [row] = wide([measured], judge(measured, asked))
    assert row["image_s_p99"] >= row["image_s"]
    assert "image_s_p99" not in wide([measured])[0]
    [tidy] = [row for row in estimate_rows([measured], judge(measured, asked)) if row.statistic == "p99"]
    assert tidy.value == row["image_s_p99"]


def test_a_power_over_a_time_stays_with_its_verdict() -> None:
    measured = trial(power=(meter(),))
    asked = profile(quantity="power_peak_w", limit=5.0, averaging_s=1.0)
    assert wide([measured], judge(measured, asked)) == wide([measured])


@pytest.mark.parametrize(
    "key",
    [
        EstimateKey("image_s", "median"), EstimateKey("image_s", "p99"),
        EstimateKey("accuracy_top5", "share"), EstimateKey("size_mm", "declared", stage="longest"),
        EstimateKey("stages_ms", "median", stage="median"), EstimateKey("agreement", "mcnemar_p"),
    ],
)  # fmt: skip
def test_a_columns_name_gives_its_key(key: EstimateKey) -> None:
    assert key_of(column_of(key)) == key
    with pytest.raises(KeyError):
        key_of(f"un{column_of(key)}")


def test_cells_are_plain() -> None:
    [row] = wide([trial(settings={"affinity": [0, 1]}, marks=("emulated", "on the CPU"))])
    assert (row["setting:affinity"], row["marks"]) == ("[0, 1]", "emulated; on the CPU")
    json.dumps(row)
