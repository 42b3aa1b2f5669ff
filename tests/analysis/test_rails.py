"""Rails of meters as a frame."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import edgebench
from edgebench.analysis.column_descriptions import columns_of
from edgebench.analysis.frames import rail_frame
from edgebench.judge.summarise import summarise
from edgebench.judge.trial_summary import PowerFigure


def test_the_primary_rails_are_those_of_the_summaries(results: edgebench.Results) -> None:
    rails, summaries = results.rails(), results.summaries()
    primary = rails[rails["primary"]].set_index("trial")
    assert len(primary) == summaries["mean_w"].notna().sum() > 0
    for name in ("mean_w", "mean_low_w", "peak_w", "energy_j", "net_energy_j", "net_high_j"):
        expected = summaries.loc[primary.index, name]
        assert primary[name].to_numpy() == pytest.approx(expected.to_numpy(), nan_ok=True)


def test_every_rail_has_a_row_and_what_is_missing_is_nan_with_its_reason(results: edgebench.Results) -> None:
    summary = next(summary for summary in summarise(results) if summary.power)
    assert summary.power is not None
    chip = PowerFigure(
        "ina", "VDD_GPU", "chip", False, 20.0, 3, None, None, None, None, None, reason="too short"
    )
    frame = rail_frame([dataclasses.replace(summary, power=(*summary.power, chip))])
    assert len(frame) == len(summary.power) + 1
    last = frame.iloc[-1]
    assert (last["scope"], last["samples"], last["reason"]) == ("chip", 3, "too short")
    assert np.isnan(last["mean_w"]) and np.isnan(last["energy_j"])


def test_without_a_meter_it_has_its_columns_and_no_row(results: edgebench.Results) -> None:
    unpowered = [dataclasses.replace(summary, power=None) for summary in summarise(results)]
    frame = rail_frame(unpowered)
    assert frame.empty and set(frame.columns) == set(columns_of("rails"))
    assert frame["mean_w"].dtype == np.dtype("float64")


def test_every_field_of_a_rail_has_a_column() -> None:
    by_session = {
        "mean_w_sessions",
        "energy_j_sessions",
        "together_energy_j_sessions",
    }  # of which the intervals are made
    assert {field.name for field in dataclasses.fields(PowerFigure)} - by_session <= set(columns_of("rails"))
