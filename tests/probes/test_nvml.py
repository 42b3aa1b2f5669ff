"""The probe of NVML on a stand-in for NVIDIA's library, compiled here; skipped without a C compiler."""

import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgebench.probes import basics, nvml

SOURCE = Path(__file__).with_name("nvml_library.c")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: gcc builds the stand-in for libnvidia-ml.so.1")
    path = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(path), str(SOURCE)], check=True)
    return str(path)


@pytest.fixture(autouse=True)
def _loaded(monkeypatch, library, tmp_path):
    monkeypatch.setattr(nvml, "LIBRARY", library)
    monkeypatch.setattr(nvml, "JETSON_FILES", (str(tmp_path / "none"), str(tmp_path / "compatible")))
    monkeypatch.setattr(nvml, "RATE_HZ", 50.0)
    monkeypatch.setattr(basics, "CHUNK_S", 0.1)


def samples(probe, enough=10, meanwhile=lambda n: None):
    """Stamps and W of so many samples, and those after the stop."""
    stamps: list[int] = []
    watts: list[float] = []
    for chunk_stamps, values in probe:
        assert list(values) == ["gpu"]
        stamps += chunk_stamps
        watts += values["gpu"]
        meanwhile(len(stamps))
        if len(stamps) >= enough:
            probe.stop()
    assert stamps == sorted(set(stamps))
    return stamps, watts


def test_the_counter_of_energy_is_read_from_step_to_step(monkeypatch):
    monkeypatch.setenv("STANDIN_WATTS", "250")
    probe = nvml.open_probe("")
    assert (probe.info["scope"], probe.info["averaging_ms"]) == ("module", 1e3 / nvml.RATE_HZ)
    assert probe.info["resolution"] == "NVIDIA A: 1 mJ counter"
    assert probe.info["absent"] == {}
    stamps, watts = samples(probe, enough=20)
    # A sample that took in a part of a step would be off by a third or more; late looks even out.
    lengths_s = np.diff(stamps) / 1e9
    assert np.sum(np.array(watts)[1:] * lengths_s) / np.sum(lengths_s) == pytest.approx(250.0, rel=0.1)
    assert probe.rejected == []


def test_a_gpu_without_a_counter_gives_its_power(monkeypatch):
    monkeypatch.setenv("STANDIN_ENERGY", "3")
    monkeypatch.setenv("STANDIN_WATTS", "75")
    probe = nvml.open_probe("0")
    assert "energy counter" in probe.info["absent"]
    assert probe.info["averaging_ms"] is None
    _, watts = samples(probe)
    assert set(watts) == {75.0}


def test_a_library_that_is_older_than_the_counter(monkeypatch):
    call = nvml.Nvml._call

    def older(self, name, *rest):
        call(self, "nvmlNoSuchCall" if name == "nvmlDeviceGetTotalEnergyConsumption" else name, *rest)

    monkeypatch.setattr(nvml.Nvml, "_call", older)
    assert "energy counter" in nvml.open_probe("").info["absent"]


def test_one_of_several_is_named(monkeypatch):
    monkeypatch.setenv("STANDIN_GPUS", "2")
    with pytest.raises(basics.ProbeMissing, match=r"there are 2 GPUs: 0 \(NVIDIA A\), 1 \(NVIDIA B\)"):
        nvml.open_probe("")
    assert nvml.open_probe("1").info["resolution"].startswith("NVIDIA B")
    for address in ("2", "-1", "A"):
        with pytest.raises(basics.ProbeMissing, match="there is no GPU"):
            nvml.open_probe(address)
    monkeypatch.setenv("STANDIN_GPUS", "0")
    with pytest.raises(basics.ProbeMissing, match="the driver has no GPU"):
        nvml.open_probe("")


@pytest.mark.parametrize(
    ("settings", "kind", "why"),
    [
        ({"STANDIN_INIT": "9"}, basics.ProbeMissing, "nvmlInit_v2: Driver Not Loaded"),
        ({"STANDIN_INIT": "4"}, basics.ProbeDenied, "Insufficient Permissions"),
        ({"STANDIN_ENERGY": "3", "STANDIN_POWER": "3"}, basics.ProbeMissing, "PowerUsage: Not Supported"),
    ],
)
def test_what_the_library_refuses_is_said(monkeypatch, settings, kind, why):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(basics.ProbeMissing, match=why) as caught:
        nvml.open_probe("")
    assert type(caught.value) is kind
    assert caught.value.fix


def test_without_a_driver_there_is_none(monkeypatch, tmp_path):
    monkeypatch.setattr(nvml, "LIBRARY", str(tmp_path / "libnvidia-ml.so.1"))
    with pytest.raises(basics.ProbeMissing, match="driver is not installed"):
        nvml.open_probe("")


@pytest.mark.parametrize("file", ["none", "compatible"])
def test_a_jetson_is_refused_with_the_reason(tmp_path, file):
    (tmp_path / file).write_bytes(b"nvidia,p3768-0000+p3767-0005\0nvidia,tegra234\0")
    with pytest.raises(basics.ProbeMissing, match="on a Jetson") as caught:
        nvml.open_probe("")
    assert "ina3221" in caught.value.fix


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        pytest.param(
            "STANDIN_ENERGY", "15", "GPU is lost",
            marks=pytest.mark.attack("a GPU is lost during a session: gaps, and it goes on once it is back"),
        ),
        pytest.param(
            "STANDIN_STEP_MS", "0", "the counter of energy",
            marks=pytest.mark.attack("a GPU's counter of energy runs back and stands still: gaps, never 0 W"),
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_a_gap(monkeypatch, setting, value, why):
    monkeypatch.setattr(nvml, "STEP_S", 0.1)

    def meanwhile(n):
        if n >= 5:
            monkeypatch.setenv(setting, value)
        if n >= 12:
            monkeypatch.delenv(setting)

    probe = nvml.open_probe("")
    _, watts = samples(probe, enough=25, meanwhile=meanwhile)
    assert any(math.isnan(value) for value in watts[5:20])
    assert not math.isnan(watts[-1])
    assert min(value for value in watts if not math.isnan(value)) > 0
    assert why in probe.rejected[0]
    assert len(probe.rejected) <= 3
