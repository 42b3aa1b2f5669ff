"""Rails of meters as a frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import edgebench
from edgebench.analysis.frames import parts_frame
from tests.judge.trials import meter, trial


def test_the_first_rails_are_those_of_the_summaries(results: edgebench.Results) -> None:
    rails, summaries = results.rails(), results.summaries()
    first = rails.drop_duplicates("trial").set_index("trial")
    assert len(first) == summaries["power_mean_w"].notna().sum() > 0
    for name in ("power_mean_w", "power_mean_w_low", "power_peak_w"):
        expected = summaries.loc[first.index, name]
        assert first[name].to_numpy() == pytest.approx(expected.to_numpy(), nan_ok=True)


def test_every_rail_has_a_row_with_its_scope_and_estimates() -> None:
    chip = meter(name="ina:0 VDD_GPU", scope="chip", effective_hz=None, reason="too short")
    chip = chip[0], ()
    frame = parts_frame([trial(power=(meter(), chip), marks=("on the CPU",))], "rails")
    assert list(frame["name"]) == ["ina:0 in", "ina:0 VDD_GPU"]
    last = frame.iloc[-1]
    assert (last["scope"], last["samples"], last["reason"]) == ("chip", 30000, "too short")
    assert np.isnan(last["power_mean_w"]) and np.isnan(last["effective_hz"])
    assert frame.iloc[0]["power_mean_w"] == 3.0 and frame.iloc[0]["marks"] == "on the CPU"


def test_without_a_meter_there_is_no_row() -> None:
    frame = parts_frame([replace(trial(), rails=())], "rails")
    assert frame.empty and {"trial", "name", "scope", "rate_hz"} <= set(frame.columns)
    assert frame["rate_hz"].dtype == np.dtype("float64")
