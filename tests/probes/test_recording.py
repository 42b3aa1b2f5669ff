"""The probe of a recording: a Parquet file of `edgebench meters record` is played again."""

import numpy as np
import pandas as pd
import pytest

from edgebench.measure.meter_recording import MeterState, Recording, write_recording
from edgebench.probes import basics
from edgebench.probes.host import recording, sampling
from edgebench.vocabulary.probe import Channel, ProbeChunk, ProbeInfo
from tests.probes.host_samples import closing, sample_until

CHANNELS = (Channel("VDD_IN", "power", "W"), Channel("temperature.gpu", "temperature", "C"))


@pytest.fixture(autouse=True)
def _brisk(monkeypatch):
    monkeypatch.setattr(sampling, "CHUNK_S", 0.05)


def recorded(path, watts, meter=("ina3221", "")):
    kind, address = meter
    info = ProbeInfo(kind, address, 100.0, "1 mW", "module", CHANNELS)
    stamps = 7_000_000_000 + 10_000_000 * np.arange(len(watts), dtype=np.int64)
    values = {"VDD_IN": np.array(watts), "temperature.gpu": np.full(len(watts), 40.0)}
    chunk = ProbeChunk(":".join(meter), stamps, values)
    write_recording(Recording(MeterState("ina3221", info), (chunk,)), path)
    return path


def test_it_is_played_with_its_gaps(tmp_path):
    path = recorded(tmp_path / "power.parquet", [5.0, float("nan"), 6.0] * 20)
    with closing(recording.open_probe(f"{path}?scope=module")) as probe:
        assert [channel["name"] for channel in probe.info["channels"]] == ["VDD_IN", "temperature.gpu"]
        assert [channel.get("total") for channel in probe.info["channels"]] == [True, None]
        assert probe.info["rate_hz"] == pytest.approx(100.0)
        assert probe.info["scope"] == "module"
        assert "ina3221:" in probe.info["resolution"]
        assert list(probe.info["absent"]) == ["live samples"]
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 6)
    assert heard.readings("VDD_IN")[:4] == [5.0, 6.0, 5.0, 6.0]
    assert heard.gaps("VDD_IN") >= 2
    assert set(np.diff(heard.stamps)) == {10_000_000}
    assert set(heard.columns["temperature.gpu"]) == {40.0}


def test_one_of_several_meters_is_named(tmp_path):
    frames = [
        pd.read_parquet(recorded(tmp_path / f"{name}.parquet", [watts] * 3, (name, "")))
        for name, watts in (("ina3221", 5.0), ("tegrastats", 6.0))
    ]
    path = tmp_path / "both.parquet"
    pd.concat(frames).astype({"probe": str, "channel": str}).to_parquet(path)
    with pytest.raises(basics.ProbeMissing, match="several meters: ina3221:, tegrastats:"):
        recording.open_probe(str(path))
    probe = recording.open_probe(f"{path}?meter=tegrastats:")
    assert set(probe._values["VDD_IN"]) == {6.0}
    with pytest.raises(basics.ProbeMissing, match="no meter 'rapl:'"):
        recording.open_probe(f"{path}?meter=rapl:")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda frame: frame.drop(columns=["t_ns", "unit"]), "no column unit, t_ns"),
        (lambda frame: frame[frame["channel"] != "VDD_IN"], "no power and no energy"),
        (lambda frame: pd.concat([frame, frame]), "two values at one time"),
        (lambda frame: frame[:1], "1 samples"),
        (lambda frame: frame.assign(unit="mW"), "power in mW"),
    ],
)
def test_what_is_no_recording(tmp_path, change, why):
    path = recorded(tmp_path / "power.parquet", [5.0] * 3)
    frame = pd.read_parquet(path).astype({"probe": str, "channel": str, "quantity": str, "unit": str})
    change(frame).to_parquet(path)
    with pytest.raises(basics.ProbeMissing, match=why) as caught:
        recording.open_probe(str(path))
    assert caught.value.fix


@pytest.mark.attack("a recording is no Parquet file: there is no meter, and the reason")
def test_what_is_no_parquet(tmp_path):
    (tmp_path / "power.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    with pytest.raises(basics.ProbeMissing, match="cannot be read as a recording"):
        recording.open_probe(str(tmp_path / "power.parquet"))
    for address in ("", str(tmp_path / "none.parquet")):
        with pytest.raises(basics.ProbeMissing):
            recording.open_probe(address)
