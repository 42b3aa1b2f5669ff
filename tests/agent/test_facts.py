"""A board's facts, read from a made tree; what is not there is None with its reason."""

import pytest

from edgebench.agent.facts import board_facts

TREE = {
    "proc/device-tree/model": "NVIDIA Jetson Nano Developer Kit\0",
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: ARMv8 Processor rev 1 (v8l)\n",
    "proc/meminfo": "MemTotal:        4059712 kB\nMemFree:  1 kB\nMemAvailable:    3000000 kB\n",
    "proc/loadavg": "0.10 0.20 0.30 1/100 42\n",
    "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 18.04.6 LTS"\n',
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "schedutil\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "921600\n",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "1479000\n",
    "sys/class/thermal/thermal_zone0/type": "CPU-therm\n",
    "sys/class/thermal/thermal_zone0/temp": "41500\n",
    "sys/class/thermal/thermal_zone1/type": "broken\n",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_the_facts_of_a_board(tree):
    facts = board_facts(str(tree))
    due = {
        "board": "NVIDIA Jetson Nano Developer Kit",
        "cpu": "ARMv8 Processor rev 1 (v8l)",
        "memory_bytes": 4059712 * 1024,
        "memory_available_bytes": 3000000 * 1024,
        "os": "Ubuntu 18.04.6 LTS",
        "governor": "schedutil",
        "clock_now_mhz": 921.6,
        "clock_max_mhz": 1479.0,
        "load_average": [0.1, 0.2, 0.3],
        "temperatures_c": {"0-CPU-therm": 41.5},
    }
    assert {name: facts[name] for name in due} == due
    assert facts["absent"] == {}
    assert facts["cores"] >= 1
    assert facts["timer_resolution_ns"] > 0


def test_an_empty_tree_gives_reasons_and_no_figure(tmp_path):
    facts = board_facts(str(tmp_path))
    for name in ("board", "cpu", "memory_bytes", "os", "governor", "clock_now_mhz", "temperatures_c"):
        assert facts[name] is None
        assert facts["absent"][name]


def test_nonsense_in_a_file_is_absent_not_zero(tree):
    (tree / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq").write_text("<unknown>\n")
    (tree / "proc/meminfo").write_text("MemTotal: \xff kB\n")
    facts = board_facts(str(tree))
    assert facts["clock_now_mhz"] is None
    assert facts["memory_bytes"] is None
    assert "invalid literal" in facts["absent"]["memory_bytes"]
