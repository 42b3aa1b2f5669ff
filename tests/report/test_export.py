from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.judged import Judged
from edgebench.report.forms import FORMS, STANDARD_OUTPUT, export, export_csv, form_of
from edgebench.report.markdown import escape, export_markdown
from tests.report import samples


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.html", "<!DOCTYPE html>"),
        ("a.json", "{"),
        ("a.MD", "# MobileNet v1 on cpu"),
        ("a.csv", "key,"),
    ],
)
def test_the_name_says_the_form(whole: Judged, tmp_path: Path, name: str, start: str) -> None:
    path = export(whole, tmp_path / name)
    assert path.read_text().startswith(start)
    if name.endswith("json"):
        assert json.loads(path.read_text())["schema_version"] == 1


def test_a_name_that_does_not_say_is_refused_before_anything_is_written(
    whole: Judged, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        export(whole, tmp_path / "report.docx")
    assert all(ending in caught.value.fix for ending in (".html", ".md", ".json", ".csv"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_not_made(whole: Judged, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        export(whole, tmp_path / "typo" / "a" / "report.html")
    assert "mkdir -p" in caught.value.fix
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_said(whole: Judged, tmp_path: Path) -> None:
    with pytest.raises(StoredResultError) as caught:
        export(whole, Path("/proc/report.csv"))
    assert caught.value.why == "No such file or directory" and "-o" in caught.value.fix
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="file is no folder"):
        export(whole, tmp_path / "file" / "report.csv")


def test_a_form_by_name_is_the_file_of_its_ending(whole: Judged, tmp_path: Path) -> None:
    assert export(whole, tmp_path / "of.txt", "csv").read_bytes() == FORMS["csv"].write(whole)
    assert form_of(STANDARD_OUTPUT) is FORMS["md"] and form_of(Path("a.HTM")) is FORMS["html"]
    with pytest.raises(UsageError, match=r"'a\.html' does not end as --format csv does"):
        form_of(Path("a.html"), "csv")
    with pytest.raises(UsageError) as caught:
        form_of(STANDARD_OUTPUT, "docx")
    assert all(f"{form.name} ({form.what})" in caught.value.fix for form in FORMS.values())


def test_csv_has_a_row_a_trial_and_keeps_every_digit(whole: Judged) -> None:
    rows = list(csv.DictReader(io.StringIO(export_csv(whole.summaries, whole.verdicts))))
    assert len(rows) == 9
    for row, summary in zip(rows, whole.summaries, strict=True):
        assert summary.image_s
        assert float(row["image_s_median"]) == summary.image_s.median
        assert row["verdict:disco-realtime"] == "unknown"
        assert row["mean_w"] == row["energy_low_j"] == row["power_effective_hz"] == ""
        assert row["warnings"] == "; ".join(summary.warnings)
        for verdict in whole.verdicts:
            if verdict.trial == summary.key:
                assert row[f"verdict:{verdict.profile}:{verdict.requirement}"] == verdict.verdict
    assert any(row["warnings"] for row in rows)


def test_csv_has_the_intervals_and_the_meter_of_the_primary_rail() -> None:
    rail = replace(
        samples.power(),
        mean_low_w=12.0,
        net_high_j=3.4,
        p99_w=14.0,
        effective_hz=49.5,
        rejected=2,
        idle_drift_w=-0.2,
    )
    trial = samples.summary(0.25, "int8", power=(replace(rail, primary=False, p99_w=1.0), rail))
    [row] = csv.DictReader(io.StringIO(export_csv([trial], [])))
    names = (
        "mean_w",
        "mean_low_w",
        "net_high_j",
        "p99_w",
        "power_effective_hz",
        "power_rejected",
        "idle_drift_w",
    )
    assert [float(row[name]) for name in names] == [12.4, 12.0, 3.4, 14.0, 49.5, 2.0, -0.2]
    assert row["mean_high_w"] == row["power_averaging_ms"] == ""
    assert [row[f"power_{name}"] for name in ("meter", "channel", "scope")] == ["rapl:", "package-0", "chip"]


def test_csv_has_what_a_trial_comes_to_under_a_profiles_schedule_and_link() -> None:
    trial, other = samples.summary(0.25, "int8"), samples.summary(0.5, "int8")
    verdict = replace(
        samples.verdicts([trial], ("disco-arctic",))[0],
        quantity="update_s",
        statistic="recorded",
        unit="ms",
        value=None,
        low=2500.0,
        high=None,
    )
    kept = replace(verdict, quantity="storage_bytes", unit="MB", value=2.5, low=None)
    row, missing = csv.DictReader(io.StringIO(export_csv([trial, other], [verdict, kept])))
    assert float(row["update_s:disco-arctic:low"]) == 2.5
    assert float(row["storage_bytes:disco-arctic"]) == 2_500_000
    assert "update_s:disco-arctic" not in row and missing["storage_bytes:disco-arctic"] == ""


def test_csv_cells_are_no_formulas_and_missing_ones_empty() -> None:
    failed = samples.without_figures(0.25, "int8", "failed", "=cmd|' /C calc'!A0", target="@SUM(A1)")
    [row] = csv.DictReader(
        io.StringIO(
            export_csv(
                [
                    failed,
                ],
                [],
            )
        )
    )
    assert row["reason"].startswith("'=")
    assert row["target"].startswith("'@")
    assert row["image_s_median"] == "" and row["memory_bytes"] == ""
    assert export_csv([], []) == "key\n"


def test_markdown_holds_the_tables_and_no_markup_from_outside(whole: Judged, hostile: Judged) -> None:
    text = export_markdown(whole)
    assert "| Trial | Latency per image, s | Accuracy, % |" in text
    assert "Inference time per image, s" in text
    assert "edgebench run --device cpu --quick" in text
    bad = export_markdown(hostile)
    assert "<script>" not in bad.split("```")[0]
    for block in bad.split("\n\n"):
        rows = [row.replace("\\|", "").count("|") for row in block.splitlines() if row.startswith("|")]
        assert len(set(rows)) < 2, block  # no text from outside adds a cell
    assert escape("a|b*c_<d>\n[e](f)") == "a\\|b\\*c\\_&lt;d&gt; \\[e\\]\\(f\\)"


def test_a_fence_is_longer_than_any_in_the_command(whole: Judged) -> None:
    record = whole.results.experiment.model_copy(update={"command": ("edgebench", "```")})
    results = type(whole.results)(whole.results.path, record)
    text = export_markdown(replace(whole, results=results))
    assert "``````sh" in text


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_profiles_title_is_that_of_the_profile_that_was_given(
    whole: Judged, tmp_path: Path, form: str
) -> None:
    renamed = tuple(
        profile.model_copy(update={"title": f"Mended {at}"}) for at, profile in enumerate(whole.profiles)
    )
    text = export(replace(whole, profiles=renamed), tmp_path / f"report.{form}").read_text()
    recorded = [str(record["title"]) for record in whole.results.experiment.profiles]
    assert "Mended 0" in text
    assert not any(title in text for title in recorded)
