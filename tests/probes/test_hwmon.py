"""A chip of hwmon on made sysfs trees: which power is meant, its factors, averaging and scope, what fails."""

import glob
import json
import math
import os

import pytest

from edgebench.probes import basics, hwmon
from tests.probes.jetson_board import write

INA226 = {"power1_input": 2_750_000, "in0_input": 5, "in1_input": 5000, "curr1_input": 550}
INA226 |= {"update_interval": 35, "shunt_resistor": 100_000}
LTC4151 = {"in1_input": 12_000, "in2_input": 400, "curr1_input": 250}
INA3221: dict[str, object] = {
    f"in{number}_label": name for number, name in enumerate(("CAM", "GPU", "NC"), 1)
}
INA3221 |= {f"in{number}_input": 5000 for number in range(1, 8)} | {"update_interval": 70, "samples": 64}
INA3221 |= {f"curr{number}_input": 100 * number for number in range(1, 5)}


def chip(number, name, files, device=""):
    """A chip's files; with a device, those that its driver links to."""
    folder = f"class/hwmon/hwmon{number}"
    at = {f"{folder}/device/name": name} if device else {}
    return at | {f"{folder}/{file}": text for file, text in (files | {"name": name}).items()}


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Opens an address below a tree of these files."""

    def opened(files, address=""):
        monkeypatch.setattr(hwmon, "TREE", str(write(tmp_path, files)))
        return hwmon.open_probe(address)

    return opened


def sampled(probe):
    [channel] = probe.info["channels"]
    assert (channel["unit"], channel["total"]) == ("W", True)
    return channel["name"], probe._sample()[1][channel["name"]]


def test_the_only_power_is_taken(opened):
    probe = opened(chip(0, "cpu_thermal", {"temp1_input": 48_000}) | chip(1, "ina226", INA226))
    assert sampled(probe) == ("power1", pytest.approx(2.75))
    assert (probe.info["rate_hz"], probe.info["averaging_ms"], probe.info["scope"]) == (50.0, 35.0, "chip")
    assert "scope=chip|module|board" in probe.info["absent"]["scope"]
    assert probe.info["resolution"] == "ina226, hwmon1/power1, shunt_resistor 100000, update_interval 35"
    json.dumps(probe.info)


def test_a_scope_is_stated_in_the_address(opened):
    info = opened(chip(1, "ina226", INA226), "ina226?scope=board").info
    assert (info["scope"], info["absent"]) == ("board", {})
    for address, why in (("?scope=house", "scope=house"), ("?shunt=2", "no option")):
        with pytest.raises(basics.ProbeMissing, match=why):
            opened(chip(1, "ina226", INA226), address)


@pytest.mark.parametrize(
    ("name", "files", "averaging_ms"),
    [
        ("ina219", {"power1_input": 1}, None),  # its driver has no such file
        ("ina260", {"power1_input": 1, "update_interval": 2}, 2.0),
        ("pac1234", {"power1_input": 1, "update_interval": 1000}, None),  # renewed, not averaged
        ("ina226", {"power1_input": 1, "update_interval": "soon"}, None),
    ],
)
def test_averaging_is_what_the_driver_documents(opened, name, files, averaging_ms):
    assert opened(chip(0, name, files)).info["averaging_ms"] == averaging_ms


def test_only_what_is_sampled_stays_open(opened):
    probe = opened(chip(0, "ina226", INA226))
    paths = [os.path.realpath(link) for link in glob.glob("/proc/self/fd/*")]
    assert os.path.realpath(probe.port) in paths
    assert not [path for path in paths if path.endswith("update_interval")]


def test_voltage_and_current_of_one_number_where_a_chip_has_no_power(opened):
    assert sampled(opened(chip(0, "ltc4151", LTC4151))) == ("in1", pytest.approx(3.0))


TPS23861 = {f"in{number}_input": 48_000 + number for number in range(4)} | {"in4_input": 54_000}
TPS23861 |= {f"curr{number}_input": 100 * number for number in range(1, 5)}
TPS23861_LABELS = {f"in{number}_label": f"Port{number + 1}" for number in range(4)} | {"in4_label": "Input"}
TPS23861_LABELS |= {f"curr{number}_label": f"Port{number}" for number in range(1, 5)}
MAX34440 = {"in1_input": 900, "in1_label": "vout1", "in2_input": 1800, "in2_label": "vout2"}
MAX34440 |= {"curr1_input": 500, "curr1_label": "iout2", "curr2_input": 7000, "curr2_label": "iin"}


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("tps23861", TPS23861, {f"in{n}": (48_000 + n) * 100 * (n + 1) / 1e6 for n in range(4)}),
        (
            "tps23861",
            TPS23861 | TPS23861_LABELS,
            {f"Port{n + 1}": (48_000 + n) * 100 * (n + 1) / 1e6 for n in range(4)},
        ),
        ("adm1177", {"in0_input": 12_000, "curr1_input": 250}, {"in0": 3.0}),
        ("max34440", MAX34440, {"vout2": 0.9}),
        ("ina219", {"in0_input": 5, "in1_input": 5000, "curr1_input": -550}, {"in1": -2.75}),
        ("max16065", {"in0_input": 900, "in1_input": 5000, "curr1_input": 550}, {}),
        ("ltc2990", {"in0_input": 3300, "curr1_input": 550}, {}),
    ],
)
def test_channels_are_paired_by_labels_or_the_drivers_numbers(opened, name, files, expected):
    for channel, watts in expected.items():
        assert sampled(opened(chip(0, name, files), f"{name}/{channel}")) == (channel, pytest.approx(watts))
    with pytest.raises(basics.ProbeMissing) as caught:
        opened(chip(0, name, files), "none")
    assert caught.value.reason.count(f"({name}/") == len(expected)


@pytest.mark.attack("a hwmon chip is wired the wrong way round: its power is negative and decides nothing")
@pytest.mark.parametrize(
    ("files", "watts"),
    [
        ({"power1_input": 2_750_000, "curr1_input": -550}, -2.75),
        ({"power1_input": -2_750_000, "curr1_input": -550}, -2.75),
        ({"power1_input": 2_750_000, "curr1_input": 0}, 2.75),
        ({"power1_average": 2_750_000, "curr1_input": -550}, -2.75),
        (
            {
                "power1_input": 2_750_000, "power1_label": "pout1",
                "curr1_input": 550, "curr1_label": "iin", "curr2_input": -550, "curr2_label": "iout1",
            },
            -2.75,
        ),
    ],
)  # fmt: skip
def test_power_has_the_sign_of_its_current(opened, files, watts):
    assert sampled(opened(chip(0, "ina226", files)))[1] == pytest.approx(watts)


@pytest.mark.parametrize(
    ("files", "averaging_ms"),
    [({}, None), ({"power1_average_interval": 250}, 250.0), ({"update_interval": 250}, None)],
)
def test_a_chip_with_an_average_alone(opened, files, averaging_ms):
    probe = opened(chip(0, "amdgpu", {"power1_average": 31_000_000, "power1_label": "PPT"} | files))
    assert sampled(probe) == ("PPT", pytest.approx(31.0))
    assert probe.info["averaging_ms"] == averaging_ms
    both = {"power1_average": 31_000_000, "power1_input": 32_000_000}
    assert sampled(opened(chip(0, "amdgpu", both)))[1] == pytest.approx(32.0)


@pytest.mark.parametrize(
    ("address", "watts"),
    [
        ("ina226", 2.75),
        ("1-0040", 2.75),
        ("ina226/power1", 2.75),
        ("ina3221/GPU", 1.0),
        ("hwmon2/in2", 1.0),
        ("hwmon2/CAM", 0.5),
    ],
)
def test_an_address_is_a_chip_or_a_device_and_perhaps_a_channel(opened, tmp_path, address, watts):
    (tmp_path / "devices/1-0040").mkdir(parents=True)
    (tmp_path / "class/hwmon/hwmon1").mkdir(parents=True)
    (tmp_path / "class/hwmon/hwmon1/device").symlink_to("../../../devices/1-0040")
    probe = opened(chip(1, "ina226", INA226) | chip(2, "ina3221", INA3221), address)
    assert sampled(probe)[1] == pytest.approx(watts)
    assert ("samples 64" in probe.info["resolution"]) is (watts < 2)


@pytest.mark.parametrize("address", ["", "ina3221", "ina219", "hwmon2/in4"])
def test_what_is_there_is_listed_where_an_address_means_none_or_several(opened, address):
    """The fourth to seventh voltage of an INA3221 are its shunts': no power is made of them."""
    with pytest.raises(basics.ProbeMissing) as caught:
        opened(chip(1, "ina226", INA226) | chip(2, "ina3221", INA3221), address)
    there = "hwmon1/power1 (ina226/power1), hwmon2/in1 (ina3221/CAM), hwmon2/in2 (ina3221/GPU), hwmon2/in3"
    assert there in caught.value.reason and "in4 (" not in caught.value.reason
    assert (caught.value.step, "hwmon:hwmon1/power1" in caught.value.fix) == ("address", True)


def test_without_a_chip_the_kernel_is_to_drive_one(opened):
    with pytest.raises(basics.ProbeMissing, match="no chip with power") as caught:
        opened(chip(0, "cpu_thermal", {"temp1_input": 48_000, "in5_input": 5000, "curr5_input": 1}))
    assert (caught.value.step, "new_device" in caught.value.fix) == ("device", True)


@pytest.mark.attack("a hwmon chip's file holds text, nothing or no number: it is named, never 0")
@pytest.mark.parametrize("text", ["\x1b[31mnine", "", "nan", "1e3", "9" * 5000])
def test_a_file_without_a_number(opened, text):
    with pytest.raises(basics.ProbeMissing, match="power1_input cannot be read"):
        opened(chip(0, "ina226", {"power1_input": text}))
    probe = opened(chip(0, "ina226", INA226))
    [file] = (path for path in [probe.port] if path.endswith("power1_input"))
    with open(file, "w") as power:
        power.write(text)
    assert math.isnan(sampled(probe)[1])
    assert probe.rejected == [f"power1: {text}"[: len("power1: ") + hwmon.SHOWN]]


@pytest.mark.attack("pipes and folders are where a hwmon chip has files: no wait for them")
def test_pipes_are_not_waited_for(opened, tmp_path):
    folder = write(tmp_path, chip(0, "ina226", {})) / "class/hwmon/hwmon0"
    os.mkfifo(folder / "power1_input")
    os.mkfifo(folder / "power1_label")
    (folder / "update_interval").mkdir()
    with pytest.raises(basics.ProbeMissing, match="power1_input cannot be read"):
        opened({})


def test_what_this_user_may_not_read_is_denied(opened, monkeypatch):
    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(basics.ProbeDenied) as caught:
        opened(chip(0, "ina226", INA226))
    assert (caught.value.step, "chmod a+r" in caught.value.fix) == ("permission", True)
