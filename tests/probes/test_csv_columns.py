"""Files of instruments, spreadsheets and loggers: encoding, header, units, numbers, and what is refused."""

import math
import os

import pytest

from edgebench.probes import basics
from edgebench.probes.host import csv_file
from edgebench.probes.host.csv_columns import UNITS, Columns
from tests.probes.host_samples import closing

MAPPED = "time=t (s)&power=P (mW)"


@pytest.fixture(autouse=True)
def _brisk(monkeypatch):
    monkeypatch.setattr(csv_file, "FIRST_ROWS_S", 0.05)


@pytest.fixture
def opened(tmp_path):
    probes = []

    def opened(data, options=MAPPED):
        path = tmp_path / "dialect.csv"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        probes.append(csv_file.open_probe(f"{path}?{options}&clock=start&scope=wall".replace("%", "%25")))
        return probes[-1]

    yield opened
    for probe in probes:  # none of them samples, which would close its pipe
        os.close(probe._wake)
        os.close(probe._waker)


def values_of(probe, quantity="power"):
    """The values of all rows that were read at once."""
    with closing(probe):
        return [values[quantity] for _, values in probe._rows]


def table(times, values, between="\t", header="t (s)|P (mW)"):
    rows = [between.join(row) for row in zip(times, values, strict=True)]
    return "\n".join((header.replace("|", between), *rows, ""))


SECONDS = ("0.00", "0.01", "0.02", "0.03")
SECONDS_COMMA = tuple(time.replace(".", ",") for time in SECONDS)
ROUND = (1.013, 0.987, 1.013, 0.987)


@pytest.mark.attack("a CSV has thousands separators: a thousand times as much or less is never read")
@pytest.mark.parametrize("between", ["\t", ";", "|"])
@pytest.mark.parametrize(
    ("times", "separator"),
    [(SECONDS, ","), (SECONDS_COMMA, ".")]
    + [(times, sign) for times in (SECONDS, SECONDS_COMMA) for sign in " \u00a0\u2009\u202f'\u2019"],
)
def test_thousands_separators(opened, between, times, separator):
    data = table(times, (f"1{separator}013", "987", f"1{separator}013", "987"), between)
    assert values_of(opened(data)) == pytest.approx(ROUND)


@pytest.mark.parametrize(
    ("between", "numbers", "watts"),
    [
        (",", ('"1,013"', "987", '"1,013.5"', "987"), (1.013, 0.987, 1.0135, 0.987)),
        (";", ("1.013,5", "987", "1.234.013,5", "987,25"), (1.0135, 0.987, 1234.0135, 0.98725)),
        ("\t", ("1 013,5", "987", "12 013", "\u2212987,25"), (1.0135, 0.987, 12.013, -0.98725)),
        (";", ("1.013e3", "9.87E+02", ".5", "-3."), (1.013, 0.987, 0.0005, -0.003)),
        (";", ("0,5", "1,013", "2,500", "3,25"), (0.0005, 0.001013, 0.0025, 0.00325)),
        ("\t", ("1.013", "1.020", "1.005", "1.000"), (0.001013, 0.00102, 0.001005, 0.001)),
        (",", ("1.013", "987", "1.005", "1"), (0.001013, 0.987, 0.001005, 0.001)),
    ],
)
def test_numbers(opened, between, numbers, watts):
    times = ("0", "10", "20", "30")
    assert values_of(opened(table(times, numbers, between), MAPPED)) == pytest.approx(watts)


AMBIGUOUS = [
    ("\t", ("1,013", "987", "1,005", "999")),
    (";", ("1.013", "987", "1.005", "999")),
    (";", ("1.013", "1.020", "1.005", "1.001")),
    ("\t", ("1,013", "1,020", "1,005", "1,001")),
]


@pytest.mark.attack("a CSV's numbers can be read in two ways: it is refused until the address decides")
@pytest.mark.parametrize(("between", "numbers"), AMBIGUOUS)
def test_numbers_that_can_be_read_in_two_ways(opened, between, numbers):
    data = table(("0", "10", "20", "30"), numbers, between)
    with pytest.raises(basics.ProbeMissing, match=r"1[,.]0.*decimal sign or a thousands separator") as caught:
        opened(data)
    assert "decimal=" in caught.value.fix
    sign = "," if "," in numbers[0] else "."
    as_fraction = values_of(opened(data, f"{MAPPED}&decimal={sign}"))
    as_thousands = values_of(opened(data, f"{MAPPED}&decimal={'.' if sign == ',' else ','}"))
    assert (as_fraction[0], as_thousands[0]) == pytest.approx((0.001013, 1.013))


def test_rows_in_another_form_than_the_first_are_rejected(opened):
    rows = [f"{n / 100:.2f}\t{900 + n % 9}" for n in range(1200)] + [
        "12.00\t1,013",
        "12.01\t5;5",
        "12,02\t900",
    ]
    with closing(opened("\n".join(("t (s)\tP (mW)", *rows, "12.03\t901", "")))) as probe:
        watts = [values["power"] for _, values in probe._rows]
    assert [math.isnan(each) for each in watts[1199:]] == [False, True, True, False]
    assert len(probe.rejected) == 3 and "1,013" in probe.rejected[0]


SAMPLES = "0.00{0}3.3{0}28\n0.01{0}3.3{0}30\n"
MICRO = "time=t (s)&voltage=U (V)&current=I (\u00b5A)"


@pytest.mark.attack("a micro sign is not in UTF-8: microamperes are never amperes")
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16", "utf-16-le", "utf-16-be"]
)
@pytest.mark.parametrize("signs", [("\u00b5", "\u00b5"), ("\u03bc", "\u00b5"), ("\u00b5", "\u03bc")])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(opened, encoding, signs, line_end):
    in_file, in_address = signs
    if in_file == "\u03bc" and encoding in ("cp1252", "latin-1"):
        pytest.skip("they have one micro sign")
    text = f"t (s);U (V);I ({in_file}A)\n" + SAMPLES.format(";")
    data = text.replace("\n", line_end).encode(encoding)
    probe = opened(data, MICRO.replace("\u00b5", in_address))
    assert values_of(probe) == pytest.approx([92.4e-6, 99e-6])


def test_a_long_utf_16_file_is_read_from_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_file, "FIRST_ROWS_S", 60.0)
    monkeypatch.setattr(csv_file, "LAST_BYTES", 1001)
    monkeypatch.setattr(csv_file, "READ_BYTES", 301)
    monkeypatch.setattr(csv_file, "now_ns", lambda: 1000 * 10**9)
    path = tmp_path / "utf16.csv"
    path.write_bytes("\n".join(("t,p_w", *(f"{n},{n / 100}" for n in range(1000)), "")).encode("utf-16"))
    with closing(
        csv_file.open_probe(f"{path}?time=t&time_unit=s&power=p_w&clock=monotonic&scope=usb")
    ) as probe:
        assert probe._last_ns == pytest.approx(999e9, abs=10e9)
        assert probe.rejected == []


WATTS = "time=t (s)&power=P (W)"
HEADED = "t (s),P (W)\n0.00,1.5\n0.01,1.5\n"


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("Model,WT310E\nSerial,XXXX\nInterval,10 ms\n\n" + HEADED, WATTS),
        ("sep=,\n" + HEADED, WATTS),
        ("# of the lab\n# 2 channels\n" + HEADED + "# paused\n0.02,1.5\n", WATTS),
        ("\ufeff#t (s),P (W)\n" + HEADED.partition("\n")[2], WATTS),
        ("#t (s),P (W)\n" + HEADED.partition("\n")[2], WATTS.replace("=t", "=#t")),
        ("# made by a logger\n#\n# t (s),P (W)\n" + HEADED.partition("\n")[2], WATTS),
        ("Time,Power,Note\n(s),(W),-\n0,1.5,\n1,1.5,\n", "time=Time&power=Power"),
        ("Time;Power\n[ms];mW\n0;1500\n1;1500\n", "time=Time&power=Power"),
        ("Time;Power\n----;----\n0;1,5\n1;1,5\n", "time=Time&power=Power&time_unit=s&power_unit=W"),
        ("Time  Power\ns     W\n0.00   1.50\n10.00  1.50\n", "time=Time&power=Power"),
        ("Time (s)   Power (W)\n0.00       1.5\n0.01       1.5\n", "time=Time (s)&power=Power (W)"),
        ("  t_s n  p_w\n  0.0 1  1.5\n 10.0 2  1.5\n", "time=t_s&power=p_w"),
        ("t_ms,I_ma\n0,500\n1,500\n", "time=t_ms&current=I_ma&voltage=3V"),
        ("t_ms;I_ma\n0;500\n1;500\n", "time=t_ms&current=I_ma&voltage=3000 mV"),
        ("t_ms;I_ma\n0;454,545454\n1;454,545454\n", "time=t_ms&current=I_ma&voltage=3,3V"),
        ("t_s,3.3V,I_a\n0,3,0.5\n1,3,0.5\n", "time=t_s&voltage=3.3V&current=I_a"),
        ('"t (s)";"P (W)"\n"0,00";"1,5"\n"0,01";"1,5"\n', WATTS),
        ("Zeit (h);Leistung (kW)\n0,0;0,0015\n0,1;0,0015\n", "time=Zeit (h)&power=Leistung (kW)"),
        ("t_min,p_uw\n0,1500000\n1,1500000\n", "time=t_min&power=p_uw"),
        ("Time (UTC),P (avg)\n2026-01-31T12:00:00Z,1.5\n2026-01-31T12:00:01Z,1.5\n",
         "time=Time (UTC)&time_unit=iso&power=P (avg)&power_unit=W"),
    ],
)  # fmt: skip
def test_forms_of_files(opened, data, options):
    probe = opened(data, options)
    assert values_of(probe) == pytest.approx([1.5] * len(probe._rows))
    assert len(probe._rows) == data.count("1.5") or "1.5" not in data


def test_a_voltage_that_the_address_states_is_no_channel(opened):
    probe = opened("t_ms,I_ua\n0,50000\n1,60000\n", "time=t_ms&current=I_ua&voltage=3.3V")
    assert [channel["name"] for channel in probe.info["channels"]] == ["power", "current"]
    assert "3.3 V" in probe.info["absent"]["voltage"]
    assert values_of(probe) == pytest.approx([0.165, 0.198])


@pytest.mark.parametrize(
    ("unit", "joules"),
    [("J", 1.0), ("mJ", 1e-3), ("Wh", 3600.0), ("mWh", 3.6), ("kWh", 3.6e6), ("\u00b5Wh", 3.6e-3)],
)
def test_a_cumulative_column_is_a_channel_of_energy(opened, unit, joules):
    rows = "".join(f"{n},{n * 0.5 / joules:.9f}\n" for n in range(4))
    probe = opened(f"t_s,E ({unit})\n{rows}", f"time=t_s&energy=E ({unit})")
    [channel] = probe.info["channels"]
    assert (channel["quantity"], channel["unit"], channel["total"]) == ("energy", "J", True)
    assert values_of(probe, "energy") == pytest.approx([0.0, 0.5, 1.0, 1.5], rel=1e-3)


@pytest.mark.attack("a CSV counts energy in another unit than is stated: a megawatt is refused")
def test_an_energy_that_cannot_be(opened):
    data = "t_s,E\n" + "".join(f"{n},{n * 5}\n" for n in range(4))
    with pytest.raises(basics.ProbeMissing, match="up to 18000 W"):
        opened(data, "time=t_s&energy=E&energy_unit=Wh")
    assert values_of(opened(data, "time=t_s&energy=E&energy_unit=J"), "energy") == [0, 5, 10, 15]


@pytest.mark.parametrize("quantity", sorted(UNITS))
def test_all_units_are_read_from_names(opened, quantity):
    for unit in UNITS[quantity]:
        names = {"time": "t_ms", "power": "p_w"} | {quantity: f"x [{unit}]"}
        if unit == "iso":
            continue
        mapped = "&".join(f"{each}={name}" for each, name in names.items())
        columns = Columns(",".join(names.values()), dict(pair.split("=") for pair in mapped.split("&")))
        t_ns, values = columns.row(",".join(["2"] * len(names)))
        assert {"time": t_ns, **values}[quantity] == pytest.approx(2 * UNITS[quantity][unit])


@pytest.mark.attack(
    "a CSV's column is in a unit that is not known, such as MW or hp: it is refused by its name"
)
@pytest.mark.parametrize("stated", ["", "&power_unit=W"])
@pytest.mark.parametrize(
    "unit", ["MW", "KW", "Mw", "hp", "dBm", "VA", "%", "W/s", "s", "mA", "Wh", "\u00e6W", "pW", "GW"]
)
def test_units_that_are_not_known_are_refused_by_name(opened, unit, stated):
    with pytest.raises(basics.ProbeMissing, match="not known") as caught:
        opened(f"t_s,P ({unit})\n0,1\n1,1\n", f"time=t_s&power=P ({unit}){stated}")
    assert repr(unit) in caught.value.reason and "kW" in caught.value.fix


@pytest.mark.parametrize(
    ("header", "options", "unit"),
    [
        ("t_s,p_MW", "time=t_s&power=p_MW", "MW"),
        ("t_S,p_w", "time=t_S&power=p_w", "S"),
        ("t_s,I_MA,U_v", "time=t_s&current=I_MA&voltage=U_v", "MA"),
        ("t_s,I_a,U_MV", "time=t_s&current=I_a&voltage=U_MV", "MV"),
        ("t,p\ns,hp", "time=t&power=p", "hp"),
        ("t,p\nSequence,Volt", "time=t&power=p&time_unit=s", "Sequence"),
    ],
)
def test_capitals_and_rows_of_units(opened, header, options, unit):
    with pytest.raises(basics.ProbeMissing, match=f"unit '{unit}' .*not known"):
        opened(header + "\n0,1,1\n1,1,1\n", options)


def test_names_that_end_with_words_state_no_unit(opened):
    for name in ("Power (avg)", "p_in", "Leistung", "Power (CH1)", "main power"):
        with pytest.raises(basics.ProbeMissing, match="not stated"):
            opened(f"t_s,{name}\n0,1\n1,1\n", f"time=t_s&power={name}")
        assert (
            values_of(opened(f"t_s,{name}\n0,1\n1,1\n", f"time=t_s&power={name}&power_unit=mW")) == [1e-3] * 2
        )


@pytest.mark.attack(
    "a CSV between blanks lacks a cell in a row: the cells behind it are not taken for others"
)
def test_a_row_between_blanks_without_a_cell(opened):
    with closing(
        opened("t_s n p_w q\n0 1 1.5 9\n1 1 1.5 9\n2 1.5 9\n3 1 1.5 9\n", "time=t_s&power=p_w")
    ) as probe:
        assert [values["power"] for _, values in probe._rows] == [1.5] * 3
        assert "3 cells" in probe.rejected[0]
