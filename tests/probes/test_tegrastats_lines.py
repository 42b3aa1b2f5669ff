"""Lines of tegrastats as boards print them, and lines that none does."""

import math

import pytest

from edgebench.probes.jetson.rails import Rails
from edgebench.probes.jetson.tegrastats import UnknownForm, parse
from tests.probes import jetson_board as board

RAILS_W = {
    "NANO": {"POM_5V_IN": 0.9, "POM_5V_GPU": 0.0, "POM_5V_CPU": 0.123},
    "TX1": {"VDD_IN": 2.532, "VDD_CPU": 0.076, "VDD_GPU": 0.019},
    "TX2": {
        "VDD_IN": 2.003,
        "VDD_CPU": 0.32,
        "VDD_GPU": 0.4,
        "VDD_SOC": 0.4,
        "VDD_WIFI": 0.0,
        "VDD_DDR": 0.24,
    },
    "AGX_XAVIER": {"GPU": 0.0, "CPU": 0.216, "SOC": 0.864, "CV": 0.0, "VDDRQ": 0.144, "SYS5V": 1.889},
    "AGX_ORIN": {"VDD_GPU_SOC": 4.788, "VDD_CPU_CV": 0.798, "VIN_SYS_5V0": 3.842, "VDDQ_VDD2_1V8AO": 0.707},
    "ORIN_NANO": {"VDD_IN": 6.626, "VDD_CPU_GPU_CV": 1.228, "VDD_SOC": 2.38},
    "AGX_ORIN_JETPACK_7": {"VDD_GPU_SOC": 5.139, "VDD_CPU_CV": 3.268, "VIN_SYS_5V0": 5.5},
    "THOR": {"VDD_GPU": 2.0, "VDD_CPU_SOC_MSS": 6.0, "VIN_SYS_5V0": 5.0, "VIN": 21.0},
}
TOTAL_W = {
    "NANO": ("POM_5V_IN", 0.9),
    "TX1": ("VDD_IN", 2.532),
    "TX2": ("VDD_IN", 2.003),
    "AGX_XAVIER": ("total", 3.113),
    "AGX_ORIN": ("total", 9.428),
    "ORIN_NANO": ("VDD_IN", 6.626),
    "AGX_ORIN_JETPACK_7": ("total", 13.907),
    "THOR": ("VIN", 21.0),
}
GPU = {  # MHz and %
    "NANO": (None, 0.0),
    "TX1": (76.0, 0.0),
    "TX2": (114.0, 0.0),
    "AGX_XAVIER": (None, 0.0),
    "AGX_ORIN": (114.0, 0.0),
    "ORIN_NANO": (None, 0.0),
    "AGX_ORIN_JETPACK_7": (1300.0, 12.0),
    "THOR": (1300.0, 12.0),
}
GPU_C = {
    "NANO": ("GPU", 41.0),
    "TX1": ("GPU", 39.0),
    "TX2": ("GPU", 41.0),
    "AGX_XAVIER": ("GPU", 32.0),
    "AGX_ORIN": ("GPU", 38.156),
    "ORIN_NANO": ("gpu", 50.562),
    "AGX_ORIN_JETPACK_7": ("gpu", 47.625),
    "THOR": ("gpu", 47.625),
}


@pytest.mark.parametrize("name", RAILS_W)
def test_a_boards_line(name):
    reading = parse(getattr(board, name))
    assert reading.rails_w == pytest.approx(RAILS_W[name])
    assert (reading.gpu_mhz, reading.gpu_percent) == GPU[name]
    sensor, degrees = GPU_C[name]
    assert reading.celsius[sensor] == degrees
    channel, watts = TOTAL_W[name]
    rails = Rails(list(reading.rails_w))
    assert [shown["name"] for shown in rails.channels if shown.get("total")] == [channel]
    assert rails.sample(reading.rails_w)[channel] == pytest.approx(watts)
    assert reading.unknown == []


def test_a_sensor_that_is_off_has_no_temperature():
    celsius = parse(board.AGX_ORIN).celsius
    assert [name for name, degrees in celsius.items() if math.isnan(degrees)] == ["CV0", "CV1", "CV2"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("GR3D_FREQ 0%", (None, 0.0)),
        ("GR3D_FREQ 0%@76", (76.0, 0.0)),
        ("GR3D_FREQ 26%@[306]", (306.0, 26.0)),
        ("GR3D_FREQ 12%@[1300,1295]", (1300.0, 12.0)),
        ("GR3D_FREQ @[1000,1000,1000]", (1000.0, None)),
        ("APE 25", (None, None)),
    ],
)
def test_the_forms_of_the_gpus_field(form, expected):
    reading = parse(f"RAM 613/3964MB (lfb 634x4MB) {form} VDD_IN 2532/2698")
    assert (reading.gpu_mhz, reading.gpu_percent) == expected
    assert reading.rails_w == {"VDD_IN": 2.532}


RAM = "RAM 613/3964MB (lfb 634x4MB) "


@pytest.mark.parametrize(
    "line",
    [
        "",
        "VDD_IN 2532/2698",  # no line of tegrastats: it has no memory
        RAM + "VDD_IN 2.5W/2.6W",
        RAM + "VDD_IN 2532uW/2698uW",
        RAM + "VDD_IN 2532mW/2698",
        RAM + "VDD_IN 2532/2698/2700",
        RAM + "VDD_IN -12/3",
        RAM + "VDD_IN 2532/",
        RAM + "VDD_IN 9999999999/1",
        RAM + "VDD_IN 2532/2698 VDD_IN 2532/2698",
        RAM + "SWAP 0/19",  # cut off: no rail
        RAM + "CPU [2%@102,",
        "RAM 613/3964",
    ],
)
def test_a_line_whose_rails_cannot_be_read_is_refused(line):
    with pytest.raises(UnknownForm):
        parse(line)


@pytest.mark.parametrize(
    ("field", "unknown"),
    [
        ("APE 150 MTS fg 0% bg 0%", ["MTS"]),  # Xavier, Xavier NX and TX2 as root
        ("NVDLA0_FREQ @1600", []),
        ("EMC_FREQ @1600", []),
        ("EMC_FREQ 3%@3199   GR3D_FREQ  12%@[1300,1300]", []),
        ("GR3D_FREQ 76MHz", ["GR3D_FREQ"]),
        ("GR3D_FREQ 0%@[1,]", ["GR3D_FREQ"]),
        ("GPU@41F", ["GPU"]),
        ("FAN 20 rpm", ["rpm"]),
        ("nonsense \x00", ["nonsense"]),
    ],
)
def test_an_unknown_field_is_skipped_and_named(field, unknown):
    reading = parse(f"{RAM} {field}  VDD_IN 2532/2698")
    assert reading.rails_w == {"VDD_IN": 2.532}
    assert reading.unknown == unknown


@pytest.mark.attack("tegrastats prints a line of a megabyte of one field's beginning: it is refused at once")
def test_a_long_line_is_refused_without_searching_it_again_and_again():
    with pytest.raises(UnknownForm):
        parse(RAM + "CPU [" + "2%@102," * 150_000)


@pytest.mark.parametrize("names", [["VIN_SYS_5V0", "VDD_GPU_SOC"], ["GPU", "CPU"], ["VDD_GPU", "VDD_SOC"]])
def test_only_a_known_set_of_rails_has_a_total(names):
    rails = Rails(names)
    assert not any(channel.get("total") for channel in rails.channels)
    assert names[0] in rails.absent["total"]
    assert rails.sample({names[0]: 1.0}) == {names[0]: 1.0}
