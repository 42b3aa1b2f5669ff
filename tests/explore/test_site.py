"""`edgebench explore`: the figures of a site are those of `load`, and its folder is nobody else's."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from typer.testing import CliRunner

import edgebench
from edgebench.cli.main import app
from edgebench.errors import StoredResultError, UsageError
from edgebench.explore.site import LOCK, Site, watch
from edgebench.explore.trials import MOST_POINTS, thinned
from edgebench.files import write_atomically
from edgebench.judge.comparisons.history import history
from edgebench.judge.metrics import METRICS
from edgebench.judge.published import judge_published
from edgebench.judge.requirements.profile import parse_profile, shipped_profiles
from edgebench.judge.trial import Estimate, Trial
from edgebench.judge.trials import trials_of
from edgebench.results.archive import unpack_archive, write_archive
from edgebench.results.listing import list_results
from edgebench.results.load import StoredResults
from tests import synthetic_results
from tests.explore.conftest import column, decoded, document
from tests.synthetic_results import QUARTER, write_record


def updated(folder: Path, paths: list[Path], **options: Any) -> tuple[Site, Any]:
    """A site of results that was made, with the document of its data."""
    site = Site(folder, paths, **options)
    site.update()
    return site, document(folder / "data.js")


def test_figures_verdicts_and_sessions_are_those_of_load(lab: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "site", [lab])
    assert site.update() and (site.results, site.trials) == (2, 6)
    data, sessions = document(tmp_path / "site" / "data.js"), document(tmp_path / "site" / "sessions.js")
    assert data["build"] == sessions["build"] and data["n"] == len(sessions["trials"]) == 6
    results, keys = column(data, "result"), column(data, "key")
    for place, (name, key) in enumerate(zip(results, keys, strict=True)):
        loaded = edgebench.load(lab / name)
        row = loaded.summaries().loc[key].to_dict()
        for metric in ("image_s", "power_mean_w", "accuracy", "artifact_bytes"):
            figures = data["figures"].get(metric, {"value": [None] * 6, "low": None, "reasons": None})
            for end, name_of_column in (("value", metric), ("low", f"{metric}_low")):
                value = figures[end] and figures[end][place]
                expected = row.get(name_of_column, math.nan)
                assert value is None if math.isnan(expected) else value == float(f"{expected:.6g}")
            if figures["reasons"]:
                assert bool(decoded(figures["reasons"], place)) == (figures["value"][place] is None)
        [trial] = [trial for trial in loaded.trial_list() if trial.key == key]
        assert sessions["trials"][place]["load_s"] == list(trial.estimate("load_s").sessions)
        verdicts = loaded.verdicts([profile.name for profile in shipped_profiles()])
        for profile in data["profiles"]:
            word = decoded(profile["verdicts"], place)
            own = verdicts[(verdicts.trial == key) & (verdicts.profile == profile["name"]) & ~verdicts.wanted]
            found = {*own.verdict}
            so_far = "so far" if "pass" in found else "unknown"
            expected = "pass" if found == {"pass"} else "undecided" if "inconclusive" in found else so_far
            assert word == ("fail" if "fail" in found else expected)
    assert {metric["name"] for metric in data["metrics"]} == set(METRICS)
    assert "refresh_s" not in data and "target_names" not in data
    frame = edgebench.load(lab / "b").summaries()
    columns = {metric["name"]: metric["columns"] for metric in data["metrics"]}
    assert all(columns[name] and {*columns[name]} <= {*frame.columns} for name in data["figures"])
    assert columns["power_mean_w"] == ["power_mean_w", "power_mean_w_low", "power_mean_w_high"]
    assert columns["artifact_bytes"] == ["artifact_bytes"]


def test_a_result_has_a_file_of_its_own(lab: Path, tmp_path: Path) -> None:
    _, data = updated(tmp_path / "site", [lab])
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


@pytest.mark.attack("explore: a site among results, or results in a site: neither becomes part of the other")
def test_sites_and_results_stay_apart(lab: Path, tmp_path: Path) -> None:
    for _ in range(2):
        site = Site(lab / "site", [lab])
        site.update()
        assert site.results == 2 and not site.left_out
    before = {path: path.read_bytes() for path in (lab / "site").rglob("*.js")}
    with pytest.raises(StoredResultError):  # its folder `results` holds no result
        Site(lab / "site", [lab / "site" / "results"]).update()
    assert {path: path.read_bytes() for path in (lab / "site").rglob("*.js")} == before
    shutil.copytree(lab / "a", lab / "site" / "results" / "a")
    with pytest.raises(UsageError, match="results/a"):
        Site(lab / "site", [lab])


def test_what_did_not_change_is_not_read_again(lab: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "site", [lab])
    site.update()
    assert not site.update()
    before = set((tmp_path / "site" / "results").iterdir())
    synthetic_results.made_experiment(lab, name="c", seed=9)
    shutil.rmtree(lab / "a")
    next((lab / "b").rglob("sessions/002")).rename(tmp_path / "removed")
    read: list[int] = []
    assert site.update(lambda done, total: read.append(done))
    data = document(tmp_path / "site" / "data.js")
    assert set(column(data, "result")) == {"b", "c"} and len(read) == 2
    assert len(before & set((tmp_path / "site" / "results").iterdir())) <= 1


def test_archives_are_read_and_the_same_result_is_shown_once(lab: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_archive(lab / name, lab / f"{name}.zip", edgebench_version="1")
    shutil.rmtree(lab / "a")
    (lab / "other.zip").write_bytes(b"PK no archive")
    site, data = updated(tmp_path / "site", [lab])
    assert sorted(set(column(data, "result"))) == ["a", "b"] and site.results == 2
    assert {each["result"] for each in data["left_out"]} == {"b.zip", "other.zip"}
    single = Site(tmp_path / "single", [lab / "a.zip", lab / "b"])
    single.update()
    first = document(tmp_path / "single" / "data.js")
    values = [
        value
        for each in (data, first)
        for value, name in zip(each["figures"]["image_s"]["value"], column(each, "result"), strict=True)
        if name == "a"
    ]
    assert values[:3] == values[3:]


def test_links_copies_and_imports_of_a_result_are_shown_once(lab: Path, tmp_path: Path) -> None:
    write_archive(lab / "a", tmp_path / "a.zip", edgebench_version="1")
    unpack_archive(tmp_path / "a.zip", lab, "imported")
    (lab / "link").symlink_to(lab / "b")
    (tmp_path / "other").mkdir()
    shutil.copytree(lab / "b", tmp_path / "other" / "copy")
    site, data = updated(tmp_path / "site", [tmp_path / "a.zip", lab, tmp_path / "other"])
    assert site.results == 2 and len(data["left_out"]) == 4
    assert len(column(data, "result")) == len(
        {*zip(column(data, "result"), column(data, "key"), strict=True)}
    )


@pytest.mark.attack("explore: damaged, foreign and newer results are left out and named, the others shown")
def test_what_cannot_be_read_is_left_out_by_name(lab: Path, tmp_path: Path) -> None:
    for name in ("damaged", "newer", "foreign", "table"):
        shutil.copytree(lab / "a", lab / name)
    (lab / "damaged" / "experiment.json").write_text("{")
    record = json.loads((lab / "newer" / "experiment.json").read_text())
    (lab / "newer" / "experiment.json").write_text(json.dumps(record | {"schema_version": 99}))
    (lab / "foreign" / "experiment.json").write_text('{"name": "of another program"}')
    next((lab / "table").rglob("passes.parquet")).write_bytes(b"no table")
    (lab / "loop").symlink_to(lab)
    _, data = updated(tmp_path / "site", [lab])
    assert set(column(data, "result")) == {"a", "b"}
    told = {each["result"]: each["why"] for each in data["left_out"]}
    assert told.keys() == {"damaged", "newer", "foreign", "table"} and all(told.values())
    assert "99" in told["newer"] and str(lab) not in json.dumps(data)


def test_targets_have_their_names_on_request_alone(tmp_path: Path) -> None:
    folder = synthetic_results.made_experiment(tmp_path / "lab", name="cellar-7-night")
    record = json.loads((folder / "experiment.json").read_text())
    [target] = record["targets"]
    target |= {"name": "cellar-7", "host": "pi@hut.example", "port": "/dev/ttyHUT0"}
    for trial in record["trials"]:
        trial["target"] = "cellar-7"
    record["command"] += ["--target", "cellar-7", "--host", "pi@hut.example"]
    record["warnings"] = ["cellar-7 at hut.example was busy"]
    write_record((folder / "experiment.json"), record)
    for path in folder.rglob("session.json"):
        session = json.loads(path.read_text())
        session["device"]["python_executable"] = "/srv/vault/bin/python"
        write_record(path, session)
    for target_names in (False, True):
        Site(site := tmp_path / f"site{target_names}", [tmp_path / "lab"], target_names=target_names).update()
        written = "".join(path.read_text() for path in site.rglob("*.js") if path.name != "explore.js")
        assert ("cellar-7" in written) == target_names
        assert "hut.example" not in written and "ttyHUT0" not in written
        assert "/srv/vault" not in written
        data = document(site / "data.js")
        assert data.get("target_names", False) == target_names
        assert set(column(data, "target")) == {"cellar-7" if target_names else "cpu 1"}


@pytest.mark.attack("explore: markup, quotes and control characters in every text are data in the scripts")
def test_texts_cannot_leave_their_scripts(tmp_path: Path) -> None:
    synthetic_results.made_experiment(
        tmp_path / "lab", name="evil", hostile=True, crashed_once=["mobilenet_v1-0.25-fp16"]
    )
    (tmp_path / "lab" / "evil").rename(tmp_path / "lab" / "<!--<script>'\\<img src=x>\u2028")
    long = synthetic_results.made_experiment(tmp_path / "lab", name="long")
    record = json.loads((long / "experiment.json").read_text())
    record["host"]["cpu_model"] = "x" * 1_000_000
    record["trials"][0]["reason"] = "<b>" * 300_000
    write_record((long / "experiment.json"), record)
    Site(tmp_path / "site", [tmp_path / "lab"]).update()
    for path in (tmp_path / "site").rglob("*.js"):
        if path.name in ("data.js", "sessions.js") or path.parent.name == "results":
            document(path)
            assert path.stat().st_size < 200_000
    data = document(tmp_path / "site" / "data.js")
    assert any("<script>" in name for name in data["labels"]["result"]["values"])
    assert all(value.isprintable() for name in data["labels"] for value in data["labels"][name]["values"])


@pytest.mark.attack("explore: figures that are NaN or infinite become null with a reason")
def test_what_is_no_number_is_null(lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(results: StoredResults) -> list[Trial]:
        first, *others = trials_of(results)
        wrong = {
            "image_s": Estimate(math.nan, -math.inf, math.inf, n=9),
            "memory_bytes": Estimate(1.0, sessions=(0.0, 1.0, 2.0)),
        }
        keys = {METRICS[name].key(): estimate for name, estimate in wrong.items()}
        return [replace(first, estimates={**first.estimates, **keys}), *others]

    monkeypatch.setattr("edgebench.explore.trials.trials_of", broken)
    _, data = updated(tmp_path / "site", [lab / "a"])
    sessions = document(tmp_path / "site" / "sessions.js")
    figures = data["figures"]["image_s"]
    assert [figures[name][0] for name in ("value", "low", "high")] == [None, None, None]
    assert "finite" in decoded(figures["reasons"], 0)
    assert None not in figures["value"][1:] and "memory_bytes" not in sessions["trials"][0]


def test_a_trial_has_its_kind_and_a_replay_no_board_of_this_machine(tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    for name in ("measured", "replay", "own_time", "emulated"):
        folder = synthetic_results.made_experiment(lab, name=name, variants=QUARTER[:1])
        for path in folder.rglob("session.json"):
            session = json.loads(path.read_text())
            session["device"] |= {"board": "Desk", "power_mode": {"name": "fast"}}
            write_record(path, session | ({name: True} if name in session else {}))
        if name == "replay":
            text = (folder / "experiment.json").read_text()
            replay = json.loads(text.replace('"device": "cpu"', '"device": "replay"'))
            write_record(folder / "experiment.json", replay)
    _, data = updated(tmp_path / "site", [lab], published=True)
    facts = {
        row[0]: row[1:]
        for row in zip(
            *(column(data, name) for name in ("result", "kind", "board", "power_mode")), strict=False
        )
    }
    assert facts.pop("published")[0] == "published"
    assert facts == {
        "measured": ("measured", "Desk", "fast"),
        "emulated": ("emulated", "Desk", "fast"),
        "replay": ("replay", "", ""),
        "own_time": ("replay", "", ""),
    }


def test_a_scene_is_a_label_of_pixels_patches_and_input(tmp_path: Path) -> None:
    synthetic_results.made_experiment(tmp_path / "lab", name="small", variants=QUARTER[:1])
    synthetic_results.made_experiment(
        tmp_path / "lab", name="large", variants=QUARTER[:1], rows=20, columns=20
    )
    _, data = updated(tmp_path / "site", [tmp_path / "lab"])
    scenes = dict(zip(column(data, "result"), column(data, "scene"), strict=True))
    assert data["labels"]["scene"]["differs"]
    assert scenes["large"].endswith(", 400 patches of 224 x 224") and " x " in scenes["large"]
    assert scenes["small"].endswith(", 20 patches of 224 x 224")


def test_profiles_of_results_and_named_files_are_offered(tmp_path: Path) -> None:
    slow, quick = (profile_text("mine", limit) for limit in (1000.0, 1e-6))
    (tmp_path / "other.toml").write_text(profile_text("other", 1e-6))
    lab = tmp_path / "lab"
    for name, text in (("a", slow), ("b", quick), ("c", slow)):
        carried = [parse_profile(text.encode(), name).as_record()]
        synthetic_results.made_experiment(lab, name=name, variants=QUARTER[:1], profiles=carried)
    shipped = [profile.as_record() for profile in shipped_profiles()]
    folder = synthetic_results.made_experiment(lab, name="d", variants=QUARTER[:1], profiles=shipped)
    write_archive(folder, lab / "d.zip", edgebench_version="1")
    shutil.rmtree(folder)
    site, data = updated(tmp_path / "site", [lab], profiles=[str(tmp_path / "other.toml")])
    names = [profile["name"] for profile in data["profiles"]]
    assert names == [*(profile.name for profile in shipped_profiles()), "other", "mine", "mine (2)"]
    verdicts = {
        profile["name"]: {decoded(profile["verdicts"], place) for place in range(data["n"])}
        for profile in data["profiles"]
    }
    assert verdicts["mine"] == {"pass"} and verdicts["mine (2)"] == verdicts["other"] == {"fail"}  # of all
    titles = [profile["title"] for profile in data["profiles"]]
    assert len(set(titles)) == len(titles)
    with pytest.raises(UsageError):
        Site(tmp_path / "site", [lab], profiles=[str(tmp_path / "none.toml")])
    carried = [parse_profile(profile_text("late", 1.0).encode(), "e").as_record()]
    synthetic_results.made_experiment(lab, name="e", variants=QUARTER[:1], profiles=carried)
    site.update()  # the earlier results are judged by it, too
    late = document(tmp_path / "site" / "data.js")
    assert sorted(profile["name"] for profile in late["profiles"]) == sorted([*names, "late"])
    assert late["n"] == data["n"] + 1 and {*late["profiles"][-1]["verdicts"]["codes"]} != set()


def profile_text(name: str, limit: float) -> str:
    requirement = f'[[requirements]]\nname = "image_s"\nquantity = "image_s"\nlimit = {limit}\n'
    return f'schema_version = 1\nname = "{name}"\ntitle = "made"\n{requirement}'


def test_runs_without_any_session_are_counted_and_no_rows(lab: Path, tmp_path: Path) -> None:
    synthetic_results.made_experiment(lab, name="dry", not_run=QUARTER)
    failed = synthetic_results.made_experiment(lab, name="failed", failed=QUARTER)
    site = Site(tmp_path / "site", [lab])
    for _ in range(2):
        site.update()
        data = document(tmp_path / "site" / "data.js")
        assert set(column(data, "result")) == {"a", "b", "failed"}
        assert (site.results, site.without_sessions, data["without_sessions"]) == (3, 1, 1)
        assert not data["left_out"] and len(list((tmp_path / "site" / "results").iterdir())) == 3
        (failed / "run.json").touch()
    alone = Site(tmp_path / "alone", [lab / "dry"])
    alone.update()
    assert document(tmp_path / "alone" / "data.js")["n"] == 0
    done = CliRunner().invoke(app, ["explore", str(lab / "dry"), "-o", str(tmp_path / "alone")])
    assert done.exit_code == 0 and "1 run without any session" in done.stderr


def test_published_figures_are_marked_with_their_sources(lab: Path, tmp_path: Path) -> None:
    _, data = updated(tmp_path / "site", [lab], published=True)
    published = [place for place, kind in enumerate(column(data, "kind")) if kind == "published"]
    assert published and all(column(data, "source")[place] for place in published)
    power = data["figures"]["power_peak_w"]
    bounds = {power[end][place] for place in published for end in ("low", "high") if power[end]} - {None}
    trials = [trial.estimate("power_peak_w") for trial in judge_published().trials]
    ends = [end for estimate in trials for end in (estimate.low, estimate.high) if estimate.value is None]
    assert bounds == {*ends} - {None} != set()
    assert {column(data, "id")[place] for place in published} == {""}


def test_a_history_has_the_changes_of_edgebench_history(tmp_path: Path) -> None:
    names = synthetic_results.QUARTER[:1]
    for day in range(1, 11):
        level = {names[0]: 0.3 if day < 6 else 0.36}
        folder = synthetic_results.made_experiment(
            tmp_path / "lab",
            name=f"day{day:02}",
            variants=names,
            image_s=level,
            seed=day,
            session_spread=0.003,
        )
        record = json.loads((folder / "experiment.json").read_text())
        record["created_utc"] = f"2025-03-{day:02}T12:00:00Z"
        write_record((folder / "experiment.json"), record)
    _, data = updated(tmp_path / "site", [tmp_path / "lab"])
    sessions = document(tmp_path / "site" / "sessions.js")
    [series] = sessions["history"]["image_s"]
    [expected] = history(list_results(tmp_path / "lab")[0], metric="image_s")
    results = column(data, "result")
    assert [results[place] for place in series["trials"]] == [point.result for point in expected.results]
    assert series["changes"] == [
        {"at": change.at, "ratio": change.ratio, "word": change.word} for change in expected.changes
    ]
    assert [results[series["trials"][change["at"]]] for change in series["changes"]] == ["day06"]
    assert not series["reason"] and len(set(column(data, "history"))) == 1


def test_long_samples_keep_their_extremes() -> None:
    values = np.sin(np.arange(50_000) / 500.0)
    values[17_171], values[40_000] = 9.0, np.nan
    places = thinned(values)
    assert len(places) <= MOST_POINTS and (np.diff(places) > 0).all() and 17_171 in places
    assert list(thinned(values[:100])) == list(range(100))


@pytest.mark.attack("explore: an update that is broken off leaves the site that was there working")
def test_an_update_that_is_broken_off_leaves_the_old_site(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, before = updated(tmp_path / "site", [lab])
    synthetic_results.made_experiment(lab, name="c", seed=9)
    shutil.rmtree(lab / "a")
    put = write_atomically

    def interrupted(path: Path, data: bytes) -> None:
        if path.name == "data.js":
            raise KeyboardInterrupt
        put(path, data)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("edgebench.explore.site.write_atomically", interrupted)
        site.update()
    assert document(tmp_path / "site" / "data.js") == before
    files = {path.stem for path in (tmp_path / "site" / "results").iterdir()}
    assert set(column(before, "id")) <= files and len(files) == 3
    again = Site(tmp_path / "site", [lab])
    again.update()
    data = document(tmp_path / "site" / "data.js")
    assert {path.stem for path in (tmp_path / "site" / "results").iterdir()} == set(column(data, "id"))
    assert set(column(data, "result")) == {"b", "c"}


def test_a_file_that_is_gone_comes_back_and_addresses_stay(lab: Path, tmp_path: Path) -> None:
    site, before = updated(tmp_path / "site", [lab])
    shutil.rmtree(tmp_path / "site")
    shutil.rmtree(next((lab / "a").rglob("sessions/002")))
    assert site.update()
    data = document(tmp_path / "site" / "data.js")
    assert column(data, "id") == column(before, "id") and data["build"] != before["build"]
    assert (tmp_path / "site" / "index.html").exists()
    Site(tmp_path / "site", [lab])  # it is a site still
    for file in column(data, "id"):
        document(tmp_path / "site" / "results" / f"{file}.js")


@pytest.mark.attack(
    "explore: two at once into one folder: the second is refused; -o is a loop of links: so, too"
)
def test_two_at_once_and_links_that_lead_nowhere_are_refused(lab: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "site", [lab])
    site.update()
    with FileLock(tmp_path / "site" / LOCK), pytest.raises(StoredResultError, match="another"):
        Site(tmp_path / "site", [lab]).update()
    Site(tmp_path / "site", [lab]).update()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    for name in ("loop", "dangling"):
        with pytest.raises(UsageError, match="link"):
            Site(tmp_path / name, [lab])


def test_watching_follows_sessions_and_problems(lab: Path, tmp_path: Path) -> None:
    site = Site(tmp_path / "site", [lab])
    site.update()
    lines: list[str] = []
    waits: list[float] = []
    steps: list[Callable[[], object]] = [
        lambda: None,
        lambda: synthetic_results.made_experiment(lab, name="c", seed=9),
        lambda: lab.rename(tmp_path / "gone"),
        lambda: None,
        lambda: (tmp_path / "gone").rename(lab),
    ]

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if not steps:
            raise KeyboardInterrupt
        steps.pop(0)()

    with pytest.raises(KeyboardInterrupt):
        watch(site, lines.append, wait)
    assert [line.rpartition(" ")[2] for line in lines[:1]] == ["trials"] and "9 trials" in lines[0]
    assert len(lines) == 2 and str(lab) in lines[1]
    assert len(waits) == 6 and min(waits) >= 5
    assert set(column(document(tmp_path / "site" / "data.js"), "result")) == {"a", "b", "c"}


def test_the_command_says_what_is_shown_and_left_out(lab: Path, tmp_path: Path) -> None:
    (lab / "other.zip").write_bytes(b"")
    done = CliRunner().invoke(app, ["explore", str(lab), "-o", str(tmp_path / "site"), "--reference"])
    assert done.exit_code == 0 and done.stdout.strip() == str(tmp_path / "site" / "index.html")
    assert "other.zip" in done.stderr and "2 results" in done.stderr
