"""The probe of tegrastats on a stand-in for the program: channels, samples, rejected lines, its end."""

import json
import os

import pytest

from edgebench.probes import basics
from edgebench.probes.jetson import tegrastats
from edgebench.probes.jetson import tegrastats as tegrastats_process
from tests.probes import jetson_board as board

WITHOUT_RAILS = board.ORIN_NANO.partition(" VDD_IN")[0]


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """The stand-in takes long to start where everything else runs too."""
    monkeypatch.setattr(tegrastats, "FIRST_LINE_S", 60.0)
    monkeypatch.setattr(tegrastats_process, "STALL_S", 60.0)


@pytest.fixture
def opened():
    """Opens probes and ends their programs."""
    probes = []

    def open_(path):
        probes.append(tegrastats.open_probe(path))
        return probes[-1]

    yield open_
    for probe in probes:
        probe._process.close()


def samples(probe, enough=3):
    """The first samples, by channel, and those after the stop; the last stamp is later than the first."""
    stamps: list[int] = []
    columns: dict[str, list[float]] = {channel["name"]: [] for channel in probe.info["channels"]}
    for chunk_stamps, values in probe:
        stamps += chunk_stamps
        for name, column in values.items():
            columns[name] += column
        if len(stamps) >= enough:
            probe.stop()
    assert stamps == sorted(set(stamps))
    assert all(len(column) == len(stamps) for column in columns.values())
    return columns


def test_channels_and_samples(opened, tmp_path):
    probe = opened(board.tegrastats(tmp_path, board.AGX_ORIN))
    channels = {channel["name"]: channel for channel in probe.info["channels"]}
    assert [name for name, channel in channels.items() if channel.get("total")] == ["total", "gpu_clock"]
    assert (channels["gpu_clock"]["quantity"], channels["gpu_clock"]["unit"]) == ("clock", "MHz")
    assert channels["temperature.GPU"]["quantity"] == "temperature"
    assert probe.info["scope"] == "module"
    assert probe.info["absent"] == {}
    json.dumps(probe.info)
    columns = samples(probe)
    assert set(columns["VDD_GPU_SOC"]) == {4.788}
    assert columns["total"] == pytest.approx([9.428] * len(columns["total"]))
    assert set(columns["gpu_clock"]) == {114.0}
    assert probe.rejected == []


def test_lines_of_other_forms_and_of_other_rails_are_rejected(opened, tmp_path):
    unknown = board.ORIN_NANO.replace("VDD_SOC 2380mW/2380mW", "VDD_SOC 2.4W/2.4W")
    less = board.ORIN_NANO.partition(" VDD_SOC")[0]
    probe = opened(board.tegrastats(tmp_path, board.ORIN_NANO, unknown, less))
    columns = samples(probe, enough=4)
    assert set(columns["VDD_SOC"]) == {2.38}
    assert {line[-30:] for line in probe.rejected} == {
        line[: tegrastats.SHOWN][-30:] for line in (unknown, less)
    }


def test_a_greeting_before_the_first_line_is_rejected(opened, tmp_path):
    probe = opened(board.tegrastats(tmp_path, "tegrastats 9", board.NANO))
    assert probe.rejected == ["tegrastats 9"]


def test_an_unknown_field_is_named_once_among_what_is_absent(opened, tmp_path):
    probe = opened(board.tegrastats(tmp_path, board.AGX_ORIN.replace("APE 233", "APE 233 MTS fg 0% bg 0%")))
    assert probe.info["absent"] == {"unknown fields": "MTS: skipped"}
    samples(probe)
    assert probe.rejected == []


def test_without_a_clock_the_reason_is_said(opened, tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    probe = opened(board.tegrastats(tmp_path, board.ORIN_NANO))
    assert "gpu_clock" not in {channel["name"] for channel in probe.info["channels"]}
    assert "root only" in probe.info["absent"]["GPU clock"]


@pytest.mark.parametrize(("user", "denied"), [(0, False), (1000, True)])
def test_without_rails_there_is_no_meter(tmp_path, monkeypatch, user, denied):
    monkeypatch.setattr("os.geteuid", lambda: user)
    with pytest.raises(basics.ProbeMissing, match="no power rail") as caught:
        tegrastats.open_probe(board.tegrastats(tmp_path, WITHOUT_RAILS))
    assert caught.value.denied is denied
    assert caught.value.fix


def test_lines_before_the_programs_end_are_samples(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(basics, "CHUNK_S", 60.0)
    probe = opened(board.tegrastats(tmp_path, board.NANO, mode="dies"))
    chunks = iter(probe)
    assert next(chunks)[0]
    with pytest.raises(basics.ProbeMissing, match="cannot read the power monitor"):
        next(chunks)


def test_where_there_is_no_program_the_reason_says_so(tmp_path):
    with pytest.raises(basics.ProbeMissing, match="no program"):
        tegrastats.open_probe(str(tmp_path / "tegrastats"))
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(basics.ProbeMissing, match="cannot be started"):
        tegrastats.open_probe(str(folder))


def test_the_program_on_the_path_is_the_usual_one(opened, tmp_path, monkeypatch):
    board.tegrastats(tmp_path, board.NANO)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert opened("").info["address"] == ""
