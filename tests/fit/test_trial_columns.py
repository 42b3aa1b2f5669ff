"""Every figure of a trial is a column, or is named with the reason why it has none."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from edgebench.judge.columns import NO_COLUMN, trial_columns
from edgebench.judge.trial_summary import PowerFigure, TrialSummary
from tests.fit.summaries import meter, summary

COLD = ("import_s", "load_s", "first_inference_s", "first_pass_s")


def row(trial: TrialSummary) -> dict[str, object]:
    return {column.heading: column.value(trial) for column in trial_columns([trial])}


def places(record: Any, of: str = "") -> Iterator[str]:
    """Every field of a record by its place: `image_s.low` of the interval under image_s, and so on."""
    hints = get_type_hints(record)
    for field in dataclasses.fields(record):
        place = f"{of}{field.name}"
        inner = record_in(hints[field.name])
        if place == "cold":
            yield from (f"cold.{name}" for name in COLD)
        elif place in NO_COLUMN or inner is None:
            yield place
        else:
            yield from places(inner, f"{place}.")


def record_in(hint: Any) -> Any:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint
    return next((record for part in get_args(hint) if (record := record_in(part)) is not None), None)


def value_of(hint: Any, place: str, changed: str) -> Any:
    """A value of a type, and another one of it where `place` is the one that changes."""
    differs = place == changed
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return filled(hint, f"{place}.", changed)
    origin, inner = get_origin(hint), get_args(hint)
    if hint in (int, float):
        return 7 + differs
    if hint is str:
        return "other" if differs else "text"
    if hint is bool:
        return not differs
    if origin is Literal:
        return inner[differs]
    if origin is tuple:
        items = inner[:1] if inner[-1] is ... else inner
        return tuple(value_of(item, place, changed) for item in items)
    if origin is dict:
        return {"fan": value_of(str if inner[1] is Any else inner[1], place, changed)}
    # An optional one, or a text that is one of a few, an empty one among them.
    return value_of(next(part for part in inner if part is not type(None)), place, changed)


def filled(record: Any, of: str = "", changed: str = "") -> Any:
    """A record with a value in every field, of which one may differ."""
    hints = get_type_hints(record)
    values = {
        field.name: value_of(hints[field.name], f"{of}{field.name}", changed)
        for field in dataclasses.fields(record)
        if field.init
        and field.name
        not in ("cold", "power_curves", "cautions", "request_ms_values", "workers", "undisturbed")
    }
    if record is TrialSummary:
        values["cold"] = {name: 7 + (changed == f"cold.{name}") for name in COLD}
        values["workers"] = ({},) * (2 if changed == "workers" else 1)
    if record is PowerFigure:
        values["primary"] = True
    return record(**values)


@pytest.mark.parametrize("place", [place for place in places(TrialSummary) if place not in NO_COLUMN])
def test_every_figure_of_a_trial_has_its_column(place: str) -> None:
    changed = row(filled(TrialSummary, changed=place))
    assert changed != row(filled(TrialSummary)), (
        f"no column shows {place}: give it one, or say in NO_COLUMN why there is none"
    )


def test_what_has_no_column_is_a_field_and_says_why() -> None:
    assert set(NO_COLUMN) <= set(places(TrialSummary))
    assert all(NO_COLUMN.values())


def test_every_column_is_described_and_holds_one_value() -> None:
    trial = filled(TrialSummary)
    columns = trial_columns([trial, summary(power=(meter(), meter(channel="cpu", primary=False)))])
    assert len({column.heading for column in columns}) == len(columns) > 150
    for column in columns:
        assert column.text.endswith((".", ")")) and column.source, column
        assert column.value(trial) is None or isinstance(column.value(trial), str | int | float | bool)
        last = column.heading.rpartition("_")[2]
        if last in ("s", "ms", "w", "j", "g", "mm", "hz", "c", "bytes") and ":" not in column.heading:
            assert column.unit, f"{column.heading} says a unit that its description does not"


def test_a_missing_figure_is_none() -> None:
    cells = row(summary(None))
    figures = ("image_s_median", "mean_w", "size_1_mm", "paced_misses", "built_seconds", "measured_in")
    assert [cells[name] for name in figures] == [None] * len(figures)


def test_settings_stages_and_rails_have_a_column_each() -> None:
    swept = summary(settings={"power_mode": "10W", "threads": 4, "affinity": [0, 1]})
    rails = summary(power=(meter(), meter(channel="cpu", primary=False, mean_w=1.5)))
    columns = {column.heading: column for column in trial_columns([swept, rails])}
    assert columns["settings"].value(swept) == "power_mode=10W,threads=4,affinity=[0, 1]"
    assert [columns[f"setting:{name}"].value(swept) for name in swept.settings] == ["10W", 4, "[0, 1]"]
    assert columns["setting:threads"].value(rails) is None
    assert columns["patchify_ms"].value(rails) == 0.1
    assert columns["mean_w"].value(rails) == 3.0
    assert columns["rail:ina:0:cpu:mean_w"].value(rails) == 1.5
    assert columns["rail:ina:0:cpu:mean_w"].value(swept) is None


def test_windows_are_told_from_passes() -> None:
    assert row(summary())["measured_in"] == "passes"
    assert row(summary(None))["measured_in"] is None
    assert row(replace(summary(), image_s=None))["measured_in"] == "windows"


def test_a_stage_does_not_take_a_figures_heading() -> None:
    cells = row(summary(stages_ms={"power_averaging": 3.0, "request": 4.0}, power=(meter(averaging_ms=8.0),)))
    assert cells["power_averaging_ms"] == 8.0 and cells["power_averaging_ms_"] == 3.0
    assert cells["request_ms"] == 4.0


def test_a_record_without_columns_is_refused() -> None:
    @dataclass(frozen=True)
    class Draught:
        metres_a_second: float

    with pytest.raises(TypeError, match="Draught is no cell"):
        row(summary(untimed_stages=(Draught(3.0),)))


def test_headings_do_not_depend_on_which_figures_a_trial_has() -> None:
    measured = row(summary(power=(meter(),), accuracy=(954, 1000)))
    assert list(row(summary(None))) == list(measured)
