"""A run on EdgeBench's firmware, which runs on this machine: folder, figures, energy, resume."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import edgebench
from edgebench import registry
from edgebench.cli.main import app
from edgebench.judge.trials import trials_of
from edgebench.prepare.cache import Cache
from edgebench.records.values import Pictures
from edgebench.testing.backend_kit import images_of, scene_of
from tests.backends.cortexm import first_light
from tests.probes import played_files


class Backend(first_light.FirstLightBackend):
    """With a scene of twelve patches and three labelled images."""

    name = "first-light"

    def pictures(self, options, cache):
        images = images_of(first_light.golden_patches(), cache)
        labelled = replace(images, labels=(0, 1, 2), class_names=first_light.CLASSES)
        return Pictures(scene_of(first_light.first_light_artifact(cache), cache), labelled)


class Point:
    """The entry point that an installed package would have."""

    def load(self):
        return Backend


@pytest.fixture
def run(tmp_path, monkeypatch):
    points = registry._points
    more = {"edgebench.backends": {"first-light": Point()}}
    monkeypatch.setattr(registry, "_points", lambda group: {**points(group), **more.get(group, {})})
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    artifact = first_light.first_light_artifact(Cache(tmp_path / "cache"))
    program = first_light.compile_first_light(tmp_path, first_light.engines.model_id(artifact))
    with first_light.on_a_pty(program) as (port, _):

        def measured(*words, code=0):
            base = ("run", "--device", "first-light", "--port", port, "--name", "one", "--quiet")
            result = CliRunner().invoke(app, [*base, *words])
            assert result.exit_code == code, (result.output, result.exception)
            return edgebench.load(tmp_path / "results" / "one")

        yield measured


@pytest.mark.slow
def test_windows_become_the_runtimes_time_for_a_scene(run):
    results = run("--sessions", "2", "--passes", "3", "--patches", "2")
    windows = results.windows
    assert windows[windows["phase"] == "steady"]["patch"].tolist() == [0, 6, 0] * 2
    [trial] = trials_of(results)
    assert trial.status == "done", trial
    assert trial.latency_metric == "infer_s" and len(trial.estimate("infer_s").sessions) == 2
    assert "extrapolated" in trial.marks and not trial.is_emulated
    assert trial.estimate("accuracy").notes[0] == "3 of 3"
    records = [
        json.loads(path.read_text()) for path in sorted(results.path.glob("trials/*/sessions/*/session.json"))
    ]
    assert all(record["clock"]["fit"]["misfit_ns"] == 0 for record in records)
    assert all(record["runtime"]["own_firmware"] for record in records)
    assert all(record["cold"]["load_s"] is None for record in records)


@pytest.mark.slow
def test_a_meter_on_this_machine_gives_power_and_no_energy_of_passes_too_short_for_it(run, tmp_path):
    meter = f"csv:{played_files.write(Path(tmp_path))}?time=t_s&power=p_mw&clock=start&scope=usb&rate_hz=50"
    results = run("--sessions", "1", "--passes", "2", "--meter", meter)
    [trial] = trials_of(results)
    energy = trial.estimate("energy_j")
    assert trial.estimate("power_mean_w").value == pytest.approx(5.0) and energy.value is None
    assert "are too short for readings over 0.02 s" in energy.reason
    [record] = results.session_records(results.experiment.trials[0].key)
    idle, steady, idle_after = (record.windows_ns[name] for name in ("idle", "steady", "idle_after"))
    assert idle[1] <= steady[0] < steady[1] <= idle_after[0]
    assert record.load_bursts is None  # what is played knows nothing of them
