from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.judged import Judged
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.verdicts.verdict import judge_all
from edgebench.report import words
from edgebench.report.documents import export_csv, safe_cell
from edgebench.report.renderers.forms import FORMS, STANDARD_OUTPUT, export, form_of
from edgebench.report.renderers.markdown import escape, export_markdown
from tests.report import samples


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.html", "<!DOCTYPE html>"),
        ("a.json", "{"),
        ("a.MD", "# MobileNet v1 on cpu"),
        ("a.csv", "trial,"),
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
    assert all(f"{form.name} ({form.description})" in caught.value.fix for form in FORMS.values())


def test_csv_has_a_row_a_trial_and_keeps_every_digit(whole: Judged) -> None:
    rows = list(csv.DictReader(io.StringIO(export_csv(whole.trials, whole.verdicts))))
    assert len(rows) == 9
    for row, trial in zip(rows, whole.trials, strict=True):
        assert float(row["image_s"]) == trial.estimate("image_s").value
        assert float(row["accuracy_low"]) == trial.estimate("accuracy").low
        assert row["verdict:disco-realtime"] == "unknown"
        assert row["warnings"] == "; ".join(trial.warnings)
        for verdict in whole.verdicts:
            if verdict.trial == trial.key:
                assert row[f"verdict:{verdict.profile}:{verdict.requirement.name}"] == verdict.word
    assert any(row["warnings"] for row in rows)
    assert not {"power_mean_w", "mass_g", "artifact_bytes_low"} & set(rows[0])


def test_csv_has_the_numbers_that_profiles_ask_for(whole: Judged) -> None:
    requirements = [
        {"name": "uplink", "quantity": "update_s", "limit": 1e9, "uplink_bps": 9600.0},
        {"name": "slowest", "quantity": "image_s", "statistic": "max", "limit": 1.0},
    ]
    profile = Profile.from_record({"name": "mine", "requirements": requirements})
    verdicts = judge_all(whole.trials, [profile])
    [row, *_] = csv.DictReader(io.StringIO(export_csv(whole.trials, verdicts)))
    for verdict, column in zip(verdicts, ("update_s_mine", "image_s_max"), strict=False):
        assert float(row[column]) == verdict.estimate.value


def test_csv_keeps_long_texts_and_the_sign_of_a_missing_one() -> None:
    cautions = tuple(samples.said(f"message {number} of the device") for number in range(40))
    [row] = csv.DictReader(io.StringIO(export_csv([samples.summary(cautions=cautions)], [])))
    assert row["warnings"].endswith("message 39 of the device")
    assert safe_cell(words.MISSING) == words.MISSING and safe_cell("-1+1") == "'-1+1"


def test_csv_cells_are_no_formulas_and_missing_ones_empty() -> None:
    failed = samples.without_figures(0.25, "int8", "failed", "=cmd|' /C calc'!A0", target="@SUM(A1)")
    [row] = csv.DictReader(io.StringIO(export_csv([failed], [])))
    assert row["reason"].startswith("'=")
    assert row["target"].startswith("'@")
    assert not {"image_s", "memory_bytes"} & set(row)
    assert export_csv([], []) == "trial\n"


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
