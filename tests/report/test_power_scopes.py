"""Figures of meters that cover different things: said where they stand, never compared."""

from __future__ import annotations

from dataclasses import replace

from edgebench.judge.answers import answers
from edgebench.judge.judged import Judged
from edgebench.judge.power import headline_rails
from edgebench.judge.trial_summary import Paced

from edgebench.records.target import DeclaredBoot, DeclaredPower
from edgebench.report import tables
from edgebench.report.blocks import Notes
from edgebench.report.markdown import export_markdown
from edgebench.report.sections import reading_notes, sections
from edgebench.report.tables import declared_texts, scopes_note
from tests.report import samples


def test_a_note_says_where_scopes_differ_and_nothing_where_they_do_not() -> None:
    chip = samples.power()
    unnamed, wall = replace(chip, scope=""), replace(chip, scope="wall")
    assert "(wall, chip, scope unknown)" in scopes_note([unnamed, chip, wall, chip])
    assert "(wall, chip)" in scopes_note([chip, wall])
    assert scopes_note([chip, replace(chip, meter="other:")]) == scopes_note([]) == ""


def test_every_rail_has_a_table_that_names_its_scope_the_primary_one_first() -> None:
    wide = replace(samples.power(), meter="usb:", scope="board")
    other, unnamed = replace(samples.power(), primary=False), replace(wide, primary=False, scope="")
    summaries = [samples.summary(power=(other, wide)), samples.summary(0.5, power=(unnamed, other, wide))]
    tables_by_title = {table.title: len(table.rows) for table in tables.power_tables(summaries)}
    assert list(tables_by_title.items()) == [
        ("usb package-0, board (primary)", 2),
        ("rapl package-0, chip", 2),
        ("usb package-0, scope unknown", 1),
    ]


def test_of_each_meter_the_total_stands_for_it_and_the_primary_one_is_first() -> None:
    part = replace(samples.power(), meter="gpu:", channel="core", primary=False, mean_w=20.0)
    total = replace(part, channel="all", mean_w=19.0, total=True)
    narrow, primary = replace(samples.power(), primary=False, channel="core"), samples.power()
    assert headline_rails((part, total, narrow, primary)) == [primary, total]
    assert headline_rails(()) == []


def test_the_reports_table_has_intervals_and_what_the_meter_delivered() -> None:
    rail = replace(
        samples.power(), mean_low_w=12.1, mean_high_w=12.7, p99_w=13.9, effective_hz=49.8, longest_gap_s=0.04
    )
    [table] = tables.power_tables([samples.summary(power=(rail,))])
    [row] = [dict(zip([column.heading for column in table.columns], row, strict=True)) for row in table.rows]
    assert table.title == "rapl package-0, chip"  # alone: no other is the primary one
    assert row["Mean, W"] == "12.4 ±0.3" and row["Energy, J"] == "4.30"
    assert (row["Peak, W"], row["p99, W"]) == ("14.1", "13.9")
    assert (row["Rate, Hz"], row["Longest gap, s"]) == ("49.8", "0.0400")
    [missing] = tables.power_tables([samples.summary(power=(replace(rail, mean_w=None, p99_w=None),))])
    assert missing.rows[0][1] == missing.rows[0][6] == "-"
    assert len(table.columns) <= 10  # of more, a page makes blocks


def test_how_power_is_read_is_told_where_a_meter_was() -> None:
    rail = replace(samples.power(), averaging_ms=20.0)
    paced = replace(samples.summary(power=(rail,)), paced=Paced(4.42, 9, 0, -1.0))
    assert reading_notes(samples.nine()) == []
    [text] = reading_notes([samples.summary(power=(samples.power(),))])
    assert "within the steady passes, without the time between them" in text and "Net of idle" in text
    [text] = reading_notes([paced])
    assert "the pauses of --period" in text and "the mean over 20.0 ms for rapl package-0." in text


def test_why_a_figure_is_missing_is_said_once_for_all_trials(whole: Judged) -> None:
    rail = replace(samples.power(), mean_w=None, reason="the samples stop short <b>")
    summaries = [replace(summary, power=(rail,)) for summary in whole.summaries]
    made = sections(replace(whole, summaries=summaries), answers(summaries, (), []), [])
    [power] = [each for each in made if each.anchor == "power"]
    [note] = [note for block in power.blocks if isinstance(block, Notes) for note in block.notes]
    assert note.line == "all 9 trials: rapl package-0: the samples stop short <b>"


def test_the_report_says_of_the_tables_power_that_scopes_differ(whole: Judged) -> None:
    chip = samples.power()
    wall = replace(chip, meter="plug:", scope="wall", primary=False)
    mixed = export_markdown(samples.judged([samples.summary(power=(chip, wall))], [], whole.results))
    assert r"different things \(wall, chip\)" in mixed
    alone = samples.judged([samples.summary(power=(chip,))], [], whole.results)
    assert "different things" not in export_markdown(alone)


def test_what_is_declared_is_marked_and_its_source_steers_no_terminal() -> None:
    trial = samples.summary(
        declared_power=(DeclaredPower(9.5, "maximum", "label\x1b[31m"),),
        boot_s=DeclaredBoot(25.0, "typical", "watch\x1b[31m"),
    )
    assert declared_texts(trial) == [
        "declared power, not measured: maximum 9.5 W (label\ufffd[31m)",
        "declared boot time, not measured: typical 25 s (watch\ufffd[31m)",
    ]
    assert declared_texts(samples.summary()) == []
