"""Declared power from the command line: a stored result judged anew, and what is refused."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import EXIT_NOT_MET, UsageError
from edgebench.judge.requirements.profile import load_profile
from edgebench.results.load import load
from tests.synthetic_results import QUARTER, made_experiment

MAXIMUM = "plain=4.5:maximum:label of its supply"
MARK = "declared maximum"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Two trials of a target `plain`, with a meter of the chip's power and a limit at any moment."""
    profile = load_profile("disco-realtime").as_record()
    for requirement in profile["requirements"]:
        requirement.pop("averaging_s", None)
    return made_experiment(
        tmp_path_factory.mktemp("declared"),
        targets=("plain",),
        variants=QUARTER[:2],
        power=True,
        mass_g=60.0,
        size_mm=(10.0, 65.0, 80.0),
        profiles=[profile],
    )


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def document(stored, *words):
    done = call("fit", stored, "--json", *words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def peaks(judged):
    return [verdict for verdict in judged["verdicts"] if verdict["metric"] == "power_peak_w"]


def test_a_stored_result_is_judged_anew_with_a_declaration_and_is_left_as_it_was(stored):
    before = {path: path.read_bytes() for path in stored.rglob("*.json")}
    plain = document(stored)
    assert [(peak["verdict"], peak["basis"]) for peak in peaks(plain)] == [("inconclusive", "chip")] * 2
    judged = document(stored, "--declared-power", MAXIMUM)
    for peak in peaks(judged):
        assert (peak["verdict"], peak["value"], peak["basis"]) == ("pass", 4.5, "declared maximum")
        assert (
            "the bound meets the limit; declared maximum power of 4.5 W (label of its supply)"
            in peak["reason"]
        )
    for before_trial, trial in zip(plain["trials"], judged["trials"], strict=True):
        declared = [name for name in trial["estimates"] if name.startswith("declared_power")]
        assert [trial["estimates"][name]["value"] for name in declared if trial["estimates"][name]["n"] == 0]
        assert trial["rails"] == before_trial["rails"]  # estimates of meters alone
        assert trial["key"] == before_trial["key"]
    assert {path: path.read_bytes() for path in stored.rglob("*.json")} == before


def test_a_maximum_that_any_trial_of_the_target_exceeds_decides_nothing_and_is_warned_of(stored):
    judged = document(stored, "--declared-power", "2.5:maximum:label")
    warning = "power of 2.5 W (label) decides nothing: rapl:package (package, chip) saw 3."
    for peak, trial in zip(peaks(judged), judged["trials"], strict=True):
        assert (peak["verdict"], peak["basis"]) == ("inconclusive", "chip")
        assert warning in peak["reason"]
        assert any(warning in text for text in trial["warnings"])


def test_a_typical_power_above_the_limit_fails_it(stored):
    done = call("fit", stored, "--declared-power", "6:typical:data sheet", "--details")
    assert done.exit_code == 3
    text = " ".join(done.stdout.split())
    assert "✕ -1.00 W (declared typical)" in text and "(data sheet)" in text


def test_it_is_marked_declared_wherever_it_stands(stored, tmp_path):
    text = " ".join(call("fit", stored, "--declared-power", MAXIMUM, "--details").stdout.split())
    assert "not measured: declared maximum power of 4.5 W (label of its supply)" in text
    assert f"✓ +0.500 W ({MARK})" in text
    exports = {}
    for end in ("html", "md", "csv"):
        path = tmp_path / f"out.{end}"
        assert call("report", stored, "-o", path, "--declared-power", MAXIMUM).exit_code == 0
        exports[end] = path.read_text()
    for end in ("html", "md"):
        plain = exports[end].replace("\\", "")
        assert f"W ({MARK})" in plain
        assert "not measured: declared maximum power of 4.5 W (label of its supply)" in plain
    for row in csv.DictReader(io.StringIO(exports["csv"])):
        assert (row["declared_power_maximum"], row["declared_power_maximum_high"]) == ("4.5", "4.5")
        assert "4.5" not in (row["power_mean_w"], row["power_peak_w"])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("plane=4:maximum:label", "there is no target 'plane'"),
        ("4:maximum", "does not say where the figure is from"),
        ("2kW:maximum:label", "is not a number"),
        ("nan:maximum:label", "not at most"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "report"])
def test_a_bad_declaration_is_a_usage_error(stored, command, text, what, tmp_path):
    done = call(command, stored, "--declared-power", text)
    assert isinstance(done.exception, UsageError)
    assert what in done.exception.what
    assert done.exception.fix


def test_a_run_refuses_it_before_anything_is_measured(tmp_path):
    words = ("run", "--device", "toy", "--dry-run", "-o", tmp_path, "--declared-power")
    done = call(*words, "nano=4:maximum:label")
    assert isinstance(done.exception, UsageError)
    assert "known: toy" in done.exception.fix


def test_a_boot_time_is_declared_for_a_stored_result(stored, tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text(
        'name = "mine"\n[[requirements]]\nname = "boot"\nquantity = "boot_s"\nlimit = "20 s"\n'
    )
    words = ["fit", stored, "--json", "--profile", profile]
    unknown = json.loads(call(*words).stdout)
    assert {verdict["verdict"] for verdict in unknown["verdicts"]} == {"unknown"}
    done = call(*words, "--declared", "plain=boot_s:25:typical:watch")
    assert done.exit_code == EXIT_NOT_MET
    judged = json.loads(done.stdout)
    assert {(verdict["verdict"], verdict["basis"]) for verdict in judged["verdicts"]} == {
        ("fail", "declared typical")
    }
    boot = judged["trials"][0]["estimates"]["boot_s"]
    assert (boot["value"], boot["low"], boot["high"]) == (25.0, 25.0, None) and "watch" in boot["notes"][0]
    assert [target.boot_s for target in load(stored).experiment.targets] == [None]


def test_a_mass_is_declared_for_a_stored_result_with_its_source(stored, tmp_path):
    profile = tmp_path / "light.toml"
    profile.write_text('name = "light"\n[[requirements]]\nquantity = "mass_g"\nlimit = "100 g"\n')
    words = ["fit", stored, "--profile", profile, "--declared", "mass_g:180:kitchen scale"]
    judged = json.loads(call(*words, "--json").stdout)
    [verdict] = {(verdict["verdict"], verdict["value"], verdict["reason"]) for verdict in judged["verdicts"]}
    assert verdict == ("fail", 180.0, "the value misses the limit; kitchen scale")
    assert "declared mass: 180 g (kitchen scale)" in " ".join(call(*words, "--details").output.split())
