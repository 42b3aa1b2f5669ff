"""Every backend and every probe of the project is held to the contract."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgebench import registry
from edgebench.testing import BackendContract, ProbeContract
from tests.backends.jetson import stand_in_python
from tests.backends.rknn import stand_in_python as rknn_stand_in
from tests.link.old_python import OPENVINO_2021, python_of
from tests.probes import jetson_board, pi5_board, played_files, shelly_plug, um25c_meter


def python_for_stick() -> str:
    """With OpenVINO 2021.4.2; skips where it cannot be had."""
    python, why = python_of(OPENVINO_2021)
    if python is None:
        pytest.skip(why)
    return python


@pytest.fixture(scope="module")
def rockchip_toolkit() -> Iterator[None]:
    """The Python that has a stand-in for Rockchip's toolkit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEBENCH_RKNN_PYTHON", rknn_stand_in.shared())
        yield


# What the contract has to know of one of them, beside its name.
BACKENDS: dict[str, dict[str, Any]] = {
    # No Edge TPU and no compiler here: what is not compiled, on the processor.
    "coral": {
        "options": {"allow_cpu": True, "threads": 1},
        "batch": 1,
        "runtime_modules": ["pycoral"],
    },
    # Likewise; with a played board it is tried beside the backend.
    "coral-micro": {"options": {"allow_cpu": True}, "batch": 1},
    # No board here: what needs one is tried beside the backend, against firmware that runs on this machine.
    "cortex-m": {"batch": 1, "deciding": {"engine": "generated"}},
    "cpu": {"pytestmark": pytest.mark.slow},
    # No Jetson here, and no discrete GPU: a stand-in for TensorRT in the shape of JetPack 4.6's, and of 10.
    "jetson": {
        "python": staticmethod(lambda: stand_in_python.of_release("8.2")),
        "runtime_modules": ["tensorrt"],
        "pytestmark": pytest.mark.slow,
    },
    # No stick here: its options and its ONNX, by the processor and the release that drives a stick.
    "ncs2": {
        "options": {"device": "CPU"},
        "deciding": {"device": "MYRIAD"},
        "python": staticmethod(python_for_stick),
        "runtime_modules": ["openvino"],
        "pytestmark": pytest.mark.slow,
    },
    "onnxruntime": {"pytestmark": pytest.mark.slow},
    "openvino": {"runtime_modules": ["openvino"], "pytestmark": pytest.mark.slow},
    "replay": {"options": {"source": "steady"}, "pass_limit_s": 1.0},
    # No board here: stand-ins for the toolkit, which converts, and for rknnlite.
    "rknn": {
        "batch": 1,
        "deciding": {"simulator": True, "soc": "rk3566"},
        "python": staticmethod(rknn_stand_in.shared),
        "runtime_modules": ["rknn", "rknnlite"],
        "pytestmark": [pytest.mark.slow, pytest.mark.usefixtures("rockchip_toolkit")],
    },
    "tensorrt": {
        "options": {"double_buffer": True},
        "python": staticmethod(lambda: stand_in_python.of_release("10")),
        "runtime_modules": ["tensorrt"],
        "pytestmark": pytest.mark.slow,
    },
    "toy": {"pass_limit_s": 1.0},
}
# No Jetson here: its files, and a program that prints a line of its tegrastats.
JETSON = tempfile.TemporaryDirectory(prefix="edgebench-test-jetson-")
jetson_board.write(Path(JETSON.name), jetson_board.orin_nano())
TEGRASTATS = jetson_board.tegrastats(Path(JETSON.name), jetson_board.AGX_ORIN)
UM25C = um25c_meter.StandIn(Path(JETSON.name) / "um25c")
SHELLY = shelly_plug.StandIn(shelly_plug.PLUS_PLUG)
PLAYED = played_files.write(Path(JETSON.name))
INA226 = {"name": "ina226", "power1_input": 2_750_000, "update_interval": 35}
HWMON = jetson_board.write(
    Path(JETSON.name) / "pi", {f"class/hwmon/hwmon0/{name}": text for name, text in INA226.items()}
)
VCGENCMD = pi5_board.vcgencmd(Path(JETSON.name))
PROBES: dict[str, dict[str, Any]] = {
    "csv": {"probe": f"csv:{PLAYED}?time=t_s&power=p_mw&clock=start&scope=usb"},
    "hwmon": {"probe": f"hwmon:{HWMON}?scope=board"},
    "ina3221": {"probe": f"ina3221:{JETSON.name}"},
    "rpi5": {"probe": f"rpi5:{VCGENCMD}"},
    "shelly": {"probe": SHELLY.address, "window_s": 2.5},
    "tegrastats": {"probe": f"tegrastats:{TEGRASTATS}"},
    "telemetry": {"probe": "telemetry:10"},
    "um25c": {"probe": f"um25c:{UM25C.path}"},
}


def _classes() -> dict[str, type]:
    classes: dict[str, type] = {}
    for name in registry.names("edgebench.backends"):
        title = f"Test{name.title().replace('-', '')}"
        classes[title] = type(title, (BackendContract,), {"backend": name, **BACKENDS.get(name, {})})
    for kind in registry.names("edgebench.probes"):
        title = f"Test{kind.title().replace('-', '')}Probe"
        classes[title] = type(title, (ProbeContract,), {"probe": kind, **PROBES.get(kind, {})})
    return classes


globals().update(_classes())


def test_nothing_is_left_out():
    """The classes are made of the registry: one that is registered and not tried would be no test at all."""
    tried = {value.backend for value in globals().values() if _derived(value, BackendContract)}
    assert tried == set(registry.names("edgebench.backends")) >= {"cpu", "toy"}
    probes = {value.probe.partition(":")[0] for value in globals().values() if _derived(value, ProbeContract)}
    assert probes == set(registry.names("edgebench.probes")) >= {"rapl", "telemetry"}


def _derived(value: Any, kind: type) -> bool:
    return isinstance(value, type) and issubclass(value, kind) and value is not kind
