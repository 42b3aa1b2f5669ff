"""`edgebench meters` on a Jetson's files and a stand-in for its tegrastats, here and behind ssh."""

import json
import os
import signal
import time

import jsonschema
import pandas as pd
import pytest

from edgebench.errors import StoredResultError, UnavailableError, UsageError
from edgebench.records.stored import PROBE_COLUMNS
from edgebench.records.target import Target
from edgebench.report.schemas import schema
from edgebench.results.tables import ProbeTableWriter
from edgebench.run.measuring import meter_recording
from edgebench.run.measuring.meter_recording import MeterBench, RecordingFile
from tests.cli.conftest import make_field
from tests.probes import jetson_board


def document(output, name):
    """A document of `--json` that is as its schema says, fields that nothing is said of refused."""
    parsed = json.loads(output)
    jsonschema.validate(parsed, schema(name))
    return parsed


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    return make_field(tmp_path_factory.mktemp("field"))


@pytest.fixture(scope="module")
def jetson(tmp_path_factory):
    """The addresses of its two meters."""
    folder = tmp_path_factory.mktemp("jetson")
    files = jetson_board.write(folder / "sys", jetson_board.orin_nano())
    return f"ina3221:{files}", f"tegrastats:{jetson_board.tegrastats(folder, jetson_board.AGX_ORIN)}"


@pytest.fixture
def bench():
    opened = MeterBench(Target(name="", device=""))
    yield opened
    opened.close()


def test_a_recording_has_its_figures_and_its_samples(field, jetson):
    done = field.call("meters", "record", jetson[0], "--duration", "1s", "-o", "power.parquet", "--json")
    assert done.exit_code == 0, done.output
    recorded = document(done.stdout, "recording")
    assert (recorded["meter"], recorded["scope"], recorded["rejected"]) == (jetson[0], "module", 0)
    assert [rail["channel"] for rail in recorded["rails"]] == ["VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"]
    total = recorded["rails"][0]
    assert total["total"] is True
    assert total["peak_w"] == pytest.approx(6.625)
    frame = pd.read_parquet(field.folder / "power.parquet")
    assert tuple(frame.columns) == PROBE_COLUMNS
    rows = frame[frame["channel"] == "VDD_IN"]
    assert len(rows) == total["samples"]
    assert set(rows["probe"]) == {jetson[0]}
    assert total["effective_hz"] == pytest.approx(
        (len(rows) - 1) / (rows["t_ns"].iloc[[0, -1]].diff().iloc[1] / 1e9)
    )


def test_a_recording_in_csv_is_played_by_the_csv_meter(field, jetson):
    field.call("meters", "record", jetson[0], "--duration", "1s", "-o", "power.csv")
    header, *rows = (field.folder / "power.csv").read_text().splitlines()
    assert header.startswith("t_ns,") and "VDD_IN_W" in header.split(",") and len(rows) > 10
    meter = f"csv:{field.folder}/power.csv?time=t_ns&power=VDD_IN_W&clock=start&scope=module"
    done = field.call("meters", "record", meter, "--duration", "0.5s", "--json")
    [rail] = document(done.stdout, "recording")["rails"]
    assert (rail["channel"], rail["peak_w"]) == ("power", pytest.approx(6.625))


def test_ctrl_c_ends_a_recording_that_is_kept(bench, jetson, tmp_path):
    def interrupt(channel, watts):
        assert (channel, watts) == ("VDD_IN", pytest.approx(6.625))
        raise KeyboardInterrupt

    with RecordingFile(tmp_path / "power.parquet") as file:
        recording = bench.record(jetson[0], None, interrupt, file)
        file.keep(recording.require_readings())
    assert recording.ended == ""
    rail = recording.rails()[0]
    assert rail["peak_w"] == pytest.approx(6.625)
    frame = pd.read_parquet(tmp_path / "power.parquet")
    assert (frame["channel"] == "VDD_IN").sum() == rail["samples"]
    assert len(list(tmp_path.glob("*power.parquet*"))) == 1
    # The agent is still there for the next one.
    assert bench.record(jetson[0], 0.0).info is not None


def test_a_meter_behind_ssh_is_checked_without_a_worker(field, jetson):
    done = field.call("meters", "check", jetson[1], "--target", "far", "--json")
    assert done.exit_code == 0, done.output
    [meter] = document(done.stdout, "meters")["meters"]
    assert meter["readable"] is True
    assert [rail["channel"] for rail in meter["rails"] if rail["total"]] == ["total"]
    assert "gpu_clock" in meter["channels"]


def test_what_tegrastats_does_not_print_is_said(field, tmp_path):
    program = jetson_board.tegrastats(tmp_path, "no line of it", jetson_board.ORIN_NANO)
    done = field.call("meters", "check", f"tegrastats:{program}")
    assert done.exit_code == 0, done.output
    assert "missing: GPU clock" in done.stdout
    assert "rejected, the first was 'no line of it'" in " ".join(done.stdout.split())


@pytest.mark.attack(
    "every reading of a meter is out of its range: it is not readable, with the first of them"
)
def test_a_meter_without_a_plausible_reading_is_not_readable(field, tmp_path):
    line = jetson_board.ORIN_NANO.replace("mW", "00000mW")
    done = field.call("meters", "check", f"tegrastats:{jetson_board.tegrastats(tmp_path, line)}")
    assert done.exit_code == 1 and "not readable" in done.stdout
    assert "readings were rejected, the first was" in " ".join(done.stdout.split())


@pytest.mark.attack("a meter that is checked reads 0 W throughout: it is not connected, and no 0 W is shown")
def test_a_meter_that_reads_zero_throughout_is_not_connected(field, tmp_path):
    path = tmp_path / "zero.csv"
    path.write_text("t_ms,p_w\n" + "".join(f"{n * 10},0\n" for n in range(1000)))
    done = field.call("meters", "check", f"csv:{path}?time=t_ms&power=p_w&clock=start&scope=usb", "--json")
    [meter] = document(done.stdout, "meters")["meters"]
    [rail] = meter["rails"]
    assert (rail["mean_w"], rail["peak_w"], rail["energy_j"]) == (None, None, None)
    assert "not connected" in rail["reason"]


@pytest.mark.attack("a meter dies during a recording: what it gave before is kept, and the exit code is 1")
def test_what_one_that_dies_gave_before_is_kept(field, tmp_path):
    program = jetson_board.tegrastats(tmp_path, jetson_board.NANO, mode="dies")
    done = field.call("meters", "record", f"tegrastats:{program}", "-o", "died.parquet")
    assert done.exit_code == 1
    assert "exit code 3" in done.output
    assert not pd.read_parquet(field.folder / "died.parquet").empty


@pytest.mark.attack("a recording is killed: the next one of the same name removes what it left, and no other")
def test_what_a_killed_recording_left_is_removed_by_the_next(field, jetson):
    running = field.start("meters", "record", jetson[0], "-o", "killed.parquet")
    try:
        latest_s = time.monotonic() + 60
        while not list(field.folder.glob(".killed.parquet.*")):
            assert time.monotonic() < latest_s and running.poll() is None
            time.sleep(0.05)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
    [left] = field.folder.glob(".killed.parquet.*")
    with RecordingFile(field.folder / "other.parquet"):
        assert left.exists()
        with RecordingFile(field.folder / "other.parquet"):
            assert len(list(field.folder.glob(".other.parquet.*"))) == 2  # one that is written is no leftover
        with RecordingFile(field.folder / "killed.parquet"):
            assert not left.exists()
    assert not list(field.folder.glob("*killed.parquet*")) and not list(field.folder.glob("*other.parquet*"))


@pytest.mark.attack("the disk is full during a recording: it ends, and its figures are printed all the same")
def test_figures_outlive_a_full_disk(field, jetson, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ProbeTableWriter, "write", full)
    done = field.call("meters", "record", jetson[0], "-o", "full.parquet", "--json")
    assert isinstance(done.exception, StoredResultError)
    assert document(done.stdout, "recording")["rails"][0]["samples"]
    assert not list(field.folder.glob("*full.parquet*"))


def test_where_nothing_can_be_read_the_reason_and_the_fix_are_said(field):
    listed = field.call("meters", "list", "--json")
    meters = {meter["meter"]: meter for meter in document(listed.stdout, "meters")["meters"]}
    assert {"ina3221", "tegrastats", "rapl"} <= set(meters)
    assert "telemetry" not in meters
    assert listed.exit_code == (0 if any(meter["readable"] for meter in meters.values()) else 1)
    assert all(meter["reason"] and meter["fix"] for meter in meters.values() if not meter["readable"])
    assert field.call("meters", "check", "tegrastats:/nothing").exit_code == 1
    done = field.call("meters", "record", "tegrastats:/nothing", "-o", "none.parquet")
    assert isinstance(done.exception, UnavailableError)
    assert done.exception.why and done.exception.fix
    assert not (field.folder / "none.parquet").exists()


def test_meters_that_can_be_read_are_listed_first(field, jetson, monkeypatch):
    monkeypatch.setattr(meter_recording, "board_meters", lambda: ["tegrastats:/nothing", jetson[0]])
    listed = document(field.call("meters", "list", "--json").stdout, "meters")["meters"]
    assert [meter["meter"] for meter in listed] == [jetson[0], "tegrastats:/nothing"]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("record", "wattmeter"), "no meter 'wattmeter'"),
        (("record", "telemetry"), "not a meter"),
        (("record", "rapl", "--duration", "soon"), "--duration"),
        (("record", "rapl", "--duration", "0"), "--duration"),
        (("record", "rapl", "-o", "no/such/folder/power.parquet"), "no folder"),
        pytest.param(
            ("record", "rapl", "-o", "/dev/null"),
            "no plain file",
            marks=pytest.mark.attack("root names /dev/null for a recording: it is not replaced by a file"),
        ),
        (("record", "rapl", "-o", "."), "no plain file"),
        (("check", "rapl", "--target", "far", "--host", "board"), "--target"),
        (("check", "rapl", "--target", "nowhere"), "no target"),
    ],
)
def test_what_cannot_be_asked_for_is_a_usage_error(field, words, what):
    done = field.call("meters", *words)
    assert isinstance(done.exception, UsageError)
    assert what in done.exception.what and done.exception.fix


def test_devices_lists_the_meters_and_which_a_device_takes(field):
    listed = json.loads(field.call("devices", "--json").stdout)
    assert {"ina3221", "tegrastats", "rapl"} <= set(listed["meters"]) and "telemetry" not in listed["meters"]
    assert all(text and "\n" not in text for text in listed["meters"].values())
    [jetson] = [device for device in listed["devices"] if device["name"] == "jetson"]
    assert jetson["meters"] == ["ina3221", "tegrastats"]
