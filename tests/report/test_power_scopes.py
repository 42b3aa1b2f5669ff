"""Figures of meters that cover different things: said where they stand, never compared."""

from __future__ import annotations

from dataclasses import replace

from edgebench.judge.judged import Judged
from edgebench.judge.trial import Estimate
from edgebench.report import tables
from edgebench.report.renderers.blocks import Notes
from edgebench.report.renderers.markdown import export_markdown
from edgebench.report.sections import reading_notes, sections
from edgebench.report.tables import declared_texts, scopes_note
from tests.judge.trials import declared
from tests.report import samples


def test_a_note_says_where_scopes_differ_and_nothing_where_they_do_not() -> None:
    chip, _ = samples.power()
    unnamed, wall = replace(chip, scope="scope unknown"), replace(chip, scope="wall")
    assert "(wall, chip, scope unknown)" in scopes_note([unnamed, chip, wall, chip])
    assert "(wall, chip)" in scopes_note([chip, wall])
    assert scopes_note([chip, replace(chip, meter="other:")]) == scopes_note([]) == ""


def test_every_rail_has_a_table_that_names_its_scope_that_of_the_board_first() -> None:
    wide, chip = samples.power(meter="usb:", scope="board"), samples.power()
    unnamed = samples.power(meter="usb:", scope="scope unknown")
    trials = [samples.summary(power=(wide, chip)), samples.summary(0.5, power=(wide, unnamed, chip))]
    tables_by_title = {table.title: len(table.rows) for table in tables.power_tables(trials)}
    assert list(tables_by_title.items()) == [
        ("usb package-0, board (represents the board)", 2),
        ("rapl package-0, chip", 2),
        ("usb package-0, scope unknown", 1),
    ]


def test_the_reports_table_has_intervals_and_what_the_meter_delivered() -> None:
    mean_w = Estimate(12.4, 12.1, 12.7)
    rail = samples.power(power_mean_w=mean_w, power_p99_w=13.9, effective_hz=49.8, longest_gap_s=0.04)
    [table] = tables.power_tables([samples.summary(power=(rail,))])
    [row] = [dict(zip([column.heading for column in table.columns], row, strict=True)) for row in table.rows]
    assert table.title == "rapl package-0, chip"  # of a lone rail no other represents the board
    assert row["Mean, W"] == "12.4 ±0.3" and row["Energy, J"] == "4.30"
    assert (row["Peak, W"], row["p99, W"]) == ("14.1", "13.9")
    assert (row["Rate, Hz"], row["Longest gap, s"]) == ("49.8", "0.0400")
    bare = samples.power(power_mean_w=Estimate(), power_p99_w=Estimate())
    [missing] = tables.power_tables([samples.summary(power=(bare,))])
    assert missing.rows[0][1] == missing.rows[0][3] == "-"
    assert len(table.columns) <= 10  # of more, a page makes blocks


def test_how_power_is_read_is_told_where_a_meter_was() -> None:
    paced = samples.summary(power=(samples.power(averaging_ms=20.0),), period_s=4.42)
    assert reading_notes(samples.nine()) == []
    [text] = reading_notes([samples.summary(power=(samples.power(),))])
    assert "within the steady passes, without the time between them" in text and "Net of idle" in text
    [text] = reading_notes([paced])
    assert "the pauses of --period" in text and "the mean over 20.0 ms for rapl package-0." in text


def test_why_a_figure_is_missing_is_said_once_for_all_trials(whole: Judged) -> None:
    rail = samples.power(power_mean_w=Estimate(), reason="the samples stop short <b>")
    trials = [samples.changed(trial, power=(rail,)) for trial in whole.trials]
    made = sections(replace(whole, trials=trials), [], [])
    [power] = [section for section in made if section.anchor == "power"]
    [note] = [note for block in power.blocks if isinstance(block, Notes) for note in block.notes]
    assert note.line == "all 9 trials: rapl package-0: the samples stop short <b>"


def test_the_report_says_of_the_tables_power_that_scopes_differ(whole: Judged) -> None:
    chip, wall = samples.power(), samples.power(meter="plug:", scope="wall")
    mixed = export_markdown(samples.judged([samples.summary(power=(chip, wall))], [], whole.results))
    assert r"different things \(wall, chip\)" in mixed
    alone = samples.judged([samples.summary(power=(chip,))], [], whole.results)
    assert "different things" not in export_markdown(alone)


def test_what_is_declared_is_marked_and_its_source_steers_no_terminal() -> None:
    power = replace(declared("maximum", 9.5), notes=("declared maximum power of 9.5 W (label\x1b[31m)",))
    mass = Estimate.exact(180.0, basis="declared", notes=("scales\x1b[31m",))
    trial = samples.summary(declared_power=power, mass_g=mass)
    assert declared_texts(trial) == [
        "not measured: declared maximum power of 9.5 W (label\ufffd[31m)",
        "declared mass: 180 g (scales\ufffd[31m)",
    ]
    assert declared_texts(samples.summary()) == []
