"""What a board's facts mean, what is missing there, and its power mode; each problem with its fix."""

import pytest

from edgebench.errors import UnavailableError, UsageError
from edgebench.link.board_findings import board_findings, missing_findings, require_power_mode
from edgebench.records.target import Target

GOOD = {
    "governor": "performance",
    "load_average": [0.1, 0.1, 0.1],
    "cores": 4,
    "memory_available_bytes": 4 << 30,
    "timer_resolution_ns": 1.0,
    "temperatures_c": {"0-cpu": 45.0, "1-gpu": 40.0},
}
NANO = {
    "python": "3.6.9",
    "python_bits": 64,
    "python_executable": "/usr/bin/python3",
    "python_externally_managed": False,
    "machine": "aarch64",
    "disk_available_bytes": 4 << 30,
    "packages": {"numpy": "1.13.3", "tflite-runtime": "2.5.0"},
    "usb_accelerators": [],
    "power_mode": {"id": 1, "name": "5W"},
    "power_modes": {"0": "MAXN", "1": "5W"},
}
TARGET = Target(name="nano", device="cpu", host="someone@nano")


def test_a_quiet_machine_is_well():
    findings = board_findings(GOOD)
    assert {finding.subject for finding in findings} == {"governor", "load", "memory", "clock", "temperature"}
    assert all(finding.level == "ok" for finding in findings)


@pytest.mark.parametrize(
    ("fact", "value", "subject", "sentence"),
    [
        ("governor", "powersave", "governor", "powersave"),
        ("governor", None, "governor", "cannot be read"),
        ("load_average", [1.5, 1.0, 1.0], "load", "1.50"),
        ("load_average", None, "load", "cannot be read"),
        ("memory_available_bytes", 200 << 20, "memory", "200 MiB"),
        ("memory_available_bytes", None, "memory", "cannot be read"),
        ("timer_resolution_ns", 4e6, "clock", "4e+06 ns"),
        ("timer_resolution_ns", None, "clock", "unknown"),
        ("temperatures_c", {"0-cpu": 45.0, "1-gpu": 91.0}, "temperature", "91 °C at 1-gpu"),
        ("temperatures_c", None, "temperature", "no sensor"),
    ],
)
def test_each_problem_is_found_with_its_fix(fact, value, subject, sentence):
    [finding] = [finding for finding in board_findings({**GOOD, fact: value}) if finding.level != "ok"]
    assert finding.subject == subject
    assert sentence in finding.message
    assert finding.fix


@pytest.mark.parametrize(
    ("quota", "level"), [(2, "warning"), (4, "ok"), (None, None), (0, None), ("2", None)]
)
def test_a_cpu_quota_is_shown(quota, level):
    found = [
        finding
        for finding in board_findings({**GOOD, "cpu_quota_cores": quota})
        if "quota" in finding.subject
    ]
    assert [finding.level for finding in found] == ([level] if level else [])
    assert all(f"{quota} of 4 cores" in finding.message for finding in found)


def in_mode(mode):
    return Target(name="nano", device="cpu", power_mode=mode)


def problems(facts, runtimes=("ai-edge-litert", "tflite-runtime"), target=TARGET):
    return [finding for finding in missing_findings(facts, runtimes, target) if finding.level != "ok"]


def test_a_board_with_everything_is_well():
    assert problems(NANO) == []
    assert {finding.subject for finding in missing_findings(NANO, ("tflite-runtime",), in_mode("5W"))} == {
        "python", "numpy", "tflite-runtime", "disk", "power mode",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "level", "sentence", "fix"),
    [
        ({"python": "3.5.2"}, "error", "too old", "--python"),
        ({"python_bits": 32}, "warning", "32 bits", "64-bit"),
        ({"packages": {"tflite-runtime": "2.5.0"}}, "error", "numpy is not found", "-m pip install numpy"),
        ({"packages": {"numpy": "1.19.5"}}, "error", "ai-edge-litert or tflite-runtime", "no wheel for"),
        ({"disk_available_bytes": 100 << 20}, "warning", "100 MiB", "targets clean"),
        ({"disk_available_bytes": 10 << 20}, "error", "no room for the scene", "targets clean"),
        (
            {"disk_available_bytes": 10 << 20, "disk_kept_bytes": 90 << 20},
            "warning", "10 MiB free in addition to 90 MiB that EdgeBench keeps", "targets clean",
        ),
        (
            {"usb_accelerators": [{"id": "18d1:9302", "name": "Coral", "speed_mbps": 480.0}]},
            "warning", "USB 2: a pass takes up to 3 times as long", "USB 3 port",
        ),
        (
            {"usb_accelerators": [{"id": "03e7:f63b", "name": "Stick", "speed_mbps": 480.0}]},
            "warning", "USB 2: a pass takes up to 1.5 times as long", "USB 3 port",
        ),
        (
            {"usb_accelerators": [{"id": "1234:5678", "name": "Other", "speed_mbps": 480.0}]},
            "warning", "which is USB 2", "USB 3 port",
        ),
        ({"usb_accelerators": [{"id": "18d1:9302", "name": "Coral"}]}, "warning", "unknown", "lsusb"),
    ],
)  # fmt: skip
def test_what_is_missing_is_said_with_its_fix(change, level, sentence, fix):
    [finding] = problems({**NANO, **change})
    assert finding.level == level
    assert sentence in finding.message
    assert fix in finding.fix


@pytest.mark.parametrize("nonsense", [None, "x" * 10_000, -1, {"a": []}, [[{}]], float("nan"), True])
def test_facts_from_a_hostile_board_are_believed_only_where_they_fit(nonsense):
    facts = dict.fromkeys([*NANO, *GOOD], nonsense)
    assert all(len(finding.message) < 1000 for finding in missing_findings(facts, ("numpy",), TARGET))
    assert board_findings(facts)
    with pytest.raises(UsageError, match="no power modes"):
        require_power_mode(facts, in_mode("MAXN"))


@pytest.mark.parametrize("asked", ["1", "01", "5W", "5w"])
def test_the_right_power_mode_is_named(asked):
    assert require_power_mode(NANO, in_mode(asked)) == "1 (5W)"


@pytest.mark.parametrize("asked", ["0", "maxn"])
def test_another_power_mode_is_an_error_with_the_command(asked):
    with pytest.raises(UnavailableError, match=r"1 \(5W\)") as caught:
        require_power_mode(NANO, in_mode(asked))
    assert caught.value.fix.endswith("sudo nvpmodel -m 0")
    [finding] = problems(NANO, target=in_mode(asked))
    assert (finding.level, finding.subject) == ("error", "power mode")


def test_a_mode_that_does_not_exist_is_a_usage_error_with_those_that_do():
    with pytest.raises(UsageError) as caught:
        require_power_mode(NANO, in_mode("15W"))
    assert "0 (MAXN), 1 (5W)" in caught.value.fix
    with pytest.raises(UsageError):
        require_power_mode(NANO, in_mode("7"))


def test_a_board_that_does_not_say_its_mode_is_not_trusted_to_be_in_it():
    with pytest.raises(UnavailableError):
        require_power_mode({**NANO, "power_mode": None}, in_mode("MAXN"))


def test_a_board_without_power_modes_says_so():
    with pytest.raises(UsageError, match="no power modes"):
        require_power_mode({}, in_mode("MAXN"))


def test_one_core_is_no_cores():
    [load] = [finding for finding in board_findings({**GOOD, "cores": 1}) if finding.subject == "load"]
    assert load.message.endswith("on 1 core")


@pytest.mark.parametrize(
    ("machine", "bits", "python", "wanted"),
    [
        ("aarch64", 64, "3.11.2", "-m pip install numpy ai-edge-litert"),
        ("x86_64", 64, "3.13.0", "-m pip install numpy ai-edge-litert"),
        ("aarch64", 64, "3.7.3", "-m pip install 'numpy<2' tflite-runtime"),
        ("armv7l", 32, "3.11.2", "-m pip install 'numpy<2' tflite-runtime"),
        ("aarch64", 32, "3.9.2", "-m pip install 'numpy<2' tflite-runtime"),
        ("armv7l", 32, "3.13.5", "no wheel for armv7l and Python 3.13"),
        (
            "aarch64",
            64,
            "3.6.9",
            "ai-edge-litert (Python 3.9 or newer on x86_64, aarch64), tflite-runtime (Python 3.7 to 3.11 on",
        ),
        ("armv6l", 32, "3.11.2", "no wheel for armv6l"),
        ("x86_64", 32, "3.11.2", "no wheel for i686"),
        ("riscv64", 64, "3.11.2", "no wheel for riscv64"),
    ],
)
def test_a_wheel_is_advised_only_where_there_is_one(machine, bits, python, wanted):
    board = {"machine": machine, "python_bits": bits, "python": python, "packages": {"numpy": "1.24.2"}}
    findings = problems({**NANO, **board})
    [missing] = [finding for finding in findings if finding.subject == "ai-edge-litert"]
    assert missing.level == "error"
    assert wanted in missing.fix


@pytest.mark.parametrize("managed", [True, None])
def test_a_python_that_takes_no_packages_gets_a_virtual_environment(managed):
    board = {"python": "3.11.2", "packages": {}, "python_externally_managed": managed}
    numpy, runtime = problems({**NANO, **board})
    for finding in (numpy, runtime):
        assert "`/usr/bin/python3 -m venv ~/edgebench`" in finding.fix
        assert "--python '~/edgebench/bin/python'" in finding.fix
        assert "-m pip" not in finding.fix
    assert "`~/edgebench/bin/pip install numpy ai-edge-litert`" in runtime.fix


def test_a_runtime_of_which_nothing_is_known_is_named():
    [missing] = problems({**NANO, "packages": {"numpy": "1.13.3"}}, runtimes=("vendor-rt",))
    assert missing.fix == "on the board: /usr/bin/python3 -m pip install numpy vendor-rt"


def test_a_stick_before_its_firmware_shows_usb_2_at_any_port():
    stick = {"id": "03e7:2485", "name": "Stick", "speed_mbps": 480.0}
    [finding] = [
        finding
        for finding in missing_findings({**NANO, "usb_accelerators": [stick]}, ("numpy",), TARGET)
        if finding.subject == "usb"
    ]
    assert finding.level == "ok"
    assert "before its firmware" in finding.message
