"""`edgebench explore`: the figures of a site are those of `load`, and its folder is nobody else's."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

import edgebench
from edgebench.errors import StoredResultError, UsageError
from edgebench.explore.site import Site
from edgebench.explore.trials import site_metrics
from edgebench.judge.profile import shipped_profiles
from tests import synthetic_results
from tests.explore.conftest import column, document


def test_figures_verdicts_and_sessions_are_those_of_load(lab: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "site", [lab])
    assert site.update() and (site.results, site.trials) == (2, 6)
    data, sessions = document(tmp_path / "site" / "data.js"), document(tmp_path / "site" / "sessions.js")
    assert data["build"] == sessions["build"] and data["n"] == len(sessions["trials"]) == 6
    results, keys = column(data, "result"), column(data, "key")
    for place, (name, key) in enumerate(zip(results, keys, strict=True)):
        loaded = edgebench.load(lab / name)
        row = loaded.summaries().loc[key].to_dict()
        for metric, heading, low in (
            ("image_s", "image_s_median", "image_s_low"),
            ("power_mean_w", "mean_w", "mean_low_w"),
            ("accuracy", "accuracy_k", "accuracy_low"),
        ):
            figures, scale = data["figures"][metric], row["accuracy_n"] if metric == "accuracy" else 1
            for column_name, expected in (("value", row[heading] / scale), ("low", row[low])):
                value = figures[column_name][place]
                assert value is None if math.isnan(expected) else value == float(f"{expected:.6g}")
            reason = figures["reasons"]["values"][figures["reasons"]["codes"][place]]
            assert bool(reason) == (figures["value"][place] is None)
        [summary] = [each for each in loaded.trial_summaries() if each.key == key]
        assert sessions["trials"][place]["load_s"] == list(summary.load_s_values)
        verdicts = loaded.verdicts([profile.name for profile in shipped_profiles()])
        for profile in data["profiles"]:
            word = profile["verdicts"]["values"][profile["verdicts"]["codes"][place]]
            own = verdicts[(verdicts.trial == key) & (verdicts.profile == profile["name"]) & ~verdicts.wanted]
            assert word == min(own.verdict, key=["fail", "unknown", "inconclusive", "pass"].index)
    assert {metric["name"] for metric in data["metrics"]} == {metric.name for metric in site_metrics()}


def test_a_result_has_a_file_of_its_own(lab: Path, tmp_path: Path) -> None:
    Site(tmp_path / "site", [lab]).update()
    data = document(tmp_path / "site" / "data.js")
    files = set(column(data, "id"))
    assert {path.stem for path in (tmp_path / "site" / "results").iterdir()} == files and len(files) == 2
    shown = {
        (found := document(tmp_path / "site" / "results" / f"{file}.js"))["name"]: found for file in files
    }
    [trial, *_] = shown["b"]["trials"].values()
    assert len(trial["sessions"]) == 3
    powered = [session for session in trial["sessions"] if session["power"]]
    [power] = [session["power"] for session in powered]
    assert len(power["t_s"]) == len(power["w"]) and power["steady_s"]
    # Passes and power have one origin.
    passes = powered[0]["passes"]
    steady = [
        start
        for start, code in zip(passes["start_s"], passes["phase"], strict=True)
        if trial["phases"][code] == "steady"
    ]
    assert steady[0] == pytest.approx(power["steady_s"][0][0], abs=1e-5)


def test_an_empty_folder_is_an_error_that_says_what_was_searched(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(StoredResultError, match="none"):
        Site(tmp_path / "site", [tmp_path / "none"]).update()
    assert not (tmp_path / "site").exists()


@pytest.mark.attack("explore -o names a result, a folder in one, or one with files of others: it is refused")
def test_a_folder_of_others_is_refused(lab: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    Site(tmp_path / "site", [lab]).update()
    (tmp_path / "site" / "results" / "data").mkdir()
    link = tmp_path / "links"
    shutil.copytree(tmp_path / "site", link, ignore=shutil.ignore_patterns("results"))
    (link / "results").symlink_to(lab)
    for folder in (lab, lab / "a", lab / "a" / "trials" / "site", tmp_path / "mine", tmp_path / "site", link):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(UsageError) as refused:
            Site(folder, [lab])
        assert refused.value.fix and sorted(tmp_path.rglob("*")) == before


def test_what_did_not_change_is_not_read_again(lab: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "site", [lab])
    site.update()
    assert not site.update()
    before = set((tmp_path / "site" / "results").iterdir())
    synthetic_results.made_experiment(lab, name="c", seed=9)
    shutil.rmtree(lab / "a")
    shutil.rmtree(lab / "b" / "trials")  # unread: its records' state is what was read
    read: list[int] = []
    assert site.update(lambda done, total: read.append(done))
    data = document(tmp_path / "site" / "data.js")
    assert set(column(data, "result")) == {"b", "c"} and len(read) == 2
    assert len(before & set((tmp_path / "site" / "results").iterdir())) <= 1
