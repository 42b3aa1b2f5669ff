"""INA3221 on made sysfs trees: JetPack 4, 5 and later, Thor; their rails, total, and why it is absent."""

import json
import math
import os

import numpy as np
import pytest

from edgebench.probes import basics, hwmon
from edgebench.probes.jetson import ina3221
from edgebench.stats.power import window_power
from edgebench.stats.power_curve import power_curve
from tests.probes.jetson_board import gpu, iio, ina3221_files, orin_nano, write

XAVIER_1 = {"GPU": 100, "CPU": 216, "SOC": 864}
XAVIER_2 = {"CV": 0, "VDDRQ": 144, "SYS5V": 1889}
AGX_ORIN_1 = {"VDD_GPU_SOC": (19_800, 240), "VDD_CPU_CV": (19_900, 40), "VIN_SYS_5V0": (5000, 760)}
AGX_ORIN_2 = {"NC": (0, 0), "VDDQ_VDD2_1V8AO": (1800, 390)}
THOR_RAILS = {"VDD_GPU": (800, 2500), "VDD_CPU_SOC_MSS": (800, 7500), "VIN_SYS_5V0": (5000, 1000)}
THOR = {"class/hwmon/hwmon5/name": "ina238", "class/hwmon/hwmon5/power1_input": 21_000_000}


def opened(tree, files):
    return ina3221.open_probe(str(write(tree, files)))


def sampled(probe):
    """The first sample, by channel."""
    sample = probe._sample()[1]
    return {channel["name"]: sample.get(channel["name"], math.nan) for channel in probe.info["channels"]}


def watts(probe):
    return {
        channel["name"]: value
        for channel, value in zip(probe.info["channels"], sampled(probe).values(), strict=True)
        if channel["quantity"] == "power"
    }


def total(probe):
    [name] = [
        channel["name"]
        for channel in probe.info["channels"]
        if channel.get("total") and channel["quantity"] == "power"
    ]
    return name


@pytest.mark.parametrize(
    ("files", "expected", "headline"),
    [
        (
            ina3221_files("1-0040", AGX_ORIN_1) | ina3221_files("1-0041", AGX_ORIN_2, 4),
            {
                "VDD_GPU_SOC": 4.752,
                "VDD_CPU_CV": 0.796,
                "VIN_SYS_5V0": 3.8,
                "VDDQ_VDD2_1V8AO": 0.702,
                "total": 9.348,
            },
            "total",
        ),
        (orin_nano(), {"VDD_IN": 6.625, "VDD_CPU_GPU_CV": 1.225, "VDD_SOC": 2.38}, "VDD_IN"),
        (
            iio("6-0040", {"POM_5V_IN": 900, "POM_5V_GPU": 0, "POM_5V_CPU": 123}),
            {"POM_5V_IN": 0.9, "POM_5V_GPU": 0.0, "POM_5V_CPU": 0.123},
            "POM_5V_IN",
        ),
        (
            iio("1-0040", XAVIER_1) | iio("1-0041", XAVIER_2, 1),
            {
                "GPU": 0.1,
                "CPU": 0.216,
                "SOC": 0.864,
                "CV": 0.0,
                "VDDRQ": 0.144,
                "SYS5V": 1.889,
                "total": 3.213,
            },
            "total",
        ),
        (
            ina3221_files("2-0040", THOR_RAILS) | THOR,
            {"VDD_GPU": 2.0, "VDD_CPU_SOC_MSS": 6.0, "VIN_SYS_5V0": 5.0, "VIN": 21.0},
            "VIN",
        ),
    ],
    ids=["AGX Orin", "Orin Nano", "Nano, JetPack 4", "AGX Xavier, JetPack 4", "Thor"],
)
def test_a_boards_rails(tmp_path, files, expected, headline):
    probe = opened(tmp_path, files)
    assert watts(probe) == pytest.approx(expected)
    assert total(probe) == headline
    assert probe.info["scope"] == "module"
    json.dumps(probe.info)


def test_clock_and_temperature_of_the_gpu_come_with_every_tenth_sample(tmp_path):
    probe = opened(tmp_path, orin_nano())
    channels = {channel["name"]: channel for channel in probe.info["channels"]}
    assert (channels["gpu_clock"]["quantity"], channels["gpu_clock"]["total"]) == ("clock", True)
    assert channels["temperature.gpu-thermal"]["quantity"] == "temperature"
    samples = [sampled(probe) for _ in range(11)]
    assert [at for at, sample in enumerate(samples) if not math.isnan(sample["gpu_clock"])] == [0, 10]
    assert samples[0]["gpu_clock"] == pytest.approx(1300.5)
    assert samples[0]["temperature.gpu-thermal"] == pytest.approx(47.625)
    assert probe.info["absent"] == {}


def test_what_a_board_lacks_is_absent_with_its_reason(tmp_path):
    probe = opened(tmp_path, ina3221_files("1-0040", {"VDD_GPU": (800, 2500)}))
    assert set(probe.info["absent"]) == {"total", "GPU clock", "GPU temperature"}
    assert "VDD_GPU" in probe.info["absent"]["total"]
    assert not any(channel.get("total") for channel in probe.info["channels"])


def test_a_rail_of_an_unknown_form_is_left_out_with_its_reason(tmp_path):
    files = ina3221_files("1-0040", {"VDD_IN": (5000, 1325), "VDD_SOC": (5000, 476)})
    probe = opened(tmp_path, files | {next(name for name in files if name.endswith("curr2_input")): "4.7 A"})
    assert list(watts(probe)) == ["VDD_IN"]
    assert "4.7 A" in probe.info["absent"]["VDD_SOC"]


def test_two_rails_of_one_name_are_told_from_each_other(tmp_path):
    probe = opened(
        tmp_path, ina3221_files("1-0040", {"VDD": (1, 1)}) | ina3221_files("1-0041", {"VDD": (2, 2)}, 4)
    )
    assert list(watts(probe)) == ["VDD", "VDD@1-0041"]


@pytest.mark.attack("an INA238 on the carrier of another Jetson than Thor: it is not the module's input")
def test_an_ina238_of_another_board_is_no_rail(tmp_path):
    chip = {"class/hwmon/hwmon5/name": "ina238", "class/hwmon/hwmon5/power1_input": 500_000}
    chip["firmware/devicetree/base/compatible"] = "nvidia,p3737-0000+p3701-0005\0nvidia,tegra234\0"
    probe = opened(tmp_path, ina3221_files("1-0040", AGX_ORIN_1) | chip)
    assert watts(probe) == pytest.approx(
        {"VDD_GPU_SOC": 4.752, "VDD_CPU_CV": 0.796, "VIN_SYS_5V0": 3.8, "total": 9.348}
    )
    assert total(probe) == "total" and "hwmon:ina238" in probe.info["absent"]["ina238"]
    with pytest.raises(basics.ProbeMissing, match="no Thor"):
        opened(tmp_path / "alone", chip)


def test_the_current_of_thors_input_gives_its_sign(tmp_path):
    reversed_input = THOR | {"class/hwmon/hwmon5/curr1_input": -900}
    probe = opened(tmp_path, ina3221_files("2-0040", THOR_RAILS) | reversed_input)
    assert watts(probe)["VIN"] == pytest.approx(-21.0)


def test_of_two_ina238_none_is_taken_for_the_input(tmp_path):
    other = {"class/hwmon/hwmon6/name": "ina238", "class/hwmon/hwmon6/power1_input": 1}
    other["firmware/devicetree/base/compatible"] = "nvidia,p3971-0089+p3834-0008\0nvidia,tegra264\0"
    assert list(watts(opened(tmp_path, THOR | other))) == ["hwmon5", "hwmon6"]


def test_without_rails_there_is_no_probe(tmp_path):
    for files in ({}, gpu("17000000.gpu"), ina3221_files("1-0040", {"NC": (0, 0)})):
        with pytest.raises(basics.ProbeMissing) as caught:
            opened(tmp_path / str(len(files)), files)
        assert caught.value.fix and not caught.value.denied


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_rails_of_root_alone_are_denied(tmp_path):
    tree = write(tmp_path, iio("6-0040", {"POM_5V_IN": 900}))
    next(tree.glob("bus/i2c/drivers/*/*/*/in_power0_input")).chmod(0)
    with pytest.raises(basics.ProbeDenied, match="root only"):
        ina3221.open_probe(str(tree))


def test_rails_that_may_not_be_opened_are_denied(tmp_path, monkeypatch):
    tree = write(tmp_path, iio("6-0040", {"POM_5V_IN": 900}))

    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(basics.ProbeDenied) as caught:
        ina3221.open_probe(str(tree))
    assert caught.value.denied and "chmod" in caught.value.fix


@pytest.mark.attack("a rail's file turns into text: the reading is rejected, verbatim, and is not a number")
def test_text_in_a_rails_file_is_rejected(tmp_path):
    probe = opened(tmp_path, orin_nano())
    file = next(tmp_path.glob("bus/i2c/drivers/ina3221/*/hwmon/*/in1_input"))
    file.write_text("\x1b[31mnine\n")
    assert math.isnan(watts(probe)["VDD_IN"])
    assert probe.rejected == ["VDD_IN: \x1b[31mnine\n"]
    assert not math.isnan(watts(probe)["VDD_SOC"])


@pytest.mark.attack("pipes are where a meter's tree has files: no wait for them, the other rails are read")
def test_pipes_are_not_waited_for(tmp_path):
    tree = write(tmp_path, orin_nano())
    for name in ("in1_label", "in2_input", "update_interval"):
        [*existing] = tree.glob(f"bus/i2c/drivers/ina3221/*/hwmon/*/{name}")
        for file in existing:
            file.unlink()
        os.mkfifo(next(tree.glob("bus/i2c/drivers/ina3221/*/hwmon/*")) / name)
    probe = ina3221.open_probe(str(tree))
    assert set(watts(probe)) == {"VDD_SOC"}
    assert "cannot be read" in probe.info["absent"]["VDD_CPU_GPU_CV"]


@pytest.mark.attack("a rail is labelled as another channel, such as gpu_clock: it is absent, with the reason")
@pytest.mark.parametrize("name", ["gpu_clock", "total", "temperature.gpu-thermal"])
def test_a_rail_with_the_name_of_another_channel_is_absent(tmp_path, name):
    probe = opened(
        tmp_path,
        ina3221_files("1-0040", {**AGX_ORIN_1}) | ina3221_files("1-0041", {name: (1, 1)}, 4) | gpu("x.gpu"),
    )
    names = [channel["name"] for channel in probe.info["channels"]]
    assert len(set(names)) == len(names)
    assert "which is another one's" in probe.info["absent"][name]
    assert watts(probe)["total"] > 1


def test_a_third_rail_of_one_name_on_one_chip_is_absent(tmp_path):
    tree = write(tmp_path, ina3221_files("1-0040", {"A": (1, 1), "B": (1, 1), "C": (1, 1)}))
    for label in tree.glob("bus/i2c/drivers/ina3221/*/hwmon/*/in[123]_label"):
        label.write_text("A")
    probe = ina3221.open_probe(str(tree))
    assert set(watts(probe)) == {"A", "A@1-0040"}
    assert probe.info["absent"]["A@1-0040"].startswith("1-0040 has a rail of that name")


@pytest.mark.attack("the chip of all rails is gone during a session: the probe ends with the kernel's words")
def test_rails_that_are_all_gone_end_the_probe(tmp_path, monkeypatch):
    probe = opened(tmp_path, orin_nano())
    monkeypatch.setattr(hwmon, "MUTE_S", -1.0)

    def gone(*arguments):
        raise OSError(19, "No such device")

    monkeypatch.setattr("os.pread", gone)
    with pytest.raises(basics.ProbeMissing, match="No such device"):
        sampled(probe)


@pytest.mark.parametrize(
    ("first", "second", "averaging_ms"),
    [(70, 35, 35.0), (70, None, None), (0, 0, None), ("soon", 70, None), (None, None, None)],
)
def test_what_a_reading_is_the_mean_over_is_the_chips_own_word(tmp_path, first, second, averaging_ms):
    files = ina3221_files("1-0040", AGX_ORIN_1) | ina3221_files("1-0041", AGX_ORIN_2, 4)
    for folder, interval in (("1-0040/hwmon/hwmon3", first), ("1-0041/hwmon/hwmon4", second)):
        if interval is not None:
            files[f"bus/i2c/drivers/ina3221/{folder}/update_interval"] = interval
    assert opened(tmp_path, files).info["averaging_ms"] == averaging_ms


def test_the_energy_of_a_known_waveform(tmp_path, monkeypatch):
    """At uneven moments of a clock of its own, with noise, a hole and readings that are none."""
    drawn = np.random.default_rng(1)
    clock_ns = [77 * 10**9]
    monkeypatch.setattr(hwmon, "now_ns", lambda: clock_ns[0])
    probe = opened(tmp_path, orin_nano())
    [current] = tmp_path.glob("bus/i2c/drivers/ina3221/*/hwmon/*/curr1_input")
    stamps, watts = [], []
    for number in range(250):
        clock_ns[0] += int(drawn.uniform(0.9, 1.1) * 20e6)
        at_s = clock_ns[0] / 1e9
        wave_w = 6.0 + 3.0 * math.sin(2 * math.pi * 1.3 * at_s)
        lost = 200 <= number < 205 or number % 50 == 7
        noisy_ma = wave_w * drawn.normal(1.0, 0.005) / 5.0 * 1000
        current.write_text("no number\n" if lost else f"{noisy_ma:.0f}\n")
        stamp_ns, sample = probe._sample()
        stamps.append(stamp_ns)
        watts.append(sample["VDD_IN"])
    assert np.isnan(watts).sum() == len(probe.rejected) == 10
    start_ns, end_ns = stamps[3], stamps[-3]
    window = window_power(power_curve(np.array(stamps), np.array(watts)), start_ns, end_ns)
    turns = 2 * math.pi * 1.3 * np.array([start_ns, end_ns]) / 1e9
    waves_j = 3.0 / (2 * math.pi * 1.3) * (math.cos(turns[0]) - math.cos(turns[1]))
    assert window.mean_w == pytest.approx(6.0 + waves_j / ((end_ns - start_ns) / 1e9), rel=0.01)
