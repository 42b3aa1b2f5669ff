"""Telemetry on made trees of boards: what each tells, what is absent with its reason, and hostile files."""

import json
import math
import os
import threading

import pytest

from edgebench.probes import basics, telemetry
from edgebench.probes.telemetry import sources as throttling


def write(root, files):
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return root


CPUFREQ = "sys/devices/system/cpu/cpufreq"
THERMAL = "sys/class/thermal"
COMMON = {
    "proc/loadavg": "0.52 0.58 0.59 1/467 12345\n",
    "proc/meminfo": "MemTotal:  3884348 kB\nMemFree: 100 kB\nMemAvailable:  2000 kB\n",
}
PI = {
    **COMMON,
    f"{CPUFREQ}/policy0/scaling_cur_freq": "1500000\n",
    f"{THERMAL}/thermal_zone0/type": "cpu-thermal\n",
    f"{THERMAL}/thermal_zone0/temp": "61835\n",
    f"{THERMAL}/cooling_device0/type": "cpufreq-cpu0\n",
    f"{THERMAL}/cooling_device0/cur_state": "0\n",
    throttling.FIRMWARE: "50005\n",
}
JETSON = {
    **COMMON,
    f"{CPUFREQ}/policy0/scaling_cur_freq": "1190400\n",
    f"{CPUFREQ}/policy4/scaling_cur_freq": "2265600\n",
    f"{THERMAL}/thermal_zone1/type": "CPU-therm\n",
    f"{THERMAL}/thermal_zone1/temp": "40500\n",
    f"{THERMAL}/thermal_zone10/type": "PMIC Die\n",
    f"{THERMAL}/thermal_zone10/temp": "100000\n",
    f"{THERMAL}/thermal_zone2/type": "GPU-therm\n",
    f"{THERMAL}/thermal_zone2/temp": "41000\n",
    f"{THERMAL}/cooling_device0/type": "tegra-pwm-fan\n",
    f"{THERMAL}/cooling_device0/cur_state": "7\n",
    f"{THERMAL}/cooling_device1/type": "gpu-balanced\n",
    f"{THERMAL}/cooling_device1/cur_state": "2\n",
}
X86 = {
    **COMMON,
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "3\n",
    "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count": "4\n",
    "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count": "10\n",
}


@pytest.fixture(autouse=True)
def no_worker(monkeypatch):
    monkeypatch.delenv(telemetry.WORKER_PID, raising=False)


def sample(root, rate="10"):
    """One sample, by channel, and what is absent."""
    probe = telemetry.open_probe(f"{rate}:{root}")
    json.dumps(probe.info)
    probe.start()
    probe.stop()
    [(stamps, values)] = list(probe)
    assert len(stamps) == 1
    assert {channel["name"] for channel in probe.info["channels"]} == set(values)
    return {name: column[0] for name, column in values.items()}, probe.info["absent"]


def test_a_raspberry_pi(tmp_path):
    values, absent = sample(write(tmp_path, PI))
    assert values == {
        "cpu_clock_max": 1500.0,
        "cpu_clock_min": 1500.0,
        "temperature.0-cpu-thermal": 61.835,
        "throttle_flags": float(0x50005),
        "cooling_state": 0.0,
        "load_1min": 0.52,
        "memory_available": 2048000.0,
    }
    of_the_worker = {"context switches", "waiting for a core", "other work on its cores"}
    assert set(absent) == {"throttle counters", *of_the_worker}
    assert absent["context switches"] == "no worker runs in its session"


ALARMED = {"sys/class/hwmon/hwmon3/name": "rpi_volt\n", "sys/class/hwmon/hwmon3/in0_lcrit_alarm": "1\n"}
QUIET = ALARMED | {"sys/class/hwmon/hwmon3/in0_lcrit_alarm": "0\n"}
OTHER = ALARMED | {"sys/class/hwmon/hwmon3/name": "cpu_thermal\n"}
PI_5 = "sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled"


@pytest.mark.parametrize(
    ("files", "flags"),
    [
        ({PI_5: "50005\n"}, 0x50005),
        ({PI_5: "50000\n", **ALARMED}, 0x50001),
        ({PI_5: "0\n", **QUIET}, 0),
        (ALARMED, 1),
        (QUIET, 0),
        (OTHER, None),
    ],
)
def test_under_voltage_of_every_raspberry_pi(tmp_path, files, flags):
    values, absent = sample(write(tmp_path, {**COMMON, **files}))
    assert values.get("throttle_flags") == flags
    assert ("throttle flags" in absent) == (flags is None)


def test_a_jetson_with_two_clusters_and_a_fan(tmp_path):
    values, absent = sample(write(tmp_path, JETSON))
    assert (values["cpu_clock_max"], values["cpu_clock_min"]) == (2265.6, 1190.4)
    temperatures = {name: value for name, value in values.items() if name.startswith("temperature")}
    assert list(temperatures.items()) == [
        ("temperature.1-CPU-therm", 40.5),
        ("temperature.2-GPU-therm", 41.0),
        ("temperature.10-PMIC_Die", 100.0),
    ]
    assert values["cooling_state"] == 2.0  # the fan slows nothing
    assert "soc:firmware" in absent["throttle flags"]


def policies(megahertz, cores="{0}\n"):
    """A policy a core, each with its clock."""
    return {
        f"{CPUFREQ}/policy{n}/{name}": text
        for n, mhz in megahertz.items()
        for name, text in (("scaling_cur_freq", f"{mhz}000\n"), ("related_cpus", cores.format(n)))
    }


def allowed(cores):
    return {"proc/100/status": f"Name:\tx\nCpus_allowed_list:\t{cores}\n"}


def test_clocks_are_those_of_the_workers_cores(tmp_path, monkeypatch):
    big_little = {
        f"{CPUFREQ}/policy0/scaling_cur_freq": "1800000\n",
        f"{CPUFREQ}/policy0/related_cpus": "0 1 2 3\n",
        f"{CPUFREQ}/policy4/scaling_cur_freq": "2400000\n",
        f"{CPUFREQ}/policy4/related_cpus": "4 5 6 7\n",
    }
    root = write(tmp_path, {**COMMON, **big_little, **allowed("4-7")})
    values, _ = sample(root)  # no worker beside it: all
    assert (values["cpu_clock_max"], values["cpu_clock_min"]) == (2400.0, 1800.0)
    monkeypatch.setenv(telemetry.WORKER_PID, "100")
    values, _ = sample(root)
    assert (values["cpu_clock_max"], values["cpu_clock_min"]) == (2400.0, 2400.0)


def test_what_cannot_be_read_is_passed_over(tmp_path):
    mute = {f"{CPUFREQ}/policy2/scaling_cur_freq": "<unknown>\n"}
    zones = {f"sys/class/thermal/thermal_zone{n}/type": "x\n" for n in range(20)}
    temperatures = {f"sys/class/thermal/thermal_zone{n}/temp": "40000\n" for n in range(1, 20)}
    cards = {f"sys/class/apex/apex_{n}/temp": "40000\n" for n in range(9)}
    root = write(
        tmp_path, {**COMMON, **policies({0: 1, 1: 1, 2: 1}), **mute, **zones, **temperatures, **cards}
    )
    values, absent = sample(root)
    assert values["cpu_clock_max"] == 1.0 and "clocks" not in absent
    assert sum(name.startswith("temperature.") for name in values) == 28


def test_without_a_clock_of_the_workers_cores_it_is_said_whose_they_are(tmp_path, monkeypatch):
    monkeypatch.setenv(telemetry.WORKER_PID, "100")
    values, absent = sample(write(tmp_path, {**COMMON, **policies({0: 900, 1: 900}), **allowed("7")}))
    assert "cpu_clock_max" not in values
    assert absent["clocks"] == "the worker may not use the cores of policy0, policy1"


def test_a_policy_that_does_not_tell_its_cores_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv(telemetry.WORKER_PID, "100")
    root = write(tmp_path, {**COMMON, **policies({0: 900}, "0 to 3\n"), **allowed("7")})
    values, _ = sample(root)
    assert values["cpu_clock_max"] == 900.0


def test_an_edge_tpu_on_pcie_has_a_temperature(tmp_path):
    apex = "sys/class/apex/apex_0/temp"
    values, _ = sample(write(tmp_path, {**PI, apex: "47800\n"}))
    assert values["temperature.apex_0"] == 47.8
    assert values["temperature.0-cpu-thermal"] == 61.835


def test_x86_counts_its_throttle_events(tmp_path):
    values, absent = sample(write(tmp_path, X86))
    assert values["throttle_count"] == 17.0
    assert {"clocks", "temperatures", "cooling devices"} <= set(absent)
    assert all(absent.values())


def test_a_board_that_tells_nothing_is_a_missing_probe(tmp_path):
    with pytest.raises(basics.ProbeMissing):
        telemetry.open_probe(f"1:{tmp_path}")


@pytest.mark.parametrize("address", ["fast", "0", "11", "-1", "nan", "inf", "1e9"])
def test_a_rate_out_of_range_is_refused(address):
    with pytest.raises(basics.ProbeMissing) as caught:
        telemetry.open_probe(address)
    assert "telemetry:1" in caught.value.fix


def test_files_that_are_not_numbers_are_absent_or_no_number(tmp_path):
    root = write(
        tmp_path,
        {
            **PI,
            f"{THERMAL}/thermal_zone0/temp": "hot\n",
            f"{THERMAL}/thermal_zone1/type": "\x1b[31m<b>" + "x" * 500,
            f"{THERMAL}/thermal_zone1/temp": "20000",
            throttling.FIRMWARE: "no bits",
        },
    )
    values, absent = sample(root)
    [name] = [name for name in values if name.startswith("temperature")]
    assert name.startswith("temperature.1-__31m_b_x") and len(name) < 60
    assert "throttle flags" in absent


def test_what_cannot_be_read_any_more_is_no_number(tmp_path):
    root = write(tmp_path, PI)
    probe = telemetry.open_probe(f"10:{root}")
    for path in (f"{CPUFREQ}/policy0/scaling_cur_freq", throttling.FIRMWARE, "proc/loadavg", "proc/meminfo"):
        (root / path).write_text("")
    probe.stop()
    [(_, values)] = list(probe)
    for name in ("cpu_clock_max", "throttle_flags", "load_1min", "memory_available"):
        assert math.isnan(values[name][0]), name
    assert values["temperature.0-cpu-thermal"][0] == 61.835


def status(voluntary, involuntary):
    return f"Name:\tx\nvoluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"


def stat(session):
    return f"7 (a) b) S 1 7 {session} 0 -1\n"


def test_switches_are_summed_over_threads_that_come_and_go(tmp_path, monkeypatch):
    root = write(
        tmp_path,
        {
            "proc/100/stat": stat(100),
            "proc/100/task/100/status": status(1000, 50),
            "proc/101/stat": stat(100),  # a prefix stayed in front: the worker is its child
            "proc/101/task/101/status": status(10, 1),
            "proc/200/stat": stat(1),
            "proc/200/task/200/status": status(9999, 9999),
            "proc/self/stat": "nonsense",
        },
    )
    monkeypatch.setenv(telemetry.WORKER_PID, "100")
    probe = telemetry.open_probe(f"1:{root}")

    def now():
        values = probe._sample()[1]
        return values["voluntary_switches"], values["involuntary_switches"]

    assert now() == (0.0, 0.0)
    write(root, {"proc/100/task/100/status": status(1005, 50), "proc/101/task/102/status": status(3, 2)})
    assert now() == (8.0, 2.0)
    (root / "proc/101/task/102/status").unlink()
    os.rmdir(root / "proc/101/task/102")
    write(root, {"proc/101/task/101/status": status(11, 1)})
    assert now() == (9.0, 2.0)
    write(root, {"proc/101/task/101/status": status(4, 4)})  # another thread under the same number
    assert now() == (13.0, 6.0)
    write(root, {"proc/100/task/100/status": "gone wrong"})
    assert now() == (13.0, 6.0)


def test_a_worker_that_is_not_there_is_absent(tmp_path, monkeypatch):
    monkeypatch.setenv(telemetry.WORKER_PID, "4242")
    _, absent = sample(write(tmp_path, COMMON))
    assert absent["context switches"] == "/proc has no status of the worker's threads"
    assert absent["waiting for a core"] == "/proc has no schedstat of the worker's threads"


def test_a_stop_cuts_the_sleep_short_and_takes_a_last_sample(tmp_path):
    probe = telemetry.open_probe(f"0.05:{write(tmp_path, COMMON)}")
    probe.start()
    threading.Timer(0.05, probe.stop).start()
    taken = [len(stamps) for stamps, _ in probe]  # one sample in 20 s otherwise
    assert sum(taken) == 2


def test_how_long_the_worker_ran_and_waited(tmp_path, monkeypatch):
    task = "proc/100/task/100"
    root = write(tmp_path, {"proc/100/stat": stat(100), f"{task}/schedstat": "9000 4000 17\n"})
    monkeypatch.setenv(telemetry.WORKER_PID, "100")
    probe = telemetry.open_probe(f"1:{root}")
    write(root, {f"{task}/schedstat": "9500 4100 18\n"})
    values = probe._sample()[1]
    assert (values["worker_running"], values["worker_waiting"]) == (500.0, 100.0)
    assert "context switches" in probe.info["absent"]


TICK_NS = 1e9 / os.sysconf("SC_CLK_TCK")
IDLE = "cpu{} 0 0 0 900 0 0 0 0 0 0\n"


def cores(root, stat_text, allowed="1-2"):
    return write(
        root,
        {"proc/100/status": f"Name:\tx\nCpus_allowed_list:\t{allowed}\n", "proc/stat": stat_text, **COMMON},
    )


def test_other_work_and_steal_on_the_workers_cores_alone(tmp_path, monkeypatch):
    first = "cpu  1 1 1 1 1 1 1 1 0 0\n" + "".join(IDLE.format(n) for n in range(12)) + "intr 5 0\n"
    root = cores(tmp_path, first, "1,10-11")
    monkeypatch.setenv(telemetry.WORKER_PID, "100")
    probe = telemetry.open_probe(f"1:{root}")
    lines = {n: IDLE.format(n) for n in range(12)}
    lines[1] = "cpu1 10 1 5 900 7 2 2 3 9 9\n"  # guest is in user already, idle and iowait are no work
    lines[11] = "cpu11 1 0 0 900 0 0 0 4 0 0\n"
    lines[2] = "cpu2 999 0 0 0 0 0 0 999 0 0\n"
    write(root, {"proc/stat": "cpu  9 9 9 9 9 9 9 9 0 0\n" + "".join(lines.values())})
    values = probe._sample()[1]
    assert values["cores_busy"] == 21 * TICK_NS
    assert values["cores_stolen"] == 7 * TICK_NS


@pytest.mark.parametrize(
    ("text", "allowed", "why"),
    [
        ("cpu0 1 2 3 4\n", "0", "steal"),
        ("cpu0 1 2 3 4 5 6 7 8\n", "5", "none of the worker's cores"),
        ("cpu0 1 x 3 4 5 6 7 8\n", "0", "invalid literal"),
        ("cpu0 1 2 3 4 5 6 7 8\n", "all", "does not say"),
        ("", "0-999999999999", "none of"),
    ],
)
def test_cores_that_cannot_be_read_are_absent_with_the_reason(tmp_path, monkeypatch, text, allowed, why):
    monkeypatch.setenv(telemetry.WORKER_PID, "100")
    values, absent = sample(cores(tmp_path, text, allowed))
    assert why in absent["other work on its cores"]
    assert "cores_busy" not in values


def test_cores_that_cannot_be_read_any_more_are_no_number(tmp_path, monkeypatch):
    root = cores(tmp_path, IDLE.format(1))
    monkeypatch.setenv(telemetry.WORKER_PID, "100")
    probe = telemetry.open_probe(f"1:{root}")
    (root / "proc/stat").write_text("gone")
    values = probe._sample()[1]
    assert math.isnan(values["cores_busy"]) and math.isnan(values["cores_stolen"])
