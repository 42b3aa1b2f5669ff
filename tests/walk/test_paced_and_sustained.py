"""`run --period` and `run --sustained`, as a user has them."""

import json

import jsonschema
import pytest

import edgebench
from edgebench.report.schemas import schema

ONE = ("--depth", "0.25", "--precision", "int8", "--json")


@pytest.mark.slow
def test_a_scene_every_so_often(place):
    done = place.run(*place.toy("--name", "paced", *ONE, "--period", "0.2"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema("result"))
    [trial] = document["trials"]
    assert document["experiment"]["period_s"] == 0.2
    misses, lateness_s = (trial["estimates"][name] for name in ("deadline_misses", "lateness_s"))
    assert (trial["period_s"], misses["n"]) == (0.2, 6)
    assert (misses["value"] > 0) == (lateness_s["value"] > 0)
    assert trial["sustained"] is None
    results = edgebench.load(place.folder / "results" / "paced")
    steady = results.passes.query("phase == 'steady'")
    for _, passes in steady.groupby("session"):
        assert passes["due_ns"].diff().dropna().tolist() == [200_000_000]
        assert (passes["start_ns"] >= passes["due_ns"]).all()
        assert (passes["lateness_ns"] == passes["end_ns"] - passes["due_ns"] - 200_000_000).all()
    assert "Missed deadlines, %" in (place.folder / "results" / "paced" / "report.html").read_text()


@pytest.mark.slow
def test_deadlines_that_are_missed_are_warned_of(place):
    (place.folder / "in-time.toml").write_text(
        'name = "in-time"\n[[requirements]]\nname = "misses"\nquantity = "deadline_misses"\nlimit = 0.05\n'
    )
    done = place.run(
        *place.toy("--name", "late", *ONE, "--period", "0.001", "--set", "delay_us=1000", "--sessions", "3"),
        "--profile", "in-time.toml",
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    [verdict] = json.loads(done.stdout)["verdicts"]
    assert (verdict["verdict"], verdict["value"]) == ("fail", 1.0)
    assert "missed deadlines" in (place.folder / "results" / "late" / "report.html").read_text()
    [trial] = json.loads(done.stdout)["trials"]
    misses = trial["estimates"]["deadline_misses"]
    assert (misses["value"], misses["n"]) == (1.0, 6)
    late = "6 of 6 paced passes were not done when the next had to start"
    assert any(late in warning for warning in trial["warnings"])


@pytest.mark.slow
def test_a_median_a_minute_instead_of_a_number_of_passes(place):
    done = place.run(*place.toy("--name", "long", *ONE, "--sustained", "0.02", "--sessions", "1"))
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema("result"))
    [trial] = document["trials"]
    assert trial["status"] == "done"
    [minute] = trial["sustained"]["minutes"]
    assert minute["minute"] == 0
    assert minute["n"] == trial["estimates"]["image_s"]["n"] > 2
    assert trial["sustained"]["suspected"] is bool(trial["sustained"]["because"])
    assert trial["estimates"]["deadline_misses"]["value"] is None
    steady = edgebench.load(place.folder / "results" / "long").passes.query("phase == 'steady'")
    assert (steady["end_ns"].max() - steady["start_ns"].min()) >= 1_200_000_000
    assert "of each minute" in (place.folder / "results" / "long" / "report.html").read_text()


def test_the_dry_run_reckons_with_both(place):
    done = place.run(*place.toy("--dry-run", "--sustained", "2", "--period", "5"))
    assert done.returncode == 0, done.stderr
    assert "2 minutes of passes, one every 5 s," in " ".join(done.stdout.split())
