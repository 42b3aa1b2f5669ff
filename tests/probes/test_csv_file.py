"""The probe of a CSV file: columns, units, clocks, a file that grows, one that is played, and bad input."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from edgebench.probes import basics
from edgebench.probes.host import csv_file
from edgebench.probes.host.csv_columns import BadRow, Columns
from tests.probes.csv_recorder import Recorder, five_watts
from tests.probes.host_samples import closing, energies_j, sample_until, wave_w

MAPPED = "?time=t_s&power=p_mw&scope=usb"


@pytest.fixture(autouse=True)
def _brisk(monkeypatch):
    monkeypatch.setattr(basics, "CHUNK_S", 0.05)
    monkeypatch.setattr(basics, "LAST_SAMPLE_S", 0.2)
    monkeypatch.setattr(csv_file, "FIRST_ROWS_S", 0.3)


@pytest.fixture
def recorder(tmp_path):
    recorders = []

    def start(row=five_watts, header="t_s,p_mw"):
        recorders.append(Recorder(tmp_path / "power.csv", row, header))
        csv_file.FIRST_ROWS_S = 60.0
        return recorders[-1]

    yield start
    for started in recorders:
        started.close()


@pytest.fixture
def written(tmp_path):
    """A complete file; its path."""

    def write(*lines, header="t_s,p_mw"):
        path = tmp_path / "complete.csv"
        path.write_text("\n".join((header, *lines, "")))
        return str(path)

    return write


def append(path, data):
    with open(path, "ab") as file:
        file.write(data)


def test_rows_are_samples_on_the_monotonic_clock(recorder):
    rows = recorder()
    before_ns = time.monotonic_ns()
    with closing(csv_file.open_probe(rows.path + MAPPED + "&rate_hz=100&averaging_ms=10")) as probe:
        [channel] = probe.info["channels"]
        assert (probe.info["rate_hz"], probe.info["averaging_ms"]) == (100.0, 10.0)
        assert (channel["quantity"], channel["unit"], channel["total"]) == ("power", "W", True)
        assert probe.info["scope"] == "usb"
        assert probe.info["absent"] == {}
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 10)
    assert set(heard.columns["power"]) == {5.0}
    assert before_ns < heard.stamps[0] and heard.stamps[-1] <= time.monotonic_ns()
    assert probe.rejected == []


def test_a_slow_file_whose_rate_nobody_states_says_so(recorder, monkeypatch):
    monkeypatch.setattr(csv_file, "PLANNED_HZ", 1e6)
    with closing(csv_file.open_probe(recorder().path + MAPPED)) as probe:
        assert "add rate_hz=" in probe.info["absent"]["rate_hz"]
        assert probe.info["rate_hz"] > 0 and probe.info["averaging_ms"] is None


@pytest.mark.parametrize("number", ["x", "0", "-1", "nan", "inf"])
def test_a_stated_rate_that_is_no_number_above_0(written, number):
    with pytest.raises(basics.ProbeMissing, match="is no number above 0"):
        csv_file.open_probe(written("1,2") + MAPPED + f"&rate_hz={number}")


def test_the_monotonic_clock_needs_no_match(recorder):
    rows = recorder(lambda n: f"{time.monotonic_ns()};5,25", header="stamp;Leistung (W)")
    address = rows.path + "?time=stamp&time_unit=ns&power=Leistung%20(W)&clock=monotonic&scope=wall"
    with closing(csv_file.open_probe(address)) as probe:
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 3)
    assert set(heard.columns["power"]) == {5.25}


def test_voltage_and_current_make_the_power(recorder):
    rows = recorder(lambda n: f"{time.time_ns() // 1000},5.0,200", header="time[us],U/V,I [mA]")
    address = rows.path + "?time=time[us]&voltage=U/V&current=I [mA]"
    with closing(csv_file.open_probe(address)) as probe:
        assert [channel["name"] for channel in probe.info["channels"]] == ["power", "voltage", "current"]
        assert probe.info["scope"] == "chip"  # nothing passes a board's limit by it
        assert "scope=" in probe.info["absent"]["scope"]
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 3)
    assert heard.columns["power"] == pytest.approx([1.0] * len(heard.stamps))


@pytest.mark.attack("a CSV's cell has no number: a gap and a rejected reading, never 0")
@pytest.mark.parametrize(("between", "decimal"), [(",", "."), (";", ",")])
def test_the_energy_of_a_known_waveform_with_faults(tmp_path, monkeypatch, between, decimal):
    """On a clock of its own, at uneven moments: noise, cells of no number, rows cut short, a pause."""
    drawn = np.random.default_rng(1)
    clock_ns = [77 * 10**9]
    monkeypatch.setattr(csv_file, "now_ns", lambda: clock_ns[0])
    wave_hz = 1.3
    path = tmp_path / "power.csv"
    path.write_text(f"stamp{between}Power (W)\n")

    def grow(number):
        clock_ns[0] += int(drawn.uniform(0.8, 1.2) * 20e6)
        watts = wave_w(clock_ns[0], wave_hz) * drawn.normal(1.0, 0.005)
        cell = "OL" if number % 50 == 7 else f"{watts:.4f}".replace(".", decimal)
        row = f"{clock_ns[0]}\n" if number % 50 == 31 else f"{clock_ns[0]}{between}{cell}\n"
        for piece in (row[:9], row[9:]):  # as a buffer that is written out amid a row
            append(path, piece.encode())
            yield

    for number in range(2):
        list(grow(number))
    options = "?time=stamp&time_unit=ns&clock=monotonic&power=Power%20(W)&power_unit=W&scope=usb"
    probe = csv_file.open_probe(str(path) + options)
    samples = basics.Samples([channel["name"] for channel in probe.info["channels"]], 0)
    parts_ns = []
    with closing(probe):
        for first, last in ((0, 200), (200, 400)):
            for number in range(first, last):
                for _ in grow(number):
                    probe._take(samples, 0.0)
                if number == first:
                    start_ns = samples.latest_ns
            parts_ns.append((start_ns, samples.latest_ns))
            clock_ns[0] += 5 * 10**9
    stamps, columns = samples.chunk()
    assert np.isnan(columns["power"]).sum() + (400 - len(stamps)) == 16
    assert np.nanmin(columns["power"]) > 2.9
    assert len(probe.rejected) == 16
    sampled_j, wave_j = energies_j(stamps, columns["power"], parts_ns, wave_hz)
    assert sampled_j == pytest.approx(wave_j, rel=0.01)


def test_a_cell_without_a_number_is_a_gap(recorder):
    rows = recorder(lambda n: f"{time.time():.6f},{'---' if n % 4 == 0 else '5000'}")
    with closing(csv_file.open_probe(rows.path + MAPPED)) as probe:
        heard = sample_until(probe, lambda heard: heard.gaps("power") >= 2)
    assert set(heard.readings("power")) == {5.0}
    assert probe.rejected[0].startswith("no number: ")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        pytest.param(
            lambda path: append(path, b"1700000000,5000\n"),
            "the times do not rise",
            marks=pytest.mark.attack("a CSV's times run back during a session: the meter ends, with the row"),
        ),
        pytest.param(
            lambda path: append(path, f"{time.time() + 3600},5000\n".encode()),
            "ahead of this machine's clock",
            marks=pytest.mark.attack("a CSV's times are of an hour to come: the meter ends with the reason"),
        ),
        pytest.param(
            lambda path: os.truncate(path, 10),
            "was cut short",
            marks=pytest.mark.attack("a CSV is emptied during a session: the meter ends with the reason"),
        ),
        pytest.param(
            lambda path: os.replace(path, path + ".1"),
            "removed or replaced",
            marks=pytest.mark.attack("a CSV is rotated during a session: the meter ends with the reason"),
        ),
        pytest.param(
            lambda path: append(path, bytes(100)),
            "no text in lines",
            marks=pytest.mark.attack("a CSV turns out to be no text: the meter ends with the reason"),
        ),
        pytest.param(
            lambda path: append(path, b"x" * 200_000 + b"\n"),
            "no text in lines",
            marks=pytest.mark.attack(
                "a CSV has a line of 200,000 characters: the meter ends with the reason"
            ),
        ),
    ],
)
def test_a_file_that_goes_wrong_ends_the_probe(written, spoil, why):
    now = time.time()
    path = written(f"{now - 0.1:.6f},5000", f"{now:.6f},5000")
    with closing(csv_file.open_probe(path + MAPPED)) as probe:
        chunks = iter(probe)
        next(chunks)
        spoil(path)
        with pytest.raises(basics.ProbeMissing, match=why) as caught:
            for _ in chunks:
                pass
    assert caught.value.fix


@pytest.mark.attack("the machine's clock is set while a CSV of its times is read: the meter ends and says so")
def test_a_clock_that_is_set(recorder, monkeypatch):
    rows = recorder()
    with closing(csv_file.open_probe(rows.path + MAPPED)) as probe:
        true_offset = csv_file.epoch_offset_ns
        monkeypatch.setattr(csv_file, "epoch_offset_ns", lambda: true_offset() + 10**9)
        with pytest.raises(basics.ProbeMissing, match=r"clock was set, by \+1 s"):
            for _ in probe:
                pass


NOW = ["(0.2 s ago),5000", "(0.1 s ago),5000"]


@pytest.mark.parametrize(
    ("lines", "options", "why", "fix"),
    [
        pytest.param([], "?time=t_s&power=p_mw", "has 0 rows", "start the recording", id="no rows"),
        pytest.param(NOW, "?power=p_mw", "no column is named for the time", "t_s, p_mw", id="time unmapped"),
        pytest.param(NOW, "?time=t_s", "no column is named for the power", "t_s, p_mw", id="power unmapped"),
        pytest.param(NOW, "?time=t_s&power=watts", "no column 'watts'", "t_s, p_mw", id="missing column"),
        pytest.param(NOW, "?time=t_s&power=p_mw&power_unit=W", "in mW by its name", "correct", id="unit"),
        pytest.param(NOW, "?time=t_s&power=p_mw&watts=1", "'watts' is no option", "power_unit", id="option"),
        pytest.param(NOW, "?time=t_s&power=p_mw&time=t_s", "given twice", "options", id="option twice"),
        pytest.param(NOW, "?time=t_s&power=p_mw&scope=house", "scope=house", "wall", id="scope"),
        pytest.param(NOW, "?time=t_s&power=p_mw&clock=sun", "clock=sun", "monotonic", id="clock"),
        pytest.param(NOW[::-1], "?time=t_s&power=p_mw", "do not rise", "sort", id="unsorted"),
        pytest.param(NOW[:1] * 2, "?time=t_s&power=p_mw", "do not rise", "time_unit", id="doubled"),
        pytest.param(["0.1,5", "0.2,5"], "?time=t_s&power=p_mw", "not since 1970", "clock=", id="relative"),
        pytest.param(["1.7e9,5", "1700000001,5"], "?time=t_s&power=p_mw", "s old", "clock=start", id="old"),
        pytest.param(["9e9,5", "9000000001,5"], "?time=t_s&power=p_mw", "ahead of", "UTC", id="to come"),
        pytest.param(["soon,5", "later,5"], "?time=t_s&power=p_mw", "has no time", "time_unit", id="no time"),
        pytest.param(
            [line + "000" for line in NOW], "?time=t_s&power=p_mw&scope=usb", "up to 5000 W", "power_unit",
            id="unit that cannot be",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said(written, lines, options, why, fix):
    now_s = time.time()
    for seconds in ("0.1", "0.2"):
        lines = [line.replace(f"({seconds} s ago)", f"{now_s - float(seconds):.3f}") for line in lines]
    with pytest.raises(basics.ProbeMissing, match=why) as caught:
        csv_file.open_probe(written(*lines) + options)
    assert fix in caught.value.fix


def test_milliwatts_read_as_watts_contradict_voltage_and_current(written):
    header = "t_s,power,U_v,I_ma"
    path = written("0,500,5,100", "1,500,5,100", header=header)
    mapped = "?time=t_s&power=power&voltage=U_v&current=I_ma&clock=start&power_unit="
    with pytest.raises(basics.ProbeMissing, match=r"1e\+03 times voltage times current"):
        csv_file.open_probe(path + mapped + "W")
    csv_file.open_probe(path + mapped + "mW")


@pytest.mark.parametrize(
    ("header", "options", "why"),
    [
        ("time,p_w", {"time": "time", "power": "p_w"}, "unit of the time in"),
        ("t_s,power", {"time": "t_s", "power": "power"}, "unit of the power in 'power' is not stated"),
        ("t_s,p_w,p_w", {"time": "t_s", "power": "p_w"}, "there twice"),
        ("t_s,p_w", {"time": "t_s", "power": "p_w", "time_unit": "ms"}, "in s by its name"),
        ("t_s,p_w", {"time": "t_s", "power": "p_w", "power_unit": "hp"}, "is hp"),
    ],
)
def test_units_are_never_guessed(header, options, why):
    with pytest.raises(basics.ProbeMissing, match=why):
        Columns(header, options)


@pytest.mark.parametrize(
    ("header", "options", "line", "t_ns", "watts"),
    [
        ("t_ms,P (\u00b5W)", {"time": "t_ms", "power": "P (\u00b5W)"}, "1700000000123.5,250",
         1700000000123500000, 250e-6),
        ("ns,W", {"time": "ns", "power": "W"}, "1700000000123456789,2", 1700000000123456789, 2.0),
        ("at\tW", {"time": "at", "time_unit": "iso", "power": "W"}, "2026-01-31T13:00:00.25+01:00\t2,5",
         1769860800250000000, 2.5),
        ('"at, UTC",W', {"time": "at, UTC", "time_unit": "iso", "power": "W"}, '"2026-01-31 12:00:00Z",2',
         1769860800000000000, 2.0),
    ],
)  # fmt: skip
def test_times_and_units(header, options, line, t_ns, watts):
    read_ns, values = Columns(header, options).row(line)
    assert abs(read_ns - t_ns) < 300  # of a float since 1970
    assert values == {"power": pytest.approx(watts)}


@pytest.mark.parametrize("line", ["", "x", "2026-01-31T12:00:00,5", "nan,5", "inf,5", "1e300,5", "1\r2,5"])
def test_a_row_without_a_time(line):
    unit = "iso" if "T" in line else "s"
    with pytest.raises(BadRow):
        Columns("t,p_w", {"time": "t", "time_unit": unit, "power": "p_w"}).row(line)


@pytest.mark.attack("a CSV has decimal commas between its commas: no part of a number is taken for it")
@pytest.mark.parametrize("line", ["1,5,25", "1,5,4,5", '1,5,"25"'])
def test_a_row_with_more_cells_than_columns(line):
    columns = Columns("t,p_w", {"time": "t", "time_unit": "s", "power": "p_w"})
    with pytest.raises(BadRow, match="the header 2"):
        columns.row(line)
    assert columns.row("1,5.25,") == (1_000_000_000, {"power": 5.25})


@pytest.mark.attack("a CSV's times have more than 64 bits of nanoseconds: its rows are no samples")
def test_times_beyond_64_bits(written):
    path = written("9" * 400 + ",5", header="t_ns,p_w")
    with pytest.raises(basics.ProbeMissing, match="has no time") as caught:
        csv_file.open_probe(path + "?time=t_ns&power=p_w&scope=usb&clock=start")
    assert "decimal commas" in caught.value.fix


def test_a_file_that_is_not_there_or_may_not_be_read(tmp_path, monkeypatch):
    with pytest.raises(basics.ProbeMissing, match="no file is named"):
        csv_file.open_probe("")
    with pytest.raises(basics.ProbeMissing, match="there is no file"):
        csv_file.open_probe(str(tmp_path / "none.csv") + MAPPED)
    with pytest.raises(basics.ProbeMissing, match="cannot be read"):
        csv_file.open_probe(str(tmp_path) + MAPPED)

    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("edgebench.probes.host.csv_file.os.open", refuse)
    with pytest.raises(basics.ProbeDenied, match="may not read"):
        csv_file.open_probe("power.csv" + MAPPED)


def test_a_complete_file_is_played_from_the_start_of_sampling(written):
    path = written(*(f"{100 + n / 100},{1000 + n}" for n in range(20)), "1000,7000")
    with closing(csv_file.open_probe(path + MAPPED + "&clock=start")) as probe:
        assert probe.info["rate_hz"] == pytest.approx(100.0)
        assert "played" in probe.info["absent"]["live samples"]
        before_ns = time.monotonic_ns()
        heard = sample_until(probe, lambda heard: len(heard.stamps) >= 20)
    assert heard.columns["power"] == pytest.approx([1.0 + n / 1000 for n in range(20)])
    np.testing.assert_allclose(np.diff(heard.stamps), 10_000_000, atol=1000)
    assert heard.stamps[0] >= before_ns


@pytest.mark.attack("a played file ends before the session: the meter ends, its samples are kept")
def test_a_played_file_that_ends(written):
    path = written("0,5000", "0.01,5000", "0.02,5000")
    probe = csv_file.open_probe(path + MAPPED + "&clock=start")
    stamps = []
    with pytest.raises(basics.ProbeMissing, match=r"over after 0\.02 s"):
        for chunk_stamps, _ in probe:
            stamps += chunk_stamps
    assert len(stamps) == 3


def test_a_long_file_is_read_from_its_end(written, monkeypatch):
    monkeypatch.setattr(csv_file, "LAST_BYTES", 200)
    monkeypatch.setattr("edgebench.probes.host.csv_file.READ_BYTES", 300)
    now = time.time()
    path = written(*(f"{now - 1000 + n:.3f},5000" for n in range(1000)))
    with closing(csv_file.open_probe(path + MAPPED)) as probe:
        assert probe._last_ns == pytest.approx((now - 1) * 1e9, abs=1e7)


def test_one_on_standby_is_read_when_it_begins(written):
    """Comments and a half-written line are no rows."""
    path = written("# paused", f"{time.time() - 0.2:.6f},4000", f"{time.time():.6f},5000")
    append(path, b"17000")
    with closing(csv_file.open_probe(path + MAPPED)) as probe:
        assert probe.info["rate_hz"] == pytest.approx(5.0, rel=0.1)


def test_a_tilde_is_the_home(written, monkeypatch):
    path = Path(written("1,2"))
    monkeypatch.setenv("HOME", str(path.parent))
    with pytest.raises(basics.ProbeMissing, match="not since 1970"):  # so it was read
        csv_file.open_probe(f"~/{path.name}{MAPPED}&rate_hz=10")
