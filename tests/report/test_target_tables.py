"""What `edgebench targets` prints of boards, hostile ones included."""

import io
import json

import pytest
from rich.console import Console

from edgebench.report.listings.boards import print_checks, targets_listing

NANO = {
    "board": "NVIDIA Jetson Nano Developer Kit",
    "soc": "nvidia,tegra210",
    "cpu": "ARMv8 Processor rev 1 (v8l)",
    "cores": 4,
    "memory_bytes": 4_000_000_000,
    "memory_available_bytes": 3_000_000_000,
    "os": "Ubuntu 18.04.6 LTS",
    "machine": "aarch64",
    "l4t": "R32.7.1",
    "python": "3.6.9",
    "python_bits": 64,
    "python_executable": "/usr/bin/python3",
    "packages": {"numpy": "1.13.3"},
    "governor": "schedutil",
    "clock_now_mhz": 921.6,
    "clock_min_mhz": 102.0,
    "clock_limit_mhz": 918.0,
    "clock_max_mhz": 1479.0,
    "power_mode": {"id": 1, "name": "5W"},
    "power_modes": {"0": "MAXN", "1": "5W"},
    "temperatures_c": {"0-CPU-therm": 41.5, "1-GPU": 39.0},
    "gpu": {"name": "57000000.gpu", "clocks_mhz": None, "usable": True},
    "usb_accelerators": [{"id": "18d1:9302", "name": "Coral USB Accelerator", "speed_mbps": 480.0}],
}


def printed(show, *arguments, **rest):
    out = io.StringIO()
    show(Console(file=out, width=100, no_color=True), *arguments, **rest)
    return out.getvalue()


def listed(targets, file):
    return printed(targets_listing(targets, file).show)


def test_a_board_says_what_it_is_and_what_it_does_not_know():
    text = printed(print_checks, [{"target": "t", "device": "d", "facts": NANO, "findings": []}])
    for words in ("NVIDIA Jetson Nano Developer Kit", "R32.7.1", "3.00 GB", "1479", "5W", "41.5", "480"):
        assert words in text
    assert "not known" in text and "gpu.clocks_mhz" in text.split("not known")[1]


@pytest.mark.parametrize("nonsense", ["\x1b[31mred\n", "[bold]x", "x" * 100_000, {"a": 1}, [None]])
def test_a_hostile_board_cannot_write_to_the_terminal(nonsense):
    checks = [{"target": "t", "device": "d", "facts": dict.fromkeys(NANO, nonsense), "findings": []}]
    text = printed(print_checks, checks)
    assert "\x1b" not in text
    assert len(text) < 20_000


def test_checks_as_json():
    checks = [{"target": "t", "device": "d", "facts": NANO, "findings": [{"level": "ok", "subject": "s"}]}]
    document = json.loads(printed(print_checks, checks, as_json=True))
    assert document["schema_version"] == 1
    assert document["targets"] == checks


def test_no_file_is_said():
    assert "no targets.toml" in listed([], None)
    assert "0 targets in f.toml" in listed([], "f.toml")


def test_the_listing_says_where_mass_and_size_are_from():
    rows = [
        {"name": "a", "mass_g": 46.0, "size_mm": [1, 2, 3], "body": "Pi (46 g: its maker)",
         "from_boards": ["mass_g", "size_mm"]},
        {"name": "b", "mass_g": 99.0, "size_mm": [1, 2, 3], "body": "Pi", "from_boards": ["size_mm"]},
        {"name": "c", "mass_g": 99.0, "size_mm": [1, 2, 3]},
        {"name": "d", "body": "Stick; no mass"},
        {"name": "e", "body_error": "there is no board 'x'"},
        {"name": "f", "sweeps": {}},
        {"name": "g", "device": "zpu", "device_error": "there is no device 'zpu'"},
    ]  # fmt: skip
    text = listed(rows, "targets.toml")
    for line in (
        "a: mass and size of Pi (46 g: its maker)",
        "b: mass as the file says; size of Pi",
        "c: mass and size as the file says",
        "d: Stick; no mass",
        "e: no figures by its board: there is no board 'x'",
        "g cannot be measured: there is no device 'zpu'",
    ):
        assert line in text
    assert "f:" not in text and "sweeps" not in text
    assert "46 g" in text


def test_the_listing_says_what_a_target_sweeps():
    rows = [{"name": "a", "sweeps": {"device": ["CPU", "GPU"], "power_mode": ["MAXN", "5W", "\x1b[31m"]}}]
    text = " ".join(listed(rows, "targets.toml").split())
    assert "a sweeps device=CPU, GPU; power_mode=MAXN, 5W," in text
    assert ": 6 targets" in text
    assert "\x1b" not in text
