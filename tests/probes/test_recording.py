"""The probe of a recording: a Parquet file of `edgebench meters record` is played again."""

import os

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from edgebench.measure.recording_file import RecordingFile
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
    info = ProbeInfo(kind, address, 100.0, "1 mW", "module", CHANNELS, averaging_ms=10.0)
    stamps = 7_000_000_000 + 10_000_000 * np.arange(len(watts), dtype=np.int64)
    values = {"VDD_IN": np.array(watts), "temperature.gpu": np.full(len(watts), 40.0)}
    chunk = ProbeChunk(":".join(meter), stamps, values)
    with RecordingFile(path) as file:
        file.write(chunk, info)
        file.keep(info)
    return path


def without_what_is_said_of_it(path):
    """As recordings were written before they said what they are of."""
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata(None), path)
    return path


def test_it_is_played_with_its_gaps(tmp_path):
    path = recorded(tmp_path / "power.parquet", [5.0, float("nan"), 6.0] * 20)
    with closing(recording.open_probe(str(path))) as probe:
        assert probe.info["averaging_ms"] == 10.0
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


def test_an_older_recording_plays_and_takes_its_scope_from_the_address(tmp_path):
    path = without_what_is_said_of_it(recorded(tmp_path / "power.parquet", [5.0] * 3))
    info = recording.open_probe(str(path)).info
    assert (info["scope"], info["averaging_ms"]) == ("chip", None)
    assert "scope" in info["absent"]
    assert recording.open_probe(f"{path}?scope=usb").info["scope"] == "usb"


def test_an_address_with_a_scope_counts_more_than_the_file(tmp_path):
    path = recorded(tmp_path / "power.parquet", [5.0] * 3)
    assert recording.open_probe(f"{path}?scope=usb").info["scope"] == "usb"


@pytest.mark.attack("what a recording says of its meter cannot be: it is passed over, the samples are played")
@pytest.mark.parametrize(
    "said",
    [b"[" * 9000, b"[]", b"\xff", b'{"scope": "galaxy", "channels": 7, "averaging_ms": "long"}',
     b'{"scope": ["usb"], "channels": [7, {"name": ["x"], "total": 1}], "averaging_ms": -1}',
     b'{"averaging_ms": 1e400}'],
)  # fmt: skip
def test_what_a_recording_says_of_itself_is_not_believed_unseen(tmp_path, said):
    path = recorded(tmp_path / "power.parquet", [5.0] * 3)
    said = said.replace(b"{", b'{"kind": "ina3221", "address": "", ', 1)
    table = pq.read_table(path).replace_schema_metadata({recording.PROBE_KEY: said})
    pq.write_table(table, path)
    info = recording.open_probe(str(path)).info
    assert (info["scope"], info["averaging_ms"]) == ("chip", None)
    assert [channel["name"] for channel in info["channels"]] == ["VDD_IN", "temperature.gpu"]


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
        (lambda frame: frame.assign(t_ns=frame["t_ns"] * 1.0), "t_ns as double"),
        (lambda frame: frame.assign(value="x"), "value as"),
        (lambda frame: frame.assign(value=[[1.0]] * len(frame)), "value as list"),
        (lambda frame: frame.assign(channel=None), "channel as null"),
        (lambda frame: frame.assign(probe=frame["probe"].where(frame.index > 0)), "1 rows without probe"),
    ],
)
@pytest.mark.attack("a recording's columns are missing, of another type or hold nulls: the reason, and a fix")
def test_what_is_no_recording(tmp_path, change, why):
    path = recorded(tmp_path / "power.parquet", [5.0] * 3)
    frame = pd.read_parquet(path).astype({"probe": str, "channel": str, "quantity": str, "unit": str})
    change(frame).to_parquet(path)
    with pytest.raises(basics.ProbeMissing, match=why) as caught:
        recording.open_probe(str(path))
    assert caught.value.fix


@pytest.mark.attack("a recording is a pipe that nobody writes to: nothing waits for it")
def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "power.parquet")
    with pytest.raises(basics.ProbeMissing, match="no plain file"):
        recording.open_probe(str(tmp_path / "power.parquet"))


@pytest.mark.attack("a recording is no Parquet file: there is no meter, and the reason")
def test_what_is_no_parquet(tmp_path):
    (tmp_path / "power.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    with pytest.raises(basics.ProbeMissing, match="cannot be read as a recording"):
        recording.open_probe(str(tmp_path / "power.parquet"))
    for address in ("", str(tmp_path / "none.parquet")):
        with pytest.raises(basics.ProbeMissing):
            recording.open_probe(address)
