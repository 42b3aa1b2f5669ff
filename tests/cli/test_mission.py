"""`edgebench mission`: what it prints, its document, and what it refuses."""

import json
import math
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import StoredResultError, UsageError
from edgebench.report.plots.mission import PARTS, most_held
from edgebench.stats.mission_cycles import completions_s
from tests.synthetic_results import NINE, QUARTER, made_experiment, write_record

PROFILE = """
name = "orbit"
[schedule]
cycle = "95.65 min"
images = 80
burst = "10 min"
deadline = "5 min"
[[requirements]]
name = "latency"
quantity = "image_s"
statistic = "median"
limit = "4.42 s"
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """A result with a meter and its profile: a quick trial, a slow one, one too slow, and one that failed."""
    folder = tmp_path_factory.mktemp("mission")
    (folder / "orbit.toml").write_text(PROFILE)
    variants = (*QUARTER[:3], "mobilenet_v1-0.5-int8")
    image_s = dict(zip(variants, (2.0, 20.0, 200.0, 2.0), strict=True))
    made_experiment(folder, variants=variants, image_s=image_s, power=True, failed=variants[3:])
    return folder


def call(result, *words):
    folder, profile = result / "made", result / "orbit.toml"
    return CliRunner().invoke(app, ["mission", str(folder), "-p", str(profile), "--days", "30", *words])


def test_the_document_has_every_figure_or_its_reason(result):
    done = call(result, "--json")
    assert done.exit_code == 0, done.output
    trials = json.loads(done.stdout)["trials"]
    quick, slow, too_slow = (trial["estimates"] for trial in trials)
    assert quick["duty_cycle"]["value"] == pytest.approx(80 * 2.0 / (95.65 * 60), rel=0.05)
    assert quick["duty_cycle"]["low"] < quick["duty_cycle"]["value"] < quick["duty_cycle"]["high"]
    assert (quick["backlog"]["value"], quick["missed"]["value"]) == (1.0, 0.0)
    # 80 images in 10 min of which each takes 20 s: 51 wait behind the last that comes.
    assert slow["backlog"]["value"] == pytest.approx(80 - 592.5 / 20, rel=0.1)
    assert 0 < slow["missed"]["value"] < 1
    assert slow["energy_j_idle"]["value"] > slow["energy_j_active"]["value"] > 0
    assert slow["storage_bytes"]["value"] > slow["backlog"]["value"]
    assert slow["break_even_s"]["value"] > 0
    assert (trials[2]["is_overloaded"], too_slow["duty_cycle"]["value"], trials[2]["cycles"]) == (
        True,
        1.0,
        0,
    )
    assert too_slow["age_s"]["value"] is None
    assert "overloaded: in each cycle 2." in too_slow["age_s"]["reason"]


def test_tables_within_80_columns(result):
    together = call(result).stdout
    assert "orbit" in together
    assert re.search(r"is overloaded: 2.\d+ cycles of work per cycle", " ".join(together.split()))
    assert "0.5-int8" not in together  # it has no session
    alone = call(result, "--trial", QUARTER[0]).stdout
    assert "Intervals (95 %) are over sessions." in alone
    assert "idle" in alone and "Energy per cycle and" not in alone
    assert max(map(len, (together + alone).splitlines())) <= 80


def test_trials_are_named_as_in_every_other_table(result):
    def names(*words: str) -> set[str]:
        return set(re.findall(r"^0\.25 \w+", call(result, *words).stdout, re.MULTILINE))

    assert names("--trial", "0.25 fp32") == {"0.25 fp32"}
    assert names() >= {"0.25 fp32", "0.25 fp16"}


@pytest.mark.parametrize(
    ("words", "code", "what", "fix"),
    [
        (["--trial", "0.25 fp33"], 2, "there is no trial", "did you mean '0.25 fp32'"),
        (["--trial", "mobilenet_v1-0.25-int9"], 2, "there is no trial", "mobilenet_v1-0.25-int8"),
        (["--trial", "mobilenet_v1-0.5-int8"], 1, "has no latency of a device", "--resume"),
        (["--days", "1e6"], 2, "at most 50,000,000 are simulated", "--days 4.15e+04 or less"),
        (["--days", "0"], 2, "--days", ""),
    ],
)
def test_what_cannot_be_played_says_why(result, words, code, what, fix):
    done = call(result, *words)
    told = str(done.exception) + done.output
    assert (done.exit_code, what in told, fix in told) == (code, True, True) or (
        getattr(done.exception, "exit_code", None) == code and what in told and fix in told
    ), told


def test_a_profile_without_a_schedule_is_refused(result):
    profile = result / "bare.toml"
    profile.write_text(PROFILE.replace(PROFILE[PROFILE.index("[schedule]") : PROFILE.index("[[")], ""))
    done = CliRunner().invoke(app, ["mission", str(result / "made"), "-p", str(profile)])
    assert isinstance(done.exception, UsageError)
    assert "says no time at which images come" in done.exception.what
    assert "[schedule]" in done.exception.fix


def test_the_drawn_backlog_is_the_most_within_each_part():
    """Eight at once, of which each takes a tenth of the cycle."""
    arrivals_s = np.zeros(8)
    held = most_held(arrivals_s, completions_s(arrivals_s, np.full(8, 10.0)), 100.0)
    at_s = np.arange(PARTS) * 100.0 / PARTS
    assert held.tolist() == [max(0, 8 - math.floor(at / 10 - 1e-9)) if at else 8 for at in at_s]


def test_of_many_reasons_for_no_session_a_few_are_told(tmp_path):
    failures = made_experiment(tmp_path, variants=NINE, unsupported=NINE)
    record = json.loads((failures / "experiment.json").read_text())
    for megabytes, trial in enumerate(record["trials"]):
        trial["reason"] = f"it needs {megabytes} MB more"
    write_record((failures / "experiment.json"), record)
    done = CliRunner().invoke(app, ["mission", str(failures), "-p", "disco-arctic"])
    assert isinstance(done.exception, StoredResultError)
    assert done.exception.why.count("; and ") == 1
    assert done.exception.why.endswith("; and 6 more (`edgebench show`)")


def test_a_cycle_costs_the_same_however_long_the_mission_and_in_the_report(result, tmp_path):
    profile, page = result / "orbit.toml", tmp_path / "report.json"
    about = ["report", str(result / "made"), "--profile", str(profile), "--format", "json", "-o", str(page)]
    assert CliRunner().invoke(app, about).exit_code == 0
    reported = json.loads(page.read_text())["missions"]
    by_days = [json.loads(call(result, "--json", "--days", days).stdout)["trials"] for days in ("1", "1000")]
    for missions in zip(reported, *by_days, strict=True):
        if missions[0]["is_overloaded"]:
            continue
        in_report, in_a_day, in_years = (mission["estimates"] for mission in missions)
        assert in_report["energy_j_idle"] == in_a_day["energy_j_idle"] == in_years["energy_j_idle"]
        off_j = [estimates["energy_j_off"]["value"] for estimates in (in_report, in_a_day, in_years)]
        assert off_j == pytest.approx([off_j[0]] * 3, rel=0.01)


def test_a_trial_that_does_not_keep_up_fails_the_profile_and_every_form_says_why(result):
    """Its one limit, of an hour an image, is met by all."""
    profile = result / "lax.toml"
    profile.write_text(PROFILE.replace("4.42 s", "1 h").replace("orbit", "lax"))
    fit = ["fit", str(result / "made"), "--profile", str(profile)]
    told = CliRunner().invoke(app, fit)
    assert told.exit_code == 5  # a trial failed; which goes before a requirement that is not met
    says = re.compile(r"Not satisfied by 0.25 int8 \(schedule\)")
    assert says.search(" ".join(told.stdout.split()))
    document = json.loads(CliRunner().invoke(app, [*fit, "--json"]).stdout)
    [decision] = document["decisions"]
    [overload] = decision["overloaded"]
    assert (len(decision["passing"]), overload["load"] > 2, "overloaded" in overload["reason"]) == (
        2,
        True,
        True,
    )
    [kept] = [verdict for verdict in document["verdicts"] if verdict["metric"] == "load"]
    assert (kept["trial"], kept["requirement"], kept["verdict"]) == (overload["trial"], "schedule", "fail")
    page = CliRunner().invoke(app, ["report", *fit[1:], "--format", "md", "-o", "-"])
    text = " ".join(page.output.replace("\\", "").split())
    assert says.search(text) and "overloaded: in each cycle 2." in text
