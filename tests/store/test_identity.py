"""What decides whether two sessions were on the same device."""

import pytest

from edgebench.results.revisions import differences, identity_of

DEVICE = {
    "board": "Raspberry Pi 4 Model B",
    "soc": "brcm,bcm2711",
    "cpu": "Cortex-A72",
    "machine": "aarch64",
    "python_bits": 64,
    "kernel": "Linux 6.1.21-v8+",
    "l4t": None,
    "usable_cores": [0, 1, 2, 3, 6],
    "power_mode": {"id": 0, "name": "MAXN"},
    "python": "3.11.2",
    "memory_available_bytes": 1,
    "temperatures_c": {"0-cpu": 40.0},
    "clock_now_mhz": 600.0,
    "load_average": [0.1],
}
RUNTIME = {"name": "litert", "version": "2.3.0", "numpy": "2.4.6", "threads": 2}


def test_what_is_known_has_its_place_and_what_is_not_has_none():
    assert identity_of(DEVICE, RUNTIME) == {
        "board": "Raspberry Pi 4 Model B",
        "SoC": "brcm,bcm2711",
        "CPU": "Cortex-A72",
        "architecture": "aarch64, 64 bits",
        "kernel": "Linux 6.1.21-v8+",
        "usable cores": "0-3, 6",
        "power mode": "MAXN",
        "Python": "3.11",
        "numpy": "2.4.6",
        "runtime": "litert 2.3.0",
    }
    assert identity_of({}, {}) == {}
    assert identity_of({"power_mode": {"id": 3, "name": None}}, {}) == {"power mode": "3"}


@pytest.mark.parametrize(
    ("device", "runtime"),
    [
        ({"memory_available_bytes": 9, "temperatures_c": {"0-cpu": 80.0}, "clock_now_mhz": 1500.0}, {}),
        ({"load_average": [3.0], "os": "another name", "platform": "another", "python": "3.11.9"}, {}),
        ({"packages": {"tensorflow": "2.0"}, "usb_accelerators": [{"speed_mbps": 480.0}]}, {"threads": 4}),
        ({"kernel": None, "board": None, "usable_cores": None}, {"version": "2.3.0", "numpy": None}),
    ],
)
def test_what_changes_between_two_sessions_of_one_run_is_none_of_it(device, runtime):
    assert differences(identity_of(DEVICE, RUNTIME), identity_of(DEVICE | device, RUNTIME | runtime)) == ()


def test_each_difference_says_what_was_and_what_is():
    now = identity_of(
        DEVICE | {"kernel": "Linux 6.6", "usable_cores": [0, 1]}, RUNTIME | {"version": "2.4.0"}
    )
    assert differences(identity_of(DEVICE, RUNTIME), now) == (
        "kernel was Linux 6.1.21-v8+ and is now Linux 6.6",
        "usable cores was 0-3, 6 and is now 0-1",
        "runtime was litert 2.3.0 and is now litert 2.4.0",
    )


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({"cpu_quota_cores": None}, {"cpu_quota_cores": 2}, "CPU quota was none and is now 2 cores"),
        ({"cpu_quota_cores": 1}, {"cpu_quota_cores": None}, "CPU quota was 1 core and is now none"),
        ({"cpu_quota_cores": 2}, {"cpu_quota_cores": 2}, None),
        ({"cpu_quota_cores": 2}, {"cpu_quota_cores": None, "absent": {"cpu_quota_cores": "denied"}}, None),
        ({"cpu_quota_cores": 2}, {"cpu_quota_cores": "2"}, None),
        ({"cpu_quota_cores": 2}, {}, None),
    ],
)
def test_a_containers_cpu_quota_is_part_of_it(before, now, expected):
    found = differences(identity_of(DEVICE | before, RUNTIME), identity_of(DEVICE | now, RUNTIME))
    assert found == ((expected,) if expected else ())


@pytest.mark.parametrize(
    "device",
    [
        {"board": 3, "cpu": ["x"], "kernel": {}, "usable_cores": "0-3", "power_mode": "MAXN", "python": 3},
        {"usable_cores": [0, "1"], "python_bits": "64", "python": "three", "board": "\x1b\n"},
    ],
)
def test_a_device_that_answers_nonsense_says_nothing(device):
    assert identity_of(device, {"name": 1, "version": [], "numpy": None}) == {}


def test_what_a_device_says_is_short_and_steers_no_terminal():
    assert identity_of({"board": "\x1b[2J" + "x" * 1000}, {})["board"] == "[2J" + "x" * 196
