"""A board's facts, read from made trees; what is not there is None with its reason."""

import sys

import pytest

from edgebench.agent.facts import UNTOLD, board_facts, packages

CPU0 = "sys/devices/system/cpu/cpu0/cpufreq/"
NANO = {
    "proc/device-tree/model": "NVIDIA Jetson Nano Developer Kit\0",
    "proc/device-tree/compatible": "nvidia,p3450-0000\0nvidia,jetson-nano\0nvidia,tegra210\0",
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: ARMv8 Processor rev 1 (v8l)\n",
    "proc/meminfo": "MemTotal:        4059712 kB\nMemFree:  1 kB\nMemAvailable:    3000000 kB\n",
    "proc/loadavg": "0.10 0.20 0.30 1/100 42\n",
    "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 18.04.6 LTS"\n',
    "etc/nv_tegra_release": "# R32 (release), REVISION: 7.1, GCID: 29818004, BOARD: t210ref, EABI: aarch64\n",
    "etc/nvpmodel.conf": (
        "# < POWER_MODEL ID=9 NAME=COMMENT >\n< POWER_MODEL ID=0 NAME=MAXN >\nCPU_ONLINE CORE_1 1\n"
        "< POWER_MODEL ID=1 NAME=5W >\nCPU_ONLINE CORE_1 1\n< PM_CONFIG DEFAULT=0 >\n"
    ),
    "var/lib/nvpmodel/status": "pmode:0001\n",
    CPU0 + "scaling_governor": "schedutil\n",
    CPU0 + "scaling_cur_freq": "921600\n",
    CPU0 + "cpuinfo_max_freq": "1479000\n",
    CPU0 + "scaling_min_freq": "102000\n",
    CPU0 + "scaling_max_freq": "918000\n",
    "sys/class/thermal/thermal_zone0/type": "CPU-therm\n",
    "sys/class/thermal/thermal_zone0/temp": "41500\n",
    "sys/class/thermal/thermal_zone1/type": "broken\n",
    "sys/bus/usb/devices/usb1/idVendor": "1d6b\n",
    "sys/bus/usb/devices/usb1/idProduct": "0002\n",
    "sys/bus/usb/devices/usb1/speed": "480\n",
}
PI = {
    "proc/device-tree/model": "Raspberry Pi 3 Model B Rev 1.2\0",
    "proc/device-tree/compatible": "raspberrypi,3-model-b\0brcm,bcm2837\0",
    "proc/cpuinfo": (
        "processor\t: 0\nBogoMIPS\t: 38.40\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n\n"
        "Revision\t: a02082\nModel\t\t: Raspberry Pi 3 Model B Rev 1.2\n"
    ),
    "proc/meminfo": "MemTotal:         931904 kB\nMemAvailable:    700000 kB\n",
    "etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    CPU0 + "scaling_governor": "ondemand\n",
    "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
    "sys/class/thermal/thermal_zone0/temp": "52078\n",
    "sys/bus/usb/devices/1-1.2/idVendor": "18d1\n",
    "sys/bus/usb/devices/1-1.2/idProduct": "9302\n",
    "sys/bus/usb/devices/1-1.2/speed": "480\n",
    "sys/bus/usb/devices/1-1.3/idVendor": "03E7\n",
    "sys/bus/usb/devices/1-1.3/idProduct": "2485\n",
    "sys/bus/usb/devices/1-1.3/speed": "unknown\n",
}
CORAL_MINI = {
    "proc/device-tree/model": "Google Coral Dev Board Mini\0",
    "proc/device-tree/compatible": "google,excelsior\0mediatek,mt8516\0",
    "proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd04\n",
    "proc/meminfo": "MemTotal:        2004180 kB\nMemAvailable:   1700000 kB\n",
    "etc/os-release": 'PRETTY_NAME="Mendel GNU/Linux 5 (Eagle)"\n',
    CPU0 + "scaling_governor": "userspace\n",
    "sys/bus/usb/devices/usb1/idVendor": "1d6b\n",
}
X86 = {
    "sys/class/dmi/id/product_name": "NUC8i5BEH\n",
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Intel(R) Core(TM) i5-8259U CPU @ 2.30GHz\n",
    "proc/meminfo": "MemTotal:       16288264 kB\nMemAvailable:   12000000 kB\n",
    "etc/os-release": 'PRETTY_NAME="Ubuntu 24.04 LTS"\n',
    CPU0 + "scaling_governor": "powersave\n",
    "sys/bus/usb/devices/2-1/idVendor": "1a6e\n",
    "sys/bus/usb/devices/2-1/idProduct": "089a\n",
    "sys/bus/usb/devices/2-1/speed": "5000\n",
}


def planted(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def tree(tmp_path):
    return planted(tmp_path, NANO)


def test_a_jetson_nano(tree):
    facts = board_facts(str(tree))
    due = {
        "board": "NVIDIA Jetson Nano Developer Kit",
        "soc": "nvidia,tegra210",
        "cpu": "ARMv8 Processor rev 1 (v8l)",
        "memory_bytes": 4059712 * 1024,
        "memory_available_bytes": 3000000 * 1024,
        "os": "Ubuntu 18.04.6 LTS",
        "l4t": "R32.7.1",
        "power_mode": {"id": 1, "name": "5W"},
        "power_modes": {"0": "MAXN", "1": "5W"},
        "usb_accelerators": [],
        "governor": "schedutil",
        "clock_now_mhz": 921.6,
        "clock_min_mhz": 102.0,
        "clock_limit_mhz": 918.0,
        "clock_max_mhz": 1479.0,
        "load_average": [0.1, 0.2, 0.3],
        "temperatures_c": {"0-CPU-therm": 41.5},
    }
    assert {name: facts[name] for name in due} == due
    assert set(facts["absent"]) == {"gpu", "nvidia_libraries", "cpu_quota_cores"}  # see below
    assert facts["cores"] >= 1
    assert facts["timer_resolution_ns"] > 0
    assert facts["python_bits"] in (32, 64)
    assert facts["disk_available_bytes"] > 0


def test_a_raspberry_pi_with_two_sticks(tmp_path):
    facts = board_facts(str(planted(tmp_path, PI)))
    assert (facts["board"], facts["soc"]) == ("Raspberry Pi 3 Model B Rev 1.2", "brcm,bcm2837")
    assert facts["cpu"] == "Cortex-A53"
    coral, stick = facts["usb_accelerators"]
    assert (coral["name"], coral["speed_mbps"]) == ("Coral USB Accelerator", 480.0)
    assert stick["name"].startswith("Neural Compute Stick 2") and stick["speed_mbps"] is None
    for name in ("power_mode", "power_modes", "l4t"):
        assert facts[name] is None and "No such file" in facts["absent"][name]


def test_a_coral_dev_board_mini(tmp_path):
    facts = board_facts(str(planted(tmp_path, CORAL_MINI)))
    due = ("Google Coral Dev Board Mini", "mediatek,mt8516", "Cortex-A35", "Mendel GNU/Linux 5 (Eagle)")
    assert (facts["board"], facts["soc"], facts["cpu"], facts["os"]) == due
    assert facts["temperatures_c"] is None and facts["absent"]["temperatures_c"]
    assert facts["usb_accelerators"] == []


def test_a_plain_x86_machine(tmp_path):
    facts = board_facts(str(planted(tmp_path, X86)))
    assert facts["board"] == "NUC8i5BEH"
    assert facts["soc"] is None and "device-tree" in facts["absent"]["soc"]
    assert facts["usb_accelerators"] == [
        {"id": "1a6e:089a", "name": "Coral USB Accelerator (no firmware yet)", "speed_mbps": 5000.0}
    ]


def test_edge_tpus_on_pcie_and_the_library_that_drives_them(tmp_path):
    tree = planted(
        tmp_path,
        {
            "sys/class/apex/apex_0/temp": "47800\n",
            "sys/class/apex/apex_1/temp": "hot\n",
            "dev/apex_0": "",
            "usr/lib/aarch64-linux-gnu/libedgetpu.so.1": "",
        },
    )
    facts = board_facts(str(tree))
    first, second = facts["pcie_accelerators"]
    assert first == {"name": "apex_0", "temperature_c": 47.8, "writable": True}
    assert second == {"name": "apex_1", "temperature_c": None}
    assert facts["libraries"] == {"libedgetpu.so.1": "/usr/lib/aarch64-linux-gnu/libedgetpu.so.1"}


def test_whether_a_stick_may_be_opened(tmp_path):
    stick = "sys/bus/usb/devices/2-1/"
    node = tmp_path / "dev/bus/usb/002/004"
    planted(
        tmp_path,
        {
            stick + "idVendor": "18d1\n",
            stick + "idProduct": "9302\n",
            stick + "speed": "5000\n",
            stick + "busnum": "2\n",
            stick + "devnum": "4\n",
        },
    )
    [accelerator] = board_facts(str(tmp_path))["usb_accelerators"]
    assert "writable" not in accelerator
    planted(tmp_path, {"dev/bus/usb/002/004": ""})
    assert node.exists()
    [accelerator] = board_facts(str(tmp_path))["usb_accelerators"]
    assert accelerator["writable"] is True


@pytest.mark.parametrize(
    ("files", "plugins", "firmware"),
    [
        (
            ["openvino/libs/libMKLDNNPlugin.so", "openvino/libs/libmyriadPlugin.so"]
            + [f"openvino/libs/{name}.mvcmd" for name in ("usb-ma2x8x", "usb-ma2450", "pcie-ma2x8x")],
            ["CPU", "MYRIAD"],
            ["usb-ma2x8x.mvcmd"],
        ),
        (
            ["openvino/libs/libopenvino_auto_plugin.so", "openvino/libs/libopenvino_intel_npu_plugin.so"],
            ["AUTO", "NPU"],
            [],
        ),
        (["openvino/libs/plugins.xml"], [], []),
        (["other/libs/libmyriadPlugin.so"], [], []),
    ],
)
def test_openvinos_plugins_and_the_sticks_firmware_lie_in_its_wheel(tmp_path, files, plugins, firmware):
    folder = planted(tmp_path / "site-packages", dict.fromkeys(files, ""))
    facts = board_facts(str(tmp_path), path=["/no/such/folder", str(folder)])
    assert facts["openvino"] == {"plugins": plugins, "firmware": firmware}


def test_openvinos_plugins_lie_beside_an_archives_python(tmp_path):
    library = "runtime/lib/intel64/libopenvino_intel_myriad_plugin.so"
    planted(tmp_path, {library: "", "runtime/lib/intel64/usb-ma2x8x.mvcmd": ""})
    planted(tmp_path, {"python/python3.9/openvino/__init__.py": ""})
    facts = board_facts(str(tmp_path), path=[str(tmp_path / "python" / "python3.9")])
    assert facts["openvino"] == {"plugins": ["MYRIAD"], "firmware": ["usb-ma2x8x.mvcmd"]}


GPUS = {
    "sys/class/devfreq/57000000.gpu/min_freq": "76800000\n",
    "sys/class/devfreq/57000000.gpu/max_freq": "921600000\n",
    "sys/class/devfreq/60006000.actmon/min_freq": "1\n",
}
JETPACK = {
    "usr/lib/aarch64-linux-gnu/libnvinfer.so.8": "",
    "usr/lib/aarch64-linux-gnu/libnvinfer.so.8.2.1": "",
    "usr/lib/aarch64-linux-gnu/libnvinfer.so.8.2.1.old": "",
    "usr/local/cuda-10.2/lib64/libcudart.so.10.2": "",
    "usr/lib/python3.6/dist-packages/tensorrt/__init__.py": "",
}


def test_a_jetsons_gpu_its_clocks_and_what_jetpack_installed(tmp_path):
    facts = board_facts(str(planted(tmp_path, {**GPUS, **JETPACK})))
    assert facts["gpu"] == {
        "name": "57000000.gpu",
        "clocks_mhz": {"min": 76.8, "max": 921.6},
        "usable": None,
    }
    assert facts["nvidia_libraries"] == {
        "nvinfer": "8.2.1",
        "cudart": "/usr/local/cuda-10.2/lib64/libcudart.so.10.2",
        "system_tensorrt": "/usr/lib/python3.6/dist-packages",
    }


def test_thors_gpu_is_named_by_its_cluster(tmp_path):
    folder = "sys/class/devfreq/gpu-gpc-0"
    planted(tmp_path, {f"{folder}/min_freq": "1\n", f"{folder}/max_freq": "2\n"})
    assert board_facts(str(tmp_path))["gpu"]["name"] == "gpu-gpc-0"


def test_of_several_releases_the_newest_counts(tmp_path):
    files = [f"usr/local/cuda-{number}/lib64/libcudart.so.{number}" for number in ("9.0", "10.2", "10.0")]
    facts = board_facts(str(planted(tmp_path, dict.fromkeys(files, ""))))
    assert facts["nvidia_libraries"]["cudart"] == "/usr/local/cuda-10.2/lib64/libcudart.so.10.2"
    assert facts["nvidia_libraries"]["nvinfer"] is None


def test_whether_a_user_may_open_the_gpus_driver(tmp_path, monkeypatch):
    planted(tmp_path, {**GPUS, "dev/nvmap": ""})
    assert board_facts(str(tmp_path))["gpu"]["usable"] is True
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert board_facts(str(tmp_path))["gpu"]["usable"] is False


def test_a_discrete_gpu_is_named_by_its_driver(tmp_path):
    file = "proc/driver/nvidia/gpus/0000:01:00.0/information"
    planted(tmp_path, {file: "Model: \t\t NVIDIA RTX A2000\nIRQ:   \t\t 132\n"})
    facts = board_facts(str(tmp_path))
    assert facts["gpu"] == {"name": "NVIDIA RTX A2000", "clocks_mhz": None, "usable": None}


def test_a_gpu_whose_clocks_are_nonsense_has_none(tmp_path):
    planted(tmp_path, {**GPUS, "sys/class/devfreq/57000000.gpu/max_freq": "fast\n"})
    assert board_facts(str(tmp_path))["gpu"]["clocks_mhz"] is None


def test_an_empty_tree_gives_reasons_and_no_figure(tmp_path):
    facts = board_facts(str(tmp_path))
    names = (
        "board",
        "soc",
        "cpu",
        "memory_bytes",
        "os",
        "governor",
        "clock_now_mhz",
        "temperatures_c",
        "gpu",
    )

    for name in (*names, "power_mode", "usb_accelerators"):
        assert facts[name] is None
        assert facts["absent"][name]


def test_nonsense_in_a_file_is_absent_not_zero(tree):
    (tree / CPU0 / "scaling_cur_freq").write_text("<unknown>\n")
    (tree / "proc/meminfo").write_text("MemTotal: \xff kB\n")
    (tree / "var/lib/nvpmodel/status").write_text("fmode:quiet\n")
    (tree / "etc/nvpmodel.conf").write_text("none\n")
    (tree / "etc/nv_tegra_release").write_text("# soon\n")
    facts = board_facts(str(tree))
    for name in ("clock_now_mhz", "memory_bytes", "power_mode", "power_modes", "l4t"):
        assert facts[name] is None
    assert "invalid literal" in facts["absent"]["memory_bytes"]


def test_a_mode_without_a_name_keeps_its_number(tree):
    (tree / "etc/nvpmodel.conf").unlink()
    assert board_facts(str(tree))["power_mode"] == {"id": 1, "name": None}


def test_reads_are_bounded(tree):
    (tree / "etc/nvpmodel.conf").write_text("#" * (1 << 20) + "\n< POWER_MODEL ID=0 NAME=FAR >\n")
    (tree / "proc/device-tree/model").write_text("x" * 100_000)
    facts = board_facts(str(tree))
    assert facts["power_modes"] is None
    assert len(facts["board"]) == 4096


def test_packages_are_found_without_importing_them(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (
        first / "numpy-1.19.5.dist-info",
        first / "Secret_Tool-1.0.dist-info",
        second / "numpy-1.13.3-py3.6.egg-info",
        second / "tflite_runtime-2.11.0.dist-info",
        second / "tensorrt",
    ):
        folder.mkdir(parents=True)
    (second / "tensorrt" / "__init__.py").write_text("raise SystemExit\n")
    versions = packages([str(tmp_path / "nowhere"), str(first), str(second)])
    assert versions == {"numpy": "1.19.5", "tflite-runtime": "2.11.0", "tensorrt": UNTOLD}
    assert board_facts(str(tmp_path), path=[str(first)])["packages"] == {"numpy": "1.19.5"}


def test_names_of_host_and_user_stand_in_one_place_of_their_own(tmp_path):
    facts = board_facts(str(tmp_path), path=[])
    private = facts.pop("private")
    assert set(private) == {"user", "node", "home"}
    assert not {"user", "node", "home", "hostname"} & set(facts)


@pytest.mark.parametrize("managed", [True, False])
def test_whether_pip_may_install_into_this_python(tmp_path, monkeypatch, managed):
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    if managed:
        (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr("sys.prefix", sys.base_prefix)
    assert board_facts()["python_externally_managed"] is managed
    monkeypatch.setattr("sys.prefix", str(tmp_path))  # a virtual environment
    assert board_facts()["python_externally_managed"] is False


V2 = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "33 31 0:30 {} /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n"
    "32 31 0:29 {} /sys/fs/cgroup/cpu,cpuacct ro master:9 - cgroup cgroup rw,cpu,cpuacct\n"
)
V1_GROUPS = "9:name=systemd:{0}\n3:cpuset:{0}\n2:cpu,cpuacct:{0}\n0::/\n"
UNIFIED, CPU = "sys/fs/cgroup/", "sys/fs/cgroup/cpu,cpuacct/"


def v1(folder, quota, period=100000):
    return {f"{folder}cpu.cfs_quota_us": f"{quota}\n", f"{folder}cpu.cfs_period_us": f"{period}\n"}


@pytest.mark.parametrize(
    ("groups", "mounts", "files", "cores"),
    [
        ("0::/\n", V2, {UNIFIED + "cpu.max": "250000 100000\n"}, 2),
        ("0::/\n", V2, {UNIFIED + "cpu.max": "max 100000\n"}, None),
        ("0::/\n", V2, {}, None),
        (
            "0::/a/b\n",
            V2,
            {UNIFIED + "a/b/cpu.max": "max 100000\n", UNIFIED + "a/cpu.max": "300000 100000"},
            3,
        ),
        (
            "0::/a/b\n",
            V2,
            {UNIFIED + "a/b/cpu.max": "400000 100000", UNIFIED + "a/cpu.max": "60000 20000"},
            3,
        ),
        ("0::/a/b\n", V2, {UNIFIED + "a/b/cpu.max": "50000 100000", UNIFIED + "a/cpu.max": "60000 20000"}, 1),
        ("0::/a\n", V2, {UNIFIED + "other/cpu.max": "100000 100000"}, None),
        ("0::/podium/c1\n", V2.replace(" / ", " /pod "), {UNIFIED + "ium/c1/cpu.max": "100000 100000"}, None),
        ("0::/../other\n", V2, {UNIFIED + "cpu.max": "200000 100000"}, 2),
        (
            "0::/pod/c1\n",
            V2.replace(" / ", " /pod "),
            {UNIFIED + "c1/cpu.max": "200000 100000\n", UNIFIED + "pod/c1/cpu.max": "100000 100000\n"},
            2,
        ),
        (V1_GROUPS.format("/"), V1.format("/", "/"), v1(CPU, -1), None),
        (V1_GROUPS.format("/"), V1.format("/", "/"), v1(CPU, 399999), 3),
        (V1_GROUPS.format("/docker/x"), V1.format("/docker/x", "/docker/x"), v1(CPU, 150000, 50000), 3),
        (
            V1_GROUPS.format("/a/b"),
            V1.format("/", "/"),
            v1(CPU, -1) | v1(CPU + "a/", 200000) | v1(CPU + "a/b/", 500000),
            2,
        ),
    ],
)
def test_the_smallest_cpu_quota_up_to_the_root_counts(tmp_path, groups, mounts, files, cores):
    tree = {"proc/self/cgroup": groups, "proc/self/mountinfo": mounts, **files}
    facts = board_facts(str(planted(tmp_path, tree)))
    assert facts["cpu_quota_cores"] == cores
    assert "cpu_quota_cores" not in facts["absent"]


def test_a_cpu_quota_that_cannot_be_read_has_its_reason(tmp_path):
    tree = {"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": V2, UNIFIED + "cpu.max": "many 100000\n"}
    facts = board_facts(str(planted(tmp_path, tree)))
    assert facts["cpu_quota_cores"] is None and "many" in facts["absent"]["cpu_quota_cores"]
