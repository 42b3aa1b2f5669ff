"""Secrets in a target's launch: names of variables, launchers and options are shown, all else nowhere."""

import json
import os
import stat
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import SessionError
from edgebench.judge.judged import judge_folder
from edgebench.records.target import Launch
from edgebench.report.renderers.forms import export
from edgebench.results.record_reading import read_experiment
from edgebench.results.redaction import PrivateNames, written
from edgebench.results.writing import ExperimentStore
from tests.fakes import FakeDevice
from tests.measure.test_lane_group import MemoryStore, experiment
from tests.synthetic_results import QUARTER, made_experiment, write_record

SECRETS = ("hunter2-token", "open-sesame", "0a1b2c3d4e", "attached", "in-a-script")
LAUNCH = Launch(
    env={"API_TOKEN": SECRETS[0], "OMP_NUM_THREADS": "2"},
    prefix=(
        *("vault", "--key", SECRETS[1], f"-p{SECRETS[3]}", "env", f"PASSPHRASE={SECRETS[2]}"),
        *("sh", "-c", f"TOKEN='{SECRETS[4]}' exec \"$@\"", "nice", "-n", "-5"),
    ),
)


def with_launch(path: Path) -> Path:
    """A result of somebody else: with its launch among the inputs of its trials too."""
    record = json.loads((path / "experiment.json").read_text())
    launch = json.loads(json.dumps(asdict(LAUNCH)))
    for target in record["targets"]:
        target["launch"] = launch
    for trial in record["trials"]:
        trial["inputs"]["settings"] = {"launch": launch}
    record["preflight"] = [
        {"target": "cpu", "level": "warning", "subject": "x", "message": f"no {SECRETS[0]}"}
    ]
    write_record((path / "experiment.json"), record)
    return path


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_launch(made_experiment(tmp_path_factory.mktemp("secrets"), variants=QUARTER[:1]))


@pytest.mark.attack("launch.env and launch.prefix hold secrets: no report and no export shows them")
@pytest.mark.parametrize("suffix", [".html", ".md", ".csv", ".json"])
def test_no_export_shows_a_secret(result, tmp_path, suffix):
    judged = judge_folder(result, ())
    path = export(judged, tmp_path / f"out{suffix}")
    text = path.read_text()
    assert not [secret for secret in SECRETS if secret in text]
    if suffix == ".html":
        assert all(shown in text for shown in ("API_TOKEN", "vault", "--key", "nice"))


@pytest.mark.attack("launch holds secrets: experiment.json has them in its targets and nowhere else")
def test_they_are_written_into_the_targets_alone(result):
    record = read_experiment(result)
    document = json.loads(written(record, PrivateNames.of(launches=[asdict(LAUNCH)])).model_dump_json())
    targets = json.dumps(document.pop("targets"))
    assert all(secret in targets for secret in SECRETS)
    assert not [secret for secret in SECRETS if secret in json.dumps(document)]
    assert document["preflight"][0]["message"] == "no (API_TOKEN)"


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
@pytest.mark.parametrize(
    ("launch", "mode"),
    [
        pytest.param(
            {"env": {"PIN": "1"}},
            0o600,
            marks=pytest.mark.attack(
                "another user opens an experiment.json that holds secrets: it is its owner's alone"
            ),
        ),
        ({"prefix": ("vault", "--key", "k")}, 0o600),
        ({"env": {}, "prefix": ("nice", "-n", "-5")}, 0o644),
    ],
)
def test_a_record_with_secrets_is_its_owners(tmp_path, result, launch, mode):
    record = read_experiment(result)
    target = replace(record.targets[0], launch=Launch(**launch))
    record = record.model_copy(update={"targets": (target, *record.targets[1:])})
    before = os.umask(0o022)
    try:
        with ExperimentStore.create(tmp_path, "one", record) as store:
            file = store.path / "experiment.json"
            assert stat.S_IMODE(file.stat().st_mode) == mode
            store.extend(record)
            assert stat.S_IMODE(file.stat().st_mode) == mode
    finally:
        os.umask(before)


class Telling(FakeDevice):
    """Its runtime dies with its secrets on stderr."""

    def session(self, artifact, settings):
        raise SessionError(
            f"401 for {SECRETS[0]}",
            status="crash",
            stage="load",
            stderr_tail=f"key {SECRETS[1]} {SECRETS[4]}",
        )


@pytest.mark.attack("a runtime that fails repeats a secret of its launch: the record has the variable's name")
def test_a_failure_that_repeats_a_secret():
    store, device = MemoryStore(), Telling()
    made = experiment(store, device, depths=(0.25,))
    [trial] = made.plan.trials
    trial = replace(trial, target=replace(trial.target, launch=LAUNCH))
    replace(made, plan=replace(made.plan, trials=(trial,))).run()
    failure = store.records[0].failure
    assert failure is not None
    assert (failure.what, failure.stderr_tail) == ("401 for (API_TOKEN)", "key (prefix) (prefix)")


@pytest.mark.attack("the targets file holds secrets: targets list --json shows the names of variables alone")
def test_the_list_of_targets(tmp_path):
    words = ", ".join(json.dumps(word) for word in LAUNCH.prefix)
    (tmp_path / "targets.toml").write_text(
        f'[[targets]]\nname = "far"\ndevice = "toy"\n'
        f'launch = {{ env = {{ API_TOKEN = "{SECRETS[0]}" }}, prefix = [{words}] }}\n'
    )
    done = CliRunner().invoke(
        app, ["targets", "list", "--targets-file", str(tmp_path / "targets.toml"), "--json"]
    )
    assert done.exit_code == 0, done.output
    assert not [secret for secret in SECRETS if secret in done.stdout]
    [target] = json.loads(done.stdout)["targets"]
    assert target["launch"]["env"] == {"API_TOKEN": "..."}
